// Tenants in groups: the allocator's quotas against the whole water-fill, level by level from the
// top, and what a group's max means in a deal.
#include <algorithm>
#include <map>
#include <set>

#include "allocator_cluster.hpp"
#include "policy/quota/water_fill.hpp"
#include "tests/policy/property.hpp"

namespace fairwater::test {
namespace {

/// What an allocator was told, and every quota computed anew from that.
class ToldTree {
 public:
  struct Tenant {
    TenantTerms terms;
    ResourceVector used;
    ResourceVector pending;
  };
  struct Node {
    ResourceVector capacity;
    ResourceVector used;
    bool accepts = true;
  };
  std::map<std::uint32_t, Tenant> tenants;
  std::map<std::uint32_t, GroupTerms> groups;
  std::map<std::uint32_t, Node> nodes;

  [[nodiscard]] std::map<std::uint32_t, Amount> quotas(std::size_t r) const {
    std::map<std::uint32_t, Amount> result;
    fill(0, capacity(r), r, result);
    return result;
  }
  /// What the group's tenants hold.
  [[nodiscard]] Amount used(std::uint32_t group, std::size_t r) const {
    Amount sum = 0;
    for (const auto& [id, tenant] : tenants)
      for (auto in = place_of(tenant.terms).group.value; in != 0;
           in = groups.at(in).place.group.value)
        if (in == group) sum += tenant.used[r];
    return sum;
  }

 private:
  [[nodiscard]] Amount capacity(std::size_t r) const {
    Amount sum = 0;
    for (const auto& [id, node] : nodes) sum += node.accepts ? node.capacity[r] : node.used[r];
    return sum;
  }
  /// By weights alone, level by level.
  [[nodiscard]] Amount plain_share(const QuotaPlace& place, std::size_t r) const {
    Weight all = 0;
    for (const auto& [id, tenant] : tenants)
      if (place_of(tenant.terms).group == place.group) all += place_of(tenant.terms).weight_of(r);
    for (const auto& [id, group] : groups)
      if (group.place.group == place.group) all += group.place.weight_of(r);
    const auto parent = groups.find(place.group.value);
    const Amount whole =
        parent == groups.end() ? capacity(r) : plain_share(parent->second.place, r);
    return (whole * place.weight_of(r) + all - 1) / all;
  }
  [[nodiscard]] QuotaGroup member(const Tenant& tenant, std::size_t r) const {
    const TenantTerms& terms = tenant.terms;
    Amount max = terms.max[r];
    if (!terms.may_borrow)
      max = std::min(max, std::max(terms.min[r], plain_share(place_of(terms), r)));
    return {place_of(terms).weight_of(r), terms.min[r], max, tenant.used[r] + tenant.pending[r]};
  }
  /// Who shares the group's quota, in input order: tenants (true), then groups.
  [[nodiscard]] std::vector<std::pair<bool, std::uint32_t>> children(std::uint32_t group) const {
    std::vector<std::pair<bool, std::uint32_t>> result;
    for (const auto& [id, tenant] : tenants)
      if (place_of(tenant.terms).group.value == group) result.emplace_back(true, id);
    for (const auto& [id, terms] : groups)
      if (terms.place.group.value == group) result.emplace_back(false, id);
    return result;
  }
  [[nodiscard]] QuotaGroup known(bool is_tenant, std::uint32_t id, std::size_t r) const {
    if (is_tenant) return member(tenants.at(id), r);
    const GroupTerms& terms = groups.at(id);
    QuotaGroup sum{.weight = terms.place.weight_of(r), .min = 0, .max = terms.max[r], .request = 0};
    for (const auto& [child_is_tenant, child] : children(id)) {
      const QuotaGroup part = known(child_is_tenant, child, r);
      sum.request += part.wanted();
      sum.min += part.min;
    }
    sum.min = terms.min[r].value_or(sum.min);
    if (!terms.rights.may_borrow)
      sum.max = std::min(sum.max, std::max(sum.min, plain_share(terms.place, r)));
    return sum;
  }
  void fill(std::uint32_t group, Amount quota, std::size_t r,
            std::map<std::uint32_t, Amount>& result) const {
    std::vector<QuotaGroup> sharing;
    const auto below = children(group);
    for (const auto& [is_tenant, id] : below) sharing.push_back(known(is_tenant, id, r));
    const WaterFillResult filled = water_fill(quota, sharing);
    for (std::size_t i = 0; i < below.size(); ++i) {
      if (below[i].first)
        result[below[i].second] = filled.runtime[i];
      else
        fill(below[i].second, filled.runtime[i], r, result);
    }
  }
};

/// An allocator and what it was told, under random events.
class RandomTree {
 public:
  void step() {
    switch (draw(0, 9)) {
      case 0:
        return set_group(draw(1U, 5U));
      case 1:
      case 2:
        return set_tenant(draw(1U, 8U));
      case 3:
        return remove_tenant();
      case 4:
        return set_node();
      case 5:
      case 6:
        return release();
      case 7:
        return deal();
      default:
        return set_window();
    }
  }

