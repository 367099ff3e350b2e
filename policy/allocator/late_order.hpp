// In which order late tasks come, where the ledger counts time: see policy/allocator/by_time.hpp.
// Internal to policy/allocator.
#pragma once

#include <compare>
#include <cstdint>

#include "policy/allocator/tenant.hpp"

namespace fairwater::inline policy::inline allocator {

class AllocatorState;

/// The least comes first.
struct LateOrder {
  /// What was deferred for long enough once comes first. So of what comes and goes with its
  /// tenant's mark only what is owed, or was late longer, is before one of these.
  bool is_deferrable = false;
  bool is_not_owed = false;       ///< its tenant is owed less than what it takes, or has its part
  std::int64_t less_kept_ms = 0;  ///< of one that is owed, minus kept_from_part_ms()
  LedgerMs late_from_ms = 0;
  friend auto operator<=>(const LateOrder&, const LateOrder&) = default;
};

/// For how long, all in all, the tenant, which waits, was kept from the whole of its part, by what
/// it is owed; 0 where it is owed nothing, or holds its part. Of one that only owes
/// (time_turns.hpp) nobody knows: it is a millisecond at least.
[[nodiscard]] std::int64_t kept_from_part_ms(const AllocatorState& state, const TenantState& tenant,
                                             MicroUnits held);

/// Of a task of a tenant that waits, if it holds so much.
[[nodiscard]] LateOrder late_order(const AllocatorState& state, const TenantState& tenant,
                                   const WindowRange& late, MicroUnits held);

}  // namespace fairwater::inline policy::inline allocator
