// A cycle deals the nodes that matter only. Against one that deals every node whenever somebody
// waits: the same deals, whatever happens; and where the ledger counts time and there are many
// nodes, nothing that waits is left where it could start. A gang is granted whole in one cycle.
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "policy/allocator/deal_cycle.hpp"
#include "shared_gpus.hpp"

namespace fairwater::test {
namespace {

/// The slow form: who waits makes every node due.
class EveryNode {
 public:
  explicit EveryNode(const AllocatorSettings& settings) : allocator(settings) {}

  void set_node(NodeId node, const NodeTraits& traits, const ResourceVector& capacity,
                bool accepts) {
    allocator.set_node(node, traits, capacity, accepts);
    if (accepts) {
      accepting_.insert(node);
    } else {
      accepting_.erase(node);
      due_.erase(node);
    }
  }
  void beat(NodeId node) {
    if (accepting_.contains(node)) due_.insert(node);
  }
  void take_window(DemandWindow window) {
    window.seen_deal = std::min(window.seen_deal, allocator.last_deal());  // where one twin rests
    allocator.set_window(window);
    if (!window.next.empty()) all_are_due_ = true;
  }
  void consider_all_nodes() { all_are_due_ = true; }
  std::vector<Deal> run(std::size_t max_deals, std::size_t max_entries) {
    std::vector<Deal> deals;
    std::size_t entries = 0;
    if (std::exchange(all_are_due_, false)) due_ = accepting_;
    std::set<NodeId> left_work;
    std::set<NodeId> left_to_chosen;
    allocator.forget_gang_plans();
    allocator.begin_choices();
    const auto deal_node = [&](NodeId node) {
      auto deal = allocator.deal(node);
      if (!deal) return;
      entries += deal->entries();
      deals.push_back(std::move(*deal));
    };
    for (const bool is_first_turn : {true, false}) {
      while (!due_.empty() && deals.size() < max_deals && entries < max_entries) {
        const NodeId node = due_.extract(due_.begin()).value();
        deal_node(node);
        if (is_first_turn && allocator.left_to_preferred()) left_work.insert(node);
        due_.insert(allocator.chosen_next().begin(), allocator.chosen_next().end());
        if (allocator.left_to_chosen()) left_to_chosen.insert(node);
        if (allocator.gave_up_choosing()) due_.merge(std::exchange(left_to_chosen, {}));
        if (!allocator.placed_gang()) continue;
        while (const auto next = allocator.next_of_gang()) deal_node(*next);
        due_.insert(node);
      }
      due_.merge(left_work);
    }
    return deals;
  }

  Allocator allocator;

 private:
  std::set<NodeId> accepting_;
  std::set<NodeId> due_;
  bool all_are_due_ = false;
};

/// Whoever drives nodes by cycles, with events as they come.
template <class Cycle>
Allocator& allocator_of(Cycle& cycle) {
  if constexpr (std::is_same_v<Cycle, DealCycle>)
    return cycle.allocator();
  else
    return cycle.allocator;
}

struct Node {
  ResourceVector capacity;
  NodeTraits traits;
  bool accepts = true;
};

class TwinCycles {
 public:
  TwinCycles(std::uint64_t seed, Accounting accounting, std::uint32_t nodes,
             PlaceCare care = PlaceCare::bounded, bool share_gpus = false)
      : random_(seed),
        share_gpus_(share_gpus),
        fast_(Allocator(settings(accounting, share_gpus))),
        slow_(settings(accounting, share_gpus)) {
    fast_.set_care(care);
    const std::uint64_t count = draw(2, 14);
    for (std::uint32_t id = 1; id <= count; ++id) {
      tenants_[id];
      set_terms(id);
    }
    for (std::uint32_t id = 1; id <= nodes; ++id) {
      NodeTraits traits;
      traits.site = one_in(2) ? "a" : "b";
      nodes_[id] = {amounts(2, 8), traits};
      if (share_gpus) give_gpus(nodes_[id], draw(0, 4));
      set_node(id, true);
    }
  }

  void step() {
    if (one_in(2)) {
      end_some();
    } else if (one_in(2)) {
      submit(any_tenant());
    } else if (one_in(2)) {
      send_window(any_tenant());
    } else if (one_in(2)) {
      both([&, node = any_node()](auto& cycle) { cycle.beat(NodeId{node}); });
    } else if (one_in(4)) {
      set_node(any_node(), one_in(2));
    } else if (one_in(2)) {
      withdraw(any_tenant());
    } else if (one_in(2)) {
      set_terms(any_tenant());
    } else {
      both([](auto& cycle) { cycle.consider_all_nodes(); });
    }
    pass_time();
  }

