// The files of a ledger's directory around the database: identity, lock, reserve.
//
//   FAIRWATER   "fairwater ledger " FORMAT "\n" ("by " VERSION "\n")?. Says that the directory is
//   ours, which format of the journal one has to know, and which version needed it first; written
//   last when it is made LOCK        held (fcntl) while a coordinator uses the directory high-water
//   the newest record that was durable (storage/high_water.hpp) reserve     bytes that are given up
//   when the disk is full, so that the database can still be
//               opened
//   db/         the database (storage/families.hpp)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <rocksdb/env.h>

#include "model/errors.hpp"
#include "model/journal_format.hpp"

namespace fairwater::inline storage {

/// `sentence` names the directory; the status's own words follow.
[[nodiscard]] caf::error storage_error(const rocksdb::Status& status, const std::string& sentence);

/// Makes the file, or replaces it as a whole: written beside it, synced, renamed.
[[nodiscard]] rocksdb::Status write_durably(rocksdb::Env* env, const std::string& directory,
                                            const std::string& file, const std::string& content);

class LedgerDirectory {
 public:
  /// Locks the directory, or creates it when it is missing or empty and `create` is set. A
  /// directory that is not a ledger is refused untouched, or one that a newer version than `own`
  /// made. Errors as for Ledger::open.
  [[nodiscard]] static Expected<std::unique_ptr<LedgerDirectory>> open(std::string path,
                                                                       rocksdb::Env* env,
                                                                       bool create,
                                                                       const std::string& own = {});
  /// `storage_damaged`, `not_supported` or `invalid_input` unless `path` holds a ledger that this
  /// program, of version `own`, knows. Touches and locks nothing.
  [[nodiscard]] static caf::error check_identity(const std::string& path, rocksdb::Env* env,
                                                 const std::string& own = {});
  [[nodiscard]] static std::string database_path(const std::string& path) { return path + "/db"; }
  [[nodiscard]] static std::string identity_path(const std::string& path) {
    return path + "/FAIRWATER";
  }

  ~LedgerDirectory();
  LedgerDirectory(const LedgerDirectory&) = delete;
  LedgerDirectory& operator=(const LedgerDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// What readers of the ledger have to know.
  [[nodiscard]] const JournalNeeds& needs() const { return needs_; }
  /// Durable before anything is there that needs it. Programs that know less do not open it any
  /// more.
  [[nodiscard]] caf::error raise_needs(JournalNeeds needs);
  /// True while the database was not made yet.
  [[nodiscard]] bool is_new() const;

 private:
  LedgerDirectory(std::string path, rocksdb::Env* env, rocksdb::FileLock* lock, JournalNeeds needs)
      : path_(std::move(path)), env_(env), lock_(lock), needs_(std::move(needs)) {}

  std::string path_;
  rocksdb::Env* env_;
  rocksdb::FileLock* lock_;
  JournalNeeds needs_;
};

/// Watches the free space of a directory's file system and keeps the reserve file. Keeps no state
/// but on disk, so any thread may call it.
class SpaceGuard {
 public:
  SpaceGuard(std::string directory, rocksdb::Env* env, std::uint64_t min_free_bytes);

  /// `disk_full` when less than the minimum would be left after `bytes` more; lets go of the
  /// reserve when space is so short that the database could not even flush. One statvfs.
  [[nodiscard]] caf::error admit(std::uint64_t bytes) const;
  /// As admit(), of what a coordinator begins with: a record of some hundred bytes, which may take
  /// of what is kept free, so that somebody keeps what runs while all disks are full.
  [[nodiscard]] caf::error admit_beginning(std::uint64_t bytes) const;
  /// `disk_full` when not even the files that opening makes would fit: RocksDB ends the process
  /// then.
  [[nodiscard]] caf::error admit_opening() const;
  /// Makes the reserve file again once there is room for it.
  void renew_reserve() const;
  /// Before the database is opened: lets go of the reserve on a full disk.
  void release_when_full() const;

 private:
  [[nodiscard]] std::optional<std::uint64_t> free_bytes() const;
  void release() const;

  std::string directory_;
  rocksdb::Env* env_;
  std::uint64_t min_free_bytes_;
  std::uint64_t reserve_bytes_;
};

}  // namespace fairwater::inline storage
