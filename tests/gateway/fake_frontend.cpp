#include "tests/gateway/fake_frontend.hpp"

#include <caf/all.hpp>

#include "rpc/tokens.hpp"
#include "tests/gateway/samples.hpp"
#include "tests/values/make_requests.hpp"

namespace fairwater::test {
namespace {

struct FakeFrontendState {
  std::vector<std::function<void()>> held;  ///< answers
  std::uint64_t last_job = 0;
};

caf::result<Caller> caller_of(const Hash& hash) {
  if (same_hash(hash, hash_token(kOperatorToken))) return Caller{Role::operator_role, {}, {}};
  if (same_hash(hash, hash_token(kTenantToken)))
    return Caller{Role::tenant, TenantId{3}, "physics"};
  if (same_hash(hash, hash_token(kUserToken)))
    return Caller{Role::tenant, TenantId{3}, "physics", {}, "ada"};
  if (same_hash(hash, hash_token(kJoinToken))) return Caller{Role::join, {}, {}};
  return make_error(ErrorCode::unauthenticated, "no such token");
}

template <class Info>
std::vector<Info> listing(const Seen& seen, Info info) {
  if (seen.listed == 0) return {info};
  std::vector<Info> all;
  for (std::uint32_t id = 1; id <= seen.listed; ++id) {
    info.record.id.value = id;
    all.push_back(info);
  }
  return all;
}

/// As a ledger would: newest first, and not more than a few at once.
JobList jobs_of(const Seen& seen, const JobQuery& query) {
  if (seen.listed == 0) return {{sample_job()}, false};
  constexpr std::size_t kPage = 7;
  JobList list;
  for (JobId id{query.before ? query.before.value - 1 : seen.listed.load()}; id; --id.value) {
    if (list.jobs.size() == query.limit) return list;
    list.more = list.jobs.size() == kPage;
    if (list.more) return list;
    list.jobs.push_back(sample_job());
    list.jobs.back().id = id;
  }
  return list;
}

JobDetail detail_of(const Seen& seen, std::uint32_t first_task) {
  JobDetail detail = sample_detail();
  detail.job.cancelled = seen.is_cancelled;
  if (seen.listed == 0) return detail;
  TaskInfo task = detail.tasks.front();
  detail.tasks.clear();
  for (task.index = first_task; task.index < seen.listed; ++task.index)
    detail.tasks.push_back(task);
  return detail;
}

LedgerView ledger_of(const Seen& seen) {
  if (seen.listed == 0) return sample_ledger();
  LedgerView view;
  TenantRecord tenant = sample_tenant();
  for (std::uint32_t id = 1; id <= seen.listed; ++id) {
    tenant.id = TenantId{id};
    view.tenants.push_back(tenant);
    view.net[tenant.id] = id;
    for (std::uint32_t creditor = 1; creditor <= 20; ++creditor)
      view.ious.push_back({id, creditor, 5, std::uint64_t{id} * 20 + creditor});
  }
  return view;
}

using FakeFrontendSelf = FakeFrontendActor::stateful_pointer<FakeFrontendState>;

/// Answers at release_waits.
template <class Answer>
caf::result<Answer> hold(FakeFrontendSelf self, Answer answer) {
  auto promise = self->make_response_promise<Answer>();
  self->state.held.push_back(
      [promise, answer = std::move(answer)]() mutable { promise.deliver(answer); });
  return promise;
}

/// A sample, after a note of what was asked.
template <class Request>
caf::result<typename Request::Answer> answer(FakeFrontendSelf self, Seen& seen,
                                             const Request& request) {
  seen.requests.put(request);
  typename Request::Answer said{};
  if constexpr (!std::is_same_v<typename Request::Answer, Done>)
    said = sample<typename Request::Answer>();
  if (seen.holds_samples) return hold(self, std::move(said));
  return said;
}

caf::error redirect(Seen& seen, const char* asked) {
  seen.redirected.put(asked);
  return make_not_leader("another coordinator leads", seen.leader);
}

caf::result<ClusterStatus> answer(FakeFrontendSelf, Seen& seen, const GetStatus&) {
  if (!seen.leader.empty()) return redirect(seen, "status");
  return sample_status();
}

caf::result<Freshness> answer(FakeFrontendSelf, Seen&, const GetFreshness&) { return Freshness{}; }

caf::result<TenantList> answer(FakeFrontendSelf, Seen& seen, const ListTenants& request) {
  seen.requests.put(request);
  return TenantList{listing(seen, sample_tenant_info())};
}

caf::result<NodeList> answer(FakeFrontendSelf, Seen& seen, const ListNodes& request) {
  seen.requests.put(request);
  if (seen.has_removed) return NodeList{};
  // As the coordinator's: some at a time.
  NodeList list{listing(seen, sample_node_info())};
  std::erase_if(list.nodes, [&](const NodeInfo& node) { return node.record.id <= request.after; });
  list.more = list.nodes.size() > kNodesAtOnce;
  if (list.more) list.nodes.resize(kNodesAtOnce);
  return list;
}

/// Two pages.
caf::result<UsageList> answer(FakeFrontendSelf, Seen& seen, const QueryUsage& request) {
  seen.requests.put(request);
  return UsageList{sample_usage_rows(), !request.query.after};
}

caf::result<TenantsApplied> answer(FakeFrontendSelf, Seen& seen, const ApplyTenants& request) {
  seen.requests.put(request);
  return TenantsApplied{{sample_change()}};
}

caf::result<TenantDeparture> answer(FakeFrontendSelf, Seen& seen, const RemoveTenant& request) {
  seen.requests.put(request);
  return TenantDeparture{true};
}

caf::result<DebtsForgiven> answer(FakeFrontendSelf self, Seen& seen, const ForgiveDebt& request) {
  seen.requests.put(request);
  if (seen.holds_samples) return hold(self, sample_forgiven());
  return sample_forgiven();
}

caf::result<JournalPage> answer(FakeFrontendSelf, Seen& seen, const ReadJournal& request) {
  seen.requests.put(request);
  if (seen.journal.records.empty()) return sample_page();
  JournalPage page = seen.journal;
  std::erase_if(page.records,
                [&](const JournalRecord& record) { return record.number < request.since; });
  return page;
}

caf::result<TokenList> answer(FakeFrontendSelf, Seen& seen, const ListTokens& request) {
  seen.requests.put(request);
  if (seen.has_removed) return TokenList{};
  return TokenList{{sample_token()}};
}

caf::result<RevokedToken> answer(FakeFrontendSelf self, Seen& seen, const RevokeToken& request) {
  const auto& token = request.token == kOperatorsToken ? kOperatorToken : kTenantToken;
  const RevokedToken revoked{sample_token(), hash_token(token)};
  seen.requests.put(request);
  if (request.token == kHeldToken || seen.holds_samples) return hold(self, revoked);
  return revoked;
}

caf::result<JobAccepted> answer(FakeFrontendSelf self, Seen& seen, const SubmitJob& request) {
  if (request.spec.tasks_min == 0)
    return make_error(ErrorCode::invalid_input, "a job has at least 1 task", "tasks.min");
  seen.submissions.put(request.spec);
  return JobAccepted{JobId{++self->state.last_job}};
}

caf::result<JobList> answer(FakeFrontendSelf, Seen& seen, const ListJobs& request) {
  seen.requests.put(request);
  return jobs_of(seen, request.query);
}

caf::result<JobDetail> answer(FakeFrontendSelf, Seen& seen, const ShowJob& request) {
  if (request.id == kMissingJob) return make_error(ErrorCode::not_found, "no job 404", "id");
  seen.requests.put(request);
  return detail_of(seen, request.first_task);
}

caf::result<JobRecord> answer(FakeFrontendSelf self, Seen& seen, const WaitJob& request) {
  seen.requests.put(request);
  if (request.id == kHeldJob) return hold(self, sample_job());
  return sample_job();
}

caf::result<Done> answer(FakeFrontendSelf self, Seen& seen, const CancelJob& request) {
  seen.requests.put(request);
  if (request.id == kHeldJob) return hold(self, Done{});
  return Done{};
}

caf::result<LogChunk> answer(FakeFrontendSelf, Seen& seen, const ReadLog& request) {
  if (request.offset == kLargeLogOffset) return LogChunk{std::string(kLargeLogBytes, 'x'), false};
  seen.requests.put(request);
  return LogChunk{std::string("line\n\0", 6), true};
}

caf::result<LedgerView> answer(FakeFrontendSelf, Seen& seen, const ShowLedger& request) {
  seen.requests.put(request);
  return ledger_of(seen);
}

FakeFrontendActor::behavior_type fake_frontend(FakeFrontendSelf self, std::shared_ptr<Seen> seen,
                                               NodePort node) {
  self->set_down_handler([seen](caf::down_msg& down) { seen->ended_links.put(down.reason); });
#define FAIRWATER_ANSWERING(method, Request) \
  [=](const Request& request) { return answer(self, *seen, request); },
  return {
      [=](const Login& login) -> caf::result<Caller> {
        if (!seen->leader.empty() && seen->redirects_logins) return redirect(*seen, "login");
        return caller_of(login.token_hash);
      },
      [=](const AgentCredential& shown) -> caf::result<Done> {
        const bool known = !shown.joining || same_hash(shown.join_hash, hash_token(kJoinToken));
        if (known && seen->takes_nodes) return Done{};
        seen->refusals.put(shown);
        return make_error(ErrorCode::unauthenticated, "no such join token");
      },
      [=](const RegisterNode& request) -> caf::result<NodeRegistered> {
        if (!seen->leader.empty()) return redirect(*seen, "registration");
        if (request.identity.run == kDuplicateRun)
          return make_error(ErrorCode::already_exists, "duplicate agent");
        self->monitor(request.link);
        seen->registrations.put(request);
        const NodeRegistered let_in{NodeId{4}, 6, sample_reply(), node, kSession, "cluster_7"};
        if (seen->holds_nodes) return hold(self, let_in);
        return let_in;
      },
      [=](const ReleaseWaits&) {
        for (const auto& deliver : self->state.held) deliver();
        self->state.held.clear();
      },
      FAIRWATER_CALLS(FAIRWATER_ANSWERING)  //
  };
#undef FAIRWATER_ANSWERING
}

struct FakeNodeState {
  std::vector<caf::typed_response_promise<ReportReply>> unanswered;
};

NodePort::behavior_type fake_node(NodePort::stateful_pointer<FakeNodeState> self,
                                  std::shared_ptr<Seen> seen) {
  return {[=](const AgentReport& report) -> caf::result<ReportReply> {
    seen->reports.put(report);
    if (report.running == kUnansweredReport) {
      self->state.unanswered.push_back(self->make_response_promise<ReportReply>());
      return self->state.unanswered.back();
    }
    ReportReply reply = sample_reply();
    reply.acknowledged.clear();
    for (const auto& result : report.finished) reply.acknowledged.push_back(result.task);
    return reply;
  }};
}

ServerOptions on_any_port(ServerOptions options) {
  options.listen = "127.0.0.1:0";
  return options;
}

}  // namespace

NodePort spawn_fake_node(caf::actor_system& system, std::shared_ptr<Seen> seen) {
  return system.spawn(fake_node, std::move(seen));
}

FakeCoordinator::FakeCoordinator(ServerOptions options)
    : system(config),
      node(spawn_fake_node(system, seen)),
      frontend(system.spawn(fake_frontend, seen, node)) {
  auto started = Server::start(system, frontend, on_any_port(std::move(options)));
  REQUIRE(started);
  server = std::move(*started);
}

FakeCoordinator::~FakeCoordinator() {
  server.reset();
  caf::anon_send_exit(frontend, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(node, caf::exit_reason::user_shutdown);
}

std::unique_ptr<Client> FakeCoordinator::client(const std::string& token) const {
  auto client = Client::connect(address(), token, {.timeout_ms = 60'000});
  if (!client) FAIL(details(client.error()).message);
  return std::move(*client);
}

void FakeCoordinator::release_waits() { caf::anon_send(frontend, ReleaseWaits{}); }

}  // namespace fairwater::test
