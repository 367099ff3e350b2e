// The values that `--json` prints; others parse them: names stay.
#pragma once

#include "cli/core/output.hpp"
#include "model/calls.hpp"

namespace fairwater::inline cli::inline cluster {

[[nodiscard]] Json status_json(const ClusterStatus& status);
/// Null at the top.
[[nodiscard]] Json json_parent(const TenantSpec& spec);
[[nodiscard]] Json json_weights(const NamedWeights& weights);
/// What the tenant has at least: its min, which is all that an older coordinator tells, and of
/// resources that this does not name those of its tenants together.
[[nodiscard]] NamedAmounts guaranteed(const TenantInfo& tenant);
[[nodiscard]] Json tenant_json(const TenantInfo& tenant);
/// `{"tenants": [..]}` with the currency of their nets.
[[nodiscard]] Json tenants_json(const std::vector<TenantInfo>& tenants);
[[nodiscard]] Json token_json(const TokenInfo& token);
[[nodiscard]] Json tenant_change_json(const TenantChange& change);
[[nodiscard]] Json node_json(const NodeInfo& node);
/// What listings say of the node's drain: of the present one, which begins at no later time, or of
/// the planned one.
[[nodiscard]] PlannedDrain shown_drain(const NodeRecord& node);
/// Null where none is known.
[[nodiscard]] Json growth_limit_json(const GrowthLimit& limit);
/// Without `task_list`.
[[nodiscard]] Json job_json(const JobRecord& job);
[[nodiscard]] Json job_detail_json(const JobDetail& detail);
[[nodiscard]] Json task_json(const TaskInfo& task);
[[nodiscard]] Json ledger_json(const LedgerView& ledger);
[[nodiscard]] Json verify_json(const VerifyReport& report);
[[nodiscard]] Json backup_json(const std::string& directory, const LedgerBackup& backup);
[[nodiscard]] Json forgiven_json(const ForgiveDebt& wanted, const DebtsForgiven& forgiven);
[[nodiscard]] Json standing_json(const LedgerStanding& standing);
/// Lists under their plural, as in `{"jobs": [..]}`.
template <class T>
[[nodiscard]] Json list_json(const char* plural, const std::vector<T>& values,
                             Json (*shape)(const T&)) {
  Json list = Json::array();
  for (const auto& value : values) list.push_back(shape(value));
  return Json{{plural, std::move(list)}};
}

/// The same for a list that is yet to come.
template <class T>
[[nodiscard]] auto listed(const char* plural, Json (*shape)(const T&)) {
  return [plural, shape](const std::vector<T>& values) { return list_json(plural, values, shape); };
}

/// Runs of the task that have begun: one less than `attempt` while it waits for the next.
[[nodiscard]] std::uint32_t attempts_begun(const TaskRecord& task);
/// The result of the task's last attempt, if the task has ended; null while it waits or runs again.
[[nodiscard]] const TaskResult* final_result(const TaskRecord& task);
/// How a service's task ended last, if it did by itself, whatever it does now; else null.
[[nodiscard]] const TaskResult* last_end_of_service(const TaskRecord& task);

}  // namespace fairwater::inline cli::inline cluster
