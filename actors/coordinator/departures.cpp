// How nodes go for good.
#include <utility>

#include "actors/coordinator/state.hpp"

namespace fairwater::inline actors::inline coordinator::coordination {
namespace {

/// Gives the name free for the next registration or removal, and answers.
void refuse_departure(CoordinatorSelf self, const std::string& name,
                      caf::typed_response_promise<Done> promise, const caf::error& error) {
  self->state.registering.erase(name);
  promise.deliver(error);
}

/// The node's actor takes nothing any more: takes the node out of allocator and directory at one
/// moment, then makes that durable.
void remove_retired_node(CoordinatorSelf self, NodeId id,
                         caf::typed_response_promise<Done> promise) {
  auto& state = self->state;
  auto entry = state.nodes.at(id);
  const std::string name = entry.record.spec.traits.name;
  if (state.beginning_anew || state.allocation->node(id).running_tasks > 0) {
    self->send(entry.actor, ReinstateNode{});
    refuse_departure(self, name, promise,
                     make_error(ErrorCode::unavailable, state.beginning_anew
                                                            ? state.why_not_granting
                                                            : "a task was just given to " + name));
    return;
  }
  state.allocation->remove_node(id);
  expect_node(state, entry, -1);
  state.nodes.erase(id);
  state.node_totals.reset();
  state.node_ids.erase(name);
  state.leaving_nodes.emplace(id, std::move(entry));
  commit_chained(
      self, NodeRemoved{id},
      [self, id, name, promise](const Committed&) mutable {
        auto& state = self->state;
        const auto actor = state.leaving_nodes.at(id).actor;
        state.leaving_nodes.erase(id);
        state.context->names->remove(id);
        state.registering.erase(name);
        self->unlink_from(actor);
        self->send_exit(actor, caf::exit_reason::user_shutdown);  // its agent's connection goes too
        change_trust(self, [&] { state.trust.remove(id); });  // nobody waits for its word any more
        consider_all_nodes(self);
        promise.deliver(Done{});
      },
      // Its name stays taken until the node is back: see take_back_leaving_nodes.
      [promise](const caf::error& error) mutable { promise.deliver(error); });
}

}  // namespace

caf::result<Done> answer(CoordinatorSelf self, const RemoveNode& request) {
  auto& state = self->state;
  const auto known = state.node_ids.find(request.name);
  if (known == state.node_ids.end())
    return make_error(ErrorCode::not_found, "there is no node " + request.name, "name");
  if (!state.registering.insert(request.name).second)
    return make_error(ErrorCode::unavailable,
                      "node " + request.name + " is registering or being removed");
  const auto id = known->second;
  auto promise = self->make_response_promise<Done>();
  self->request(state.nodes.at(id).actor, caf::infinite, RetireNode{})
      .then([self, id, promise](const Done&) { remove_retired_node(self, id, promise); },
            [self, name = request.name, promise](const caf::error& error) {
              refuse_departure(self, name, promise, error);
            });
  return promise;
}

void take_back_leaving_nodes(CoordinatorSelf self) {
  auto& state = self->state;
  for (auto& [id, entry] : std::exchange(state.leaving_nodes, {})) {
    const auto& name = entry.record.spec.traits.name;
    self->send(entry.actor, ReinstateNode{});
    state.node_ids[name] = id;
    state.registering.erase(name);
    state.nodes.emplace(id, entry);
    expect_node(state, entry, 1);
    state.node_totals.reset();
  }
}

}  // namespace fairwater::inline actors::inline coordinator::coordination
