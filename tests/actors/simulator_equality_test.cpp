// The simulator's `sequence` is the coordinator: what the actors decide in virtual time, the
// simulator decides from the same events, byte for byte.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "model/job.hpp"
#include "policy/core/splitmix64.hpp"
#include "schema/codec.hpp"
#include "sim/schedulers/sequence.hpp"
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

/// A cluster and the jobs that are submitted to it, in order.
struct Scenario {
  std::vector<TenantSpec> tenants;
  std::vector<TenantSpec> groups;  ///< tenants with tenants; declared behind those
  std::vector<NodeSpec> nodes;
  std::vector<JobSpec> jobs;
};

struct ScenarioShape {
  std::uint32_t tenants = 4;
  std::uint32_t nodes = 4;
  std::uint32_t jobs = 150;
  std::uint32_t most_tasks = 12;  ///< of a job
  std::uint32_t groups = 0;
  std::uint32_t percent_gangs = 0;    ///< of the jobs
  std::uint32_t percent_elastic = 0;  ///< of the jobs
};

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

// -- the actors
// ------------------------------------------------------------------------------------

/// A real coordinator that lives through the scenario, one event at a time: after each of them all
/// that follows from it happens, and every node has reported.
class ActorRun {
 public:
  ActorRun(const Scenario& scenario, SplitMix64& random,
           const ClusterSettings& settings = ClusterFixture::default_settings())
      : scenario_(scenario), random_(random), cluster_(settings) {
    auto declared = scenario.tenants;
    declared.insert(declared.end(), scenario.groups.begin(), scenario.groups.end());
    cluster_.apply(declared);
    for (const auto& node : scenario.nodes) agents_.push_back(cluster_.join(node));
    ended_.resize(agents_.size());
  }

  /// Submits every job, with ends of tasks in between; then `more_ends` ends.
  std::vector<JournalRecord> run(std::uint64_t percent_ends, int more_ends) {
    for (const auto& job : scenario_.jobs) {
      while (chance(random_, percent_ends)) let_something_end();
      submit(job);
    }
    for (int i = 0; i < more_ends; ++i) let_something_end();
    return journal();
  }

  /// Of each tenant, as the coordinator has it.
  std::map<TenantId, Units> credits() {
    std::map<TenantId, Units> credits;
    for (const TenantInfo& tenant : cluster_.tenants())
      credits[tenant.record.id] = tenant.record.credit;
    return credits;
  }

 private:
  /// Jobs that the cluster refuses are left out.
  void submit(const JobSpec& job) {
    const auto accepted = cluster_.ask<JobAccepted>(SubmitJob{cluster_.operator_caller(), job});
    if (!accepted) return;
    if (job.gang) gangs_.insert(accepted->id);
    if (is_elastic(job)) elastic_.insert(accepted->id);
    beat_all();
  }

  void let_something_end() {
    if (!elastic_.empty() && chance(random_, 30)) pass_second();
    if (!elastic_.empty() && chance(random_, 10)) finish_elastic();
    end_some();
  }

  /// Who has grown pays for it.
  void pass_second() {
    cluster_.advance(1000);
    beat_all();
  }

