// What a soak found, and what of it is wrong. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fairwater::bench {

struct SoakSample {
  double memory_mib = 0;  ///< of the coordinator that takes most
  double disk_mib = 0;    ///< of the data directory that is largest
};

/// By how much the last third may take more than the first.
struct SoakBounds {
  double more_memory_mib = 0;
  double more_disk_mib = 0;
};

/// As `fairwater ledger verify --archive` said of a coordinator's directory.
struct VerifiedLedger {
  std::string name;
  bool is_ok = false;
  std::uint64_t cycle = 0;  ///< its newest record
  std::string hash;         ///< of that
};

struct SoakFindings {
  std::vector<SoakSample> samples;
  std::uint64_t tasks_twice = 0;
  std::uint64_t tasks_lost = 0;
  std::vector<VerifiedLedger> ledgers;
};

/// The most in each third of the samples.
[[nodiscard]] std::array<SoakSample, 3> thirds_of(const std::vector<SoakSample>& samples);
/// Whether they end with one record.
[[nodiscard]] bool end_alike(const std::vector<VerifiedLedger>& ledgers);
/// A sentence for each; none: all is well.
[[nodiscard]] std::vector<std::string> soak_faults(const SoakFindings& found,
                                                   const SoakBounds& bounds);

}  // namespace fairwater::bench
