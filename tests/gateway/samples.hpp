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
[[nodiscard]] JobDetail sample_detail();
[[nodiscard]] Explanation sample_explanation();
[[nodiscard]] TokenInfo sample_token();
[[nodiscard]] LedgerView sample_ledger();
[[nodiscard]] JournalPage sample_page();
[[nodiscard]] VerifyReport sample_verification();
[[nodiscard]] ReportReply sample_reply();
[[nodiscard]] AgentIdentity sample_identity();
[[nodiscard]] LedgerStanding sample_standing();

// Member by member, for types that have no equality of their own.
[[nodiscard]] bool same(const AgentReport& a, const AgentReport& b);
[[nodiscard]] bool same(const ReportReply& a, const ReportReply& b);
[[nodiscard]] bool same(const AgentOrders& a, const AgentOrders& b);
[[nodiscard]] bool same(const ClusterStatus& a, const ClusterStatus& b);
[[nodiscard]] bool same(const TenantInfo& a, const TenantInfo& b);
[[nodiscard]] bool same(const TenantChange& a, const TenantChange& b);
[[nodiscard]] bool same(const NodeInfo& a, const NodeInfo& b);
[[nodiscard]] bool same(const JobDetail& a, const JobDetail& b);
[[nodiscard]] bool same(const Explanation& a, const Explanation& b);
[[nodiscard]] bool same(const LedgerView& a, const LedgerView& b);
[[nodiscard]] bool same(const JournalPage& a, const JournalPage& b);
[[nodiscard]] bool same(const VerifyReport& a, const VerifyReport& b);
[[nodiscard]] bool same(const LedgerStanding& a, const LedgerStanding& b);

}  // namespace fairwater::test
