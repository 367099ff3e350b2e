// GPUs that tasks share: in one cycle nodes are chosen for so many demands, those that are looked
// at first, and never for more. Against a cycle that chooses for all of them.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "policy/allocator/deal_cycle.hpp"
#include "policy/allocator/state.hpp"
#include "shared_gpus.hpp"

namespace fairwater::test::gpus {
namespace {

constexpr std::uint64_t kBound = 64;

/// A task of a job of that number, whose demand no other asks for.
WaitingRange task_of(std::uint64_t number, Placement placement = kByOffer) {
  WaitingRange range;
  range.job = JobId{number};
  range.demand = share(static_cast<Amount>(1 + number % 999));
  range.placement = placement;
  return range;
}

/// Of which tasks that take shares, in that order, a rule chooses the nodes.
std::vector<std::uint64_t> chosen_of(AllocatorState& state, std::uint64_t first, std::uint64_t last,
                                     Placement placement = kByOffer) {
  std::vector<std::uint64_t> chosen;
  const TenantState& tenant = state.tenant(TenantId{1});
  for (std::uint64_t number = first; number <= last; ++number)
    if (state.choose_node(tenant, task_of(number, placement))) chosen.push_back(number);
  return chosen;
}

std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> all;
  for (; first <= last; ++first) all.push_back(first);
  return all;
}

/// What is told of a grant: which task, where, and with which GPUs.
struct Told {
  TaskKey task;
  NodeId node;
  ResourceVector demand;
  Names devices;
  friend bool operator==(const Told&, const Told&) = default;
};

std::vector<Told> told(const std::vector<Deal>& deals) {
  std::vector<Told> all;
  for (const Deal& deal : deals)
    for (const Grant& grant : deal.grants)
      all.push_back({grant.task, deal.node, grant.demand, grant.devices});
  return all;
}

using Demands = std::set<std::array<Amount, kMaxResources>>;

/// In the order of the window, those that come before the `count + 1`st demand.
std::vector<Told> before_demand(std::vector<Told> grants, std::size_t count) {
  Demands demands;
  std::sort(grants.begin(), grants.end(),
            [](const Told& a, const Told& b) { return a.task < b.task; });
  const auto end = std::find_if(grants.begin(), grants.end(), [&](const Told& grant) {
    demands.insert(grant.demand.amount);
    return demands.size() > count;
  });
  return {grants.begin(), end};
}

/// A cluster that is dealt twice, by a cycle that chooses for so many demands and by one that does
/// for all.
class TwinChoices {
 public:
  TwinChoices(std::uint64_t seed, AllocatorSettings settings, std::size_t bound,
              std::uint32_t nodes, std::uint32_t tenants)
      : random_(seed),
        bounded_(Allocator(with_bound(settings, bound))),
        unbounded_(Allocator(with_bound(settings, std::numeric_limits<std::size_t>::max()))) {
    for (std::uint32_t id = 1; id <= tenants; ++id) {
      TenantTerms terms;
      terms.weight = static_cast<Weight>(draw(1, 9));
      both([&](DealCycle& cycle) { cycle.set_tenant(TenantId{id}, terms); });
      waiting_[TenantId{id}];
    }
    for (std::uint32_t id = 1; id <= nodes; ++id) {
      const std::size_t gpus = draw(2, 8);
      ResourceVector capacity = capacity_of(gpus);
      capacity[kCpu] = 64'000;
      both([&](DealCycle& cycle) {
        cycle.set_node(NodeId{id}, node_sharing(gpus, "node" + std::to_string(id)), capacity, true);
      });
    }
  }

