// A tree of tenants that changes while work runs: an allocator that was told of every change deals
// as one that is restored from the last state, which is what a restart makes of it.
#include <algorithm>
#include <map>

#include "allocator_cluster.hpp"
#include "policy/quota/tree_weights.hpp"
#include "tests/policy/property.hpp"

namespace fairwater::test {
namespace {

constexpr std::uint32_t kTreeTenants = 8;
constexpr std::uint32_t kTreeNodes = 3;

struct ToldTenant {
  std::uint32_t parent = 0;
  Weight weight = 1;
  Weight memory_weight = 0;  ///< 0: none of its own
  Amount max = kUnlimited;
  bool may_borrow = true;
};

/// By id. Whoever is in another has the higher id.
using Told = std::map<std::uint32_t, ToldTenant>;

bool has_children(const Told& told, std::uint32_t id) {
  return std::any_of(told.begin(), told.end(),
                     [&](const auto& other) { return other.second.parent == id; });
}

std::vector<TenantId> leaves_below(const Told& told, std::uint32_t id) {
  std::vector<TenantId> found;
  for (const auto& [other, tenant] : told) {
    if (has_children(told, other)) continue;
    for (std::uint32_t at = other; at != 0; at = told.at(at).parent)
      if (at == id) found.push_back(TenantId{other});
  }
  return found;
}

TenantTree tree_told(const Told& told) {
  TenantTree tree;
  std::map<std::uint32_t, std::uint32_t> numbers{{0, 0}};
  std::vector<PlacedWeight> groups, members;
  for (const auto& [id, tenant] : told) {
    QuotaPlace place{.group = GroupId{tenant.parent}, .weight = tenant.weight};
    place.own_weights[kMemory] = tenant.memory_weight;
    const PlacedWeight placed{numbers.at(tenant.parent), tenant.weight};
    if (has_children(told, id)) {
      numbers.emplace(id, static_cast<std::uint32_t>(numbers.size()));
      groups.push_back(placed);
      tree.groups.push_back(
          {GroupId{id}, {.place = place, .max = cpu_memory(tenant.max, tenant.max)}});
    } else {
      members.push_back(placed);
      TenantTerms terms{.weight = tenant.weight, .may_borrow = tenant.may_borrow, .place = place};
      terms.max = cpu_memory(tenant.max, tenant.max);
      tree.tenants.push_back({TenantId{id}, terms});
    }
  }
  const auto weights = tree_weights(groups, members);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    TenantTerms& terms = tree.tenants[i].terms;
    if (!groups.empty())
      terms.weight = weights[i];
    else if (terms.place->own_weights == ResourceWeights{})
      terms.place.reset();
  }
  return tree;
}

class ChangingTree {
 public:
  explicit ChangingTree(const AllocatorSettings& settings)
      : settings_(settings), allocator_(settings) {
    for (std::uint32_t node = 1; node <= kTreeNodes; ++node)
      allocator_.set_node(NodeId{node}, {}, cpu_memory(4000, 4000), true);
  }

  void step() {
    switch (draw(0, 7)) {
      case 0:
      case 1:
        return change();
      case 2:
        return remove();
      case 3:
        return release();
      case 4:
        return pass();
      case 5:
        return window();
      default:
        return deal();
    }
  }

  /// Compares with an allocator that knows the present alone, then lets both deal.
  void check() const {
    Allocator again(settings_);
    again.set_tree(tree_told(told_), {});
    again.restore(allocator_.accounts().snapshot());
    for (std::uint32_t node = 1; node <= kTreeNodes; ++node)
      again.set_node(NodeId{node}, {}, cpu_memory(4000, 4000), true);
    std::vector<HeldTask> held;
    for (const auto& [key, task] : held_) held.push_back(task);
    again.restore_held(held);
    again.restore_last_deal(allocator_.last_deal());
    Allocator now = allocator_;
    for (const auto& [id, told] : told_) {
      if (has_children(told_, id)) continue;
      const DemandWindow wanted = window_of(id);
      now.set_window(wanted);
      again.set_window(wanted);
    }
    RC_ASSERT(now.accounts().snapshot() == again.accounts().snapshot());
    for (Allocator* allocator : {&now, &again}) allocator->pass_to(now_ms_ + 1);
    for (const auto& [id, told] : told_) {
      if (has_children(told_, id)) continue;
      const TenantView one = now.tenant(TenantId{id}), other = again.tenant(TenantId{id});
      RC_ASSERT(one.quota == other.quota);
      RC_ASSERT(one.request == other.request);
      RC_ASSERT(one.used == other.used);
      RC_ASSERT(one.net == other.net);
      RC_ASSERT(one.deficit == other.deficit);
      // Before the first settlement a snapshot does not say of what time is counted.
      if (allocator_.accounts().time().settled_ms() > 0) RC_ASSERT(one.part == other.part);
    }
    if (settings_.accounting == Accounting::time) return;  // a restart gives places anew
    for (std::uint32_t node = 1; node <= kTreeNodes; ++node)
      RC_ASSERT(now.deal(NodeId{node}) == again.deal(NodeId{node}));
  }

