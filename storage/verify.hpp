// Compares what is stored with what the journal gives.
#pragma once

#include "storage/archive.hpp"
#include "storage/database.hpp"
#include "storage/ledger.hpp"

namespace fairwater::inline storage {

/// Rebuilds everything from the snapshot's journal in memory and compares it, family by family,
/// with the snapshot. Reads only. O(journal * log state) time; beyond some 100 MiB memory grows
/// with the compressed state (rebuilt_records.hpp). Throws StorageFault when the database itself
/// cannot be read.
[[nodiscard]] VerifyReport verify_snapshot(const Snapshot& snapshot, const Archive& archive,
                                           VerifyScope scope);

}  // namespace fairwater::inline storage
