// Families that older versions did not know, filled when their ledger is opened.
#pragma once

#include "storage/database.hpp"

namespace fairwater::inline storage {

/// Fills the lists of each tenant's jobs, and of those of its classes, from the jobs, once, and
/// makes room for reservations, requests, users and usage. A crash leaves it for the next start:
/// the family counts only when the last batch is durable. O(jobs) the first time, then O(1). Throws
/// StorageFault when a job cannot be read.
[[nodiscard]] caf::error fill_later_families(Database& database);

}  // namespace fairwater::inline storage
