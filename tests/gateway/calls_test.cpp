// Every call of the control protocol, from a client over TCP to the frontend and back.
#include <map>
#include <thread>

#include "rpc/tokens.hpp"
#include "tests/gateway/fake_frontend.hpp"
#include "tests/gateway/rpc_peer.hpp"
#include "tests/gateway/samples.hpp"

using namespace fairwater;
using namespace fairwater::test;

namespace {

/// The next request that the frontend saw, which must be of this type.
template <class Request>
Request next_request(FakeCoordinator& coordinator) {
  auto request = coordinator.seen->requests.take();
  REQUIRE(std::holds_alternative<Request>(request));
  return std::get<Request>(request);
}

ErrorCode code_of(const caf::error& error) {
  REQUIRE(error);
  return details(error).code;
}

}  // namespace

TEST_CASE("a client learns whom its token belongs to", "[gateway]") {
  FakeCoordinator coordinator;
  CHECK(coordinator.client(kOperatorToken)->caller().role == Role::operator_role);
  const auto tenant = coordinator.client(kTenantToken);
  CHECK(tenant->caller().role == Role::tenant);
  CHECK(tenant->caller().tenant == TenantId{3});
  CHECK(tenant->caller().tenant_name == "physics");
}

TEST_CASE("wrong tokens and join tokens open no session", "[gateway]") {
  FakeCoordinator coordinator;
  const auto wrong = Client::connect(coordinator.address(), "fw_op_wrong");
  REQUIRE_FALSE(wrong);
  CHECK(code_of(wrong.error()) == ErrorCode::unauthenticated);
  const auto join = Client::connect(coordinator.address(), kJoinToken);
  REQUIRE_FALSE(join);
  CHECK(code_of(join.error()) == ErrorCode::not_permitted);
}

TEST_CASE("an address that is none, or where nobody listens, is named", "[gateway]") {
  for (const char* address :
       {"", "localhost", ":7400", "localhost:", "localhost:70000", "::1:7400"}) {
    const auto client = Client::connect(address, "token");
    REQUIRE_FALSE(client);
    CHECK(code_of(client.error()) == ErrorCode::invalid_input);
  }
  const auto client = Client::connect("127.0.0.1:1", "token", {.timeout_ms = 2000});
  REQUIRE_FALSE(client);
  CHECK(code_of(client.error()) == ErrorCode::unavailable);
  CHECK_THAT(details(client.error()).message, Catch::Contains("127.0.0.1:1"));
}

TEST_CASE("listings and views arrive as the frontend gave them", "[gateway]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  const auto status = client->status();
  REQUIRE(status);
  CHECK(*status == sample_status());
  const auto tenants = client->list_tenants();
  REQUIRE(tenants);
  REQUIRE(tenants->size() == 1);
  CHECK(tenants->front() == sample_tenant_info());
  CHECK(next_request<ListTenants>(coordinator).caller.tenant == TenantId{3});
  const auto nodes = client->list_nodes();
  REQUIRE(nodes);
  REQUIRE(nodes->size() == 1);
  CHECK(nodes->front() == sample_node_info());
  CHECK(next_request<ListNodes>(coordinator).caller.tenant_name == "physics");
  const auto ledger = client->ledger();
  REQUIRE(ledger);
  CHECK(*ledger == sample_ledger());
  CHECK(next_request<ShowLedger>(coordinator).caller.role == Role::tenant);
}

TEST_CASE("a class's profile arrives as the frontend gave it", "[gateway]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  const auto profile = client->call(ShowProfile{{}, "physics", "render"});
  REQUIRE(profile);
  CHECK(*profile == sample_profile());
  const auto asked = next_request<ShowProfile>(coordinator);
  CHECK(asked.tenant == "physics");
  CHECK(asked.job_class == "render");
  CHECK(asked.caller.tenant == TenantId{3});
}

