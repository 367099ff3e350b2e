#include "tests/actors/drawn_cluster.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <utility>

#include <catch2/catch.hpp>

#include "model/job.hpp"

namespace fairwater {
namespace {

constexpr std::int64_t kSecond_ms = 1000;
constexpr std::int64_t kLease_ms = 365 * 86'400 * kSecond_ms;

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

std::vector<std::string> device_names(const std::string& kind, std::uint64_t count) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < count; ++i) names.push_back(kind + std::to_string(i));
  return names;
}

void draw_devices(NodeSpec& node, SplitMix64& random) {
  const std::uint64_t whole = random.below(4), shared = random.below(5);
  node.capacity["gpu"] = static_cast<Amount>(whole);
  node.capacity["gpu_milli"] = static_cast<Amount>(1000 * shared);
  if (whole > 0) node.traits.devices.push_back({"gpu", device_names("gpu", whole)});
  if (shared > 0) node.traits.devices.push_back({"gpu_milli", device_names("shared", shared)});
}

void draw_devices(JobSpec& job, std::uint32_t percent, SplitMix64& random) {
  static constexpr Amount kShares[] = {100, 250, 500, 700, 1000, 2000};
  job.resources.erase("gpu");
  if (chance(random, percent)) {
    job.resources["gpu_milli"] = kShares[random.below(std::size(kShares))];
  } else if (chance(random, percent) && !job.gang && job.tasks_min == job.tasks_max) {
    const bool is_shared = chance(random, 30);
    job.devices = {(is_shared ? "shared" : "gpu") + std::to_string(random.below(2))};
    if (!is_shared && chance(random, 30)) job.devices.push_back("gpu2");
    job.resources[is_shared ? "gpu_milli" : "gpu"] =
        is_shared ? 1000 : static_cast<Amount>(job.devices.size());
  }
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
  static constexpr std::int64_t kTimeLimits_ms[] = {500, 2000, 10'000, 60'000, 3'600'000};
  JobSpec job;
  job.tenant = scenario.tenants[random.below(scenario.tenants.size())].name;
  job.command = {"true"};
  job.tasks_min = job.tasks_max = 1 + static_cast<std::uint32_t>(random.below(shape.most_tasks));
  job.resources = {{"cpu", kCpus[random.below(std::size(kCpus))]},
                   {"memory", kMemories[random.below(std::size(kMemories))]}};
  if (chance(random, 10)) job.resources["gpu"] = 1;
  if (chance(random, 20)) job.sites = {chance(random, 50) ? "here" : "there"};
  if (chance(random, 30)) job.placement = draw_placement(random);
  job.time_limit_ms = kTimeLimits_ms[random.below(std::size(kTimeLimits_ms))];
  if (chance(random, shape.percent_gangs)) {
    job.gang = true;
    job.tasks_min = job.tasks_max = 2 + static_cast<std::uint32_t>(random.below(5));
    job.placement = Placement::unset;  // a gang's nodes are chosen together
  }
  if (shape.percent_elastic > 0 && chance(random, shape.percent_elastic)) {
    job.tasks_min = 1 + static_cast<std::uint32_t>(random.below(3));
    job.tasks_max = job.tasks_min + 1 + static_cast<std::uint32_t>(random.below(8));
  }
  if (shape.percent_devices > 0) draw_devices(job, shape.percent_devices, random);
  if (shape.percent_services > 0 && chance(random, shape.percent_services)) {
    job.kind = JobKind::service;
    job.gang = false;
    job.time_limit_ms = 0;
    job.tasks_min = job.tasks_max = 1 + static_cast<std::uint32_t>(random.below(2));
  }
  if (shape.percent_urgent > 0) {
    job.preempt = chance(random, shape.percent_urgent);
    job.priority = static_cast<std::int32_t>(random.below(3)) + (job.preempt ? 1 : -1);
    job.preemptible = !chance(random, 15);
  }
  if (shape.users > 0) {
    job.user = "user" + std::to_string(random.below(shape.users));
    if (job.priority == 0) job.priority = static_cast<std::int32_t>(random.below(3));
  }
  // Alike are those that ask for the like, as in the simulator.
  job.name = std::to_string(job.time_limit_ms);
  for (const auto& [resource, amount] : job.resources)
    job.name += " " + resource + " " + std::to_string(amount);
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

std::vector<std::uint64_t> seeds_to_try(std::uint64_t usual) {
  const char* given = std::getenv("FAIRWATER_SEEDS");
  const std::string text = given == nullptr ? std::to_string(usual) : given;
  const auto dash = text.find('-');
  const std::uint64_t first = dash == std::string::npos ? 1 : std::stoull(text);
  const std::uint64_t last = std::stoull(text.substr(dash == std::string::npos ? 0 : dash + 1));
  std::vector<std::uint64_t> seeds(last - first + 1);
  std::iota(seeds.begin(), seeds.end(), first);
  return seeds;
}

bool lives_in_seconds(const std::vector<JobSpec>& jobs) {
  return std::any_of(jobs.begin(), jobs.end(),
                     [](const JobSpec& job) { return is_elastic(job) || job.preempt; });
}

Scenario draw_scenario(const ScenarioShape& shape, SplitMix64& random) {
  Scenario scenario;
  for (std::uint32_t i = 0; i < shape.tenants; ++i)
    scenario.tenants.push_back(draw_tenant(i, random));
  if (shape.users > 0)
    for (auto& tenant : scenario.tenants)
      tenant.queue =
          chance(random, 60) ? QueuePolicy::fair : static_cast<QueuePolicy>(random.below(4));
  if (shape.groups > 0) draw_groups(scenario, shape.groups, random);
  if (shape.weighs_resources)
    for (auto* specs : {&scenario.tenants, &scenario.groups})
      for (TenantSpec& spec : *specs)
        for (const char* resource : {"cpu", "memory"})
          if (chance(random, 40)) spec.weights[resource] = 1 + static_cast<Weight>(random.below(9));
  for (std::uint32_t i = 0; i < shape.nodes; ++i) {
    scenario.nodes.push_back(draw_node(i, random));
    if (shape.percent_devices > 0) draw_devices(scenario.nodes.back(), random);
  }
  for (std::uint32_t i = 0; i < shape.drains; ++i)
    scenario.drains_ms[i] = kSecond_ms + static_cast<std::int64_t>(random.below(200 * kSecond_ms));
  for (std::uint32_t i = 0; i < shape.jobs; ++i)
    scenario.jobs.push_back(draw_job(scenario, shape, random));
  return scenario;
}

ActorRun::ActorRun(const Scenario& scenario, SplitMix64& random, const ClusterSettings& settings,
                   Accounting accounting)
    : scenario_(scenario),
      random_(random),
      counts_time_(accounting == Accounting::time),
      in_seconds_(lives_in_seconds(scenario.jobs)),
      cluster_(settings_with_clock(settings), accounting) {
  cluster_.let_ledger_wait();
  auto declared = scenario.tenants;
  declared.insert(declared.end(), scenario.groups.begin(), scenario.groups.end());
  cluster_.apply(declared);
  for (const auto& node : scenario.nodes) agents_.push_back(cluster_.join(node));
  ended_.resize(agents_.size());
  for (const auto& [place, drain_ms] : scenario.drains_ms) {
    const WallTime begins{kBegan.microseconds + drain_ms * 1000};
    REQUIRE(cluster_.ask<Done>(PlanDrain{cluster_.operator_caller(),
                                         scenario.nodes[place].traits.name, "a drill", begins, 0}));
  }
}

/// Nodes report when something happens, however long nothing does.
ClusterSettings ActorRun::settings_with_clock(ClusterSettings settings) const {
  settings.lease_ms = kLease_ms;
  settings.preempts_for_min = in_seconds_;
  settings.wall_clock = [now_ms = now_ms_] {
    return WallTime{kBegan.microseconds + *now_ms * 1000};
  };
  return settings;
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

std::map<TenantId, Units> ActorRun::nets() {
  std::map<TenantId, Units> nets;
  for (const TenantInfo& tenant : cluster_.tenants()) nets[tenant.record.id] = tenant.net;
  return nets;
}

bool ActorRun::has_bounded_loans() {
  const std::vector<TenantInfo> tenants = cluster_.tenants();
  return std::ranges::any_of(tenants, [](const TenantInfo& tenant) {
    return (!tenant.record.spec.may_lend && tenant.net < 0) ||
           (!tenant.record.spec.may_borrow && tenant.net > 0);
  });
}

void ActorRun::submit(const JobSpec& job) {
  let_time_pass();
  const auto accepted = cluster_.ask<JobAccepted>(SubmitJob{cluster_.operator_caller(), job});
  if (!accepted) return;
  if (job.gang) gangs_.insert(accepted->id);
  if (job.kind == JobKind::service) services_.insert(accepted->id);
  if (is_elastic(job)) elastic_.insert(accepted->id);
  beat_all();
}

void ActorRun::let_something_end() {
  let_time_pass();
  if (!elastic_.empty() && chance(random_, 10)) finish_elastic();
  end_some();
}

void ActorRun::let_time_pass() {
  if (!counts_time_) {
    if (in_seconds_ && chance(random_, 30)) pass(kSecond_ms);
    return;
  }
  if (chance(random_, 40)) return;
  if (in_seconds_) return pass(kSecond_ms * static_cast<std::int64_t>(random_.below(4)));
  const std::uint64_t most = chance(random_, 5) ? 4 * 3600 * kSecond_ms : 3 * kSecond_ms;
  pass(static_cast<std::int64_t>(random_.below(most)));
}

/// What follows from a drain happens at the moment at which it begins.
void ActorRun::pass(std::int64_t ms) {
  const std::int64_t until = *now_ms_ + ms;
  std::set<std::int64_t> moments;
  for (const auto& [place, drain_ms] : scenario_.drains_ms)
    if (drain_ms > *now_ms_ && drain_ms <= until) moments.insert(drain_ms);
  for (const std::int64_t moment : moments) {
    pass_between_drains(moment - *now_ms_);
    beat_all();
  }
  pass_between_drains(until - *now_ms_);
}

/// The ledger is settled in the first second and in the last one, as in the simulator, which leaves
/// out those in which nothing happens, unless somebody pays back without the right to lend. With
/// all of them nets would be the same, but not to the last unit who owes whom: what is owed would
/// be rounded and netted more often.
void ActorRun::pass_between_drains(std::int64_t ms) {
  const std::int64_t began = *now_ms_, until = began + ms;
  while (*now_ms_ < until) {
    const std::int64_t next = *now_ms_ / kSecond_ms * kSecond_ms + kSecond_ms;
    const std::int64_t last = until / kSecond_ms * kSecond_ms;
    const bool skips = !in_seconds_ && *now_ms_ != began && last > next && !has_bounded_loans();
    const std::int64_t then = std::min(until, skips ? last : next);
    const std::int64_t step = then - std::exchange(*now_ms_, then);
    cluster_.advance(step);
    if (in_seconds_) beat_all();
  }
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
  const auto stops = agents_[place].stops();
  if (std::find(stops.begin(), stops.end(), task) != stops.end())
    return timed(ended(task, EndReason::cancelled));
  if (elastic_.contains(task.job) || services_.contains(task.job)) return std::nullopt;
  // A gang of which one fails ends as a whole, which the simulator's jobs never do.
  const bool fails = !gangs_.contains(task.job) && chance(random_, 20);
  return timed(fails ? failed(task) : succeeded(task));
}

TaskResult ActorRun::timed(TaskResult result) const {
  result.started_at = started_.at(result.task);
  result.finished_at = now();
  return result;
}

void ActorRun::note_launches() {
  for (const FakeAgent& agent : agents_)
    for (const LaunchOrder& launch : agent.launches()) started_.try_emplace(launch.task, now());
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
  note_launches();
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
