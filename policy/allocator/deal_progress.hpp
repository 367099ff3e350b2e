// What the stages of one deal share: who takes part, what fits, and what was dealt and placed so
// far. Internal to policy/allocator.
#pragma once

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

  AllocatorState& state;
  TaskFinder tasks;
  Claimants claimants;
  NodeRoom* node = nullptr;
  bool gives_all_places = true;  ///< where the ledger counts time, see by_time.hpp
  Units dealt = 0;
  Units placed = 0;         ///< guarantees not counted
  Units deficit_limit = 1;  ///< K: the cost of one task
  std::vector<Grant> grants;
};

}  // namespace fairwater::inline policy::inline allocator
