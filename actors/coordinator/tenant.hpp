// A tenant actor: one tenant's jobs and its queueing policy. It decides which of its tasks run
// next; the coordinator only how much.
//
//   takes  Submit, Cancel, Wait, DescribeWaiting     from the frontend
//          Granted, Reclaimed                        from the coordinator, once durable
//          SetTerms, Retire, Reinstate               from the coordinator
//          TasksEnded, TasksReturned                 from nodes, once durable
//   sends  DemandWindow, Withdraw, StopTasks, TellMembers   to the coordinator
//          Commit                                    to the ledger
//          LaunchTasks                               to nodes
//   bound  at most `max_live_jobs` jobs are admitted; every grant and result belongs to one of
//   their tasks
//
// A task whose launch failed, or whose supervisor vanished, and a service's that has ended, waits
// for a pause before it is in the window again; one timer each.
//
// A task of an elastic job that found no work left lets the job wind down: what has not begun is
// withdrawn (state/elastic.hpp).
//
// One job's life:
//
//            Granted (first task)           every task ended
//   waiting ─────────────────────> running ─────────────────> succeeded | failed
//      │ Cancel                       │ Cancel
//      └──────────> cancelled <───────┘ once the running tasks have ended
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <caf/actor_system.hpp>
#include <caf/typed_actor.hpp>

#include "actors/coordinator/ledger.hpp"
#include "actors/message.hpp"
#include "model/job_validation.hpp"
#include "model/resources.hpp"
#include "model/tenant.hpp"
#include "policy/allocator/allocator.hpp"
#include "state/tenant_jobs.hpp"

FAIRWATER_COORDINATOR_MESSAGE(Submit)
FAIRWATER_COORDINATOR_MESSAGE(Cancel)
FAIRWATER_COORDINATOR_MESSAGE(Wait)
FAIRWATER_COORDINATOR_MESSAGE(DescribeWaiting)
FAIRWATER_COORDINATOR_MESSAGE(WaitingDescription)
FAIRWATER_COORDINATOR_MESSAGE(TasksEnded)
FAIRWATER_COORDINATOR_MESSAGE(TasksReturned)
FAIRWATER_COORDINATOR_MESSAGE(SetTerms)
FAIRWATER_COORDINATOR_MESSAGE(Retire)
FAIRWATER_COORDINATOR_MESSAGE(Reinstate)
FAIRWATER_COORDINATOR_MESSAGE(Reclaimed)
#include "state/tenant_jobs.hpp"

namespace fairwater::inline actors::inline coordinator {

/// Answered when the job is durable; with the first one's where it was submitted before under its
/// request id, or is just being. `overloaded` beyond max_live_jobs.
struct Submit {
  AdmittedJob job;
  SubmissionRequest request = {};
  bool by_operator = false;  ///< who may hear of other tenants' jobs
};
/// Answered when the cancellation is durable; running tasks end after their grace.
struct Cancel {
  JobId id;
  std::string reason;
};
/// Answered when the job has ended (or is not live), at the latest after `timeout_ms`.
struct Wait {
  JobId id;
  std::int64_t timeout_ms = 0;
};
/// What a restart hands to a tenant.
struct TenantStart {
  std::vector<UnfinishedJob> jobs;
  std::vector<PastRun> runs;                         ///< see storage/past_runs.hpp
  std::map<std::string, std::uint64_t> served = {};  ///< see TenantJobs::remember_served
};
/// What in the tenant's own order keeps a task waiting.
struct DescribeWaiting {
  JobId id;
  std::uint32_t index = 0;
};
struct WaitingDescription {
  std::vector<Obstacle> obstacles;
  std::optional<ExplainedMark> mark;  ///< from the coordinator, where the ledger counts time
  WallTime expected_start;            ///< the same; none: it is not known
};
struct TasksEnded {
  std::vector<TaskResult> results;
  /// Of them, as Receipt::made_room: that these were reclaimed was durable before, whether or not
  /// the tenant has heard so from the coordinator.
  std::vector<TaskKey> made_room;
  WallTime time;  ///< of the journal record
};
/// Granted tasks that will not run there: they wait again, as their next attempt.
struct TasksReturned {
  std::vector<TaskKey> tasks;
  bool node_lost = false;  ///< see TasksRequeued
  WallTime time;           ///< of the journal record
};
/// The tenant's terms have changed; of tasks that are granted from now on.
struct SetTerms {
  QueuePolicy policy = QueuePolicy::fifo;
  RunAs run_as;
  Placement placement = Placement::unset;
  bool leaving = false;
};
/// The tenant is about to be removed: `wrong_state` while it has live jobs, else it admits none any
/// more.
struct Retire {};
/// The removal did not happen after all.
struct Reinstate {};
/// Strikes a job's waiting tasks and makes durable why, after every grant made before.
struct Withdraw {
  TenantId tenant;
  JobId job;
  JournalBody why;  ///< JobCancelled or JobWindsDown
};
/// These tasks are to end for others (TasksReclaimed); durable.
struct Reclaimed {
  std::vector<TaskKey> tasks;
};
struct StopTasks {
  NodeId node;
  std::vector<TaskKey> tasks;
};
/// What an elastic job's tasks on the node are to know of each other.
struct TellMembers {
  NodeId node;
  JobMembers members;
};
struct Granted;  // coordinator.hpp

using TenantActor =
    caf::typed_actor<caf::replies_to<Submit>::with<JobAccepted>,
                     caf::replies_to<Cancel>::with<Done>, caf::replies_to<Wait>::with<Done>,
                     caf::replies_to<DescribeWaiting>::with<WaitingDescription>,
                     caf::replies_to<Retire>::with<Done>, caf::reacts_to<Reinstate>,
                     caf::reacts_to<SetTerms>, caf::reacts_to<Granted>, caf::reacts_to<Reclaimed>,
                     caf::reacts_to<TasksEnded>, caf::reacts_to<TasksReturned>>;

struct ClusterContext;  // cluster.hpp

/// What a tenant actor needs of the coordinator.
using TenantSink =
    caf::typed_actor<caf::reacts_to<DemandWindow>, caf::replies_to<Withdraw>::with<Done>,
                     caf::reacts_to<StopTasks>, caf::reacts_to<TellMembers>>;

[[nodiscard]] TenantActor spawn_tenant(caf::actor_system& system,
                                       std::shared_ptr<const ClusterContext> context,
                                       TenantSink coordinator, const TenantRecord& record,
                                       TenantStart start);

}  // namespace fairwater::inline actors::inline coordinator
