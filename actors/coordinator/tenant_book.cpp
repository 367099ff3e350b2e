#include "actors/coordinator/tenant_book.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <variant>

#include "policy/core/check.hpp"

namespace fairwater {
namespace {

PlacementRulePtr rule_of(const JobSpec& spec) {
  if (spec.sites.empty() && spec.labels.empty()) return nullptr;
  auto rule = std::make_shared<PlacementRule>();
  rule->sites = spec.sites;
  if (!spec.labels.empty()) {
    auto labels = LabelExpression::parse(spec.labels);
    FAIRWATER_CHECK(std::holds_alternative<LabelExpression>(labels), "an admitted job's labels");
    rule->labels = std::get<LabelExpression>(labels);
  }
  return rule;
}

/// Appends a range, merged with the one before where it continues it.
void append(DemandWindow& window, const WaitingRange& range) {
  if (!window.next.empty()) {
    auto& last = window.next.back();
    if (last.job == range.job && last.attempt == range.attempt &&
        last.first_index + last.count == range.first_index) {
      last.count += range.count;
      return;
    }
  }
  window.next.push_back(range);
}

}  // namespace

TenantBook::TenantBook(TenantId tenant, QueuePolicy policy, ResourceCatalog catalog)
    : tenant_(tenant), policy_(policy), catalog_(std::move(catalog)) {}

// -- bookkeeping ----------------------------------------------------------------------------------

void TenantBook::count(const Job& job, bool add) {
  if (!job.ready()) return;
  const QueueKey key = key_of(job);
  const auto tasks = job.waiting.size();
  ResourceVector amount;
  for (std::size_t r = 0; r < kMaxResources; ++r) amount[r] = job.demand[r] * Amount{tasks};
  if (add) {
    ready_.insert(key);
    pending_ += amount;
    pending_tasks_ += tasks;
  } else {
    ready_.erase(key);
    pending_ -= amount;
    pending_tasks_ -= tasks;
  }
}

template <class Change>
auto TenantBook::change(Job& job, Change&& apply) {
  count(job, false);
  if constexpr (std::is_void_v<decltype(apply())>) {
    apply();
    count(job, true);
  } else {
    auto result = apply();
    count(job, true);
    return result;
  }
}

void TenantBook::add(UnfinishedJob unfinished) {
  Job job;
  auto demand = catalog_.to_vector(unfinished.record.spec.resources, "resources");
  FAIRWATER_CHECK(demand.engaged(), "an admitted job's resources");
  job.demand = *demand;
  job.rule = rule_of(unfinished.record.spec);
  job.record = std::move(unfinished.record);
  job.waits_for = {unfinished.waits_for.begin(), unfinished.waits_for.end()};
  std::uint32_t next = 0;  // tasks without a record wait for their first attempt
  for (auto& task : unfinished.tasks) {
    job.waiting.add(next, task.index - next, 1);
    next = task.index + 1;
    const auto state = task.record.state;
    if (state == TaskState::pending && task.record.waits_until)
      job.backing_off.insert(task.index);
    else if (state == TaskState::pending)
      job.waiting.add(task.index, 1, task.record.attempt);
    if (state == TaskState::pending || state == TaskState::running)
      job.tasks.emplace(task.index, std::move(task.record));
  }
  job.waiting.add(next, job.record.tasks.total - next, 1);
  if (job.record.cancelled) {
    job.waiting.clear();
    job.backing_off.clear();
  }
  const JobId id = job.record.id;
  auto [place, added] = jobs_.emplace(id, std::move(job));
  FAIRWATER_CHECK(added, "a job is added once");
  bytes_ += spec_bytes(place->second.record.spec);
  count(place->second, true);
}

void TenantBook::erase(std::map<JobId, Job>::iterator job) {
  bytes_ -= spec_bytes(job->second.record.spec);
  jobs_.erase(job);
}

const JobRecord& TenantBook::record(JobId job) const {
  auto place = jobs_.find(job);
  FAIRWATER_CHECK(place != jobs_.end(), "only live jobs are in the book");
  return place->second.record;
}

// -- grants and results ---------------------------------------------------------------------------

std::optional<LaunchOrder> TenantBook::grant(const Grant& grant, NodeId node) {
  auto place = jobs_.find(grant.task.job);
  if (place == jobs_.end()) return std::nullopt;
  auto& job = place->second;
  const bool waited =
      change(job, [&] { return job.waiting.take(grant.task.index, grant.task.attempt); });
  FAIRWATER_CHECK(waited || job.record.cancelled, "a grant is for a waiting task");
  auto& task = job.tasks[grant.task.index];
  task.state = TaskState::running;
  task.attempt = grant.task.attempt;
  task.incarnation = grant.task.incarnation;
  task.node = node;
  task.cost = grant.cost;
  task.waits_until = {};
  ++job.record.tasks.running;
  return launch_order(job.record, grant.task);
}

AttemptOutcome TenantBook::settle(std::map<JobId, Job>::iterator place, const TaskKey& key,
                                  const TaskRecord& after) {
  auto& job = place->second;
  auto& counts = job.record.tasks;
  AttemptOutcome outcome;
  --counts.running;
  change(job, [&] {
    switch (after.state) {
      case TaskState::pending:
        job.tasks[key.index] = after;
        if (after.waits_until) {
          job.backing_off.insert(key.index);
          outcome.backing_off = BackingOff{{key.job, key.index, after.attempt}, after.waits_until};
        } else {
          job.waiting.add(key.index, 1, after.attempt);
        }
        return;
      case TaskState::succeeded:
        ++counts.succeeded;
        break;
      case TaskState::failed:
        ++counts.failed;
        break;
      case TaskState::cancelled:
        ++counts.cancelled;
        break;
      case TaskState::running:
        FAIRWATER_CHECK(false, "a result ends an attempt");
        break;
    }
    job.tasks.erase(key.index);
  });
  outcome.job_ended = counts.running == 0 && counts.pending() == 0;
  if (outcome.job_ended) erase(place);
  return outcome;
}

std::pair<std::map<JobId, TenantBook::Job>::iterator, const TaskRecord*> TenantBook::running(
    const TaskKey& key) {
  auto place = jobs_.find(key.job);
  if (place == jobs_.end()) return {place, nullptr};
  const auto task = place->second.tasks.find(key.index);
  if (task == place->second.tasks.end() || task->second.state != TaskState::running ||
      run_of(key.job, key.index, task->second) != key)
    return {place, nullptr};
  return {place, &task->second};
}

AttemptOutcome TenantBook::end(const TaskResult& result, WallTime now) {
  const auto [place, task] = running(result.task);
  if (!task) return {};
  return settle(place, result.task, after_result(place->second.record, *task, result, now));
}

AttemptOutcome TenantBook::give_back(const TasksReturned& returned, const TaskKey& key,
                                     WallTime now) {
  const auto [place, task] = running(key);
  if (!task) return {};
  const auto& job = place->second.record;
  if (returned.node_lost) return settle(place, key, after_node_lost(job, *task, key, now));
  TaskRecord after = *task;
  after.state = job.cancelled ? TaskState::cancelled : TaskState::pending;
  after.attempt = key.attempt + 1;
  return settle(place, key, after);
}

// -- backing off ----------------------------------------------------------------------------------

std::vector<BackingOff> TenantBook::backing_off() const {
  std::vector<BackingOff> all;
  for (const auto& [id, job] : jobs_)
    for (const auto index : job.backing_off) {
      const auto& task = job.tasks.at(index);
      all.push_back({{id, index, task.attempt}, task.waits_until});
    }
  return all;
}

void TenantBook::end_backoff(const TaskKey& key) {
  auto place = jobs_.find(key.job);
  if (place == jobs_.end()) return;
  auto& job = place->second;
  if (!job.backing_off.contains(key.index) || job.tasks.at(key.index).attempt != key.attempt)
    return;
  change(job, [&] {
    job.backing_off.erase(key.index);
    job.waiting.add(key.index, 1, key.attempt);
  });
}

const TaskRecord* TenantBook::backing_off(JobId id, std::uint32_t index) const {
  const auto place = jobs_.find(id);
  if (place == jobs_.end() || !place->second.backing_off.contains(index)) return nullptr;
  return &place->second.tasks.at(index);
}

// -- cancelling and dependencies ------------------------------------------------------------------

void TenantBook::hold(JobId id) {
  auto place = jobs_.find(id);
  if (place != jobs_.end()) change(place->second, [&] { place->second.held = true; });
}

void TenantBook::release_hold(JobId id) {
  auto place = jobs_.find(id);
  if (place != jobs_.end()) change(place->second, [&] { place->second.held = false; });
}

std::vector<RunningTask> TenantBook::cancel(JobId id, const std::string& reason) {
  auto place = jobs_.find(id);
  if (place == jobs_.end()) return {};
  auto& job = place->second;
  change(job, [&] {
    job.record.tasks.cancelled += job.record.tasks.pending();
    job.record.cancelled = true;
    job.record.cancel_reason = reason;
    job.waiting.clear();
    job.backing_off.clear();
  });
  std::vector<RunningTask> running;
  for (const auto& [index, task] : job.tasks)
    if (task.state == TaskState::running) running.push_back({task.node, run_of(id, index, task)});
  if (running.empty()) erase(place);
  return running;
}

std::vector<RunningTask> TenantBook::to_stop() const {
  std::vector<RunningTask> running;
  for (const auto& [id, job] : jobs_) {
    if (!job.record.cancelled) continue;
    for (const auto& [index, task] : job.tasks)
      if (task.state == TaskState::running) running.push_back({task.node, run_of(id, index, task)});
  }
  return running;
}

void TenantBook::dependency_met(JobId met) {
  for (auto& known : jobs_) {
    auto& job = known.second;
    if (job.waits_for.contains(met)) change(job, [&] { job.waits_for.erase(met); });
  }
}

std::vector<JobId> TenantBook::waiting_for(JobId awaited) const {
  std::vector<JobId> result;
  for (const auto& [id, job] : jobs_)
    if (job.waits_for.contains(awaited)) result.push_back(id);
  return result;
}

const std::set<JobId>& TenantBook::dependencies(JobId id) const {
  auto place = jobs_.find(id);
  FAIRWATER_CHECK(place != jobs_.end(), "only live jobs are in the book");
  return place->second.waits_for;
}

// -- the window -----------------------------------------------------------------------------------

TenantBook::QueueKey TenantBook::key_of(const Job& job) const {
  const auto priority = policy_ == QueuePolicy::priority ? job.record.spec.priority : 0;
  return {-std::int64_t{priority}, job.record.id};
}

void TenantBook::set_policy(QueuePolicy policy) {
  policy_ = policy;
  ready_.clear();
  for (const auto& [id, job] : jobs_)
    if (job.ready()) ready_.insert(key_of(job));
}

/// Fair among the tenant's jobs: the next task is always of the job with the fewest running or
/// chosen ones.
void TenantBook::append_fair(DemandWindow& window, std::size_t max_ranges,
                             std::uint32_t max_tasks) const {
  struct Turn {
    std::uint32_t busy;
    JobId id;
    auto operator<=>(const Turn&) const = default;
  };
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
  std::map<JobId, std::vector<WaitingTasks::Range>> rest;
  for (const auto& key : ready_) {
    const auto& job = jobs_.at(key.second);
    turns.push({job.record.tasks.running, key.second});
    rest[key.second] = job.waiting.ranges(max_ranges);
  }
  for (std::uint32_t tasks = 0; tasks < max_tasks && !turns.empty();) {
    if (window.next.size() >= max_ranges) return;
    const auto turn = turns.top();
    turns.pop();
    auto& ranges = rest[turn.id];
    if (ranges.empty()) continue;
    const auto& job = jobs_.at(turn.id);
    auto& first = ranges.front();
    append(window, {turn.id, first.first, 1, first.attempt, job.demand, job.rule});
    ++tasks;
    ++first.first;
    if (--first.count == 0) ranges.erase(ranges.begin());
    turns.push({turn.busy + 1, turn.id});
  }
}

DemandWindow TenantBook::window(std::size_t max_ranges, std::uint32_t max_tasks,
                                std::uint64_t seen_deal) const {
  DemandWindow window;
  window.tenant = tenant_;
  window.pending = pending_;
  window.pending_tasks = pending_tasks_;
  window.seen_deal = seen_deal;
  if (policy_ == QueuePolicy::fair) {
    append_fair(window, max_ranges, max_tasks);
    return window;
  }
  std::uint32_t tasks = 0;
  for (const auto& key : ready_) {
    const auto& job = jobs_.at(key.second);
    for (const auto& range : job.waiting.ranges(max_ranges - window.next.size())) {
      if (tasks >= max_tasks) return window;
      window.next.push_back(
          {key.second, range.first, range.count, range.attempt, job.demand, job.rule});
      tasks += range.count;
    }
    if (window.next.size() >= max_ranges) return window;
  }
  return window;
}

std::uint64_t TenantBook::tasks_before(JobId id, std::uint32_t index) const {
  std::uint64_t before = 0;
  for (const auto& key : ready_) {
    const auto& job = jobs_.at(key.second);
    if (key.second != id) {
      before += job.waiting.size();
      continue;
    }
    for (const auto& range : job.waiting.ranges(job.waiting.size()))
      if (range.first < index) before += std::min(range.count, index - range.first);
    return before;
  }
  return before;
}

bool TenantBook::waits(JobId id, std::uint32_t index) const {
  auto place = jobs_.find(id);
  return place != jobs_.end() && place->second.waiting.contains(index);
}

}  // namespace fairwater
