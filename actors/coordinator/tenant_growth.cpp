// Of the tenant's actor: how far elastic jobs grow, those that run out of work, and tasks that are
// taken back.
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "actors/coordinator/tenant_state.hpp"
#include "model/profile.hpp"

namespace fairwater::inline actors::inline coordinator::tenancy {
namespace {

constexpr auto kRetryAfterFailure = std::chrono::seconds(1);

void learn_later(TenantSelf self, const std::string& job_class) {
  self->delayed_send(self, kRetryAfterFailure, LearnLimits{job_class});
}

/// Durable before it counts; meanwhile the job is granted nothing.
void limit_growth(TenantSelf self, JobId job, const GrowthLimit& limit) {
  auto& state = self->state;
  if (!state.limiting.insert(job).second) return;
  state.jobs.hold(job);
  const std::string of = state.jobs.record(job).spec.job_class;
  self->request(state.coordinator, caf::infinite,
                Withdraw{state.id, job, GrowthLimited{job, limit}})
      .then(
          [self, job, limit, of](const Done&) {
            auto& state = self->state;
            state.limiting.erase(job);
            state.jobs.release_hold(job);
            state.jobs.limit_growth(job, limit);
            state.jobs.know_limit(job);
            learn_limits(self, of);  // it may be another by now
            refresh(self);
          },
          [self, job, of](const caf::error& error) {
            spdlog::warn("how far job {} grows cannot be noted yet: {}", job.value,
                         details(error).message);
            self->state.limiting.erase(job);
            self->state.jobs.release_hold(job);
            learn_later(self, of);
            refresh(self);
          });
}

void take_limits(TenantSelf self, const ClassProfile& profile) {
  auto& jobs = self->state.jobs;
  std::map<NamedAmounts, GrowthLimit> limits;  // a curve takes a thousand resamples
  for (const JobId id : jobs.growing_of(profile.job_class)) {
    const JobRecord& job = jobs.record(id);
    const auto [limit, is_new] = limits.try_emplace(job.spec.resources);
    if (is_new) limit->second = growth_limit(profile, job.spec.resources);
    if (limit->second == job.growth_limit)
      jobs.know_limit(id);
    else
      limit_growth(self, id, limit->second);
  }
  refresh(self);
}

}  // namespace

void learn_limits(TenantSelf self, const std::string& job_class) {
  auto& state = self->state;
  if (state.jobs.growing_of(job_class).empty()) return;
  const auto [reading, is_first] = state.learning.try_emplace(job_class, false);
  if (!is_first) {
    reading->second = true;
    return;
  }
  self->request(state.context->scanner, caf::infinite,
                QueryProfile{state.id, state.tenant_name, job_class})
      .then(
          [self](const ClassProfile& profile) {
            const bool is_old = self->state.learning.extract(profile.job_class).mapped();
            if (is_old)
              learn_limits(self, profile.job_class);
            else
              take_limits(self, profile);
          },
          [self, job_class](const caf::error& error) {
            spdlog::warn("what class {} gains by more tasks cannot be read yet: {}", job_class,
                         details(error).message);
            self->state.learning.erase(job_class);
            learn_later(self, job_class);
          });
}

void wind_down(TenantSelf self, JobId job) {
  auto& state = self->state;
  if (!state.jobs.knows(job) || !state.winding_down.insert(job).second) return;
  state.jobs.hold(job);
  self->request(state.coordinator, caf::infinite, Withdraw{state.id, job, JobWindsDown{job}})
      .then(
          [self, job](const Done&) {
            auto& state = self->state;
            state.winding_down.erase(job);
            state.jobs.release_hold(job);
            if (state.jobs.wind_down(job, state.context->wall_clock())) job_ended(self, job);
            refresh(self);
          },
          [self, job](const caf::error& error) {
            spdlog::warn("that job {} is out of work cannot be noted yet: {}", job.value,
                         details(error).message);
            self->state.winding_down.erase(job);
            self->state.jobs.release_hold(job);
            self->delayed_send(self, kRetryAfterFailure, OutOfWork{job});
            refresh(self);
          });
}

void tell_members(TenantSelf self) {
  auto& state = self->state;
  for (const JobId id : std::exchange(state.members_moved, {})) {
    const std::vector<RunningTask> running = state.jobs.members_of(id);
    if (running.empty()) continue;
    std::vector<JobMember> members;
    std::set<NodeId> nodes;
    for (const RunningTask& task : running) {
      const GangHost host = state.context->names->hosts_of({{task.node, 1}}).front();
      members.push_back({task.key.index, host.node, host.address});
      nodes.insert(task.node);
    }
    const JobMembers told{id, 0, std::move(members),
                          notify_signal(state.jobs.record(id).spec.notify)};
    for (const NodeId node : nodes) self->send(state.coordinator, TellMembers{node, told});
  }
}

void take_reclaimed(TenantSelf self, const Reclaimed& reclaimed) {
  std::vector<RunningTask> stops;
  std::set<TaskKey> told;
  for (const TaskKey& task : reclaimed.tasks) {
    if (told.contains(task)) continue;  // with its gang
    for (const RunningTask& running : self->state.jobs.reclaim(task))
      if (told.insert(running.key).second) stops.push_back(running);
  }
  send_stops(self, stops);
}

}  // namespace fairwater::inline actors::inline coordinator::tenancy
