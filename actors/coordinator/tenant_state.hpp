// What a tenant's actor owns, shared by its source files. Not for others to include.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "actors/coordinator/cluster.hpp"
#include "actors/coordinator/tenant.hpp"
#include "state/tenant_jobs.hpp"

FAIRWATER_COORDINATOR_MESSAGE(RefreshWindow)
FAIRWATER_COORDINATOR_MESSAGE(BackoffOver)
FAIRWATER_COORDINATOR_MESSAGE(HomingOver)
FAIRWATER_COORDINATOR_MESSAGE(WaitOver)
FAIRWATER_COORDINATOR_MESSAGE(OutOfWork)
FAIRWATER_COORDINATOR_MESSAGE(LearnLimits)

namespace fairwater::inline actors::inline coordinator {

struct RefreshWindow {};
struct BackoffOver {
  TaskKey task;
};
struct HomingOver {
  TaskKey task;
};
struct WaitOver {
  JobId job;
  std::uint64_t waiter = 0;
};

/// An elastic job is to wind down, which could not be made durable before.
struct OutOfWork {
  JobId job;
};

/// What a class tells of growth could not be read, or be made durable, before.
struct LearnLimits {
  std::string job_class;
};

}  // namespace fairwater::inline actors::inline coordinator

namespace fairwater::inline actors::inline coordinator::tenancy {

using TenantBase = TenantActor::extend<caf::reacts_to<RefreshWindow>, caf::reacts_to<BackoffOver>,
                                       caf::reacts_to<HomingOver>, caf::reacts_to<WaitOver>,
                                       caf::reacts_to<OutOfWork>, caf::reacts_to<LearnLimits>>;
using WaitPromise = caf::typed_response_promise<Done>;

/// A submission with a request id that is not durable yet.
struct SubmissionUnderWay {
  std::optional<Hash> hash;  ///< of what is asked for
  std::vector<caf::typed_response_promise<JobAccepted>> repeated;
};

struct TenantActorState {
  static inline const char* name = "tenant";
  std::shared_ptr<const ClusterContext> context;
  TenantSink coordinator;
  TenantId id;
  std::string tenant_name;
  RunAs run_as;
  TenantJobs jobs{{}, QueuePolicy::fifo, {}};
  std::map<JobId, std::map<std::uint64_t, WaitPromise>> waiters;  ///< by job and number
  std::uint64_t last_waiter = 0;
  std::uint64_t seen_deal = 0;
  std::uint32_t granted_since_window = 0;  ///< tasks
  std::uint32_t submitting = 0;            ///< submissions that are being made durable
  std::size_t submitting_bytes = 0;
  std::map<std::string, SubmissionUnderWay> requested;  ///< by request id
  std::set<JobId> winding_down;                         ///< that is being made durable
  /// Classes whose profiles are being read; true: once more after that.
  std::map<std::string, bool> learning;
  std::set<JobId> limiting;       ///< a change of their limit is being made durable
  std::vector<TaskKey> heard;     ///< of whose ends the coordinator is to be told, with the window
  std::set<JobId> asked;          ///< how they ended, for who waits for them
  std::set<JobId> members_moved;  ///< of elastic jobs: their tasks are to be told, with the window
  bool refresh_due = false;
  bool retired = false;
  bool leaving = false;  ///< as TenantSpec has it
};

using TenantSelf = TenantBase::stateful_pointer<TenantActorState>;

// -- tenant.cpp -----------------------------------------------------------------------------------

/// However many changes gather, one window tells them all.
void refresh(TenantSelf self);
/// How the job ended is the ledger's to say: asked only when somebody waits for it.
void ask_dependency(TenantSelf self, JobId awaited);
/// The job is gone: who waits for it hears of it.
void job_ended(TenantSelf self, JobId job);
void send_stops(TenantSelf self, const std::vector<RunningTask>& running);

// -- tenant_growth.cpp ----------------------------------------------------------------------------

/// The elastic job has no work for tasks that have not begun. Tried until it is durable.
void wind_down(TenantSelf self, JobId job);
/// Lets elastic jobs of the class grow as far as its profile says, and no further; until that is
/// known and durable.
void learn_limits(TenantSelf self, const std::string& job_class);
/// Of elastic jobs whose tasks have begun or ended: tells those that run which do.
void tell_members(TenantSelf self);
/// Told to end.
void take_reclaimed(TenantSelf self, const Reclaimed& reclaimed);

// -- tenant_submit.cpp ----------------------------------------------------------------------------

/// Answered when the job is durable.
caf::result<JobAccepted> submit(TenantSelf self, Submit& request);

}  // namespace fairwater::inline actors::inline coordinator::tenancy
