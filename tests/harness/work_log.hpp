// What tasks themselves say of their runs: the measure of "ran once" that does not depend on
// Fairwater.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fairwater::harness {

/// One run of a task, from the lines that it wrote itself. Times in seconds since 1970.
struct Run {
  std::uint64_t job = 0;
  std::uint32_t index = 0;
  double started = 0;
  double ended = 0;  ///< 0: it never came to its end
};

/// A file to which every task appends a line when it starts and one when it ends.
class WorkLog {
 public:
  explicit WorkLog(std::filesystem::path file) : file_(std::move(file)) {}

  /// The `command:` line of a job file: marks the start, runs `work` in bash, marks the end.
  [[nodiscard]] std::string command_line(const std::string& work) const;
  /// A line of bash that marks the start of the task that runs it.
  [[nodiscard]] std::string start_line() const;
  /// All runs so far, in the order of their starts.
  [[nodiscard]] std::vector<Run> runs() const;
  /// How often each (job, index) was started.
  [[nodiscard]] std::map<std::pair<std::uint64_t, std::uint32_t>, int> starts() const;

 private:
  std::filesystem::path file_;
};

}  // namespace fairwater::harness
