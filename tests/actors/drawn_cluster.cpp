#include "tests/actors/drawn_cluster.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <catch2/catch.hpp>

#include "model/job.hpp"

namespace fairwater {
namespace {

bool chance(SplitMix64& random, std::uint64_t percent) { return random.below(100) < percent; }

Placement draw_placement(SplitMix64& random) { return static_cast<Placement>(1 + random.below(5)); }

TenantSpec draw_tenant(std::uint32_t number, SplitMix64& random) {
  TenantSpec tenant = tenant_spec("tenant" + std::to_string(number), 1);
  tenant.weight = 1 + static_cast<Weight>(random.below(9));
  if (chance(random, 40)) tenant.min = {{"cpu", 1000 + Amount(random.below(4000))}};
  if (chance(random, 40))
    tenant.max = {{"cpu", 8000 + Amount(random.below(20'000))}, {"memory", 32'768}};
  if (chance(random, 60))
    tenant.repay_millionths = 1 + static_cast<std::uint32_t>(random.below(1'000'000));
  tenant.may_lend = !chance(random, 15);
  tenant.may_borrow = !chance(random, 15);
  if (chance(random, 30)) tenant.placement = draw_placement(random);
  return tenant;
}

NodeSpec draw_node(std::uint32_t number, SplitMix64& random) {
  NodeSpec node;
  node.traits = {"node" + std::to_string(number), chance(random, 50) ? "here" : "there", {}};
  node.capacity = {{"cpu", 2000 * (1 + Amount(random.below(8)))},
                   {"memory", 4096 * (1 + Amount(random.below(8)))}};
  if (chance(random, 40)) node.capacity["gpu"] = 1 + Amount(random.below(4));
  node.instance = "instance of " + node.traits.name;
  node.limits = "none";
  return node;
}

JobSpec draw_job(const Scenario& scenario, const ScenarioShape& shape, SplitMix64& random) {
  static constexpr Amount kCpus[] = {100, 500, 1000, 1500, 2000, 4000};
  static constexpr Amount kMemories[] = {64, 256, 1000, 2048, 4096};
  JobSpec job;
  job.tenant = scenario.tenants[random.below(scenario.tenants.size())].name;
  job.command = {"true"};
  job.tasks_min = job.tasks_max = 1 + static_cast<std::uint32_t>(random.below(shape.most_tasks));
  job.resources = {{"cpu", kCpus[random.below(std::size(kCpus))]},
                   {"memory", kMemories[random.below(std::size(kMemories))]}};
  if (chance(random, 10)) job.resources["gpu"] = 1;
  if (chance(random, 20)) job.sites = {chance(random, 50) ? "here" : "there"};
  if (chance(random, 30)) job.placement = draw_placement(random);
  if (chance(random, shape.percent_gangs)) {
    job.gang = true;
    job.tasks_min = job.tasks_max = 2 + static_cast<std::uint32_t>(random.below(5));
    job.placement = Placement::unset;  // a gang's nodes are chosen together
  }
  if (shape.percent_elastic > 0 && chance(random, shape.percent_elastic)) {
    job.tasks_min = 1 + static_cast<std::uint32_t>(random.below(3));
    job.tasks_max = job.tasks_min + 1 + static_cast<std::uint32_t>(random.below(8));
  }
  return job;
}

/// Puts the tenants into groups, and these into each other. Groups that nobody is in are left out.
void draw_groups(Scenario& scenario, std::uint32_t count, SplitMix64& random) {
  std::vector<TenantSpec> groups;
  for (std::uint32_t i = 0; i < count; ++i) {
    TenantSpec group =
        tenant_spec("group" + std::to_string(i), 1 + static_cast<Weight>(random.below(9)));
    if (i > 0 && chance(random, 60)) group.parent = groups[random.below(i)].name;
    if (chance(random, 40)) group.max = {{"cpu", 30'000 + Amount(random.below(20'000))}};
    groups.push_back(std::move(group));
  }
  std::set<std::string> used;
  for (auto& tenant : scenario.tenants) {
    if (!chance(random, 80)) continue;
    tenant.parent = groups[random.below(count)].name;
    used.insert(tenant.parent);
  }
  for (auto group = groups.rbegin(); group != groups.rend(); ++group)
    if (used.contains(group->name)) used.insert(group->parent);
  for (auto& group : groups)
    if (used.contains(group.name)) scenario.groups.push_back(std::move(group));
}

}  // namespace

Scenario draw_scenario(const ScenarioShape& shape, SplitMix64& random) {
  Scenario scenario;
  for (std::uint32_t i = 0; i < shape.tenants; ++i)
    scenario.tenants.push_back(draw_tenant(i, random));
  if (shape.groups > 0) draw_groups(scenario, shape.groups, random);
  for (std::uint32_t i = 0; i < shape.nodes; ++i) scenario.nodes.push_back(draw_node(i, random));
  for (std::uint32_t i = 0; i < shape.jobs; ++i)
    scenario.jobs.push_back(draw_job(scenario, shape, random));
  return scenario;
}

ActorRun::ActorRun(const Scenario& scenario, SplitMix64& random, const ClusterSettings& settings)
    : scenario_(scenario), random_(random), cluster_(settings) {
  auto declared = scenario.tenants;
  declared.insert(declared.end(), scenario.groups.begin(), scenario.groups.end());
  cluster_.apply(declared);
  for (const auto& node : scenario.nodes) agents_.push_back(cluster_.join(node));
  ended_.resize(agents_.size());
}

std::vector<JournalRecord> ActorRun::run(std::uint64_t percent_ends, int more_ends) {
  for (const auto& job : scenario_.jobs) {
    while (chance(random_, percent_ends)) let_something_end();
    submit(job);
  }
  for (int i = 0; i < more_ends; ++i) let_something_end();
  return journal();
}

std::map<TenantId, Units> ActorRun::credits() {
  std::map<TenantId, Units> credits;
  for (const TenantInfo& tenant : cluster_.tenants())
    credits[tenant.record.id] = tenant.record.credit;
  return credits;
}

void ActorRun::submit(const JobSpec& job) {
  const auto accepted = cluster_.ask<JobAccepted>(SubmitJob{cluster_.operator_caller(), job});
  if (!accepted) return;
  if (job.gang) gangs_.insert(accepted->id);
  if (is_elastic(job)) elastic_.insert(accepted->id);
  beat_all();
}

void ActorRun::let_something_end() {
  if (!elastic_.empty() && chance(random_, 30)) pass_second();
  if (!elastic_.empty() && chance(random_, 10)) finish_elastic();
  end_some();
}

void ActorRun::pass_second() {
  cluster_.advance(1000);
  beat_all();
}

void ActorRun::finish_elastic() {
  std::set<JobId> running;
  for (std::size_t i = 0; i < agents_.size(); ++i)
    for (const TaskKey& task : running_on(i))
      if (elastic_.contains(task.job) && !finished_.contains(task.job)) running.insert(task.job);
  if (running.empty()) return;
  const JobId job =
      *std::next(running.begin(), static_cast<std::ptrdiff_t>(random_.below(running.size())));
  REQUIRE(cluster_.ask<Done>(CancelJob{cluster_.operator_caller(), job, "its work is done"}));
  finished_.insert(job);
  beat_all();
}

std::optional<TaskResult> ActorRun::end_of(std::size_t place, const TaskKey& task) {
  if (elastic_.contains(task.job)) {
    const auto stops = agents_[place].stops();
    if (std::find(stops.begin(), stops.end(), task) == stops.end()) return std::nullopt;
    return ended(task, EndReason::cancelled);
  }
  // A gang of which one fails ends as a whole, which the simulator's jobs never do.
  const bool fails = !gangs_.contains(task.job) && chance(random_, 20);
  return fails ? failed(task) : succeeded(task);
}

void ActorRun::end_some() {
  const auto first = random_.below(agents_.size());
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    const auto place = (first + i) % agents_.size();
    auto running = running_on(place);
    if (running.empty()) continue;
    std::vector<TaskResult> results;
    for (auto count = 1 + random_.below(3); count > 0 && !running.empty(); --count) {
      const auto chosen =
          running.begin() + static_cast<std::ptrdiff_t>(random_.below(running.size()));
      if (const auto result = end_of(place, *chosen)) {
        results.push_back(*result);
        ended_[place].push_back(*chosen);
      }
      running.erase(chosen);
    }
    if (results.empty()) continue;
    REQUIRE(cluster_.report(agents_[place], results));
    beat_all();
    return;
  }
}