  /// Whether both made the same deals.
  [[nodiscard]] bool run() {
    const bool is_short = one_in(3);
    const std::size_t most_deals = is_short ? draw(1, 3) : 1000;
    const std::size_t most_entries = is_short ? draw(1, 20) : 100'000;
    const std::vector<Deal> deals = fast_.run(most_deals, most_entries);
    const bool are_same = slow_.run(most_deals, most_entries) == deals;
    take(deals);
    return are_same;
  }
  /// The fast one alone, until nothing is due.
  void run_fast() {
    while (fast_.is_due()) take(fast_.run(1000, 100'000));
  }
  /// Everybody says once more what waits, until nobody starts anything.
  void run_dry() {
    for (std::uint64_t before = grants_ + 1; std::exchange(before, grants_) != grants_;) {
      for (const auto& [id, queue] : tenants_) send_window(id);
      run_fast();
    }
  }
  /// Nothing that waits could start anywhere.
  [[nodiscard]] bool leaves_nothing() const {
    for (const auto& [id, node] : nodes_) {
      if (!node.accepts) continue;
      Allocator copy = fast_.allocator();
      if (const auto deal = copy.deal(NodeId{id}); deal && !deal->grants.empty()) return false;
    }
    return true;
  }
  /// A deal that is to be quick grants what another does.
  [[nodiscard]] bool grants_as_quickly() {
    const NodeId node{any_node()};
    Allocator copy = fast_.allocator();
    Allocator quick = fast_.allocator();
    const auto deal = copy.deal(node);
    const auto quick_deal = quick.deal(node, false);
    return (deal ? deal->grants : std::vector<Grant>{}) ==
           (quick_deal ? quick_deal->grants : std::vector<Grant>{});
  }
  [[nodiscard]] std::uint64_t grants() const { return grants_; }
  /// That started.
  [[nodiscard]] std::uint64_t gangs() const { return gangs_; }

 private:
  static AllocatorSettings settings(Accounting accounting, bool share_gpus) {
    AllocatorSettings settings = share_gpus ? gpus::sharing() : default_settings();
    settings.accounting = accounting;
    return settings;
  }
  std::uint64_t draw(std::uint64_t from, std::uint64_t to) {
    return from + random_() % (to - from + 1);
  }
  bool one_in(std::uint64_t n) { return random_() % n == 0; }
  std::uint32_t any_tenant() { return static_cast<std::uint32_t>(draw(1, tenants_.size())); }
  std::uint32_t any_node() { return static_cast<std::uint32_t>(draw(1, nodes_.size())); }
  ResourceVector amounts(std::uint64_t from, std::uint64_t to) {
    return cpu_memory(static_cast<Amount>(draw(from, to)) * 500,
                      static_cast<Amount>(draw(from, to)) * 512);
  }
  static void give_gpus(Node& node, std::size_t count) {
    if (count == 0) return;
    node.traits.devices = gpus::node_sharing(count).devices;
    node.capacity[gpus::kGpuMilli] = static_cast<Amount>(count) * kMilliPerGpu;
    node.capacity[kCpu] += 4000;
  }
  template <class Event>
  void both(Event&& event) {
    event(fast_);
    event(slow_);
  }

  void set_node(std::uint32_t id, bool accepts) {
    Node& node = nodes_[id];
    node.accepts = accepts;
    both([&](auto& cycle) {
      cycle.set_node(NodeId{id}, node.traits, node.capacity, accepts);
      cycle.beat(NodeId{id});
    });
  }
  void set_terms(std::uint32_t id) {
    TenantTerms terms;
    terms.weight = static_cast<Weight>(draw(1, 9));
    if (one_in(4)) terms.min = cpu(static_cast<Amount>(draw(1, 4)) * 500);
    if (one_in(4)) terms.max = cpu_memory(static_cast<Amount>(draw(4, 12)) * 1000, 16'384);
    terms.may_lend = !one_in(5);
    terms.may_borrow = !one_in(5);
    if (one_in(6)) {
      terms.place = place_of(terms);
      terms.place->own_weights[kMemory] = static_cast<Weight>(draw(1, 9));
    }
    both([&](auto& cycle) {
      allocator_of(cycle).set_tenant(TenantId{id}, terms);
      cycle.consider_all_nodes();
    });
  }
  void submit(std::uint32_t tenant) {
    WaitingRange range;
    range.job = JobId{++last_job_};
    range.count = static_cast<std::uint32_t>(draw(1, 12));
    range.demand = one_in(4) ? amounts(3, 8) : amounts(0, 3);
    if (one_in(4))
      range.rule = std::make_shared<PlacementRule>(PlacementRule{
          one_in(2) ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"}, {}});
    range.expected_ms = range.limit_ms = static_cast<std::int64_t>(draw(0, 5)) * 1000;
    range.late_in_ms = one_in(3) ? static_cast<std::int64_t>(draw(0, 9000)) : kNeverLate;
    range.is_gang = one_in(4);
    if (one_in(2)) range.placement = static_cast<Placement>(draw(0, 5));
    if (share_gpus_ && !range.is_gang && !one_in(4))
      range.demand[gpus::kGpuMilli] = one_in(4) ? kMilliPerGpu * static_cast<Amount>(draw(1, 2))
                                                : static_cast<Amount>(draw(1, 999));
    tenants_[tenant].push_back(range);
    send_window(tenant);
  }
  void send_window(std::uint32_t tenant) {
    DemandWindow window{.tenant = TenantId{tenant}, .next = {}, .pending = {}};
    for (const WaitingRange& range : tenants_[tenant]) {
      window.next.push_back(range);
      window.pending_tasks += range.count;
      for (std::size_t r = 0; r < kMaxResources; ++r)
        window.pending[r] += range.demand[r] * range.count;
    }
    window.seen_deal = fast_.last_deal();
    both([&](auto& cycle) { cycle.take_window(window); });
  }
  void withdraw(std::uint32_t tenant) {
    auto& queue = tenants_[tenant];
    if (queue.empty()) return;
    const JobId job = queue[draw(0, queue.size() - 1)].job;
    std::erase_if(queue, [&](const WaitingRange& range) { return range.job == job; });
    both([&](auto& cycle) { allocator_of(cycle).withdraw(TenantId{tenant}, job); });
  }
  void end_some() {
    for (std::uint64_t i = draw(1, 3); i > 0 && !running_.empty(); --i) {
      auto ended =
          std::next(running_.begin(), static_cast<std::ptrdiff_t>(draw(0, running_.size() - 1)));
      both([&](auto& cycle) {
        allocator_of(cycle).release(ended->first);
        cycle.beat(ended->second);
      });
      running_.erase(ended);
    }
  }
  void pass_time() {
    now_ms_ += static_cast<LedgerMs>(draw(0, 400));
    both([&](auto& cycle) { allocator_of(cycle).pass_to(now_ms_); });
    if (!one_in(5)) return;
    (void)fast_.settle_time();
    (void)slow_.allocator.settle_time();
  }
  void take(const std::vector<Deal>& deals) {
    std::map<JobId, std::uint32_t> left;  ///< of gangs that began
    for (const Deal& deal : deals)
      for (const Grant& grant : deal.grants) {
        ++grants_;
        running_.emplace(grant.task, deal.node);
        auto& queue = tenants_[grant.tenant.value];
        for (WaitingRange& range : queue) {
          if (range.job != grant.task.job) continue;
          if (range.is_gang) left.emplace(range.job, range.count).first->second--;
          ++range.first_index;
          --range.count;
        }
        std::erase_if(queue, [](const WaitingRange& range) { return range.count == 0; });
      }
    for (const auto& [job, tasks] : left) REQUIRE(tasks == 0);
    gangs_ += left.size();
  }

  std::mt19937_64 random_;
  bool share_gpus_;
  DealCycle fast_;
  EveryNode slow_;
  std::map<std::uint32_t, std::vector<WaitingRange>> tenants_;
  std::map<std::uint32_t, Node> nodes_;
  std::map<TaskKey, NodeId> running_;
  std::uint64_t last_job_ = 0;
  std::uint64_t grants_ = 0;
  std::uint64_t gangs_ = 0;
  LedgerMs now_ms_ = 0;
};

TEST_CASE("a cycle makes the deals that one of all nodes makes", "[property][allocator]") {
  const auto accounting = GENERATE(Accounting::units, Accounting::time);
  std::uint64_t grants = 0;
  std::uint64_t gangs = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO(to_string(accounting) << ", seed " << seed);
    const std::uint32_t nodes = 1 + static_cast<std::uint32_t>(seed * 7 % 70);
    TwinCycles twins(seed, accounting, nodes,
                     nodes > 32 ? PlaceCare::thorough : PlaceCare::bounded);
    for (int i = 0; i < 150; ++i) {
      twins.step();
      if (i % 3 == 0) REQUIRE(twins.run());
    }
    grants += twins.grants();
    gangs += twins.gangs();
  }
  CHECK(grants > 5000);
  CHECK(gangs > 100);
}

TEST_CASE("where tasks share GPUs a cycle makes the deals that one of all nodes makes",
          "[property][allocator][shares]") {
  const auto accounting = GENERATE(Accounting::units, Accounting::time);
  std::uint64_t grants = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO(to_string(accounting) << ", seed " << seed);
    const std::uint32_t nodes = 1 + static_cast<std::uint32_t>(seed * 7 % 50);
    TwinCycles twins(seed, accounting, nodes, nodes > 32 ? PlaceCare::thorough : PlaceCare::bounded,
                     true);
    for (int i = 0; i < 120; ++i) {
      twins.step();
      if (i % 3 == 0) REQUIRE(twins.run());
    }
    grants += twins.grants();
  }
  CHECK(grants > 2000);
}

TEST_CASE("among many nodes a cycle leaves nothing that could start", "[property][allocator]") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    INFO("seed " << seed);
    TwinCycles twins(seed, Accounting::time, 50, PlaceCare::bounded, seed % 3 == 0);
    for (int i = 0; i < 200; ++i) {
      twins.step();
      REQUIRE(twins.grants_as_quickly());
      twins.run_fast();
      if (i % 20 != 0) continue;
      twins.run_dry();
      REQUIRE(twins.leaves_nothing());
    }
    CHECK(twins.grants() > 100);
  }
}

}  // namespace
}  // namespace fairwater::test
