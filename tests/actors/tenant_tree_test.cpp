// A tree of tenants in a coordinator: what may be declared, how it changes while work runs, and
// that a restart makes the same of it.
#include <algorithm>
#include <map>

#include "model/journal_format.hpp"
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

TenantSpec spec_in(const std::string& parent, const std::string& name, Weight weight = 1) {
  TenantSpec spec = tenant_spec(name, weight);
  spec.parent = parent;
  return spec;
}

/// science (1) with optics and lasers, arts (1) with music and drama; parents come last.
std::vector<TenantSpec> departments() {
  return {spec_in("science", "optics"), spec_in("science", "lasers"), spec_in("arts", "music"),
          spec_in("arts", "drama"),     tenant_spec("science", 1),    tenant_spec("arts", 1)};
}

ErrorDetails refusal(ClusterFixture& cluster, std::vector<TenantSpec> specs) {
  const auto answer =
      cluster.ask<TenantsApplied>(ApplyTenants{cluster.operator_caller(), std::move(specs), false});
  return answer ? ErrorDetails{ErrorCode::internal, "was accepted", ""} : details(answer.error());
}

std::map<std::string, TenantInfo> by_name(ClusterFixture& cluster) {
  std::map<std::string, TenantInfo> found;
  for (auto& tenant : cluster.tenants()) found.emplace(tenant.record.spec.name, tenant);
  return found;
}

std::uint64_t running_of(ClusterFixture& cluster, const std::string& name) {
  return by_name(cluster).at(name).running_tasks;
}

/// How many tasks of those in science, then of those in arts.
std::string running(ClusterFixture& cluster) {
  const auto found = by_name(cluster);
  std::string text;
  for (const char* name : {"science", "optics", "lasers", "arts", "music", "drama"})
    text += (text.empty() ? "" : " ") + std::string(name) + " " +
            std::to_string(found.at(name).running_tasks);
  return text;
}

/// One agent whose tasks end when the test says so.
struct Departments {
  ClusterFixture cluster;
  FakeAgent agent;
  std::size_t seen = 0;

  explicit Departments(Accounting accounting = Accounting::units)
      : cluster(ClusterFixture::default_settings(), accounting) {
    cluster.apply(departments());
  }
  /// Everybody waits when the first node comes: nobody has a start.
  void begin(const std::vector<const char*>& tenants) {
    for (const char* name : tenants) cluster.submit(name, 400);
    agent = cluster.join("node", 16);
  }
  void take_orders() {
    const auto launches = agent.launches();
    for (; seen < launches.size(); ++seen) agent.running.push_back(launches[seen].task);
  }
  /// So many tasks end, one after the other, each a tenth of a second later: the oldest first.
  void turn_over(std::size_t tasks) {
    for (std::size_t i = 0; i < tasks; ++i) {
      take_orders();
      cluster.advance(100);
      REQUIRE_FALSE(agent.running.empty());
      const TaskKey oldest = agent.running.front();
      agent.running.erase(agent.running.begin());
      REQUIRE(cluster.report(agent, {succeeded(oldest)}).engaged());
    }
    take_orders();
  }
  void restart() {
    take_orders();
    cluster.restart();
    CHECK_FALSE(cluster.reattach(agent));
    seen = 0;
    take_orders();
  }
  void forgive(const std::string& debtor) {
    ForgiveDebt wanted;
    wanted.caller = cluster.operator_caller();
    wanted.debtor = debtor;
    wanted.reason = "the test goes on without it";
    REQUIRE(cluster.ask<DebtsForgiven>(wanted).engaged());
  }
};

}  // namespace

TEST_CASE("a tree that its parents end is taken and listed", "[actor][tree]") {
  ClusterFixture cluster;
  cluster.apply(departments());
  auto tenants = by_name(cluster);
  REQUIRE(tenants.size() == 6);
  CHECK(tenants.at("optics").record.spec.parent == "science");
  CHECK(tenants.at("science").record.spec.parent.empty());
  cluster.restart();
  CHECK(by_name(cluster).at("drama").record.spec.parent == "arts");
  CHECK(cluster.verify().ok);
}

TEST_CASE("a tenant's mins are listed as guaranteed to those around it", "[actor][tree]") {
  ClusterFixture cluster;
  auto specs = departments();
  specs[0].min = {{"cpu", 2000}, {"memory", 512}};
  specs[1].min = {{"cpu", 1000}};
  specs[4].min = {{"memory", 1024}};
  cluster.apply(specs);
  const auto tenants = by_name(cluster);
  CHECK(tenants.at("science").record.spec.min == specs[4].min);
  CHECK(tenants.at("science").guaranteed == NamedAmounts{{"cpu", 3000}, {"memory", 1024}});
  CHECK(tenants.at("optics").guaranteed == specs[0].min);
  CHECK(tenants.at("arts").guaranteed.empty());
}