void ActorRun::beat_all() {
  for (std::uint64_t before = 0; before != last_record();) {
    before = last_record();
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      AgentReport report;
      report.running = running_on(i);
      report.session = agents_[i].session;
      caf::anon_send(agents_[i].port, std::move(report));
    }
    cluster_.run();
  }
}

std::uint64_t ActorRun::last_record() {
  const auto status = cluster_.ask<ClusterStatus>(GetStatus{});
  REQUIRE(status.engaged());
  return status->cycle;
}

std::vector<TaskKey> ActorRun::running_on(std::size_t place) const {
  std::vector<TaskKey> running;
  for (const auto& launch : agents_[place].launches())
    if (std::find(ended_[place].begin(), ended_[place].end(), launch.task) == ended_[place].end())
      running.push_back(launch.task);
  return running;
}

std::vector<JournalRecord> ActorRun::journal() {
  std::vector<JournalRecord> records;
  for (;;) {
    ReadJournal request{cluster_.operator_caller()};
    request.since = records.empty() ? 1 : records.back().number + 1;
    auto page = cluster_.ask<JournalPage>(request);
    REQUIRE(page.engaged());
    if (page->records.empty()) return records;
    records.insert(records.end(), page->records.begin(), page->records.end());
  }
}

}  // namespace fairwater
