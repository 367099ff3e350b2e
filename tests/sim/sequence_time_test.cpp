// `sequence` with a ledger that counts time.
#include <map>

#include "sim/report/metrics.hpp"
#include "sim/schedulers/sequence.hpp"
#include "tests/sim/support.hpp"

namespace fairwater::sim {
namespace {

using namespace test;

constexpr TimeMs kSecond_ms = 1000;
const PolicyOptions kByTime{.name = "sequence", .accounting = SequenceAccounting::time};

/// Nodes that are always full of tasks of one processor, of tenants that come one after the other.
RandomCase full_case(std::uint64_t seed) {
  SplitMix64 random(seed);
  const auto below = [&](std::uint64_t count) { return static_cast<TimeMs>(random.below(count)); };
  std::vector<Weight> weights(static_cast<std::size_t>(2 + below(3)));
  for (Weight& weight : weights) weight = 1 + below(5);
  std::vector<Amount> nodes(static_cast<std::size_t>(1 + below(3)));
  for (Amount& node : nodes) node = 1 + below(12);
  RandomCase made{processors(nodes, weights), {}};
  for (SimTenant& tenant : made.cluster.tenants)
    tenant.terms.repay_millionths = static_cast<std::uint32_t>(100'000 + below(900'001));
  for (TenantIndex tenant = 0; tenant < weights.size(); ++tenant) {
    const TimeMs from = tenant == 0 ? 0 : below(60 * kSecond_ms),
                 run_ms = 100 + below(20 * kSecond_ms);
    for (int job = 0; job < 40; ++job)
      made.workload.jobs.push_back(job_of(from, tenant, 100, 1, run_ms + below(5 * kSecond_ms)));
  }
  std::stable_sort(made.workload.jobs.begin(), made.workload.jobs.end(),
                   [](const Job& a, const Job& b) { return a.submit_ms < b.submit_ms; });
  return made;
}

/// By tenant, the integral of what it held: unit-milliseconds, as the engine has it.
std::vector<Units> held_of(const RandomCase& made, const Books& books, TimeMs end) {
  std::vector<Units> held(made.cluster.tenants.size());
  for (const TaskRun& run : books.runs)
    held[made.workload.jobs[run.task.job].tenant] += (run.end < 0 ? end : run.end) - run.start;
  return held;
}

}  // namespace

TEST_CASE("while the cluster is full, what was held beyond the part is what is owed",
          "[property][policy]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const RandomCase made = full_case(seed);
    const TimeMs end = 60 * kSecond_ms + static_cast<TimeMs>(seed) * 777;
    SequenceScheduler scheduler(kByTime, made.cluster, made.workload);
    Books books(made.cluster, made.workload);
    run_engine(made.cluster, made.workload, scheduler, books, {.end_ms = end});
    CHECK(books.sound());
    const auto held = held_of(made, books, end);
    for (TenantIndex tenant = 0; tenant < held.size(); ++tenant) {
      INFO("seed " << seed << ", tenant " << tenant);
      const Account account = scheduler.account(tenant);
      CHECK(account.held == held[tenant]);
      CHECK(std::abs(account.held - account.part + account.net) <= 1);
    }
  }
}

TEST_CASE("what is borrowed less what is repaid is owed", "[property][policy]") {
  Units borrowed_in_all = 0, repaid_in_all = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RandomCase made = random_case(seed, 200);
    SequenceScheduler scheduler(kByTime, made.cluster, made.workload);
    Books books(made.cluster, made.workload);
    run_engine(made.cluster, made.workload, scheduler, books, {});
    Units nets = 0, debts = 0, borrowed = 0, repaid = 0;
    for (TenantIndex tenant = 0; tenant < made.cluster.tenants.size(); ++tenant) {
      const Account account = scheduler.account(tenant);
      nets += account.net;
      debts += std::max<Units>(0, -account.net);
      borrowed += account.borrowed;
      repaid += account.repaid;
    }
    INFO("seed " << seed);
    CHECK(nets == 0);
    CHECK(borrowed - repaid == debts);
    borrowed_in_all += borrowed;
    repaid_in_all += repaid;
  }
  CHECK(borrowed_in_all > repaid_in_all);
  CHECK(repaid_in_all > 0);
}

TEST_CASE("the ledger is settled at whole seconds, and in steps where nothing happens",
          "[unit][policy]") {
  const Cluster cluster = processors({4}, {1, 1});
  const Workload workload{{job_of(0, 0, 4, 1, 10 * kSecond_ms), job_of(1200, 1, 4, 1, kSecond_ms)}};
  /// The net of tenant 0 whenever time has passed.
  class Nets final : public Observer {
   public:
    explicit Nets(const Scheduler& scheduler) : scheduler_(scheduler) {}
    void advance(TimeMs now) override { nets[now] = scheduler_.account(0).net; }
    std::map<TimeMs, Units> nets;

   private:
    const Scheduler& scheduler_;
  };
  SequenceScheduler scheduler(kByTime, cluster, workload);
  Nets seen(scheduler);
  run_engine(cluster, workload, scheduler, seen, {.end_ms = 5300, .step_ms = 2500});
  CHECK(seen.nets ==
        std::map<TimeMs, Units>{{1200, -2000}, {2500, -4000}, {5000, -10'000}, {5300, -10'000}});
  CHECK(scheduler.account(0).net == -10'600);
}

TEST_CASE("which resource is scarcest is looked at in the second after something happened",
          "[unit][policy]") {
  Cluster cluster = processors({10}, {1, 1});
  cluster.settings.granules[kMemory] = 1;
  cluster.nodes[0].capacity[kMemory] = 10;
  Workload workload{{job_of(0, 0, 1, 4, 20 * kSecond_ms), job_of(2000, 1, 1, 1, 20 * kSecond_ms)}};
  workload.jobs[1].demand[kMemory] = 8;  // from then on
  const auto nets = [&](TimeMs step_ms) {
    SequenceScheduler scheduler(kByTime, cluster, workload);
    Books books(cluster, workload);
    run_engine(cluster, workload, scheduler, books,
               {.end_ms = 10 * kSecond_ms, .step_ms = step_ms});
    return std::vector{scheduler.account(0).net, scheduler.account(1).net};
  };
  CHECK(nets(0) == nets(kSecond_ms));
  CHECK(nets(0)[1] < 0);  // it holds more than half of the memory
}

}  // namespace fairwater::sim