TEST_CASE("usage is asked for page after page", "[gateway]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  UsageQuery query = sample_usage_query();
  query.after.reset();
  const auto rows = client->query_usage(query);
  REQUIRE(rows);
  const std::vector<UsageRow> page = sample_usage_rows();
  REQUIRE(rows->size() == 2 * page.size());
  CHECK(std::equal(page.begin(), page.end(), rows->begin()));
  CHECK(std::equal(page.rbegin(), page.rend(), rows->rbegin()));
  const auto first = next_request<QueryUsage>(coordinator);
  CHECK(first.query == query);
  CHECK(first.caller.tenant == TenantId{3});
  query.after = page.back().group;
  CHECK(next_request<QueryUsage>(coordinator).query == query);
}

TEST_CASE("a submission keeps every field", "[gateway]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  const auto id = client->submit(sample_spec());
  REQUIRE(id);
  CHECK(*id == JobId{1});
  CHECK(coordinator.seen->submissions.take() == sample_spec());
}

TEST_CASE("an error keeps its code, words and field", "[gateway]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  JobSpec spec = sample_spec();
  spec.tasks_min = 0;
  const auto refused = client->submit(spec);
  REQUIRE_FALSE(refused);
  const ErrorDetails parts = details(refused.error());
  CHECK(parts.code == ErrorCode::invalid_input);
  CHECK(parts.message == "a job has at least 1 task");
  CHECK(parts.field == "tasks.min");
  const auto missing = client->show_job(kMissingJob);
  REQUIRE_FALSE(missing);
  CHECK(code_of(missing.error()) == ErrorCode::not_found);
}

TEST_CASE("job calls carry their parameters and answers", "[gateway]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  const auto jobs = client->list_jobs({"physics", JobState::failed, 7, JobId{50}});
  REQUIRE(jobs);
  CHECK(*jobs == std::vector{sample_job()});
  const auto listed = next_request<ListJobs>(coordinator).query;
  CHECK(std::tie(listed.tenant, listed.state, listed.limit, listed.before) ==
        std::make_tuple(std::string("physics"), std::optional(JobState::failed), 7u, JobId{50}));
  REQUIRE(client->list_jobs({}));
  CHECK_FALSE(next_request<ListJobs>(coordinator).query.state);

  const auto detail = client->show_job(JobId{42});
  REQUIRE(detail);
  CHECK(*detail == sample_detail());
  CHECK(next_request<ShowJob>(coordinator).id == JobId{42});

  CHECK_FALSE(client->cancel_job(JobId{42}, "no need"));
  CHECK(next_request<CancelJob>(coordinator).reason == "no need");

  const auto waited = client->wait_job(JobId{42}, 1234);
  REQUIRE(waited);
  CHECK(*waited == sample_job());
  CHECK(next_request<WaitJob>(coordinator).wait_ms == 1234);

  const auto explanation = client->explain(JobId{42}, 5);
  REQUIRE(explanation);
  CHECK(*explanation == sample_explanation());
  CHECK(next_request<ExplainTask>(coordinator).index == 5);

  const auto chunk = client->read_log(JobId{42}, 5, true, 1ull << 40);
  REQUIRE(chunk);
  CHECK(chunk->data == std::string("line\n\0", 6));
  CHECK(chunk->end);
  const auto log = next_request<ReadLog>(coordinator);
  CHECK(std::tie(log.id, log.index, log.standard_error, log.offset) ==
        std::make_tuple(JobId{42}, 5u, true, std::uint64_t{1} << 40));
}

