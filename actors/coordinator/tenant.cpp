#include <algorithm>
#include <chrono>
#include <utility>

#include <caf/all.hpp>

#include "actors/coordinator/backoff_text.hpp"
#include "actors/coordinator/gang_order.hpp"
#include "actors/coordinator/tenant_state.hpp"
#include "actors/coordinator/user_turn_text.hpp"
#include "policy/allocator/unheard_ends.hpp"
#include "policy/core/check.hpp"
#include "state/elastic.hpp"

namespace fairwater::inline actors::inline coordinator::tenancy {

void refresh(TenantSelf self) {
  if (!std::exchange(self->state.refresh_due, true)) self->send(self, RefreshWindow{});
}

void send_stops(TenantSelf self, const std::vector<RunningTask>& running) {
  std::map<NodeId, std::vector<TaskKey>> by_node;
  for (const auto& task : running) by_node[task.node].push_back(task.key);
  for (auto& [node, tasks] : by_node)
    self->send(self->state.coordinator, StopTasks{node, std::move(tasks)});
}

namespace {

/// So long a service's task is left to its own node while that has room. The node is dealt in the
/// next cycle; where the cycle cannot place the task there (what has room may be kept for others),
/// it must not wait for ever.
constexpr auto kOwnNodeFirst = std::chrono::seconds(5);

/// A window shows twice as many as were granted since the last one, up to so many times what it
/// shows by itself: where much room is free, or tasks are short, fewer windows run out
/// (policy/allocator/run_out.hpp).
constexpr std::uint32_t kMostWindows = 16;

void send_window(TenantSelf self) {
  auto& state = self->state;
  state.refresh_due = false;
  tell_members(self);
  const auto& settings = state.context->settings;
  std::optional<WallTime> now;
  if (state.context->measure.accounting == Accounting::time) now = state.context->wall_clock();
  const std::uint32_t granted = std::exchange(state.granted_since_window, 0);
  const auto shown = [&](std::uint32_t least) {
    return std::clamp(2 * granted, least, kMostWindows * least);
  };
  DemandWindow window = state.jobs.window(shown(settings.window_ranges),
                                          shown(settings.window_tasks), state.seen_deal, now);
  // The rest of a gang that runs again is still ending, or whether a job that others wait for has
  // succeeded is being asked.
  window.heard = take_heard(state.heard, [&](const TaskKey& task) {
    return state.asked.contains(task.job) || state.jobs.gathers(task.job);
  });
  self->send(state.coordinator, std::move(window));
}

void answer_waiters(TenantActorState& state, JobId job) {
  const auto waiters = state.waiters.extract(job);
  if (waiters.empty()) return;
  for (auto& [number, promise] : waiters.mapped()) promise.deliver(Done{});
}

void withdraw(TenantSelf self, JobId job, const std::string& reason,
              caf::typed_response_promise<Done> promise);

/// What a job waits for cannot come any more.
void cancel_dependent(TenantSelf self, JobId job, JobId awaited, const std::string& what) {
  auto nobody = caf::typed_response_promise<Done>{};
  withdraw(self, job, "job " + std::to_string(awaited.value) + ", which it waits for, " + what,
           nobody);
}

void dependency_ended(TenantSelf self, JobId awaited, JobState ended) {
  auto& jobs = self->state.jobs;
  if (ended == JobState::succeeded) {
    jobs.dependency_met(awaited);
    return;
  }
  const std::string what = ended == JobState::failed ? "failed" : "was cancelled";
  for (const auto& job : jobs.waiting_for(awaited)) cancel_dependent(self, job, awaited, what);
}

}  // namespace

void ask_dependency(TenantSelf self, JobId awaited) {
  self->state.asked.insert(awaited);
  self->request(self->state.context->reader, caf::infinite, GetJob{awaited, {}})
      .then(
          [self, awaited](const JobDetail& detail) {
            self->state.asked.erase(awaited);
            refresh(self);
            const auto state = state_of(detail.job);
            if (is_terminal(state)) dependency_ended(self, awaited, state);
          },
          // The ledger's alarm tells. How it ended is not known, so the job waits on.
          [self, awaited](const caf::error&) {
            self->state.asked.erase(awaited);
            refresh(self);
          });
}

void job_ended(TenantSelf self, JobId job) {
  answer_waiters(self->state, job);
  if (!self->state.jobs.waiting_for(job).empty()) ask_dependency(self, job);
}

namespace {

// -- cancelling -----------------------------------------------------------------------------------

void withdraw(TenantSelf self, JobId job, const std::string& reason,
              caf::typed_response_promise<Done> promise) {
  auto& state = self->state;
  state.jobs.hold(job);
  self->request(state.coordinator, caf::infinite,
                Withdraw{state.id, job, JobCancelled{job, reason}})
      .then(
          [self, job, reason, promise](const Done&) mutable {
            auto& jobs = self->state.jobs;
            if (jobs.knows(job)) {
              jobs.release_hold(job);
              send_stops(self, jobs.cancel(job, reason, self->state.context->wall_clock()));
              if (!jobs.knows(job)) job_ended(self, job);
            }
            refresh(self);
            promise.deliver(Done{});
          },
          [self, job, promise](const caf::error& error) mutable {
            self->state.jobs.release_hold(job);
            refresh(self);
            promise.deliver(error);
          });
}

caf::result<Done> cancel(TenantSelf self, const Cancel& request) {
  auto& jobs = self->state.jobs;
  if (!jobs.knows(request.id) || jobs.record(request.id).cancelled) return Done{};
  auto promise = self->make_response_promise<Done>();
  withdraw(self, request.id, request.reason, promise);
  return promise;
}

// -- grants and results ---------------------------------------------------------------------------

void take_grants(TenantSelf self, const Granted& granted) {
  auto& state = self->state;
  state.seen_deal = std::max(state.seen_deal, granted.deal);
  state.granted_since_window += static_cast<std::uint32_t>(granted.grants.size());
  std::map<NodeId, std::pair<NodeActor, LaunchTasks>> by_node;
  std::vector<RunningTask> stops;
  std::map<JobId, LaunchOrder> gangs;  ///< what orders say of them
  for (const auto& item : granted.grants) {
    auto order = state.jobs.grant(item.grant, item.node_id, granted.moment);
    FAIRWATER_CHECK(order.has_value(), "a grant belongs to a live job");
    const JobRecord& job = state.jobs.record(item.grant.task.job);
    if (job.cancelled) stops.push_back({item.node_id, item.grant.task});
    order->run_as = state.run_as;
    auto& [actor, launch] = by_node[item.node_id];
    actor = item.node;
    if (job.spec.kind == JobKind::service) launch.services.insert(job.id);
    if (follows_members(job.spec)) state.members_moved.insert(job.id);
    if (job.spec.gang) gangs[job.id].task = item.grant.task;
    launch.orders.push_back(std::move(*order));
  }
  for (auto& [job, told] : gangs)
    tell_gang(told, *state.context, state.jobs.parts_of_gang(job), told.task);
  for (auto& [node, launch] : by_node) {
    for (LaunchOrder& order : launch.second.orders)
      if (const auto gang = gangs.find(order.task.job); gang != gangs.end()) {
        order.gang = gang->second.gang;
        order.gang_key = gang->second.gang_key;
      }
    launch.second.tenant = self;
    self->send(launch.first, std::move(launch.second));
  }
  send_stops(self, stops);
  refresh(self);
}

/// A wall clock that was set makes no pause longer than any is.
void end_backoff_later(TenantSelf self, const BackingOff& task) {
  const auto left_ms =
      (task.until.microseconds - self->state.context->wall_clock().microseconds) / 1000;
  self->delayed_send(
      self, std::chrono::milliseconds(std::clamp<std::int64_t>(left_ms, 0, kLongestPause_ms)),
      BackoffOver{task.key});
}

void end_backoff(TenantSelf self, const TaskKey& task) {
  if (self->state.jobs.end_backoff(task)) self->delayed_send(self, kOwnNodeFirst, HomingOver{task});
  refresh(self);
}

void follow(TenantSelf self, JobId job, const AttemptOutcome& outcome) {
  if (outcome.backing_off) end_backoff_later(self, *outcome.backing_off);
  send_stops(self, outcome.to_stop);
  if (outcome.out_of_work) wind_down(self, job);
  if (!outcome.measured_class.empty()) learn_limits(self, outcome.measured_class);
  if (outcome.job_ended) return job_ended(self, job);
  auto& state = self->state;
  if (state.jobs.knows(job) && follows_members(state.jobs.record(job).spec))
    state.members_moved.insert(job);
}

void take_results(TenantSelf self, const TasksEnded& ended) {
  for (const TaskKey& task : ended.made_room) (void)self->state.jobs.reclaim(task);
  for (const auto& result : ended.results) {
    self->state.heard.push_back(result.task);
    follow(self, result.task.job, self->state.jobs.end(result, ended.time));
  }
  refresh(self);
}

void take_back(TenantSelf self, const TasksReturned& returned) {
  for (const auto& task : returned.tasks) {
    self->state.heard.push_back(task);
    follow(self, task.job, self->state.jobs.give_back(task, returned.node_lost, returned.time));
  }
  refresh(self);
}

// -- questions ------------------------------------------------------------------------------------

caf::result<Done> wait(TenantSelf self, const Wait& request) {
  auto& state = self->state;
  if (!state.jobs.knows(request.id)) return Done{};
  auto promise = self->make_response_promise<Done>();
  state.waiters[request.id].emplace(++state.last_waiter, promise);
  self->delayed_send(
      self, std::chrono::milliseconds(std::clamp<std::int64_t>(request.timeout_ms, 0, 60'000)),
      WaitOver{request.id, state.last_waiter});
  return promise;
}

void end_wait(TenantActorState& state, const WaitOver& over) {
  const auto waiters = state.waiters.find(over.job);
  if (waiters == state.waiters.end()) return;
  if (auto waiter = waiters->second.extract(over.waiter)) waiter.mapped().deliver(Done{});
  if (waiters->second.empty()) state.waiters.erase(waiters);
}

std::string saturation_text(const JobRecord& job) {
  const GrowthLimit& limit = job.growth_limit;
  std::string text = "its job grows to " + std::to_string(limit.tasks) +
                     " tasks and no further: beyond them more do not pay, by " +
                     std::to_string(limit.runs) + " runs of class " + job.spec.job_class;
  if (limit.confidence_permille > 0)
    text += ", with a confidence of " + std::to_string(limit.confidence_permille / 10) + " %";
  return text;
}

std::optional<Obstacle> pause_before(const TenantActorState& state,
                                     const DescribeWaiting& request) {
  const auto pausing = state.jobs.waits_out(request.id, request.index);
  if (!pausing) return std::nullopt;
  const JobKind kind = state.jobs.record(request.id).spec.kind;
  const std::string text = backoff_text(kind, *state.jobs.backing_off(request.id, *pausing),
                                        state.context->wall_clock());
  if (*pausing == request.index) return Obstacle{"backoff", text};
  return Obstacle{"backoff",
                  "its gang waits for task " + std::to_string(*pausing) + " of it: " + text};
}

/// Of a task beyond those that its elastic job claims.
Obstacle why_not_grown(const TenantActorState& state, const DescribeWaiting& request) {
  const ClusterSettings& settings = state.context->settings;
  const std::uint32_t claimed = claimed_tasks(state.jobs.record(request.id));
  const std::string as_many = claimed == 0
                                  ? "its job runs as many tasks as it claims; "
                                  : "its job still waits for " + std::to_string(claimed) +
                                        " task(s) that it claims, and this one is beyond them; ";
  if (settings.allocation == AllocationRule::drf)
    return {"growth", as_many + "nothing grows under this coordinator's allocation: drf"};
  if (settings.growth == GrowthRule::bra)
    return {"growth", as_many + "nothing grows under this coordinator's elastic: bra"};
  if (state.jobs.is_beyond_limit(request.id, request.index))
    return {"saturation", saturation_text(state.jobs.record(request.id))};
  return {"growth",
          as_many + "this one starts in room that nobody else can use, by its tenant's credit"};
}

/// What of its tenant's comes before it.
void add_order(std::vector<Obstacle>& obstacles, const TenantActorState& state,
               const DescribeWaiting& request) {
  const std::string& user = state.jobs.record(request.id).spec.user;
  const auto users = state.jobs.next_users();
  const auto before = state.jobs.tasks_before(request.id, request.index);
  if (before > 0)
    obstacles.push_back({"order", std::to_string(before) + " task(s) of the " +
                                      (users ? "same user" : "tenant") +
                                      " stand before it in its queue"});
  if (users && (before > 0 || users->next != user))
    obstacles.push_back({"user", user_turn_text(*users, user, state.jobs.share_of(user))});
}

WaitingDescription describe(const TenantActorState& state, const DescribeWaiting& request) {
  WaitingDescription description;
  auto& obstacles = description.obstacles;
  if (auto pause = pause_before(state, request)) obstacles.push_back(std::move(*pause));
  if (!state.jobs.waits(request.id, request.index)) return description;
  for (const auto& awaited : state.jobs.dependencies(request.id))
    obstacles.push_back(
        {"dependency", "job " + std::to_string(awaited.value) + " has to succeed first"});
  if (state.jobs.waits_to_grow(request.id, request.index))
    obstacles.push_back(why_not_grown(state, request));
  else
    add_order(obstacles, state, request);
  return description;
}

caf::result<Done> retire(TenantActorState& state) {
  if (state.jobs.size() + state.submitting > 0)
    return make_error(ErrorCode::wrong_state,
                      "tenant " + state.tenant_name + " has " + std::to_string(state.jobs.size()) +
                          " unfinished jobs; cancel them or wait for them first");
  state.retired = true;
  return Done{};
}

/// What a restart must do again: stop what was cancelled or reclaimed, wait out pauses, let elastic
/// jobs wind down, look how far they may grow, and ask about awaited jobs that have ended.
void resume(TenantSelf self) {
  auto& state = self->state;
  send_stops(self, state.jobs.to_stop());
  for (const auto& task : state.jobs.backing_off()) end_backoff_later(self, task);
  for (const JobId job : state.jobs.out_of_work()) wind_down(self, job);
  for (const JobId job : state.jobs.with_members()) state.members_moved.insert(job);
  for (const std::string& of : state.jobs.elastic_classes()) learn_limits(self, of);
  refresh(self);
}

TenantBase::behavior_type tenant_behavior(TenantSelf self,
                                          std::shared_ptr<const ClusterContext> context,
                                          TenantSink coordinator, const TenantRecord& record,
                                          std::shared_ptr<TenantStart> start) {
  auto& state = self->state;
  state.context = std::move(context);
  state.coordinator = std::move(coordinator);
  state.id = record.id;
  state.tenant_name = record.spec.name;
  state.run_as = record.spec.run_as;
  state.leaving = record.spec.leaving;
  state.jobs =
      TenantJobs{record.id, record.spec.queue, state.context->catalog, state.context->mode};
  state.jobs.set_placement(record.spec.placement);
  std::set<JobId> awaited;
  state.jobs.remember(std::move(start->runs));
  state.jobs.remember_served(std::move(start->served));
  for (auto& job : start->jobs) {
    awaited.insert(job.waits_for.begin(), job.waits_for.end());
    state.jobs.add(std::move(job));
  }
  for (const auto& job : awaited)
    if (!state.jobs.knows(job)) ask_dependency(self, job);
  resume(self);
  return {
      [self](Submit& request) { return submit(self, request); },
      [self](const Cancel& request) { return cancel(self, request); },
      [self](const Wait& request) { return wait(self, request); },
      [self](const DescribeWaiting& request) { return describe(self->state, request); },
      [self](const Retire&) { return retire(self->state); },
      [self](const Reinstate&) { self->state.retired = false; },
      [self](const SetTerms& request) {
        self->state.jobs.set_policy(request.policy);
        self->state.jobs.set_placement(request.placement);
        self->state.run_as = request.run_as;
        self->state.leaving = request.leaving;
        refresh(self);
      },
      [self](const Granted& granted) { take_grants(self, granted); },
      [self](const Reclaimed& reclaimed) { take_reclaimed(self, reclaimed); },
      [self](const TasksEnded& ended) { take_results(self, ended); },
      [self](const TasksReturned& returned) { take_back(self, returned); },
      [self](const RefreshWindow&) { send_window(self); },
      [self](const BackoffOver& over) { end_backoff(self, over.task); },
      [self](const HomingOver& over) {
        self->state.jobs.end_homing(over.task);
        refresh(self);
      },
      [self](const WaitOver& over) { end_wait(self->state, over); },
      [self](const OutOfWork& job) { wind_down(self, job.job); },
      [self](const LearnLimits& of) { learn_limits(self, of.job_class); },
  };
}

}  // namespace
}  // namespace fairwater::inline actors::inline coordinator::tenancy

namespace fairwater::inline actors::inline coordinator {

TenantActor spawn_tenant(caf::actor_system& system, std::shared_ptr<const ClusterContext> context,
                         TenantSink coordinator, const TenantRecord& record, TenantStart start) {
  return system.spawn(tenancy::tenant_behavior, std::move(context), std::move(coordinator), record,
                      std::make_shared<TenantStart>(std::move(start)));
}

}  // namespace fairwater::inline actors::inline coordinator
