// Users who share a tenant: whose jobs are whose, who may cancel them, and whose turn it is.
#include <algorithm>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

using Catch::Matchers::Contains;

Caller user_caller(ClusterFixture& cluster, const std::string& user) {
  Caller caller = cluster.tenant_caller("physics");
  caller.user = user;
  return caller;
}

Expected<JobAccepted> submit_as(ClusterFixture& cluster, const Caller& caller,
                                const std::string& named = {}, std::uint32_t tasks = 1) {
  JobSpec spec;
  spec.tenant = "physics";
  spec.user = named;
  spec.command = {"true"};
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", 1000}};
  auto accepted = cluster.ask<JobAccepted>(SubmitJob{caller, spec});
  cluster.run();
  return accepted;
}

template <class Answer>
ErrorDetails refusal(const Expected<Answer>& answer) {
  REQUIRE_FALSE(answer.engaged());
  return details(answer.error());
}

std::vector<JobId> listed(ClusterFixture& cluster, const Caller& caller, const JobQuery& query) {
  const auto list = cluster.ask<JobList>(ListJobs{caller, query});
  REQUIRE(list.engaged());
  std::vector<JobId> ids;
  for (const JobRecord& job : list->jobs) ids.push_back(job.id);
  return ids;
}

TEST_CASE("a token's user is its session's, also after a restart", "[actor][users]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("physics", 1)});
  Hash hash{};
  hash.fill(9);
  const Caller operators = cluster.operator_caller();
  NewToken wanted{Role::tenant, "physics", "laptop", 0, "ada"};
  const auto made = cluster.ask<TokenInfo>(CreateToken{operators, wanted, hash});
  REQUIRE(made.engaged());
  CHECK(made->user == "ada");
  CHECK(cluster.ask<Caller>(Login{hash})->user == "ada");
  cluster.restart();
  CHECK(cluster.ask<Caller>(Login{hash})->user == "ada");
  const auto tokens = cluster.ask<TokenList>(ListTokens{operators});
  CHECK(tokens->tokens.back().user == "ada");

  wanted.name = "other";
  wanted.user = "ada lovelace";
  const auto spaced = refusal(cluster.ask<TokenInfo>(CreateToken{operators, wanted, {}}));
  CHECK(spaced.field == "user");
  CHECK_THAT(spaced.message, Contains("'ada lovelace' is not a user's name"));
  wanted.user = std::string(65, 'a');
  CHECK(refusal(cluster.ask<TokenInfo>(CreateToken{operators, wanted, {}})).field == "user");
  const NewToken of_operator{Role::operator_role, "", "alice", 0, "ada"};
  CHECK_THAT(refusal(cluster.ask<TokenInfo>(CreateToken{operators, of_operator, {}})).message,
             Contains("users are a tenant's"));
}

TEST_CASE("a job's user is the token's, and an operator may name one", "[actor][users]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("physics", 1)});
  const Caller ada = user_caller(cluster, "ada");
  const Caller nobody = user_caller(cluster, "");
  const auto of_ada = submit_as(cluster, ada);
  CHECK(cluster.show(of_ada->id).job.spec.user == "ada");
  CHECK(cluster.show(submit_as(cluster, ada, "ada")->id).job.spec.user == "ada");
  CHECK(cluster.show(submit_as(cluster, nobody)->id).job.spec.user.empty());
  const auto of_bob = submit_as(cluster, cluster.operator_caller(), "bob");
  CHECK(cluster.show(of_bob->id).job.spec.user == "bob");

  const auto feigned = refusal(submit_as(cluster, ada, "bob"));
  CHECK(feigned.code == ErrorCode::not_permitted);
  CHECK(feigned.field == "user");
  CHECK_THAT(feigned.message, Contains("this token belongs to user ada, not user bob"));
  CHECK(refusal(submit_as(cluster, nobody, "bob")).code == ErrorCode::not_permitted);
  CHECK(refusal(submit_as(cluster, cluster.operator_caller(), "a b")).field == "user");

  JobQuery query;
  query.user = "bob";
  CHECK(listed(cluster, cluster.operator_caller(), query) == std::vector{of_bob->id});
  CHECK(listed(cluster, ada, query) == std::vector{of_bob->id});
  CHECK(listed(cluster, ada, {}).size() == 4);
  cluster.restart();
  CHECK(listed(cluster, cluster.operator_caller(), query) == std::vector{of_bob->id});
  CHECK(cluster.verify().ok);
}

