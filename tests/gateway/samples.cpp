#include "tests/gateway/samples.hpp"

#include "rpc/calls.hpp"
#include "tests/values/make_requests.hpp"

namespace fairwater::test {

JobSpec sample_spec() { return sample<JobSpec>(); }
JobRecord sample_job() { return sample<JobRecord>(); }
TaskResult sample_result() { return sample<TaskResult>(); }
TenantRecord sample_tenant() { return sample<TenantRecord>(); }
NodeSpec sample_node_spec() { return sample<NodeSpec>(); }
AgentReport sample_report() { return sample<AgentReport>(); }
AgentOrders sample_orders() { return sample<AgentOrders>(); }
ClusterStatus sample_status() { return sample<ClusterStatus>(); }
TenantInfo sample_tenant_info() { return sample<TenantInfo>(); }
TenantChange sample_change() { return sample<TenantChange>(); }
NodeInfo sample_node_info() { return sample<NodeInfo>(); }
Explanation sample_explanation() { return sample<Explanation>(); }
TokenInfo sample_token() { return sample<TokenInfo>(); }
JournalPage sample_page() { return sample<JournalPage>(); }
VerifyReport sample_verification() { return sample<VerifyReport>(); }
LedgerBackup sample_backup() { return sample<LedgerBackup>(); }
ReportReply sample_reply() {
  auto reply = sample<ReportReply>();
  reply.heartbeat_interval_ms = 100;
  return reply;
}
AgentIdentity sample_identity() { return sample<AgentIdentity>(); }
LedgerStanding sample_standing() { return sample<LedgerStanding>(); }

DebtsForgiven sample_forgiven() {
  return {{{"biology", 5}, {"art", 7}}, 9, {Accounting::time, 100}};
}

JobDetail sample_detail() {
  auto detail = sample<JobDetail>();
  detail.more = false;
  return detail;
}

ClassProfile sample_profile() { return sample<ClassProfile>(); }
UsageQuery sample_usage_query() { return sample<UsageQuery>(); }
std::vector<UsageRow> sample_usage_rows() { return sample<UsageList>().rows; }

LedgerView sample_ledger() {
  return {.cycle = 99,
          .position = 7,
          .tenants = {sample_tenant()},
          .counterparties = {{TenantId{4}, "biology"}},
          .net = {{TenantId{3}, -6}, {TenantId{4}, 6}},
          .ious = {{3, 4, 6, 1}},
          .measure = {Accounting::time, 100},
          .counts_time_since = {1'795'262'400'000'000},
          .unit_ms_per_unit = 600'000};
}

}  // namespace fairwater::test
