// How nodes are known, and how they drain.
#include <string>
#include <utility>

#include "actors/coordinator/state.hpp"

namespace fairwater::inline actors::inline coordinator::coordination {

void add_node(CoordinatorSelf self, NodeRecord record, std::vector<AssignedTask> assigned) {
  auto& state = self->state;
  NodeEntry entry;
  entry.record = record;
  NodeBeatSink sink = CoordinatorActor{self};
  entry.actor = spawn_node(self->system(), state.context, sink, record, std::move(assigned));
  self->link_to(
      entry.actor);  // they end together: the cluster does not go on without one of its parts
  state.node_ids[record.spec.traits.name] = record.id;
  state.context->names->put(record.id, record.spec.traits.name, record.spec.address);
  state.node_totals.reset();
  expect_node(state, entry, 1);
  state.nodes.emplace(record.id, std::move(entry));
}

namespace {

caf::error check_drain(const std::string& reason, std::int64_t deadline_ms) {
  if (auto too_long = validate_reason(reason)) return too_long;
  if (deadline_ms < 0 || deadline_ms > kMaxDrainDeadline_ms)
    return make_error(ErrorCode::invalid_input,
                      std::to_string(deadline_ms) +
                          " ms are no drain's deadline; it is up to 366 days from its beginning",
                      "deadline");
  return {};
}

caf::error no_reason() {
  return make_error(ErrorCode::invalid_input,
                    "say why the node gets no new tasks; listings and the journal keep it",
                    "reason");
}

caf::result<Done> ask_node(CoordinatorSelf self, const std::string& name, const SetDrain& wanted) {
  auto& state = self->state;
  const auto id = state.node_ids.find(name);
  if (id == state.node_ids.end())
    return make_error(ErrorCode::not_found, "there is no node " + name, "name");
  auto promise = self->make_response_promise<Done>();
  self->request(state.nodes.at(id->second).actor, caf::infinite, wanted)
      .then([promise](const Done&) mutable { promise.deliver(Done{}); },
            [promise](const caf::error& error) mutable { promise.deliver(error); });
  return promise;
}

}  // namespace

caf::result<Done> answer(CoordinatorSelf self, const DrainNode& request) {
  if (request.drain && request.reason.empty()) return no_reason();
  if (auto refused = check_drain(request.reason, request.deadline_ms)) return refused;
  return ask_node(self, request.name, {request.drain, request.reason, request.deadline_ms});
}

caf::result<Done> answer(CoordinatorSelf self, const PlanDrain& request) {
  if (request.reason.empty()) return no_reason();
  if (auto refused = check_drain(request.reason, request.deadline_ms)) return refused;
  const WallTime now = self->state.context->wall_clock();
  if (request.begins <= now ||
      request.begins.microseconds - now.microseconds > kMaxDrainDeadline_ms * 1000)
    return make_error(ErrorCode::invalid_input,
                      utc_text(request.begins) + " is " +
                          (request.begins <= now ? "not later than now, " : "too far from now, ") +
                          utc_text(now) + ": a drain is planned for up to 366 days ahead",
                      "at");
  return ask_node(self, request.name, {true, request.reason, request.deadline_ms, request.begins});
}

}  // namespace fairwater::inline actors::inline coordinator::coordination
