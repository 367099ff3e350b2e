// Accounts of their own in the ledger: credit for growth, after Liu et al. 2018 ("QREA"). Who
// leaves a part of the cluster unused earns what those pay whose elastic jobs run on it. One
// period:
//
//   credit += theta * all extras * period - own extras * period
//
// where extras are what a tenant's elastic jobs hold beyond what they started with, and theta is
// the part of the tenant in all that tenants leave unused. Where nobody leaves anything unused
// nobody earns, and nobody pays. Credits are whole unit-milliseconds: what all earn together is
// laid end to end and cut by cumulative rounding, so that credits sum to zero, always.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline ledger {

/// What one tenant had in a period, and what that does to its credit.
struct CreditLine {
  TenantId tenant;
  Units extras = 0;       ///< of its elastic jobs, 0 or more
  MicroUnits unused = 0;  ///< of what belongs to it, 0 or more
  Units change = 0;       ///< of its credit, in unit-milliseconds
  friend bool operator==(const CreditLine&, const CreditLine&) = default;
};

/// A period, closed. The changes sum to zero.
struct CreditSettlement {
  std::int64_t period_ms = 0;
  std::vector<CreditLine> lines{};  ///< by tenant; of all that had extras, or left something unused
  friend bool operator==(const CreditSettlement&, const CreditSettlement&) = default;
};

/// Bounds of a period and of one tenant's extras, within which nothing overflows: an hour, and as
/// many units as a hundred million machines have.
inline constexpr std::int64_t kMaxCreditPeriod_ms = 3'600'000;
inline constexpr Units kMaxCreditExtras = Units{1} << 38;

/// Fills in the changes. `period_ms` from 1 to kMaxCreditPeriod_ms, extras up to kMaxCreditExtras.
/// O(lines).
void settle_credits(CreditSettlement& settlement);

/// `credit`, of a tenant that leaves, in parts by weight, cut in the order given: they sum to it.
/// Empty weights: none.
[[nodiscard]] std::vector<Units> credit_parts(Units credit, const std::vector<Weight>& weights);

}  // namespace fairwater::inline policy::inline ledger
