// Where tasks go in a cycle by dominant shares (policy/allocator/by_share.hpp), and the deals that
// come of it. Internal to policy/allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "policy/allocator/claimants.hpp"
#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

/// Where what starts at once goes, and by which rule.
struct SharePlace {
  std::vector<GangShare> shares;
  Placement placement = Placement::unset;
};

class SharePlaces {
 public:
  explicit SharePlaces(AllocatorState& state) : state_(state) {}

  /// None: it has no room, or would exceed a max.
  [[nodiscard]] std::optional<SharePlace> find(const TenantState& tenant, const WindowRange& entry);
  /// Some room for it, by maxes or not: a rule chooses only where nothing else is found.
  [[nodiscard]] std::optional<SharePlace> find_room(const TenantState& tenant,
                                                    const WindowRange& entry);
  /// What starts at once starts. How many tasks.
  std::size_t start(TenantState& tenant, std::uint32_t range, const SharePlace& place,
                    GrantStep step);
  [[nodiscard]] std::size_t deals() const { return deals_.size(); }
  /// To be called last, once.
  [[nodiscard]] std::vector<Deal> take_deals();

 private:
  [[nodiscard]] std::optional<NodeId> first_node(const TenantState& tenant,
                                                 const WaitingRange& task) const;
  [[nodiscard]] std::optional<SharePlace> place_of_gang(const TenantState& tenant,
                                                        const WindowRange& gang);
  [[nodiscard]] std::optional<SharePlace> chosen_place(const TenantState& tenant,
                                                       const WaitingRange& task);
  void give(TenantState& tenant, std::uint32_t range, const GangShare& share, GrantStep step,
            Placement placement);

  AllocatorState& state_;
  std::vector<Deal> deals_;
  std::map<NodeId, std::size_t> deal_of_;
  std::set<std::uint32_t> granted_;  ///< tenants' slots
};

/// The cursor stands at a range with tasks; false: there is none.
[[nodiscard]] bool skip_taken(const TenantState& tenant, std::uint32_t& cursor);

/// It holds less than its `min` of every resource of which it has one.
[[nodiscard]] bool is_below_every_min(const TenantState& tenant);

}  // namespace fairwater::inline policy::inline allocator
