#include "actors/coordinator/coordinator.hpp"

#include <utility>

#include "actors/coordinator/gang_order.hpp"
#include "actors/coordinator/state.hpp"

namespace fairwater::inline actors::inline coordinator {
namespace {

using namespace coordination;

/// What runs of a tenant's jobs, but for its actor.
std::vector<std::pair<NodeId, AssignedTask>> running_tasks(const ClusterContext& context,
                                                           const std::vector<UnfinishedJob>& jobs) {
  std::vector<std::pair<NodeId, AssignedTask>> running;
  for (const auto& job : jobs) {
    const LaunchText text(job.record.spec);
    std::map<std::pair<std::uint32_t, std::vector<std::string>>, std::shared_ptr<LaunchOrder>>
        orders;  // by memory step and devices
    for (const auto& [index, task] : job.tasks) {
      if (task.state != TaskState::running) continue;
      auto& order = orders[{task.memory_step, task.devices}];
      if (!order) {
        order = std::make_shared<LaunchOrder>(launch_order(job.record, text, {}, task.memory_step));
        order->devices = task.devices;
        if (job.record.spec.gang)
          tell_gang(*order, context, parts_of(job.tasks), run_of(job.record.id, index, task));
      }
      running.emplace_back(task.node,
                           AssignedTask{run_of(job.record.id, index, task), order, TenantActor{},
                                        job.record.spec.kind, task.reclaimed, task.granted_at});
    }
  }
  return running;
}

void start(CoordinatorSelf self, CoordinatorStart& start) {
  auto& state = self->state;
  state.next_tenant = start.next_tenant;
  state.next_node = start.next_node;
  for (auto& [hash, grant] : start.tokens)
    state.tokens[hash] = {std::move(grant), TokenEntry::State::good, {}};
  // Orders name the nodes of a gang.
  for (const auto& node : start.nodes)
    state.context->names->put(node.id, node.spec.traits.name, node.spec.address);
  std::map<NodeId, std::vector<AssignedTask>> assigned;
  for (const auto& tenant : start.tenants) {
    TenantStart& work = start.work[tenant.id];
    auto running = running_tasks(*state.context, work.jobs);
    add_tenant(self, tenant, std::move(work));
    for (auto& [node, task] : running) {
      task.tenant = state.tenants.at(tenant.id).actor;
      assigned[node].push_back(std::move(task));
    }
  }
  for (const auto& node : start.nodes) add_node(self, node, std::move(assigned[node.id]));
  rebuild(state, *start.snapshot, 0);
  begin_time(self, start.snapshot->accounts.time.now_ms);
  watch_trust(self);
}

CoordinatorBase::behavior_type coordinator_behavior(CoordinatorSelf self,
                                                    std::shared_ptr<const ClusterContext> context,
                                                    std::shared_ptr<CoordinatorStart> from) {
  self->state.context = std::move(context);
  start(self, *from);
#define FAIRWATER_ANSWERING(method, Request) \
  [self](const Request& request) { return answer(self, request); },
  return {
      [self](const NodeBeat& beat) { take_beat(self, beat); },
      [self](const SettleFailedLaunches& request) { return settle_failed_launches(self, request); },
      [self](DemandWindow& window) { take_window(self, window); },
      [self](const Withdraw& request) { return withdraw(self, request); },
      [self](const StopTasks& request) {
        const auto node = self->state.nodes.find(request.node);
        if (node != self->state.nodes.end()) self->send(node->second.actor, request);
      },
      [self](const TellMembers& request) {
        const auto node = self->state.nodes.find(request.node);
        if (node != self->state.nodes.end()) self->send(node->second.actor, request);
      },
      [self](const AgentCredential& shown) { return judge_credential(self, shown); },
      [self](const RegisterNode& request) { return register_node(self, request); },
      [self](const FindTenant& request) { return find_tenant(self->state, request); },
      [self](const AdmitJob& request) { return admit_job(self->state, request); },
      [self](const FindNode& request) -> caf::result<NodeAddress> {
        const auto node = self->state.nodes.find(request.id);
        if (node == self->state.nodes.end())
          return make_error(ErrorCode::not_found, "there is no such node");
        return NodeAddress{node->second.actor};
      },
      [self](const DescribeCluster&) { return describe_cluster(self->state); },
      [self](const DescribeTenants& request) { return describe_tenants(self->state, request); },
      [self](const ExplainWaiting& request) { return explain_waiting(self->state, request); },
      [self](const GetExpectedStart& request) {
        return ExpectedStart{expected_start(self->state, request.tenant, request.job)};
      },
      [self](const Login& request) { return log_in(self->state, request); },
      [self](const RunCycle&) { run_cycle(self); },
      [self](const BeginAnew&) { begin_anew(self); },
      [self](const NextChange&) { next_change(self); },
      [self](const SettleTime&) { settle_on_time(self); },
      [self](const SettleCredits&) { settle_credits(self); },
      [self](const LeasesOver&) {
        change_trust(self, [self] { self->state.trust.leases_over(); });
      },
      FAIRWATER_COORDINATOR_CALLS(FAIRWATER_ANSWERING)  //
  };
#undef FAIRWATER_ANSWERING
}

}  // namespace

CoordinatorActor spawn_coordinator(caf::actor_system& system,
                                   std::shared_ptr<const ClusterContext> context,
                                   CoordinatorStart start) {
  // The actor's arguments are copied on their way to it: not what all unfinished jobs take.
  return system.spawn(coordinator_behavior, std::move(context),
                      std::make_shared<CoordinatorStart>(std::move(start)));
}

}  // namespace fairwater::inline actors::inline coordinator
