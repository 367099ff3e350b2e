// What must hold at every moment of every run. It reads the journal as it grows and keeps its own
// account of it, and compares what the parts of the cluster do with what is durable.
//
//   journal    numbers follow on; epochs rise; an attempt is granted once, of a task that waits,
//              to a node that has room; requeues and results are of what runs there; nothing is
//              granted of a cancelled job; nodes go without tasks; after a restart nothing is
//              missing
//   drains     what a drain reclaims is no service's, and its node's deadline has come; one that is
//              planned begins at its time, and nothing is granted there before that may run longer
//   services   whatever ends their tasks, the journal says when they start again, and they do not
//              before; their jobs end when they are cancelled
//   gangs      one record grants all tasks of a gang, as the same attempt
//   shares     of no GPU that tasks share more than all of it is given, whole ones to one task
//   growth     only elastic jobs grow, and only what has grown is reclaimed, or preempted: no
//              service, of a gang all, and of jobs that may be; what was reclaimed runs again
//              before its job ends; credits sum to zero
//   tenants    the tasks of a tenant, and of all that are in one, stay below its max
//   leavers    where units are counted they borrow none; they have no tenants, and go when
//              they have no job any more and owe nothing
//   balances   IOUs come to what is lent, repaid and forgiven, within the rights and caps of
//   tenants
//              and of all that are in one together
//   orders     a launch that leaves the coordinator is durably granted to that node
//   answers    what a client or an agent is told is durable; of a submission's request id, one job
//   starts     an attempt is started once; no other attempt of the task is alive
//
// All of that holds over the loss of the ledger and its restoration from a backup, too.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/journal.hpp"
#include "model/journal_format.hpp"
#include "model/tenant_nesting.hpp"
#include "storage/ledger.hpp"
#include "tests/cluster_sim/world/stage.hpp"
#include "tests/cluster_sim/world/usage_sums.hpp"

namespace fairwater::cluster_sim {

class Checker {
 public:
  explicit Checker(Stage& stage) : stage_(stage), usage_(names_of(catalog_)) {}
  /// What all coordinators know of the journal: nothing newer is written.
  JournalFormat known_format = kNewestFormat;

  // -- the journal --------------------------------------------------------------------------------
  /// Reads what has become durable since the last call: that this ledger has, where there are
  /// several.
  void follow(const Ledger& ledger);
  /// A ledger that was opened: what was durable before is there, and unchanged.
  void reopened(const Ledger& ledger);
  /// Its newest record is the one that is known by this number.
  void compare(const Ledger& ledger);
  /// A ledger by itself: its records come to its state, and its balances to zero.
  void verify(const Ledger& ledger);
  /// The whole ledger: verify, sides of the IOUs, every job that was acknowledged.
  void audit(const Ledger& ledger);
  [[nodiscard]] std::uint64_t records() const { return last_number_; }
  /// The ledger is lost, and one goes on that ended when `then` was copied of this checker. What
  /// machines do, and what was ever given a number, stays as it is.
  void take_back(const Checker& then);
  [[nodiscard]] bool has_granted_since_taken_back() const { return has_granted_; }
  /// Granted in the journal, and not ended there.
  [[nodiscard]] std::size_t running() const { return running_.size(); }
  [[nodiscard]] std::size_t ended() const { return over_.size(); }
  /// From here on every service has to run at some time.
  void expect_services() { seen_services_.clear(); }
  /// Tasks of services that were not cancelled, and were not started since.
  [[nodiscard]] std::size_t services_not_seen() const;
  /// Of a ledger without a live job: who leaves and is still there, though it owes nothing.
  [[nodiscard]] std::vector<std::string> leavers_left(const Ledger& ledger) const;

  // -- what leaves the coordinator ----------------------------------------------------------------
  /// `epoch`: of the coordinator that it leaves.
  void ordered(const std::string& node, const LaunchOrder& order, std::uint64_t epoch);
  void acknowledged(const std::string& node, const TaskKey& task);
  /// `request_id`: that it was submitted with, or empty.
  void accepted(JobId job, const std::string& request_id, const std::string& user);
  void cancelled(JobId job, const Ledger& ledger);

  // -- on the machines ----------------------------------------------------------------------------
  void started(const std::string& machine, const TaskKey& task);
  /// Its last process is gone, or it could not be started.
  void stopped(const std::string& machine, const TaskKey& task);
  /// How it ended, as a host will tell.
  void result(const TaskResult& result) { results_[result.task] = result; }

 private:
  using TaskId = std::pair<JobId, std::uint32_t>;
  static TaskId task_of(const TaskKey& task) { return {task.job, task.index}; }
  struct JobModel {
    std::uint32_t tasks = 0;
    bool is_cancelled = false;
    bool is_service = false;
    bool is_gang = false;
    std::vector<Amount> memory_steps = {};  ///< see ProfiledAmounts
    bool is_elastic = false;
    bool is_preemptible = false;
    std::string user = {};
    std::vector<std::string> devices = {};
    PlacementRulePtr rule = {};      ///< null: any node will do
    std::uint32_t growth_limit = 0;  ///< 0: none
    std::int64_t limit_us = 0;       ///< 0: none
  };
  struct RunningTask {
    TaskKey task;
    NodeId node;
    TenantId tenant;
    ResourceVector demand;
    bool has_grown = false;
    bool is_reclaimed = false;
    std::vector<std::string> devices = {};
  };
  struct NodeModel {
    std::string name;
    ResourceVector capacity;
    ResourceVector capacity_before;  ///< until the newest change
    NodeTraits traits;
    NodeTraits traits_before;  ///< likewise
    std::int64_t changed_at_us = 0;
    std::int64_t drain_deadline_us = 0;  ///< 0: none
    std::int64_t drained_at_us = 0;      ///< in the journal's time
    std::int64_t drain_seen_at_us = 0;   ///< in the simulation's
    std::int64_t drain_begins_us = 0;    ///< planned; by the date; 0: none
  };

