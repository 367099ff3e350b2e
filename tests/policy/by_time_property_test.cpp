// Where the ledger counts time, in any cluster whose tasks keep their limits: every task that some
// node could hold starts within a bound that follows from limits alone, whatever others submit.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "timed_cluster.hpp"

namespace fairwater::test::by_time {
namespace {

constexpr LedgerMs kPeriodMs = 1000;  ///< a deal at least so often

struct Submitted {
  JobId job;
  std::uint32_t tenant = 0;
  LedgerMs late_from_ms = 0;
  LedgerMs firm_from_ms = 0;  ///< it is not deferred any more
  /// Tasks that were late no later than this one, at the moment from which on it was firm, and
  /// since then late ones of tenants that were owed something.
  std::optional<std::size_t> before;
  LedgerMs behind_own_ms = 0;  ///< for how long those of its tenant were deferred, and it is
};

/// Tenants that submit all the time: each has a few small tasks waiting at any moment, and now and
/// then a large one. Some have debts, some have credits, and weights are far apart.
struct BusyCluster {
  std::mt19937_64 random;
  Predict predict = Predict::limits;
  std::int64_t deferral_patiences = 0;
  TimedCluster cluster{settings(predict, deferral_patiences)};
  std::vector<ResourceVector> nodes;
  LedgerMs longest_ms = 0;  ///< of all limits
  std::vector<Submitted> submitted;
  std::size_t large = 0;
  std::size_t gangs = 0;
  std::size_t waited_until_firm = 0;
  std::size_t starts_seen = 0;

  static AllocatorSettings settings(Predict predict, std::int64_t deferral_patiences) {
    AllocatorSettings settings;
    settings.deferral_patiences = deferral_patiences;
    settings.predict = predict;
    settings.granules[kCpu] = 1;
    settings.granules[kMemory] = 1;
    return settings;
  }
  std::uint64_t draw(std::uint64_t from, std::uint64_t to) {
    return from + random() % (to - from + 1);
  }
  Amount amount(std::uint64_t from, std::uint64_t to) {
    return static_cast<Amount>(draw(from, to));
  }

  void build() {
    for (std::uint32_t id = 1; id <= 3 + random() % 3; ++id) {
      TenantTerms terms;
      terms.weight = static_cast<Weight>(id == 1 ? 1 : draw(1, 30));
      terms.repay_millionths = static_cast<std::uint32_t>(draw(1, 1'000'000));
      cluster.tenant(id, terms);
    }
    for (std::uint32_t id = 1; id <= 2 + random() % 3; ++id) {
      ResourceVector capacity;
      capacity[kCpu] = amount(2, 12);
      capacity[kMemory] = amount(2, 12);
      nodes.push_back(capacity);
      cluster.node(id, capacity);
    }
    fill();
  }

  /// By history: anything up to the limit, whatever it then takes.
  LedgerMs expected_ms(LedgerMs limit_ms) {
    return predict == Predict::limits
               ? limit_ms
               : static_cast<LedgerMs>(draw(1, static_cast<std::uint64_t>(limit_ms)));
  }

  void submit(std::uint32_t tenant, const ResourceVector& demand, LedgerMs limit_ms,
              std::uint32_t gang = 0) {
    const auto run_ms = static_cast<LedgerMs>(draw(1, static_cast<std::uint64_t>(limit_ms)));
    TimedCluster::Task task{.demand = demand,
                            .run_ms = draw(1, 2) == 1 ? limit_ms : run_ms,
                            .expected_ms = expected_ms(limit_ms),
                            .limit_ms = limit_ms,
                            .patience_ms = 10'000 + limit_ms / 2,
                            .is_gang = gang > 0,
                            .rule = nullptr};
    longest_ms = std::max(longest_ms, limit_ms);
    const LedgerMs late_from_ms = cluster.now_ms() + *task.patience_ms;
    submitted.push_back({cluster.submit(tenant, std::max(gang, 1U), task), tenant, late_from_ms,
                         late_from_ms + deferral_patiences * *task.patience_ms, std::nullopt});
  }

  /// Everybody has some small tasks waiting, however many have started.
  void fill() {
    for (const std::uint32_t tenant : cluster.tenants())
      while (cluster.waiting(tenant) < 4) {
        ResourceVector demand;
        demand[kCpu] = 1;
        demand[kMemory] = amount(0, 1);
        submit(tenant, demand, static_cast<LedgerMs>(draw(500, 6000)));
      }
  }

