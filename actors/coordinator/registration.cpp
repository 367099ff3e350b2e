// How an agent is let in. It is judged in this order, and only the last step changes anything:
//
//   identity   its credential, or a join token; the edge asks for that before it reads the rest
//   cluster    the one that it joined is this one
//   history    it has seen nothing that the ledger does not hold (ledger_trust.hpp)
//   run        no other run of the agent holds the node (node.hpp)
//   admission  the node is made durable where it is new or changed; its actor gets the agent
#include <memory>
#include <utility>

#include <sodium.h>
#include <spdlog/spdlog.h>

#include "actors/coordinator/state.hpp"
#include "state/node.hpp"

namespace fairwater::inline actors::inline coordinator::coordination {
namespace {

struct Registration {
  std::shared_ptr<const RegisterNode> request;
  caf::typed_response_promise<NodeRegistered> promise;
};

const std::string& name_of(const Registration& registration) {
  return registration.request->spec.traits.name;
}

const NodeEntry* known_node(const CoordinatorState& state, const std::string& name) {
  const auto known = state.node_ids.find(name);
  return known == state.node_ids.end() ? nullptr : &state.nodes.at(known->second);
}

bool same_credential(const Hash& a, const Hash& b) {
  return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

/// Nobody of that name has joined: a renamed agent hears which name its credential is for.
caf::error unknown_node(const CoordinatorState& state, const AgentCredential& shown) {
  for (const auto& [id, node] : state.nodes) {
    if (!same_credential(node.record.credential_hash, shown.credential_hash)) continue;
    const auto& joined_as = node.record.spec.traits.name;
    return make_error(ErrorCode::unauthenticated,
                      "this agent joined as node " + joined_as + " and cannot become " +
                          shown.name + "; name it " + joined_as +
                          " again, or give it an empty data directory (--data) and a join token "
                          "(--join-token-file) to join as another node",
                      "name");
  }
  return make_error(
      ErrorCode::unauthenticated,
      "no node " + shown.name + " has joined; a join token is needed (--join-token-file)",
      "credential");
}

/// Whether the peer may be this node.
caf::error check_identity(const CoordinatorState& state, const NodeEntry* node,
                          const AgentCredential& shown) {
  if (node == nullptr && shown.joining) return {};
  if (node == nullptr) return unknown_node(state, shown);
  if (same_credential(node->record.credential_hash, shown.credential_hash)) return {};
  if (!shown.joining)
    return make_error(ErrorCode::unauthenticated,
                      "this is not the credential that node " + shown.name + " got when it joined",
                      "credential");
  if (node->record.spec.instance == shown.instance || node->record.lost) return {};
  return make_error(ErrorCode::unavailable,
                    "another agent is known as node " + shown.name +
                        "; the name is free once that one has been silent beyond lease and grace");
}

caf::error check_credential(CoordinatorState& state, const AgentCredential& shown) {
  if (!is_valid_name(shown.name))
    return make_error(
        ErrorCode::invalid_input,
        "'" + shown.name + "' is not a node name: 1 to 63 letters, digits, '.', '_', '-'", "name");
  if (shown.joining) {
    const auto token = use_token(state, shown.join_hash);
    if (!token) return token.error();
    if (token->role != Role::join)
      return make_error(ErrorCode::not_permitted, "this is not a join token", "join_token");
  }
  return check_identity(state, known_node(state, shown.name), shown);
}

caf::error check_cluster(const CoordinatorState& state, const RegisterNode& request) {
  const auto& joined = request.identity.memory.cluster_id;
  const auto& own = state.context->cluster_id;
  if (joined.empty() || joined == own) return {};
  return make_error(ErrorCode::wrong_state,
                    "node " + request.spec.traits.name + " belongs to cluster " + joined +
                        ", this is cluster " + own +
                        "; it needs a data directory of its own to join here",
                    "cluster");
}

constexpr std::size_t kMaxShownAddressBytes = 100;

/// A node keeps the site and labels that an earlier coordinator let it in with.
caf::error check_words(const NodeEntry* known, const RegisterNode& request) {
  const NodeTraits& traits = request.spec.traits;
  const NodeTraits kept = known == nullptr ? NodeTraits{} : known->record.spec.traits;
  if (known == nullptr || traits.site != kept.site)
    if (auto wrong = validate_site(traits.site)) return wrong;
  if (traits.labels != kept.labels)
    if (auto wrong = validate_labels(traits.labels)) return wrong;
  const std::pair<const char*, const std::string*> texts[] = {
      {"limits", &request.spec.limits},
      {"isolation", &request.spec.isolation},
      {"instance", &request.spec.instance},
      {"identity.runId", &request.identity.run.id}};
  for (const auto& [field, text] : texts)
    if (auto wrong = validate_node_text(field, *text)) return wrong;
  return {};
}

caf::error check_request(const CoordinatorState& state, const RegisterNode& request) {
  const auto& name = request.spec.traits.name;
  if (auto wrong = check_words(known_node(state, name), request)) return wrong;
  if (auto capacity = state.context->catalog.to_vector(request.spec.capacity, "resources");
      !capacity)
    return capacity.error();
  if (auto wrong = validate(request.spec.traits.devices, request.spec.capacity)) return wrong;
  const std::string& address = request.spec.address;
  if (!address.empty() && !is_valid_host(address))
    return make_error(ErrorCode::invalid_input,
                      "'" + cut_text(address, kMaxShownAddressBytes) +
                          "' is neither an IP address nor a host's name",
                      "address");
  const auto& end = state.context->ledger_end().mark;
  if (request.identity.memory.seen.incarnation > end.incarnation + kMaxIncarnationsAhead)
    return make_error(ErrorCode::invalid_input,
                      "no ledger has come to incarnation " +
                          std::to_string(request.identity.memory.seen.incarnation),
                      "identity.seenIncarnation");
  if (state.registering.contains(name))
    return make_error(ErrorCode::unavailable, "node " + name + " is registering or being removed");
  return {};
}

void refuse(CoordinatorSelf self, Registration& registration, caf::error error) {
  self->state.registering.erase(name_of(registration));
  registration.promise.deliver(std::move(error));
}

// -- admission ------------------------------------------------------------------------------------

void attach(CoordinatorSelf self, const NodeAdmitted& admitted, Registration registration) {
  auto& state = self->state;
  const auto id = admitted.node;
  const auto& node = state.nodes.at(id);
  const auto session = ++state.last_session;
  const auto& request = *registration.request;
  self->request(node.actor, caf::infinite, Attach{admitted, request.report, request.link, session})
      .then(
          [self, id, session, port = NodePort(node.actor),
           registration](const ReportReply& reply) mutable {
            auto& state = self->state;
            state.registering.erase(name_of(registration));
            change_trust(self, [&] { state.trust.agree(id); });
            registration.promise.deliver(NodeRegistered{id, state.context->epoch, reply, port,
                                                        session, state.context->cluster_id});
          },
          [self, registration](caf::error& error) mutable {
            refuse(self, registration, std::move(error));
          });
}

/// Told to the ledger where it says something new; its actor hears it in any case.
void admit(CoordinatorSelf self, Registration registration) {
  auto& state = self->state;
  const auto& request = *registration.request;
  const auto* known = known_node(state, name_of(registration));
  const NodeAdmitted event{known != nullptr ? known->record.id : NodeId{state.next_node++},
                           request.spec, request.credential_hash, request.identity.run};
  NodeRecord record = known != nullptr ? known->record : NodeRecord{};
  apply(record, event);
  if (known != nullptr && record == known->record) {
    attach(self, event, std::move(registration));
    return;
  }
  self->request(state.context->ledger, caf::infinite, Commit{{event}, 0})
      .then(
          [self, event, registration](const Committed&) mutable {
            auto& state = self->state;
            if (!state.nodes.contains(event.node)) {
              NodeRecord record;
              apply(record, event);
              add_node(self, std::move(record), {});
            }
            auto& node = state.nodes.at(event.node);
            apply(node.record, event);
            state.context->names->put(event.node, event.spec.traits.name, event.spec.address);
            set_node(self, node);
            attach(self, event, std::move(registration));
          },
          [self, registration](caf::error& error) mutable {
            refuse(self, registration, std::move(error));
          });
}

// -- judging --------------------------------------------------------------------------------------

void judge_run(CoordinatorSelf self, Registration registration) {
  const auto& request = *registration.request;
  const auto* known = known_node(self->state, name_of(registration));
  // Another data directory takes a lost node's place, and counts its starts anew.
  if (known == nullptr || known->record.spec.instance != request.spec.instance) {
    admit(self, std::move(registration));
    return;
  }
  self->request(known->actor, caf::infinite, JudgeRun{request.identity.run, request.identity.moved})
      .then([self, registration](const Done&) mutable { admit(self, std::move(registration)); },
            [self, registration](caf::error& error) mutable {
              refuse(self, registration, std::move(error));
            });
}

void compare(CoordinatorSelf self, Registration registration, const LedgerEnd& end,
             const std::optional<Hash>& own) {
  auto& state = self->state;
  const auto& memory = registration.request->identity.memory;
  const auto why = contradiction(memory, end, own);
  if (!why) {
    judge_run(self, std::move(registration));
    return;
  }
  const auto& name = name_of(registration);
  // Who is about to join is nobody's witness yet.
  if (const auto known = state.node_ids.find(name); known != state.node_ids.end()) {
    if (!state.trust.doubts().contains(known->second))
      spdlog::error("node {} {}: nothing is granted or taken in; see fairwater ledger doubts", name,
                    *why);
    state.trust.doubt(known->second, {memory.seen, *why, state.context->wall_clock()});
  }
  refuse(self, registration,
         make_error(ErrorCode::storage_behind,
                    "node " + name + " " + *why +
                        ": the ledger is older than what was acknowledged; bring the newer one "
                        "back"));
}

/// The record after the one that the agent has seen carries its hash.
void judge_history(CoordinatorSelf self, Registration registration) {
  const auto& memory = registration.request->identity.memory;
  if (registration.request->joining && memory.cluster_id.empty()) {
    judge_run(self, std::move(registration));  // what it has seen was another cluster's
    return;
  }
  const auto end = self->state.context->ledger_end();
  const auto& seen = memory.seen;
  const bool inside = seen.incarnation == end.mark.incarnation && seen.number < end.mark.number;
  if (!inside || !seen.hash || seen.number == 0) {
    const auto own = seen.number == end.mark.number ? end.mark.hash : std::nullopt;
    compare(self, std::move(registration), end, own);
    return;
  }
  if (const auto known = self->state.record_hashes.find(seen.number)) {
    compare(self, std::move(registration), end, known);
    return;
  }
  self->request(self->state.context->reader, caf::infinite, GetRecord{seen.number + 1})
      .then(
          [self, registration, end, number = seen.number](const FoundRecord& next) mutable {
            self->state.record_hashes.learn(number, next.record.previous);
            compare(self, std::move(registration), end, next.record.previous);
          },
          [self, registration](caf::error& error) mutable {
            refuse(self, registration, std::move(error));
          });
}

void judge(CoordinatorSelf self, Registration registration) {
  auto& state = self->state;
  const auto& request = *registration.request;
  auto refused = check_cluster(state, request);
  if (!refused) refused = check_request(state, request);
  if (refused) {
    registration.promise.deliver(std::move(refused));
    return;
  }
  state.registering.insert(name_of(registration));
  judge_history(self, std::move(registration));
}

}  // namespace

caf::result<Done> judge_credential(CoordinatorSelf self, const AgentCredential& shown) {
  if (auto refused = check_credential(self->state, shown)) return refused;
  return Done{};
}

caf::result<NodeRegistered> register_node(CoordinatorSelf self, const RegisterNode& request) {
  // It was judged before; since then the token may have been revoked, or the name taken.
  const AgentCredential shown{request.spec.traits.name, request.spec.instance,
                              request.credential_hash, request.joining, request.join_hash};
  if (auto refused = check_credential(self->state, shown)) return refused;
  Registration registration{std::make_shared<const RegisterNode>(request),
                            self->make_response_promise<NodeRegistered>()};
  auto promise = registration.promise;
  judge(self, std::move(registration));
  return promise;
}

}  // namespace fairwater::inline actors::inline coordinator::coordination
