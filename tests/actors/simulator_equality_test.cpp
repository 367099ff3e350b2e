// The simulator's `sequence` is the coordinator: what the actors decide in virtual time, the
// simulator decides from the same events, byte for byte.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "model/job.hpp"
#include "schema/codec.hpp"
#include "sim/schedulers/sequence.hpp"
#include "tests/actors/drawn_cluster.hpp"

namespace fairwater {
namespace {

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
