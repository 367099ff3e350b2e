#include "storage/later_families.hpp"

#include "policy/core/check.hpp"
#include "storage/directory.hpp"

namespace fairwater {
namespace {

/// Keeps a batch at some hundred kilobytes.
constexpr std::uint32_t kJobsPerBatch = 4096;

caf::error written(const rocksdb::Status& status, const Database& database) {
  if (status.ok()) return {};
  return storage_error(
      status, "cannot bring the ledger in " + database.directory() + " to this version's form");
}

caf::error list_tenants_jobs(Database& database) {
  rocksdb::ColumnFamilyHandle* family = database.handle(Family::tenant_jobs);
  rocksdb::WriteBatch batch;
  rocksdb::Status status;
  // Sync once, at the end: the log keeps the order of the batches.
  Snapshot(database).walk(Family::jobs, "", false, [&](std::string_view key, std::string_view v) {
    const auto job = decode_stored<JobRecord>(Family::jobs, key, v);
    const rocksdb::Status staged =
        batch.Put(family, tenant_job_key(job.tenant, job.id), to_bytes(TenantJob{state_of(job)}));
    FAIRWATER_CHECK(staged.ok(), "a batch takes every change");
    if (batch.Count() < kJobsPerBatch) return true;
    status = database.write(batch, false);
    batch.Clear();
    return status.ok();
  });
  if (caf::error failed = written(status, database)) return failed;
  database.mark_complete(Family::tenant_jobs, batch);
  return written(database.write(batch, true), database);
}

/// An older coordinator's nodes forgot the room that they kept when it ended: there is none.
caf::error begin_reservations(Database& database) {
  rocksdb::WriteBatch batch;
  database.mark_complete(Family::reservations, batch);
  return written(database.write(batch, true), database);
}

}  // namespace

caf::error fill_later_families(Database& database) {
  if (!database.has(Family::tenant_jobs))
    if (caf::error failed = list_tenants_jobs(database)) return failed;
  if (!database.has(Family::reservations)) return begin_reservations(database);
  return {};
}

}  // namespace fairwater
