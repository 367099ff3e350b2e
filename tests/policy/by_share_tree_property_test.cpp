// Cycles by dominant shares where tenants are within others: against a look at everything for each
// task, and as a flat set where groups bring nobody together.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "naive_share_tree.hpp"
#include "share_cluster.hpp"

namespace fairwater::test {
namespace {

/// A task is placed after a look at all tenants, groups and nodes: on the first node by id that has
/// room, at its first site where there is one.
class NaiveTreeFilling {
 public:
  struct Node {
    ResourceVector free;
    std::string site;
    bool accepts = true;
  };
  std::map<std::uint32_t, Node> nodes;
  std::map<std::uint32_t, ResourceVector> held;
  std::map<std::uint32_t, std::vector<WaitingRange>> queues;
  std::map<std::uint32_t, TenantTerms> terms;
  std::map<std::uint32_t, GroupTerms> groups;
  ResourceVector capacity;

  /// How many tasks each tenant gets.
  std::map<std::uint32_t, std::uint64_t> run() {
    std::map<std::uint32_t, std::uint64_t> given;
    while (const auto tenant = next_tenant()) {
      const auto next = next_of(*tenant);
      nodes[next->node].free -= next->range->demand;
      held[*tenant] += next->range->demand;
      --next->range->count;
      ++given[*tenant];
    }
    return given;
  }

