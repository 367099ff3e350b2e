// Samples of what the control protocol carries, as tests/values/make.hpp makes them.
#pragma once

#include "schema/fields/agent.hpp"
#include "schema/fields/requests.hpp"
#include "tests/values/make.hpp"

namespace fairwater::test {

/// Calls `visit("name", static_cast<Value*>(nullptr))` for every value of the protocol.
template <class Visit>
void each_wire_type(Visit visit) {
#define FAIRWATER_VISIT(Value) visit(#Value, static_cast<Value*>(nullptr))
  FAIRWATER_VISIT(AgentReport);
  FAIRWATER_VISIT(ReportReply);
  FAIRWATER_VISIT(AgentIdentity);
  FAIRWATER_VISIT(LaunchOrder);
  FAIRWATER_VISIT(StopOrder);
  FAIRWATER_VISIT(AgentOrders);
  FAIRWATER_VISIT(LogChunk);
  FAIRWATER_VISIT(ClusterStatus);
  FAIRWATER_VISIT(TokenInfo);
  FAIRWATER_VISIT(TenantInfo);
  FAIRWATER_VISIT(TenantChange);
  FAIRWATER_VISIT(NodeInfo);
  FAIRWATER_VISIT(JobQuery);
  FAIRWATER_VISIT(UsageQuery);
  FAIRWATER_VISIT(UsageRow);
  FAIRWATER_VISIT(TaskInfo);
  FAIRWATER_VISIT(JobDetail);
  FAIRWATER_VISIT(ClassProfile);
  FAIRWATER_VISIT(LedgerView);
  FAIRWATER_VISIT(LedgerStanding);
  FAIRWATER_VISIT(JournalPage);
  FAIRWATER_VISIT(Explanation);
  FAIRWATER_VISIT(VerifyReport);
  FAIRWATER_VISIT(LedgerBackup);
#undef FAIRWATER_VISIT
}

}  // namespace fairwater::test
