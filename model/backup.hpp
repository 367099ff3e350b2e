// A copy of a ledger from which a cluster can go on.
#pragma once

#include <cstdint>
#include <string>

#include "model/ledger_mark.hpp"
#include "model/time.hpp"

namespace fairwater::inline model {

/// What a backup is of.
struct BackupManifest {
  std::string cluster_id;
  LedgerMark end;     ///< the newest record that it holds
  WallTime recorded;  ///< when that one was
  WallTime made;
  friend bool operator==(const BackupManifest&, const BackupManifest&) = default;
};

/// A backup that was made and verified.
struct LedgerBackup {
  BackupManifest manifest;
  std::uint64_t bytes = 0;  ///< in its files, of which some may be the ledger's own (hard links)
  std::int64_t took_ms = 0;
  friend bool operator==(const LedgerBackup&, const LedgerBackup&) = default;
};

}  // namespace fairwater::inline model
