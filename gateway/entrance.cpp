// The bootstrap interface: logging in and registering.
#include "gateway/calls.hpp"
#include "gateway/sessions.hpp"
#include "rpc/tokens.hpp"

namespace fairwater::inline gateway {
namespace {

std::uint32_t version_in_use(std::uint32_t peer_version) {
  return std::min(peer_version, kProtocolVersion);
}

/// Lets the peer try again when its attempt ends in any way but success.
auto abandon_unless_settled(Connection& connection) {
  return kj::defer(
      [connection = kj::addRef(connection)]() mutable { connection->entry_abandoned(); });
}

/// An agent that knows nothing of keys shows the whole text of its file.
Hash hash_of_join_token(const std::string& shown) {
  const auto parsed = parse_join_token(shown);
  return hash_token(parsed ? parsed->token : shown);
}

class GatewayServer final : public wire::Gateway::Server {
 public:
  explicit GatewayServer(Connection& connection) : connection_(kj::addRef(connection)) {}

 protected:
  kj::Promise<void> login(LoginContext context) override {
    const auto params = context.getParams();
    const std::uint32_t version = params.getProtocolVersion();
    if (auto refused = connection_->begin_entry(version))
      return refuse_late(*connection_, context, refused);
    const Login request{hash_token(to_std_string(params.getToken())), params.getAcceptsFollower()};
    context.allowCancellation();
    auto& services = connection_->services();
    return services.bridge.ask<Caller>(services.frontend, request, services.answer_timeout())
        .then(
            [this, context, version, token = request.token_hash](Expected<Caller> caller) mutable {
              if (!caller) return refuse(context, caller.error());
              if (caller->role != Role::operator_role)
                if (auto full = connection_->check_place()) return refuse(context, full);
              if (auto ended = connection_->begin_session(token, caller->expires_at))
                return refuse(context, ended);
              return open_session(context, *caller, version);
            })
        .attach(abandon_unless_settled(*connection_));
  }

  kj::Promise<void> registerAgent(RegisterAgentContext context) override {
    const auto params = context.getParams();
    const std::uint32_t version = params.getProtocolVersion();
    if (auto refused = connection_->begin_entry(version))
      return refuse_late(*connection_, context, refused);
    auto settled = abandon_unless_settled(*connection_);
    if (auto full = connection_->check_place()) return answer_error(context, full);
    auto line = open_line(params.getControl());
    if (params.getCredential().size() == 0)
      return answer_error(context, make_error(ErrorCode::invalid_input,
                                              "an agent must show a credential", "credential"));
    context.allowCancellation();
    auto& services = connection_->services();
    // A stranger's report is not read.
    return services.bridge
        .ask<Done>(services.frontend, credential_in(params), services.answer_timeout())
        .then([this, context, version, line = kj::mv(line)](Expected<Done> known) mutable {
          if (!known) return refuse(context, known.error());
          return register_known(context, kj::mv(line), version);
        })
        .attach(kj::mv(settled));
  }

  kj::Promise<void> identify(IdentifyContext context) override {
    const auto asked = context.getParams().getNonce();
    Nonce nonce{};
    if (asked.size() != nonce.size())
      return answer_error(
          context,
          make_error(ErrorCode::invalid_input,
                     "a nonce has 32 bytes, not " + std::to_string(asked.size()), "nonce"));
    std::copy(asked.begin(), asked.end(), nonce.begin());
    const auto proof = connection_->identify(nonce);
    if (!proof) return answer_error(context, proof.error());
    encode(*proof, context.getResults());
    return kj::READY_NOW;
  }

 private:
  template <class Context>
  kj::Promise<void> refuse(Context context, const caf::error& error) {
    return connection_->entry_failed(error).then(
        [context, error]() mutable { return answer_error(context, error); });
  }

