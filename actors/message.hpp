// How a type that travels in a message is declared to CAF, and the values of model/ that do: the
// requests and answers of the call table, and those below. Every other message is declared above
// its struct. Messages never leave the process (rpc/ speaks Cap'n Proto), so none is serialisable;
// a newer CAF would want its type ids here instead.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>

#include "model/calls.hpp"

#define FAIRWATER_MESSAGE(name) \
  namespace fairwater {         \
  struct name;                  \
  }                             \
  CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::name)

FAIRWATER_MESSAGE(AgentOrders)
FAIRWATER_MESSAGE(ReadAgentLog)
FAIRWATER_MESSAGE(AgentReport)
FAIRWATER_MESSAGE(ReportReply)
FAIRWATER_MESSAGE(LaunchOrder)
FAIRWATER_MESSAGE(StopOrder)
FAIRWATER_MESSAGE(TaskResult)
FAIRWATER_MESSAGE(Caller)

template <class Type>
requires fairwater::kInCalls<Type>
struct caf::allowed_unsafe_message_type<Type> : std::true_type {
};
