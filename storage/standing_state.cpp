#include "storage/standing_state.hpp"

#include <algorithm>
#include <string>

#include <sodium.h>

#include "policy/core/check.hpp"
#include "state/job.hpp"

namespace fairwater::inline storage {
namespace {

/// The records of those that live, of families that hold those that have ended, too.
class LiveRecords {
 public:
  explicit LiveRecords(const StateView& view) : view_(view) {
    view.scan(Family::live, [&](std::string_view key, std::string_view) {
      const auto bytes = view.get(Family::jobs, std::string(key));
      if (!bytes)
        throw StorageFault(ErrorCode::storage_damaged,
                           "the job " + printable_key(key) + " lives and has no record");
      keys_.emplace_back(key);
      for (DerivedEntry& entry : entries_of(decode_stored<JobRecord>(Family::jobs, key, *bytes)))
        (entry.family == Family::tenant_jobs ? tenant_jobs_ : class_jobs_)
            .push_back(std::move(entry.key));
    });
    std::sort(tenant_jobs_.begin(), tenant_jobs_.end());
    std::sort(class_jobs_.begin(), class_jobs_.end());
  }

  void visit(Family family, const RecordVisit& visit) const {
    if (family == Family::tasks) {
      for (const std::string& key : keys_)
        view_.scan_prefix(family, key, [&](std::string_view task, std::string_view value) {
          visit(family, task, value);
        });
      return;
    }
    const auto& keys = family == Family::jobs          ? keys_
                       : family == Family::tenant_jobs ? tenant_jobs_
                                                       : class_jobs_;
    // One that is missing makes another hash; verify says which it is.
    for (const std::string& key : keys)
      if (const auto value = view_.get(family, key)) visit(family, key, *value);
  }

 private:
  const StateView& view_;
  std::vector<std::string> keys_;
  std::vector<std::string> tenant_jobs_;
  std::vector<std::string> class_jobs_;
};

bool holds_ended(Family family) {
  return family == Family::jobs || family == Family::tasks || family == Family::tenant_jobs ||
         family == Family::class_jobs;
}

class Hasher {
 public:
  Hasher() {
    FAIRWATER_CHECK(crypto_generichash_init(&state_, nullptr, 0, sizeof(Hash)) == 0,
                    "BLAKE2b takes 32 bytes of output");
  }
  void add(std::string_view bytes) {
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size());
  }
  void add_sized(std::string_view bytes) {
    add(big_endian<std::uint64_t>(bytes.size()));
    add(bytes);
  }
  Hash end() {
    Hash hash;
    crypto_generichash_final(&state_, hash.data(), hash.size());
    return hash;
  }

 private:
  crypto_generichash_state state_;
};

}  // namespace

void visit_standing(const StateView& view, const RecordVisit& visit) {
  const LiveRecords live(view);
  for (std::size_t i = 0; i < kFamilyCount; ++i) {
    const auto family = static_cast<Family>(i);
    if (family == Family::journal) continue;
    if (holds_ended(family))
      live.visit(family, visit);
    else
      view.scan(family,
                [&](std::string_view key, std::string_view value) { visit(family, key, value); });
  }
}

StandingHash hash_standing(const StateView& view) {
  Hasher hasher;
  std::uint64_t records = 0;
  visit_standing(view, [&](Family family, std::string_view key, std::string_view value) {
    hasher.add(big_endian<std::uint64_t>(static_cast<std::uint64_t>(family)));
    hasher.add_sized(key);
    hasher.add_sized(value);
    ++records;
  });
  return {hasher.end(), records};
}

std::vector<DerivedEntry> entries_of(const JobRecord& job) {
  std::vector<DerivedEntry> entries;
  entries.push_back({Family::tenant_jobs, tenant_job_key(job.tenant, job.id),
                     to_bytes(TenantJob{state_of(job)})});
  if (has_class(job.spec))
    entries.push_back({Family::class_jobs, class_job_key(job), to_bytes(ClassJob{})});
  return entries;
}

}  // namespace fairwater::inline storage
