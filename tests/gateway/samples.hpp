// One value of each kind that travels, with no field at its default: what a conversion forgets
// shows.
#pragma once

#include "actors/coordinator/frontend.hpp"
#include "model/requests.hpp"

namespace fairwater::test {

[[nodiscard]] JobSpec sample_spec();
[[nodiscard]] JobRecord sample_job();
[[nodiscard]] TaskResult sample_result();
[[nodiscard]] TenantRecord sample_tenant();
[[nodiscard]] NodeSpec sample_node_spec();
[[nodiscard]] AgentReport sample_report();
[[nodiscard]] AgentOrders sample_orders();
[[nodiscard]] ClusterStatus sample_status();
[[nodiscard]] TenantInfo sample_tenant_info();
[[nodiscard]] TenantChange sample_change();
[[nodiscard]] NodeInfo sample_node_info();
/// All there is: nothing is left for another page. Likewise the ledger.
[[nodiscard]] JobDetail sample_detail();
[[nodiscard]] Explanation sample_explanation();
[[nodiscard]] TokenInfo sample_token();
[[nodiscard]] ClassProfile sample_profile();
[[nodiscard]] UsageQuery sample_usage_query();
[[nodiscard]] std::vector<UsageRow> sample_usage_rows();
[[nodiscard]] LedgerView sample_ledger();
[[nodiscard]] JournalPage sample_page();
[[nodiscard]] VerifyReport sample_verification();
[[nodiscard]] LedgerBackup sample_backup();
[[nodiscard]] ReportReply sample_reply();
[[nodiscard]] AgentIdentity sample_identity();
[[nodiscard]] LedgerStanding sample_standing();
[[nodiscard]] DebtsForgiven sample_forgiven();

}  // namespace fairwater::test
