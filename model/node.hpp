// Nodes, and what passes between a coordinator and an agent.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/job.hpp"
#include "model/ledger_mark.hpp"
#include "model/resources.hpp"
#include "model/run_as.hpp"
#include "model/shared_value.hpp"
#include "policy/allocator/placement.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline model {

/// Of the IP address or the name by which others reach a node: at most 255 letters, digits, '.',
/// '-', '_', ':' and '%'.
[[nodiscard]] bool is_valid_host(std::string_view host);

enum class NodeState : std::uint8_t { up = 0, draining = 1, drained = 2, down = 3 };
[[nodiscard]] std::string_view to_string(NodeState state);

/// What an agent says of its node when it registers.
struct NodeSpec {
  NodeTraits traits;
  NamedAmounts capacity;
  /// Made once per agent data directory; the same name with another instance is another node in its
  /// place.
  std::string instance;
  std::string limits;     ///< how it enforces limits: cgroup_v2, cgroup_v1, rlimit
  std::string isolation;  ///< who its tasks run as, in words; empty: an agent that does not say
  std::string address;    ///< where others reach its tasks; empty: an agent that does not say
  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

/// More than any machine has: an amount beyond it does not count devices.
inline constexpr Amount kMaxUnlistedGpus = 1024;

/// What naming these devices asks for on a node that has all of them, of resources of which nothing
/// is said. `invalid_input` naming `resources.` and the one of which `asked` says less than that.
[[nodiscard]] Expected<NamedAmounts> amounts_of_devices(const std::vector<std::string>& devices,
                                                        const NamedAmounts& asked,
                                                        const NodeTraits& node);
/// Refuses names that are none or given twice, and lists of another length than the capacity says.
[[nodiscard]] caf::error validate(const std::vector<NodeDevices>& devices,
                                  const NamedAmounts& capacity);

/// `invalid_input` naming `site` where jobs could not name it in `sites`.
[[nodiscard]] caf::error validate_site(const std::string& site);
/// Labels of a node together: their keys and values.
inline constexpr std::size_t kMaxNodeLabelsBytes = 64 * 1024;
/// `invalid_input` naming `labels` where no job's expression could name them.
[[nodiscard]] caf::error validate_labels(const std::map<std::string, std::string>& labels);
/// What an agent says of itself in words.
inline constexpr std::size_t kMaxNodeTextBytes = 64 * 1024;
/// `invalid_input` naming `field` where the text cannot be shown.
[[nodiscard]] caf::error validate_node_text(const char* field, const std::string& text);

/// One start of an agent. An agent whose data directory was copied is told from the first one by
/// it.
struct AgentRun {
  std::uint64_t starts = 0;  ///< counted in its data directory; 0: an agent that does not count
  std::string id;            ///< random, of the process
  friend bool operator==(const AgentRun&, const AgentRun&) = default;
};

/// How far ahead a drain may be planned, and its deadline be after its beginning.
inline constexpr std::int64_t kMaxDrainDeadline_ms = 366LL * 86'400'000;

/// A drain that begins later: until then the node takes only tasks that end before by their time
/// limits.
struct PlannedDrain {
  WallTime begins;    ///< 0: none is planned
  WallTime deadline;  ///< of the drain, see NodeRecord
  std::string reason;
  friend bool operator==(const PlannedDrain&, const PlannedDrain&) = default;
};

struct NodeRecord {
  NodeId id;
  NodeSpec spec;
  bool draining = false;
  std::string drain_reason;
  bool lost = false;  ///< silent for longer than lease and grace: its tasks were given out again
  Hash credential_hash{};
  AgentRun run;                 ///< the newest that was let in
  bool drained_itself = false;  ///< while it drains: services there run on
  WallTime drain_deadline;      ///< from when on what still runs there is stopped; 0: it runs on
  PlannedDrain planned_drain;
  friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};

/// The tasks of a gang that are on one node.
struct GangHost {
  std::string node;
  std::string address;  ///< of the node; its name where that is not known
  std::uint32_t tasks = 0;
  friend bool operator==(const GangHost&, const GangHost&) = default;
};

/// An order to start one attempt of a task. An agent starts each TaskKey at most once, whatever
/// arrives. What may be large is one in memory for all of a job's orders.
struct LaunchOrder {
  TaskKey task;
  std::uint64_t epoch =
      0;  ///< of the coordinator; an agent refuses orders older than the newest it saw
  std::uint32_t task_count = 1;
  SharedValue<std::vector<std::string>> command;
  SharedValue<std::map<std::string, std::string>> environment;
  std::string directory;
  NamedAmounts limits;
  std::int64_t time_limit_ms = 0;
  std::int64_t grace_ms = 5000;
  TenantId tenant;
  RunAs run_as;  ///< the tenant's; empty: the node decides
  bool exclusive_cpus = false;
  /// Of all its tasks, by their indices; empty: it is of no gang.
  SharedValue<std::vector<GangHost>> gang;
  std::string gang_key;          ///< known to the tasks of this run of the gang, and to nobody else
  bool follows_members = false;  ///< it is told which tasks of its job run: JobMembers
  std::vector<std::string> devices =
      {};                     ///< it gets these; of what it takes beside, the node chooses
  std::int64_t lease_ms = 0;  ///< its own; 0: as every task's
  friend bool operator==(const LaunchOrder&, const LaunchOrder&) = default;
};

/// What all orders of a job share.
struct LaunchText {
  SharedValue<std::vector<std::string>> command;
  SharedValue<std::map<std::string, std::string>> environment;
  explicit LaunchText(const JobSpec& spec) : command(spec.command), environment(spec.environment) {}
};
/// The order that starts one attempt of a job's task; its epoch is set when it is sent. `text`: the
/// job's.
[[nodiscard]] LaunchOrder launch_order(const JobRecord& job, const LaunchText& text,
                                       const TaskKey& task, std::uint32_t memory_step = 0);

/// SIGTERM, then SIGKILL after the task's grace.
struct StopOrder {
  TaskKey task;
  std::uint64_t epoch = 0;
  friend bool operator==(const StopOrder&, const StopOrder&) = default;
};

/// A task of an elastic job that runs.
struct JobMember {
  std::uint32_t index = 0;
  std::string node;
  std::string address;  ///< where others reach it
  friend bool operator==(const JobMember&, const JobMember&) = default;
};
/// Which tasks of an elastic job run now, for its tasks on one node.
struct JobMembers {
  JobId job;
  std::uint64_t epoch = 0;
  SharedValue<std::vector<JobMember>> members;  ///< by index
  std::int32_t notify_signal = 0;               ///< to its tasks; 0: none
  friend bool operator==(const JobMembers&, const JobMembers&) = default;
};

/// Orders for one agent, in the order in which they are to be carried out.
struct AgentOrders {
  std::vector<LaunchOrder> launches;
  std::vector<StopOrder> stops;
  std::vector<JobMembers> members = {};
  friend bool operator==(const AgentOrders&, const AgentOrders&) = default;
};
/// Asks an agent for a piece of a task's log.
struct ReadAgentLog {
  TaskKey task;
  bool standard_error = false;
  std::uint64_t offset = 0;
};

/// Who an agent says it is, beside its node.
struct AgentIdentity {
  ClusterMemory memory;
  AgentRun run;
  bool moved = false;  ///< its data directory is not where its last accepted run left it
  friend bool operator==(const AgentIdentity&, const AgentIdentity&) = default;
};

/// An agent's heartbeat.
struct AgentReport {
  std::vector<TaskKey> running;      ///< every attempt that is started and not finished
  std::vector<TaskResult> finished;  ///< until each is acknowledged as durable
  std::uint64_t session = 0;  ///< which registration it came over; the coordinator's side sets it
  friend bool operator==(const AgentReport&, const AgentReport&) = default;
};

/// The coordinator's answer, sent when what the report said is durable.
struct ReportReply {
  std::vector<TaskKey> acknowledged;  ///< results that the agent may forget
  LedgerMark committed;               ///< the newest durable record
  std::int64_t lease_ms = 0;          ///< from the sending of the report that this answers
  std::int64_t heartbeat_interval_ms = 1000;
  std::uint64_t epoch = 0;  ///< of the coordinator; 0: an older one, which does not say
  /// Of tasks with a lease of their own, the longest; 0: an older one, which gives none.
  std::int64_t longest_lease_ms = 0;
  friend bool operator==(const ReportReply&, const ReportReply&) = default;
};

}  // namespace fairwater::inline model
