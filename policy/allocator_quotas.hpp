// How much each tenant may hold: its level of the water, what it wants there, and where it stands
// with it. Internal to policy/.
//
// Invariants
//   - a tenant's request in the water level is what it holds plus what it waits for, so a grant
//     moves nothing there and a release or a new window moves one group;
//   - a tenant's holdings follow its state, see Holding.
#pragma once

#include <array>
#include <cstdint>

#include "policy/allocator_tenant.hpp"
#include "policy/water_fill.hpp"

namespace fairwater {

class AllocatorQuotas {
 public:
  /// A granule of 0: the cluster does not have that resource.
  explicit AllocatorQuotas(const ResourceVector& granules) : granules_(granules) {}

  /// True when it was another before; then plain shares have changed.
  bool set_capacity(const ResourceVector& capacity);
  /// A change of terms is a leaving with the old ones and a joining with the new. Plain shares
  /// change with both.
  void join(TenantState& tenant);
  void leave(const TenantState& tenant);
  /// To be called after a change of what it holds, what it waits for or plain shares: its holdings
  /// and its request follow.
  void refresh(TenantState& tenant);
  /// It holds `demand` more, for which it waited: its holdings follow.
  void hold(TenantState& tenant, const ResourceVector& demand);

  [[nodiscard]] ResourceVector quota(const TenantState& tenant) const;
  /// Where a tenant would stand with its quota when it got a task more.
  enum class Standing : std::uint8_t {
    within,      ///< in every resource that the task asks for
    straddling,  ///< it is below it now, but in some resource the task goes beyond
    at_quota,    ///< in some resource that the task asks for it holds it already
  };
  /// Where the water of a level stands, about.
  struct Height {
    bool is_limited = false;  ///< somebody wants more than it gets
    double poured = 0;        ///< per weight; not a number while even the bases are too much
  };
  using WaterMarks = std::array<Height, kMaxResources>;
  /// Good until the next change.
  [[nodiscard]] WaterMarks water_marks() const;
  /// True when the tenant's quota of one resource is `amount` or more. The height nearly always
  /// tells, in O(1); within two units of it the exact quota is read.
  [[nodiscard]] bool quota_is_at_least(const TenantState& tenant, std::size_t resource,
                                       Amount amount, const WaterMarks& marks) const;
  /// For a task of `range`. What it holds beyond its quota on what it is owed does not count.
  [[nodiscard]] Standing standing(const TenantState& tenant, const WindowRange& range,
                                  const WaterMarks& marks) const;
  /// Whether the tenant would be within its quota with a task of `range` beside what it holds and
  /// what is reserved for it.
  [[nodiscard]] bool may_reserve(const TenantState& tenant, const WindowRange& range,
                                 const WaterMarks& marks) const;

 private:
  [[nodiscard]] bool counts(std::size_t resource) const { return granules_[resource] > 0; }
  /// Its terms and its request. A tenant that may not borrow holds at most its plain share of the
  /// capacity, or its min.
  [[nodiscard]] QuotaGroup group(const TenantState& tenant, std::size_t resource) const;
  void refresh_holding(TenantState& tenant, std::size_t resource);

  ResourceVector granules_;
  Wide weights_ = 0;  ///< of all tenants
  std::array<WaterLevel, kMaxResources> levels_;
};

}  // namespace fairwater
