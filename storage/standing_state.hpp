// What of the state stands, whatever has ended: all of it but the jobs that have ended, with their
// tasks and their entries in lists. History is cut there: what has ended does not change any more
// and goes into the archive (storage/archive.hpp); from what stands, the rest of the journal goes
// on.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "storage/state.hpp"

namespace fairwater::inline storage {

using RecordVisit =
    std::function<void(Family family, std::string_view key, std::string_view value)>;

/// Every record of what stands, by family and key. O(what stands): those who ended are not looked
/// at.
void visit_standing(const StateView& view, const RecordVisit& visit);

struct StandingHash {
  Hash hash{};
  std::uint64_t records = 0;
};
/// BLAKE2b-256 over family, length of key, key, length of value and value of each record that
/// visit_standing() names, numbers as 8 bytes, big-endian. Equal states have equal hashes on every
/// replica.
[[nodiscard]] StandingHash hash_standing(const StateView& view);

/// An entry of a list that follows from a job: what goes with it.
struct DerivedEntry {
  Family family;
  std::string key;
  std::string value;
};
/// Those of tenant_jobs and class_jobs.
[[nodiscard]] std::vector<DerivedEntry> entries_of(const JobRecord& job);

}  // namespace fairwater::inline storage