 private:
  /// Adds, changes or moves a few.
  void change() {
    Told next = told_;
    const int changes = draw(1, 3);
    for (int i = 0; i < changes; ++i) {
      const auto id = draw(1U, kTreeTenants);
      ToldTenant& tenant = next[id];
      const auto parent = draw(0U, id - 1);
      tenant.parent = next.contains(parent) ? parent : 0;
      tenant.weight = draw<Weight>(1, 5);
      tenant.memory_weight = std::max<Weight>(0, draw<Weight>(-5, 5));
      tenant.max = draw(0, 3) == 0 ? draw<Amount>(1, 60) * 100 : kUnlimited;
      tenant.may_borrow = draw(0, 4) > 0;
    }
    settle();
    std::vector<Accounts::Division> divided;
    for (const auto& [id, tenant] : told_) {
      if (has_children(told_, id) || !has_children(next, id)) continue;
      const TenantView view = allocator_.tenant(TenantId{id});
      if (view.running_tasks > 0 || view.net < 0) return;
      divided.push_back({TenantId{id}, leaves_below(next, id)});
    }
    const Units others = sum_of_nets();
    allocator_.set_tree(tree_told(next), divided);
    told_ = next;
    RC_ASSERT(sum_of_nets() == others);
    for (const auto& division : divided) waiting_.erase(division.tenant.value);
  }

  void remove() {
    settle();
    for (const auto& [id, tenant] : told_) {
      if (has_children(told_, id)) continue;
      const TenantView view = allocator_.tenant(TenantId{id});
      if (view.running_tasks > 0 || view.net < 0) continue;
      (void)allocator_.remove_tenant(TenantId{id});
      waiting_.erase(id);
      told_.erase(id);
      allocator_.set_tree(tree_told(told_), {});
      return;
    }
  }

  void settle() { (void)allocator_.settle_time(); }

  void pass() {
    now_ms_ += draw(1, 3000);
    allocator_.pass_to(now_ms_);
    settle();
  }

  void release() {
    if (held_.empty()) return;
    auto task = held_.begin();
    std::advance(task, draw<std::size_t>(0, held_.size() - 1));
    RC_ASSERT(allocator_.release(task->first));
    held_.erase(task);
  }

  void window() {
    for (const auto& [id, tenant] : told_) {
      if (has_children(told_, id) || draw(0, 1) == 0) continue;
      const auto count = draw(0U, 12U);
      waiting_[id] = {.job = JobId{++jobs_},
                      .count = count,
                      .demand = cpu_memory(draw<Amount>(1, 6) * 100, draw<Amount>(1, 3) * 100),
                      .rule = {}};
      allocator_.set_window(window_of(id));
    }
  }

  [[nodiscard]] DemandWindow window_of(std::uint32_t id) const {
    DemandWindow window{.tenant = TenantId{id},
                        .next = {},
                        .pending = {},
                        .pending_tasks = 0,
                        .seen_deal = allocator_.last_deal()};
    const auto waiting = waiting_.find(id);
    if (waiting == waiting_.end() || waiting->second.count == 0) return window;
    window.next.push_back(waiting->second);
    window.pending_tasks = waiting->second.count;
    for (std::uint32_t i = 0; i < waiting->second.count; ++i)
      window.pending += waiting->second.demand;
    return window;
  }

  void deal() {
    const NodeId node{draw(1U, kTreeNodes)};
    const auto deal = allocator_.deal(node);
    if (!deal) return;
    for (const Grant& grant : deal->grants) {
      held_[grant.task] = {node, grant, {}};
      WaitingRange& waiting = waiting_.at(grant.tenant.value);
      RC_ASSERT(grant.task.index == waiting.first_index);
      ++waiting.first_index;
      --waiting.count;
    }
  }

  [[nodiscard]] Units sum_of_nets() const {
    Units sum = 0;
    for (const auto& [id, tenant] : told_)
      if (!has_children(told_, id)) sum += allocator_.tenant(TenantId{id}).net;
    return sum;
  }

