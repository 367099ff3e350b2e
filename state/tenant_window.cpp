// Of TenantJobs: in which order the rest should run, and how long that may take.
#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "policy/core/check.hpp"
#include "policy/prediction/patience.hpp"
#include "state/tenant_jobs.hpp"

namespace fairwater::inline state {
namespace {

/// What makes a tenant's tasks alike.
const std::string& class_of(const JobSpec& spec) {
  return spec.job_class.empty() ? spec.name : spec.job_class;
}

std::int64_t milliseconds_of(WallTime time) { return time.microseconds / 1000; }

/// Appends a range, merged with the one before where it continues it.
void append(DemandWindow& window, const WaitingRange& range) {
  if (!window.next.empty()) {
    auto& last = window.next.back();
    if (last.job == range.job && last.attempt == range.attempt &&
        last.first_index + last.count == range.first_index && !last.home && !range.home) {
      last.count += range.count;
      return;
    }
  }
  window.next.push_back(range);
}

/// Takes the last range out that is of a job which others are of, too.
void strike_last_repeat(DemandWindow& window) {
  auto& ranges = window.next;
  const auto is_repeat = [&](auto last) {
    return std::any_of(ranges.begin(), last,
                       [&](const WaitingRange& range) { return range.job == last->job; });
  };
  for (auto last = ranges.end(); last-- != ranges.begin();) {
    if (!is_repeat(last)) continue;
    ranges.erase(last);
    return;
  }
}

}  // namespace

// -- how long tasks run ---------------------------------------------------------------------------

std::optional<PastRun> past_run(const JobSpec& spec, const TaskResult& result) {
  if (result.reason != EndReason::exited || spec.kind == JobKind::service) return std::nullopt;
  const std::int64_t run_us = result.finished_at.microseconds - result.started_at.microseconds;
  return PastRun{class_of(spec), std::max<std::int64_t>(1, run_us / 1000), result.finished_at};
}

void TenantJobs::remember(std::vector<PastRun> runs) {
  std::stable_sort(runs.begin(), runs.end(), [](const PastRun& a, const PastRun& b) {
    return a.finished_at.microseconds < b.finished_at.microseconds;
  });
  for (const PastRun& run : runs) run_times_.finished(run.task_class, tenant_, run.run_ms);
}

Prediction TenantJobs::expected(const Job& job) const {
  const JobSpec& spec = job.record.spec;
  if (spec.kind == JobKind::service) return {};  // it is not expected to end
  const auto limit_ms = spec.time_limit_ms > 0 ? std::optional(spec.time_limit_ms) : std::nullopt;
  return run_times_.expected(class_of(spec), tenant_, limit_ms).value_or(Prediction{});
}

/// Of jobs one after the other: those that are alike are looked up once.
class TenantJobs::Predictions {
 public:
  explicit Predictions(const TenantJobs& jobs) : jobs_(jobs) {}

  [[nodiscard]] const Prediction& of(const Job& job) {
    if (!last_ || !are_alike(last_->record.spec, job.record.spec))
      prediction_ = jobs_.expected(job);
    last_ = &job;
    return prediction_;
  }

 private:
  static bool are_alike(const JobSpec& one, const JobSpec& other) {
    return one.kind == other.kind && one.time_limit_ms == other.time_limit_ms &&
           class_of(one) == class_of(other);
  }

