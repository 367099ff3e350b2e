// Runs programs under limits of processor and memory, and says how long they took.
//
// A share of the processors is enforced by the quota of a control group of our own (version 1 or
// 2) where one can be made, else by binding to as many processors and stopping the programs for the
// rest of each period. Memory is enforced as the limit of private data (RLIMIT_DATA): needs no
// rights, and does not count cached files.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/errors.hpp"

namespace fairwater::sim::inline experiments {

enum class CpuEnforcement : std::uint8_t { quota_v1 = 0, quota_v2 = 1, stop_signals = 2 };
/// As in "cpu is enforced by ..".
[[nodiscard]] std::string_view to_string(CpuEnforcement enforcement);

struct ProgramLimits {
  double cores = 0;              ///< above 0; a quarter is a quarter of one processor's time
  std::uint64_t data_bytes = 0;  ///< of each process; 0: no limit
};

/// When programs that are to run for a part of each period only are stopped. Who looks late lets
/// them run for longer; they are stopped for as much longer then, so that the part holds over all.
class StopSchedule {
 public:
  using Duration = std::chrono::steady_clock::duration;
  /// `running_part` is above 0; 1 and more never stops.
  explicit StopSchedule(double running_part) : running_part_(running_part) {}

  /// Whether the programs are to be stopped `passed` after their start, when until then they were
  /// as this said at each earlier look. `passed` does not go back.
  [[nodiscard]] bool should_stop(Duration passed);

 private:
  double running_part_;
  Duration last_look_{};
  Duration ran_{};
  bool stopped_ = false;
};

/// A program, looked for in PATH, and its arguments.
using ProgramCommand = std::vector<std::string>;

class ProgramRunner {
 public:
  /// Finds out how cpu can be enforced here. `without_quota` takes the way that needs no rights.
  explicit ProgramRunner(bool without_quota = false);
  ProgramRunner(const ProgramRunner&) = delete;
  ProgramRunner& operator=(const ProgramRunner&) = delete;
  /// Removes the control group.
  ~ProgramRunner();

  [[nodiscard]] CpuEnforcement enforcement() const { return enforcement_; }
  /// Processors that this process may use.
  [[nodiscard]] std::size_t processors() const { return processors_.size(); }

  /// Runs all commands at once, their input and output on /dev/null, and returns the seconds until
  /// the last has ended, to about a millisecond. `unavailable` when one cannot be started, fails or
  /// runs for longer than a minute; none is left behind.
  [[nodiscard]] Expected<double> run(std::span<const ProgramCommand> commands,
                                     const ProgramLimits& limits);

 private:
  struct Child;
  [[nodiscard]] Expected<std::vector<Child>> start(std::span<const ProgramCommand> commands,
                                                   const ProgramLimits& limits);
  [[nodiscard]] bool set_quota(double cores) const;
  /// Makes a group under `parent`, with the file that a quota is written to.
  [[nodiscard]] bool make_group(const std::string& parent, const std::string& quota_file);

  CpuEnforcement enforcement_ = CpuEnforcement::stop_signals;
  std::string group_;  ///< the control group's folder; empty: there is none
  std::vector<int> processors_;
};

}  // namespace fairwater::sim::inline experiments
