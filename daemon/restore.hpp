// A cluster's data directory made of a backup.
#pragma once

#include <string>

#include "daemon/config.hpp"
#include "model/errors.hpp"

namespace fairwater::inline daemon {

/// The coordinator's key and tokens, as far as they are in `from`: agents take no coordinator with
/// another key for theirs.
[[nodiscard]] caf::error copy_secrets(const std::string& from, const std::string& to);

/// Makes the data directory, which must be missing or empty, of a backup, and begins a new life of
/// its ledger in it. Refused without `accept_loss`, with a sentence that says what would be lost.
[[nodiscard]] caf::error restore_cluster(const CoordinatorConfig& config, const std::string& backup,
                                         bool accept_loss);

/// Makes the data directory, which must be missing or empty, of a backup of another replica: the
/// same life of the ledger.
[[nodiscard]] caf::error copy_replica(const CoordinatorConfig& config, const std::string& backup);

}  // namespace fairwater::inline daemon
