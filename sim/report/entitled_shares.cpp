#include "sim/report/entitled_shares.hpp"

#include <algorithm>

namespace fairwater::sim {

EntitledShares::EntitledShares(const Cluster& cluster) : levels_(1 + cluster.groups.size()) {
  for (std::size_t g = 0; g < cluster.groups.size(); ++g) {
    levels_[g + 1].parent = cluster.groups[g].place.group.value;
    levels_[g + 1].weight = cluster.groups[g].place.weight;
  }
  for (const auto& tenant : cluster.tenants) places_.push_back(place_of(tenant.terms));
}

void EntitledShares::clear() {
  for (auto& level : levels_) level.sharing.clear();
  called_.clear();
}

void EntitledShares::want(TenantIndex tenant, Amount amount) {
  const QuotaPlace& place = places_[tenant];
  levels_[place.group.value].sharing.push_back({.weight = place.weight, .request = amount});
  called_.push_back(place.group.value);
}

const std::vector<Amount>& EntitledShares::share_out(Amount whole) {
  if (levels_.size() == 1) return filler_.fill(whole, levels_[0].sharing).runtime;
  collect_wants();
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    Level& level = levels_[i];
    const Amount quota = i == 0 ? whole : levels_[level.parent].shares[level.at];
    level.shares = filler_.fill(quota, level.sharing).runtime;
    level.next = 0;
  }
  result_.clear();
  for (const std::size_t level : called_)
    result_.push_back(levels_[level].shares[levels_[level].next++]);
  return result_;
}

/// Groups stand behind those that they are in.
void EntitledShares::collect_wants() {
  for (std::size_t i = levels_.size() - 1; i > 0; --i) {
    Wide wanted = 0;
    for (const QuotaGroup& group : levels_[i].sharing) wanted += group.request;
    auto& above = levels_[levels_[i].parent].sharing;
    levels_[i].at = above.size();
    above.push_back({.weight = levels_[i].weight,
                     .request = static_cast<Amount>(std::min<Wide>(wanted, kUnlimited))});
  }
}

}  // namespace fairwater::sim
