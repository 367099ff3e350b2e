// What benches measure with: figures as lines, quantiles, and what /proc says of a process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fairwater::bench {

/// Prints `figure NAME VALUE UNIT`.
void figure(const std::string& name, double value, const std::string& unit);

/// The value below which `part` of the samples are; 0 of none.
[[nodiscard]] double quantile(std::vector<double> samples, double part);

/// Processor time of all threads of a process that live.
[[nodiscard]] double cpu_seconds(pid_t pid);
/// Processor time of all children that have ended and were waited for, with theirs.
[[nodiscard]] double cpu_seconds_of_children();
/// Memory of a process that is in RAM.
[[nodiscard]] double resident_mib(pid_t pid);
/// Bytes that a process caused to be written to disks; 0 where /proc does not say.
[[nodiscard]] double disk_bytes_written(pid_t pid);
/// Of all files below it, which may come and go meanwhile.
[[nodiscard]] double bytes_below(const std::filesystem::path& directory);

/// `run`'s exit status; what it throws is told under the program's name, and fails it.
[[nodiscard]] int run_program(const char* name, int (*run)(int argc, char** argv), int argc,
                              char** argv);

/// What a process used from one moment on.
class Usage {
 public:
  explicit Usage(pid_t pid);
  [[nodiscard]] double cpu_seconds() const;
  [[nodiscard]] double disk_bytes_written() const;

 private:
  pid_t pid_;
  double cpu_before_;
  double written_before_;
};

}  // namespace fairwater::bench