TEST_CASE("what a tenant leaves idle its sibling gets first", "[actor][tree]") {
  const Accounting accounting = GENERATE(Accounting::units, Accounting::time);
  Departments tree(accounting);
  tree.begin({"optics", "lasers", "music", "drama"});
  tree.turn_over(64);
  CHECK(running(tree.cluster) == "science 8 optics 4 lasers 4 arts 8 music 4 drama 4");
  // optics has no more work.
  REQUIRE(tree.cluster.ask<Done>(CancelJob{tree.cluster.operator_caller(), JobId{1}, ""}));
  tree.turn_over(64);
  const std::string siblings = "science 8 optics 0 lasers 8 arts 8 music 4 drama 4";
  CHECK(running(tree.cluster) == siblings);
  const auto info = by_name(tree.cluster);
  CHECK(info.at("science").used == NamedAmounts{{"cpu", 8000}});
  CHECK(info.at("science").runtime_quota.at("cpu") == 8000);
  CHECK(tree.cluster.verify().ok);
}

TEST_CASE("a weight changes at any level while work runs", "[actor][tree]") {
  Departments tree;
  tree.begin({"optics", "lasers", "music", "drama"});
  const auto launched = tree.agent.launches().size();
  tree.cluster.apply({tenant_spec("science", 3)});
  CHECK(tree.agent.launches().size() == launched);  // nothing was stopped, nothing is free
  CHECK(tree.agent.stops().empty());
  tree.turn_over(64);
  CHECK(running(tree.cluster) == "science 12 optics 6 lasers 6 arts 4 music 2 drama 2");
  tree.cluster.apply({spec_in("science", "optics", 2)});
  tree.turn_over(64);
  CHECK(running(tree.cluster) == "science 12 optics 8 lasers 4 arts 4 music 2 drama 2");
  CHECK(tree.cluster.verify().ok);
}

TEST_CASE("a tenant moves to another with its work and its debts", "[actor][tree]") {
  Departments tree;
  tree.begin({"optics", "lasers", "music", "drama"});
  tree.turn_over(32);
  const auto moved = tree.cluster.ask<TenantsApplied>(
      ApplyTenants{tree.cluster.operator_caller(), {spec_in("arts", "lasers")}, false});
  REQUIRE(moved.engaged());
  CHECK(moved->changes.at(0).fields == std::vector<std::string>{"parent: science -> arts"});
  tree.turn_over(96);
  CHECK(running_of(tree.cluster, "optics") == 8);
  CHECK(running_of(tree.cluster, "arts") == 8);
  CHECK(by_name(tree.cluster).at("lasers").record.spec.parent == "arts");
  CHECK(tree.cluster.verify().ok);
}

TEST_CASE("a job is submitted to one that runs jobs", "[actor][tree]") {
  ClusterFixture cluster;
  cluster.apply(departments());
  JobSpec job;
  job.tenant = "science";
  job.command = {"true"};
  job.resources = {{"cpu", 1000}};
  const auto refused = cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), job});
  REQUIRE_FALSE(refused.engaged());
  const auto said = details(refused.error());
  CHECK(said.code == ErrorCode::invalid_input);
  CHECK(said.field == "tenant");
  CHECK(said.message == "tenant science has tenants, which run its jobs: optics, lasers");
}

TEST_CASE("no task is admitted that is beyond the max of one around its tenant", "[actor][tree]") {
  ClusterFixture cluster;
  auto specs = departments();
  specs[4].max = {{"cpu", 2000}};
  cluster.apply(specs);
  JobSpec job;
  job.tenant = "optics";
  job.command = {"true"};
  job.resources = {{"cpu", 3000}};
  const auto refused = cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), job});
  REQUIRE_FALSE(refused.engaged());
  CHECK(details(refused.error()).message ==
        "one task asks for {cpu: 3}, more than the max of science, which the tenant is in, {cpu: "
        "2}");
}

