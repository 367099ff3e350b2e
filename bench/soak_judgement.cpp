#include "bench/soak_judgement.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace fairwater::bench {

std::array<SoakSample, 3> thirds_of(const std::vector<SoakSample>& samples) {
  std::array<SoakSample, 3> thirds;
  for (std::size_t third = 0; third < thirds.size(); ++third)
    for (std::size_t i = third * samples.size() / 3; i < (third + 1) * samples.size() / 3; ++i) {
      SoakSample& most = thirds[third];
      most.memory_mib = std::max(most.memory_mib, samples[i].memory_mib);
      most.disk_mib = std::max(most.disk_mib, samples[i].disk_mib);
    }
  return thirds;
}

bool end_alike(const std::vector<VerifiedLedger>& ledgers) {
  return std::all_of(ledgers.begin(), ledgers.end(), [&](const VerifiedLedger& ledger) {
    return ledger.cycle == ledgers.front().cycle && ledger.hash == ledgers.front().hash;
  });
}

std::vector<std::string> soak_faults(const SoakFindings& found, const SoakBounds& bounds) {
  std::vector<std::string> faults;
  const auto thirds = thirds_of(found.samples);
  const auto grows = [&](const char* what, double first, double last, double most_more) {
    if (last - first > most_more)
      faults.push_back(fmt::format(
          "{}: {:.0f} MiB in the first third, {:.0f} in the last, and {:g} more are good", what,
          first, last, most_more));
  };
  grows("memory", thirds[0].memory_mib, thirds[2].memory_mib, bounds.more_memory_mib);
  grows("disk", thirds[0].disk_mib, thirds[2].disk_mib, bounds.more_disk_mib);
  if (found.tasks_twice > 0) faults.push_back(fmt::format("{} tasks ran twice", found.tasks_twice));
  if (found.tasks_lost > 0) faults.push_back(fmt::format("{} tasks never ran", found.tasks_lost));
  for (const VerifiedLedger& ledger : found.ledgers)
    if (!ledger.is_ok)
      faults.push_back(fmt::format("the ledger of {} does not verify", ledger.name));
  if (!end_alike(found.ledgers)) {
    std::string ends;
    for (const VerifiedLedger& ledger : found.ledgers)
      ends += fmt::format("{}{} with record {} ({})", ends.empty() ? "" : ", ", ledger.name,
                          ledger.cycle, ledger.hash);
    faults.push_back("the ledgers do not end alike: " + ends);
  }
  return faults;
}

}  // namespace fairwater::bench
