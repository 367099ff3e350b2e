#include "storage/database.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>

#include "policy/core/check.hpp"
#include "storage/directory.hpp"

namespace fairwater::inline storage {
namespace {

rocksdb::ColumnFamilyOptions family_options() {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = 4 << 20;
  options.max_write_buffer_number = 3;
  options.memtable_protection_bytes_per_key = 8;
  // Records are mostly zeros and names that come again: tables take a sixth of the bytes.
  options.compression = rocksdb::kZSTD;
  return options;
}

rocksdb::DBOptions database_options(rocksdb::Env* env) {
  rocksdb::DBOptions options;
  options.env = env;
  options.paranoid_checks = true;
  options.write_dbid_to_manifest = true;
  // Any damage but a torn end is refused. The default would silently drop all that follows a
  // flipped bit.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.max_total_wal_size = 32 << 20;
  options.db_write_buffer_size = 16 << 20;
  options.max_background_jobs = 2;
  options.max_open_files = 256;
  // What is in memory one thread opens as fast as the sixteen for each family that are the default.
  if (env != rocksdb::Env::Default()) options.max_file_opening_threads = 1;
  options.keep_log_file_num = 2;
  options.max_log_file_size = 1 << 20;
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  return options;
}

/// Added after the first release: ledgers made before lack it until a coordinator opens them.
bool is_later(Family family) {
  return family == Family::tenant_jobs || family == Family::reservations ||
         family == Family::class_jobs || family == Family::requests || family == Family::users ||
         family == Family::usage;
}

std::vector<rocksdb::ColumnFamilyDescriptor> descriptors(const std::vector<Family>& families) {
  std::vector<rocksdb::ColumnFamilyDescriptor> all{
      {rocksdb::kDefaultColumnFamilyName, family_options()}};
  for (const Family family : families) all.emplace_back(name_of(family), family_options());
  return all;
}

std::vector<Family> all_families() {
  std::vector<Family> families;
  for (std::size_t i = 0; i < kFamilyCount; ++i) families.push_back(static_cast<Family>(i));
  return families;
}

/// The families of the database; `storage_damaged` unless they are ours.
Expected<std::vector<Family>> present_families(const std::string& directory,
                                               const rocksdb::DBOptions& options) {
  std::vector<std::string> found;
  const rocksdb::Status status =
      rocksdb::DB::ListColumnFamilies(options, LedgerDirectory::database_path(directory), &found);
  if (!status.ok())
    return storage_error(status, "the database in " + directory + "/db cannot be read");
  std::set<std::string> unknown(found.begin(), found.end());
  bool is_ours = unknown.erase(rocksdb::kDefaultColumnFamilyName) == 1;
  std::vector<Family> present;
  for (const Family family : all_families()) {
    if (unknown.erase(name_of(family)) == 1)
      present.push_back(family);
    else
      is_ours = is_ours && is_later(family);
  }
  if (is_ours && unknown.empty()) return present;
  // RocksDB takes an empty MANIFEST for that of a new database.
  if (present.empty() && unknown.empty())
    return make_error(ErrorCode::storage_damaged,
                      "the database in " + directory +
                          "/db names none of a ledger's column families: its newest MANIFEST-* is "
                          "empty or cut off. Restore a copy.");
  return make_error(ErrorCode::storage_damaged,
                    "the database in " + directory +
                        "/db has other column families than this version of Fairwater knows.");
}

[[noreturn]] void fail(const rocksdb::Status& status, const Database& database) {
  const caf::error error =
      storage_error(status, "the database in " + database.directory() + "/db cannot be read");
  throw StorageFault(details(error).code, details(error).message);
}

std::optional<std::string> get_from(const Database& database, const rocksdb::ReadOptions& options,
                                    Family family, const std::string& key) {
  std::string value;
  const rocksdb::Status status =
      database.rocks().Get(options, database.handle(family), key, &value);
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) fail(status, database);
  return value;
}

std::string_view view_of(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

void walk_from(const Database& database, const rocksdb::ReadOptions& options, Family family,
               const std::string& first, bool backwards,
               const std::function<bool(std::string_view, std::string_view)>& visit) {
  std::unique_ptr<rocksdb::Iterator> it(
      database.rocks().NewIterator(options, database.handle(family)));
  backwards ? it->SeekForPrev(first) : it->Seek(first);
  while (it->Valid() && visit(view_of(it->key()), view_of(it->value())))
    backwards ? it->Prev() : it->Next();
  if (!it->status().ok()) fail(it->status(), database);
}

void scan_all(const Database& database, const rocksdb::ReadOptions& options, Family family,
              const std::function<void(std::string_view, std::string_view)>& visit) {
  walk_from(database, options, family, "", false,
            [&](std::string_view key, std::string_view value) {
              visit(key, value);
              return true;
            });
}

void scan_those(const Database& database, const rocksdb::ReadOptions& options, Family family,
                const std::string& prefix,
                const std::function<void(std::string_view, std::string_view)>& visit) {
  walk_from(database, options, family, prefix, false,
            [&](std::string_view key, std::string_view value) {
              if (!key.starts_with(prefix)) return false;
              visit(key, value);
              return true;
            });
}

rocksdb::ReadOptions at(const rocksdb::Snapshot* snapshot) {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot;
  return options;
}

/// Which files make the database: another text once a writer has flushed or compacted.
std::string files_in_use(rocksdb::Env& env, const std::string& path) {
  std::string manifest;
  std::uint64_t bytes = 0;
  if (!rocksdb::ReadFileToString(&env, path + "/CURRENT", &manifest).ok()) return {};
  manifest.erase(manifest.find_last_not_of('\n') + 1);
  if (!env.GetFileSize(path + "/" + manifest, &bytes).ok()) return {};
  return manifest + " " + std::to_string(bytes);
}

using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;

/// Beside a writer, too: what it flushes between the reading of the manifest and that of the
/// write-ahead log would be in neither. So it is read again; flushes are minutes apart.
rocksdb::Status open_to_read(const rocksdb::DBOptions& options, const std::string& path,
                             const std::vector<Family>& families, Handles& handles,
                             rocksdb::DB*& db) {
  constexpr int kMostTries = 10;
  rocksdb::Status status;
  for (int tries = 1;; ++tries) {
    const std::string before = files_in_use(*options.env, path);
    status = rocksdb::DB::OpenForReadOnly(options, path, descriptors(families), &handles, &db);
    if (tries == kMostTries || files_in_use(*options.env, path) == before) return status;
    if (!status.ok()) continue;
    for (rocksdb::ColumnFamilyHandle* handle : handles)
      db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    handles.clear();
    delete db;
    db = nullptr;
  }
}

}  // namespace

Expected<std::unique_ptr<Database>> Database::open(const std::string& directory, rocksdb::Env* env,
                                                   Mode mode) {
  const std::string path = LedgerDirectory::database_path(directory);
  rocksdb::DBOptions options = database_options(env);
  std::vector<Family> families = all_families();
  if (mode == Mode::create) {
    options.create_if_missing = true;
  } else {
    auto present = present_families(directory, options);
    if (!present) return present.error();
    if (mode == Mode::read_only) families = *present;
  }
  options.create_missing_column_families = mode != Mode::read_only;
  // A reader keeps all tables open: what a writer beside it compacts away could not be opened
  // later.
  if (mode == Mode::read_only) options.max_open_files = -1;
  Handles handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      mode == Mode::read_only
          ? open_to_read(options, path, families, handles, db)
          : rocksdb::DB::Open(options, path, descriptors(families), &handles, &db);
  if (!status.ok())
    return storage_error(status, "the database in " + directory + "/db cannot be opened");
  return std::unique_ptr<Database>(
      new Database(directory, std::unique_ptr<rocksdb::DB>(db), handles, families));
}

Database::Database(std::string directory, std::unique_ptr<rocksdb::DB> db,
                   const std::vector<rocksdb::ColumnFamilyHandle*>& handles,
                   const std::vector<Family>& families)
    : directory_(std::move(directory)), db_(std::move(db)) {
  db_->DestroyColumnFamilyHandle(handles.front()).PermitUncheckedError();
  for (std::size_t i = 0; i < families.size(); ++i)
    handles_[static_cast<std::size_t>(families[i])] = handles[i + 1];
}

Database::~Database() {
  for (rocksdb::ColumnFamilyHandle* handle : handles_)
    if (handle != nullptr) db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  // Everything acknowledged was synced when it was written; closing adds nothing that could be
  // lost.
  db_->Close().PermitUncheckedError();
}

bool Database::has(Family family) const {
  if (!is_later(family)) return true;
  std::string value;
  const rocksdb::Status status = db_->Get({}, db_->DefaultColumnFamily(), name_of(family), &value);
  if (!status.ok() && !status.IsNotFound()) fail(status, *this);
  return status.ok();
}

void Database::mark_complete(Family family, rocksdb::WriteBatch& batch) const {
  const rocksdb::Status staged = batch.Put(db_->DefaultColumnFamily(), name_of(family), "complete");
  FAIRWATER_CHECK(staged.ok(), "a batch takes every change");
}

rocksdb::Status Database::write(rocksdb::WriteBatch& batch, bool sync) {
  rocksdb::WriteOptions options;
  options.sync = sync;
  options.protection_bytes_per_key = 8;
  return db_->Write(options, &batch);
}

rocksdb::Status Database::checkpoint(const std::string& path) const {
  // Logs are copied, not flushed: they are small (max_total_wal_size), and a flush would hold up
  // those who write.
  constexpr std::uint64_t kNeverFlush = ~std::uint64_t{0};
  rocksdb::Checkpoint* made = nullptr;
  const rocksdb::Status status = rocksdb::Checkpoint::Create(db_.get(), &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  return status.ok() ? checkpoint->CreateCheckpoint(path, kNeverFlush) : status;
}

Snapshot::Snapshot(const Database& database)
    : database_(database), snapshot_(database.rocks().GetSnapshot()) {}

Snapshot::~Snapshot() { database_.rocks().ReleaseSnapshot(snapshot_); }

std::optional<std::string> Snapshot::get(Family family, const std::string& key) const {
  return get_from(database_, at(snapshot_), family, key);
}

std::optional<std::string> Snapshot::note(const std::string& name) const {
  std::string value;
  const rocksdb::Status status =
      database_.rocks().Get(at(snapshot_), database_.rocks().DefaultColumnFamily(), name, &value);
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) fail(status, database_);
  return value;
}

void Snapshot::scan(Family family,
                    const std::function<void(std::string_view, std::string_view)>& visit) const {
  scan_all(database_, at(snapshot_), family, visit);
}

void Snapshot::scan_prefix(
    Family family, const std::string& prefix,
    const std::function<void(std::string_view, std::string_view)>& visit) const {
  scan_those(database_, at(snapshot_), family, prefix, visit);
}

void Snapshot::walk(Family family, const std::string& first, bool backwards,
                    const std::function<bool(std::string_view, std::string_view)>& visit) const {
  walk_from(database_, at(snapshot_), family, first, backwards, visit);
}

std::optional<std::string> LatestView::get(Family family, const std::string& key) const {
  return get_from(database_, {}, family, key);
}

void LatestView::scan(Family family,
                      const std::function<void(std::string_view, std::string_view)>& visit) const {
  scan_all(database_, {}, family, visit);
}

void LatestView::scan_prefix(
    Family family, const std::string& prefix,
    const std::function<void(std::string_view, std::string_view)>& visit) const {
  scan_those(database_, {}, family, prefix, visit);
}

}  // namespace fairwater::inline storage