  const TenantJobs& jobs_;
  const Job* last_ = nullptr;
  Prediction prediction_;
};

WaitingRange TenantJobs::waiting_range(const Job& job, const Alike& tasks,
                                       const Prediction& expected,
                                       std::optional<WallTime> now) const {
  return {.job = job.record.id,
          .first_index = tasks.range.first,
          .count = tasks.range.count,
          .attempt = tasks.range.attempt,
          .demand = job.demand,
          .rule = job.rule,
          .expected_ms = expected.expected_ms,
          .expected_from = expected.source,
          .limit_ms = job.record.spec.time_limit_ms,
          .late_in_ms = now ? lateness_of(job).first - milliseconds_of(*now) : kNeverLate,
          .patience_ms = patience_ms(job.record.spec.time_limit_ms),
          .is_service = job.record.spec.kind == JobKind::service,
          .home = tasks.home,
          .is_gang = job.starts_together(),
          .preemption = preemption_terms(job.record.spec),
          .placement = placement_for(job.record.spec.placement, placement_),
          .user = job.record.spec.user};
}

// -- the window -----------------------------------------------------------------------------------

TenantJobs::QueueKey TenantJobs::key_of(const Job& job) const {
  const JobSpec& spec = job.record.spec;
  switch (policy_) {
    case QueuePolicy::priority:
      return {-std::int64_t{spec.priority}, job.record.id};
    case QueuePolicy::shortest_first:
      return {
          spec.time_limit_ms > 0 ? spec.time_limit_ms : std::numeric_limits<std::int64_t>::max(),
          job.record.id};
    case QueuePolicy::fair:
      return {job.record.tasks.running, job.record.id};
    case QueuePolicy::fifo:
      break;
  }
  return {0, job.record.id};
}

TenantJobs::LateKey TenantJobs::lateness_of(const Job& job) {
  const JobRecord& record = job.record;
  return {milliseconds_of(job.waits_since) + patience_ms(record.spec.time_limit_ms), record.id};
}

void TenantJobs::set_policy(QueuePolicy policy) {
  policy_ = policy;
  ready_.clear();
  turns_.clear();
  for (const auto& [id, job] : jobs_)
    if (job.ready()) ready_[queue_of(job)].emplace(key_of(job), &job);
  for (const auto& [user, jobs] : ready_)
    if (const auto turn = turn_of(user)) turns_.insert(*turn);
}

const std::string& TenantJobs::queue_of(const Job& job) const {
  static const std::string kOfAll;
  return policy_ == QueuePolicy::fair ? job.record.spec.user : kOfAll;
}

UserShare TenantJobs::share_of(const std::string& user) const {
  const auto held = held_.find(user);
  const auto served = served_.find(user);
  return {held == held_.end() ? 0 : held->second, served == served_.end() ? 0 : served->second};
}

std::optional<TenantJobs::UserTurn> TenantJobs::turn_of(const std::string& user) const {
  const auto queue = ready_.find(user);
  if (policy_ != QueuePolicy::fair || queue == ready_.end()) return std::nullopt;
  return UserTurn{share_of(user), queue->second.begin()->first.second, user};
}

std::optional<TenantJobs::NextUsers> TenantJobs::next_users() const {
  if (turns_.size() < 2) return std::nullopt;
  const UserTurn& next = *turns_.begin();
  const UserTurn& second = *std::next(turns_.begin());
  return NextUsers{next.user, next.share, second.user, second.share, turns_.size()};
}

std::vector<TenantJobs::Alike> TenantJobs::alike(const Job& job, std::size_t limit,
                                                 std::uint32_t tasks) {
  std::vector<Alike> all;
  for (const auto& range : job.waiting.ranges(limit)) {
    std::uint32_t next = range.first;
    const std::uint32_t end = range.first + std::min(range.count, tasks);
    tasks -= end - next;
    const auto add_until = [&](std::uint32_t until, NodeId home) {
      if (until > next && all.size() < limit)
        all.push_back({{next, until - next, range.attempt}, home});
      next = until;
    };
    for (auto index = job.homing.lower_bound(range.first);
         index != job.homing.end() && *index < end; ++index) {
      add_until(*index, {});
      add_until(*index + 1, job.tasks.at(*index).node);
    }
    add_until(end, {});
  }
  return all;
}

/// The tasks of ready jobs in a fair order: users in their turns, and of one user the next task is
/// of the job with the fewest running or chosen ones. Jobs are looked at when their turn comes.
class TenantJobs::FairOrder {
 public:
  FairOrder(const TenantJobs& jobs, std::size_t max_users) : jobs_(jobs) {
    for (const UserTurn& turn : jobs.turns_) {
      if (turns_.size() == max_users) break;
      turns_.push(turn);
      served_ = std::max(served_, turn.share.served);
      const Queue& queue = jobs.ready_.at(turn.user);
      users_[turn.user] = {queue.begin(), queue.end(), {}};
    }
  }
  [[nodiscard]] bool takes_turns() const { return users_.size() > 1; }