  /// In the simulator an elastic job ends as a whole, with its work. To whoever deals it is the
  /// same when one is cancelled: nothing of it starts any more, and what runs ends.
  void finish_elastic() {
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

  /// None: it runs on. What is told to end does so at some time.
  [[nodiscard]] std::optional<TaskResult> end_of(std::size_t place, const TaskKey& task) {
    if (elastic_.contains(task.job)) {
      const auto stops = agents_[place].stops();
      if (std::find(stops.begin(), stops.end(), task) == stops.end()) return std::nullopt;
      return ended(task, EndReason::cancelled);
    }
    // A gang of which one fails ends as a whole, which the simulator's jobs never do.
    const bool fails = !gangs_.contains(task.job) && chance(random_, 20);
    return fails ? failed(task) : succeeded(task);
  }

  /// One to three tasks of one node end in one report.
  void end_some() {
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

  /// Heartbeats of all nodes, which the coordinator gathers, until nothing follows from them.
  void beat_all() {
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

  std::uint64_t last_record() {
    const auto status = cluster_.ask<ClusterStatus>(GetStatus{});
    REQUIRE(status.engaged());
    return status->cycle;
  }

  std::vector<TaskKey> running_on(std::size_t place) const {
    std::vector<TaskKey> running;
    for (const auto& launch : agents_[place].launches())
      if (std::find(ended_[place].begin(), ended_[place].end(), launch.task) == ended_[place].end())
        running.push_back(launch.task);
    return running;
  }

  std::vector<JournalRecord> journal() {
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

  const Scenario& scenario_;
  SplitMix64& random_;
  ClusterFixture cluster_;
  std::vector<FakeAgent> agents_;
  std::vector<std::vector<TaskKey>> ended_;
  std::set<JobId> gangs_;
  std::set<JobId> elastic_;
  std::set<JobId> finished_;  ///< of those
};

// -- the simulator
// ---------------------------------------------------------------------------------

sim::Cluster simulated_cluster(const Scenario& scenario) {
  const ResourceCatalog catalog;
  sim::Cluster cluster;
  cluster.settings.granules = catalog.granules();
  cluster.settings.units = catalog.units();
  std::map<std::string, GroupId> numbers{{"", {}}};
  for (const auto& group : scenario.groups) {
    numbers.emplace(group.name, GroupId{static_cast<std::uint32_t>(numbers.size())});
    cluster.groups.push_back({.place = {.group = numbers.at(group.parent), .weight = group.weight},
                              .max = terms_of(group, catalog)->max});
  }
  for (const auto& tenant : scenario.tenants) {
    auto terms = *terms_of(tenant, catalog);
    if (!tenant.parent.empty())
      terms.place = QuotaPlace{.group = numbers.at(tenant.parent), .weight = tenant.weight};
    cluster.tenants.push_back({tenant.name, terms, 0, tenant.placement});
  }
  sim::weigh_by_tree(cluster);
  for (const auto& node : scenario.nodes)
    cluster.nodes.push_back({node.traits, *catalog.to_vector(node.capacity, "")});
  return cluster;
}

/// The jobs that the coordinator took, in its order.
sim::Workload simulated_workload(const std::vector<JournalRecord>& journal) {
  const ResourceCatalog catalog;
  sim::Workload workload;
  for (const auto& record : journal) {
    const auto* submitted = std::get_if<JobSubmitted>(&record.body);
    if (submitted == nullptr) continue;
    sim::Job job;
    job.tenant = submitted->tenant.value - 1;
    job.tasks = submitted->spec.tasks_max;
    job.demand = *catalog.to_vector(submitted->spec.resources, "");
    job.placement = submitted->spec.placement;
    job.is_gang = submitted->spec.gang;
    if (is_elastic(submitted->spec)) job.least_tasks = submitted->spec.tasks_min;
    if (!submitted->spec.sites.empty())
      job.rule = std::make_shared<PlacementRule>(PlacementRule{submitted->spec.sites, {}});
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

/// Growth comes behind the other deals of the same event. It keeps no accounts; whether it comes
/// before or after one that only tells for whom room is kept is up to whose message is faster.
std::string bytes_of(std::vector<Deal> deals, std::vector<Reclaim> reclaims) {
  std::stable_partition(deals.begin(), deals.end(),
                        [](const Deal& deal) { return deal.keeps_accounts; });
  JournalRecord dealt, told;
  dealt.body = Cycle{std::move(deals)};
  told.body = TasksReclaimed{std::move(reclaims)};
  return to_bytes(dealt) + to_bytes(told);
}

struct Comparison {
  int events = 0;
  std::size_t deals = 0;
  std::size_t grants = 0;
  std::size_t loans = 0;
  std::size_t repayments = 0;
  std::size_t grown = 0;              ///< of the grants
  std::size_t reclaims = 0;           ///< tasks told to end
  std::map<TenantId, Units> credits;  ///< by the simulator, at the end
  /// Journal number of the first event that was decided otherwise, 0: none. The comparison ends
  /// there.
  std::uint64_t difference = 0;
};

/// Gives the journal's events to the simulator, and compares what follows from each of them.
class Replay {
 public:
  Replay(const sim::Cluster& cluster, const sim::Workload& workload, GrowthRule growth)
      : tenants_(cluster.tenants.size()),
        scheduler_(sim::PolicyOptions{.name = "sequence", .growth = growth}, cluster, workload) {}

  Comparison run(const std::vector<JournalRecord>& journal) {
    for (const auto& record : journal) {
      if (const auto* cycle = std::get_if<Cycle>(&record.body))
        decided_.insert(decided_.end(), cycle->deals.begin(), cycle->deals.end());
      if (const auto* told = std::get_if<TasksReclaimed>(&record.body))
        told_.insert(told_.end(), told->tasks.begin(), told->tasks.end());
      if (!is_event(record)) continue;
      if (!same()) return result_;
      tell(record);
      event_ = record.number;
    }
    (void)same();
    for (sim::TenantIndex i = 0; i < tenants_; ++i)
      result_.credits[sim::tenant_id(i)] =
          static_cast<Units>(std::llround(scheduler_.account(i).credit * 1000));
    return result_;
  }

 private:
  static sim::JobIndex index_of(JobId job) { return static_cast<sim::JobIndex>(job.value - 1); }
  static bool is_event(const JournalRecord& record) {
    return std::holds_alternative<JobSubmitted>(record.body) ||
           std::holds_alternative<TasksFinished>(record.body) ||
           std::holds_alternative<JobCancelled>(record.body) ||
           std::holds_alternative<CreditsSettled>(record.body);
  }

  void tell(const JournalRecord& event) {
    if (const auto* submitted = std::get_if<JobSubmitted>(&event.body))
      scheduler_.submit(index_of(submitted->id));
    if (const auto* finished = std::get_if<TasksFinished>(&event.body))
      for (const auto& result : finished->results)
        scheduler_.end({index_of(result.task.job), result.task.index}, finished->node.value - 1);
    if (const auto* cancelled = std::get_if<JobCancelled>(&event.body))
      scheduler_.done(index_of(cancelled->id));
    if (const auto* settled = std::get_if<CreditsSettled>(&event.body))
      scheduler_.pass_to(now_ms_ += settled->settlement.period_ms);
  }

  /// Whether both decided the same after the last event.
  bool same() {
    if (event_ == 0) return true;
    (void)scheduler_.cycle(now_ms_);
    ++result_.events;
    result_.deals += decided_.size();
    for (const auto& deal : decided_) {
      result_.grants += deal.grants.size();
      for (const Grant& grant : deal.grants)
        result_.grown += grant.step == GrantStep::growth ? 1 : 0;
      result_.loans += deal.loans.size();
      result_.repayments += deal.repayments.size();
    }
    result_.reclaims += told_.size();
    if (bytes_of(scheduler_.deals(), scheduler_.reclaims()) != bytes_of(decided_, told_))
      result_.difference = event_;
    decided_.clear();
    told_.clear();
    return result_.difference == 0;
  }

  const std::size_t tenants_;
  sim::SequenceScheduler scheduler_;
  sim::TimeMs now_ms_ = 0;  ///< while something has grown
  std::uint64_t event_ = 0;
  std::vector<Deal> decided_;  ///< by the coordinator, since the event
  std::vector<Reclaim> told_;  ///< likewise
  Comparison result_;
};

/// How many of the gangs that started did so on more than one node.
std::size_t gangs_on_several_nodes(const std::vector<JournalRecord>& journal) {
  std::set<JobId> gangs;
  std::map<JobId, std::set<NodeId>> nodes;
  for (const auto& record : journal) {
    const auto* submitted = std::get_if<JobSubmitted>(&record.body);
    if (submitted != nullptr && submitted->spec.gang) gangs.insert(submitted->id);
    if (const auto* cycle = std::get_if<Cycle>(&record.body))
      for (const Deal& deal : cycle->deals)
        for (const Grant& grant : deal.grants)
          if (gangs.contains(grant.task.job)) nodes[grant.task.job].insert(deal.node);
  }
  return static_cast<std::size_t>(std::count_if(
      nodes.begin(), nodes.end(), [](const auto& gang) { return gang.second.size() > 1; }));
}

Comparison replay(const sim::Cluster& cluster, const std::vector<JournalRecord>& journal,
                  GrowthRule growth = GrowthRule::qrea) {
  const auto workload = simulated_workload(journal);
  return Replay{cluster, workload, growth}.run(journal);
}

}  // namespace

TEST_CASE("the simulator decides as the coordinator does", "[actor][property]") {
  constexpr std::uint64_t kSeeds = 20;
  Comparison all;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SplitMix64 random(seed);
    const ScenarioShape shape{.tenants = 2 + static_cast<std::uint32_t>(random.below(5)),
                              .nodes = 1 + static_cast<std::uint32_t>(random.below(6))};
    const auto scenario = draw_scenario(shape, random);
    const auto journal = ActorRun{scenario, random}.run(40 + random.below(25), 100);
    const auto found = replay(simulated_cluster(scenario), journal);
    CAPTURE(seed, found.events, found.difference);
    CHECK(found.difference == 0);
    CHECK(found.events >= 250);
    all.deals += found.deals;
    all.grants += found.grants;
    all.loans += found.loans;
    all.repayments += found.repayments;
  }
  CHECK(all.deals > 100 * kSeeds);
  CHECK(all.grants > 200 * kSeeds);
  CHECK(all.loans > 50 * kSeeds);
  CHECK(all.repayments > 20 * kSeeds);
}

TEST_CASE("the simulator decides as the coordinator does for a tree of tenants",
          "[actor][property]") {
  constexpr std::uint64_t kSeeds = 12;
  Comparison all;
  std::size_t groups = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SplitMix64 random(seed);
    const ScenarioShape shape{.tenants = 3 + static_cast<std::uint32_t>(random.below(5)),
                              .nodes = 1 + static_cast<std::uint32_t>(random.below(4)),
                              .jobs = 100,
                              .groups = 1 + static_cast<std::uint32_t>(random.below(4))};
    const auto scenario = draw_scenario(shape, random);
    const auto journal = ActorRun{scenario, random}.run(40 + random.below(25), 60);
    const auto found = replay(simulated_cluster(scenario), journal);
    CAPTURE(seed, found.events, found.difference);
    CHECK(found.difference == 0);
    all.grants += found.grants;
    all.loans += found.loans;
    groups += scenario.groups.size();
  }
  CHECK(groups > kSeeds);
  CHECK(all.grants > 150 * kSeeds);
  CHECK(all.loans > 20 * kSeeds);
}

TEST_CASE("the simulator decides as the coordinator does when windows do not show all that waits",
          "[actor][property]") {
  // Hundreds of jobs of one task, more than a window has ranges; and jobs of more tasks than it
  // has.
  const ScenarioShape shapes[] = {{.tenants = 3, .nodes = 3, .jobs = 400, .most_tasks = 1},
                                  {.tenants = 3, .nodes = 3, .jobs = 60, .most_tasks = 800}};
  for (const auto& shape : shapes)
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SplitMix64 random(seed);
      const auto scenario = draw_scenario(shape, random);
      const auto journal = ActorRun{scenario, random}.run(15, 150);
      const auto found = replay(simulated_cluster(scenario), journal);
      CAPTURE(shape.jobs, seed, found.events, found.difference);
      CHECK(found.difference == 0);
      CHECK(found.grants > 150);
    }
}

TEST_CASE("the simulator decides as the coordinator does for gangs among other jobs",
          "[actor][property]") {
  constexpr std::uint64_t kSeeds = 12;
  Comparison all;
  std::size_t spread = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SplitMix64 random(seed);
    const ScenarioShape shape{.tenants = 2 + static_cast<std::uint32_t>(random.below(4)),
                              .nodes = 2 + static_cast<std::uint32_t>(random.below(5)),
                              .jobs = 100,
                              .groups = static_cast<std::uint32_t>(random.below(3)),
                              .percent_gangs = 30};
    const auto scenario = draw_scenario(shape, random);
    const auto journal = ActorRun{scenario, random}.run(40 + random.below(25), 80);
    const auto found = replay(simulated_cluster(scenario), journal);
    CAPTURE(seed, found.events, found.difference);
    CHECK(found.difference == 0);
    all.grants += found.grants;
    spread += gangs_on_several_nodes(journal);
  }
  CHECK(all.grants > 100 * kSeeds);
  CHECK(spread > 3 * kSeeds);
}

TEST_CASE("the simulator decides as the coordinator does for elastic jobs among other jobs",
          "[actor][property][elastic]") {
  constexpr std::uint64_t kSeeds = 8;
  Comparison all;
  ClusterSettings settings = ClusterFixture::default_settings();
  for (const auto rule : {GrowthRule::qrea, GrowthRule::qrea_rebalance, GrowthRule::crea}) {
    settings.growth = rule;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      SplitMix64 random(seed);
      const ScenarioShape shape{.tenants = 2 + static_cast<std::uint32_t>(random.below(4)),
                                .nodes = 2 + static_cast<std::uint32_t>(random.below(5)),
                                .jobs = 80,
                                .most_tasks = 6,
                                .groups = static_cast<std::uint32_t>(random.below(3)),
                                .percent_gangs = 10,
                                .percent_elastic = 40};
      const auto scenario = draw_scenario(shape, random);
      ActorRun actors{scenario, random, settings};
      const auto journal = actors.run(45 + random.below(25), 60);
      const auto found = replay(simulated_cluster(scenario), journal, rule);
      CAPTURE(to_string(rule), seed, found.events, found.difference);
      CHECK(found.difference == 0);
      for (const auto& [tenant, credit] : found.credits) {
        CAPTURE(tenant.value);
        CHECK(actors.credits().at(tenant) == credit);
      }
      all.grants += found.grants;
      all.grown += found.grown;
      all.reclaims += found.reclaims;
    }
  }
  CAPTURE(all.grants, all.grown, all.reclaims);
  CHECK(all.grants > 3 * 100 * kSeeds);
  CHECK(all.grown > 3 * 30 * kSeeds);
  CHECK(all.reclaims > 3 * 5 * kSeeds);
}

TEST_CASE("a simulator with one other weight decides otherwise", "[actor]") {
  SplitMix64 random(1);
  const auto scenario = draw_scenario({}, random);
  const auto journal = ActorRun{scenario, random}.run(50, 100);
  auto cluster = simulated_cluster(scenario);
  CHECK(replay(cluster, journal).difference == 0);
  ++cluster.tenants.back().terms.weight;
  CHECK(replay(cluster, journal).difference > 0);
}

}  // namespace fairwater
