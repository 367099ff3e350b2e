// Nodes are found by the rules of what waits, as a look at all of them would find them.
#include "policy/allocator/rule_rooms.hpp"

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "timed_cluster.hpp"

namespace fairwater::test {
namespace {

PlacementRulePtr rule_of(const std::string& labels, std::vector<std::string> sites = {}) {
  return std::make_shared<const PlacementRule>(
      PlacementRule{std::move(sites), std::get<LabelExpression>(LabelExpression::parse(labels))});
}

/// RuleRooms beside a plain list of nodes and of who waits.
struct Compared {
  struct Node {
    NodeTraits traits;
    std::optional<ResourceVector> free;
  };
  struct Waiting {
    PlacementRulePtr rule;
    RuleRooms::Place place;
  };

  RuleRooms rooms;
  std::map<NodeId, Node> nodes;
  std::vector<Waiting> waiting;

  void set(NodeId id, NodeTraits traits, const ResourceVector& free) {
    Node& node = nodes[id] = {std::move(traits), free};
    rooms.set_traits(id, node.traits);
    rooms.set(id, free);
  }
  void remove(NodeId id) {
    rooms.remove(id);
    if (const auto node = nodes.find(id); node != nodes.end()) node->second.free.reset();
  }
  void wait_for(const PlacementRulePtr& rule, const ResourceVector& least) {
    const auto all_nodes = [&](auto&& visit) {
      for (const auto& [id, node] : nodes) visit(id, node.traits);
    };
    waiting.push_back({rule, rooms.add({rule, least}, all_nodes)});
  }
  void stop_waiting(std::size_t index) {
    rooms.remove(waiting[index].place);
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(index));
  }

