#include "policy/allocator/explain_share.hpp"

#include <algorithm>
#include <vector>

#include "policy/allocator/share_places.hpp"
#include "policy/allocator/tenant_shares.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// To three places, without zeros behind.
std::string thousandths(FixedShare share) {
  const auto millionths = static_cast<std::uint64_t>((share * 1'000'000) >> kShareBits);
  std::string text = std::to_string(millionths / 1000);
  std::string places = std::to_string(1000 + millionths % 1000).substr(1);
  while (!places.empty() && places.back() == '0') places.pop_back();
  return places.empty() ? text : text + "." + places;
}

class ShareExplanation {
 public:
  ShareExplanation(const AllocatorState& state, const TenantState& tenant, const WindowRange& next,
                   const ObstacleNames& names)
      : state_(state), tenant_(tenant), names_(names), shares_(tenant_shares(state)) {
    for (const RankKey& key : state.waiting()) {
      const TenantState& waiting = state.at(key.slot);
      std::uint32_t cursor = 0;
      if (&waiting == &tenant)
        shares_.set(waiting, &next);
      else if (skip_taken(waiting, cursor) && state.is_within_max(waiting, waiting.window[cursor]))
        shares_.set(waiting, &waiting.window[cursor]);
    }
  }

  [[nodiscard]] std::optional<std::string> run() const {
    std::vector<ShareTree::Node> path;
    for (auto node = shares_.of_tenant[tenant_.rank.slot]; node != ShareTree::kRoot;
         node = shares_.tree.parent(node))
      path.push_back(node);
    while (!path.empty() && shares_.tree.siblings_before(path.back()) == 0) path.pop_back();
    return path.empty() ? std::nullopt : std::optional(text_of(path.back()));
  }

 private:
  [[nodiscard]] std::string text_of(ShareTree::Node own) const {
    const ShareTree& tree = shares_.tree;
    const ShareTree::Node first = tree.first_sibling(own);
    const std::size_t others = tree.siblings_before(own) - 1;
    const bool is_by_min = tree.is_below_min(first) && !tree.is_below_min(own);
    return place_of(tree.parent(own)) + name(own) + " " +
           (is_by_min ? "comes after " + name(first) + ": that, or somebody in it, is below a min"
                      : share_of(own) + ", and " + name(first) + " " + share_of(first) +
                            order(own, first)) +
           (others == 0 ? "" : ", as " + std::to_string(others) + " other(s) there") +
           (!is_by_min && (is_group(own) || is_group(first))
                ? " (of those in a group that wait each counts as the least by weight)"
                : "");
  }

  [[nodiscard]] std::string place_of(ShareTree::Node group) const {
    return group == ShareTree::kRoot ? "at the top of the tree of tenants "
                                     : "among the tenants of " + name(group) + " ";
  }

  [[nodiscard]] std::string share_of(ShareTree::Node node) const {
    const ShareTree& tree = shares_.tree;
    const Weight weight = tree.weight(node);
    return "has a dominant share of " + thousandths(tree.share(node)) +
           " thousandths by a weight of " + std::to_string(weight) +
           (tree.weights(node) == alike(weight)
                ? ""
                : " for " + plain_resource_name(tree.resource(node), names_));
  }

  [[nodiscard]] std::string order(ShareTree::Node own, ShareTree::Node first) const {
    const ShareTree& tree = shares_.tree;
    const bool is_alike = by_weight(tree.share(own), tree.weight(own)) ==
                          by_weight(tree.share(first), tree.weight(first));
    return is_alike ? ": that is as much, and comes first by its number"
                    : ": that is less, and comes first";
  }

  [[nodiscard]] bool is_group(ShareTree::Node node) const {
    return std::find(shares_.of_group.begin(), shares_.of_group.end(), node) !=
           shares_.of_group.end();
  }

  [[nodiscard]] std::string name(ShareTree::Node node) const {
    const auto group = std::find(shares_.of_group.begin(), shares_.of_group.end(), node);
    if (group != shares_.of_group.end())
      return group_name(
          state_.quotas().group(static_cast<QuotaTree::Group>(group - shares_.of_group.begin())).id,
          names_);
    const auto slot = static_cast<std::uint32_t>(
        std::find(shares_.of_tenant.begin(), shares_.of_tenant.end(), node) -
        shares_.of_tenant.begin());
    if (slot == tenant_.rank.slot) return "its tenant";
    const TenantId id = state_.at(slot).id;
    const auto named = names_.tenants.find(id);
    return named == names_.tenants.end() ? "tenant " + std::to_string(id.value) : named->second;
  }

  const AllocatorState& state_;
  const TenantState& tenant_;
  const ObstacleNames& names_;
  TenantShares shares_;
};

}  // namespace

std::optional<std::string> explain_share_in_tree(const AllocatorState& state,
                                                 const TenantState& tenant, const WindowRange& next,
                                                 const ObstacleNames& names) {
  return ShareExplanation(state, tenant, next, names).run();
}

std::string plain_resource_name(std::size_t resource, const ObstacleNames& names) {
  if (resource == kCpu) return "cpu";
  if (resource == kMemory) return "memory";
  return resource < names.resources.size() ? names.resources[resource]
                                           : "resource " + std::to_string(resource);
}

std::string group_name(GroupId group, const ObstacleNames& names) {
  const auto named = names.groups.find(group);
  return named == names.groups.end() ? "group " + std::to_string(group.value) : named->second;
}

}  // namespace fairwater::inline policy::inline allocator
