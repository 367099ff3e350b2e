// Who takes part in one deal, and the units that move between their accounts. Internal to
// policy/allocator.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/allocator/deal.hpp"
#include "policy/allocator/quotas.hpp"
#include "policy/allocator/tenant.hpp"

namespace fairwater::inline policy::inline allocator {

struct Claimant {
  TenantState* tenant = nullptr;
  const WindowRange* next = nullptr;  ///< at the cursor; none when nothing fits
  /// What it has due: its deficit and all entries so far. Negative when it took more.
  Units credit = 0;
  std::uint32_t cursor = 0;  ///< in its window, the first range that may still fit
  std::size_t checked = 0;   ///< how many tasks had been placed when the cursor was moved last
  /// With the task at the cursor; none: to be looked up.
  std::optional<AllocatorQuotas::Standing> standing;
  bool has_work = false;    ///< a task of its window fits here
  bool backfilled = false;  ///< a task of it was placed as backfill
  bool has_entries = false;
  bool is_creditor = false;  ///< others owe it units, which it takes beyond its quota
  std::uint32_t repay_remainder_millionths = 0;
  Units opening = 0;     ///< its deficit before the deal
  Units pooled = 0;      ///< of its allowance, from the pool; negative: left to it
  Units allowance = 0;   ///< what the phase of that name may use
  Units guaranteed = 0;  ///< cost of what was placed as guaranteed, which is no entry
  /// Its entries, summed up by reason.
  std::array<Units, kEntryReasons> entries{};

  [[nodiscard]] Units sum_of(EntryReason reason) const {
    return entries[static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] bool is_owed() const { return sum_of(EntryReason::received) > 0 || is_creditor; }
};

using ClaimantIndex = std::uint32_t;

/// In the order of coming, and by rank. Keeps its memory from deal to deal.
class Claimants {
 public:
  /// For a deal among so many slots of tenants. The one before must have been forgotten. Where the
  /// ledger counts time, what is owed moves marks instead (policy/allocator/time_marks.hpp).
  void begin(std::size_t slots, Accounting accounting) {
    at_slot_.resize(slots, -1);
    nets_are_units_ = accounting == Accounting::units;
  }
  void forget();

  [[nodiscard]] bool empty() const { return claimants_.empty(); }
  [[nodiscard]] Claimant& operator[](ClaimantIndex index) { return claimants_[index]; }
  [[nodiscard]] const Claimant& operator[](ClaimantIndex index) const { return claimants_[index]; }
  [[nodiscard]] std::vector<Claimant>& all() { return claimants_; }
  /// Of the tenant in that slot, if it takes part.
  [[nodiscard]] std::optional<ClaimantIndex> find(std::uint32_t slot) const;
  ClaimantIndex add(TenantState& tenant);
  /// Adds it where it did not take part yet.
  ClaimantIndex of(TenantState& tenant);
  /// By rank, those up to the last sort().
  [[nodiscard]] const std::vector<ClaimantIndex>& ranked() const { return ranked_; }
  /// Those that are not in `ranked` in order yet, by when they came.
  [[nodiscard]] std::span<Claimant> added_since_sort() {
    return std::span(claimants_).subspan(sorted_);
  }
  /// Puts those that were added in among the others.
  void sort();
  /// Those that were added came in ranked order, and nobody before them.
  void note_sorted() { sorted_ = ranked_.size(); }

  /// Writes an entry; its sign is the reason's, see EntryReason.
  void post(ClaimantIndex index, EntryReason reason, Units units) {
    Claimant& claimant = claimants_[index];
    claimant.entries[static_cast<std::size_t>(reason)] += units;
    claimant.credit += units;
    claimant.has_entries = true;
    sum_of_entries_ += units;
  }
  /// As if there had been none, nor what follows from them.
  void strike_entries();
  [[nodiscard]] Units sum_of_entries() const { return sum_of_entries_; }

 private:
  std::vector<Claimant> claimants_;
  std::vector<ClaimantIndex> ranked_;
  std::size_t sorted_ = 0;             ///< first ones of `ranked_` that are in order
  std::vector<std::int32_t> at_slot_;  ///< by the tenant's slot, -1: none
  std::vector<ClaimantIndex> added_;
  Units sum_of_entries_ = 0;
  bool nets_are_units_ = true;
};

/// The claimant's line in the deal: its entries by reason, as sums.
[[nodiscard]] TenantBalance balance_of(const Claimant& claimant);

}  // namespace fairwater::inline policy::inline allocator
