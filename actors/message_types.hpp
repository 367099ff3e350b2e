// Every type that travels in a message, declared to CAF in one place. Messages never leave the process (the
// gateway speaks Cap'n Proto), so none is serialisable; a newer CAF would want its type ids here instead.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>

#define FAIRWATER_MESSAGE(name)  \
  namespace fairwater {          \
  struct name;                   \
  }                              \
  CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::name)

// actors/handles.hpp
FAIRWATER_MESSAGE(AgentOrders)
FAIRWATER_MESSAGE(ReadAgentLog)
FAIRWATER_MESSAGE(RegisterNode)
FAIRWATER_MESSAGE(NodeRegistered)
FAIRWATER_MESSAGE(DescribeNode)
FAIRWATER_MESSAGE(NodeDescription)
FAIRWATER_MESSAGE(LinkUp)
FAIRWATER_MESSAGE(LinkDown)
// model/
FAIRWATER_MESSAGE(AgentReport)
FAIRWATER_MESSAGE(ReportReply)
FAIRWATER_MESSAGE(LogChunk)
FAIRWATER_MESSAGE(LaunchOrder)
FAIRWATER_MESSAGE(StopOrder)
FAIRWATER_MESSAGE(TaskResult)
FAIRWATER_MESSAGE(Caller)
FAIRWATER_MESSAGE(ClusterStatus)
FAIRWATER_MESSAGE(JobRecord)
FAIRWATER_MESSAGE(JobDetail)
FAIRWATER_MESSAGE(Explanation)
FAIRWATER_MESSAGE(LedgerView)
FAIRWATER_MESSAGE(JournalPage)
FAIRWATER_MESSAGE(VerifyReport)
// actors/desk.hpp
FAIRWATER_MESSAGE(Login)
FAIRWATER_MESSAGE(GetStatus)
FAIRWATER_MESSAGE(ListTenants)
FAIRWATER_MESSAGE(TenantList)
FAIRWATER_MESSAGE(ApplyTenants)
FAIRWATER_MESSAGE(TenantsApplied)
FAIRWATER_MESSAGE(RemoveTenant)
FAIRWATER_MESSAGE(IssueToken)
FAIRWATER_MESSAGE(ListNodes)
FAIRWATER_MESSAGE(NodeList)
FAIRWATER_MESSAGE(DrainNode)
FAIRWATER_MESSAGE(SubmitJob)
FAIRWATER_MESSAGE(JobAccepted)
FAIRWATER_MESSAGE(ListJobs)
FAIRWATER_MESSAGE(JobList)
FAIRWATER_MESSAGE(ShowJob)
FAIRWATER_MESSAGE(CancelJob)
FAIRWATER_MESSAGE(WaitJob)
FAIRWATER_MESSAGE(ExplainTask)
FAIRWATER_MESSAGE(ReadLog)
FAIRWATER_MESSAGE(ShowLedger)
FAIRWATER_MESSAGE(ReadJournal)
FAIRWATER_MESSAGE(VerifyLedger)
FAIRWATER_MESSAGE(Done)
