// What a tenant shows of its queue in a window: the next tasks in its order (where its users take
// turns: fair_window.hpp), and behind them the next of each kind (task_kind.hpp) of which these
// show nothing. Else tasks that have room nowhere, an array that waits for gpus, could hide for
// ever what has room beside them.
//
// `show(job, bounds)` appends a job's next tasks within the bounds, the first range in any case,
// and returns how many. What elastic jobs would grow by is shown alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "policy/allocator/allocator.hpp"
#include "policy/allocator/user_queues.hpp"

namespace fairwater::inline policy::inline allocator {

struct WindowBounds {
  std::size_t ranges = 0;
  std::uint32_t tasks = 0;
};

/// The next tasks, within the bounds.
template <class Job, class Show>
void append_in_order(DemandWindow& window, const UserQueues<Job>& queues,
                     const WindowBounds& bounds, Show&& show) {
  std::uint32_t tasks = 0;
  for (const auto& [user, queue] : queues.queues()) {
    window.next.reserve(std::min(bounds.ranges, queue.jobs().size()));
    for (const auto& [key, job] : queue.jobs()) {
      if (window.next.size() >= bounds.ranges || tasks >= bounds.tasks) return;
      tasks += show(job, WindowBounds{bounds.ranges - window.next.size(), bounds.tasks - tasks});
    }
  }
}

/// Of one kind the next jobs that are not shown.
template <class Jobs, class Show>
void append_kind(DemandWindow& window, const Jobs& jobs, const std::vector<JobId>& shown,
                 WindowBounds left, Show&& show) {
  for (const auto& [key, job] : jobs) {
    if (std::binary_search(shown.begin(), shown.end(), key.second)) continue;
    const std::size_t before = window.next.size();
    const std::uint32_t tasks = show(job, left);
    const std::size_t ranges = window.next.size() - before;
    if (ranges >= left.ranges || tasks >= left.tasks) return;
    left = {left.ranges - ranges, left.tasks - tasks};
  }
}

/// Of the tenant, or of each user where these take turns, the jobs of each kind whose first job is
/// not in the window; `shown`: which jobs are, ascending. So many kinds at most: first those of
/// which nobody shows anything, then the first of each user. O(`most` squared) at most, in the
/// order of users and of their kinds.
template <class Job>
[[nodiscard]] std::vector<const typename JobQueue<Job>::Jobs*> hidden_kinds(
    const DemandWindow& window, const std::vector<JobId>& shown, const UserQueues<Job>& queues,
    std::size_t most) {
  struct Hidden {
    bool is_shown = false;  ///< others of the kind are
    std::size_t depth = 0;  ///< among those of its user
    const typename JobQueue<Job>::Jobs* jobs = nullptr;
  };
  std::set<TaskKind> kinds;
  for (const WaitingRange& range : window.next) kinds.insert(range.kind);
  std::vector<Hidden> hidden;
  std::size_t looks = 0;
  const auto look_at = [&](const JobQueue<Job>& queue) {
    std::size_t depth = 0;
    for (const auto& [key, kind] : queue.firsts()) {
      if (depth == most || looks++ >= most * most) return;
      if (std::binary_search(shown.begin(), shown.end(), key.second)) continue;
      const bool is_new = kinds.insert(kind).second;
      hidden.push_back({!is_new, depth++, &queue.of(kind)});
    }
  };
  for (const UserTurn& turn : queues.turns()) look_at(queues.queues().at(turn.user));
  if (!queues.takes_turns())
    for (const auto& [user, queue] : queues.queues()) look_at(queue);
  std::stable_sort(hidden.begin(), hidden.end(), [](const Hidden& a, const Hidden& b) {
    return std::tie(a.is_shown, a.depth) < std::tie(b.is_shown, b.depth);
  });
  std::vector<const typename JobQueue<Job>::Jobs*> jobs;
  for (const Hidden& kind : hidden)
    if (jobs.size() < most) jobs.push_back(kind.jobs);
  return jobs;
}

/// Says of each range whether more of its kind wait than the window shows. O(ranges * kinds).
template <class Job>
void mark_hidden(DemandWindow& window, const UserQueues<Job>& queues) {
  std::vector<std::pair<TaskKind, std::int64_t>> hidden;
  const auto hidden_of = [&](TaskKind kind) -> std::int64_t& {
    const auto found = std::find_if(hidden.begin(), hidden.end(),
                                    [&](const auto& known) { return known.first == kind; });
    if (found != hidden.end()) return found->second;
    return hidden.emplace_back(kind, queues.tasks_of(kind)).second;
  };
  for (const WaitingRange& range : window.next) hidden_of(range.kind) -= range.count;
  for (WaitingRange& range : window.next) range.hides_alike = hidden_of(range.kind) > 0;
}

/// Shows the next jobs of hidden kinds, which share the bounds, each one range at least; then marks
/// what is still hidden. O(log window + log jobs) for each range, beside hidden_kinds().
template <class Job, class Show>
void append_hidden_kinds(DemandWindow& window, const UserQueues<Job>& queues,
                         const WindowBounds& bounds, Show&& show) {
  std::uint64_t tasks = 0;
  for (const WaitingRange& range : window.next) tasks += range.count;
  if (tasks >= window.pending_tasks) return;
  if (!queues.is_of_one_kind()) {
    std::vector<JobId> shown;
    shown.reserve(window.next.size());
    for (const WaitingRange& range : window.next) shown.push_back(range.job);
    std::sort(shown.begin(), shown.end());
    const auto kinds = hidden_kinds(window, shown, queues, bounds.ranges);
    for (const auto* jobs : kinds) {
      const auto part = static_cast<std::uint32_t>(kinds.size());
      append_kind(window, *jobs, shown,
                  {std::max<std::size_t>(1, bounds.ranges / part),
                   std::max<std::uint32_t>(1, bounds.tasks / part)},
                  show);
    }
  }
  mark_hidden(window, queues);
}

/// What elastic jobs would grow by: so many ranges in the order of the jobs, and as many together
/// of each kind that these show nothing of. `show(job, ranges)` appends at most so many of the
/// job's. O(log jobs) for each range and kind.
template <class Job, class Show>
void append_growth(DemandWindow& window, const JobQueue<Job>& growing, std::size_t ranges,
                   Show&& show) {
  const auto append = [&](const typename JobQueue<Job>::Jobs& jobs, std::size_t most) {
    const std::size_t end = window.growth.size() + most;
    std::optional<QueueKey> last;
    for (auto job = jobs.begin(); job != jobs.end() && window.growth.size() < end; ++job) {
      show(job->second, end - window.growth.size());
      last = job->first;
    }
    return last;
  };
  const std::optional<QueueKey> last_shown = append(growing.jobs(), ranges);
  std::vector<const typename JobQueue<Job>::Jobs*> hidden;
  // In the order of jobs a kind is shown from its first job on.
  for (auto first = growing.firsts().rbegin(); first != growing.firsts().rend(); ++first) {
    if (first->key <= last_shown) break;
    hidden.push_back(&growing.of(first->kind));
  }
  std::reverse(hidden.begin(), hidden.end());
  if (hidden.size() > ranges) hidden.resize(ranges);
  for (const auto* jobs : hidden) append(*jobs, std::max<std::size_t>(1, ranges / hidden.size()));
}

}  // namespace fairwater::inline policy::inline allocator