  static std::vector<std::string> names_of(const ResourceCatalog& catalog);
  void apply(const JournalRecord& record);
  void apply(const CoordinatorStarted& body);
  void apply(const TenantsChanged& body);
  void apply(const TenantLeaves& body);
  void apply(const NodeAdmitted& body);
  void apply(const NodeRemoved& body);
  void apply(const NodeDrained& body);
  void apply(const TimeSettled& body);
  void apply(const Cycle& body);
  void apply(const TasksReclaimed& body);
  void check_planned_drain(const RunningTask& granted);
  /// What is reclaimed now, because its node's drain has a deadline.
  [[nodiscard]] bool has_come_to_deadline(const Reclaim& reclaim);
  void check_drained(const TasksReclaimed& body, const Reclaim& reclaim);
  void check_reclaimed(const Ledger& ledger);
  void check_usage(const Ledger& ledger);
  void grant(const Deal& deal, const Grant& grant);
  /// All tasks of its gang run now, as the same attempt.
  void check_gang(const TaskKey& granted);
  /// With the task that has grown no more run than its job's class makes use of.
  void check_growth(const TaskKey& grown);
  void check_room(NodeId node);
  /// The task has what its job names, and nobody else on the node has any of it, or of GPUs that
  /// tasks share too much.
  void check_devices(const RunningTask& granted);
  /// Its job's labels and sites allow the node.
  void check_placement(const RunningTask& granted);
  void check_shares(const RunningTask& granted);
  /// Of what a task asks for that was just granted.
  void check_max(const Grant& grant);
  void check_loan(const Loan& loan);
  struct NetChange {
    Units before = 0;
    Units after = 0;
  };
  /// By what is lent and borrowed alone; it may be off by `doubt`.
  void check_loans(TenantId tenant, const NetChange& net, Units doubt);
  void check_loans_of_groups(const TimeSettlement& settlement);
  void check_nets(const Ledger& ledger);
  void move_net(TenantId giver, TenantId taker, Units units);
  void end(NodeId node, const TaskKey& task, const char* how);
  /// The journal must say when the services among `over` start again.
  void check_restarts(const std::vector<TaskKey>& over,
                      const std::vector<ServiceRestart>& restarts);
  void check_services(const Ledger& ledger);
  void expect_more_memory(const TaskKey& task);

  Stage& stage_;
  ResourceCatalog catalog_ = simulated_resources();
  std::uint64_t last_number_ = 0;
  std::optional<Hash> last_hash_;  ///< of that record
  std::vector<Hash> hashes_;       ///< of those before it
  std::uint64_t epoch_ = 0;
  std::map<JobId, JobModel> jobs_;
  std::map<NodeId, NodeModel> nodes_;
  TenantNesting::Specs specs_;
  TenantNesting nesting_{{}};  ///< of these
  std::map<TaskId, RunningTask> running_;
  std::map<TaskId, std::uint32_t> last_attempt_;
  std::map<TaskKey, NodeId> granted_;
  std::set<TaskKey> over_;                        ///< ended or given back, in the journal
  std::set<TaskKey> returned_;                    ///< of these, without a result
  std::map<TaskId, std::int64_t> not_before_us_;  ///< of services' tasks, in the journal's time
  std::set<TaskId> seen_services_;
  std::map<TaskId, std::uint32_t> given_back_;  ///< the attempt that ended because it was reclaimed
  std::map<TaskId, Amount> least_memory_;       ///< of tasks that hit their limit
  std::int64_t record_us_ = 0;                  ///< of the record that is being read
  /// Nothing is read for so long where the ledger waits for a majority.
  static constexpr std::int64_t kSilence_us = 5 * kSecond;
  std::int64_t read_at_us_ = 0;       ///< it, by the world's clock
  std::int64_t silent_from_us_ = 0;   ///< the last silence
  std::int64_t waited_from_us_ = 0;   ///< it, or the one right before it
  std::int64_t waited_until_us_ = 0;  ///< its end
  std::set<JobId> accepted_;
  std::map<std::pair<TenantId, std::string>, JobId> requested_;
  std::set<JobId> cancels_;
  std::set<JobId> given_;     ///< ids of jobs, of lives that were lost too
  bool has_granted_ = false;  ///< since it was taken back

  /// Those who leave, and failed launches, move more than their records say.
  enum class NetsState : std::uint8_t { as_known, moved_by_deals, moved_otherwise };
  NetsState nets_ = NetsState::as_known;
  std::map<TenantId, Units> net_;
  UsageSums usage_;

  std::set<TaskKey> started_;
  std::map<TaskId, std::map<TaskKey, std::string>> alive_;
  std::set<TaskKey> stopped_;
  std::map<TaskKey, TaskResult> results_;
};

}  // namespace fairwater::cluster_sim