TEST_CASE("a listing by user goes on where the states of many jobs are looked through",
          "[actor][users]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("physics", 1)});
  const auto first = submit_as(cluster, cluster.operator_caller(), "ada");
  for (int i = 0; i < 1100; ++i) (void)submit_as(cluster, cluster.operator_caller(), "bob");
  JobQuery all;
  all.limit = 2000;
  for (const JobId job : listed(cluster, cluster.operator_caller(), all))
    REQUIRE(cluster.ask<Done>(CancelJob{cluster.operator_caller(), job, ""}).engaged());
  JobQuery query;
  query.user = "ada";
  query.state = JobState::cancelled;
  query.limit = 10;
  CHECK(listed(cluster, cluster.operator_caller(), query) == std::vector{first->id});
}

TEST_CASE("a user cancels its own jobs only; a token without a user all of the tenant's",
          "[actor][users]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("physics", 1)});
  const Caller ada = user_caller(cluster, "ada");
  const auto of_ada = submit_as(cluster, ada)->id;
  const auto of_bob = submit_as(cluster, user_caller(cluster, "bob"))->id;
  const auto of_nobody = submit_as(cluster, user_caller(cluster, ""))->id;
  const auto cancel = [&](const Caller& caller, JobId job) {
    return cluster.ask<Done>(CancelJob{caller, job, ""});
  };
  const auto refused = refusal(cancel(ada, of_bob));
  CHECK(refused.code == ErrorCode::not_permitted);
  CHECK_THAT(refused.message, Contains("job 2 belongs to user bob of tenant physics") &&
                                  Contains("this token is user ada's"));
  CHECK_THAT(refusal(cancel(ada, of_nobody)).message, Contains("job 3 belongs to no user"));
  CHECK(cluster.show(of_bob).job.tasks.cancelled == 0);
  CHECK(cancel(ada, of_ada).engaged());
  CHECK(cancel(user_caller(cluster, ""), of_bob).engaged());
  CHECK(cancel(cluster.operator_caller(), of_nobody).engaged());
}

TEST_CASE("users take turns, however unequal they submit, and go on so after a restart",
          "[actor][users]") {
  ClusterFixture cluster;
  TenantSpec physics = tenant_spec("physics", 1);
  physics.queue = QueuePolicy::fair;
  cluster.apply({physics});
  const auto of_ada = submit_as(cluster, user_caller(cluster, "ada"), "", 40)->id;
  const auto of_bob = submit_as(cluster, user_caller(cluster, "bob"), "", 40)->id;
  FakeAgent agent = cluster.join("node", 4);
  const auto held = [&](JobId job) { return cluster.show(job).job.tasks.running; };
  REQUIRE(cluster.report(agent).engaged());
  CHECK(held(of_ada) == 2);
  CHECK(held(of_bob) == 2);

  const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), of_bob, 39});
  REQUIRE(why.engaged());
  const auto turn = std::find_if(why->obstacles.begin(), why->obstacles.end(),
                                 [](const Obstacle& obstacle) { return obstacle.code == "user"; });
  REQUIRE(turn != why->obstacles.end());
  CHECK_THAT(turn->message, Contains("2 wait; next: user ada, holding 20 units, as user bob, and"));
  const auto next = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), of_ada, 2});
  REQUIRE(next.engaged());
  for (const Obstacle& obstacle : next->obstacles) CHECK(obstacle.code != "user");

  // Whoever's tasks end, and however many at once, the freed room makes both equal again.
  const auto first_of = [&](JobId job, std::uint32_t tasks) {
    std::vector<TaskResult> results;
    for (const TaskInfo& task : cluster.show(job).tasks)
      if (task.record.state == TaskState::running && results.size() < tasks) {
        TaskResult result;
        result.task = run_of(job, task.index, task.record);
        result.started_at = result.finished_at = wall_time_now();
        results.push_back(result);
      }
    return results;
  };
  for (int round = 0; round < 12; ++round) {
    INFO("round " << round);
    const auto ended = first_of(round % 3 == 0 ? of_ada : of_bob, 1 + round % 2);
    agent.running.clear();
    for (const JobId job : {of_ada, of_bob})
      for (const TaskInfo& task : cluster.show(job).tasks)
        if (task.record.state == TaskState::running)
          agent.running.push_back(run_of(job, task.index, task.record));
    for (const TaskResult& result : ended) std::erase(agent.running, result.task);
    REQUIRE(cluster.report(agent, ended).engaged());
    CHECK(held(of_ada) == 2);
    CHECK(held(of_bob) == 2);
    if (round == 6) {
      cluster.restart();
      REQUIRE_FALSE(cluster.reattach(agent));
      cluster.run();
    }
  }
  CHECK(cluster.verify().ok);
}

}  // namespace
}  // namespace fairwater