  struct Next {
    const Job* job = nullptr;
    Alike tasks;  ///< one, or all of those that start together
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
      turn.share.held += found->job->cost * found->tasks.range.count;
      turn.share.served = ++served_;
      turns_.push(std::move(turn));
      return found;
    }
    return std::nullopt;
  }

 private:
  struct JobTurn {
    std::int64_t busy = 0;
    JobId id;
    auto operator<=>(const JobTurn&) const = default;
  };
  struct User {
    Queue::const_iterator next, end;  ///< that are not begun
    std::set<JobTurn> begun;
  };

  [[nodiscard]] std::optional<Next> next_of(User& user, std::size_t max_ranges) {
    while (user.next != user.end || !user.begun.empty()) {
      const bool is_begun =
          user.next == user.end ||
          (!user.begun.empty() &&
           QueueKey{user.begun.begin()->busy, user.begun.begin()->id} < user.next->first);
      JobTurn turn;
      if (is_begun) {
        turn = user.begun.extract(user.begun.begin()).value();
      } else {
        turn = {user.next->first.first, user.next->first.second};
        ++user.next;
        const Job& job = jobs_.other(turn.id);
        rest_[turn.id] = alike(job, max_ranges, job.claimed());
      }
      auto& rest = rest_.at(turn.id);
      if (rest.empty()) continue;
      const Job& job = jobs_.jobs_.at(turn.id);
      Next next{&job, rest.front()};
      if (job.starts_together()) {
        rest.clear();
        return next;
      }
      next.tasks.range.count = 1;
      auto& first = rest.front().range;
      ++first.first;
      if (--first.count == 0) rest.erase(rest.begin());
      user.begun.insert({turn.busy + 1, turn.id});
      return next;
    }
    return std::nullopt;
  }

  const TenantJobs& jobs_;
  std::priority_queue<UserTurn, std::vector<UserTurn>, std::greater<>> turns_;
  std::map<std::string, User> users_;
  std::map<JobId, std::vector<Alike>> rest_;  ///< of jobs that were looked at
  std::uint64_t served_ = 0;                  ///< last, of all
};

void TenantJobs::append_fair(DemandWindow& window, std::size_t max_ranges, std::uint32_t max_tasks,
                             std::optional<WallTime> now) const {
  FairOrder order(*this, max_ranges);
  window.takes_turns = order.takes_turns();
  std::map<JobId, Prediction> predictions;
  const auto range_of = [&](const FairOrder::Next& next) {
    const auto [known, is_new] = predictions.try_emplace(next.job->record.id);
    if (is_new) known->second = expected(*next.job);
    return waiting_range(*next.job, next.tasks, known->second, now);
  };
  for (std::uint32_t tasks = 0; tasks < max_tasks && window.next.size() < max_ranges;) {
    const auto next = order.next(max_ranges);
    if (!next) break;
    const WaitingRange range = range_of(*next);
    if (next->job->starts_together())
      window.next.push_back(range);
    else
      append(window, range);
    tasks += range.count;
  }
  // Else tasks of others that have room nowhere could hide them for ever.
  const std::size_t others = std::min(max_ranges / 2, max_ranges - predictions.size());
  for (const FairOrder::Next& other : order.first_of_others(others)) {
    if (window.next.size() == max_ranges) strike_last_repeat(window);
    window.next.push_back(range_of(other));
  }
}

std::uint32_t TenantJobs::append_job(DemandWindow& window, const Job& job,
                                     const Prediction& prediction, std::size_t max_ranges,
                                     std::uint32_t max_tasks, std::optional<WallTime> now) const {
  ++others_looked_at_;
  std::uint32_t tasks = 0;
  for (const auto& next : alike(job, max_ranges - window.next.size(), job.claimed())) {
    if (tasks >= max_tasks) break;
    window.next.push_back(waiting_range(job, next, prediction, now));
    tasks += next.range.count;
  }
  return tasks;
}

