// The task host: does an agent's blocking work (starting and stopping processes, reading logs,
// syncing files) on a thread of its own, so that no launch ever delays a heartbeat.
//
//   takes  WatchHost               once, first: where ends are told; answered with what is on disk
//          LaunchAttempt           answered when its supervisor runs
//          StopAttempt, ForgetAttempts, ExtendHostLease, KeepMemory, SettleDirectory,
//          TellAttempt, ReadAgentLog
//   sends  AttemptsEnded           to the sink, whatever gathered since the last one
//   bound  what one agent sends: of each attempt one launch, a stop or two, what it may forget, and
//          a word for each change of its elastic job;
//          kMaxLogReads pieces of logs; one lease and one memory for each report that was answered
//
//   opened -- WatchHost --> watching -- exit message --> ended (supervisors and tasks go on)
//
// Ends come in over a second thread that waits in poll on the host's descriptor and wakes the
// actor. Stop orders, lease and ends overtake waiting launches (high priority): a burst of launches
// delays none of them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <caf/actor_system.hpp>
#include <caf/typed_actor.hpp>

#include "actors/agent/directory.hpp"
#include "actors/agent/protocol.hpp"
#include "actors/message.hpp"
#include "process/task_process.hpp"

FAIRWATER_AGENT_MESSAGE(AttemptsEnded)
FAIRWATER_AGENT_MESSAGE(WatchHost)
FAIRWATER_AGENT_MESSAGE(HostInventory)
FAIRWATER_AGENT_MESSAGE(LaunchAttempt)
FAIRWATER_AGENT_MESSAGE(AttemptLaunched)
FAIRWATER_AGENT_MESSAGE(StopAttempt)
FAIRWATER_AGENT_MESSAGE(ForgetAttempts)
FAIRWATER_AGENT_MESSAGE(ExtendHostLease)
FAIRWATER_AGENT_MESSAGE(KeepMemory)
FAIRWATER_AGENT_MESSAGE(SettleDirectory)
FAIRWATER_AGENT_MESSAGE(TellAttempt)

namespace fairwater::inline actors::inline agent {

struct AttemptsEnded {
  std::vector<TaskResult> results;
};
using AttemptEndSink = caf::typed_actor<caf::reacts_to<AttemptsEnded>>;

struct WatchHost {
  AttemptEndSink sink;
};
struct HostInventory {
  std::vector<FoundTask> tasks;
};
struct LaunchAttempt {
  LaunchOrder order;
};
struct AttemptLaunched {};
struct StopAttempt {
  TaskKey task;
  EndReason reason = EndReason::cancelled;
};
struct ForgetAttempts {
  std::vector<TaskKey> tasks;
};
struct ExtendHostLease {
  LeaseTimes times;
};
/// To be remembered over a restart; told about once a second at the most.
struct KeepMemory {
  ClusterMemory memory;
};
/// To one attempt that runs, of the job that they are of; see TaskHost::tell_members.
struct TellAttempt {
  TaskKey task;
  std::shared_ptr<const JobMembers> members;
  std::uint64_t number = 0;
};
/// The coordinator has let this run in: AgentDirectory::settle.
struct SettleDirectory {};

using TaskHostActor = caf::typed_actor<caf::replies_to<WatchHost>::with<HostInventory>,
                                       caf::replies_to<LaunchAttempt>::with<AttemptLaunched>,
                                       caf::reacts_to<StopAttempt>, caf::reacts_to<ForgetAttempts>,
                                       caf::reacts_to<ExtendHostLease>, caf::reacts_to<KeepMemory>,
                                       caf::reacts_to<SettleDirectory>, caf::reacts_to<TellAttempt>,
                                       caf::replies_to<ReadAgentLog>::with<LogChunk>>;

/// One answer to ReadAgentLog holds no more than this.
inline constexpr std::uint32_t kLogChunkBytes = 256 * 1024;

/// A detached actor over a host and its directory, both of which it owns. It ends with the agent
/// that it is linked to (spawn_agent), or by an exit message.
[[nodiscard]] TaskHostActor spawn_task_host(caf::actor_system& system,
                                            std::unique_ptr<TaskHost> host,
                                            AgentDirectory directory);

}  // namespace fairwater::inline actors::inline agent
