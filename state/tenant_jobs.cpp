#include "state/tenant_jobs.hpp"

#include "policy/core/check.hpp"

namespace fairwater::inline state {

namespace {

/// What it counts of the units that its user holds.
Units held_by(const TaskRecord& task) {
  const bool holds = task.state == TaskState::running && task.step != GrantStep::growth;
  return holds ? task.cost : 0;
}

}  // namespace

TenantJobs::TenantJobs(TenantId tenant, QueuePolicy policy, ResourceCatalog catalog, DealMode mode)
    : tenant_(tenant),
      policy_(policy),
      catalog_(std::move(catalog)),
      mode_(mode),
      ready_(policy == QueuePolicy::fair) {}

// -- bookkeeping ----------------------------------------------------------------------------------

void TenantJobs::count(const Job& job, bool add) {
  const std::string& user = job.record.spec.user;
  ready_.hold(user, add ? job.held : -job.held);
  if (!job.ready()) return;
  const std::uint32_t tasks = job.claimed();
  ResourceVector amount;
  for (std::size_t r = 0; r < kMaxResources; ++r) amount[r] = job.demand[r] * Amount{tasks};
  if (add) {
    late_.insert(lateness_of(job));
    ready_.count_tasks(job.kind, tasks);
    pending_ += amount;
    pending_tasks_ += tasks;
  } else {
    late_.erase(lateness_of(job));
    ready_.count_tasks(job.kind, -std::int64_t{tasks});
    FAIRWATER_CHECK(pending_tasks_ >= tasks && amount.fits(pending_),
                    "what waits is counted before it is taken out");
    pending_ -= amount;
    pending_tasks_ -= tasks;
  }
}

template <class Change>
void TenantJobs::change(Job& job, Change&& apply) {
  const Places before = places_of(job);
  count(job, false);
  apply_durable(apply);
  count(job, true);
  move(job, before, places_of(job));
}

TenantJobs::Places TenantJobs::places_of(const Job& job) const {
  Places places;
  if (job.ready()) places.ready = {key_of(job), job.kind};
  if (job.would_grow()) places.growth = {{0, job.record.id}, job.kind};
  return places;
}

void TenantJobs::move(const Job& job, const Places& before, const Places& now) {
  if (before.ready != now.ready) {
    const std::string& user = job.record.spec.user;
    if (before.ready) ready_.erase(user, before.ready->key, before.ready->kind);
    if (now.ready) ready_.insert(user, now.ready->key, now.ready->kind, &job);
  }
  if (before.growth != now.growth) {
    const bool was_there =
        !before.growth || growing_.erase(before.growth->key, before.growth->kind);
    const bool is_new = !now.growth || growing_.insert(now.growth->key, now.growth->kind, &job);
    FAIRWATER_CHECK(was_there && is_new, "a job would grow where it was put, and once");
  }
}

ResourceVector TenantJobs::demand_of(const JobRecord& job) const {
  const auto demand = catalog_.to_vector(amounts_at(job.spec, job.memory_step), "resources");
  FAIRWATER_CHECK(demand.engaged(), "an admitted job's resources");
  return *demand;
}

void TenantJobs::set_demand(Job& job) const {
  job.demand = demand_of(job.record);
  job.cost = mode_ == DealMode::slots
                 ? 1
                 : cost_in_units(job.demand, catalog_.granules(), catalog_.units());
  const JobSpec& spec = job.record.spec;
  const std::uint32_t at_once = spec.gang || is_elastic(spec) ? std::max(1U, spec.tasks_min) : 1U;
  const auto preempts_below = spec.preempt ? std::optional(spec.priority) : std::nullopt;
  job.kind = kind_of(job.demand, at_once, job.rule.get(), preempts_below);
}

std::uint32_t TenantJobs::granted_step(const JobSpec& spec, const Grant& grant) const {
  const auto memory = catalog_.index_of("memory");
  return memory ? memory_step_of(spec, grant.demand[*memory]) : 0;
}

void TenantJobs::add(UnfinishedJob unfinished) {
  Job job;
  auto rule = placement_of(unfinished.record.spec);
  FAIRWATER_CHECK(rule.engaged(), "an admitted job's placement");
  job.rule = std::move(*rule);
  job.record = std::move(unfinished.record);
  set_demand(job);
  ready_.know(job.record.spec.user);
  job.waits_since = job.record.submitted_at;
  job.awaits_limit = is_elastic(job.record.spec) && !job.record.spec.job_class.empty();
  job.waits_for = {unfinished.waits_for.begin(), unfinished.waits_for.end()};
  for (const JobId awaited : job.waits_for) dependents_[awaited].insert(job.record.id);
  std::uint32_t next = 0;
  const auto wait_for_first_attempt = [&](std::uint32_t end) {  // tasks without a record
    if (!job.record.winding_down) job.waiting.add(next, end - next, 1);
  };
  for (auto& [index, task] : unfinished.tasks) {
    wait_for_first_attempt(index);
    next = index + 1;
    if (task.state == TaskState::pending && task.waits_until)
      job.backing_off.insert(index);
    else if (task.state == TaskState::pending)
      job.waiting.add(index, 1, task.attempt);
    const bool may_run_again = job.record.spec.gang || task.state == TaskState::pending ||
                               task.state == TaskState::running;
    job.held += held_by(task);
    if (may_run_again) job.tasks.emplace(index, std::move(task));
  }
  wait_for_first_attempt(job.record.tasks.total);
  if (job.record.cancelled) {
    job.waiting.clear();
    job.backing_off.clear();
  }
  const JobId id = job.record.id;
  auto [place, added] = jobs_.emplace(id, std::move(job));
  FAIRWATER_CHECK(added, "a job is added once");
  bytes_ += spec_bytes(place->second.record.spec);
  count(place->second, true);
  move(place->second, {}, places_of(place->second));
}

void TenantJobs::erase(std::map<JobId, Job>::iterator job) {
  const std::size_t bytes = spec_bytes(job->second.record.spec);
  FAIRWATER_CHECK(bytes <= bytes_, "a job's bytes were counted when it came");
  bytes_ -= bytes;
  for (const JobId awaited : job->second.waits_for) {
    const auto dependents = dependents_.find(awaited);
    dependents->second.erase(job->first);
    if (dependents->second.empty()) dependents_.erase(dependents);
  }
  jobs_.erase(job);
  FAIRWATER_CHECK(!jobs_.empty() || (bytes_ == 0 && pending_tasks_ == 0 && !ready_.is_any_held()),
                  "without jobs nothing waits and nothing is held");
}

const JobRecord& TenantJobs::record(JobId job) const {
  auto place = jobs_.find(job);
  FAIRWATER_CHECK(place != jobs_.end(), "only live jobs are known");
  return place->second.record;
}

// -- grants and results ---------------------------------------------------------------------------

std::optional<LaunchOrder> TenantJobs::grant(const Grant& grant, NodeId node, Moment moment) {
  auto place = jobs_.find(grant.task.job);
  if (place == jobs_.end()) return std::nullopt;
  auto& job = place->second;
  ready_.serve(job.record.spec.user, moment.record);
  change(job, [&] {
    const bool waited = job.waiting.take(grant.task.index, grant.task.attempt);
    job.homing.erase(grant.task.index);
    FAIRWATER_CHECK(waited || job.record.cancelled, "a grant is for a waiting task");
    grant_task(job.record, job.tasks[grant.task.index], grant, node, moment,
               granted_step(job.record.spec, grant));
    job.held += held_by(job.tasks.at(grant.task.index));
  });
  if (!job.text) job.text.emplace(job.record.spec);
  LaunchOrder order =
      launch_order(job.record, *job.text, grant.task, job.tasks.at(grant.task.index).memory_step);
  order.devices = grant.devices;
  return order;
}

template <class Event>
AttemptOutcome TenantJobs::settle(const TaskKey& key, Event&& event) {
  const auto place = jobs_.find(key.job);
  if (place == jobs_.end()) return {};
  auto& job = place->second;
  const auto task = job.tasks.find(key.index);
  if (task == job.tasks.end() || !is_run(task->second, task->second.node, key)) return {};
  AttemptOutcome outcome;
  const bool was_breaking = is_breaking(job.record);
  change(job, [&] {
    const std::uint32_t step = job.record.memory_step;
    job.held -= held_by(task->second);
    event(job.record, task->second);
    if (job.record.memory_step != step) set_demand(job);
    sort_in(job, key.index, outcome);
    if (starts_over(job.record)) gather_gang(job);
  });
  if (is_breaking(job.record) && !was_breaking) outcome.to_stop = running(job);
  outcome.out_of_work = has_run_out_of_work(job.record);
  outcome.job_ended = is_terminal(state_of(job.record));
  if (outcome.job_ended && job.record.spec.measures_tasks)
    outcome.measured_class = job.record.spec.job_class;
  if (outcome.job_ended) erase(place);
  return outcome;
}

bool TenantJobs::gathers(JobId id) const {
  const auto job = jobs_.find(id);
  return job != jobs_.end() && is_breaking(job->second.record) &&
         job->second.record.tasks.failed == 0;
}

std::vector<GangPart> TenantJobs::parts_of_gang(JobId id) const {
  const auto place = jobs_.find(id);
  FAIRWATER_CHECK(place != jobs_.end(), "only live jobs are known");
  return parts_of(place->second.tasks);
}

void TenantJobs::sort_in(Job& job, std::uint32_t index, AttemptOutcome& outcome) {
  const auto task = job.tasks.find(index);
  const TaskRecord& record = task->second;
  if (record.state != TaskState::pending) {
    if (!job.record.spec.gang) job.tasks.erase(task);
  } else if (record.waits_until) {
    job.backing_off.insert(index);
    outcome.backing_off = BackingOff{{job.record.id, index, record.attempt}, record.waits_until};
  } else {
    job.waiting.add(index, 1, record.attempt);
  }
}

void TenantJobs::gather_gang(Job& job) {
  for (auto& [index, task] : job.tasks) {
    if (task.state != TaskState::succeeded) continue;
    start_over(job.record, task);
    job.waiting.add(index, 1, task.attempt);
  }
}

std::vector<RunningTask> TenantJobs::running(const Job& job) {
  std::vector<RunningTask> running;
  for (const auto& [index, task] : job.tasks)
    if (task.state == TaskState::running)
      running.push_back({task.node, run_of(job.record.id, index, task)});
  return running;
}

AttemptOutcome TenantJobs::end(const TaskResult& result, WallTime now) {
  if (const auto job = jobs_.find(result.task.job); job != jobs_.end())
    if (const auto run = past_run(job->second.record.spec, result))
      run_times_.finished(run->task_class, tenant_, run->run_ms);
  return settle(result.task,
                [&](JobRecord& job, TaskRecord& task) { end_task(job, task, result, now); });
}

AttemptOutcome TenantJobs::give_back(const TaskKey& key, bool node_lost, WallTime now) {
  return settle(
      key, [&](JobRecord& job, TaskRecord& task) { requeue_task(job, task, key, node_lost, now); });
}

// -- backing off ----------------------------------------------------------------------------------

std::vector<BackingOff> TenantJobs::backing_off() const {
  std::vector<BackingOff> all;
  for (const auto& [id, job] : jobs_)
    for (const auto index : job.backing_off) {
      const auto& task = job.tasks.at(index);
      all.push_back({{id, index, task.attempt}, task.waits_until});
    }
  return all;
}

bool TenantJobs::end_backoff(const TaskKey& key) {
  auto place = jobs_.find(key.job);
  if (place == jobs_.end()) return false;
  auto& job = place->second;
  if (!job.backing_off.contains(key.index) || job.tasks.at(key.index).attempt != key.attempt)
    return false;
  const bool is_service = job.record.spec.kind == JobKind::service;
  change(job, [&] {
    job.backing_off.erase(key.index);
    if (is_service) job.homing.insert(key.index);
    if (is_service && job.waiting.empty()) job.waits_since = job.tasks.at(key.index).waits_until;
    job.waiting.add(key.index, 1, key.attempt);
  });
  return is_service;
}

void TenantJobs::end_homing(const TaskKey& key) {
  const auto place = jobs_.find(key.job);
  if (place == jobs_.end()) return;
  auto& job = place->second;
  const auto task = job.tasks.find(key.index);
  if (task != job.tasks.end() && task->second.attempt == key.attempt) job.homing.erase(key.index);
}

std::optional<std::uint32_t> TenantJobs::waits_out(JobId id, std::uint32_t index) const {
  const auto place = jobs_.find(id);
  if (place == jobs_.end()) return std::nullopt;
  const Job& job = place->second;
  if (!job.record.spec.gang)
    return job.backing_off.contains(index) ? std::optional{index} : std::nullopt;
  const auto last = std::max_element(
      job.backing_off.begin(), job.backing_off.end(), [&](std::uint32_t one, std::uint32_t other) {
        return job.tasks.at(one).waits_until < job.tasks.at(other).waits_until;
      });
  return last == job.backing_off.end() ? std::nullopt : std::optional{*last};
}

const TaskRecord* TenantJobs::backing_off(JobId id, std::uint32_t index) const {
  const auto place = jobs_.find(id);
  if (place == jobs_.end() || !place->second.backing_off.contains(index)) return nullptr;
  return &place->second.tasks.at(index);
}

// -- cancelling and dependencies ------------------------------------------------------------------

void TenantJobs::hold(JobId id) {
  auto place = jobs_.find(id);
  if (place != jobs_.end()) change(place->second, [&] { ++place->second.holds; });
}

void TenantJobs::release_hold(JobId id) {
  auto place = jobs_.find(id);
  if (place == jobs_.end()) return;
  FAIRWATER_CHECK(place->second.holds > 0, "a hold is released once");
  change(place->second, [&] { --place->second.holds; });
}

std::vector<RunningTask> TenantJobs::cancel(JobId id, const std::string& reason, WallTime now) {
  auto place = jobs_.find(id);
  if (place == jobs_.end()) return {};
  auto& job = place->second;
  change(job, [&] {
    (void)cancel_job(job.record, reason, now);
    job.waiting.clear();
    job.backing_off.clear();
    job.homing.clear();
  });
  std::vector<RunningTask> to_stop = running(job);
  if (to_stop.empty()) erase(place);
  return to_stop;
}

std::vector<RunningTask> TenantJobs::to_stop() const {
  std::vector<RunningTask> all;
  for (const auto& [id, job] : jobs_) {
    const bool stops = job.record.cancelled || is_breaking(job.record);
    for (const RunningTask& task : running(job))
      if (stops || job.tasks.at(task.key.index).reclaimed) all.push_back(task);
  }
  return all;
}

// -- growth ---------------------------------------------------------------------------------------

std::vector<RunningTask> TenantJobs::reclaim(const TaskKey& key) {
  const auto place = jobs_.find(key.job);
  if (place == jobs_.end()) return {};
  Job& job = place->second;
  const auto found = job.tasks.find(key.index);
  if (found == job.tasks.end() || !is_run(found->second, found->second.node, key)) return {};
  const std::vector<RunningTask> told =
      job.record.spec.gang ? running(job) : std::vector{RunningTask{found->second.node, key}};
  for (const RunningTask& task : told) job.tasks.at(task.key.index).reclaimed = true;
  return told;
}

std::vector<RunningTask> TenantJobs::members_of(JobId job) const {
  const auto place = jobs_.find(job);
  return place == jobs_.end() ? std::vector<RunningTask>{} : running(place->second);
}

std::vector<JobId> TenantJobs::with_members() const {
  std::vector<JobId> all;
  for (const auto& [id, job] : jobs_)
    if (follows_members(job.record.spec)) all.push_back(id);
  return all;
}

std::vector<JobId> TenantJobs::growing_of(const std::string& job_class) const {
  std::vector<JobId> all;
  for (const auto& [id, job] : jobs_) {
    const JobRecord& record = job.record;
    if (is_elastic(record.spec) && record.spec.job_class == job_class && !record.cancelled &&
        !record.winding_down)
      all.push_back(id);
  }
  return all;
}

std::set<std::string> TenantJobs::elastic_classes() const {
  std::set<std::string> classes;
  for (const auto& [id, job] : jobs_)
    if (job.awaits_limit) classes.insert(job.record.spec.job_class);
  return classes;
}

void TenantJobs::know_limit(JobId id) {
  const auto place = jobs_.find(id);
  if (place != jobs_.end()) change(place->second, [&] { place->second.awaits_limit = false; });
}

void TenantJobs::limit_growth(JobId id, const GrowthLimit& limit) {
  const auto place = jobs_.find(id);
  if (place != jobs_.end())
    change(place->second, [&] { place->second.record.growth_limit = limit; });
}

std::vector<JobId> TenantJobs::out_of_work() const {
  std::vector<JobId> all;
  for (const auto& [id, job] : jobs_)
    if (has_run_out_of_work(job.record)) all.push_back(id);
  return all;
}

bool TenantJobs::wind_down(JobId id, WallTime now) {
  const auto place = jobs_.find(id);
  if (place == jobs_.end()) return false;
  Job& job = place->second;
  change(job, [&] {
    if (!fairwater::wind_down(job.record, now)) return;
    job.waiting.clear();
    for (const auto& [index, task] : job.tasks)
      if (task.state == TaskState::pending && !job.backing_off.contains(index))
        job.waiting.add(index, 1, task.attempt);
  });
  const bool has_ended = is_terminal(state_of(job.record));
  if (has_ended) erase(place);
  return has_ended;
}

void TenantJobs::dependency_met(JobId met) {
  const auto dependents = dependents_.extract(met);
  if (dependents.empty()) return;
  for (const JobId id : dependents.mapped()) {
    ++others_looked_at_;
    Job& job = jobs_.at(id);
    change(job, [&] { job.waits_for.erase(met); });
  }
}

std::vector<JobId> TenantJobs::waiting_for(JobId awaited) const {
  const auto dependents = dependents_.find(awaited);
  if (dependents == dependents_.end()) return {};
  others_looked_at_ += dependents->second.size();
  return {dependents->second.begin(), dependents->second.end()};
}

const std::set<JobId>& TenantJobs::dependencies(JobId id) const {
  auto place = jobs_.find(id);
  FAIRWATER_CHECK(place != jobs_.end(), "only live jobs are known");
  return place->second.waits_for;
}

}  // namespace fairwater::inline state
