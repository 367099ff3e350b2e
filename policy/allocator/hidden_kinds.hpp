// What a window shows behind the next tasks in the tenant's order: the next of each kind
// (task_kind.hpp) of which it shows nothing. Else tasks that have room nowhere, an array that
// waits for gpus, could hide for ever what has room beside them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "policy/allocator/allocator.hpp"
#include "policy/allocator/user_queues.hpp"

namespace fairwater::inline policy::inline allocator {

struct WindowBounds {
  std::size_t ranges = 0;
  std::uint32_t tasks = 0;
};

/// So many users are looked at for each kind that may be shown.
inline constexpr std::size_t kUsersPerKind = 16;

/// Of the tenant, or of each user where these take turns, the jobs of each kind whose first job is
/// not in the window: the first kind of each user, then their second ones, so many at most. A queue
/// whose first kinds are all shown is looked at no further than twice as many.
template <class Job>
[[nodiscard]] std::vector<const typename JobQueue<Job>::Jobs*> hidden_kinds(
    const DemandWindow& window, const UserQueues<Job>& queues, std::size_t most) {
  std::vector<JobId> shown;
  shown.reserve(window.next.size());
  for (const WaitingRange& range : window.next) shown.push_back(range.job);
  std::sort(shown.begin(), shown.end());
  std::vector<std::pair<std::size_t, const typename JobQueue<Job>::Jobs*>> hidden;  // with depth
  const auto look_at = [&](const JobQueue<Job>& queue) {
    std::size_t depth = 0, looks = 0;
    for (const auto& [key, kind] : queue.firsts()) {
      if (depth == most || looks++ == 2 * most) return;
      if (!std::binary_search(shown.begin(), shown.end(), key.second))
        hidden.emplace_back(depth++, &queue.of(kind));
    }
  };
  std::size_t users = 0;
  for (const UserTurn& turn : queues.turns())
    if (users++ < kUsersPerKind * most) look_at(queues.queues().at(turn.user));
  if (!queues.takes_turns())
    for (const auto& [user, queue] : queues.queues()) look_at(queue);
  std::stable_sort(hidden.begin(), hidden.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  hidden.resize(std::min(hidden.size(), most));
  std::vector<const typename JobQueue<Job>::Jobs*> kinds;
  kinds.reserve(hidden.size());
  for (const auto& [depth, jobs] : hidden) kinds.push_back(jobs);
  return kinds;
}

/// Shows the next jobs of hidden kinds, which share the bounds, each one range at least.
/// `show(job, bounds)` appends the job's next tasks within the bounds, the first range in any case,
/// and returns how many. O(window log window + log jobs) for each range.
template <class Job, class Show>
void append_hidden_kinds(DemandWindow& window, const UserQueues<Job>& queues,
                         const WindowBounds& bounds, Show&& show) {
  std::uint64_t tasks = 0;
  for (const WaitingRange& range : window.next) tasks += range.count;
  if (tasks >= window.pending_tasks || queues.is_of_one_kind()) return;
  const auto kinds = hidden_kinds(window, queues, bounds.ranges);
  for (const auto* jobs : kinds) {
    WindowBounds left{
        std::max<std::size_t>(1, bounds.ranges / kinds.size()),
        std::max<std::uint32_t>(1, bounds.tasks / static_cast<std::uint32_t>(kinds.size()))};
    for (const auto& [key, job] : *jobs) {
      const std::size_t before = window.next.size();
      const std::uint32_t shown = show(job, left);
      const std::size_t ranges = window.next.size() - before;
      if (ranges >= left.ranges || shown >= left.tasks) break;
      left = {left.ranges - ranges, left.tasks - shown};
    }
  }
}

}  // namespace fairwater::inline policy::inline allocator