TEST_CASE("no job is admitted that starts with more tasks than a max has room for",
          "[actor][tree]") {
  ClusterFixture cluster;
  auto specs = departments();
  specs[0].max = {{"cpu", 5500}};
  cluster.apply(specs);
  const auto submit = [&](const std::string& tenant, std::uint32_t min, std::uint32_t max) {
    JobSpec job;
    job.tenant = tenant;
    job.command = {"true"};
    job.resources = {{"cpu", 1000}};
    job.tasks_min = min;
    job.tasks_max = max;
    job.gang = min == max;
    return cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), job});
  };
  const std::string owner = specs[0].name;
  CHECK(submit(owner, 5, 5).engaged());
  CHECK(submit(owner, 5, 100).engaged());
  const auto gang = submit(owner, 6, 6);
  REQUIRE_FALSE(gang.engaged());
  CHECK(details(gang.error()).field == "tasks");
  CHECK(details(gang.error()).message ==
        "6 tasks start together, each with {cpu: 1}, more than the tenant's max {cpu: 5.5} has "
        "room for; write 5 or less");
  const auto elastic = submit(owner, 6, 7);
  REQUIRE_FALSE(elastic.engaged());
  CHECK(details(elastic.error()).field == "tasks.min");
  specs[4].max = {{"cpu", 4000}};
  specs[0].max = {};
  cluster.apply(specs);
  const auto in_group = submit(owner, 5, 5);
  REQUIRE_FALSE(in_group.engaged());
  CHECK(details(in_group.error()).message ==
        "5 tasks start together, each with {cpu: 1}, more than the max of science, which the "
        "tenant is in, {cpu: 4} has room for; write 4 or less");
}

TEST_CASE("what would be no tree is refused by name, and nothing changes", "[actor][tree]") {
  ClusterFixture cluster;
  cluster.apply(departments());
  ErrorDetails said = refusal(cluster, {tenant_spec("new", 1), spec_in("nobody", "optics")});
  CHECK(said.code == ErrorCode::invalid_input);
  CHECK(said.field == "tenants[1].parent");
  CHECK(said.message == "there is no tenant 'nobody'");
  said = refusal(cluster, {spec_in("optics", "science")});
  CHECK(said.field == "tenants[0].parent");
  CHECK(said.message == "science would be in optics, optics in science");
  TenantSpec greedy = spec_in("arts", "music");
  greedy.min = {{"cpu", 3000}};
  TenantSpec arts = tenant_spec("arts", 1);
  arts.min = {{"cpu", 2000}};
  cluster.apply({arts});
  said = refusal(cluster, {greedy});
  CHECK(said.field == "arts.min.cpu");
  CHECK(said.message == "2 is below the min of its tenants together, which is 3");
  TenantSpec queued = tenant_spec("science", 1);
  queued.queue = QueuePolicy::fair;
  said = refusal(cluster, {queued});
  CHECK(said.field == "tenants[0].queue");
  CHECK_FALSE(by_name(cluster).contains("new"));
  const auto removal =
      cluster.ask<TenantDeparture>(RemoveTenant{cluster.operator_caller(), "science"});
  REQUIRE_FALSE(removal.engaged());
  CHECK(details(removal.error()).message ==
        "tenant science has tenants, remove or move them first: optics, lasers");
}

TEST_CASE("the record that gives tenants to one that may not lend says so", "[actor][tree]") {
  ClusterFixture cluster;
  TenantSpec closed = tenant_spec("closed", 1);
  closed.may_lend = false;
  cluster.apply({closed, tenant_spec("open", 1)});
  const auto format_of_last = [&] {
    JournalFormat format = 0;
    for (const JournalRecord& record : cluster.journal())
      if (std::holds_alternative<TenantsChanged>(record.body)) format = format_of(record.body);
    return format;
  };
  cluster.apply({spec_in("open", "inner")});
  CHECK(format_of_last() == kFirstFormat);
  // Its own terms stay, but they are those of a group now.
  cluster.apply({spec_in("closed", "within")});
  CHECK(format_of_last() == 6);
  CHECK(cluster.verify().ok);
}

