// What a node actor knows of the tasks granted to its machine, and what follows from an agent's
// report. Pure: no clock, no messages.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "actors/coordinator/node.hpp"

namespace fairwater::inline actors::inline coordinator {

/// So many results of lost lives are made durable of one node while its coordinator lives, more
/// than a machine has of tasks that ended unheard; of others the agent is told to forget them. A
/// broken or hostile agent, which makes them up, would fill the ledger.
inline constexpr std::size_t kMostDisowned = 10'000;

/// What to do about a report.
struct ReportOutcome {
  std::vector<TaskResult> settle;           ///< results of assigned tasks, to be made durable
  std::vector<TaskResult> failed_launches;  ///< likewise; their grants came to nothing
  std::vector<TaskKey> acknowledge;   ///< results that nobody waits for: the agent may forget them
  std::vector<LaunchOrder> launches;  ///< assigned tasks that the agent has never heard of
  std::vector<TaskKey> returns;  ///< assigned, unheard of, and of an earlier life of the ledger
  std::vector<StopOrder> stops;  ///< tasks that run there but belong to nobody
  /// Results of a life of the ledger that was lost, to be made durable for those who ask.
  std::vector<TaskResult> disowned;
  bool runs_lost_life = false;  ///< what that life had started still runs there
};

struct TenantTasks {
  TenantActor tenant;
  std::vector<TaskResult> results;
  std::vector<TaskKey> made_room;  ///< of the results, see TasksEnded
  std::vector<TaskKey> keys;
};

class NodeTasks {
 public:
  explicit NodeTasks(std::vector<AssignedTask> assigned);

  void assign(const TenantActor& tenant, const LaunchOrder& order, JobKind kind = JobKind::batch,
              WallTime granted_at = {});
  /// Remembers that the task is to be stopped, until it has ended; false when it is not assigned.
  bool request_stop(const TaskKey& task);
  /// The same for all services' tasks. Those that it had not been requested for.
  std::vector<TaskKey> request_stop_of_services();
  /// Of all that is no service's, what was not reclaimed yet and is not being settled; it counts as
  /// reclaimed from here on.
  [[nodiscard]] std::vector<AssignedTask> reclaim_batch();
  /// They are not, after all.
  void not_reclaimed(const std::vector<AssignedTask>& tasks);
  /// `registering`: the agent has just (re)connected, so an assigned task that it does not name
  /// never reached it; otherwise the order may still be under way. `incarnation`: the ledger's;
  /// what was granted under an earlier one may have run in the life that was lost, and is not sent
  /// again; what is not known and of an earlier one was granted there. `now`: nothing ended later.
  [[nodiscard]] ReportOutcome take_report(const AgentReport& report, bool registering,
                                          std::uint32_t incarnation, WallTime now);
  [[nodiscard]] bool knows(const TaskKey& task) const { return assigned_.contains(task); }
  [[nodiscard]] bool has_task_of(JobId job) const {
    const auto first = assigned_.lower_bound(TaskKey{job, 0, 0});
    return first != assigned_.end() && first->first.job == job;
  }
  /// Keeps the newest word on an elastic job's members for as long as it has tasks here.
  /// O(elastic jobs with tasks here).
  void keep_members(const JobMembers& members) {
    members_[members.job] = members;
    forget_members_of_others();
  }
  /// What an agent that comes back is told again.
  [[nodiscard]] std::vector<JobMembers> kept_members();
  /// The results are durable: the tasks are forgotten, grouped for their tenants.
  [[nodiscard]] std::vector<TenantTasks> settled(const std::vector<TaskResult>& results);
  /// The results could not be made durable; the agent will name them again.
  void not_settled(const std::vector<TaskResult>& results);
  /// Of a task that is assigned; 0: it has no lease of its own.
  [[nodiscard]] std::int64_t own_lease_ms(const TaskKey& task) const {
    return assigned_.at(task).order_of_job->lease_ms;
  }
  /// Everything that is assigned and not being settled, e.g. when the node is lost.
  [[nodiscard]] std::vector<TaskKey> unsettled() const;
  /// These are being given back: they are neither launched nor given back once more meanwhile.
  void begin_return(const std::vector<TaskKey>& keys);
  /// Forgets these tasks, grouped for their tenants.
  [[nodiscard]] std::vector<TenantTasks> take_back(const std::vector<TaskKey>& keys);
  [[nodiscard]] std::size_t size() const { return assigned_.size(); }

 private:
  void forget_members_of_others();
  [[nodiscard]] std::shared_ptr<const LaunchOrder> order_of_job(const LaunchOrder& order) const;

  std::map<TaskKey, AssignedTask> assigned_;
  std::map<JobId, JobMembers> members_;  ///< the newest word on elastic jobs
  std::set<TaskKey> settling_;           ///< their result, or their return, is being made durable
  std::set<TaskKey> stop_requested_;
  std::set<TaskKey> disowned_;  ///< durable, or on the way
};

}  // namespace fairwater::inline actors::inline coordinator
