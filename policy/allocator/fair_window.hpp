// What a tenant whose users take turns shows of its waiting tasks: the next of each in their order
// (policy/allocator/user_turns.hpp), and of one user those of the job with the fewest running or
// chosen ones.
//
// `Jobs` is what knows the jobs. It has
// - waiting(job, limit): the first so many ranges of waiting tasks that the job claims; it is asked
//   once for each job, and once more where the window hides its kind,
// - cost(job): of a task, in units,
// - starts_together(job): whether its waiting tasks start at once,
// - range(job, tasks): how they are shown.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/allocator/allocator.hpp"
#include "policy/allocator/queue_window.hpp"
#include "policy/allocator/user_queues.hpp"
#include "policy/allocator/waiting_tasks.hpp"

namespace fairwater::inline policy::inline allocator {

/// Waiting tasks of a job that are alike, those that are left to a node one by one.
struct AlikeTasks {
  WaitingTasks::Range range;
  NodeId home;  ///< none: whichever has room
};

/// Appends a range, merged with the one before where it continues it.
void append_range(DemandWindow& window, const WaitingRange& range);
/// Takes the last range out that is of a job which others are of, too.
void strike_last_repeat(DemandWindow& window);

/// The tasks that wait, one after the other. Jobs are looked at when their turn comes.
template <class Job, class Jobs>
class FairOrder {
 public:
  /// Of the first so many users.
  FairOrder(const UserQueues<Job>& queues, Jobs& jobs, std::size_t max_users) : jobs_(jobs) {
    for (const UserTurn& turn : queues.turns()) {
      if (turns_.size() == max_users) break;
      turns_.push(turn);
      served_ = std::max(served_, turn.share.served);
      const auto& queue = queues.queues().at(turn.user);
      users_[turn.user] = {queue.jobs().begin(), queue.jobs().end(), {}};
    }
  }
  [[nodiscard]] bool takes_turns() const { return users_.size() > 1; }

  struct Next {
    Job job{};
    AlikeTasks tasks;  ///< one, or all of those that start together
  };
  /// Of each user the first task of its first job of which next() gave none.
  [[nodiscard]] std::vector<Next> first_of_others(std::size_t max_ranges) {
    std::vector<Next> others;
    for (; !turns_.empty() && others.size() < max_ranges; turns_.pop()) {
      User& user = users_.at(turns_.top().user);
      user.begun.clear();
      if (const auto found = next_of(user, 1)) others.push_back(*found);
    }
    return others;
  }
  /// At most `max_ranges` ranges of a job are looked at.
  [[nodiscard]] std::optional<Next> next(std::size_t max_ranges) {
    while (!turns_.empty()) {
      UserTurn turn = turns_.top();
      turns_.pop();
      const auto found = next_of(users_.at(turn.user), max_ranges);
      if (!found) continue;
      turn.share.held += jobs_.cost(found->job) * found->tasks.range.count;
      turn.share.served = ++served_;
      turns_.push(std::move(turn));
      return found;
    }
    return std::nullopt;
  }

 private:
  struct Begun {
    Job job{};
    std::vector<AlikeTasks> rest;
  };
  struct User {
    typename JobQueue<Job>::Jobs::const_iterator next, end;  ///< that are not begun
    std::map<QueueKey, Begun> begun;
  };

  [[nodiscard]] std::optional<Next> next_of(User& user, std::size_t max_ranges) {
    while (user.next != user.end || !user.begun.empty()) {
      QueueKey key;
      Begun job;
      const bool is_begun = user.next == user.end ||
                            (!user.begun.empty() && user.begun.begin()->first < user.next->first);
      if (is_begun) {
        auto first = user.begun.extract(user.begun.begin());
        key = first.key();
        job = std::move(first.mapped());
      } else {
        key = user.next->first;
        job = {user.next->second, jobs_.waiting(user.next->second, max_ranges)};
        ++user.next;
      }
      if (job.rest.empty()) continue;
      Next next{job.job, job.rest.front()};
      if (jobs_.starts_together(job.job)) return next;
      next.tasks.range.count = 1;
      auto& first = job.rest.front().range;
      ++first.first;
      if (--first.count == 0) job.rest.erase(job.rest.begin());
      user.begun.emplace(QueueKey{key.first + 1, key.second}, std::move(job));
      return next;
    }
    return std::nullopt;
  }

  Jobs& jobs_;
  std::priority_queue<UserTurn, std::vector<UserTurn>, std::greater<>> turns_;
  std::map<std::string, User> users_;
  std::uint64_t served_ = 0;  ///< last, of all
};

/// Fills the window up to so many ranges, and about so many tasks. O(tasks log ranges).
template <class Job, class Jobs>
void append_in_turns(DemandWindow& window, const UserQueues<Job>& queues, Jobs& jobs,
                     const WindowBounds& bounds) {
  const auto [max_ranges, max_tasks] = bounds;
  FairOrder<Job, Jobs> order(queues, jobs, max_ranges);
  window.takes_turns = order.takes_turns();
  std::set<JobId> shown;
  for (std::uint32_t tasks = 0; tasks < max_tasks && window.next.size() < max_ranges;) {
    const auto next = order.next(max_ranges);
    if (!next) break;
    const WaitingRange range = jobs.range(next->job, next->tasks);
    shown.insert(range.job);
    if (range.is_gang)
      window.next.push_back(range);
    else
      append_range(window, range);
    tasks += range.count;
  }
  // Else tasks of others that have room nowhere could hide them for ever.
  const std::size_t others = std::min(max_ranges / 2, max_ranges - shown.size());
  for (const auto& other : order.first_of_others(others)) {
    if (window.next.size() == max_ranges) strike_last_repeat(window);
    window.next.push_back(jobs.range(other.job, other.tasks));
  }
}

/// What the window hides of whole kinds; `bounds`: as of a window. Where users take turns each task
/// may become a range of its own, so there are no more of them.
template <class Job, class Jobs>
void append_hidden_in_turns(DemandWindow& window, const UserQueues<Job>& queues, Jobs& jobs,
                            const WindowBounds& bounds) {
  const WindowBounds few{bounds.ranges, static_cast<std::uint32_t>(
                                            std::min<std::size_t>(bounds.ranges, bounds.tasks))};
  append_hidden_kinds(window, queues, few, [&](Job job, const WindowBounds& left) {
    std::uint32_t tasks = 0;
    for (AlikeTasks next : jobs.waiting(job, left.ranges)) {
      if (tasks >= left.tasks) break;
      if (!jobs.starts_together(job))
        next.range.count = std::min(next.range.count, left.tasks - tasks);
      window.next.push_back(jobs.range(job, next));
      tasks += next.range.count;
    }
    return tasks;
  });
}

/// Once all ranges are there: when their users were served.
template <class Job>
void tell_served(DemandWindow& window, const UserQueues<Job>& queues) {
  if (!window.takes_turns) return;
  for (const WaitingRange& range : window.next)
    window.served.try_emplace(range.user, queues.share_of(range.user).served);
}

}  // namespace fairwater::inline policy::inline allocator
