// How nodes come, come back and drain.
#include <utility>

#include <sodium.h>

#include "actors/coordinator_state.hpp"

namespace fairwater::coordination {
namespace {

bool same_credential(const Hash& a, const Hash& b) {
  return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

/// Everything in a registration that needs no ledger to be judged.
caf::error check_registration(const CoordinatorState& state, const RegisterNode& request) {
  const auto& name = request.spec.traits.name;
  if (!is_valid_name(name))
    return make_error(ErrorCode::invalid_input,
                      "'" + name + "' is not a node name: 1 to 63 letters, digits, '.', '_', '-'",
                      "name");
  if (auto capacity = state.context->catalog.to_vector(request.spec.capacity, "resources");
      !capacity)
    return capacity.error();
  if (state.registering.contains(name))
    return make_error(ErrorCode::unavailable, "node " + name + " is registering already");
  return {};
}

/// Whether the peer may be this known node.
caf::error check_identity(const NodeEntry& node, const RegisterNode& request) {
  const auto& name = request.spec.traits.name;
  if (same_credential(node.record.credential_hash, request.credential_hash)) return {};
  if (!request.joining)
    return make_error(ErrorCode::unauthenticated,
                      "this is not the credential that node " + name + " got when it joined",
                      "credential");
  if (node.record.spec.instance == request.spec.instance || node.lost) return {};
  return make_error(ErrorCode::unavailable,
                    "another agent is known as node " + name +
                        "; the name is free once that one has been silent beyond lease and grace");
}

/// An agent has been told of a record that this ledger does not have: the ledger is an old copy.
bool is_behind(CoordinatorState& state, const RegisterNode& request) {
  const auto seen = request.report.high_water_cycle;
  const auto have = state.context->committed_cycle();
  if (seen <= have) return false;
  state.behind = true;
  state.why_not_granting = "node " + request.spec.traits.name + " has seen cycle " +
                           std::to_string(seen) + ", this ledger ends at " + std::to_string(have) +
                           ": it is older than what was acknowledged; bring the newer one back";
  return true;
}

void attach(CoordinatorSelf self, NodeId id, const RegisterNode& request,
            caf::typed_response_promise<NodeRegistered> promise) {
  const auto& node = self->state.nodes.at(id);
  NodePort port = node.actor;
  self->request(node.actor, caf::infinite, Attach{node.record, request.report, request.link})
      .then(
          [self, id, port, promise](const ReportReply& reply) mutable {
            promise.deliver(NodeRegistered{id, self->state.context->epoch, reply, port});
          },
          [promise](const caf::error& error) mutable { promise.deliver(error); });
}

/// Makes the node durable where it is new or changed, then hands the agent to its actor.
void admit(CoordinatorSelf self, const RegisterNode& request,
           caf::typed_response_promise<NodeRegistered> promise) {
  auto& state = self->state;
  const auto& name = request.spec.traits.name;
  const auto known = state.node_ids.find(name);
  NodeRecord record;
  if (known != state.node_ids.end()) {
    const auto& node = state.nodes.at(known->second);
    if (auto refused = check_identity(node, request)) {
      promise.deliver(std::move(refused));
      return;
    }
    record = node.record;
  } else if (!request.joining) {
    promise.deliver(make_error(ErrorCode::unauthenticated,
                               "no node " + name + " has joined; a join token is needed",
                               "credential"));
    return;
  } else {
    record.id = NodeId{state.next_node++};
  }
  const NodeRecord before = record;
  record.spec = request.spec;
  record.credential_hash = request.credential_hash;
  if (known != state.node_ids.end() && record == before) {
    attach(self, record.id, request, promise);
    return;
  }
  state.registering.insert(name);
  self->request(state.context->ledger, caf::infinite, Commit{{NodeChanged{record}}, 0})
      .then(
          [self, record, request, promise](const Committed&) mutable {
            self->state.registering.erase(record.spec.traits.name);
            if (!self->state.nodes.contains(record.id)) add_node(self, record, {});
            auto& node = self->state.nodes.at(record.id);
            node.record = record;
            auto capacity = self->state.context->catalog.to_vector(record.spec.capacity, "");
            self->state.cycle->set_node(record.id, record.spec.traits, *capacity, node.accepts);
            attach(self, record.id, request, promise);
          },
          [self, record, promise](const caf::error& error) mutable {
            self->state.registering.erase(record.spec.traits.name);
            promise.deliver(error);
          });
}

}  // namespace

void add_node(CoordinatorSelf self, NodeRecord record, std::vector<AssignedTask> assigned) {
  auto& state = self->state;
  NodeEntry entry;
  entry.record = record;
  entry.lost = record.lost;
  NodeBeatSink sink = CoordinatorActor{self};
  entry.actor = spawn_node(self->system(), state.context, sink, record, std::move(assigned));
  self->link_to(
      entry.actor);  // they end together: the cluster does not go on without one of its parts
  state.node_ids[record.spec.traits.name] = record.id;
  state.nodes.emplace(record.id, std::move(entry));
}

caf::result<NodeRegistered> register_node(CoordinatorSelf self, const RegisterNode& request) {
  auto& state = self->state;
  if (auto refused = check_registration(state, request)) return refused;
  auto promise = self->make_response_promise<NodeRegistered>();
  auto proceed = [self, request, promise]() mutable {
    if (is_behind(self->state, request)) {
      promise.deliver(make_error(ErrorCode::storage_behind, self->state.why_not_granting));
      return;
    }
    admit(self, request, promise);
  };
  if (!request.joining) {
    proceed();
    return promise;
  }
  self->request(state.context->reader, caf::infinite, FindToken{request.join_hash})
      .then(
          [proceed, promise](const FoundToken& found) mutable {
            if (found.grant.role == Role::join) {
              proceed();
            } else {
              promise.deliver(
                  make_error(ErrorCode::not_permitted, "this is not a join token", "join_token"));
            }
          },
          [promise](const caf::error& error) mutable { promise.deliver(error); });
  return promise;
}

caf::result<Done> drain_node(CoordinatorSelf self, const DrainNode& request) {
  auto& state = self->state;
  const auto id = state.node_ids.find(request.name);
  if (id == state.node_ids.end())
    return make_error(ErrorCode::not_found, "there is no node " + request.name, "name");
  auto promise = self->make_response_promise<Done>();
  self->request(state.nodes.at(id->second).actor, caf::infinite,
                SetDrain{request.drain, request.reason})
      .then([promise](const Done&) mutable { promise.deliver(Done{}); },
            [promise](const caf::error& error) mutable { promise.deliver(error); });
  return promise;
}

}  // namespace fairwater::coordination
