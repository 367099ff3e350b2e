// Of the tenant's actor: elastic jobs that run out of work, and tasks that are taken back.
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "actors/coordinator/tenant_state.hpp"

namespace fairwater::inline actors::inline coordinator::tenancy {
namespace {

constexpr auto kRetryAfterFailure = std::chrono::seconds(1);

}  // namespace

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
          [self, job](const caf::error&) {
            self->state.winding_down.erase(job);
            self->state.jobs.release_hold(job);
            self->delayed_send(self, kRetryAfterFailure, OutOfWork{job});
          });
}

void tell_members(TenantSelf self) {
  auto& state = self->state;
  for (const JobId id : std::exchange(state.members_moved, {})) {
    const std::vector<RunningTask> running = state.jobs.members_of(id);
    if (running.empty()) continue;
    JobMembers told{id, 0, {}, notify_signal(state.jobs.record(id).spec.notify)};
    std::set<NodeId> nodes;
    for (const RunningTask& task : running) {
      const GangHost host = state.context->names->hosts_of({{task.node, 1}}).front();
      told.members.push_back({task.key.index, host.node, host.address});
      nodes.insert(task.node);
    }
    for (const NodeId node : nodes) self->send(state.coordinator, TellMembers{node, told});
  }
}

void take_reclaimed(TenantSelf self, const Reclaimed& reclaimed) {
  std::vector<RunningTask> stops;
  for (const TaskKey& task : reclaimed.tasks)
    if (const auto running = self->state.jobs.reclaim(task)) stops.push_back(*running);
  send_stops(self, stops);
}

}  // namespace fairwater::inline actors::inline coordinator::tenancy