  [[nodiscard]] static bool has_room(const Node& node, const PlacementRulePtr& rule,
                                     const ResourceVector& demand) {
    return node.free && (rule == nullptr || rule->allows(node.traits)) && demand.fits(*node.free);
  }
  [[nodiscard]] std::optional<NodeId> first(NodeId from, const PlacementRulePtr& rule,
                                            const ResourceVector& demand) const {
    for (auto node = nodes.lower_bound(from); node != nodes.end(); ++node)
      if (has_room(node->second, rule, demand)) return node->first;
    return std::nullopt;
  }
  [[nodiscard]] std::optional<NodeId> first_that_matters(NodeId from) const {
    std::optional<NodeId> found;
    for (const Waiting& one : waiting) {
      const auto node = first(from, one.rule, one.place.least);
      if (node && (!found || *node < *found)) found = node;
    }
    return found;
  }
};

struct Seen {
  std::size_t exact = 0;
  std::size_t wide = 0;
};

/// Whether a node is found no later than by a look at all, and has room at least.
void check_next(const Compared& compared, NodeId from, const PlacementRulePtr& rule,
                const ResourceVector& demand, Seen& seen) {
  const auto expected = compared.first(from, rule, demand);
  const auto next = compared.rooms.next(from, rule, demand);
  ++(next == expected ? seen.exact : seen.wide);
  if (expected) REQUIRE((next && *next <= *expected));
  if (next) REQUIRE(Compared::has_room(compared.nodes.at(*next), nullptr, demand));
}

Seen compare(std::size_t rules_in_use, unsigned seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  std::vector<PlacementRulePtr> rules{nullptr, rule_of("a", {"north"}), rule_of("b", {"south"})};
  while (rules.size() < rules_in_use)
    rules.push_back(rule_of("a || n" + std::to_string(rules.size())));
  const auto some_traits = [&] {
    NodeTraits traits;
    traits.site = below(2) == 0 ? "north" : "south";
    if (below(3) == 0) traits.labels["a"] = "true";
    if (below(3) == 0) traits.labels["b"] = "true";
    if (below(2) == 0) traits.labels["n" + std::to_string(below(rules_in_use))] = "true";
    return traits;
  };
  const auto amounts = [&](std::size_t most) {
    return cpu_memory(static_cast<Amount>(below(most)), static_cast<Amount>(below(most)));
  };
  const std::vector<ResourceVector> demands{cpu_memory(1, 3), cpu_memory(3, 1), cpu_memory(5, 5)};
  Compared compared;
  Seen seen;
  for (int i = 0; i < 8'000; ++i) {
    const NodeId node{1 + static_cast<std::uint32_t>(below(60))};
    const auto known = compared.nodes.find(node);
    if (below(8) == 0)
      compared.remove(node);
    else if (known == compared.nodes.end() || below(4) == 0)
      compared.set(node, some_traits(), amounts(6));
    else
      compared.set(node, NodeTraits(known->second.traits), amounts(6));
    if (below(4) == 0) compared.wait_for(rules[below(rules.size())], demands[below(3)]);
    if (compared.waiting.size() > 12 || (below(4) == 0 && !compared.waiting.empty()))
      compared.stop_waiting(below(compared.waiting.size()));
    const NodeId from{static_cast<std::uint32_t>(below(62))};
    check_next(compared, from, rules[below(rules.size())], demands[below(3)], seen);
    const auto matters = compared.rooms.next_that_matters(from);
    const auto expected = compared.first_that_matters(from);
    ++(matters == expected ? seen.exact : seen.wide);
    if (expected) REQUIRE((matters && *matters <= *expected));
    if (matters) REQUIRE(compared.rooms.may_matter(*matters));
  }
  return seen;
}

TEST_CASE("with few rules the next node is the one that a look at all finds",
          "[property][allocator]") {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Seen seen = compare(10, seed);
    // Each rule is asked for in the first of 16,000 questions and keeps its rooms from then on.
    CHECK(seen.wide < 200);
    CHECK(seen.exact > 15'000);
  }
}

TEST_CASE("with more rules than have rooms of their own no node is missed",
          "[property][allocator]") {
  const Seen seen = compare(60, 9);
  CHECK(seen.wide > 1'000);
  CHECK(seen.exact > 8'000);
}

TEST_CASE("rooms for ever new rules are made as seldom as nodes change", "[unit][allocator]") {
  Compared compared;
  for (std::uint32_t i = 1; i <= 100; ++i) compared.set(NodeId{i}, {}, cpu(1));
  const auto with_rooms = [&](std::size_t number) {
    compared.wait_for(rule_of("n" + std::to_string(number)), cpu(1));
    const bool has = compared.waiting.back().place.rule != 0;
    compared.stop_waiting(compared.waiting.size() - 1);
    return has;
  };
  std::size_t made = 0;
  for (std::size_t i = 0; i < 40; ++i) made += with_rooms(i) ? 1 : 0;
  CHECK(made == 16);  // what the nodes paid for as they came
  for (int i = 0; i < 7; ++i) compared.set(NodeId{1}, {}, cpu(1));
  CHECK(with_rooms(100));
  CHECK_FALSE(with_rooms(101));
}

DemandWindow one_slot(PlacementRulePtr rule, std::uint32_t first_task, std::uint64_t seen_deal) {
  DemandWindow window;
  window.tenant = TenantId{1};
  window.pending = slots(1);
  window.pending_tasks = 1;
  window.seen_deal = seen_deal;
  WaitingRange task;
  task.job = JobId{1};
  task.first_index = first_task;
  task.count = 1;
  task.attempt = 1;
  task.demand = slots(1);
  task.rule = std::move(rule);
  window.next.push_back(task);
  return window;
}

/// Three idle nodes that were dealt, and a tenant.
Allocator three_nodes(Accounting accounting, const TenantTerms& terms) {
  AllocatorSettings settings = slot_settings();
  settings.accounting = accounting;
  Allocator allocator(settings);
  allocator.set_tenant(TenantId{1}, terms);
  for (std::uint32_t i = 1; i <= 3; ++i) {
    allocator.set_node(NodeId{i}, {}, slots(1), true);
    CHECK_FALSE(allocator.deal(NodeId{i}));
  }
  return allocator;
}

TEST_CASE("idle nodes that nothing that waits may use do not matter", "[unit][allocator]") {
  Allocator allocator = three_nodes(GENERATE(Accounting::units, Accounting::time), terms_of(1));
  allocator.set_window(one_slot(rule_of("fast"), 0, 0));
  CHECK_FALSE(allocator.next_that_matters(NodeId{}));
  CHECK_FALSE(allocator.may_matter(NodeId{2}));
  NodeTraits fast;
  fast.labels["fast"] = "true";
  allocator.set_node(NodeId{2}, fast, slots(1), true);
  CHECK(allocator.next_that_matters(NodeId{}) == NodeId{2});
  const auto deal = allocator.deal(NodeId{2});
  REQUIRE(deal.has_value());
  CHECK(deal->grants.size() == 1);
}

TEST_CASE("idle nodes do not matter while all that waits is beyond its max, by time",
          "[unit][allocator]") {
  TenantTerms terms = terms_of(1);
  terms.max = slots(1);
  Allocator allocator = three_nodes(Accounting::time, terms);
  allocator.set_window(one_slot(nullptr, 0, 0));
  CHECK(allocator.next_that_matters(NodeId{}) == NodeId{1});
  const auto deal = allocator.deal(NodeId{1});
  REQUIRE((deal && deal->grants.size() == 1));
  allocator.set_window(one_slot(nullptr, 1, allocator.last_deal()));
  CHECK_FALSE(allocator.next_that_matters(NodeId{}));
  SECTION("a task's end lets it have the next") {
    REQUIRE(allocator.release(deal->grants[0].task));
    CHECK(allocator.next_that_matters(NodeId{2}) == NodeId{2});
  }
  SECTION("so does a larger max") {
    terms.max = slots(2);
    allocator.set_tenant(TenantId{1}, terms);
    CHECK(allocator.next_that_matters(NodeId{}) == NodeId{2});
  }
}

}  // namespace
}  // namespace fairwater::test