  void check() const {
    for (const std::size_t r : {kCpu, kMemory}) {
      const auto expected = told_.quotas(r);
      for (const auto& [id, tenant] : told_.tenants)
        RC_ASSERT(allocator_.tenant(TenantId{id}).quota[r] == expected.at(id));
    }
  }

 private:
  static Amount amount() { return draw<Amount>(0, 40) * 100; }
  static ResourceVector amounts() { return cpu_memory(amount(), amount()); }
  static bool one_in(int count) { return draw(1, count) == 1; }

  /// Of neither, one or both resources.
  static ResourceWeights own_weights() {
    ResourceWeights weights{};
    for (const std::size_t r : {kCpu, kMemory})
      if (one_in(3)) weights[r] = draw<Weight>(1, 9);
    return weights;
  }

  /// None, or one of those that are there.
  GroupId any_group(std::uint32_t below) const {
    const auto group = draw(0U, below);
    return {told_.groups.contains(group) && group < below ? group : 0};
  }

  void set_group(std::uint32_t id) {
    GroupTerms terms;
    terms.place = {
        .group = any_group(id), .weight = draw<Weight>(1, 9), .own_weights = own_weights()};
    const auto known = told_.groups.find(id);
    if (known != told_.groups.end()) terms.place.group = known->second.place.group;
    for (const std::size_t r : {kCpu, kMemory}) {
      if (one_in(4)) terms.min[r] = amount();
      if (one_in(3)) terms.max[r] = amount();
    }
    terms.rights.may_borrow = !one_in(4);
    told_.groups[id] = terms;
    allocator_.set_group(GroupId{id}, terms);
  }

  void set_tenant(std::uint32_t id) {
    TenantTerms terms{.weight = draw<Weight>(1, 9)};
    if (!one_in(4))
      terms.place = {
          .group = any_group(6), .weight = draw<Weight>(1, 9), .own_weights = own_weights()};
    if (one_in(4)) terms.min = amounts();
    if (one_in(4)) terms.max = amounts();
    terms.may_borrow = !one_in(5);
    told_.tenants[id].terms = terms;
    allocator_.set_tenant(TenantId{id}, terms);
  }

  void remove_tenant() {
    for (const auto& [id, tenant] : told_.tenants) {
      if (!tenant.used.is_zero() || allocator_.tenant(TenantId{id}).net < 0) continue;
      if (allocator_.tenant(TenantId{id}).running_tasks > 0) continue;
      allocator_.remove_tenant(TenantId{id});
      told_.tenants.erase(id);
      return;
    }
  }

  void set_node() {
    const auto id = draw(1U, 3U);
    ToldTree::Node& node = told_.nodes[id];
    node.capacity = amounts();
    node.accepts = !one_in(4);
    allocator_.set_node(NodeId{id}, {}, node.capacity, node.accepts);
  }

  void set_window() {
    if (told_.tenants.empty()) return;
    auto tenant = told_.tenants.begin();
    std::advance(tenant, draw<std::size_t>(0, told_.tenants.size() - 1));
    DemandWindow window{.tenant = TenantId{tenant->first},
                        .next = {},
                        .pending = amounts(),
                        .pending_tasks = 50,
                        .seen_deal = allocator_.last_deal()};
    const auto count = draw(0U, 12U);
    const ResourceVector demand = cpu_memory(draw<Amount>(1, 6) * 100, draw<Amount>(0, 3) * 100);
    window.next.push_back({.job = JobId{++jobs_}, .count = count, .demand = demand, .rule = {}});
    for (std::uint32_t i = 0; i < count; ++i) window.pending += demand;
    tenant->second.pending = window.pending;
    allocator_.set_window(window);
  }

  void release() {
    if (held_.empty()) return;
    auto task = held_.begin();
    std::advance(task, draw<std::size_t>(0, held_.size() - 1));
    const auto& [node, grant] = task->second;
    RC_ASSERT(allocator_.release(task->first));
    told_.nodes.at(node).used -= grant.demand;
    told_.tenants.at(grant.tenant.value).used -= grant.demand;
    held_.erase(task);
  }

