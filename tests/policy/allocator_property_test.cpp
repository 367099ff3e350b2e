// What holds for any tenants, nodes, tasks, durations and late windows; and the shares while all
// are busy.
#include <cmath>
#include <random>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"

namespace fairwater::test {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::uint64_t operator()(std::uint64_t from, std::uint64_t to) {
    return from + random_() % (to - from + 1);
  }
  bool one_in(std::uint64_t n) { return random_() % n == 0; }

 private:
  std::mt19937_64 random_;
};

/// In one of so many groups, or in none.
TenantTerms random_terms(Draw& draw, std::uint32_t groups) {
  TenantTerms terms;
  terms.weight = static_cast<Weight>(draw(1, 20));
  if (draw.one_in(4)) terms.min = cpu(static_cast<Amount>(draw(1, 4)) * 500);
  if (draw.one_in(4)) terms.max = cpu_memory(static_cast<Amount>(draw(2, 8)) * 1000, 4000);
  terms.repay_millionths =
      static_cast<std::uint32_t>(draw.one_in(2) ? 1'000'000 : draw(1, 999'999));
  terms.may_lend = !draw.one_in(6);
  terms.may_borrow = !draw.one_in(6);
  terms.leaving = draw.one_in(8);
  if (groups > 0 && !draw.one_in(3))
    terms.place = {.group = GroupId{static_cast<std::uint32_t>(draw(0, groups))},
                   .weight = static_cast<Weight>(draw(1, 20))};
  return terms;
}

/// In one of those before it, or in none.
GroupTerms random_group(Draw& draw, std::uint32_t id) {
  GroupTerms terms;
  terms.place = {.group = GroupId{static_cast<std::uint32_t>(draw(0, id - 1))},
                 .weight = static_cast<Weight>(draw(1, 20))};
  if (draw.one_in(3)) terms.min[kCpu] = static_cast<Amount>(draw(1, 8)) * 500;
  if (draw.one_in(2)) terms.max = cpu_memory(static_cast<Amount>(draw(2, 12)) * 1000, 8000);
  terms.rights.may_lend = !draw.one_in(4);
  terms.rights.may_borrow = !draw.one_in(4);
  return terms;
}

/// A cluster under random events; every deal is checked by TestCluster.
void run_random_cluster(std::uint64_t seed, int steps) {
  Draw draw(seed);
  AllocatorSettings settings = default_settings();
  settings.mode = draw.one_in(4) ? DealMode::slots : DealMode::sized;
  settings.backups = static_cast<std::uint32_t>(draw(1, 3));
  TestCluster cluster(settings);
  const auto tenants = static_cast<std::uint32_t>(draw(1, 6));
  const auto nodes = static_cast<std::uint32_t>(draw(1, 3));
  const auto groups = static_cast<std::uint32_t>(draw.one_in(2) ? 0 : draw(1, 3));
  for (std::uint32_t i = 1; i <= groups; ++i) cluster.group(i, random_group(draw, i));
  for (std::uint32_t i = 1; i <= tenants; ++i) cluster.tenant(i, random_terms(draw, groups));
  for (std::uint32_t i = 1; i <= nodes; ++i) {
    NodeTraits traits;
    traits.site = draw.one_in(2) ? "north" : "south";
    cluster.node(i, cpu_memory(static_cast<Amount>(draw(1, 12)) * 1000, 8192), traits);
  }
  const auto north = std::make_shared<PlacementRule>(PlacementRule{{"north"}, {}});
  std::vector<DemandWindow> late;
  for (int step = 0; step < steps; ++step) {
    const auto tenant = static_cast<std::uint32_t>(draw(1, tenants));
    switch (draw(0, 9)) {
      case 0:
        cluster.submit(tenant, static_cast<std::uint32_t>(draw(1, 8)),
                       cpu_memory(static_cast<Amount>(draw(1, 30)) * 100,
                                  static_cast<Amount>(draw(0, 6)) * 200),
                       draw.one_in(4) ? north : nullptr);
        cluster.refresh(tenant);
        break;
      case 1:  // a window on its way while deals go on
        late.push_back(cluster.window(tenant, cluster.allocator.last_deal()));
        break;
      case 2:
        if (!late.empty()) {
          cluster.deliver(late.front());
          late.erase(late.begin());
        }
        break;
      case 3:
        if (draw.one_in(10)) {
          cluster.clear(tenant);
          cluster.refresh(tenant);
          std::erase_if(late, [&](const DemandWindow& w) { return w.tenant.value == tenant; });
        }
        break;
      case 4:
        if (draw.one_in(10)) cluster.tenant(tenant, random_terms(draw, groups));
        break;
      default:
        if (!cluster.running().empty() && !draw.one_in(3)) {
          auto task = cluster.running().begin();
          std::advance(task, draw(0, cluster.running().size() - 1));
          cluster.finish(TaskKey(task->first));
        }
        cluster.deal(static_cast<std::uint32_t>(draw(1, nodes)));
    }
  }
}

TEST_CASE("any deal keeps room, limits, books and work conservation", "[property][allocator]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    run_random_cluster(seed, 100);
  }
}

struct BusyCluster {
  BusyCluster(const std::vector<Weight>& tenant_weights, std::uint32_t slots)
      : weights(tenant_weights) {
    cluster.window_tasks = 1000;  // nobody's window runs dry between two refreshes
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
      cluster.tenant(i + 1, {.weight = weights[i]});
      total += weights[i];
    }
    // Several nodes, so that slots also become free where others are.
    for (std::uint32_t left = slots, id = 1; left > 0; ++id) {
      const std::uint32_t here = std::min<std::uint32_t>(left, 4);
      cluster.node(id, cpu(here * 1000));
      left -= here;
      nodes = id;
    }
    capacity = slots;
    for (std::uint32_t i = 1; i <= weights.size(); ++i) {
      cluster.submit(i, 400, cpu(1000));
      cluster.refresh(i);
    }
    for (std::uint32_t id = 1; id <= nodes; ++id) cluster.deal(id);
  }
  void top_up() {
    for (std::uint32_t i = 1; i <= weights.size(); ++i) {
      if (cluster.allocator.tenant(TenantId{i}).pending_tasks > 100) continue;
      cluster.submit(i, 400, cpu(1000));
      cluster.refresh(i);
    }
  }
  [[nodiscard]] double share(std::size_t tenant, double amount) const {
    return amount * static_cast<double>(weights[tenant]) / static_cast<double>(total);
  }
  void check_held() const {
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
      INFO("tenant " << i + 1 << " of weight " << weights[i] << " of " << total);
      REQUIRE(std::abs(static_cast<double>(cluster.held(i + 1)) - share(i, capacity)) < 1.0 + 1e-9);
    }
  }
  void check_no_ious() const { REQUIRE(cluster.allocator.book().empty()); }

  TestCluster cluster;
  std::vector<Weight> weights;
  Weight total = 0;
  std::uint32_t capacity = 0;
  std::uint32_t nodes = 0;
};

