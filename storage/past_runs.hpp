// How long tasks took before this coordinator started, by the ledger's records: what is known of a
// class of tasks outlives a restart.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "state/tenant_jobs.hpp"
#include "storage/ledger.hpp"

namespace fairwater::inline storage {

/// Of all tenants together, and of one: a start reads no more, however long the history is. A class
/// is expected to take what its last runs took.
inline constexpr std::size_t kMaxPastTasks = 100'000;
inline constexpr std::size_t kMaxPastTasksPerTenant = 1000;

/// Of the last attempts of a job that has not ended.
void add_runs(const UnfinishedJob& job, std::vector<PastRun>& runs);
/// Of the tenant's jobs that have ended, the newest first, until `max_tasks` tasks were looked at;
/// of each job the last 100 tasks. What cannot be read ends it: why, is returned. The rest of the
/// ledger is as good as before.
[[nodiscard]] std::optional<std::string> add_past_runs(const Ledger& ledger, TenantId tenant,
                                                       std::size_t max_tasks,
                                                       std::vector<PastRun>& runs);

}  // namespace fairwater::inline storage