TEST_CASE("operator calls carry their parameters and answers", "[gateway]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kOperatorToken);
  const auto changes = client->apply_tenants({sample_tenant().spec}, true);
  REQUIRE(changes);
  REQUIRE(changes->size() == 1);
  CHECK(changes->front() == sample_change());
  const auto applied = next_request<ApplyTenants>(coordinator);
  CHECK(applied.specs == std::vector{sample_tenant().spec});
  CHECK(applied.dry_run);
  CHECK(applied.caller.role == Role::operator_role);

  CHECK(client->remove_tenant("physics")->leaving);
  CHECK(next_request<RemoveTenant>(coordinator).name == "physics");
  CHECK_FALSE(client->drain_node("node-4", "repair"));
  const auto drain = next_request<DrainNode>(coordinator);
  CHECK(std::tie(drain.name, drain.reason, drain.drain) ==
        std::make_tuple(std::string("node-4"), std::string("repair"), true));
  CHECK(drain.deadline_ms == 0);
  CHECK_FALSE(client->drain_node("node-4", "repair", 90'000));
  CHECK(next_request<DrainNode>(coordinator).deadline_ms == 90'000);
  CHECK_FALSE(client->plan_drain("node-4", "repair", WallTime{7}, 60'000));
  const auto plan = next_request<PlanDrain>(coordinator);
  CHECK(std::tie(plan.name, plan.reason, plan.begins, plan.deadline_ms) ==
        std::make_tuple(std::string("node-4"), std::string("repair"), WallTime{7},
                        std::int64_t{60'000}));
  CHECK_FALSE(client->undrain_node("node-4"));
  CHECK_FALSE(next_request<DrainNode>(coordinator).drain);

  const auto page = client->journal(90, 10, 1500);
  REQUIRE(page);
  CHECK(*page == sample_page());
  const auto journal = next_request<ReadJournal>(coordinator);
  CHECK(std::tie(journal.since, journal.limit, journal.wait_ms) ==
        std::make_tuple(std::uint64_t{90}, 10u, std::int64_t{1500}));
  ForgiveDebt wanted{{}, "physics", "biology", "8core-s", "a broken job", true};
  const auto forgiven = client->forgive_debt(wanted);
  REQUIRE(forgiven);
  CHECK(forgiven->shares == sample_forgiven().shares);
  CHECK(forgiven->measure == sample_forgiven().measure);
  const auto asked = next_request<ForgiveDebt>(coordinator);
  CHECK(std::tie(asked.debtor, asked.creditor, asked.amount, asked.reason, asked.dry_run) ==
        std::tie(wanted.debtor, wanted.creditor, wanted.amount, wanted.reason, wanted.dry_run));
  CHECK(asked.caller.role == Role::operator_role);

  const auto verified = client->verify_ledger();
  REQUIRE(verified);
  CHECK(*verified == sample_verification());

  const auto backup = client->backup_ledger("/backups/monday");
  REQUIRE(backup);
  CHECK(*backup == sample_backup());
  while (coordinator.seen->requests.size() > 1) coordinator.seen->requests.take();
  CHECK(next_request<BackupLedger>(coordinator).directory == "/backups/monday");

  CHECK_FALSE(client->hand_over());
  (void)next_request<HandOver>(coordinator);

  const auto standing = client->ledger_standing();
  REQUIRE(standing);
  CHECK(*standing == sample_standing());
  CHECK_FALSE(client->trust_ledger("the disk is gone"));
  while (coordinator.seen->requests.size() > 1) coordinator.seen->requests.take();
  CHECK(next_request<TrustLedger>(coordinator).reason == "the disk is gone");
}

TEST_CASE("a client of an earlier version gets its tenants' tokens", "[gateway]") {
  FakeCoordinator coordinator;
  RpcPeer client(coordinator.address());
  REQUIRE(client.run([](RpcPeer& self) { return self.log_in(kOperatorToken); }).empty());
  const std::string token = client.run([](RpcPeer& self) {
    auto request = self.session().castAs<wire::OperatorSession>().issueTokenRequest();
    request.setTenant("physics");
    return request.send().then([](auto&& response) { return to_std_string(response.getToken()); });
  });
  const auto request = next_request<CreateToken>(coordinator);
  CHECK(request.wanted.role == Role::tenant);
  CHECK(request.wanted.tenant == "physics");
  CHECK(same_hash(request.token_hash, hash_token(token)));
  CHECK(token.rfind("fw_tn_", 0) == 0);
}

TEST_CASE("tokens of every kind are made, listed and revoked", "[gateway]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kOperatorToken);
  const auto made = client->create_token({Role::operator_role, "", "alice", 5'000});
  REQUIRE(made);
  CHECK(made->token.rfind("fw_op_", 0) == 0);
  CHECK(made->info == sample_token());
  const auto created = next_request<CreateToken>(coordinator);
  CHECK(created.wanted == NewToken{Role::operator_role, "", "alice", 5'000});
  CHECK(same_hash(created.token_hash, hash_token(made->token)));
  const auto listed = client->list_tokens();
  REQUIRE(listed);
  CHECK(*listed == std::vector{sample_token()});
  (void)next_request<ListTokens>(coordinator);
  REQUIRE(client->revoke_token("alice"));
  (void)next_request<ListTokens>(coordinator);
  CHECK(next_request<RevokeToken>(coordinator).token == "alice");
  CHECK_FALSE(client->remove_node("node-4"));
  CHECK(next_request<RemoveNode>(coordinator).name == "node-4");
}

TEST_CASE("a token's user is told at the login, and its calls carry it", "[gateway]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kUserToken);
  CHECK(client->caller().user == "ada");
  CHECK(client->caller().tenant_name == "physics");
  JobQuery query;
  query.user = "bob";
  REQUIRE(client->list_jobs(query));
  const auto listed = next_request<ListJobs>(coordinator);
  CHECK(listed.caller.user == "ada");
  CHECK(listed.query.user == "bob");
  JobSpec spec = sample_job().spec;
  spec.user = "bob";
  REQUIRE(client->submit(spec));
  CHECK(coordinator.seen->submissions.take().user == "bob");  // which the frontend refuses

  const auto operators = coordinator.client(kOperatorToken);
  CHECK(operators->caller().user.empty());
  REQUIRE(operators->create_token({Role::tenant, "physics", "", 0, "ada"}));
  CHECK(next_request<CreateToken>(coordinator).wanted.user == "ada");
}

TEST_CASE("a revoked token's sessions end, and it opens none", "[gateway]") {
  FakeCoordinator coordinator;
  const auto tenant = coordinator.client(kTenantToken);
  const auto other = coordinator.client(kOperatorToken);
  const auto client = coordinator.client(kOperatorToken);
  REQUIRE(tenant->status());
  REQUIRE(client->revoke_token("the tenant's"));
  CHECK(code_of(tenant->status().error()) == ErrorCode::unavailable);
  CHECK(other->status());
  CHECK(client->status());
  const auto again = Client::connect(coordinator.address(), kTenantToken);
  REQUIRE_FALSE(again);
  CHECK(code_of(again.error()) == ErrorCode::unauthenticated);
}

TEST_CASE("who revokes its own token is answered, and refused from then on", "[gateway]") {
  FakeCoordinator coordinator;
  const auto other = coordinator.client(kOperatorToken);
  const auto client = coordinator.client(kOperatorToken);
  REQUIRE(client->revoke_token(kOperatorsToken));
  CHECK(code_of(client->status().error()) == ErrorCode::unauthenticated);
  CHECK(code_of(other->status().error()) == ErrorCode::unavailable);
}

TEST_CASE("a revoked token's sessions end when nobody waits for the answer any more", "[gateway]") {
  ServerOptions options;
  SECTION("its caller gave up") {}
  SECTION("it took longer than a call may") { options.answer_timeout_ms = 5000; }
  FakeCoordinator coordinator(options);
  const auto log_in = [](const std::string& token) {
    return [&token](RpcPeer& self) { return self.log_in(token); };
  };
  RpcPeer tenant(coordinator.address());
  REQUIRE(tenant.run(log_in(kTenantToken)).empty());
  RpcPeer caller(coordinator.address());
  REQUIRE(caller.run(log_in(kOperatorToken)).empty());
  kj::Promise<std::string> error = nullptr;
  caller.run([&](RpcPeer& self) {
    auto request = self.session().castAs<wire::OperatorSession>().revokeTokenRequest();
    request.setToken(to_text(kHeldToken));
    error = request.send().then(
        [](auto&& response) { return to_std_string(response.getError().getCode()); });
  });
  (void)next_request<RevokeToken>(coordinator);
  if (options.answer_timeout_ms == 5000) {
    CHECK(caller.run([&](RpcPeer&) { return kj::mv(error); }) == "unavailable");
  } else {
    // The server has read that nobody waits when it answers another call.
    caller.run([&](RpcPeer& self) {
      error = nullptr;
      return self.session().getStatusRequest().send().ignoreResult();
    });
  }
  coordinator.release_waits();
  tenant.run([](RpcPeer& self) { return self.closed(); });
  CHECK(caller.run([](RpcPeer& self) {
    return self.session().getStatusRequest().send().then(
        [](auto&& response) { return response.hasStatus(); });
  }));
}

TEST_CASE("waits are bounded by the server", "[gateway]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kOperatorToken);
  REQUIRE(client->wait_job(JobId{42}, 1ll << 40));
  CHECK(next_request<WaitJob>(coordinator).wait_ms == 60'000);
  REQUIRE(client->journal(1, 1, -5));
  CHECK(next_request<ReadJournal>(coordinator).wait_ms == 0);
}

TEST_CASE("a tenant's session has no operator calls in it", "[gateway]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  const auto refused = [](const caf::error& error) {
    return code_of(error) == ErrorCode::not_permitted;
  };
  CHECK(refused(client->apply_tenants({}, false).error()));
  CHECK(refused(client->remove_tenant("physics").error()));
  CHECK(refused(client->create_token({}).error()));
  CHECK(refused(client->list_tokens().error()));
  CHECK(refused(client->revoke_token("alice").error()));
  CHECK(refused(client->remove_node("node-4")));
  CHECK(refused(client->drain_node("node-4", "")));
  CHECK(refused(client->undrain_node("node-4")));
  CHECK(refused(client->journal(1, 1, 0).error()));
  CHECK(refused(client->verify_ledger().error()));
  CHECK(refused(client->backup_ledger("/backups/monday").error()));
  CHECK(coordinator.seen->requests.size() == 0);
}

TEST_CASE("a thousand submissions at once are all answered, each with its own job", "[gateway]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  std::vector<JobSpec> specs(1000, sample_spec());
  for (std::size_t i = 0; i < specs.size(); ++i) specs[i].name = "job-" + std::to_string(i);
  specs[500].tasks_min = 0;
  const auto ids = client->submit_all(specs);
  REQUIRE(ids.size() == specs.size());
  std::map<std::uint64_t, std::string> by_id;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i == 500) {
      REQUIRE_FALSE(ids[i]);
      CHECK(code_of(ids[i].error()) == ErrorCode::invalid_input);
      continue;
    }
    REQUIRE(ids[i]);
    by_id[ids[i]->value] = specs[i].name;
  }
  REQUIRE(by_id.size() == 999);
  // The frontend numbers submissions in the order in which it sees them.
  for (std::uint64_t id = 1; id <= 999; ++id)
    CHECK(coordinator.seen->submissions.take().name == by_id[id]);
}

TEST_CASE("many jobs are cancelled without waiting for one after the other", "[gateway]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  std::vector<JobId> ids{kHeldJob};
  for (std::uint64_t id = 1001; id <= 1999; ++id) ids.push_back(JobId{id});
  std::vector<caf::error> errors;
  std::jthread canceller([&] { errors = client->cancel_jobs(ids, "no need"); });
  // All are asked for while the first one is not answered.
  for (const JobId id : ids) {
    const auto request = coordinator.seen->requests.take();
    if (!std::holds_alternative<CancelJob>(request)) break;
    CHECK(std::get<CancelJob>(request).id == id);
  }
  coordinator.release_waits();
  canceller.join();
  REQUIRE(errors.size() == ids.size());
  for (const auto& error : errors) CHECK_FALSE(error);
}

TEST_CASE("a client whose coordinator has gone says so", "[gateway]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  coordinator.server.reset();
  const auto status = client->status();
  REQUIRE_FALSE(status);
  CHECK(code_of(status.error()) == ErrorCode::unavailable);
}

TEST_CASE("two servers do not share a port", "[gateway]") {
  FakeCoordinator coordinator;
  ServerOptions options;
  options.listen = coordinator.address();
  const auto second = Server::start(coordinator.system, coordinator.frontend, options);
  REQUIRE_FALSE(second);
  CHECK(code_of(second.error()) == ErrorCode::unavailable);
  CHECK_THAT(details(second.error()).message, Catch::Contains(coordinator.address()));
}

TEST_CASE("an edge whose frontend has ended answers unavailable", "[gateway]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  caf::scoped_actor self{coordinator.system};
  self->monitor(coordinator.frontend);
  self->send_exit(coordinator.frontend, caf::exit_reason::kill);
  self->receive([](const caf::down_msg&) {});
  const auto status = client->status();
  REQUIRE_FALSE(status);
  CHECK(code_of(status.error()) == ErrorCode::unavailable);
}