  void deal() {
    if (told_.nodes.empty()) return;
    auto node = told_.nodes.begin();
    std::advance(node, draw<std::size_t>(0, told_.nodes.size() - 1));
    const auto deal = allocator_.deal(NodeId{node->first});
    if (!deal) return;
    for (const Grant& grant : deal->grants) {
      ToldTree::Tenant& tenant = told_.tenants.at(grant.tenant.value);
      tenant.used += grant.demand;
      tenant.pending -= grant.demand;
      node->second.used += grant.demand;
      held_[grant.task] = {node->first, grant};
      check_groups(tenant, grant);
    }
  }

  /// Whatever step placed the task, its groups hold no more than their max of what it asks for.
  void check_groups(const ToldTree::Tenant& tenant, const Grant& grant) const {
    for (auto group = place_of(tenant.terms).group.value; group != 0;
         group = told_.groups.at(group).place.group.value)
      for (const std::size_t r : {kCpu, kMemory})
        if (grant.demand[r] > 0) RC_ASSERT(told_.used(group, r) <= told_.groups.at(group).max[r]);
  }

  Allocator allocator_{default_settings()};
  ToldTree told_;
  std::map<TaskKey, std::pair<std::uint32_t, Grant>> held_;
  std::uint64_t jobs_ = 0;
};

std::vector<Amount> held_cpu(const TestCluster& cluster, std::uint32_t tenants) {
  std::vector<Amount> held;
  for (std::uint32_t i = 1; i <= tenants; ++i) held.push_back(cluster.held_cpu(i));
  return held;
}

/// A (weight 1) with tenants 1 and 2, and tenant 3 beside A with the weight 1.
TestCluster two_and_one(const GroupTerms& group = {}) {
  TestCluster cluster;
  cluster.group(1, group);
  const QuotaPlace inside{.group = GroupId{1}, .weight = 1};
  cluster.tenant(1, {.weight = 1, .place = inside});
  cluster.tenant(2, {.weight = 1, .place = inside});
  cluster.tenant(3, {.weight = 2, .place = QuotaPlace{}});
  cluster.node(1, cpu(12'000));
  return cluster;
}

}  // namespace

TEST_CASE("quotas of tenants in groups are the whole form's, level by level",
          "[property][allocator]") {
  check_property("the allocator's tree against water-fill from the top", 5'000, [] {
    RandomTree tree;
    const int steps = draw(1, 40);
    for (int step = 0; step < steps; ++step) {
      tree.step();
      tree.check();
    }
  });
}

TEST_CASE("what a tenant leaves idle goes to its siblings first", "[unit][allocator]") {
  TestCluster cluster = two_and_one();
  for (const std::uint32_t tenant : {2U, 3U}) {
    cluster.submit(tenant, 40, cpu(1000));
    cluster.refresh(tenant);
  }
  cluster.deal(1);
  CHECK(held_cpu(cluster, 3) == std::vector<Amount>{0, 6000, 6000});
  cluster.submit(1, 40, cpu(1000));
  cluster.refresh(1);
  for (int turn = 0; turn < 30; ++turn) cluster.turn_over_oldest();
  CHECK(held_cpu(cluster, 3) == std::vector<Amount>{3000, 3000, 6000});
}

TEST_CASE("a group's max bounds its tenants together, also in idle room", "[unit][allocator]") {
  GroupTerms group;
  group.max = cpu(3500);
  TestCluster cluster = two_and_one(group);
  const JobId first = cluster.submit(1, 40, cpu(1000));
  cluster.submit(2, 40, cpu(1000));
  for (const std::uint32_t tenant : {1U, 2U}) cluster.refresh(tenant);
  cluster.deal(1);
  CHECK(cluster.held_cpu(1) + cluster.held_cpu(2) == 3000);
  const auto obstacles = cluster.allocator.explain_waiting(TenantId{1}, first, 2);
  REQUIRE_FALSE(obstacles.empty());
  CHECK(obstacles[0].code == "max");
  CHECK(obstacles[0].message ==
        "group 1, which it is in, holds 3000 of its max of 3500 millicores of cpu, the task asks "
        "for 1000");
}

TEST_CASE("a group's min is in its tenants' quotas", "[unit][allocator]") {
  GroupTerms group;
  group.min[kCpu] = 9000;
  TestCluster cluster = two_and_one(group);
  for (const std::uint32_t tenant : {1U, 2U, 3U}) {
    cluster.submit(tenant, 40, cpu(1000));
    cluster.refresh(tenant);
  }
  // 9000, and half of the 3000 that are left; the tenants of the group share it alike.
  CHECK(cluster.allocator.tenant(TenantId{1}).quota == cpu(5250));
  CHECK(cluster.allocator.tenant(TenantId{2}).quota == cpu(5250));
  CHECK(cluster.allocator.tenant(TenantId{3}).quota == cpu(1500));
}

TEST_CASE("who may not borrow keeps to its share of its group's", "[unit][allocator]") {
  // A third of a third: the weights in the sequence are rounded, those in the tree are not.
  TestCluster cluster;
  cluster.group(1, {.place = {.group = {}, .weight = 1}});
  cluster.tenant(
      1,
      {.weight = 111, .may_borrow = false, .place = QuotaPlace{.group = GroupId{1}, .weight = 1}});
  cluster.tenant(2, {.weight = 222, .place = QuotaPlace{.group = GroupId{1}, .weight = 2}});
  cluster.tenant(3, {.weight = 667, .place = QuotaPlace{.group = {}, .weight = 2}});
  cluster.node(1, cpu(9000));
  cluster.submit(1, 40, cpu(1000));
  cluster.refresh(1);
  CHECK(cluster.allocator.tenant(TenantId{1}).quota == cpu(1000));
  cluster.deal(1);
  CHECK(cluster.held_cpu(1) == 1000);
}

TEST_CASE("a group that may not borrow keeps to its share, whoever in it is busy",
          "[unit][allocator]") {
  TestCluster cluster;
  cluster.group(1, {.place = {.group = {}, .weight = 1}, .rights = {.may_borrow = false}});
  cluster.tenant(1, {.weight = 1, .place = QuotaPlace{.group = GroupId{1}, .weight = 1}});
  cluster.tenant(2, {.weight = 1, .place = QuotaPlace{.group = GroupId{1}, .weight = 1}});
  cluster.tenant(3, {.weight = 2, .place = QuotaPlace{.group = {}, .weight = 1}});
  cluster.node(1, cpu(12'000));
  cluster.submit(1, 80, cpu(1000));
  cluster.refresh(1);
  CHECK(cluster.allocator.tenant(TenantId{1}).quota == cpu(6000));
  cluster.deal(1);
  CHECK(cluster.held(1) == 6);
  for (int turn = 0; turn < 20; ++turn) {
    cluster.turn_over(1);
    REQUIRE(cluster.held(1) == 6);
    // To its sibling it may owe, and does.
    for (const IouBook::Iou& iou : cluster.allocator.book().ious()) REQUIRE(iou.creditor == 2);
  }
  CHECK(cluster.net(1) < 0);
  const std::vector<Obstacle> obstacles =
      cluster.allocator.explain_waiting(TenantId{1}, JobId{1}, 26);
  CHECK(std::ranges::count(
            obstacles,
            Obstacle{"may_not_borrow",
                     "group 1, which it is in, may not borrow what others leave idle"}) == 1);
  // With another tenant the share is less, with a min it is that.
  cluster.tenant(4, {.weight = 2, .place = QuotaPlace{.group = {}, .weight = 1}});
  CHECK(cluster.allocator.tenant(TenantId{1}).quota == cpu(4000));
  cluster.tenant(
      2, {.weight = 1, .min = cpu(5000), .place = QuotaPlace{.group = GroupId{1}, .weight = 1}});
  CHECK(cluster.allocator.tenant(TenantId{1}).quota == cpu(5000));
}

TEST_CASE("a group that may not lend gets no claims, its tenants of each other do",
          "[unit][allocator]") {
  TestCluster cluster;
  cluster.group(1, {.place = {.group = {}, .weight = 1}, .rights = {.may_lend = false}});
  cluster.tenant(1, {.weight = 1, .place = QuotaPlace{.group = GroupId{1}, .weight = 1}});
  cluster.tenant(2, {.weight = 1, .place = QuotaPlace{.group = GroupId{1}, .weight = 1}});
  cluster.tenant(3, {.weight = 2, .place = QuotaPlace{.group = {}, .weight = 1}});
  cluster.node(1, cpu(8000));
  SECTION("to others") {
    cluster.submit(3, 50, cpu(1000));
    cluster.refresh(3);
    cluster.deal(1);
    CHECK(cluster.held(3) == 8);
    CHECK(cluster.allocator.book().empty());
  }
  SECTION("to each other") {
    cluster.submit(1, 50, cpu(1000));
    cluster.refresh(1);
    cluster.deal(1);
    CHECK(cluster.held(1) == 8);
    CHECK(cluster.allocator.book().owed(1, 2) > 0);
    CHECK(cluster.allocator.book().owed(1, 3) > 0);
  }
}

}  // namespace fairwater::test