  /// All of a node, or nearly, in one resource or in both.
  void submit_large() {
    const ResourceVector& node = nodes[draw(0, nodes.size() - 1)];
    ResourceVector demand;
    demand[kCpu] = amount(static_cast<std::uint64_t>(node[kCpu] + 1) / 2,
                          static_cast<std::uint64_t>(node[kCpu]));
    demand[kMemory] = amount(0, static_cast<std::uint64_t>(node[kMemory]));
    const auto all = cluster.tenants();
    submit(draw(1, 2) == 1 ? 1 : all[draw(0, all.size() - 1)], demand,
           static_cast<LedgerMs>(draw(1000, 20'000)));
    ++large;
  }

  /// From half of all nodes to all of them, in one of the resources.
  void submit_gang() {
    std::uint64_t most = 0;
    const std::size_t resource = draw(0, 1);
    ResourceVector demand;
    demand[resource] = amount(1, 2);
    for (const ResourceVector& node : nodes)
      most += static_cast<std::uint64_t>(node[resource] / demand[resource]);
    const auto all = cluster.tenants();
    submit(all[draw(0, all.size() - 1)], demand, static_cast<LedgerMs>(draw(1000, 20'000)),
           static_cast<std::uint32_t>(draw((most + 1) / 2, most)));
    ++gangs;
  }

  [[nodiscard]] bool has_started(const Submitted& task) const {
    return cluster.start_of(task.job).has_value();
  }
};

/// What is late, and its tenant is owed something for, may come before what is late longer.
void count_owed(BusyCluster& busy, const std::map<std::uint64_t, std::size_t>& open) {
  for (; busy.starts_seen < busy.cluster.starts().size(); ++busy.starts_seen) {
    const auto& start = busy.cluster.starts()[busy.starts_seen];
    const auto known = open.find(start.job.value);
    if (known == open.end()) continue;
    const Submitted& started = busy.submitted[known->second];
    if (start.at_ms < started.late_from_ms || busy.cluster.net(started.tenant) <= 0) continue;
    for (const auto& [job, number] : open) {
      Submitted& task = busy.submitted[number];
      if (task.before && !busy.has_started(task) && task.late_from_ms < started.late_from_ms)
        ++*task.before;
    }
  }
}

/// What is late comes in the order of being late, each within the longest limit: then all that runs
/// where it has its place has ended, and nothing else was placed where it would be in the way. What
/// is submitted later is late later. What is not firm yet comes behind, was late before, or is
/// owed. Of one tenant, which may be at its mark, the next is deferred once more.
void check_bound(BusyCluster& busy, std::map<std::uint64_t, std::size_t>& open) {
  const LedgerMs now_ms = busy.cluster.now_ms();
  for (auto at = open.begin(); at != open.end();) {
    Submitted& task = busy.submitted[at->second];
    const auto start = busy.cluster.start_of(task.job);
    if (!start && !task.before && task.firm_from_ms <= now_ms) {
      ++busy.waited_until_firm;
      task.before = 0;
      for (const auto& [job, number] : open) {
        const Submitted& another = busy.submitted[number];
        if (another.late_from_ms > task.late_from_ms || busy.has_started(another)) continue;
        ++*task.before;
        if (another.tenant == task.tenant)
          task.behind_own_ms += 2 * (another.firm_from_ms - another.late_from_ms);
      }
    }
    const LedgerMs bound_ms =
        task.firm_from_ms + 2 * kPeriodMs + task.behind_own_ms +
        static_cast<LedgerMs>(task.before.value_or(0)) * (busy.longest_ms + 1);
    REQUIRE((start ? start->at_ms : now_ms) <= bound_ms);
    at = start ? open.erase(at) : std::next(at);
  }
}

TEST_CASE("whatever others submit, a task starts within what limits say", "[property]") {
  const Predict predict = GENERATE(Predict::limits, Predict::history);
  const bool with_gangs = GENERATE(false, true);
  const std::int64_t deferral_patiences = GENERATE(0, 1);
  std::size_t large = 0;
  std::size_t gangs = 0;
  std::size_t waited_until_firm = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    INFO("seed " << seed << (with_gangs ? ", with gangs" : ""));
    BusyCluster busy{.random = std::mt19937_64(seed),
                     .predict = predict,
                     .deferral_patiences = deferral_patiences,
                     .nodes = {},
                     .submitted = {}};
    busy.build();
    std::map<std::uint64_t, std::size_t> open;
    std::size_t known = 0;
    for (LedgerMs ms = 500; ms <= 100'000; ms += 500) {
      busy.cluster.run_until(ms);
      if (busy.draw(1, 30) == 1) busy.submit_large();
      if (with_gangs && busy.draw(1, 60) == 1) busy.submit_gang();
      busy.fill();
      for (; known < busy.submitted.size(); ++known) open[busy.submitted[known].job.value] = known;
      count_owed(busy, open);
      check_bound(busy, open);
    }
    large += busy.large;
    gangs += busy.gangs;
    waited_until_firm += busy.waited_until_firm;
  }
  CHECK(large > 50);
  CHECK(waited_until_firm > (deferral_patiences == 0 ? 100 : 5));
  CHECK((gangs > 20) == with_gangs);
}

}  // namespace
}  // namespace fairwater::test::by_time
