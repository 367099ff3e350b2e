// Which run of the agent holds the node: the decisions are rivals.hpp's.
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/coordinator/node_state.hpp"

namespace fairwater::inline actors::inline coordinator::machine {
namespace {

caf::error duplicate(const NodeActorState& state, const std::string& why) {
  return make_error(ErrorCode::already_exists,
                    "duplicate agent: " + why + " (node " + name_of(state) + ")");
}

void note_rival(NodeSelf self, const AgentRun& run, const std::string& what) {
  auto& state = self->state;
  const std::string problem =
      "a second agent with this node's data (start " + std::to_string(run.starts) + ") " + what;
  if (!state.rivals.note(problem, self->clock().now())) return;
  spdlog::error("node {}: {}", name_of(state), problem);
  send_beat(self, {});
}

}  // namespace

caf::result<Done> judge_run(NodeSelf self, const JudgeRun& request) {
  auto& state = self->state;
  if (state.retired) return being_removed(state);
  const auto& run = request.run;
  const Rivals::Holder holder{state.record.run, state.liveness == Liveness::lost,
                              static_cast<bool>(state.link)};
  const std::string later = "start " + std::to_string(holder.run.starts);
  switch (state.rivals.judge(run, request.moved, holder, self->clock().now())) {
    case Rivals::Verdict::let_in:
      break;
    case Rivals::Verdict::superseded:
      note_rival(self, run, "was refused: it was superseded by " + later);
      return duplicate(state,
                       "start " + std::to_string(run.starts) + " of it was superseded by " + later);
    case Rivals::Verdict::fenced:
      return make_error(ErrorCode::unavailable, "an earlier agent of node " + name_of(state) +
                                                    " was shut out; its tasks end with its lease");
    case Rivals::Verdict::copied:
      note_rival(self, run, "was refused: its data directory is a copy");
      return duplicate(state,
                       "its data directory is a copy of one whose agent holds the node and "
                       "has not been silent beyond lease and grace");
    case Rivals::Verdict::connected:
      return make_error(ErrorCode::unavailable,
                        "the earlier agent of node " + name_of(state) + " is still connected");
  }
  return Done{};
}

bool is_contested(NodeSelf self) {
  auto& state = self->state;
  const auto& settings = state.context->settings;
  return state.rivals.is_contested(self->clock().now(),
                                   std::chrono::milliseconds(state.context->leases.ordinary_ms),
                                   std::chrono::milliseconds(settings.heartbeat_interval_ms));
}

caf::error fence(NodeSelf self) {
  auto& state = self->state;
  const NodeSuperseded event{state.record.id, state.rivals.fence()};
  apply(state.record, event);
  state.fence_to_write = event;
  state.session = 0;
  close_link(state);
  note_rival(self, event.run, "superseded the one that was connected");
  send_beat(self, {});
  self->request(state.context->ledger, caf::infinite, Commit{{event}, 0})
      .then([self](const Committed&) { self->state.fence_to_write.reset(); },
            [](const caf::error& error) {
              // The node's loss, which follows, writes it too.
              spdlog::error("a superseded agent is not durably shut out yet: {}",
                            details(error).message);
            });
  return refuse_fenced(state);
}

caf::error refuse_fenced(const NodeActorState& state) {
  return duplicate(state, "a later start of it has asked for the node");
}

}  // namespace fairwater::inline actors::inline coordinator::machine
