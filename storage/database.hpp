// The RocksDB database of a ledger: families, options, snapshots. Nothing outside storage/ sees
// RocksDB.
#pragma once

#include <array>
#include <memory>
#include <string>

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/write_batch.h>

#include "storage/state.hpp"

namespace fairwater::inline storage {

class Database {
 public:
  enum class Mode { create, read_write, read_only };

  /// `directory` is the ledger's, for messages. Errors: storage_damaged, disk_full, storage_failed.
  [[nodiscard]] static Expected<std::unique_ptr<Database>> open(const std::string& directory,
                                                                rocksdb::Env* env, Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Atomic; durable when it returns with `sync`.
  [[nodiscard]] rocksdb::Status write(rocksdb::WriteBatch& batch, bool sync);
  /// Makes the directory `path`, which must not be there, a database of its own as this one is at
  /// some moment of the call: beside the writer, which is not held up.
  [[nodiscard]] rocksdb::Status checkpoint(const std::string& path) const;
  /// Null when has() is false and the database was opened for reading only.
  [[nodiscard]] rocksdb::ColumnFamilyHandle* handle(Family family) const {
    return handles_[static_cast<std::size_t>(family)];
  }
  /// False for a family that a newer version added and no coordinator of it has filled yet.
  [[nodiscard]] bool has(Family family) const;
  /// Makes has() true with the batch that completes the family.
  void mark_complete(Family family, rocksdb::WriteBatch& batch) const;
  [[nodiscard]] rocksdb::DB& rocks() const { return *db_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  /// `handles` are those of the default family and of `families`.
  Database(std::string directory, std::unique_ptr<rocksdb::DB> db,
           const std::vector<rocksdb::ColumnFamilyHandle*>& handles,
           const std::vector<Family>& families);

  std::string directory_;
  std::unique_ptr<rocksdb::DB> db_;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilyCount> handles_{};
};

/// The database at one moment. Any number may live beside a writer.
class Snapshot final : public StateView {
 public:
  explicit Snapshot(const Database& database);
  ~Snapshot() override;
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  [[nodiscard]] std::optional<std::string> get(Family family,
                                               const std::string& key) const override;
  void scan(Family family,
            const std::function<void(std::string_view, std::string_view)>& visit) const override;
  void scan_prefix(
      Family family, const std::string& prefix,
      const std::function<void(std::string_view, std::string_view)>& visit) const override;
  [[nodiscard]] bool has(Family family) const { return database_.has(family); }
  /// What is noted beside the families under a name.
  [[nodiscard]] std::optional<std::string> note(const std::string& name) const;
  /// Records from `first` on (downwards from it with `backwards`), until `visit` returns false.
  void walk(Family family, const std::string& first, bool backwards,
            const std::function<bool(std::string_view, std::string_view)>& visit) const;
  /// A record's value, decoded.
  template <class Value>
  [[nodiscard]] std::optional<Value> find(Family family, const std::string& key) const {
    const std::optional<std::string> bytes = get(family, key);
    if (!bytes) return std::nullopt;
    return decode_stored<Value>(family, key, *bytes);
  }

 private:
  const Database& database_;
  const rocksdb::Snapshot* snapshot_;
};

/// The database as it is now; for its one writer.
class LatestView final : public StateView {
 public:
  explicit LatestView(const Database& database) : database_(database) {}
  [[nodiscard]] std::optional<std::string> get(Family family,
                                               const std::string& key) const override;
  void scan(Family family,
            const std::function<void(std::string_view, std::string_view)>& visit) const override;
  void scan_prefix(
      Family family, const std::string& prefix,
      const std::function<void(std::string_view, std::string_view)>& visit) const override;

 private:
  const Database& database_;
};

}  // namespace fairwater::inline storage
