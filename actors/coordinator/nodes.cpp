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

caf::result<Done> answer(CoordinatorSelf self, const DrainNode& request) {
  if (request.drain && request.reason.empty())
    return make_error(ErrorCode::invalid_input,
                      "say why the node gets no new tasks; listings and the journal keep it",
                      "reason");
  if (auto too_long = validate_reason(request.reason)) return too_long;
  if (request.deadline_ms < 0 || request.deadline_ms > kMaxDrainDeadline_ms)
    return make_error(ErrorCode::invalid_input,
                      std::to_string(request.deadline_ms) +
                          " ms are no drain's deadline; it is up to 366 days from now",
                      "deadline");
  auto& state = self->state;
  const auto id = state.node_ids.find(request.name);
  if (id == state.node_ids.end())
    return make_error(ErrorCode::not_found, "there is no node " + request.name, "name");
  auto promise = self->make_response_promise<Done>();
  self->request(state.nodes.at(id->second).actor, caf::infinite,
                SetDrain{request.drain, request.reason, request.deadline_ms})
      .then([promise](const Done&) mutable { promise.deliver(Done{}); },
            [promise](const caf::error& error) mutable { promise.deliver(error); });
  return promise;
}

}  // namespace fairwater::inline actors::inline coordinator::coordination
