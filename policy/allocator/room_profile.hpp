// The room that a node is expected to have free from now on, in steps.
#pragma once

#include <optional>
#include <vector>

#include "policy/core/types.hpp"
#include "policy/ledger/time_accounts.hpp"

namespace fairwater::inline policy::inline allocator {

/// Costs are linear in the steps, of which each interval that is taken makes two at most.
class RoomProfile {
 public:
  struct Step {
    LedgerMs from = 0;
    ResourceVector free;  ///< until the next step
  };

  explicit RoomProfile(const ResourceVector& capacity) : steps_{{0, capacity}} {}

  /// From `at_ms` on, later than any moment so far, so much more is free. O(1).
  void grow(LedgerMs at_ms, const ResourceVector& demand);
  /// Forgets what was before `now`.
  void pass_to(LedgerMs now);
  void take(LedgerMs from, LedgerMs to, const ResourceVector& demand);
  void give_back(LedgerMs from, LedgerMs to, const ResourceVector& demand);
  /// False when more is taken at the first moment than there is.
  [[nodiscard]] bool is_sound_now() const { return ResourceVector{}.fits(steps_.front().free); }
  /// The first moment before `limit` from which on `demand` fits for `duration_ms`.
  [[nodiscard]] std::optional<LedgerMs> earliest(const ResourceVector& demand, LedgerMs duration_ms,
                                                 LedgerMs limit) const;

  /// By time; the last one has no end.
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

 private:
  /// The step that begins at `at`, which is made when there is none.
  std::size_t split(LedgerMs at);
  /// Makes one step of this one and the one before where they are alike.
  void merge(std::size_t step);

  std::vector<Step> steps_;  ///< by time; the last one's room is all there is
};

}  // namespace fairwater::inline policy::inline allocator
