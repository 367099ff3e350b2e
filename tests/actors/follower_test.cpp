// A coordinator that follows: what it shows of its ledger, to whom, and how old it says that is.
#include "actors/coordinator/follower.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

constexpr std::chrono::milliseconds kAge{1500};

/// A hash like any other.
Hash token_hash(const std::string& token) {
  Hash hash{};
  std::copy(token.begin(), token.end(), hash.begin());
  return hash;
}

template <class Answer>
ErrorCode code_of(const Answer& answer) {
  return answer ? ErrorCode{} : details(answer.error()).code;
}

/// One on the leader's own ledger, which is what every follower holds in the end.
struct FollowerFixture {
  FollowerFixture() {
    cluster.apply({tenant_spec("physics", 1), tenant_spec("biology", 1)});
    auto agent = cluster.join("node1", 2);
    running = cluster.submit("physics", 2);
    waiting = cluster.submit("biology", 3);
    issue("operator", {Role::operator_role, {}, {}});
    issue("tenant", {Role::tenant, "physics", "tenant"});
    issue("join", {Role::join, {}, {}});
    issue("short", {Role::operator_role, {}, {}, 60'000});
    follower.emplace(cluster.actors().frontend->home_system(), cluster.actors().ledger, following,
                     settings());
  }

  void issue(const std::string& token, NewToken wanted) {
    REQUIRE(cluster.ask<TokenInfo>(
        CreateToken{cluster.operator_caller(), std::move(wanted), token_hash(token)}));
  }
  FollowerSettings settings() const {
    return {"two", "9.9",
            [] {
              return std::vector<ReplicaInfo>{{"one", "head1:7400", 1, "1", {}}};
            },
            [this] { return now; }, Threading::shared};
  }
  template <class Result, class Request>
  Expected<Result> ask(const Request& request) {
    return cluster.ask_actor<Result>(follower->frontend(), request);
  }
  Caller log_in(const std::string& token) {
    const auto caller = ask<Caller>(Login{token_hash(token), true});
    REQUIRE(caller);
    return *caller;
  }

  WallTime now = wall_time_now();
  ClusterFixture cluster;
  JobId running;
  JobId waiting;
  std::shared_ptr<Following> following = std::make_shared<Following>();
  std::optional<Follower> follower;
};

TEST_CASE("a coordinator that follows lets in who accepts what it holds", "[actor][replica]") {
  FollowerFixture test;
  CHECK(code_of(test.ask<Caller>(Login{token_hash("operator"), false})) == ErrorCode::not_leader);
  CHECK(test.log_in("operator").role == Role::operator_role);
  CHECK(test.log_in("tenant").tenant_name == "physics");
  CHECK(code_of(test.ask<Caller>(Login{token_hash("nobody's"), true})) ==
        ErrorCode::unauthenticated);
  CHECK(code_of(test.ask<Caller>(Login{token_hash("join"), true})) == ErrorCode::not_permitted);

  const Caller soon_late = test.log_in("short");
  CHECK(test.ask<ClusterStatus>(GetStatus{soon_late}));
  test.now.microseconds += 3'600'000'000;
  CHECK(code_of(test.ask<ClusterStatus>(GetStatus{soon_late})) == ErrorCode::unauthenticated);

  // Revoked where it leads, a token opens nothing here either, and closes what it opened.
  const Caller revoked = test.log_in("tenant");
  REQUIRE(test.cluster.ask<RevokedToken>(RevokeToken{test.cluster.operator_caller(), "tenant"}));
  CHECK(code_of(test.ask<JobList>(ListJobs{revoked, {}})) == ErrorCode::unauthenticated);
  // A call of somebody who never logged in here is nobody's.
  CHECK(code_of(test.ask<JobList>(ListJobs{test.cluster.operator_caller(), {}})) ==
        ErrorCode::unauthenticated);
}

TEST_CASE("a coordinator that follows shows what the one that leads does", "[actor][replica]") {
  FollowerFixture test;
  const Caller caller = test.log_in("operator");
  const Caller leaders = test.cluster.operator_caller();
  const auto shown = test.ask<ClusterStatus>(GetStatus{caller});
  auto expected = test.cluster.ask<ClusterStatus>(GetStatus{leaders});
  REQUIRE(shown);
  REQUIRE(expected);
  CHECK(expected->tasks_running == 2);
  CHECK(expected->tasks_pending == 3);
  expected->version = "9.9";
  expected->granting = false;
  expected->why_not_granting = "this coordinator follows, and nobody leads at the moment";
  expected->rules.reset();  // of whoever leads
  expected->replicas = {{"one", "head1:7400", 1, "1", {}}};
  CHECK(*shown == *expected);

  const auto jobs = test.ask<JobList>(ListJobs{caller, {}});
  REQUIRE(jobs);
  CHECK(jobs->jobs == test.cluster.ask<JobList>(ListJobs{leaders, {}})->jobs);
  JobQuery biology;
  biology.tenant = "biology";
  CHECK(test.ask<JobList>(ListJobs{caller, biology})->jobs.size() == 1);
  biology.tenant = "nobody";
  CHECK(code_of(test.ask<JobList>(ListJobs{caller, biology})) == ErrorCode::not_found);

  const auto job = test.ask<JobDetail>(ShowJob{caller, test.running, 0});
  REQUIRE(job);
  CHECK(job->tasks == test.cluster.show(test.running).tasks);
  CHECK(job->tasks.front().node == "node1");
  CHECK(*test.ask<LedgerView>(ShowLedger{caller}) ==
        *test.cluster.ask<LedgerView>(ShowLedger{leaders}));
  const ReadJournal all{caller, 1, 1000, 0};
  CHECK(*test.ask<JournalPage>(all) ==
        *test.cluster.ask<JournalPage>(ReadJournal{leaders, 1, 1000, 0}));
}

TEST_CASE("a coordinator that follows keeps tenants apart, and changes nothing",
          "[actor][replica]") {
  FollowerFixture test;
  const Caller caller = test.log_in("tenant");
  CHECK(test.ask<JobList>(ListJobs{caller, {}})->jobs.size() == 1);
  CHECK(code_of(test.ask<JobDetail>(ShowJob{caller, test.waiting, 0})) == ErrorCode::not_found);
  CHECK(code_of(test.ask<JournalPage>(ReadJournal{caller, 1, 10, 0})) == ErrorCode::not_permitted);
  CHECK(test.ask<LedgerView>(ShowLedger{caller})->tenants.size() == 1);

  test.following->set_leader("one", "head1:7400");
  const auto refused = test.ask<Done>(CancelJob{test.log_in("operator"), test.running, "not here"});
  CHECK(code_of(refused) == ErrorCode::not_leader);
  CHECK(details(refused.error()).leader == "head1:7400");
}

/// Why somebody is not let in; the answer must be there.
template <class Answer, class Response>
ErrorDetails told(Response& response) {
  ErrorDetails refused;
  response.receive([](const Answer&) { FAIL("nobody is let in"); },
                   [&](const caf::error& error) { refused = details(error); });
  return refused;
}

TEST_CASE("who wants in while the leader may be gone is told the next one at once",
          "[actor][replica]") {
  FollowerFixture test;
  test.following->set_leader("one", "head1:7400", /*may_be_gone=*/true);
  caf::scoped_actor self{test.cluster.actors().frontend->home_system()};
  const auto enter = [&](const auto& request) {
    auto response = self->request(test.follower->frontend(), caf::infinite, request);
    test.cluster.run();
    return response;
  };
  auto client = enter(Login{token_hash("operator"), false});
  auto agent = enter(AgentCredential{});
  CHECK_FALSE(self->has_next_message());
  test.following->set_leader("three", "head3:7400");
  test.follower->heard_leader();
  test.cluster.run();
  CHECK(told<Caller>(client).leader == "head3:7400");
  CHECK(told<Done>(agent).leader == "head3:7400");

  // When nobody takes over, what is known: the leader may be well, and slow.
  test.following->set_leader("three", "head3:7400", true);
  auto late = enter(Login{token_hash("operator"), false});
  CHECK_FALSE(self->has_next_message());
  test.cluster.advance(1'000);
  CHECK(told<Caller>(late).leader == "head3:7400");
  // Who accepts what one that follows has need not wait.
  CHECK(test.log_in("operator").role == Role::operator_role);
}

TEST_CASE("a coordinator that follows says how old what it shows may be", "[actor][replica]") {
  FollowerFixture test;
  const Caller caller = test.log_in("operator");
  test.following->set_held(Following::Clock::now() - kAge, 1'000'000);
  const auto freshness = test.ask<Freshness>(GetFreshness{caller});
  REQUIRE(freshness);
  CHECK(freshness->follower == "two");
  CHECK(freshness->age_ms >= kAge.count());
  CHECK(freshness->age_ms < kAge.count() + 60'000);
  // What is known to be durable elsewhere counts as the newest.
  CHECK(test.ask<ClusterStatus>(GetStatus{caller})->cycle == 1'000'000);
  CHECK(*test.cluster.ask<Freshness>(GetFreshness{test.cluster.operator_caller()}) == Freshness{});
}

TEST_CASE("who follows the journal with a follower hears of what it took in", "[actor][replica]") {
  FollowerFixture test;
  const Caller caller = test.log_in("operator");
  const std::uint64_t next = test.cluster.ledger_end().number + 1;
  caf::scoped_actor self{test.cluster.actors().frontend->home_system()};
  auto response = self->request(test.follower->frontend(), caf::infinite,
                                ReadJournal{caller, next, 10, 30'000});
  test.cluster.run();
  const auto job = test.cluster.submit("physics", 1);
  test.follower->grew(test.cluster.ledger_end().number);
  test.cluster.run();
  test.cluster.advance(100);  // followers hear of it so much later
  response.receive(
      [&](const JournalPage& page) {
        REQUIRE(page.records.size() == 1);
        CHECK(std::holds_alternative<JobSubmitted>(page.records.front().body));
        CHECK(page.names.tenants.size() == 1);
      },
      [&](const caf::error& error) { FAIL(details(error).message); });
  CHECK(job);
}

}  // namespace

TEST_CASE("one that follows and sees nothing says so", "[unit][replica]") {
  Following following;
  const auto now = Following::Clock::now();
  const auto says = [&](std::chrono::milliseconds later) {
    const auto refusal = following.refusal(now + later);
    CHECK(details(refusal).code == ErrorCode::not_leader);
    return details(refusal).message;
  };
  CHECK(says({}) == "this coordinator follows, and nobody leads at the moment");
  following.set_leader("one", "head1:7400");
  CHECK(says(std::chrono::seconds(1)) == "this coordinator follows; one leads, at head1:7400");
  CHECK_THAT(says(std::chrono::seconds(12)),
             Catch::StartsWith("this coordinator follows, and etcd has not answered it for 1") &&
                 Catch::EndsWith("; one led before, at head1:7400"));
}

}  // namespace fairwater
