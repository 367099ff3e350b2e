#include "gateway/sessions.hpp"

#include "gateway/calls.hpp"
#include "rpc/pages.hpp"
#include "rpc/tokens.hpp"

namespace fairwater {
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

constexpr auto kNothingToFill = [](const Done&, auto&&) {};

/// Calls for every client. `frontend` messages carry the caller, and the frontend checks what it
/// may see.
class SessionServer : public virtual wire::TenantSession::Server {
 public:
  SessionServer(Connection& connection, Caller caller)
      : connection_(kj::addRef(connection)), caller_(std::move(caller)) {}

 protected:
  kj::Promise<void> getStatus(GetStatusContext context) override {
    return ask<ClusterStatus>(context, GetStatus{}, [](const ClusterStatus& status, auto results) {
      encode(status, results.initStatus());
    });
  }

  kj::Promise<void> listTenants(ListTenantsContext context) override {
    const TenantId after{context.getParams().getAfter()};
    return ask<TenantList>(context, ListTenants{caller_},
                           [after](const TenantList& list, auto results) {
                             const auto page = page_after<wire::TenantInfo>(list.tenants, after);
                             encode_list(page.values, results.initTenants(page.values.size()));
                             results.setMore(page.more);
                           });
  }

  kj::Promise<void> listNodes(ListNodesContext context) override {
    const NodeId after{context.getParams().getAfter()};
    return ask<NodeList>(context, ListNodes{caller_}, [after](const NodeList& list, auto results) {
      const auto page = page_after<wire::NodeInfo>(list.nodes, after);
      encode_list(page.values, results.initNodes(page.values.size()));
      results.setMore(page.more);
    });
  }

  kj::Promise<void> submitJob(SubmitJobContext context) override {
    return ask<JobAccepted>(
        context,
        [this](auto params) {
          return guard_decoding([&] { return SubmitJob{caller_, read(params.getSpec())}; });
        },
        [](const JobAccepted& job, auto results) { results.setId(job.id.value); });
  }

  kj::Promise<void> listJobs(ListJobsContext context) override {
    return ask<JobList>(
        context,
        [this](auto params) {
          return guard_decoding([&] { return ListJobs{caller_, read(params.getQuery())}; });
        },
        [](const JobList& list, auto results) {
          encode_list(list.jobs, results.initJobs(list.jobs.size()));
          results.setMore(list.more);
        });
  }

  kj::Promise<void> showJob(ShowJobContext context) override {
    return ask<JobDetail>(
        context,
        [this](auto params) {
          return ShowJob{caller_, JobId{params.getId()}, params.getFirstTask()};
        },
        [](const JobDetail& detail, auto results) {
          encode(first_page(detail), results.initDetail());
        });
  }

  kj::Promise<void> cancelJob(CancelJobContext context) override {
    return ask<Done>(
        context,
        [this](auto params) {
          return CancelJob{caller_, JobId{params.getId()}, to_std_string(params.getReason())};
        },
        kNothingToFill);
  }

  kj::Promise<void> waitJob(WaitJobContext context) override {
    const std::int64_t wait_ms = bounded_wait_ms(context.getParams().getTimeoutMs());
    return wait<JobRecord>(
        context,
        [this, wait_ms](auto params) {
          return WaitJob{caller_, JobId{params.getId()}, wait_ms};
        },
        [](const JobRecord& job, auto results) { encode(job, results.initJob()); },
        frontend_timeout_for(wait_ms));
  }

  kj::Promise<void> explainTask(ExplainTaskContext context) override {
    return ask<Explanation>(
        context,
        [this](auto params) {
          return ExplainTask{caller_, JobId{params.getId()}, params.getIndex()};
        },
        [](const Explanation& explanation, auto results) {
          encode(explanation, results.initExplanation());
        });
  }

  kj::Promise<void> readLog(ReadLogContext context) override {
    return ask<LogChunk>(
        context,
        [this](auto params) {
          return ReadLog{caller_, JobId{params.getId()}, params.getIndex(),
                         params.getStandardError(), params.getOffset()};
        },
        [](const LogChunk& chunk, auto results) { encode(chunk, results.initChunk()); });
  }

  kj::Promise<void> showLedger(ShowLedgerContext context) override {
    const auto params = context.getParams();
    const LedgerCursor cursor{TenantId{params.getAfterTenant()}, params.getAfterDebtor(),
                              params.getAfterCreditor()};
    return ask<LedgerView>(context, ShowLedger{caller_},
                           [cursor](const LedgerView& ledger, auto results) {
                             encode(page_after(ledger, cursor), results.initLedger());
                           });
  }