  kj::Promise<void> open_session(LoginContext& context, const Caller& caller,
                                 std::uint32_t version) {
    auto session = make_session(*connection_, caller);
    if (!session) return answer_error(context, session.error());
    connection_->client_entered(caller.role == Role::tenant ? std::optional(caller.tenant)
                                                            : std::nullopt);
    auto results = context.getResults();
    results.setSession(session->session);
    KJ_IF_MAYBE (operator_session, session->operator_session)
      results.setOperatorSession(*operator_session);
    results.setRole(to_wire(caller.role));
    results.setTenant(caller.tenant.value);
    results.setTenantName(to_text(caller.tenant_name));
    results.setProtocolVersion(version_in_use(version));
    results.setRemembersRequests(true);
    results.setTakesWeights(true);
    results.setUser(to_text(caller.user));
    return kj::READY_NOW;
  }

  [[nodiscard]] kj::Own<AgentLine> open_line(wire::AgentControl::Client control) {
    auto& services = connection_->services();
    return kj::heap<AgentLine>(
        services.system, services.agent_lines, services.bridge.outbox(), services.timer,
        kj::mv(control), [connection = connection_.get()] {
          connection->close("the agent does not answer orders, or was replaced");
        });
  }

  [[nodiscard]] static AgentCredential credential_in(
      wire::Gateway::RegisterAgentParams::Reader params) {
    AgentCredential shown;
    shown.name = to_std_string(params.getSpec().getTraits().getName());
    shown.instance = to_std_string(params.getSpec().getInstance());
    shown.credential_hash = hash_token(to_std_string(params.getCredential()));
    shown.joining = params.getJoinToken().size() > 0;
    if (shown.joining) shown.join_hash = hash_of_join_token(to_std_string(params.getJoinToken()));
    return shown;
  }

  [[nodiscard]] static Expected<RegisterNode> decode_registration(
      wire::Gateway::RegisterAgentParams::Reader params, const AgentLink& link) {
    return guard_decoding([&] {
      const AgentCredential shown = credential_in(params);
      RegisterNode request{read(params.getSpec()),    read(params.getReport()),
                           shown.credential_hash,     shown.joining,
                           shown.join_hash,           link,
                           read(params.getIdentity())};
      request.identity.memory.seen.number = params.getReport().getHighWaterCycle();
      return request;
    });
  }

  kj::Promise<void> register_known(RegisterAgentContext context, kj::Own<AgentLine> line,
                                   std::uint32_t version) {
    auto request = decode_registration(context.getParams(), line->link());
    if (!request) return answer_error(context, request.error());
    auto& services = connection_->services();
    return services.bridge
        .ask<NodeRegistered>(services.frontend, std::move(*request), services.answer_timeout())
        .then([this, context, version,
               line = kj::mv(line)](Expected<NodeRegistered> registered) mutable {
          if (!registered) return refuse(context, registered.error());
          return open_node_session(context, *registered, kj::mv(line), version);
        });
  }

  kj::Promise<void> open_node_session(RegisterAgentContext& context, const NodeRegistered& node,
                                      kj::Own<AgentLine> line, std::uint32_t version) {
    connection_->agent_entered();
    close_with_port(node.port, line->number());
    auto results = context.getResults();
    results.setSession(make_node_session(*connection_, node, kj::mv(line)));
    results.setNode(node.node.value);
    results.setEpoch(node.epoch);
    encode(node.reply, results.initReply());
    results.setProtocolVersion(version_in_use(version));
    results.setClusterId(to_text(node.cluster_id));
    return kj::READY_NOW;
  }

  /// When the node's actor ends, the agent is to register again.
  void close_with_port(const NodePort& port, std::uint64_t line_number) {
    auto& services = connection_->services();
    port->attach_functor(
        [lines = &services.agent_lines, outbox = services.bridge.outbox(), line_number] {
          outbox->post([lines, line_number] {
            if (auto* line = lines->find(line_number)) line->fail();
          });
        });
  }

  kj::Own<Connection> connection_;
};

}  // namespace

wire::Gateway::Client make_gateway(Connection& connection) {
  return kj::heap<GatewayServer>(connection);
}

}  // namespace fairwater::inline gateway
