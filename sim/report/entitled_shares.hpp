// How much of a cluster each tenant could hold at a moment if it were shared out by weight: the
// water level (policy/quota/water_fill.hpp) of what they want, and in groups level by level. A
// tenant wants no more than its `max` allows, and a group's tenants together no more than the
// group's: what they ask for is cut in proportion to where its first resource reaches it. `min`
// does not count. Linear in tenants and groups.
#pragma once

#include <vector>

#include "policy/quota/water_fill.hpp"
#include "sim/engine/workload.hpp"

namespace fairwater::sim::inline report {

class EntitledShares {
 public:
  explicit EntitledShares(const Cluster& cluster);

  /// To begin with: nobody wants anything.
  void clear();
  /// `asked` is what makes up `amount`.
  void want(TenantIndex tenant, Amount amount, const ResourceVector& asked);
  /// In the order of the calls of `want`; valid until the next call.
  const std::vector<Amount>& share_out(Amount whole);

 private:
  /// Those that share one quota: tenants in the order of their calls, then groups.
  struct Level {
    std::size_t parent = 0;
    Weight weight = 1;     ///< there
    std::size_t at = 0;    ///< its own place there
    std::size_t next = 0;  ///< place of the tenant whose share is read next
    std::vector<QuotaGroup> sharing;
    std::vector<Amount> shares;
    ResourceVector max = ResourceVector::filled(kUnlimited);
    ResourceVector asked;  ///< by all who share
  };
  void collect_wants();

  std::vector<Level> levels_;        ///< the cluster's, then the groups'
  std::vector<QuotaPlace> places_;   ///< by tenant
  std::vector<ResourceVector> max_;  ///< by tenant
  std::vector<std::size_t> called_;  ///< levels, by call
  std::vector<Amount> result_;
  WaterFiller filler_;
};

}  // namespace fairwater::sim::inline report