DemandWindow TenantJobs::window(std::size_t max_ranges, std::uint32_t max_tasks,
                                std::uint64_t seen_deal, std::optional<WallTime> now) const {
  DemandWindow window;
  window.tenant = tenant_;
  window.pending = pending_;
  window.pending_tasks = pending_tasks_;
  window.seen_deal = seen_deal;
  append_growth(window, max_ranges, now);
  if (late_.empty()) return window;
  if (policy_ == QueuePolicy::fair) {
    append_fair(window, max_ranges, max_tasks, now);
  } else {
    std::uint32_t tasks = 0;
    Predictions predictions(*this);
    for (const auto& [user, queue] : ready_) {
      window.next.reserve(std::min(max_ranges, queue.size()));
      for (const auto& [key, job] : queue) {
        if (window.next.size() >= max_ranges || tasks >= max_tasks) break;
        tasks += append_job(window, *job, predictions.of(*job), max_ranges, max_tasks - tasks, now);
      }
    }
  }
  if (now) show_first_late(window, max_ranges, now);
  if (window.takes_turns)
    for (const WaitingRange& range : window.next)
      window.served.try_emplace(range.user, share_of(range.user).served);
  return window;
}

void TenantJobs::append_growth(DemandWindow& window, std::size_t max_ranges,
                               std::optional<WallTime> now) const {
  for (const JobId id : growing_) {
    if (window.growth.size() >= max_ranges) return;
    const Job& job = other(id);
    const Prediction prediction = expected(job);
    for (const auto& next : alike(job, max_ranges - window.growth.size(), room_to_grow(job.record)))
      window.growth.push_back(waiting_range(job, next, prediction, now));
  }
}

/// Whatever the order: else the window could hide it for ever.
void TenantJobs::show_first_late(DemandWindow& window, std::size_t max_ranges,
                                 std::optional<WallTime> now) const {
  const JobId first_late = late_.begin()->second;
  const auto is_its = [&](const WaitingRange& range) { return range.job == first_late; };
  if (std::any_of(window.next.begin(), window.next.end(), is_its)) return;
  if (window.next.size() == max_ranges) window.next.pop_back();
  const Job& job = jobs_.at(first_late);
  (void)append_job(window, job, expected(job), window.next.size() + 1, 1, now);
}

std::uint64_t TenantJobs::tasks_before(JobId id, std::uint32_t index) const {
  std::uint64_t before = 0;
  const auto place = jobs_.find(id);
  if (place == jobs_.end()) return before;
  const auto queue = ready_.find(queue_of(place->second));
  if (queue == ready_.end()) return before;
  const QueueKey own = key_of(place->second);
  for (const auto& [key, job] : queue->second) {
    if (own < key) break;  // it is not among those that may start, and would stand here
    if (key != own) {
      before += job->claimed();
      continue;
    }
    for (const auto& range : job->waiting.ranges(job->waiting.size()))
      if (range.first < index) before += std::min(range.count, index - range.first);
    return before;
  }
  return before;
}

std::optional<std::uint32_t> TenantJobs::place_to_grow(JobId id, std::uint32_t index) const {
  const auto place = jobs_.find(id);
  if (place == jobs_.end() || !is_elastic(place->second.record.spec)) return std::nullopt;
  const Job& job = place->second;
  std::uint32_t before = 0;
  for (const auto& range : job.waiting.ranges(job.waiting.size()))
    if (range.first < index) before += std::min(range.count, index - range.first);
  if (!job.waiting.contains(index) || before < job.claimed()) return std::nullopt;
  return before - job.claimed();
}

bool TenantJobs::waits_to_grow(JobId id, std::uint32_t index) const {
  return place_to_grow(id, index).has_value();
}

bool TenantJobs::is_beyond_limit(JobId id, std::uint32_t index) const {
  const auto place = place_to_grow(id, index);
  if (!place) return false;
  const Job& job = jobs_.at(id);
  return job.record.growth_limit.tasks > 0 && *place + job.claimed() >= room_to_grow(job.record);
}

bool TenantJobs::waits(JobId id, std::uint32_t index) const {
  auto place = jobs_.find(id);
  return place != jobs_.end() && place->second.waiting.contains(index);
}

}  // namespace fairwater::inline state
