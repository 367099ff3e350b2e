// How a type that travels in a message is declared to CAF, and the values of model/ that do: the
// requests and answers of the call table, and those below. Every other message is declared above
// its struct. Messages never leave the process (rpc/ speaks Cap'n Proto), so none is serialisable;
// a newer CAF would want its type ids here instead.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>

#include "model/calls.hpp"

/// `folder` is the inner namespace of the struct, as its file opens it.
#define FAIRWATER_MESSAGE(folder, name) \
  namespace fairwater::folder {         \
  struct name;                          \
  }                                     \
  CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::name)
#define FAIRWATER_MODEL_MESSAGE(name) FAIRWATER_MESSAGE(inline model, name)
#define FAIRWATER_COORDINATOR_MESSAGE(name) \
  FAIRWATER_MESSAGE(inline actors::inline coordinator, name)
#define FAIRWATER_AGENT_MESSAGE(name) FAIRWATER_MESSAGE(inline actors::inline agent, name)

FAIRWATER_MODEL_MESSAGE(AgentOrders)
FAIRWATER_MODEL_MESSAGE(ReadAgentLog)
FAIRWATER_MODEL_MESSAGE(AgentReport)
FAIRWATER_MODEL_MESSAGE(ReportReply)
FAIRWATER_MODEL_MESSAGE(LaunchOrder)
FAIRWATER_MODEL_MESSAGE(StopOrder)
FAIRWATER_MODEL_MESSAGE(TaskResult)
FAIRWATER_MODEL_MESSAGE(Caller)

template <class Type>
requires fairwater::kInCalls<Type>
struct caf::allowed_unsafe_message_type<Type> : std::true_type {
};
