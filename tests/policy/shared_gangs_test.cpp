// Gangs of tasks that share GPUs: whole, on GPUs that have room for each of them, which are kept
// for them until then.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "shared_gpus.hpp"
#include "timed_cluster.hpp"

namespace fairwater::test::gpus {
namespace {

using Catch::Matchers::EndsWith;
using Nodes = std::map<std::uint32_t, std::uint32_t>;

constexpr std::uint32_t kA = 1;
constexpr std::uint32_t kB = 2;

TimedCluster::Task task_of(Amount milli, LedgerMs limit_ms) {
  return {
      .demand = share(milli), .run_ms = limit_ms, .expected_ms = limit_ms, .limit_ms = limit_ms};
}

TimedCluster::Task gang_of(Amount milli, LedgerMs limit_ms) {
  TimedCluster::Task task = task_of(milli, limit_ms);
  task.is_gang = true;
  return task;
}

TimedCluster::Task late_at(TimedCluster::Task task, LedgerMs patience_ms) {
  task.patience_ms = patience_ms;
  return task;
}

struct Cluster : TimedCluster {
  Cluster() : TimedCluster(sharing(Accounting::time)) {
    tenant(kA, terms_of(1));
    tenant(kB, terms_of(1));
  }
  void sharing_node(std::uint32_t id, std::size_t gpus) {
    node(id, capacity_of(gpus), node_sharing(gpus, "node" + std::to_string(id)));
  }
  /// When it started; -1: it waits. All of its tasks at once, or the test fails.
  LedgerMs start_ms(JobId job) const {
    std::set<LedgerMs> moments;
    for (const Start& start : starts())
      if (start.job == job) moments.insert(start.at_ms);
    REQUIRE(moments.size() <= 1);
    return moments.empty() ? -1 : *moments.begin();
  }
  Nodes nodes_of(JobId job) const {
    Nodes tasks;
    for (const Start& start : starts())
      if (start.job == job) ++tasks[start.node];
    return tasks;
  }
  std::vector<std::string> why(std::uint32_t tenant, JobId job) const {
    std::vector<std::string> messages;
    for (const Obstacle& obstacle : allocator().explain_waiting(TenantId{tenant}, job, 0))
      messages.push_back(obstacle.code + ": " + obstacle.message);
    return messages;
  }
};

}  // namespace

TEST_CASE("two tasks of 600 need two GPUs, of one node or of two", "[unit][gang][shares]") {
  Cluster cluster;
  cluster.sharing_node(1, 1);
  const JobId gang = cluster.submit(kA, 2, gang_of(600, 10_s));
  CHECK(cluster.start_ms(gang) == -1);
  CHECK(cluster.why(kA, gang).front() ==
        "gang_size: its 2 tasks start together, and the allowed nodes have room for 1 of them even "
        "when empty");
  SECTION("of two") {
    cluster.sharing_node(2, 1);
    CHECK(cluster.nodes_of(gang) == Nodes{{1, 1}, {2, 1}});
  }
  SECTION("of one") {
    cluster.sharing_node(2, 2);
    CHECK(cluster.nodes_of(gang) == Nodes{{2, 2}});
    CHECK(cluster.devices_of(gang, 0) != cluster.devices_of(gang, 1));
  }
}

TEST_CASE("what is free of several GPUs together starts no gang", "[unit][gang][shares]") {
  Cluster cluster;
  cluster.sharing_node(1, 3);
  for (int i = 0; i < 3; ++i) (void)cluster.submit(kB, 1, task_of(600, 10_s * (i + 1)));
  const JobId gang = cluster.submit(kA, 2, gang_of(500, 10_s));  // 1200 are free
  CHECK(cluster.start_ms(gang) == -1);
  const auto why = cluster.why(kA, gang);
  REQUIRE_FALSE(why.empty());
  CHECK(why.front() ==
        "gang: its 2 tasks start together, and there is room for 0 of them now; by the time limits "
        "of what runs the job's next task starts within 10 s");
  cluster.run_until(10_s);
  CHECK(cluster.start_ms(gang) == 10_s);
  CHECK(cluster.devices_of(gang, 0) == cluster.devices_of(gang, 1));
}

TEST_CASE("whole GPUs of a gang are empty ones", "[unit][gang][shares]") {
  Cluster cluster;
  cluster.sharing_node(1, 3);
  cluster.sharing_node(2, 3);
  (void)cluster.submit(kB, 1, task_of(100, 10_s));
  (void)cluster.submit(kB, 1, task_of(2000, 20_s));
  const JobId pairs = cluster.submit(kA, 2, gang_of(2000, 10_s));
  CHECK(cluster.start_ms(pairs) == -1);
  cluster.run_until(20_s);
  CHECK(cluster.start_ms(pairs) == 20_s);
  CHECK(cluster.devices_of(pairs).size() == 2);
}

TEST_CASE("the GPUs that a gang will have are kept for it; on others, or in time, all goes on",
          "[unit][gang][shares]") {
  Cluster cluster;
  cluster.tenant(kA, terms_of(8));
  cluster.sharing_node(1, 2);
  // One GPU is free of others in 10 s, the other in 40 s.
  const JobId short_one = cluster.submit(kB, 1, task_of(600, 10_s));
  const JobId long_one = cluster.submit(kB, 1, task_of(600, 40_s));
  const auto early = cluster.devices_of(short_one);
  const auto late = cluster.devices_of(long_one);
  REQUIRE(early != late);
  const JobId gang = cluster.submit(kA, 2, gang_of(500, 10_s));
  CHECK(cluster.start_ms(gang) == -1);
  const JobId beside = cluster.submit(kB, 1, task_of(300, 30_s));
  CHECK(cluster.devices_of(beside) == late);
  const JobId too_long = cluster.submit(kB, 1, task_of(300, 30_s));
  CHECK(cluster.start_ms(too_long) == -1);
  const JobId in_time = cluster.submit(kB, 1, task_of(400, 9_s));
  CHECK(cluster.devices_of(in_time) == early);
  cluster.run_until(10_s);
  CHECK(cluster.start_ms(gang) == 10_s);
  CHECK(cluster.devices_of(gang, 0) == early);
  CHECK(cluster.devices_of(gang, 1) == early);
  CHECK(cluster.start_ms(too_long) == -1);
  cluster.run_until(20_s);
  CHECK(cluster.start_ms(too_long) == 20_s);
}

TEST_CASE("gangs have the same GPUs one after the other, and what waits behind them has a place",
          "[unit][gang][shares]") {
  Cluster cluster;
  cluster.sharing_node(1, 1);
  cluster.sharing_node(2, 1);
  (void)cluster.submit(kA, 2, task_of(600, 1_s));
  const JobId first = cluster.submit(kB, 2, gang_of(700, 10_s));
  const JobId second = cluster.submit(kA, 2, gang_of(700, 10_s));
  CHECK_THAT(cluster.why(kB, first).front(), EndsWith("starts within 1 s"));
  CHECK_THAT(cluster.why(kA, second).front(), EndsWith("starts within 11 s"));
  const JobId whole = cluster.submit(kA, 1, task_of(1000, 10_s));
  CHECK_THAT(cluster.why(kA, whole).back(), EndsWith("starts within 21 s"));
  // It ends before any of them needs its GPU, and goes beside.
  const JobId short_one = cluster.submit(kB, 1, task_of(400, 1_s));
  CHECK(cluster.start_ms(short_one) == 0);
  cluster.run_until(60_s);
  CHECK(std::set<LedgerMs>{cluster.start_ms(first), cluster.start_ms(second)} ==
        std::set<LedgerMs>{1_s, 11_s});
  CHECK(cluster.start_ms(whole) == 21_s);
}

TEST_CASE("a late gang takes the GPUs that are kept for what is not late", "[unit][gang][shares]") {
  Cluster cluster;
  cluster.sharing_node(1, 1);
  cluster.sharing_node(2, 1);
  (void)cluster.submit(kA, 1, task_of(600, 10_s));
  (void)cluster.submit(kB, 1, task_of(600, 20_s));
  // Who is not late has the place there from 10 s on, until it is the late gang's.
  const JobId whole = cluster.submit(kB, 1, late_at(task_of(1000, 100_s), 1000_s));
  const JobId gang = cluster.submit(kA, 2, late_at(gang_of(700, 10_s), 5_s));
  cluster.run_until(100_s);
  CHECK(cluster.start_ms(gang) == 20_s);
  CHECK(cluster.start_ms(whole) == 30_s);
}

TEST_CASE("parts that keep coming do not keep a gang back for ever", "[unit][gang][shares]") {
  Cluster cluster;
  cluster.sharing_node(1, 2);
  cluster.sharing_node(2, 1);
  // Its tenant holds its part and more, so it has no turn before it is late.
  (void)cluster.submit(kA, 3, task_of(100, 3600_s));
  const JobId gang = cluster.submit(kA, 3, late_at(gang_of(700, 5_s), 30_s));
  while (cluster.start_ms(gang) < 0 && cluster.now_ms() < 100_s) {
    while (cluster.waiting(kB) < 6) (void)cluster.submit(kB, 1, task_of(450, 6_s));
    cluster.run_until(cluster.now_ms() + 500);
  }
  CHECK(cluster.start_ms(gang) >= 0);
  CHECK(cluster.start_ms(gang) <= 36_s);
}

TEST_CASE("where nobody knows when a GPU will be free nothing breaks, and the gang waits",
          "[unit][gang][shares]") {
  Cluster cluster;
  cluster.sharing_node(1, 2);
  (void)cluster.submit(kB, 1, {.demand = share(600), .run_ms = 100_s});
  const JobId gang = cluster.submit(kA, 2, {.demand = share(700), .run_ms = 10_s, .is_gang = true});
  cluster.run_until(99_s);
  CHECK(cluster.start_ms(gang) == -1);
  cluster.run_until(100_s);
  CHECK(cluster.start_ms(gang) == 100_s);
}

TEST_CASE("random gangs that share GPUs start whole, and all of them some time",
          "[property][gang][shares]") {
  std::size_t gangs = 0, on_several = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint64_t from, std::uint64_t to) {
      return from + random() % (to - from + 1);
    };
    Cluster cluster;
    std::size_t gpus = 0;
    for (std::uint32_t id = 1; id <= 3; ++id) {
      const std::size_t of_node = draw(1, 3);
      cluster.sharing_node(id, of_node);
      gpus += of_node;
    }
    std::vector<JobId> of_gangs;
    for (int step = 0; step < 40; ++step) {
      const auto tenant = static_cast<std::uint32_t>(draw(kA, kB));
      const Amount milli = draw(0, 4) == 0 ? kMilliPerGpu : static_cast<Amount>(draw(1, 999));
      const auto limit_ms = static_cast<LedgerMs>(draw(0, 9) == 0 ? 0 : draw(1, 20'000));
      TimedCluster::Task task = task_of(milli, limit_ms);
      task.run_ms = limit_ms == 0 ? 4_s : static_cast<LedgerMs>(draw(1, limit_ms));
      if (draw(0, 2) == 0) task.patience_ms = static_cast<LedgerMs>(draw(1, 30'000));
      const std::size_t most =
          std::min<std::size_t>(10, gpus * static_cast<std::size_t>(kMilliPerGpu / milli));
      const auto tasks = static_cast<std::uint32_t>(draw(1, most));
      task.is_gang = draw(0, 1) == 0 && tasks > 1;
      if (cluster.waiting(tenant) < 30) {
        const JobId job = cluster.submit(tenant, tasks, task);
        if (task.is_gang) of_gangs.push_back(job);
      }
      cluster.run_until(cluster.now_ms() + static_cast<LedgerMs>(draw(0, 4000)));
      if (draw(0, 9) == 0) cluster.restart();
    }
    cluster.run_until(cluster.now_ms() + 1000_s);
    CHECK(cluster.waiting(kA) + cluster.waiting(kB) == 0);
    for (const JobId gang : of_gangs) {
      CHECK(cluster.start_ms(gang) >= 0);
      on_several += cluster.nodes_of(gang).size() > 1 ? 1 : 0;
    }
    gangs += of_gangs.size();
  }
  CHECK(gangs > 500);
  CHECK(on_several > 100);
}

}  // namespace fairwater::test::gpus
