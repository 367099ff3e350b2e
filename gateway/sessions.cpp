#include "gateway/sessions.hpp"

#include "gateway/calls.hpp"
#include "rpc/calls.hpp"
#include "rpc/pages.hpp"
#include "rpc/tokens.hpp"
#include "schema/byte_budget.hpp"

namespace fairwater::inline gateway {
namespace {

/// The answer says of each tenant what changes: up to three times the bytes of the question.
void check_apply_bytes(capnp::List<wire::TenantSpec>::Reader specs) {
  constexpr std::size_t kMaxBytes = 2 * kMessageBudgetBytes;
  std::size_t bytes = 0;
  for (auto spec : specs) bytes += spec.totalSize().wordCount * sizeof(capnp::word);
  if (bytes > kMaxBytes)
    throw MalformedRecord("tenants", std::to_string(specs.size()) + " tenants with " +
                                         std::to_string(bytes) + " bytes are more than " +
                                         std::to_string(kMaxBytes) +
                                         " at once; apply them in parts");
}

/// Differences quote what is stored.
constexpr std::size_t kMaxDifferenceBytes = 4096;

/// What a token begins with tells what it is for.
std::string_view prefix_of(Role role) {
  switch (role) {
    case Role::operator_role:
      return "fw_op_";
    case Role::tenant:
      return "fw_tn_";
    case Role::join:
      break;
  }
  return "fw_jn_";
}

template <class Params>
void check_params(const Params&) {}
void check_params(const wire::OperatorSession::ApplyTenantsParams::Reader& params) {
  check_apply_bytes(params.getSpecs());
}

/// An answer as it fits a message.
template <class Answer>
Answer fitting(Answer answer) {
  return answer;
}
JobDetail fitting(JobDetail detail) { return first_page(std::move(detail)); }
VerifyReport fitting(VerifyReport report) {
  for (auto& difference : report.differences)
    difference = cut_text(std::move(difference), kMaxDifferenceBytes);
  return report;
}

/// Chooses how a call is served: most are alike, some have a way of their own.
template <class Request>
struct Call {};

// A method of a session's interface, by the call table.
#define FAIRWATER_SERVE(method, Request)                        \
  kj::Promise<void> method(Request##Context context) override { \
    return serve(Call<Request>{}, context);                     \
  }

/// Calls for every client. `frontend` messages carry the caller, and the frontend checks what it
/// may see.
class SessionServer : public virtual wire::TenantSession::Server {
 public:
  SessionServer(Connection& connection, Caller caller)
      : connection_(kj::addRef(connection)), caller_(std::move(caller)) {}

 protected:
  /// Makes the request of a call's parameters.
  template <class Request>
  auto request_reader() {
    return [this](auto params) {
      return guard_decoding([&] {
        check_params(params);
        auto request = read_fields<Request>(params);
        request.caller = caller_;
        return request;
      });
    };
  }

  /// Asks the frontend.
  auto frontend_within(std::chrono::milliseconds timeout) {
    return [this, timeout]<class Request>(Request request, Bridge::Kept place) {
      auto& services = connection_->services();
      return services.bridge.ask<typename Request::Answer>(services.frontend, std::move(request),
                                                           timeout, kj::mv(place));
    };
  }

  FAIRWATER_TENANT_CALLS(FAIRWATER_SERVE)

  template <class Request, class Context>
  kj::Promise<void> serve(Call<Request>, Context context) {
    const auto fill = [](typename Request::Answer answer, auto results) {
      put_answer<Request>(fitting(std::move(answer)), results);
    };
    if constexpr (requires { Request::kTakesLong; }) {
      return wait(context, request_reader<Request>(), fill, kVerifyTimeout);
    } else if constexpr (requires(Request request) { request.wait_ms; }) {
      auto request = request_reader<Request>()(context.getParams());
      if (!request) return answer_error(context, request.error());
      request->wait_ms = bounded_wait_ms(request->wait_ms);
      if (request->wait_ms == 0) return ask(context, std::move(*request), fill);
      const auto timeout =
          connection_->services().answer_timeout() + std::chrono::milliseconds(request->wait_ms);
      return wait(context, std::move(*request), fill, timeout);
    } else if constexpr (requires(Request request) { request.after; }) {
      auto request = request_reader<Request>()(context.getParams());
      if (!request) return answer_error(context, request.error());
      const auto after = request->after;
      return ask(context, std::move(*request),
                 [after](typename Request::Answer answer, auto results) {
                   put_answer<Request>(page_after(std::move(answer), after), results);
                 });
    } else {
      return ask(context, request_reader<Request>(), fill);
    }
  }

