// What commands print for people: tables and short paragraphs of the same values that
// json_shapes.hpp gives to programs. Those of the ledger are in ledger_tables.hpp.
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

}  // namespace fairwater::inline cli::inline cluster