  AllocatorSettings settings_;
  Allocator allocator_;
  Told told_;
  std::map<TaskKey, HeldTask> held_;
  std::map<std::uint32_t, WaitingRange> waiting_;
  std::uint64_t jobs_ = 0;
  LedgerMs now_ms_ = 0;
};

}  // namespace

TEST_CASE("a tree that has changed is dealt to as one that was so from the start",
          "[property][allocator]") {
  for (const Accounting accounting : {Accounting::units, Accounting::time}) {
    AllocatorSettings settings = default_settings();
    settings.accounting = accounting;
    check_property(accounting == Accounting::units ? "units" : "time", 1'500, [&] {
      ChangingTree tree(settings);
      const int steps = draw(1, 40);
      for (int step = 0; step < steps; ++step) {
        tree.step();
        tree.check();
      }
    });
  }
}

TEST_CASE("a tenant that is divided leaves what it is owed to those in it", "[unit][allocator]") {
  Accounts accounts;
  accounts.follow_tree(std::vector<Accounts::Member>{{TenantId{1}, 1}, {TenantId{2}, 1}}, {});
  AccountsSnapshot snapshot;
  snapshot.tenants = {{TenantId{1}}, {TenantId{2}}};
  snapshot.ious = {{.debtor = 2, .creditor = 1, .units = 90, .age = 1}};
  snapshot.last_iou_age = 1;
  accounts.restore(snapshot);
  accounts.follow_tree(
      std::vector<Accounts::Member>{{TenantId{2}, 1}, {TenantId{3}, 1}, {TenantId{4}, 2}},
      std::vector<Accounts::Division>{{TenantId{1}, {TenantId{3}, TenantId{4}}}});
  CHECK_FALSE(accounts.has(TenantId{1}));
  CHECK(accounts.book().net(2) == -90);
  CHECK(accounts.book().net(3) == 30);
  CHECK(accounts.book().net(4) == 60);
}

TEST_CASE("who may not borrow may hold one of what is counted in ones", "[unit][allocator]") {
  constexpr std::size_t kGpu = 2;
  AllocatorSettings settings = default_settings();
  settings.granules[kGpu] = 1;
  TestCluster cluster(settings);
  cluster.tenant(1, {.weight = 1, .may_borrow = false});
  cluster.tenant(2, {.weight = 5});
  ResourceVector capacity = cpu(6000);
  capacity[kGpu] = 2;
  cluster.node(1, capacity);
  ResourceVector demand = cpu(100);
  demand[kGpu] = 1;
  const JobId job = cluster.submit(1, 2, demand);
  cluster.refresh(1);
  CHECK(cluster.allocator.tenant(TenantId{1}).quota[kGpu] == 1);
  cluster.deal(1);
  CHECK(cluster.held(1) == 1);
  cluster.refresh(1);
  ObstacleNames names;
  names.resources = {"cpu", "memory", "gpu"};
  const auto obstacles = cluster.allocator.explain_waiting(TenantId{1}, job, 1, names);
  REQUIRE_FALSE(obstacles.empty());
  CHECK(obstacles[0].message == "holds 1 of its runtime quota of 1 of gpu");
}

TEST_CASE("a quota is explained by those around the tenant", "[unit][allocator]") {
  TestCluster cluster;
  cluster.group(1, {.place = {.group = {}, .weight = 1}});
  cluster.group(2, {.place = {.group = GroupId{1}, .weight = 1}});
  cluster.tenant(1, {.weight = 1, .place = QuotaPlace{.group = GroupId{2}, .weight = 1}});
  cluster.tenant(2, {.weight = 1, .place = QuotaPlace{.group = GroupId{2}, .weight = 3}});
  cluster.tenant(3, {.weight = 2, .place = QuotaPlace{}});
  cluster.node(1, cpu(8000));
  const JobId job = cluster.submit(1, 9, cpu(1000));
  for (const std::uint32_t other : {2U, 3U}) cluster.submit(other, 9, cpu(1000));
  for (const std::uint32_t tenant : {1U, 2U, 3U}) cluster.refresh(tenant);
  cluster.deal(1);
  for (const std::uint32_t tenant : {1U, 2U, 3U}) cluster.refresh(tenant);
  const auto obstacles = cluster.allocator.explain_waiting(
      TenantId{1}, job, 1, {.resources = {}, .groups = {{GroupId{2}, "physics"}}});
  REQUIRE_FALSE(obstacles.empty());
  CHECK(obstacles[0].code == "quota");
  CHECK(obstacles[0].message ==
        "holds 1000 of its runtime quota of 1000 millicores of cpu; it is in physics, which holds "
        "4000 of 4000, in group 1, which holds 4000 of 4000");
}

}  // namespace fairwater::test
