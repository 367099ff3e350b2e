#include "bench/measure.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <sys/resource.h>
#include <system_error>

#include <fmt/format.h>

namespace fairwater::bench {
namespace {

/// The number behind `key` in a file of lines `KEY NUMBER`; 0 where there is none.
double number_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  double number = 0;
  while (file >> word) {
    if (word == key && file >> number) return number;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

}  // namespace

void figure(const std::string& name, double value, const std::string& unit) {
  std::cout << fmt::format("figure {} {:.6g} {}\n", name, value, unit) << std::flush;
}

double quantile(std::vector<double> samples, double part) {
  if (samples.empty()) return 0;
  const auto rank = std::min(samples.size() - 1,
                             static_cast<std::size_t>(part * static_cast<double>(samples.size())));
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(samples.begin(), at, samples.end());
  return *at;
}

double bytes_below(const std::filesystem::path& directory) {
  std::error_code gone;
  double bytes = 0;
  for (auto file = std::filesystem::recursive_directory_iterator(directory, gone);
       !gone && file != std::filesystem::recursive_directory_iterator(); file.increment(gone)) {
    std::error_code none;
    const auto size = file->file_size(none);
    if (!none) bytes += static_cast<double>(size);
  }
  return bytes;
}

int run_program(const char* name, int (*run)(int argc, char** argv), int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << '\n';
    return 1;
  }
}

double cpu_seconds(pid_t pid) {
  double nanoseconds = 0;
  for (const auto& thread :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    std::ifstream file(thread.path() / "schedstat");
    double on_cpu = 0;
    file >> on_cpu;
    nanoseconds += on_cpu;
  }
  return nanoseconds / 1e9;
}

double cpu_seconds_of_children() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double resident_mib(pid_t pid) {
  return number_in(fmt::format("/proc/{}/status", pid), "VmRSS:") / 1024;
}

double disk_bytes_written(pid_t pid) {
  return number_in(fmt::format("/proc/{}/io", pid), "write_bytes:");
}

Usage::Usage(pid_t pid)
    : pid_(pid),
      cpu_before_(bench::cpu_seconds(pid)),
      written_before_(bench::disk_bytes_written(pid)) {}

double Usage::cpu_seconds() const { return bench::cpu_seconds(pid_) - cpu_before_; }
double Usage::disk_bytes_written() const {
  return bench::disk_bytes_written(pid_) - written_before_;
}

}  // namespace fairwater::bench
