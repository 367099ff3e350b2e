// What commands print for people: tables and short paragraphs of the same values that
// json_shapes.hpp gives to programs.
#pragma once

#include <string>
#include <vector>

#include "model/calls.hpp"

namespace fairwater::inline cli::inline cluster {

[[nodiscard]] std::string status_text(const ClusterStatus& status);
[[nodiscard]] std::string token_table(const std::vector<TokenInfo>& tokens);
[[nodiscard]] std::string tenant_table(const std::vector<TenantInfo>& tenants);
[[nodiscard]] std::string tenant_text(const TenantInfo& tenant);
[[nodiscard]] std::string tenant_changes_text(const std::vector<TenantChange>& changes,
                                              bool dry_run);
[[nodiscard]] std::string node_table(const std::vector<NodeInfo>& nodes);
[[nodiscard]] std::string node_text(const NodeInfo& node);
[[nodiscard]] std::string job_table(const std::vector<JobRecord>& jobs);
/// How a task ended, in a word or two; `-` when it has not.
[[nodiscard]] std::string ending(const TaskRecord& task);
[[nodiscard]] std::string job_text(const JobDetail& detail);
[[nodiscard]] std::string ledger_text(const LedgerView& ledger);
[[nodiscard]] std::string backup_text(const std::string& directory, const LedgerBackup& backup);
[[nodiscard]] std::string verify_text(const VerifyReport& report);
[[nodiscard]] std::string forgiven_text(const ForgiveDebt& wanted, const DebtsForgiven& forgiven);
[[nodiscard]] std::string standing_text(const LedgerStanding& standing);

}  // namespace fairwater::inline cli::inline cluster