TEST_CASE("a tenant with unfinished jobs is not divided, one without is", "[actor][tree]") {
  Departments tree;
  tree.begin({});
  const JobId job = tree.cluster.submit("optics", 1);
  const std::vector<TenantSpec> divided{spec_in("optics", "lenses"), spec_in("optics", "mirrors")};
  ErrorDetails said = refusal(tree.cluster, divided);
  CHECK(said.code == ErrorCode::wrong_state);
  CHECK(said.message == "tenant optics has 1 unfinished jobs; cancel them or wait for them first");
  tree.turn_over(1);
  CHECK(state_of(tree.cluster.show(job).job) == JobState::succeeded);
  tree.forgive("optics");
  const auto dry =
      tree.cluster.ask<TenantsApplied>(ApplyTenants{tree.cluster.operator_caller(), divided, true});
  REQUIRE(dry.engaged());
  CHECK(dry->changes.at(0).fields == std::vector<std::string>{"parent: optics"});
  tree.cluster.submit("optics", 1);  // a dry run changes nothing
  tree.turn_over(1);
  tree.forgive("optics");
  tree.cluster.apply(divided);
  tree.cluster.submit("lenses", 400);
  tree.cluster.submit("music", 400);
  tree.turn_over(64);
  CHECK(running_of(tree.cluster, "optics") == 8);
  // A question about a job from before, and about the tenant.
  CHECK(
      tree.cluster.ask<Explanation>(ExplainTask{tree.cluster.operator_caller(), job, 0}).engaged());
  CHECK(tree.cluster.verify().ok);
  SECTION("whose tenants have gone runs jobs again") {
    const RemoveTenant remove{tree.cluster.operator_caller(), "mirrors"};
    REQUIRE_FALSE(tree.cluster.ask<TenantDeparture>(remove)->leaving);
    tree.cluster.apply({spec_in("science", "lenses")});
    tree.cluster.submit("optics", 400);
    tree.turn_over(64);
    CHECK(running_of(tree.cluster, "optics") == 4);
    CHECK(running_of(tree.cluster, "lenses") == 4);
    tree.cluster.restart();
    CHECK(tree.cluster.verify().ok);
  }
}

TEST_CASE("a debtor is not divided", "[actor][tree]") {
  Departments tree;
  tree.begin({});
  tree.cluster.submit("optics", 16);
  tree.cluster.submit("music", 1);
  // optics holds what lasers and arts leave idle.
  CHECK(by_name(tree.cluster).at("optics").net < 0);
  for (int i = 0; i < 17; ++i) tree.turn_over(1);
  REQUIRE(by_name(tree.cluster).at("optics").net < 0);
  const auto said = refusal(tree.cluster, {spec_in("optics", "lenses")});
  CHECK(said.code == ErrorCode::wrong_state);
  CHECK(said.message.starts_with("tenant optics owes others (fairwater ledger show), and"));
  // What is owed to one that is divided is owed to those in it.
  const auto before = by_name(tree.cluster);
  std::string creditor;
  for (const auto& [name, info] : before)
    if (info.net > 0 && info.record.spec.parent == "arts" && info.pending_tasks == 0)
      creditor = name;
  REQUIRE_FALSE(creditor.empty());
  tree.cluster.apply({spec_in(creditor, "heir")});
  const auto after = by_name(tree.cluster);
  CHECK(after.at("heir").net == before.at(creditor).net);
  CHECK(after.at(creditor).net == before.at(creditor).net);  // those in it together
  CHECK(tree.cluster.verify().ok);
}

TEST_CASE("a coordinator that starts anew deals by the same tree", "[actor][tree]") {
  const Accounting accounting = GENERATE(Accounting::units, Accounting::time);
  Departments tree(accounting);
  tree.cluster.apply({tenant_spec("science", 3)});
  tree.begin({"optics", "lasers", "music", "drama"});
  tree.turn_over(20);
  const auto before = by_name(tree.cluster);
  tree.restart();
  const auto after = by_name(tree.cluster);
  for (const auto& [name, info] : before) {
    CAPTURE(name);
    CHECK(after.at(name).net == info.net);
    CHECK(after.at(name).record.spec == info.record.spec);
    CHECK(after.at(name).running_tasks == info.running_tasks);
  }
  tree.turn_over(64);
  CHECK(running(tree.cluster) == "science 12 optics 6 lasers 6 arts 4 music 2 drama 2");
  CHECK(tree.cluster.verify().ok);
}

TEST_CASE("a tree whose change is not durable is the one from before", "[actor][tree]") {
  Departments tree;
  tree.begin({});
  tree.cluster.fill_disk(true);
  const auto said = refusal(tree.cluster, {spec_in("optics", "lenses")});
  CHECK(said.code == ErrorCode::disk_full);
  CHECK(by_name(tree.cluster).size() == 6);
  tree.cluster.fill_disk(false);
  tree.cluster.advance(5000);
  tree.cluster.submit("optics", 4);  // which still runs jobs itself
  CHECK(running_of(tree.cluster, "optics") == 4);
  CHECK(tree.cluster.verify().ok);
}

}  // namespace fairwater