 private:
  struct Next {
    WaitingRange* range;
    std::uint32_t node;
  };
  [[nodiscard]] std::optional<std::uint32_t> next_tenant() {
    NaiveShareTree tree{.capacity = capacity};
    std::map<std::uint32_t, std::size_t> group_at{{0, 0}};
    for (const auto& [id, group] : groups) {
      group_at[id] = tree.children.size();
      tree.children.push_back({.parent = group_at.at(group.place.group.value),
                               .weights = group.place.weights(),
                               .rank = 2 * std::uint64_t{id} + 1,
                               .is_group = true,
                               .is_below_min = is_below(held_in(id), min_of(group))});
    }
    std::map<std::size_t, std::uint32_t> tenant_at;
    for (const auto& [id, known] : terms) {
      tenant_at[tree.children.size()] = id;
      const auto next = next_of(id);
      tree.children.push_back({.parent = group_at.at(known.place->group.value),
                               .weights = known.place->weights(),
                               .rank = 2 * std::uint64_t{id},
                               .is_below_min = is_below(held[id], known.min),
                               .held = held[id],
                               .next = next ? std::optional(next->range->demand) : std::nullopt});
    }
    const auto first = tree.first();
    return first ? std::optional(tenant_at.at(*first)) : std::nullopt;
  }
  [[nodiscard]] std::optional<Next> next_of(std::uint32_t tenant) {
    for (WaitingRange& range : queues[tenant]) {
      if (range.count == 0 || !is_within_max(tenant, range.demand)) continue;
      for (const bool at_first_site : {true, false})
        for (auto& [id, node] : nodes) {
          const bool is_at_first = range.rule == nullptr || node.site == range.rule->sites.front();
          if (node.accepts && is_at_first == at_first_site && range.demand.fits(node.free))
            return Next{&range, id};
        }
    }
    return std::nullopt;
  }
  [[nodiscard]] ResourceVector held_in(std::uint32_t group) {
    ResourceVector sum;
    for (const auto& [id, known] : terms)
      for (auto around = known.place->group.value; around != 0;
           around = groups.at(around).place.group.value)
        if (around == group) sum += held[id];
    return sum;
  }
  [[nodiscard]] bool is_within_max(std::uint32_t tenant, const ResourceVector& demand) {
    const auto exceeds = [&](const ResourceVector& all, const ResourceVector& max) {
      for (std::size_t r = 0; r < kMaxResources; ++r)
        if (demand[r] > 0 && all[r] + demand[r] > max[r]) return true;
      return false;
    };
    if (exceeds(held[tenant], terms[tenant].max)) return false;
    for (auto around = terms[tenant].place->group.value; around != 0;
         around = groups.at(around).place.group.value)
      if (exceeds(held_in(around), groups.at(around).max)) return false;
    return true;
  }
  static ResourceVector min_of(const GroupTerms& group) {
    ResourceVector min;
    for (std::size_t r = 0; r < kMaxResources; ++r) min[r] = group.min[r].value_or(0);
    return min;
  }
  static bool is_below(const ResourceVector& all, const ResourceVector& min) {
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (min[r] > 0 && all[r] >= min[r]) return false;
    return !min.is_zero();
  }
};

/// Tenants in groups, and what happens to them.
class RandomShares {
 public:
  explicit RandomShares(std::uint64_t seed) : random_(seed) {
    for (std::uint32_t id = 1; id <= 3; ++id) {
      GroupTerms terms = group_in(static_cast<std::uint32_t>(draw(0, id - 1)), draw(1, 4));
      if (draw(0, 2) == 0) terms.place.own_weights[kGpus] = draw(1, 9);
      if (draw(0, 3) == 0) terms.min[kCpu] = draw(1, 6) * 500;
      if (draw(0, 2) == 0) terms.max = cpu_memory(draw(4, 12) * 1000, 12'288) + of_gpus(9);
      cluster.group(id, terms);
    }
    tenants_ = static_cast<std::uint32_t>(draw(2, 9));
    for (std::uint32_t id = 1; id <= tenants_; ++id) {
      TenantTerms terms = tenant_in(static_cast<std::uint32_t>(draw(0, 3)), draw(1, 5));
      if (draw(0, 2) == 0) terms.place->own_weights[kMemory] = draw(1, 9);
      if (draw(0, 3) == 0) terms.min = cpu(draw(1, 4) * 500);
      if (draw(0, 3) == 0) terms.max = cpu_memory(draw(4, 9) * 1000, 8192) + of_gpus(4);
      cluster.tenant(id, terms);
    }
    const auto count = static_cast<std::uint32_t>(draw(1, 6));
    for (std::uint32_t id = 1; id <= count; ++id) {
      ResourceVector capacity = cpu_memory(draw(1, 8) * 1000, draw(1, 8) * 1024);
      capacity[kGpus] = draw(0, 3);
      nodes_[id] = {capacity, {.name = {}, .site = draw(0, 1) == 0 ? "a" : "b", .labels = {}}};
      set_node(id, true);
    }
  }

  /// Something happens; then tasks start. How many of tenants in groups.
  std::uint64_t step() {
    for (auto ends = draw(0, 6); ends > 0 && !cluster.running().empty(); --ends)
      cluster.end(std::next(cluster.running().begin(),
                            draw(0, static_cast<Amount>(cluster.running().size()) - 1))
                      ->first);
    const auto some_node = static_cast<std::uint32_t>(draw(1, static_cast<Amount>(nodes_.size())));
    if (draw(0, 5) == 0) set_node(some_node, !accepts_[some_node]);
    for (auto jobs = draw(1, 3); jobs > 0; --jobs) {
      ResourceVector demand = cpu_memory(draw(0, 4) * 500, draw(1, 4) * 512);
      if (draw(0, 2) == 0) demand[kGpus] = 1;
      WaitingRange range = waiting_tasks(static_cast<std::uint32_t>(draw(1, 8)), demand);
      if (draw(0, 3) == 0)
        range.rule = std::make_shared<PlacementRule>(PlacementRule{{"a", "b"}, {}});
      cluster.submit(static_cast<std::uint32_t>(draw(1, tenants_)), range);
    }
    auto expected = expectation();
    std::map<std::uint32_t, std::uint64_t> before;
    for (std::uint32_t id = 1; id <= tenants_; ++id) before[id] = cluster.held(id);
    // A cycle that is cut goes on as if it had not been.
    cluster.run(draw(0, 1) == 0 ? 1000 : 1);
    std::uint64_t placed = 0;
    for (std::uint32_t id = 1; id <= tenants_; ++id) {
      INFO("tenant " << id);
      REQUIRE(cluster.held(id) - before[id] == expected[id]);
      if (cluster.terms(id).place->group) placed += expected[id];
    }
    return placed;
  }

 private:
  Amount draw(Amount from, Amount to) {
    return from + static_cast<Amount>(random_() % static_cast<std::uint64_t>(to - from + 1));
  }
  void set_node(std::uint32_t id, bool accepts) {
    accepts_[id] = accepts;
    cluster.node(id, nodes_[id].first, nodes_[id].second, accepts);
  }
  std::map<std::uint32_t, std::uint64_t> expectation() {
    NaiveTreeFilling naive;
    for (const auto& [id, node] : nodes_)
      naive.nodes[id] = {node.first, node.second.site, accepts_[id]};
    for (const auto& [key, running] : cluster.running()) {
      naive.nodes[running.node.value].free -= running.demand;
      naive.held[running.tenant.value] += running.demand;
    }
    for (const auto& [id, node] : nodes_)
      naive.capacity += accepts_[id] ? node.first : node.first - naive.nodes[id].free;
    naive.queues = cluster.queues();
    naive.groups = cluster.groups();
    for (std::uint32_t id = 1; id <= tenants_; ++id) naive.terms[id] = cluster.terms(id);
    return naive.run();
  }

  ShareCluster cluster;
  std::mt19937_64 random_;
  std::uint32_t tenants_ = 0;
  std::map<std::uint32_t, std::pair<ResourceVector, NodeTraits>> nodes_;
  std::map<std::uint32_t, bool> accepts_;
};

TEST_CASE("in a tree a cycle places what H-DRF places, looked up anew for each task",
          "[property][by_share]") {
  std::uint64_t placed = 0;
  for (std::uint64_t seed = 1; seed <= states_to_look_at(150); ++seed) {
    RandomShares tree(seed);
    for (int step = 0; step < 30; ++step) {
      INFO("seed " << seed << ", step " << step);
      placed += tree.step();
    }
  }
  CHECK(placed > 5000);
}

// Siblings in a group that is alone, and tenants alone in groups, are as a flat set.
TEST_CASE("groups that bring nothing together change no deal", "[property][by_share]") {
  enum class Shape { flat, all_in_one, each_alone };
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    const auto deals_of = [&](Shape shape) {
      std::mt19937_64 random{seed};
      const auto draw = [&](Amount from, Amount to) {
        return from + static_cast<Amount>(random() % static_cast<std::uint64_t>(to - from + 1));
      };
      ShareCluster cluster;
      if (shape == Shape::all_in_one) cluster.group(1, group_in(kAtTop));
      const auto tenants = static_cast<std::uint32_t>(draw(1, 8));
      for (std::uint32_t id = 1; id <= tenants; ++id) {
        TenantTerms terms = tenant_of_weight(draw(1, 5));
        if (draw(0, 3) == 0) terms.min = cpu(draw(1, 4) * 500);
        if (draw(0, 3) == 0) terms.max = cpu_memory(draw(4, 9) * 1000, 8192);
        if (shape == Shape::all_in_one)
          terms.place = QuotaPlace{.group = GroupId{1}, .weight = terms.weight};
        if (shape == Shape::each_alone) {
          cluster.group(id, group_in(kAtTop, terms.weight));
          terms.place = QuotaPlace{.group = GroupId{id}, .weight = 1};
        }
        cluster.tenant(id, terms);
      }
      for (std::uint32_t id = 1; id <= 3; ++id)
        cluster.node(id, cpu_memory(draw(1, 8) * 1000, draw(1, 8) * 1024));
      std::vector<Deal> all;
      for (int step = 0; step < 20; ++step) {
        WaitingRange range = waiting_tasks(static_cast<std::uint32_t>(draw(1, 9)),
                                           cpu_memory(draw(0, 4) * 500, draw(1, 4) * 512));
        range.is_gang = draw(0, 5) == 0;
        if (draw(0, 3) == 0) range.placement = Placement::pack;
        cluster.submit(static_cast<std::uint32_t>(draw(1, tenants)), range);
        for (auto ends = draw(0, 4); ends > 0 && !cluster.running().empty(); --ends)
          cluster.end(std::next(cluster.running().begin(),
                                draw(0, static_cast<Amount>(cluster.running().size()) - 1))
                          ->first);
        const auto deals = cluster.run();
        all.insert(all.end(), deals.begin(), deals.end());
      }
      return all;
    };
    const auto flat = deals_of(Shape::flat);
    REQUIRE(flat.size() > 5);
    REQUIRE((deals_of(Shape::all_in_one) == flat));
    REQUIRE((deals_of(Shape::each_alone) == flat));
  }
}

}  // namespace
}  // namespace fairwater::test
