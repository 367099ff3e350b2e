#include "storage/later_families.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "policy/core/check.hpp"
#include "storage/directory.hpp"

namespace fairwater::inline storage {
namespace {

/// Keeps a batch at some hundred kilobytes.
constexpr std::uint32_t kJobsPerBatch = 4096;

caf::error written(const rocksdb::Status& status, const Database& database) {
  if (status.ok()) return {};
  return storage_error(
      status, "cannot bring the ledger in " + database.directory() + " to this version's form");
}

using Entry = std::pair<std::string, std::string>;

/// The family gets what `entry_of` makes of each job.
caf::error fill_from_jobs(Database& database, Family family,
                          const std::function<std::optional<Entry>(const JobRecord&)>& entry_of) {
  rocksdb::WriteBatch batch;
  rocksdb::Status status;
  // Sync once, at the end: the log keeps the order of the batches.
  Snapshot(database).walk(Family::jobs, "", false, [&](std::string_view key, std::string_view v) {
    const auto entry = entry_of(decode_stored<JobRecord>(Family::jobs, key, v));
    if (!entry) return true;
    const rocksdb::Status staged = batch.Put(database.handle(family), entry->first, entry->second);
    FAIRWATER_CHECK(staged.ok(), "a batch takes every change");
    if (batch.Count() < kJobsPerBatch) return true;
    status = database.write(batch, false);
    batch.Clear();
    return status.ok();
  });
  if (caf::error failed = written(status, database)) return failed;
  database.mark_complete(family, batch);
  return written(database.write(batch, true), database);
}

std::optional<Entry> tenant_entry(const JobRecord& job) {
  return Entry{tenant_job_key(job.tenant, job.id), to_bytes(TenantJob{state_of(job)})};
}

std::optional<Entry> class_entry(const JobRecord& job) {
  if (!has_class(job.spec)) return std::nullopt;
  return Entry{class_job_key(job), to_bytes(ClassJob{})};
}

/// There is nothing to fill it with.
caf::error begin_empty(Database& database, Family family) {
  rocksdb::WriteBatch batch;
  database.mark_complete(family, batch);
  return written(database.write(batch, true), database);
}

}  // namespace

caf::error fill_later_families(Database& database) {
  if (!database.has(Family::tenant_jobs))
    if (caf::error failed = fill_from_jobs(database, Family::tenant_jobs, tenant_entry))
      return failed;
  // An older coordinator's nodes forgot the room that they kept when it ended.
  if (!database.has(Family::reservations))
    if (caf::error failed = begin_empty(database, Family::reservations)) return failed;
  // Its submissions had no request ids.
  if (!database.has(Family::requests))
    if (caf::error failed = begin_empty(database, Family::requests)) return failed;
  // Its tenants had no users.
  if (!database.has(Family::users))
    if (caf::error failed = begin_empty(database, Family::users)) return failed;
  // It counted nothing.
  if (!database.has(Family::usage))
    if (caf::error failed = begin_empty(database, Family::usage)) return failed;
  if (!database.has(Family::class_jobs))
    return fill_from_jobs(database, Family::class_jobs, class_entry);
  return {};
}

}  // namespace fairwater::inline storage
