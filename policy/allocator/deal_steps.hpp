// The steps of a heartbeat that the papers' sized mode (policy/allocator/sized.hpp) and the
// runtime's allocator (policy/allocator/allocator.hpp) have in common, as pure functions. Numbers
// are those of docs/architecture.md, "Life of a heartbeat".
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/allocator/deal.hpp"
#include "policy/core/types.hpp"
#include "policy/ledger/iou_book.hpp"
#include "policy/ledger/loans.hpp"
#include "policy/quota/water_fill.hpp"
#include "policy/sequence/sequence.hpp"

namespace fairwater::inline policy::inline allocator {

/// Most slots that one deal hands out; what Sequence::advance takes.
inline constexpr Units kMaxDealUnits = 1'000'000'000'000;

/// The closing equation of policy/allocator/deal.hpp. Guarantees are not part of it.
[[nodiscard]] Units closing_balance(const TenantBalance& balance);

/// Step 4: deals the next `units` slots. One entry per member that got any, in no particular order:
/// a few slots are dealt one by one, which costs O(log n) each instead of a pass over all members.
[[nodiscard]] std::vector<Sequence::Count> deal_slots(Sequence& sequence, Units units);

/// What a debtor pays at most, and what rounding down left over.
struct RepaymentBudget {
  Units units = 0;
  std::uint32_t remainder_millionths = 0;
};

/// Step 5: the share mu (in millionths) of the `fell` units that fell to a debtor, rounded down, or
/// all of them when it has nothing to run. A caller with many small deals passes the last remainder
/// in, lest a debtor of small parts and small mu never pays.
[[nodiscard]] RepaymentBudget repayment_budget(Units fell, std::uint32_t repay_millionths,
                                               bool can_run,
                                               std::uint32_t remainder_millionths = 0);

/// Step 5: who gets the budget of one debtor: its largest IOU first, then in the order of
/// `creditors` (those that can use it now, ranked), limited by what is owed. Changes nothing.
/// O(creditors * log).
[[nodiscard]] std::vector<Repayment> settle(const IouBook& book, TenantId debtor, Units budget,
                                            std::span<const TenantId> creditors);

/// A vessel for `pour`.
struct Vessel {
  Weight weight = 1;
  Units room = 0;
};

/// Water-fills `units` by weight into vessels of limited room (whole units, cumulative rounding,
/// the given order on ties). Returns one amount per vessel; they add up to min(units, all room).
/// Linear time, with the working memory of `filler`.
[[nodiscard]] std::vector<Units> pour(Units units, std::span<const Vessel> vessels,
                                      WaterFiller& filler);

/// One tenant before the pool of step 6.
struct PoolMember {
  Weight weight = 1;
  Units allowance = 0;
  Units demand = 0;   ///< what its waiting tasks cost in all
  bool takes = true;  ///< may receive from the pool
};

/// Step 6: what a tenant's allowance exceeds its demand by goes into a pool, which is poured over
/// those that takes and whose demand exceeds their allowance. Returns the change per member: minus
/// what it left to the pool, or plus what it took. Members in ranked order. Linear time, with the
/// working memory of `filler`.
[[nodiscard]] std::vector<Units> pool_changes(std::span<const PoolMember> members,
                                              WaterFiller& filler);

}  // namespace fairwater::inline policy::inline allocator
