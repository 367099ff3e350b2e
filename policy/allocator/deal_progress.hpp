// What the stages of one deal share: who takes part, what fits, and what was dealt and placed so
// far. Internal to policy/allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "policy/allocator/claimants.hpp"
#include "policy/allocator/task_finder.hpp"

namespace fairwater::inline policy::inline allocator {

struct DealProgress {
  explicit DealProgress(AllocatorState& of) : state(of), tasks(of) {}

  void begin(NodeRoom& of_node);
  /// Deals so many more slots: those to whom they fall have more credit.
  void draw(Units units);
  /// Gives all slots back, and with them every entry: as if none had been dealt.
  void undo_draws();
  /// Where few of those who wait take part: who has come since without a look at what fits has work
  /// as its class has.
  void note_work();
  /// From here on all who wait and have a task that fits take part.
  void take_all_in();
  /// One of a class that has work takes part from here on.
  ClaimantIndex take_in(TenantState& tenant);
  /// Whether the tenant in the slot waits and has a task that fits, or had at the deal's beginning.
  [[nodiscard]] bool has_work(std::uint32_t slot) const;

  AllocatorState& state;
  TaskFinder tasks;
  Claimants claimants;
  NodeRoom* node = nullptr;
  bool gives_all_places = true;  ///< where the ledger counts time, see by_time.hpp
  /// Where the ledger counts units: of classes (contenders.hpp) those take part who may matter.
  bool looks_at_few = false;
  /// Of the claimants the first so many were there when allowances were given; none: they were not.
  std::optional<std::size_t> with_allowance;
  Units dealt = 0;
  Units placed = 0;         ///< guarantees not counted
  Units deficit_limit = 1;  ///< K: the cost of one task
  std::vector<Grant> grants;
  /// Slots of tenants whose windows this deal has run out.
  std::vector<std::uint32_t> run_out;
  /// Whether one of them has more to come within its quota: nobody gets anything beyond its own.
  [[nodiscard]] bool awaits_window();

 private:
  void give_work(Claimant& claimant);
};

}  // namespace fairwater::inline policy::inline allocator