  template <class Context, class Decode, class Fill>
  kj::Promise<void> ask(Context context, Decode decode, Fill fill) {
    return answer_client(*connection_, caller_.tenant, CallKind::work, context, std::move(decode),
                         frontend_within(connection_->services().answer_timeout()),
                         std::move(fill));
  }
  /// For what mostly waits, or takes long by itself.
  template <class Context, class Decode, class Fill>
  kj::Promise<void> wait(Context context, Decode decode, Fill fill,
                         std::chrono::milliseconds timeout) {
    return answer_client(*connection_, caller_.tenant, CallKind::wait, context, std::move(decode),
                         frontend_within(timeout), std::move(fill));
  }

  [[nodiscard]] const Caller& caller() const { return caller_; }
  [[nodiscard]] Connection& connection() { return *connection_; }

 private:
  kj::Own<Connection> connection_;
  const Caller caller_;
};

class TenantSessionServer final : public SessionServer {
 public:
  using SessionServer::SessionServer;
};

class OperatorSessionServer final : public SessionServer,
                                    public virtual wire::OperatorSession::Server {
 public:
  using SessionServer::SessionServer;

 protected:
  FAIRWATER_OPERATOR_CALLS(FAIRWATER_SERVE)

  using SessionServer::serve;

  /// As createToken for a tenant, of clients of earlier versions.
  kj::Promise<void> issueToken(IssueTokenContext context) override {
    std::string token = make_token(prefix_of(Role::tenant));
    return ask(
        context,
        [this, hash = hash_token(token)](auto params) {
          CreateToken request{caller(), {}, hash};
          request.wanted.tenant = to_std_string(params.getTenant());
          return request;
        },
        [token](const TokenInfo&, auto results) { results.setToken(to_text(token)); });
  }

  kj::Promise<void> serve(Call<CreateToken>, CreateTokenContext context) {
    auto request = request_reader<CreateToken>()(context.getParams());
    if (!request) return answer_error(context, request.error());
    const Role role = request->wanted.role;
    const std::string token = make_token(prefix_of(role));
    request->token_hash = hash_token(token);
    const std::string shown =
        role == Role::join ? connection().services().join_token_text(token) : token;
    return ask(context, std::move(*request), [shown](const TokenInfo& info, auto results) {
      put_answer<CreateToken>(MadeToken{shown, info}, results);
    });
  }

  kj::Promise<void> serve(Call<RevokeToken>, RevokeTokenContext context) {
    return answer_client(
        connection(), caller().tenant, CallKind::work, context, request_reader<RevokeToken>(),
        [this](RevokeToken request, Bridge::Kept place) {
          return connection().services().revoke(std::move(request), kj::mv(place), connection());
        },
        [](const RevokedToken& revoked, auto results) {
          put_answer<RevokeToken>(revoked.info, results);
        });
  }
};
#undef FAIRWATER_SERVE

class NodeSessionServer final : public wire::NodeSession::Server {
 public:
  NodeSessionServer(Connection& connection, const NodeRegistered& node, kj::Own<AgentLine> line)
      : connection_(kj::addRef(connection)),
        port_(node.port),
        session_(node.session),
        line_(kj::mv(line)) {}

 protected:
  kj::Promise<void> heartbeat(HeartbeatContext context) override {
    return answer_agent(
        *connection_, context,
        [session = session_](auto params) {
          return guard_decoding([&] {
            AgentReport report = read(params.getReport());
            report.session = session;
            return report;
          });
        },
        [this](AgentReport report) {
          auto& services = connection_->services();
          return services.bridge.ask<ReportReply>(port_, std::move(report),
                                                  services.answer_timeout());
        },
        [](const ReportReply& reply, auto results) { encode(reply, results.initReply()); });
  }

 private:
  kj::Own<Connection> connection_;
  const NodePort port_;
  const std::uint64_t session_;
  kj::Own<AgentLine> line_;
};

}  // namespace

Expected<SessionPair> make_session(Connection& connection, const Caller& caller) {
  switch (caller.role) {
    case Role::tenant:
      return SessionPair{kj::heap<TenantSessionServer>(connection, caller), nullptr};
    case Role::operator_role: {
      wire::OperatorSession::Client session = kj::heap<OperatorSessionServer>(connection, caller);
      return SessionPair{session, session};
    }
    case Role::join:
      break;
  }
  return make_error(ErrorCode::not_permitted,
                    "a join token registers agents and opens nothing else");
}

wire::NodeSession::Client make_node_session(Connection& connection, const NodeRegistered& node,
                                            kj::Own<AgentLine> line) {
  return kj::heap<NodeSessionServer>(connection, node, kj::mv(line));
}

}  // namespace fairwater::inline gateway