  template <class Response, class Context, class Decode, class Fill>
  kj::Promise<void> ask(Context context, Decode decode, Fill fill) {
    return answer_client<Response>(*connection_, caller_.tenant, CallKind::work, context,
                                   connection_->services().frontend, std::move(decode),
                                   std::move(fill), kFrontendTimeout);
  }
  /// For what mostly waits, or takes long by itself.
  template <class Response, class Context, class Decode, class Fill>
  kj::Promise<void> wait(Context context, Decode decode, Fill fill,
                         std::chrono::milliseconds timeout) {
    return answer_client<Response>(*connection_, caller_.tenant, CallKind::wait, context,
                                   connection_->services().frontend, std::move(decode),
                                   std::move(fill), timeout);
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
  kj::Promise<void> applyTenants(ApplyTenantsContext context) override {
    return ask<TenantsApplied>(
        context,
        [this](auto params) {
          return guard_decoding([&] {
            check_apply_bytes(params.getSpecs());
            return ApplyTenants{caller(), read_elements(params.getSpecs()), params.getDryRun()};
          });
        },
        [](const TenantsApplied& applied, auto results) {
          encode_list(applied.changes, results.initChanges(applied.changes.size()));
        });
  }

  kj::Promise<void> removeTenant(RemoveTenantContext context) override {
    return ask<Done>(
        context,
        [this](auto params) {
          return RemoveTenant{caller(), to_std_string(params.getName())};
        },
        kNothingToFill);
  }

  kj::Promise<void> issueToken(IssueTokenContext context) override {
    std::string token = make_token(prefix_of(Role::tenant));
    return ask<TokenInfo>(
        context,
        [this, hash = hash_token(token)](auto params) {
          CreateToken request{caller(), {}, hash};
          request.wanted.tenant = to_std_string(params.getTenant());
          return request;
        },
        [token](const TokenInfo&, auto results) { results.setToken(to_text(token)); });
  }

  kj::Promise<void> createToken(CreateTokenContext context) override {
    const auto role = guard_decoding([&] { return read(context.getParams().getRole()); });
    if (!role) return answer_error(context, role.error());
    const std::string token = make_token(prefix_of(*role));
    const std::string shown =
        *role == Role::join ? connection().services().join_token_text(token) : token;
    return ask<TokenInfo>(
        context,
        [this, role = *role, hash = hash_token(token)](auto params) {
          return CreateToken{caller(),
                             {role, to_std_string(params.getTenant()),
                              to_std_string(params.getName()), params.getLifetimeMs()},
                             hash};
        },
        [shown](const TokenInfo& info, auto results) {
          results.setToken(to_text(shown));
          encode(info, results.initInfo());
        });
  }

  kj::Promise<void> listTokens(ListTokensContext context) override {
    return ask<TokenList>(context, ListTokens{caller()}, [](const TokenList& list, auto results) {
      encode_list(list.tokens, results.initTokens(list.tokens.size()));
    });
  }

  kj::Promise<void> revokeToken(RevokeTokenContext context) override {
    return ask<RevokedToken>(
        context,
        [this](auto params) {
          return RevokeToken{caller(), to_std_string(params.getToken())};
        },
        [this](const RevokedToken& revoked, auto results) {
          connection().services().end_sessions_of(revoked.token_hash, connection());
          encode(revoked.info, results.initInfo());
        });
  }

  kj::Promise<void> removeNode(RemoveNodeContext context) override {
    return ask<Done>(
        context,
        [this](auto params) {
          return RemoveNode{caller(), to_std_string(params.getName())};
        },
        kNothingToFill);
  }

  kj::Promise<void> drainNode(DrainNodeContext context) override {
    return ask<Done>(
        context,
        [this](auto params) {
          return DrainNode{caller(), to_std_string(params.getName()),
                           to_std_string(params.getReason()), params.getDrain()};
        },
        kNothingToFill);
  }

  kj::Promise<void> readJournal(ReadJournalContext context) override {
    const std::int64_t wait_ms = bounded_wait_ms(context.getParams().getWaitMs());
    const auto decode = [this, wait_ms](auto params) {
      return ReadJournal{caller(), params.getSince(), params.getLimit(), wait_ms};
    };
    const auto fill = [](const JournalPage& page, auto results) {
      encode(page, results.initPage());
    };
    if (wait_ms == 0) return ask<JournalPage>(context, decode, fill);
    return wait<JournalPage>(context, decode, fill, frontend_timeout_for(wait_ms));
  }

  kj::Promise<void> verifyLedger(VerifyLedgerContext context) override {
    return wait<VerifyReport>(
        context, VerifyLedger{caller()},
        [](VerifyReport report, auto results) {
          for (auto& difference : report.differences)
            difference = cut_text(std::move(difference), kMaxDifferenceBytes);
          encode(report, results.initReport());
        },
        kVerifyTimeout);
  }

  kj::Promise<void> showStanding(ShowStandingContext context) override {
    return ask<LedgerStanding>(context, ShowStanding{caller()},
                               [](const LedgerStanding& standing, auto results) {
                                 encode(standing, results.initStanding());
                               });
  }

  kj::Promise<void> trustLedger(TrustLedgerContext context) override {
    return ask<Done>(context, TrustLedger{caller(), to_std_string(context.getParams().getReason())},
                     kNothingToFill);
  }
};

class NodeSessionServer final : public wire::NodeSession::Server {
 public:
  NodeSessionServer(Connection& connection, const NodeRegistered& node, kj::Own<AgentLine> line)
      : connection_(kj::addRef(connection)),
        port_(node.port),
        session_(node.session),
        line_(kj::mv(line)) {}

 protected:
  kj::Promise<void> heartbeat(HeartbeatContext context) override {
    return answer_agent<ReportReply>(
        *connection_, context, port_,
        [session = session_](auto params) {
          return guard_decoding([&] {
            AgentReport report = read(params.getReport());
            report.session = session;
            return report;
          });
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

}  // namespace fairwater
