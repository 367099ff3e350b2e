// A ledger that counts time: what holds for any cluster.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "timed_cluster.hpp"

namespace fairwater::test {
namespace {

/// So many milliseconds, some long, most short.
LedgerMs random_run(std::mt19937_64& random) {
  return static_cast<LedgerMs>(1 + random() % (std::uint64_t{10} << (random() % 12)));
}

struct RandomCluster {
  std::mt19937_64 random;
  DebtTerms debts{};
  TimedCluster cluster{settings()};
  std::uint32_t tenants = 0;
  std::uint32_t nodes = 0;

  [[nodiscard]] AllocatorSettings settings() const {
    AllocatorSettings settings;
    settings.debts = debts;
    settings.granules[kCpu] = 1000;
    settings.granules[kMemory] = 1024;
    return settings;
  }
  std::uint64_t draw(std::uint64_t from, std::uint64_t to) {
    return from + random() % (to - from + 1);
  }
  TenantTerms random_terms() {
    TenantTerms terms =
        terms_of(static_cast<Weight>(draw(1, 9)), static_cast<std::uint32_t>(draw(1, 1'000'000)));
    if (draw(1, 4) == 1) terms.min[kCpu] = static_cast<Amount>(draw(1, 4)) * 500;
    if (draw(1, 4) == 1) terms.max[kCpu] = static_cast<Amount>(draw(4, 12)) * 1000;
    terms.may_lend = draw(1, 6) != 1;
    terms.may_borrow = draw(1, 6) != 1;
    terms.leaving = draw(1, 8) == 1;
    if (draw(1, 4) == 1) terms.caps.lend.part_ms = static_cast<LedgerMs>(draw(1, 30'000));
    if (draw(1, 4) == 1) terms.caps.borrow.unit_ms = static_cast<Units>(draw(1, 500'000));
    if (draw(1, 2) == 1)
      terms.place = {.group = GroupId{static_cast<std::uint32_t>(draw(0, 2))},
                     .weight = static_cast<Weight>(draw(1, 9))};
    if (draw(1, 4) == 1) {
      terms.place = place_of(terms);
      terms.place->own_weights[kMemory] = static_cast<Weight>(draw(1, 9));
    }
    return terms;
  }
  void add_node() {
    ResourceVector capacity;
    capacity[kCpu] = static_cast<Amount>(draw(1, 12)) * 1000;
    capacity[kMemory] = static_cast<Amount>(draw(1, 12)) * 1024;
    cluster.node(++nodes, capacity);
    known_nodes.push_back(nodes);
  }
  void add_tenant() { cluster.tenant(++tenants, random_terms()); }
  std::uint32_t some_tenant() {
    const auto all = cluster.tenants();
    return all[draw(0, all.size() - 1)];
  }
  void submit(std::uint32_t tenant) {
    TimedCluster::Task task;
    task.demand[kCpu] = static_cast<Amount>(draw(1, 30)) * 100;
    task.demand[kMemory] = static_cast<Amount>(draw(0, 6)) * 256;
    task.run_ms = random_run(random);
    task.expected_ms = draw(1, 4) == 1 ? 0 : task.run_ms;
    cluster.submit(tenant, static_cast<std::uint32_t>(draw(1, 12)), task);
  }

  void build() {
    for (std::uint32_t group = 1; group <= 2; ++group) {
      GroupTerms terms;
      terms.place = {.group = GroupId{static_cast<std::uint32_t>(draw(0, group - 1))},
                     .weight = static_cast<Weight>(draw(1, 9))};
      if (draw(1, 4) == 1) terms.place.own_weights[kCpu] = static_cast<Weight>(draw(1, 9));
      if (draw(1, 3) == 1) terms.max[kCpu] = static_cast<Amount>(draw(4, 12)) * 1000;
      terms.rights.may_lend = draw(1, 4) != 1;
      terms.rights.may_borrow = draw(1, 4) != 1;
      if (draw(1, 4) == 1) terms.rights.caps.lend.part_ms = static_cast<LedgerMs>(draw(1, 30'000));
      if (draw(1, 4) == 1) terms.rights.caps.borrow.unit_ms = static_cast<Units>(draw(1, 500'000));
      cluster.group(group, terms);
    }
    for (std::uint64_t i = draw(2, 5); i > 0; --i) add_tenant();
    for (std::uint64_t i = draw(1, 3); i > 0; --i) add_node();
  }

  void step() {
    cluster.run_until(cluster.now_ms() + static_cast<LedgerMs>(draw(0, 3000)));
    switch (draw(0, 9)) {
      case 0:
        if (tenants < 12) add_tenant();
        break;
      case 1: {
        const std::uint32_t leaver = some_tenant();
        if (cluster.tenants().size() <= 2) break;
        cluster.clear(leaver);
        if (cluster.held(leaver) == 0 && cluster.allocator().book().net(leaver) > 0)
          cluster.remove_tenant(leaver);
        break;
      }
      case 2:
        cluster.tenant(some_tenant(), random_terms());
        break;
      case 3:
        if (known_nodes.size() > 1) {
          cluster.lose_node(known_nodes.back());
          known_nodes.pop_back();
        }
        break;
      case 4:
        if (known_nodes.size() < 4) add_node();
        break;
      default:
        submit(some_tenant());
    }
  }

  std::vector<std::uint32_t> known_nodes;
};

std::map<std::uint32_t, TenantView> views_of(const TimedCluster& cluster) {
  std::map<std::uint32_t, TenantView> views;
  for (const std::uint32_t tenant : cluster.tenants()) views[tenant] = cluster.view(tenant);
  return views;
}

TEST_CASE("with restarts at any moment all goes as without, and nets sum to zero", "[property]") {
  int restarts = 0;
  std::uint64_t grants = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    DebtTerms debts;
    if (seed % 2 == 0) debts = {.cap_part_ms = 20'000, .half_life_ms = 50'000};
    RandomCluster plain{.random = std::mt19937_64(seed), .debts = debts, .known_nodes = {}};
    RandomCluster restarted{.random = std::mt19937_64(seed), .debts = debts, .known_nodes = {}};
    plain.build();
    restarted.build();
    for (int step = 0; step < 60; ++step) {
      plain.step();
      restarted.step();
      if (step % 4 == static_cast<int>(seed % 4)) {
        restarted.cluster.restart();
        ++restarts;
      }
      REQUIRE(plain.cluster.grants() == restarted.cluster.grants());
      REQUIRE(plain.cluster.allocator().accounts().snapshot() ==
              restarted.cluster.allocator().accounts().snapshot());
    }
    for (const auto& [tenant, view] : views_of(plain.cluster)) {
      const TenantView other = restarted.cluster.view(tenant);
      REQUIRE(view.used == other.used);
      REQUIRE(view.net == other.net);
      REQUIRE(view.mark == other.mark);
    }
    grants += plain.cluster.grants();
  }
  CHECK(restarts >= 500);
  CHECK(grants > 5'000);
}

struct Streams {
  std::vector<Weight> weights;
  std::vector<LedgerMs> run_ms;
  Wide weight_sum = 0;
};

/// Tenants that always wait for more, on a node that is full from the start.
Streams begin_streams(std::mt19937_64& random, TimedCluster& cluster, Amount room,
                      std::uint32_t repay_millionths) {
  Streams streams;
  const std::size_t tenants = 2 + random() % 5;
  for (std::size_t t = 0; t < tenants; ++t) {
    streams.weights.push_back(static_cast<Weight>(1 + random() % 9));
    streams.run_ms.push_back(static_cast<LedgerMs>(100 + random() % 20'000));
    streams.weight_sum += streams.weights.back();
    const auto id = static_cast<std::uint32_t>(t + 1);
    cluster.tenant(id, terms_of(streams.weights.back(), repay_millionths));
    cluster.submit(id, 1'000'000, task_of(streams.run_ms.back()));
  }
  cluster.node(1, slots(room));
  return streams;
}

TEST_CASE("while all are busy, nets are what was held beside the part, and parts are held",
          "[property]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    TimedCluster cluster(slot_settings());
    const auto room = static_cast<Amount>(8 + random() % 40);
    const Streams streams = begin_streams(random, cluster, room,
                                          static_cast<std::uint32_t>(100'000 + random() % 900'001));
    constexpr LedgerMs kEnd = 300'000;
    for (LedgerMs ms = 0; ms <= kEnd; ms += static_cast<LedgerMs>(1 + random() % 5000)) {
      cluster.run_until(ms);
      for (const std::uint32_t tenant : cluster.tenants()) {
        const TimeAccount account = cluster.allocator().accounts().time().account(TenantId{tenant});
        const Wide net = Wide{cluster.allocator().book().net(tenant)} * kMicroUnitsPerUnit +
                         account.rest + account.spare - account.borrowed;
        REQUIRE(account.held_total + account.held - account.part_total - account.part == -net);
      }
    }
    // Nobody's tasks, long or short, bring it more than its part and one task for each slot of it.
    for (const std::uint32_t tenant : cluster.tenants()) {
      INFO("tenant " << tenant);
      const double part = static_cast<double>(room * streams.weights[tenant - 1]) /
                          static_cast<double>(streams.weight_sum);
      const auto longest =
          static_cast<double>(*std::max_element(streams.run_ms.begin(), streams.run_ms.end()));
      CHECK(std::abs(static_cast<double>(cluster.held_total(tenant)) -
                     part * static_cast<double>(cluster.now_ms())) <= 2 * longest + 1000);
      CHECK(std::abs(static_cast<double>(cluster.held(tenant)) - part) < 2);
    }
  }
}

TEST_CASE("nobody loses by lending, and a debtor with work keeps its part less mu", "[property]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    TimedCluster cluster(slot_settings());
    const auto mu = static_cast<std::uint32_t>(200'000 + random() % 800'001);
    const auto room = static_cast<Amount>(8 + random() % 40);
    const Streams streams = begin_streams(random, cluster, room, mu);
    const std::uint32_t idler = 1;
    cluster.clear(idler);
    const auto idle_ms = static_cast<LedgerMs>(30'000 + random() % 100'000);
    cluster.run_until(idle_ms);
    const double part = static_cast<double>(room * streams.weights[idler - 1]) /
                        static_cast<double>(streams.weight_sum);
    REQUIRE(cluster.net(idler) > 0.5 * part * static_cast<double>(idle_ms - 20'000));
    cluster.submit(idler, 1'000'000, task_of(streams.run_ms[idler - 1]));
    const auto longest =
        static_cast<LedgerMs>(*std::max_element(streams.run_ms.begin(), streams.run_ms.end()));
    const LedgerMs settled_in = idle_ms + longest + 1000;
    // What it is owed comes back at about mu times what belongs to the others.
    const double rate = static_cast<double>(mu) / 1e6 * (static_cast<double>(room) - part);
    const auto back_in = static_cast<LedgerMs>(cluster.net(idler) / std::max(rate - 2, 0.5));
    const LedgerMs end = std::min<LedgerMs>(settled_in + 2 * back_in + 4 * longest, 600'000);
    for (LedgerMs ms = settled_in; ms <= end; ms += 1000) {
      cluster.run_until(ms);
      if (cluster.net(idler) < static_cast<double>(2 * room * longest)) break;
      for (const std::uint32_t tenant : cluster.tenants()) {
        const double its = static_cast<double>(room * streams.weights[tenant - 1]) /
                           static_cast<double>(streams.weight_sum);
        INFO("tenant " << tenant << " at " << ms << " ms");
        REQUIRE(static_cast<double>(cluster.held(tenant)) >
                (1 - static_cast<double>(mu) / 1e6) * its - 1);
      }
    }
    cluster.run_until(end);
    CHECK(cluster.net(idler) <= static_cast<double>(2 * longest + 2000));
  }
}

}  // namespace
}  // namespace fairwater::test
