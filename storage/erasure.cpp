#include "storage/erasure.hpp"

#include <rocksdb/options.h>

#include "policy/core/check.hpp"
#include "storage/directory.hpp"

namespace fairwater::inline storage {
namespace {

/// Less than this is left to RocksDB's own compactions.
constexpr std::uint64_t kWorthCompacting = 8 << 20;

}  // namespace

void erase_key(const Database& database, rocksdb::WriteBatch& batch, Family family,
               const std::string& key) {
  const rocksdb::Status staged = batch.Delete(database.handle(family), key);
  FAIRWATER_CHECK(staged.ok(), "a batch takes every change");
}

void erase_range(const Database& database, rocksdb::WriteBatch& batch, Family family,
                 const std::string& first, const std::string& end) {
  const rocksdb::Status staged = batch.DeleteRange(database.handle(family), first, end);
  FAIRWATER_CHECK(staged.ok(), "a batch takes every change");
}

void write_erasure(Database& database, rocksdb::WriteBatch& batch, bool sync) {
  const rocksdb::Status written = database.write(batch, sync);
  if (written.ok()) return;
  const caf::error error =
      storage_error(written, "cannot cut the history of the ledger in " + database.directory());
  throw StorageFault(details(error).code, details(error).message);
}

std::uint64_t bytes_between(const Database& database, Family family, const std::string& first,
                            const std::string& end) {
  const rocksdb::Range range(first, end);
  std::uint64_t bytes = 0;
  database.rocks()
      .GetApproximateSizes(database.handle(family), &range, 1, &bytes)
      .PermitUncheckedError();  // an estimate
  return bytes;
}

void compact(const Database& database, Family family, const std::string& first,
             const std::string& end) {
  if (bytes_between(database, family, first, end) < kWorthCompacting) return;
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  const rocksdb::Slice from(first);
  const rocksdb::Slice to(end);
  database.rocks()
      .CompactRange(options, database.handle(family), &from, &to)
      .PermitUncheckedError();
}

}  // namespace fairwater::inline storage
