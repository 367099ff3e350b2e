// Classes in virtual time: their profiles, and jobs that leave their amounts to them.
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

using Catch::Matchers::Contains;

JobSpec class_spec(const std::string& tenant, Amount cpu, Amount memory) {
  JobSpec spec;
  spec.tenant = tenant;
  spec.name = "sort";
  spec.job_class = "sort";
  spec.command = {"sort"};
  spec.resources = {{"cpu", cpu}, {"memory", memory}};
  return spec;
}

JobSpec auto_spec(const std::string& tenant) {
  JobSpec spec = class_spec(tenant, 0, 0);
  spec.resources.clear();
  spec.profiled.all = true;
  return spec;
}

Expected<JobAccepted> submit_spec(ClusterFixture& cluster, const JobSpec& spec) {
  return cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec});
}

/// Submits, and ends what is launched of it so; the launch orders.
JobId run_spec(ClusterFixture& cluster, FakeAgent& agent, const JobSpec& spec, std::int64_t run_ms,
               EndReason reason = EndReason::exited) {
  const auto accepted = submit_spec(cluster, spec);
  if (!accepted) FAIL(details(accepted.error()).message);
  cluster.run();
  TaskResult result = reason == EndReason::exited ? succeeded({accepted->id, 0, 1})
                                                  : ended({accepted->id, 0, 1}, reason);
  result.started_at = {1'000'000};
  result.finished_at = {1'000'000 + run_ms * 1000};
  REQUIRE(cluster.report(agent, {result}).engaged());
  return accepted->id;
}

ClassProfile shown_profile(ClusterFixture& cluster, const Caller& caller,
                           const std::string& tenant = "") {
  const auto profile = cluster.ask<ClassProfile>(ShowProfile{caller, tenant, "sort"});
  if (!profile) FAIL(details(profile.error()).message);
  return *profile;
}

/// 64 MiB is too little, 128 will do.
void measure(ClusterFixture& cluster, FakeAgent& agent) {
  for (int i = 0; i < 2; ++i) {
    (void)run_spec(cluster, agent, class_spec("only", 1000, 64), 10, EndReason::memory_limit);
    for (const Amount memory : {128, 256, 512})
      (void)run_spec(cluster, agent, class_spec("only", 1000, memory), 1000 + i);
  }
}

NodeSpec roomy_node() {
  NodeSpec spec;
  spec.traits = {"node1", "here", {}};
  spec.capacity = {{"cpu", 8000}, {"memory", 4096}};
  return spec;
}

}  // namespace

TEST_CASE("a class's profile is read from the ledger, by the tenant whose it is", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1), tenant_spec("other", 1)});
  auto agent = cluster.join(roomy_node());
  (void)run_spec(cluster, agent, class_spec("only", 1000, 64), 10, EndReason::memory_limit);
  for (int i = 0; i < 3; ++i)
    (void)run_spec(cluster, agent, class_spec("only", 1000, 128), 1000 + i);
  (void)run_spec(cluster, agent, class_spec("only", 2000, 128), 500);
  (void)run_spec(cluster, agent, class_spec("other", 4000, 128), 7);
  const auto waiting = submit_spec(cluster, class_spec("only", 2000, 128));
  cluster.run();

  const auto check = [&] {
    const ClassProfile profile = shown_profile(cluster, cluster.tenant_caller("only"));
    CHECK(profile.tenant == "only");
    CHECK(profile.job_class == "sort");
    CHECK_FALSE(profile.more);
    REQUIRE(profile.amounts.size() == 3);
    CHECK(profile.amounts[0].resources == NamedAmounts{{"cpu", 1000}, {"memory", 64}});
    REQUIRE(profile.amounts[0].runs.size() == 1);
    CHECK(profile.amounts[0].runs[0].reason == EndReason::memory_limit);
    std::vector<std::int64_t> times;
    for (const ClassRun& run : profile.amounts[1].runs) times.push_back(run.run_ms);
    CHECK(times == std::vector<std::int64_t>{1002, 1001, 1000});
    CHECK(profile.amounts[2].runs.size() == 1);
    CHECK(profile.amounts[2].unfinished == std::vector{waiting->id});
    CHECK(shown_profile(cluster, cluster.operator_caller(), "only") == profile);
  };
  check();
  cluster.restart();
  check();

  CHECK(shown_profile(cluster, cluster.tenant_caller("other")).amounts.size() == 1);
  const auto refused = [&](const ShowProfile& request) {
    const auto answer = cluster.ask<ClassProfile>(request);
    REQUIRE_FALSE(answer);
    return details(answer.error());
  };
  CHECK(refused({cluster.tenant_caller("only"), "other", "sort"}).code == ErrorCode::not_permitted);
  CHECK(refused({cluster.operator_caller(), "", "sort"}).field == "tenant");
  CHECK(refused({cluster.operator_caller(), "nobody", "sort"}).code == ErrorCode::not_found);
  CHECK(refused({cluster.tenant_caller("only"), "", ""}).field == "class");
}

