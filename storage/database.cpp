#include "storage/database.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include "storage/directory.hpp"

namespace fairwater {
namespace {

rocksdb::ColumnFamilyOptions family_options() {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = 4 << 20;
  options.max_write_buffer_number = 3;
  options.memtable_protection_bytes_per_key = 8;
  options.compression = rocksdb::kNoCompression;
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
  options.keep_log_file_num = 2;
  options.max_log_file_size = 1 << 20;
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> descriptors() {
  std::vector<rocksdb::ColumnFamilyDescriptor> families{
      {rocksdb::kDefaultColumnFamilyName, family_options()}};
  for (const char* name : kFamilyNames) families.emplace_back(name, family_options());
  return families;
}

/// `storage_damaged` unless the database has exactly our families.
caf::error check_families(const std::string& directory, const rocksdb::DBOptions& options) {
  std::vector<std::string> found;
  const rocksdb::Status status =
      rocksdb::DB::ListColumnFamilies(options, LedgerDirectory::database_path(directory), &found);
  if (!status.ok())
    return storage_error(status, "the database in " + directory + "/db cannot be read");
  std::set<std::string> expected(kFamilyNames.begin(), kFamilyNames.end());
  expected.insert(rocksdb::kDefaultColumnFamilyName);
  if (std::set<std::string>(found.begin(), found.end()) == expected) return {};
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

rocksdb::ReadOptions at(const rocksdb::Snapshot* snapshot) {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot;
  return options;
}

}  // namespace

Expected<std::unique_ptr<Database>> Database::open(const std::string& directory, rocksdb::Env* env,
                                                   Mode mode) {
  const std::string path = LedgerDirectory::database_path(directory);
  rocksdb::DBOptions options = database_options(env);
  if (mode == Mode::create) {
    options.create_if_missing = true;
    options.create_missing_column_families = true;
  } else if (caf::error error = check_families(directory, options)) {
    return error;
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      mode == Mode::read_only
          ? rocksdb::DB::OpenForReadOnly(options, path, descriptors(), &handles, &db)
          : rocksdb::DB::Open(options, path, descriptors(), &handles, &db);
  if (!status.ok())
    return storage_error(status, "the database in " + directory + "/db cannot be opened");
  return std::unique_ptr<Database>(
      new Database(directory, std::unique_ptr<rocksdb::DB>(db), handles));
}

Database::Database(std::string directory, std::unique_ptr<rocksdb::DB> db,
                   const std::vector<rocksdb::ColumnFamilyHandle*>& handles)
    : directory_(std::move(directory)), db_(std::move(db)) {
  db_->DestroyColumnFamilyHandle(handles.front()).PermitUncheckedError();
  std::copy(handles.begin() + 1, handles.end(), handles_.begin());
}

Database::~Database() {
  for (rocksdb::ColumnFamilyHandle* handle : handles_)
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  // Everything acknowledged was synced when it was written; closing adds nothing that could be
  // lost.
  db_->Close().PermitUncheckedError();
}

rocksdb::Status Database::write(rocksdb::WriteBatch& batch, bool sync) {
  rocksdb::WriteOptions options;
  options.sync = sync;
  options.protection_bytes_per_key = 8;
  return db_->Write(options, &batch);
}

Snapshot::Snapshot(const Database& database)
    : database_(database), snapshot_(database.rocks().GetSnapshot()) {}

Snapshot::~Snapshot() { database_.rocks().ReleaseSnapshot(snapshot_); }

std::optional<std::string> Snapshot::get(Family family, const std::string& key) const {
  return get_from(database_, at(snapshot_), family, key);
}

void Snapshot::scan(Family family,
                    const std::function<void(std::string_view, std::string_view)>& visit) const {
  scan_all(database_, at(snapshot_), family, visit);
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

}  // namespace fairwater
