// Which of the nodes with room a task goes to by the rule that its job asks for.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "policy/allocator/deal_cycle.hpp"
#include "policy/dominant/gdrf.hpp"
#include "policy/dominant/machine_load.hpp"

namespace fairwater::test {
namespace {

/// A cycle over nodes, and where its grants went.
class Placing {
 public:
  explicit Placing(Accounting accounting = Accounting::units,
                   std::size_t most_looks_in_vain = AllocatorSettings{}.most_looks_in_vain)
      : cycle_(Allocator(settings(accounting, most_looks_in_vain))) {
    cycle_.allocator().set_tenant(TenantId{1}, {});
    cycle_.allocator().set_tenant(TenantId{2}, {});
  }

  void node(std::uint32_t id, const ResourceVector& capacity, NodeTraits traits = {},
            bool accepts = true) {
    cycle_.set_node(NodeId{id}, traits, capacity, accepts);
    cycle_.beat(NodeId{id});
  }
  WaitingRange job(std::uint32_t tasks, const ResourceVector& demand, Placement placement) {
    WaitingRange range;
    range.job = JobId{++last_job_};
    range.count = tasks;
    range.demand = demand;
    range.placement = placement;
    return range;
  }
  /// The nodes of the grants that follow, in their order.
  std::vector<std::uint32_t> offer(std::vector<WaitingRange> ranges, std::uint32_t tenant = 1) {
    DemandWindow window{.tenant = TenantId{tenant}, .next = std::move(ranges), .pending = {}};
    window.seen_deal = cycle_.last_deal();
    for (const WaitingRange& range : window.next) {
      window.pending_tasks += range.count;
      window.pending += range.demand * Amount{range.count};
    }
    cycle_.take_window(window);
    return run();
  }
  std::vector<std::uint32_t> run() {
    std::vector<std::uint32_t> nodes;
    last_.clear();
    while (cycle_.is_due())
      for (const Deal& deal : cycle_.run(1000, 100'000))
        for (const Grant& grant : deal.grants) {
          nodes.push_back(deal.node.value);
          last_.push_back(grant);
        }
    return nodes;
  }
  [[nodiscard]] const std::vector<Grant>& last() const { return last_; }
  [[nodiscard]] DealCycle& cycle() { return cycle_; }

 private:
  static AllocatorSettings settings(Accounting accounting, std::size_t most_looks_in_vain) {
    AllocatorSettings settings = default_settings();
    settings.accounting = accounting;
    settings.most_looks_in_vain = most_looks_in_vain;
    return settings;
  }
  DealCycle cycle_;
  std::uint64_t last_job_ = 0;
  std::vector<Grant> last_;
};

using Nodes = std::vector<std::uint32_t>;

TEST_CASE("spread, pack and best-fit choose among the nodes with room", "[unit][placement]") {
  Placing placing{GENERATE(Accounting::units, Accounting::time)};
  placing.node(1, cpu(4000));
  placing.node(2, cpu(8000));
  placing.node(3, cpu(4000));
  SECTION("spread: the node that is least full then") {
    CHECK(placing.offer({placing.job(6, cpu(1000), Placement::spread)}) == Nodes{2, 1, 2, 3, 2, 1});
  }
  SECTION("pack: the node that is fullest then") {
    CHECK(placing.offer({placing.job(10, cpu(1000), Placement::pack)}) ==
          Nodes{1, 1, 1, 1, 3, 3, 3, 3, 2, 2});
  }
  SECTION("the first ones by default") {
    CHECK(placing.offer(
              {placing.job(6, cpu(1000), GENERATE(Placement::unset, Placement::in_turn))}) ==
          Nodes{1, 1, 1, 1, 2, 2});
    for (const Grant& grant : placing.last()) CHECK(grant.placement == Placement::unset);
  }
  SECTION("each job by its own rule, and the grant says which") {
    CHECK(placing.offer({placing.job(2, cpu(1000), Placement::pack)}) == Nodes{1, 1});
    CHECK(placing.last().front().placement == Placement::pack);
    CHECK(placing.offer({placing.job(1, cpu(1000), Placement::spread)}) == Nodes{2});
    CHECK(placing.last().front().placement == Placement::spread);
    CHECK(placing.offer({placing.job(1, cpu(1000), Placement::pack)}) == Nodes{1});
  }
}

TEST_CASE("best-fit takes the node whose room is most alike", "[unit][placement]") {
  Placing placing;
  placing.node(1, cpu_memory(8000, 8000));
  placing.node(2, cpu_memory(8000, 32'000));
  placing.node(3, cpu_memory(16'000, 8000));
  CHECK(placing.offer({placing.job(1, cpu_memory(1000, 4000), Placement::best_fit)}) == Nodes{2});
  CHECK(placing.offer({placing.job(1, cpu_memory(2000, 1000), Placement::best_fit)}) == Nodes{3});
  CHECK(placing.offer({placing.job(1, cpu_memory(1000, 1000), Placement::best_fit)}) == Nodes{1});
}

NodeTraits traits(const char* site, bool ssd = false) {
  return {.name = {}, .site = site, .labels = {{"ssd", ssd ? "true" : "false"}}};
}

TEST_CASE("a rule chooses among the allowed nodes, at the first site with room",
          "[unit][placement]") {
  Placing placing{GENERATE(Accounting::units, Accounting::time)};
  placing.node(1, cpu(8000), traits("b", true));
  placing.node(2, cpu(4000), traits("a", true));
  placing.node(3, cpu(4000), traits("a"));
  placing.node(4, cpu(9000), traits("a", true), false);
  auto job = placing.job(6, cpu(1000), Placement::spread);
  SECTION("sites first") {
    job.rule = std::make_shared<PlacementRule>(PlacementRule{{"a", "b"}, {}});
    job.count = 9;
    CHECK(placing.offer({job}) == Nodes{2, 3, 2, 3, 2, 3, 2, 3, 1});
  }
  SECTION("labels") {
    job.rule = std::make_shared<PlacementRule>(
        PlacementRule{{}, std::get<LabelExpression>(LabelExpression::parse("ssd"))});
    CHECK(placing.offer({job}) == Nodes{1, 1, 2, 1, 1, 2});
  }
  SECTION("a node that comes back") {
    placing.node(4, cpu(9000), traits("a", true));
    CHECK(placing.offer({placing.job(1, cpu(1000), Placement::spread)}) == Nodes{4});
    placing.node(4, cpu(9000), traits("a", true), false);
    CHECK(placing.offer({placing.job(1, cpu(1000), Placement::spread)}) == Nodes{1});
  }
}

TEST_CASE("a task that ends makes room for what its rule chooses elsewhere", "[unit][placement]") {
  Placing placing;
  TenantTerms terms;
  terms.max = cpu(2000);
  placing.cycle().allocator().set_tenant(TenantId{1}, terms);
  placing.node(1, cpu(2000));
  placing.node(2, cpu(5000));
  CHECK(placing.offer({placing.job(1, cpu(1000), Placement::unset)}) == Nodes{1});
  CHECK(placing.offer({placing.job(2, cpu(1000), Placement::spread)}) == Nodes{2});
  // The one on node 1 ends, and nothing else is due; node 2 is less full even with both.
  REQUIRE(placing.cycle().release({JobId{1}, 0, 1}));
  placing.cycle().beat(NodeId{1});
  CHECK(placing.run() == Nodes{2});
}

TEST_CASE("a node that is chosen in vain keeps nothing waiting", "[unit][placement]") {
  // Node 2 is fuller, and has room that a larger task gets back when others reach their limits: a
  // task that may run for ever cannot have it.
  const bool may_look_in_vain = GENERATE(true, false);
  Placing placing{Accounting::time,
                  may_look_in_vain ? AllocatorSettings{}.most_looks_in_vain : std::size_t{0}};
  placing.node(2, cpu(4000));
  auto others = placing.job(4, cpu(1000), Placement::unset);
  others.limit_ms = others.expected_ms = 10'000;
  REQUIRE(placing.offer({others}, 2).size() == 4);
  REQUIRE(placing.cycle().release({others.job, 0, 1}));
  auto large = placing.job(1, cpu(3500), Placement::unset);
  large.limit_ms = large.expected_ms = 10'000;
  placing.cycle().beat(NodeId{2});
  REQUIRE(placing.offer({large}).empty());
  REQUIRE(placing.cycle().node(NodeId{2}).reserved_for.value_or(TenantId{}) == TenantId{1});
  placing.node(1, cpu(1500));
  placing.node(3, cpu(1000), {}, false);
  CHECK(placing.offer({large, placing.job(1, cpu(1000), Placement::pack)}) == Nodes{1});
  // Where the cycle may not look in vain the rule has chosen for the last time in it.
  CHECK(placing.last().front().placement ==
        (may_look_in_vain ? Placement::pack : Placement::unset));
}

TEST_CASE("a task goes elsewhere when a place takes the room of the node that was chosen",
          "[unit][placement]") {
  Placing placing{Accounting::time};
  placing.cycle().pass_to(0);
  placing.node(1, cpu(3000), traits("a"));
  placing.node(2, cpu(3000), traits("b"));
  const auto at = [&](const char* site, Amount millicores, LedgerMs limit_ms) {
    auto job = placing.job(1, cpu(millicores), Placement::unset);
    job.rule = std::make_shared<PlacementRule>(PlacementRule{{site}, {}});
    job.limit_ms = job.expected_ms = limit_ms;
    return job;
  };
  REQUIRE(placing.offer({at("a", 2500, 9000), at("b", 1000, 9000), at("b", 1000, 300)}, 2).size() ==
          3);
  placing.cycle().pass_to(2000);
  // Less full, node 2 is chosen; there a late task is expected to start at any moment.
  auto small = placing.job(1, cpu(500), Placement::spread);
  small.limit_ms = small.expected_ms = 600;
  DemandWindow window{.tenant = TenantId{2}, .next = {small}, .pending = small.demand};
  window.pending_tasks = 1;
  window.seen_deal = placing.cycle().last_deal();
  placing.cycle().take_window(window);
  auto late = placing.job(1, cpu(2000), Placement::unset);
  late.limit_ms = late.expected_ms = 3200;
  late.late_in_ms = 0;
  CHECK(placing.offer({late}) == Nodes{1});
}

TEST_CASE("nodes do not leave the same tasks to each other for ever", "[unit][placement]") {
  // Each tenant holds its share. Its first task is as large as what is free of the one node that it
  // may use, and its second one is left to that node.
  Placing placing;
  const auto only_at = [&](const char* site, Amount millicores) {
    auto job = placing.job(1, cpu(millicores), Placement::unset);
    job.rule = std::make_shared<PlacementRule>(PlacementRule{{site}, {}});
    return job;
  };
  for (const std::uint32_t tenant : {1, 2})
    placing.cycle().allocator().set_tenant(TenantId{tenant}, {.may_borrow = false});
  placing.cycle().allocator().set_tenant(TenantId{3}, {.weight = 98});
  placing.node(1, cpu(4000), traits("a"));
  placing.node(2, cpu(4000), traits("b"));
  for (const std::uint32_t tenant : {1, 2})
    REQUIRE(placing.offer({only_at("b", 1000)}, tenant) == Nodes{2});
  const auto packed = placing.job(1, cpu(1000), Placement::pack);
  const auto spread = placing.job(1, cpu(1000), Placement::spread);
  CHECK(placing.offer({only_at("b", 2000), packed}, 1).empty());
  CHECK(placing.offer({only_at("a", 4000), spread}, 2).empty());
  placing.cycle().allocator().set_tenant(TenantId{1}, {});
  CHECK(placing.offer({packed}, 1) == Nodes{2});
  placing.cycle().allocator().set_tenant(TenantId{2}, {});
  CHECK(placing.offer({spread}, 2) == Nodes{1});
}

// -- against a look at every node
// ------------------------------------------------------------------

struct Machine {
  ResourceVector capacity;
  ResourceVector used;
  bool accepts = true;
  std::string site;
  std::vector<ResourceVector> tasks;
};

/// f of Xue, Hu, Xu for the machine with those tasks, in floating point and as it is written.
double naive_f(const Machine& machine, const ResourceVector& totals) {
  double sum = 0, used = 0, capacity = 0;
  for (const ResourceVector& task : machine.tasks) {
    double share = 0;
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (totals[r] > 0)
        share = std::max(share, static_cast<double>(task[r]) / static_cast<double>(totals[r]));
    sum += share;
  }
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    used += static_cast<double>(machine.used[r]);
    capacity += static_cast<double>(machine.capacity[r]);
  }
  return std::pow(sum, used / capacity);
}

double naive_fullness(const Machine& machine, const ResourceVector& demand) {
  double fullest = 0;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (demand[r] > 0)
      fullest =
          std::max(fullest, std::floor(1e6 * static_cast<double>(machine.used[r] + demand[r]) /
                                       static_cast<double>(machine.capacity[r])));
  return fullest;
}

double naive_distance(const Machine& machine, const ResourceVector& demand) {
  std::size_t first = 0;
  while (demand[first] == 0) ++first;
  const ResourceVector free = machine.capacity - machine.used;
  double sum = 0;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    sum += std::abs(static_cast<double>(demand[r]) / static_cast<double>(demand[first]) -
                    static_cast<double>(free[r]) / static_cast<double>(free[first]));
  return sum;
}

/// How good the node is by the rule, the larger the better.
double naive_worth(Placement rule, Machine machine, const ResourceVector& demand,
                   const ResourceVector& totals) {
  if (rule == Placement::best_fit) return -naive_distance(machine, demand);
  if (rule == Placement::spread) return -naive_fullness(machine, demand);
  if (rule == Placement::pack) return naive_fullness(machine, demand);
  machine.used += demand;
  machine.tasks.push_back(demand);
  return naive_f(machine, totals);
}

class NaiveCluster {
 public:
  std::map<std::uint32_t, Machine> machines;

  [[nodiscard]] ResourceVector totals() const {
    ResourceVector sum;
    for (const auto& [id, machine] : machines)
      if (machine.accepts) sum += machine.capacity;
    return sum;
  }
  /// Whether no other node is better by more than rounding, or as good and of a lower id.
  [[nodiscard]] bool is_best(std::uint32_t node, const WaitingRange& task) const {
    const ResourceVector total = totals();
    const std::size_t type = resource_type(task.demand, total);
    const auto rank = [&](const Machine& machine) {
      const auto* rule = task.rule.get();
      const std::size_t site = rule == nullptr || machine.site == rule->sites.front() ? 0 : 2;
      const bool is_of_type = resource_type(machine.capacity, total) == type;
      return site + (task.placement == Placement::gdrf && !is_of_type ? 1 : 0);
    };
    const Machine& chosen = machines.at(node);
    const double worth = naive_worth(task.placement, chosen, task.demand, total);
    for (const auto& [id, machine] : machines) {
      if (id == node || !machine.accepts || !task.demand.fits(machine.capacity - machine.used))
        continue;
      if (rank(machine) != rank(chosen)) {
        if (rank(machine) < rank(chosen)) return false;
        continue;
      }
      const double other = naive_worth(task.placement, machine, task.demand, total);
      const double rounding = 1e-9 * std::abs(worth);
      if (other > worth + rounding) return false;
      if (id < node && other == worth) return false;
    }
    return true;
  }
};

TEST_CASE("a rule's node is the best of all with room", "[property][placement]") {
  std::map<Placement, std::uint64_t> checked;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random{seed};
    const auto draw = [&](std::uint64_t from, std::uint64_t to) {
      return from + random() % (to - from + 1);
    };
    Placing placing{seed % 2 == 0 ? Accounting::units : Accounting::time};
    NaiveCluster naive;
    std::map<JobId, WaitingRange> jobs;
    std::map<TaskKey, std::uint32_t> running;
    const auto set_node = [&](std::uint32_t id, bool accepts) {
      Machine& machine = naive.machines[id];
      machine.accepts = accepts;
      placing.node(id, machine.capacity, traits(machine.site.c_str()), accepts);
    };
    const auto nodes = static_cast<std::uint32_t>(draw(1, 40));
    for (std::uint32_t id = 1; id <= nodes; ++id) {
      naive.machines[id].capacity = cpu_memory(static_cast<Amount>(draw(1, 4)) * 2000,
                                               static_cast<Amount>(draw(1, 4)) * 2048);
      naive.machines[id].site = draw(0, 1) == 0 ? "a" : "b";
      set_node(id, draw(0, 9) > 0);
    }
    for (int step = 0; step < 60; ++step) {
      for (auto ends = draw(0, 6); ends > 0 && !running.empty(); --ends) {
        const auto ended =
            std::next(running.begin(), static_cast<std::ptrdiff_t>(draw(0, running.size() - 1)));
        Machine& machine = naive.machines[ended->second];
        const ResourceVector demand = jobs.at(ended->first.job).demand;
        machine.used -= demand;
        machine.tasks.erase(std::find(machine.tasks.begin(), machine.tasks.end(), demand));
        REQUIRE(placing.cycle().release(ended->first));
        placing.cycle().beat(NodeId{ended->second});
        running.erase(ended);
      }
      if (draw(0, 7) == 0) set_node(static_cast<std::uint32_t>(draw(1, nodes)), draw(0, 2) > 0);
      WaitingRange job = placing.job(
          static_cast<std::uint32_t>(draw(1, 8)),
          cpu_memory(static_cast<Amount>(draw(0, 4)) * 250, static_cast<Amount>(draw(1, 4)) * 256),
          static_cast<Placement>(draw(2, 5)));
      if (draw(0, 2) == 0)
        job.rule = std::make_shared<PlacementRule>(PlacementRule{{"a", "b"}, {}});
      jobs.emplace(job.job, job);
      const auto placed = placing.offer({job});
      for (std::size_t i = 0; i < placed.size(); ++i) {
        const Grant& grant = placing.last()[i];
        const WaitingRange& of = jobs.at(grant.task.job);
        REQUIRE(grant.placement == of.placement);
        REQUIRE(naive.is_best(placed[i], of));
        ++checked[of.placement];
        naive.machines[placed[i]].used += of.demand;
        naive.machines[placed[i]].tasks.push_back(of.demand);
        running.emplace(grant.task, placed[i]);
      }
      (void)placing.offer({});
    }
  }
  for (const auto rule : {Placement::gdrf, Placement::best_fit, Placement::spread, Placement::pack})
    CHECK(checked[rule] > 500);
}

TEST_CASE("gdrf and best-fit place as the commands of that name do", "[property][placement]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random{seed};
    const auto draw = [&](std::uint64_t from, std::uint64_t to) {
      return from + random() % (to - from + 1);
    };
    std::vector<MachineClass> machines;
    for (auto n = draw(1, 12); n > 0; --n)
      machines.push_back({cpu_memory(static_cast<Amount>(draw(1, 8)) * 1000,
                                     static_cast<Amount>(draw(1, 8)) * 1024),
                          1});
    const ClusterUser user{
        cpu_memory(static_cast<Amount>(draw(1, 4)) * 250, static_cast<Amount>(draw(1, 4)) * 256),
        draw(1, 60)};
    const bool is_gdrf = seed % 2 == 0;
    const ClusterFilling filling =
        fill_cluster(is_gdrf ? ClusterPolicy::gdrf : ClusterPolicy::drfh_best_fit, machines,
                     std::span(&user, 1));
    Placing placing;
    NaiveCluster naive;
    for (std::uint32_t id = 1; id <= machines.size(); ++id) {
      naive.machines[id].capacity = machines[id - 1].capacity;
      placing.node(id, machines[id - 1].capacity);
    }
    const auto placed =
        placing.offer({placing.job(static_cast<std::uint32_t>(*user.tasks), user.demand,
                                   is_gdrf ? Placement::gdrf : Placement::best_fit)});
    for (const auto node : placed) {
      naive.machines[node].used += user.demand;
      naive.machines[node].tasks.push_back(user.demand);
    }
    double f = 0;
    for (const auto& [id, machine] : naive.machines)
      if (!machine.tasks.empty()) f += naive_f(machine, naive.totals());
    CHECK(placed.size() == filling.placed.front());
    CHECK(f == Approx(filling.f).epsilon(1e-9));
  }
}

}  // namespace
}  // namespace fairwater::test