TEST_CASE("of many runs the newest are told, of each amounts", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  auto agent = cluster.join(roomy_node());
  for (std::size_t i = 0; i < kMaxProfiledRuns + 3; ++i) {
    (void)run_spec(cluster, agent, class_spec("only", 1000, 128), static_cast<std::int64_t>(i) + 1);
    if (i < 6)
      (void)run_spec(cluster, agent, class_spec("only", 1000, 256 + static_cast<Amount>(i)), 5);
  }
  const ClassProfile profile = shown_profile(cluster, cluster.tenant_caller("only"));
  REQUIRE(profile.amounts.size() == 7);  // more than one slice
  CHECK(profile.amounts[0].runs.size() == kMaxProfiledRuns);
  CHECK(profile.amounts[0].runs.front().run_ms == kMaxProfiledRuns + 3);
  CHECK(profile.amounts[6].runs.size() == 1);
}

TEST_CASE("a job takes its amounts from its class, and more memory when that was too little",
          "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  auto agent = cluster.join(roomy_node());
  const auto refused = submit_spec(cluster, auto_spec("only"));
  REQUIRE_FALSE(refused);
  CHECK(details(refused.error()).field == "resources");
  CHECK_THAT(details(refused.error()).message, Contains("fairwater profile run FILE --vary cpu"));
  measure(cluster, agent);

  JobSpec wanted = auto_spec("only");
  wanted.profiled.memory_steps = {9999};  // not the client's to say
  const auto accepted = submit_spec(cluster, wanted);
  REQUIRE(accepted.engaged());
  cluster.run();
  const JobId job = accepted->id;
  const auto detail = [&] { return cluster.show(job); };
  CHECK(detail().job.spec.resources == NamedAmounts{{"cpu", 1000}, {"memory", 128}});
  CHECK(detail().job.spec.profiled.memory_steps == std::vector<Amount>{256, 512});
  CHECK(detail().job.spec.profiled.runs == 8);
  CHECK(agent.launches().back().limits.at("memory") == 128);

  (void)cluster.report(agent, {ended({job, 0, 1}, EndReason::memory_limit)});
  CHECK(agent.launches().back().task == TaskKey{job, 0, 2});
  CHECK(agent.launches().back().limits.at("memory") == 256);
  CHECK(cluster.node("node1").free.at("memory") == 4096 - 256);
  agent.running = {{job, 0, 2}};
  cluster.restart();
  CHECK_FALSE(cluster.reattach(agent));
  CHECK(cluster.node("node1").free.at("memory") == 4096 - 256);
  CHECK(detail().job.memory_step == 1);

  agent.running.clear();
  (void)cluster.report(agent, {ended({job, 0, 2}, EndReason::memory_limit)});
  CHECK(agent.launches().back().limits.at("memory") == 512);
  (void)cluster.report(agent, {succeeded({job, 0, 3})});
  CHECK(state_of(detail().job) == JobState::succeeded);
  CHECK(detail().tasks[0].record.failures == 0);
  CHECK(cluster.verify().differences.empty());

  // Its steps are runs, too: 128 and 256 MiB now have one in three that hit the limit.
  const ClassProfile profile = shown_profile(cluster, cluster.tenant_caller("only"));
  for (const std::size_t amount : {1, 2}) {
    REQUIRE(profile.amounts[amount].runs.size() == 3);
    CHECK(profile.amounts[amount].runs[0].reason == EndReason::memory_limit);
  }
  CHECK(profile.amounts[3].runs.size() == 3);
}

TEST_CASE("an order that was lost with a coordinator is made again with the step's memory",
          "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  auto agent = cluster.join(roomy_node());
  measure(cluster, agent);
  JobSpec wanted = auto_spec("only");
  wanted.tasks_min = wanted.tasks_max = 2;
  const auto accepted = submit_spec(cluster, wanted);
  REQUIRE(accepted.engaged());
  cluster.run();
  const JobId job = accepted->id;
  (void)cluster.report(agent, {ended({job, 0, 1}, EndReason::memory_limit)});
  // One task was granted at each step, and the agent has never heard of either.
  agent.running.clear();
  agent.orders->clear();
  cluster.restart();
  CHECK_FALSE(cluster.reattach(agent));
  std::map<TaskKey, Amount> launched;
  for (const auto& order : agent.launches()) launched[order.task] = order.limits.at("memory");
  CHECK(launched == std::map<TaskKey, Amount>{{{job, 0, 2}, 256}, {{job, 1, 1}, 128}});
}

TEST_CASE("steps that no node or quota could give are not taken", "[actor]") {
  ClusterFixture cluster;
  TenantSpec bounded = tenant_spec("only", 1);
  cluster.apply({bounded});
  auto agent = cluster.join(roomy_node());
  measure(cluster, agent);
  bounded.max = {{"memory", 300}};
  cluster.apply({bounded});
  const auto accepted = submit_spec(cluster, auto_spec("only"));
  REQUIRE(accepted.engaged());
  CHECK(cluster.show(accepted->id).job.spec.profiled.memory_steps == std::vector<Amount>{256});
}

}  // namespace fairwater
