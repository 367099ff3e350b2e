// What a coordinator and an agent say to each other.
#pragma once

#include <algorithm>

#include "model/lease.hpp"
#include "model/node.hpp"
#include "model/requests.hpp"
#include "model/text.hpp"
#include "schema/codec.hpp"
#include "schema/control.capnp.h"
#include "schema/fields/field.hpp"

namespace fairwater::inline schema {

/// What these have in version 1 of the protocol, and more in later ones. A list of a peer's must
/// not become much larger by being read.
inline constexpr std::size_t kTaskKeyWords = 2;
inline constexpr std::size_t kTaskResultWords = 8;

template <>
struct Fields<AgentReport> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_PEER_LIST(running, Running, kTaskKeyWords);
    FAIRWATER_PEER_LIST(finished, Finished, kTaskResultWords);
  }
  static constexpr std::size_t kUnlistedMembers = 1;  // session
  /// Messages are logged, kept and shown: an agent may send any bytes, and any number of them.
  static void take_rest(AgentReport& report, const wire::AgentReport::Reader&) {
    for (auto& result : report.finished)
      result.message = one_line(result.message, kMaxResultMessageBytes);
  }
};

template <>
struct Fields<ReportReply> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_PEER_LIST(acknowledged, Acknowledged, 1);
    FAIRWATER_FIELD(committed.number, CommittedCycle);
    FAIRWATER_FIELD(committed.hash, CommittedHash);
    FAIRWATER_FIELD(committed.incarnation, LedgerIncarnation);
    FAIRWATER_FIELD(lease_ms, LeaseMs);
    FAIRWATER_FIELD(heartbeat_interval_ms, HeartbeatIntervalMs);
    FAIRWATER_FIELD(epoch, Epoch);
    FAIRWATER_FIELD(longest_lease_ms, LongestLeaseMs);
  }
  /// The agent adds them to moments, which must not overflow.
  static void take_rest(ReportReply& reply, const wire::ReportReply::Reader&) {
    for (std::int64_t* const span :
         {&reply.lease_ms, &reply.heartbeat_interval_ms, &reply.longest_lease_ms})
      *span = std::clamp<std::int64_t>(*span, 0, kMaxLease_ms);
  }
};

template <>
struct Fields<AgentIdentity> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(memory.cluster_id, ClusterId);
    FAIRWATER_FIELD(memory.seen.hash, SeenHash);
    FAIRWATER_FIELD(memory.seen.incarnation, SeenIncarnation);
    FAIRWATER_FIELD(memory.epoch, SeenEpoch);
    FAIRWATER_FIELD(run.starts, RunStarts);
    FAIRWATER_FIELD(run.id, RunId);
    FAIRWATER_FIELD(moved, Moved);
  }
};

template <>
struct Fields<LaunchOrder> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(task, Task);
    FAIRWATER_FIELD(epoch, Epoch);
    FAIRWATER_FIELD(task_count, TaskCount);
    FAIRWATER_FIELD(command, Command);
    FAIRWATER_FIELD(environment, Environment);
    FAIRWATER_FIELD(directory, Directory);
    FAIRWATER_FIELD(limits, Limits);
    FAIRWATER_FIELD(time_limit_ms, TimeLimitMs);
    FAIRWATER_FIELD(grace_ms, GraceMs);
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_SPARSE_FIELD(run_as, RunAs);
    FAIRWATER_FIELD(exclusive_cpus, ExclusiveCpus);
    FAIRWATER_FIELD(gang, Gang);
    FAIRWATER_SPARSE_FIELD(gang_key, GangKey);
    FAIRWATER_FIELD(follows_members, FollowsMembers);
    FAIRWATER_SPARSE_FIELD(devices, Devices);
    FAIRWATER_FIELD(lease_ms, LeaseMs);
  }
};

template <>
struct Fields<GangHost> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(node, Node);
    FAIRWATER_FIELD(address, Address);
    FAIRWATER_FIELD(tasks, Tasks);
  }
};

template <>
struct Fields<StopOrder> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(task, Task);
    FAIRWATER_FIELD(epoch, Epoch);
  }
};

template <>
struct Fields<JobMember> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(index, Index);
    FAIRWATER_FIELD(node, Node);
    FAIRWATER_FIELD(address, Address);
  }
};

template <>
struct Fields<JobMembers> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(job, Job);
    FAIRWATER_FIELD(epoch, Epoch);
    FAIRWATER_FIELD(members, Members);
    FAIRWATER_FIELD(notify_signal, NotifySignal);
  }
};

template <>
struct Fields<AgentOrders> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(launches, Launches);
    FAIRWATER_FIELD(stops, Stops);
    FAIRWATER_SPARSE_FIELD(members, Members);
  }
};

template <>
struct Fields<LogChunk> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(data, Data);
    FAIRWATER_FIELD(end, End);
  }
};

}  // namespace fairwater::inline schema
