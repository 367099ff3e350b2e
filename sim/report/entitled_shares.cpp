#include "sim/report/entitled_shares.hpp"

#include <algorithm>

namespace fairwater::sim::inline report {
namespace {

/// Cuts `asked`, which makes `amount`, to where its first resource reaches its `max`.
void cut_to(const ResourceVector& max, Amount& amount, ResourceVector& asked) {
  if (asked.fits(max)) return;
  Amount part = amount;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (asked[r] > max[r])
      part = std::min(part, static_cast<Amount>(Wide{amount} * max[r] / asked[r]));
  for (std::size_t r = 0; r < kMaxResources; ++r)
    asked[r] = static_cast<Amount>(Wide{asked[r]} * part / std::max<Amount>(amount, 1));
  amount = part;
}

}  // namespace

EntitledShares::EntitledShares(const Cluster& cluster) : levels_(1 + cluster.groups.size()) {
  for (std::size_t g = 0; g < cluster.groups.size(); ++g) {
    levels_[g + 1].parent = cluster.groups[g].place.group.value;
    levels_[g + 1].weight = cluster.groups[g].place.weight;
    levels_[g + 1].max = cluster.groups[g].max;
  }
  for (const auto& tenant : cluster.tenants) {
    places_.push_back(place_of(tenant.terms));
    max_.push_back(tenant.terms.max);
  }
}

void EntitledShares::clear() {
  for (auto& level : levels_) {
    level.sharing.clear();
    level.asked = {};
  }
  called_.clear();
}

void EntitledShares::want(TenantIndex tenant, Amount amount, const ResourceVector& asked) {
  const QuotaPlace& place = places_[tenant];
  ResourceVector allowed = asked;
  cut_to(max_[tenant], amount, allowed);
  Level& level = levels_[place.group.value];
  level.sharing.push_back({.weight = place.weight, .request = amount});
  level.asked += allowed;
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
    auto amount = static_cast<Amount>(std::min<Wide>(wanted, kUnlimited));
    cut_to(levels_[i].max, amount, levels_[i].asked);
    Level& above = levels_[levels_[i].parent];
    levels_[i].at = above.sharing.size();
    above.sharing.push_back({.weight = levels_[i].weight, .request = amount});
    above.asked += levels_[i].asked;
  }
}

}  // namespace fairwater::sim::inline report
