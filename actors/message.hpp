// How a type that travels in a message is declared to CAF, and the values of model/ that do. Every
// other message is declared above its struct. Messages never leave the process (rpc/ speaks Cap'n
// Proto), so none is serialisable; a newer CAF would want its type ids here instead.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>

#define FAIRWATER_MESSAGE(name) \
  namespace fairwater {         \
  struct name;                  \
  }                             \
  CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::name)

FAIRWATER_MESSAGE(AgentOrders)
FAIRWATER_MESSAGE(ReadAgentLog)
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
