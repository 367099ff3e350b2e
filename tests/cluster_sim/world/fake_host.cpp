#include "tests/cluster_sim/world/fake_host.hpp"

namespace fairwater::cluster_sim {
namespace {

/// From the machine: a supervisor has ended.
struct EndSeen {
  TaskResult result;
};

struct FakeHostState {
  FakeHostState() = default;  // not from the actor, as CAF would try for an aggregate
  AttemptEndSink sink;
};

}  // namespace
}  // namespace fairwater::cluster_sim

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::cluster_sim::EndSeen)

namespace fairwater::cluster_sim {
namespace {

using FakeHost = TaskHostActor::extend<caf::reacts_to<EndSeen>>;

FakeHost::behavior_type fake_host(FakeHost::stateful_pointer<FakeHostState> self, Stage* stage,
                                  Machine* machine) {
  return {
      [=](const WatchHost& watch) -> caf::result<HostInventory> {
        self->state.sink = watch.sink;
        machine->on_end = [host = FakeHost(self)](const TaskResult& result) {
          caf::anon_send<caf::message_priority::high>(host, EndSeen{result});
        };
        return HostInventory{machine->scan()};
      },
      [=](const LaunchAttempt& launch) -> caf::result<AttemptLaunched> {
        if (launch.order.environment->contains(kGhostMark))
          stage->broken(
              "{} carries out an order of epoch {} to start task {}, and knows a later one",
              machine->spec.traits.name, launch.order.epoch, text_of(launch.order.task));
        if (auto error = machine->launch(launch.order)) return error;
        return AttemptLaunched{};
      },
      [=](const StopAttempt& stop) { machine->stop(stop.task, stop.reason); },
      [=](const ForgetAttempts& forget) {
        for (const auto& task : forget.tasks) machine->forget(task);
      },
      [=](const ExtendHostLease& lease) { machine->extend_lease(lease.times); },
      [=](const KeepMemory& keep) { machine->keep(keep.memory); },
      [](const SettleDirectory&) {},
      [](const TellAttempt&) {},
      [](const ReadAgentLog&) {
        return LogChunk{"", true};
      },
      [=](const EndSeen& seen) { self->send(self->state.sink, AttemptsEnded{{seen.result}}); },
  };
}

}  // namespace

TaskHostActor spawn_fake_host(ActorProcess& process, Stage& stage, Machine& machine) {
  const auto host = process.system().spawn(fake_host, &stage, &machine);
  process.own(host);
  return host;
}

}  // namespace fairwater::cluster_sim
