// Tenants in groups: who holds what over time, and what they are entitled to.
#include "sim/report/entitled_shares.hpp"
#include "sim/report/metrics.hpp"
#include "sim/report/run_report.hpp"
#include "sim/schedulers/list.hpp"
#include "tests/sim/support.hpp"

namespace fairwater::sim {
namespace {

using namespace test;

constexpr TenantIndex kA1 = 0;
constexpr TenantIndex kA2 = 1;
constexpr TenantIndex kB = 2;
constexpr Amount kProcessors = 24;

/// A with a1 and a2, and B with b: all weights are 1.
Cluster two_groups(const GroupTerms& a = {}) {
  Cluster cluster = processors({kProcessors / 2, kProcessors / 2}, {1, 1, 1});
  cluster.groups = {a, {}};
  for (const TenantIndex tenant : {kA1, kA2, kB})
    cluster.tenants[tenant].terms.place =
        QuotaPlace{.group = GroupId{tenant == kB ? 2U : 1U}, .weight = 1};
  weigh_by_tree(cluster);
  return cluster;
}

/// Four thousand tasks of 1 to 20 seconds for each of them.
Workload backlog(const std::vector<TenantIndex>& tenants) {
  Workload workload;
  SplitMix64 random(5);
  for (const TenantIndex tenant : tenants) {
    Job job = job_of(0, tenant, 4000, 1, 20'000);
    for (std::uint32_t i = 0; i < job.tasks; ++i)
      job.task_run_ms.push_back(1000 + static_cast<TimeMs>(random.below(19'000)));
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

/// What `sequence` makes of it in half an hour: everybody waits all the time.
RunMetrics run(const Cluster& cluster, const Workload& workload) {
  auto scheduler = make_scheduler({.name = "sequence"}, cluster, workload);
  REQUIRE(scheduler.engaged());
  const EngineOptions engine{.end_ms = 1'800'000};
  Recorder recorder{cluster, workload, {.sample_ms = 1000, .horizon_ms = engine.end_ms}};
  const auto result = run_engine(cluster, workload, **scheduler, recorder, engine);
  REQUIRE(result.waiting > 0);
  return recorder.finish(result, **scheduler);
}

/// At every sample each holds so many processors, give or take a whole task.
void check_held(const RunMetrics& metrics, const std::vector<double>& expected) {
  REQUIRE(metrics.samples.size() >= 1799);
  for (std::size_t second = 0; second < metrics.samples.size(); ++second)
    for (TenantIndex i = 0; i < expected.size(); ++i) {
      CAPTURE(second, i);
      REQUIRE(std::abs(metrics.samples[second][i].held_units - expected[i]) <= 1);
    }
}

}  // namespace

TEST_CASE("a tree's tenants hold their parts of their groups' parts", "[unit][tree]") {
  const auto metrics = run(two_groups(), backlog({kA1, kA2, kB}));
  check_held(metrics, {6, 6, 12});
  CHECK(metrics.largest_deviation <= 1.0 / kProcessors);
}

TEST_CASE("what a tenant leaves idle goes to its siblings in the tree", "[unit][tree]") {
  const auto metrics = run(two_groups(), backlog({kA2, kB}));
  check_held(metrics, {0, 12, 12});
  CHECK(metrics.largest_deviation <= 1.0 / kProcessors);
  SECTION("by the weights alone it goes to all") {
    Cluster flat = two_groups();
    flat.groups.clear();
    for (auto& tenant : flat.tenants) tenant.terms.place.reset();
    check_held(run(flat, backlog({kA2, kB})), {0, 8, 16});
  }
}

TEST_CASE("a group's max holds its tenants down together", "[unit][tree]") {
  GroupTerms a;
  a.max[kCpu] = 5000;
  SECTION("while others wait") {
    const auto metrics = run(two_groups(a), backlog({kA1, kA2, kB}));
    check_held(metrics, {2.5, 2.5, 19});
    CHECK(metrics.largest_deviation <= 1.0 / kProcessors);
  }
  SECTION("while the rest is idle") {
    const auto metrics = run(two_groups(a), backlog({kA1, kA2}));
    check_held(metrics, {2.5, 2.5, 0});
    for (const auto& sample : metrics.samples)
      REQUIRE(sample[kA1].held_units + sample[kA2].held_units == 5);
  }
}

TEST_CASE("entitled shares are the water levels of the tree", "[unit][tree]") {
  Cluster cluster = two_groups();
  EntitledShares entitled(cluster);
  entitled.want(kA1, 1000, {});
  entitled.want(kA2, 1000, {});
  entitled.want(kB, 1000, {});
  CHECK(entitled.share_out(400) == std::vector<Amount>{100, 100, 200});
  entitled.clear();
  entitled.want(kA2, 1000, {});
  entitled.want(kB, 150, {});
  CHECK(entitled.share_out(400) == std::vector<Amount>{250, 150});
  entitled.clear();
  entitled.want(kA1, 30, {});
  entitled.want(kA2, 1000, {});
  entitled.want(kB, 1000, {});
  CHECK(entitled.share_out(400) == std::vector<Amount>{30, 170, 200});

  // One beside the groups, and a group in a group.
  cluster.tenants.emplace_back().terms.weight = 2;
  cluster.groups.push_back({.place = {.group = GroupId{1}, .weight = 3}});
  cluster.tenants[kA2].terms.place = QuotaPlace{.group = GroupId{3}, .weight = 7};
  weigh_by_tree(cluster);
  EntitledShares deeper(cluster);
  for (const TenantIndex tenant : {kA1, kA2, kB, TenantIndex{3}}) deeper.want(tenant, 1000, {});
  CHECK(deeper.share_out(400) == std::vector<Amount>{25, 75, 100, 200});
}

TEST_CASE("nobody in a tree is entitled to more than the max of those it is in", "[unit][tree]") {
  // Parts are millicores of one resource: with both there is a tenth as much memory.
  const auto asked = [](Amount millicores) {
    ResourceVector amounts;
    amounts[kCpu] = millicores;
    amounts[kMemory] = millicores / 10;
    return amounts;
  };
  GroupTerms a;
  a.max[kCpu] = 5000;
  Cluster cluster = two_groups(a);
  const auto shares_when_all_want = [&](Amount millicores) {
    EntitledShares entitled(cluster);
    for (const TenantIndex tenant : {kA1, kA2, kB})
      entitled.want(tenant, millicores, asked(millicores));
    return entitled.share_out(24'000);
  };
  CHECK(shares_when_all_want(24'000) == std::vector<Amount>{2500, 2500, 19'000});
  CHECK(shares_when_all_want(2000) == std::vector<Amount>{2000, 2000, 2000});
  cluster.groups[0].max[kMemory] = 300;
  CHECK(shares_when_all_want(24'000) == std::vector<Amount>{1500, 1500, 21'000});
  cluster.tenants[kA1].terms.max[kCpu] = 1000;
  CHECK(shares_when_all_want(24'000) == std::vector<Amount>{1000, 2000, 21'000});
  cluster.groups[1].max[kCpu] = 4000;
  CHECK(shares_when_all_want(24'000) == std::vector<Amount>{1000, 2000, 4000});
}

TEST_CASE("notes name the policies that do not know weights or trees", "[unit][tree]") {
  Scenario scenario;
  scenario.cluster = two_groups();
  const std::vector<PolicyRuns> policies{
      {"sequence", {}}, {"easy", {}}, {"drf", {}}, {"conservative", {}}};
  CHECK(
      notes_on(scenario, policies) ==
      std::vector<std::string>{
          "weights are not known to easy, conservative, but the entitled share follows them",
          "each tenant's part alone is known of the tree to drf: what one leaves idle does not go "
          "to its siblings first"});
  CHECK(notes_on(scenario, {{"sequence", {}}}).empty());
  scenario.cluster = processors({4}, {1, 1});
  CHECK(notes_on(scenario, policies).empty());
  scenario.cluster.tenants[1].terms.place = QuotaPlace{.group = {}, .weight = 1};
  scenario.cluster.tenants[1].terms.place->own_weights[kMemory] = 3;
  CHECK(notes_on(scenario, policies) ==
        std::vector<std::string>{
            "weights of single resources are not known to the entitled share, easy, drf, "
            "conservative, nor to Jain's index: they go by one weight for all"});
}

TEST_CASE("weights are in proportion to the tree", "[unit][tree]") {
  Cluster cluster = two_groups();
  cluster.tenants.emplace_back().terms.weight = 2;
  weigh_by_tree(cluster);
  std::vector<Weight> weights;
  for (const auto& tenant : cluster.tenants) weights.push_back(tenant.terms.weight);
  CHECK(weights == std::vector<Weight>{125'000'000, 125'000'000, 250'000'000, 500'000'000});
  CHECK(cluster.tenants[3].terms.place == QuotaPlace{.group = {}, .weight = 2});
}

}  // namespace fairwater::sim