  std::uint64_t draw(std::uint64_t from, std::uint64_t to) {
    return from + random_() % (to - from + 1);
  }
  void submit(const ResourceVector& demand, std::uint32_t tasks,
              Placement placement = Placement::unset) {
    WaitingRange range;
    range.job = JobId{++last_job_};
    range.count = tasks;
    range.demand = demand;
    range.placement = placement;
    range.limit_ms = range.expected_ms = static_cast<std::int64_t>(draw(1, 9)) * 1000;
    waiting_[TenantId{static_cast<std::uint32_t>(draw(1, waiting_.size()))}].push_back(range);
  }
  [[nodiscard]] std::size_t waiting_demands() const {
    Demands demands;
    for (const auto& [tenant, ranges] : waiting_)
      for (const WaitingRange& range : ranges) demands.insert(range.demand.amount);
    return demands.size();
  }
  void end_some() {
    for (std::uint64_t i = draw(0, 6); i > 0 && !running_.empty(); --i) {
      const auto ended =
          std::next(running_.begin(), static_cast<std::ptrdiff_t>(draw(0, running_.size() - 1)));
      both([&](DealCycle& cycle) {
        REQUIRE(cycle.release(ended->first));
        cycle.beat(ended->second);
      });
      running_.erase(ended);
    }
    now_ms_ += static_cast<LedgerMs>(draw(0, 900));
    both([&](DealCycle& cycle) {
      cycle.pass_to(now_ms_);
      (void)cycle.settle_time();
    });
  }
  /// One cycle of both. Where they differ the cluster goes on as the bounded one's.
  std::pair<std::vector<Told>, std::vector<Told>> run() {
    for (const auto& [tenant, ranges] : waiting_) {
      DemandWindow window{.tenant = tenant, .next = ranges, .pending = {}};
      for (const WaitingRange& range : ranges) {
        window.pending += range.demand * Amount{range.count};
        window.pending_tasks += range.count;
      }
      both([&](DealCycle& cycle) {
        window.seen_deal = cycle.last_deal();
        cycle.take_window(window);
      });
    }
    const std::vector<Told> bounded = told(bounded_.run(100'000));
    for (const Told& grant : bounded) note(grant);
    return {bounded, told(unbounded_.run(100'000))};
  }
  [[nodiscard]] bool somebody_waits() const {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [](const auto& entry) { return !entry.second.empty(); });
  }

 private:
  static AllocatorSettings with_bound(AllocatorSettings settings, std::size_t bound) {
    settings.most_chosen_demands = bound;
    settings.most_kept_nodes = 0;
    return settings;
  }
  template <class Event>
  void both(Event&& event) {
    event(bounded_);
    event(unbounded_);
  }
  void note(const Told& grant) {
    REQUIRE(running_.emplace(grant.task, grant.node).second);
    for (auto& [tenant, ranges] : waiting_) {
      for (WaitingRange& range : ranges) {
        if (range.job != grant.task.job) continue;
        ++range.first_index;
        --range.count;
      }
      std::erase_if(ranges, [](const WaitingRange& range) { return range.count == 0; });
    }
  }

  std::mt19937_64 random_;
  DealCycle bounded_;
  DealCycle unbounded_;
  std::map<TenantId, std::vector<WaitingRange>> waiting_;
  std::map<TaskKey, NodeId> running_;
  std::uint64_t last_job_ = 0;
  LedgerMs now_ms_ = 0;
};

}  // namespace

TEST_CASE("in one cycle nodes are chosen for the first 64 demands of shares, and for no other",
          "[unit][devices][shares]") {
  AllocatorState state(sharing());
  state.set_tenant(TenantId{1}, {});
  state.set_node(NodeId{1}, node_sharing(2), capacity_of(2), true);
  state.choices().forget_refusals();
  CHECK(chosen_of(state, 1, 200) == numbers(1, kBound));
  // Who was looked at stays so until the cycle ends, and who was not stays out.
  CHECK(chosen_of(state, 1, 200) == numbers(1, kBound));
  state.choices().forget_refusals();
  CHECK(chosen_of(state, 101, 200) == numbers(101, 100 + kBound));
  state.choices().forget_refusals();
  // Those that are known from before count as well.
  CHECK(chosen_of(state, 121, 140) == numbers(121, 140));
  CHECK(chosen_of(state, 1, 200) == [] {
    auto all = numbers(1, kBound - 20);
    const auto known = numbers(121, 140);
    all.insert(all.end(), known.begin(), known.end());
    return all;
  }());
  // Whose node a job or tenant wants chosen has it chosen, however many they are.
  CHECK(chosen_of(state, 201, 400, Placement::pack) == numbers(201, 400));
}

TEST_CASE(
    "a node that did not take a task is passed over, however many demands are looked at since",
    "[unit][placement]") {
  AllocatorSettings settings = sharing();
  settings.most_chosen_demands = 2;
  settings.most_kept_nodes = 0;
  AllocatorState state(settings);
  state.set_tenant(TenantId{1}, {});
  const std::uint32_t nodes = kMostRefusals + 2;
  for (std::uint32_t id = 1; id <= nodes; ++id)
    state.set_node(NodeId{id}, node_sharing(2), capacity_of(2), true);
  const TenantState& tenant = state.tenant(TenantId{1});
  const WaitingRange task = task_of(1, Placement::pack);
  NodeChoices& choices = state.choices();
  choices.forget_refusals();
  for (std::uint32_t id = 1; id <= kMostRefusals; ++id) {
    CHECK(state.choose_node(tenant, task) == NodeId{id});
    choices.refuse(NodeId{id}, task);
    CHECK(chosen_of(state, 100 * id, 100 * id + 4, Placement::pack).size() == 5);
  }
  CHECK_FALSE(state.choose_node(tenant, task));
  // One more, by another tenant's task that goes to the same nodes, changes nothing.
  choices.refuse(NodeId{kMostRefusals + 1}, task);
  CHECK_FALSE(state.choose_node(tenant, task));
  choices.forget_refusals();
  CHECK(state.choose_node(tenant, task) == NodeId{1});
}

TEST_CASE("rules that were stopped choose nothing until the next cycle", "[unit][placement]") {
  AllocatorState state(sharing());
  state.set_tenant(TenantId{1}, {});
  state.set_node(NodeId{1}, node_sharing(2), capacity_of(2), true);
  const WaitingRange task = task_of(1, Placement::pack);
  CHECK(state.choose_node(state.tenant(TenantId{1}), task) == NodeId{1});
  CHECK(state.choices().stop());
  CHECK_FALSE(state.choices().stop());
  CHECK_FALSE(state.choose_node(state.tenant(TenantId{1}), task));
  state.choices().forget_refusals();
  CHECK(state.choose_node(state.tenant(TenantId{1}), task) == NodeId{1});
}

TEST_CASE("a demand is a look at all nodes once, while those of all demands are few enough",
          "[unit][placement]") {
  const auto looks = [](std::size_t most_kept_nodes, std::uint64_t demands) {
    AllocatorSettings settings = sharing();
    settings.most_kept_nodes = most_kept_nodes;
    AllocatorState state(settings);
    state.set_tenant(TenantId{1}, {});
    for (std::uint32_t id = 1; id <= 4; ++id)
      state.set_node(NodeId{id}, node_sharing(2), capacity_of(2), true);
    for (int cycle = 0; cycle < 2; ++cycle) {
      state.choices().forget_refusals();
      for (int look = 0; look < 3; ++look)
        CHECK(chosen_of(state, 1, demands, Placement::pack) == numbers(1, demands));
    }
    return state.choices().looks_at_all();
  };
  CHECK(looks(AllocatorSettings{}.most_kept_nodes, 500) == 500);
  // Four nodes have room for each. Those beyond drive out nothing that the cycle asks for again.
  CHECK(looks(400, 100) == 100);
  CHECK(looks(400, 105) == 100 + 2 * 3 * 5);
  // So many are kept however many nodes they have.
  CHECK(looks(0, kBound) == kBound);
  CHECK(looks(0, kBound + 1) == kBound + 2 * 3);
}

TEST_CASE("placement rules choose the same nodes whether their orders are kept or not",
          "[property][placement]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    TwinChoices twins(seed, sharing(), 8, 24, 5);
    const Placement rule = std::array{Placement::gdrf, Placement::best_fit, Placement::spread,
                                      Placement::pack}[seed % 4];
    for (int cycle = 0; cycle < 12; ++cycle) {
      for (std::uint64_t jobs = twins.draw(0, 40); jobs > 0; --jobs)
        twins.submit(share(0, static_cast<Amount>(twins.draw(1, 900)) * 10),
                     static_cast<std::uint32_t>(twins.draw(1, 2)), rule);
      const auto [few, all] = twins.run();
      REQUIRE(few == all);
      twins.end_some();
    }
  }
}

TEST_CASE("before a 65th demand is looked at, deals are those that choose for all demands",
          "[property][devices][shares]") {
  std::size_t fewest_alike = std::numeric_limits<std::size_t>::max();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    // By dominant shares a tenant's demands are looked at in their order, and here all have room.
    TwinChoices twins(seed, sharing(Accounting::units, AllocationRule::drf), kBound, 24, 1);
    std::set<std::pair<Amount, Amount>> demands;
    while (demands.size() < 120) {
      const Amount milli =
          twins.draw(0, 9) == 0 ? kMilliPerGpu : static_cast<Amount>(twins.draw(1, 600));
      demands.emplace(milli, static_cast<Amount>(twins.draw(1, 40)) * 10);
    }
    for (const auto& [milli, millicores] : demands)
      twins.submit(share(milli, millicores), static_cast<std::uint32_t>(twins.draw(1, 2)));
    REQUIRE(twins.waiting_demands() == demands.size());
    const auto [bounded, unbounded] = twins.run();
    REQUIRE_FALSE(twins.somebody_waits());
    REQUIRE(bounded.size() == unbounded.size());
    REQUIRE(before_demand(bounded, kBound) == before_demand(unbounded, kBound));
    for (std::size_t count = kBound + 1; count <= demands.size(); ++count)
      if (before_demand(bounded, count) != before_demand(unbounded, count)) {
        fewest_alike = std::min(fewest_alike, count - 1);
        break;
      }
  }
  // And not one more.
  CHECK(fewest_alike == kBound);
}

TEST_CASE("as many demands as nodes are chosen for in a cycle are dealt as if there were no bound",
          "[property][devices][shares]") {
  std::size_t grants = 0;
  std::size_t others = 0;  // beyond the bound, they may be
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    const auto accounting = seed % 2 == 0 ? Accounting::units : Accounting::time;
    const auto rule = seed % 5 == 0 ? AllocationRule::drf : AllocationRule::sequence;
    for (const bool is_beyond : {false, true}) {
      const std::size_t bound = 2 + seed % 7;
      TwinChoices twins(seed,
                        sharing(rule == AllocationRule::drf ? Accounting::units : accounting, rule),
                        bound, 6, 3);
      const std::size_t most = is_beyond ? bound + 4 : bound;
      for (int step = 0; step < 25; ++step) {
        for (std::uint64_t jobs = twins.draw(0, 4); jobs > 0 && twins.waiting_demands() < most;
             --jobs)
          twins.submit(share(static_cast<Amount>(twins.draw(1, 999)),
                             static_cast<Amount>(twins.draw(1, 9)) * 100),
                       static_cast<std::uint32_t>(twins.draw(1, 4)));
        twins.end_some();
        const auto [bounded, unbounded] = twins.run();
        grants += bounded.size();
        if (!is_beyond) {
          REQUIRE(bounded == unbounded);
        } else if (bounded != unbounded) {
          ++others;
          break;
        }
      }
    }
  }
  CHECK(grants > 1000);
  CHECK(others > 10);
}

}  // namespace fairwater::test::gpus
