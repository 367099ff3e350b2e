// Backups of a ledger that is in use, and a ledger made of one.
//
//   DIR/           is DIR.unfinished until it is whole
//     BACKUP       what it is of; written last
//     FAIRWATER    as in a ledger's directory, so that verify reads a backup as it reads a ledger
//     high-water   the backup's newest record
//     db/          the database at one moment; tables are hard links where that is possible
//     history/     the archive, if there is one; likewise
//     ..           what the caller adds
//
//   BACKUP := "fairwater backup 1" NL "cluster " id NL "incarnation " number NL "number " number NL
//             "hash " hex[64] NL "recorded " microseconds NL "made " microseconds NL
//
// A restore copies into TARGET/restoring, verifies there, and moves what it made to TARGET, the
// file FAIRWATER last. What was broken off is no ledger, and the next restore clears it away. The
// file `restored` in it names the backup, until somebody says that it is forgotten.
#pragma once

#include <functional>
#include <string>

#include <rocksdb/env.h>

#include "model/backup.hpp"
#include "model/errors.hpp"
#include "model/journal.hpp"
#include "storage/database.hpp"
#include "storage/directory.hpp"
#include "storage/ledger.hpp"

namespace fairwater::inline storage {

/// Beside the database's writer, from any thread; of what was durable at some moment of the call.
/// Makes nothing in `directory` unless the copy verifies. Errors: invalid_input (`directory` is not
/// absolute, has control characters, lies within the ledger's, or its parent is not there or not to
/// be written), already_exists, disk_full, wrong_state (another makes the same), storage_damaged.
/// O(journal).
[[nodiscard]] Expected<LedgerBackup> make_backup(const Database& database, const SpaceGuard& space,
                                                 const std::string& directory,
                                                 const AddFiles& add_files,
                                                 const std::function<WallTime()>& clock);

/// `invalid_input` unless `directory` holds a whole backup. Reads its manifest alone.
[[nodiscard]] Expected<BackupManifest> read_manifest(const std::string& directory,
                                                     rocksdb::Env* env = nullptr);

struct RestoreOptions {
  std::string backup;
  std::string directory;        ///< missing or empty; not created but for its last part
  rocksdb::Env* env = nullptr;  ///< not owned; null for the real one
  AddFiles add_files;
  std::function<WallTime()> clock = wall_time_now;
  /// What the ledger's new life begins with; empty: it is no new life, but a replica's copy.
  std::function<LedgerTrusted(const BackupManifest&)> beginning;
};
/// Makes a ledger of a backup, which stays as it is. `already_exists` when there is a ledger,
/// `storage_damaged` when the backup does not verify, disk_full. O(journal).
[[nodiscard]] Expected<BackupManifest> restore_backup(const RestoreOptions& options);

/// Whether the directory was restored, and forget_restore() was not called since.
[[nodiscard]] bool is_restored(const std::string& directory, rocksdb::Env* env = nullptr);
[[nodiscard]] caf::error forget_restore(const std::string& directory, rocksdb::Env* env = nullptr);

}  // namespace fairwater::inline storage