std::vector<Weight> random_weights(Draw& draw) {
  std::vector<Weight> weights(draw(2, 7));
  for (Weight& weight : weights) weight = static_cast<Weight>(draw(1, 30));
  return weights;
}

/// Ends tasks of equal length in the order in which they began, and checks after each.
double run_equal_lengths(BusyCluster& busy, int turns) {
  double drift = 0;
  for (int turn = 0; turn < turns; ++turn) {
    const std::optional<Deal> deal = busy.cluster.turn_over_oldest();
    REQUIRE(deal);
    busy.check_held();
    busy.check_no_ious();
    busy.top_up();
    double all = 0;
    for (std::uint32_t i = 1; i <= busy.weights.size(); ++i)
      all += static_cast<double>(busy.cluster.granted(i));
    for (std::uint32_t i = 0; i < busy.weights.size(); ++i)
      drift = std::max(
          drift, std::abs(static_cast<double>(busy.cluster.granted(i + 1)) - busy.share(i, all)));
  }
  return drift;
}

TEST_CASE("while all are busy everyone holds its share within one task", "[property][allocator]") {
  SECTION("weights 1 and 3 on 16 slots") {
    BusyCluster busy({1, 3}, 16);
    busy.check_held();
    const double drift = run_equal_lengths(busy, 500);
    INFO(drift);
    CHECK(drift < 1.0);
  }
  SECTION("weights 5, 3 and 2 on 12 slots") {
    BusyCluster busy({5, 3, 2}, 12);
    busy.check_held();
    const double drift = run_equal_lengths(busy, 500);
    INFO(drift);
    CHECK(drift < 1.0);
  }
  SECTION("any weights") {
    double worst = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      INFO("seed " << seed);
      Draw draw(seed);
      const std::vector<Weight> weights = random_weights(draw);
      BusyCluster busy(weights, static_cast<std::uint32_t>(draw(2, 24)));
      busy.check_held();
      worst = std::max(worst, run_equal_lengths(busy, 200));
    }
    INFO(worst);
    CHECK(worst <= 2.0);
  }
}

TEST_CASE("lengths of tasks do not change what is held while all are busy",
          "[property][allocator]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    Draw draw(seed);
    const std::vector<Weight> weights = random_weights(draw);
    BusyCluster busy(weights, static_cast<std::uint32_t>(draw(2, 24)));
    std::vector<std::uint64_t> restless(weights.size());
    for (std::uint64_t& r : restless) r = draw(1, 40);
    for (int turn = 0; turn < 200; ++turn) {
      // The tenant whose task ends, by its restlessness: short tasks end often.
      auto tenant = static_cast<std::uint32_t>(draw(0, weights.size() - 1));
      if (busy.cluster.held(tenant + 1) == 0 || draw(1, 40) > restless[tenant]) continue;
      busy.cluster.turn_over(tenant + 1);
      busy.check_held();
      busy.check_no_ious();
      busy.top_up();
    }
  }
}

TEST_CASE("what an idle tenant lent comes back when it returns", "[property][allocator]") {
  for (const std::uint32_t repay_millionths : {1'000'000U, 500'000U, 100'000U}) {
    INFO("mu " << repay_millionths);
    BusyCluster busy({5, 3, 2}, 12);
    for (std::uint32_t i = 1; i <= 3; ++i)
      busy.cluster.tenant(i, {.weight = busy.weights[i - 1], .repay_millionths = repay_millionths});
    busy.cluster.clear(3);
    busy.cluster.refresh(3);
    for (int turn = 0; turn < 100; ++turn) {
      busy.cluster.turn_over_oldest();
      for (std::uint32_t i = 1; i <= 2; ++i)
        if (busy.cluster.allocator.tenant(TenantId{i}).pending_tasks < 50) {
          busy.cluster.submit(i, 400, cpu(1000));
          busy.cluster.refresh(i);
        }
    }
    CHECK(busy.cluster.net(3) > 100);
    CHECK(busy.cluster.held(3) == 0);
    const Units lent = busy.cluster.net(3);
    Units left = lent;
    for (int turn = 0; turn < 400; ++turn) {
      busy.top_up();
      busy.cluster.turn_over_oldest();
      REQUIRE(busy.cluster.net(3) <= left);
      left = busy.cluster.net(3);
    }
    CHECK(left == 0);
    CHECK(busy.cluster.allocator.book().empty());
    busy.check_held();
  }
}

}  // namespace
}  // namespace fairwater::test
