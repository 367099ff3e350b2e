// The one engine by which tasks are placed: a phase says who may and who first, and this gives them
// their turns. Internal to policy/allocator.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline allocator {

/// Where one stands in a phase's queue: the smaller `first` is before the others, then the smaller
/// `second / per`.
struct Turn {
  Units first = 0;
  Units second = 0;
  Units per = 1;  ///< positive
  friend bool operator==(const Turn&, const Turn&) = default;
};

/// Of those that may still place in a phase.
struct QueuedTurn {
  Turn turn;
  std::size_t candidate = 0;  ///< in ranked order, which decides among equals
};

/// Less: a is before b.
[[nodiscard]] inline std::strong_ordering compare_turns(const Turn& a, const Turn& b) {
  if (a.first != b.first) return a.first <=> b.first;
  if (a.per == b.per) return a.second <=> b.second;
  const Wide left = Wide{a.second} * b.per;
  const Wide right = Wide{b.second} * a.per;
  if (left == right) return std::strong_ordering::equal;
  return left < right ? std::strong_ordering::less : std::strong_ordering::greater;
}

/// Whether b's turn is before a's: a heap by this has the next turn in front.
struct ComesLater {
  [[nodiscard]] bool operator()(const QueuedTurn& a, const QueuedTurn& b) const {
    const auto order = compare_turns(a.turn, b.turn);
    return order != 0 ? order > 0 : a.candidate > b.candidate;
  }
};

/// Runs one phase over `candidates` in ranked order. A phase has
///   std::optional<Turn> who_first(std::size_t candidate)   none: it is out
///   std::optional<Task> who_may(std::size_t candidate)     what it places now; none: it is out
///   void place(std::size_t candidate, Task)
///   bool is_over()                                         nobody can place anything any more
///   static constexpr bool kAllMoveUp    each task placed may give everybody another turn
/// Who is out stays out: a phase does not reopen. One whose turn has moved since it was queued,
/// because others' tasks drew more units, is queued anew when it comes to the front.
/// O(log candidates) per task, or O(candidates) where all move.
template <class Phase>
void run_phase(Phase& phase, std::size_t candidates, std::vector<QueuedTurn>& queue) {
  const auto queue_up = [&] {
    queue.clear();
    for (std::size_t candidate = 0; candidate < candidates; ++candidate)
      if (const auto turn = phase.who_first(candidate)) queue.push_back({*turn, candidate});
    std::make_heap(queue.begin(), queue.end(), ComesLater{});
  };
  queue_up();
  while (!queue.empty() && !phase.is_over()) {
    std::pop_heap(queue.begin(), queue.end(), ComesLater{});
    const QueuedTurn front = queue.back();
    queue.pop_back();
    // Where all move up, the queue was made after the last task.
    auto turn = Phase::kAllMoveUp ? std::optional(front.turn) : phase.who_first(front.candidate);
    if (turn == front.turn) {
      const auto task = phase.who_may(front.candidate);
      if (!task) continue;
      phase.place(front.candidate, *task);
      if constexpr (Phase::kAllMoveUp) {
        queue_up();
        continue;
      }
      turn = phase.who_first(front.candidate);
    }
    if (!turn) continue;
    queue.push_back({*turn, front.candidate});
    std::push_heap(queue.begin(), queue.end(), ComesLater{});
  }
}

}  // namespace fairwater::inline policy::inline allocator
