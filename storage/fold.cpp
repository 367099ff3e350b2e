#include "storage/fold.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <sodium.h>

#include "policy/core/check.hpp"
#include "state/gang.hpp"
#include "state/job.hpp"
#include "state/node.hpp"
#include "storage/deal_fold.hpp"
#include "storage/request_fold.hpp"
#include "storage/usage_fold.hpp"

namespace fairwater::inline storage {
namespace {

/// One record's effect on the state. Each operator() takes one kind of body.
class Fold {
 public:
  Fold(State& state, const JournalRecord& record, std::vector<ServiceRestart>& restarts)
      : state_(state), record_(record), restarts_(restarts) {}

  void operator()(const ClusterCreated& body) {
    if (record_.number != 1) refuse("a cluster is created by the first record alone");
    state_.meta.cluster = body;
  }
  void operator()(const CoordinatorStarted& body) {
    if (body.epoch <= state_.meta.epoch)
      refuse("epoch " + std::to_string(body.epoch) + " does not follow on " +
             std::to_string(state_.meta.epoch));
    state_.meta.epoch = body.epoch;
    state_.meta.lease = body.lease;
    state_.meta.debts = body.debts;
    state_.meta.counts_usage = body.counts_usage;
  }
  void operator()(const TenantsChanged& body);
  void operator()(const TenantRemoved& body);
  void operator()(const TenantLeaves& body);
  void operator()(const TokenIssued& body) {
    state_.tokens.put(token_key(body.token_hash), {body.role, body.tenant, body.name,
                                                   body.created_at, body.expires_at, body.user});
  }
  /// One that is gone already, with its tenant, stays gone.
  void operator()(const TokenRevoked& body) { state_.tokens.erase(token_key(body.token_hash)); }
  void operator()(const JobSubmitted& body);
  void operator()(const JobCancelled& body);
  void operator()(const JobWindsDown& body);
  void operator()(const GrowthLimited& body);
  void operator()(const NodeChanged& body) {
    if (!body.node.id) refuse("a node has the id 0");
    state_.meta.next_node.value = std::max(state_.meta.next_node.value, body.node.id.value + 1);
    state_.nodes.put(key_of(body.node.id), body.node);
  }
  void operator()(const NodeAdmitted& body) {
    if (!body.node) refuse("a node has the id 0");
    state_.meta.next_node.value = std::max(state_.meta.next_node.value, body.node.value + 1);
    const NodeRecord* known = state_.nodes.find(key_of(body.node));
    apply(state_.nodes.put(key_of(body.node), known ? *known : NodeRecord{}), body);
  }
  void operator()(const NodeDrained& body) { apply(node_of(body.node), body); }
  void operator()(const NodeLost& body) { apply(node_of(body.node), body); }
  void operator()(const NodeReturned& body) { apply(node_of(body.node), body); }
  void operator()(const NodeSuperseded& body) { apply(node_of(body.node), body); }
  void operator()(const NodeRemoved& body) {
    (void)node_of(body.node);
    state_.nodes.erase(key_of(body.node));
    state_.accounts.remove_node(body.node);
  }
  void operator()(const TasksFinished& body) {
    for (const TaskResult& result : body.results) finish(body.node, result);
  }
  void operator()(const TasksRequeued& body) {
    for (const TaskKey& task : body.tasks) requeue(body.node, task, body.node_lost);
  }
  void operator()(const LaunchesFailed& body) {
    for (const FailedLaunch& launch : body.launches) undo(body.node, launch);
  }
  void operator()(const LedgerTrusted& body) {
    LedgerMeta& meta = state_.meta;
    if (body.incarnation <= meta.incarnation || body.given_up < meta.last_number)
      refuse("incarnation " + std::to_string(body.incarnation) + " does not follow on " +
             std::to_string(meta.incarnation));
    meta.incarnation = body.incarnation;
    meta.given_up = body.given_up;
    meta.next_job.value += body.skipped_jobs;
    meta.next_tenant.value += body.skipped_tenants;
    meta.next_node.value += body.skipped_nodes;
    meta.epoch += body.skipped_epochs;
  }
  void operator()(const TasksDisowned& body) { (void)node_of(body.node); }
  void operator()(const Checkpointed& body) {
    if (body.number <= state_.meta.checkpoint || body.number >= record_.number)
      refuse("a checkpoint of record " + std::to_string(body.number) + " does not follow on " +
             std::to_string(state_.meta.checkpoint));
    state_.meta.checkpoint = body.number;
    state_.meta.checkpoint_hash = body.state_hash;
  }
  void operator()(const TimeSettled& body) {
    if (state_.meta.cluster.accounting != Accounting::time)
      refuse("time is settled in a ledger that counts units");
    if (const auto refusal = state_.accounts.apply(body.settlement)) refuse(*refusal);
  }
  void operator()(const DebtForgiven& body) {
    if (const auto refusal = state_.accounts.forgive(body.debtor, body.debts)) refuse(*refusal);
  }
  void operator()(const AccountingChanged& body) {
    ClusterCreated& cluster = state_.meta.cluster;
    if (cluster.accounting != Accounting::units || cluster.mode != DealMode::sized)
      refuse("a ledger that counts units, with tasks by their sizes, begins to count time");
    if (const auto refusal = state_.accounts.convert(body.unit_ms_per_unit)) refuse(*refusal);
    cluster.accounting = Accounting::time;
    state_.meta.counts_time_since = record_.time;
    state_.meta.unit_ms_per_unit = body.unit_ms_per_unit;
  }
  void operator()(const TasksReclaimed& body) {
    for (const Reclaim& reclaim : body.tasks)
      if (TaskRecord* task = running(reclaim.node, reclaim.task)) task->reclaimed = true;
  }
  void operator()(const CreditsSettled& body) {
    if (const auto refusal = state_.accounts.apply(body.settlement)) refuse(*refusal);
  }
  void operator()(const Cycle& body) {
    for (const Deal& deal : body.deals) {
      apply_accounts(state_, deal);
      if (!state_.nodes.find(key_of(deal.node))) refuse_node(deal.node);
      for (const Grant& grant : deal.grants) run(deal.node, grant);
    }
    check_starts();
  }

 private:
  void move_to(std::uint64_t position) {
    if (const auto refusal = state_.accounts.move_to(position)) refuse(*refusal);
  }
  [[noreturn]] static void refuse_node(NodeId node) {
    refuse("node " + std::to_string(node.value) + " does not exist");
  }
  NodeRecord& node_of(NodeId id) {
    NodeRecord* node = state_.nodes.edit(key_of(id));
    if (!node) refuse_node(id);
    return *node;
  }
  /// Accounts follow the tenants' specifications.
  void follow_tree();
  /// A tenant that leaves the accounts neither has a live job nor owes.
  void refuse_unsettled(TenantId tenant, const std::string& why);
  void run(NodeId node, const Grant& grant);
  /// Refuses a cycle that starts a gang in part, or an elastic job below its least.
  void check_starts();
  /// Tasks of a gang that runs again start over.
  void gather_gang(JobRecord& job);
  /// By the memory that it was granted.
  [[nodiscard]] std::uint32_t granted_step(const JobSpec& spec, const Grant& grant) const;
  void finish(NodeId node, const TaskResult& result);
  void requeue(NodeId node, const TaskKey& task, bool node_lost);
  void undo(NodeId node, const FailedLaunch& launch);
  /// The record of a task that runs there under this very attempt, else null.
  TaskRecord* running(NodeId node, const TaskKey& task);
  JobRecord& job_of(const TaskKey& task);
  /// The job, or null when it has ended: nothing happens to it any more, and its record may be
  /// archived already.
  JobRecord* unfinished(JobId id);
  /// Applies an event to the job; whether it lives, and its entry in its tenant's list, follow.
  template <class Event>
  void change(const JobRecord& job, Event&& event) {
    const bool had_ended = static_cast<bool>(job.finished_at);
    const TenantJob listed{state_of(job)};  // not looked for: the list follows every event
    event();
    if (const TenantJob entry{state_of(job)}; entry != listed)
      state_.tenant_jobs.put(tenant_job_key(job.tenant, job.id), entry);
    const bool has_ended = static_cast<bool>(job.finished_at);
    if (has_ended && !had_ended) state_.live.erase(key_of(job.id));
    if (!has_ended && had_ended) state_.live.put(key_of(job.id), {job.tenant});
  }
  /// From here on it is noted when it is granted something.
  void note_user(TenantId tenant, const std::string& user) {
    const std::string key = user_key(tenant, user);
    if (!state_.users.find(key)) state_.users.put(key, {});
  }
  void remember_runtime(const JobRecord& job, const TaskRecord& task);
  /// Of a service's task that has just returned.
  void note_restart(const JobRecord& job, const TaskRecord& task, const TaskKey& over);

  State& state_;
  const JournalRecord& record_;
  std::vector<ServiceRestart>& restarts_;
  std::set<JobId> granted_together_;
};

void Fold::operator()(const TenantsChanged& body) {
  std::map<std::string, TenantId> owners;
  for (const auto& [key, tenant] : state_.tenants.all())
    owners.emplace(tenant.spec.name, tenant.id);
  for (const TenantRecord& changed : body.tenants) {
    if (!changed.id || changed.spec.weight < 1)
      refuse("tenant '" + changed.spec.name + "' has no id or no weight");
    if (owners.emplace(changed.spec.name, changed.id).first->second != changed.id)
      refuse("the name '" + changed.spec.name + "' belongs to another tenant");
    if (TenantRecord* tenant = state_.tenants.edit(key_of(changed.id))) {
      tenant->spec = changed.spec;
      continue;
    }
    if (changed.id.value < state_.meta.next_tenant.value)
      refuse("the id " + std::to_string(changed.id.value) + " was given to another tenant before");
    state_.meta.next_tenant.value = changed.id.value + 1;
    TenantRecord fresh;
    fresh.id = changed.id;
    fresh.spec = changed.spec;
    state_.tenants.put(key_of(changed.id), std::move(fresh));
  }
  follow_tree();
  move_to(body.position);
}

void Fold::follow_tree() {
  const TenantNesting nesting = state_.nesting();
  for (const auto& fault : nesting.shape_faults())
    refuse("tenant '" + fault.tenant + "', " + fault.key + ": " + fault.message);
  const auto divided =
      nesting.divisions([&](TenantId tenant) { return state_.accounts.has(tenant); });
  for (const auto& [tenant, heirs] : divided) refuse_unsettled(tenant, "is divided");
  state_.accounts.follow_tree(nesting.members(), divided);
  for (const auto& [tenant, heirs] : divided) {
    TenantRecord& record = *state_.tenants.edit(key_of(tenant));
    record.deficit = record.time_rest = record.forgiven_total = record.credit = 0;
    record.repay_remainder_millionths = 0;
    record.held_total = record.part_total = {};
  }
}

void Fold::refuse_unsettled(TenantId tenant, const std::string& why) {
  const std::string& name = state_.tenants.find(key_of(tenant))->spec.name;
  for (const auto& [key, live] : state_.live.all())
    if (live.tenant == tenant) refuse("tenant '" + name + "' " + why + " while a job of its lives");
  if (state_.accounts.book().net(tenant.value) < 0)
    refuse("tenant '" + name + "' " + why + " while it owes");
}

void Fold::operator()(const TenantRemoved& body) {
  const TenantRecord* leaver = state_.tenants.find(key_of(body.tenant));
  if (!leaver) refuse("tenant " + std::to_string(body.tenant.value) + " does not exist");
  if (!state_.accounts.has(body.tenant))
    refuse("tenant '" + leaver->spec.name + "' leaves while it has tenants");
  refuse_unsettled(body.tenant, "leaves");
  const Units forgiven = state_.accounts.leave(body.tenant);
  if (forgiven != body.forgiven)
    refuse("leaving forgives " + std::to_string(forgiven) + " units, not " +
           std::to_string(body.forgiven));
  state_.tenants.erase(key_of(body.tenant));
  for (const auto& [key, token] : state_.tokens.all())
    if (token.role == Role::tenant && token.tenant == body.tenant) state_.tokens.erase(key);
  for (const auto& [key, user] : state_.users.all())
    if (key.starts_with(key_of(body.tenant))) state_.users.erase(key);
  follow_tree();
  move_to(body.position);
}

void Fold::operator()(const TenantLeaves& body) {
  TenantRecord* leaver = state_.tenants.edit(key_of(body.tenant));
  if (!leaver) refuse("tenant " + std::to_string(body.tenant.value) + " does not exist");
  if (!state_.accounts.has(body.tenant))
    refuse("tenant '" + leaver->spec.name + "' leaves while it has tenants");
  leaver->spec.leaving = true;
}

void Fold::operator()(const JobSubmitted& body) {
  if (body.id.value < state_.meta.next_job.value)
    refuse("the id " + std::to_string(body.id.value) + " was given to another job before");
  if (!state_.tenants.find(key_of(body.tenant)))
    refuse("tenant " + std::to_string(body.tenant.value) + " does not exist");
  remember_request(state_, body, record_.time);
  JobRecord job = submitted_job(body, record_.time);
  state_.meta.next_job.value = body.id.value + 1;
  state_.live.put(key_of(body.id), {body.tenant});
  if (has_class(job.spec)) state_.class_jobs.put(class_job_key(job), {});
  if (!job.spec.user.empty()) {
    note_user(body.tenant, {});
    note_user(body.tenant, job.spec.user);
  }
  count_submission(state_, job);
  // Not listed before, and not looked for: a read that finds nothing goes through all tables.
  state_.tenant_jobs.put(tenant_job_key(job.tenant, job.id), {state_of(job)});
  state_.jobs.put(key_of(body.id), std::move(job));
}

JobRecord* Fold::unfinished(JobId id) {
  const JobRecord* job = state_.jobs.find(key_of(id));
  if (!job && id >= state_.meta.next_job)
    refuse("job " + std::to_string(id.value) + " does not exist");
  return job && !job->finished_at ? state_.jobs.edit(key_of(id)) : nullptr;
}

void Fold::operator()(const JobCancelled& body) {
  JobRecord* job = unfinished(body.id);
  if (!job) return;
  change(*job, [&] { (void)cancel_job(*job, body.reason, record_.time); });
}

void Fold::operator()(const JobWindsDown& body) {
  JobRecord* job = unfinished(body.id);
  if (!job) return;
  change(*job, [&] { (void)wind_down(*job, record_.time); });
}

void Fold::operator()(const GrowthLimited& body) {
  JobRecord* job = unfinished(body.id);
  if (!job) return;
  if (!is_elastic(job->spec))
    refuse("job " + std::to_string(body.id.value) + " does not grow, and its growth is limited");
  change(*job, [&] { job->growth_limit = body.limit; });
}

void Fold::run(NodeId node, const Grant& grant) {
  const TaskKey& key = grant.task;
  JobRecord* job = state_.jobs.edit(key_of(key.job));
  if (!job) refuse("task " + text_of(key) + " was granted, but there is no such job");
  if (key.incarnation != state_.meta.incarnation)
    refuse("task " + text_of(key) + " was granted, but the ledger's incarnation is " +
           std::to_string(state_.meta.incarnation));
  // No task of a job that has not started has a record.
  const bool has_started = job->started_at || !job->submitted_at;
  const TaskRecord* found = has_started ? state_.tasks.find(task_key(key.job, key.index)) : nullptr;
  TaskRecord task = found ? *found : TaskRecord{};
  const std::uint32_t step = granted_step(job->spec, grant);
  if (task.grant_cycle == 0) count_first_start(state_, *job, grant, record_.time);
  const bool starts_together = job->spec.gang || (is_elastic(job->spec) && !job->started_at);
  change(*job, [&] { grant_task(*job, task, grant, node, {record_.number, record_.time}, step); });
  state_.tasks.put(task_key(key.job, key.index), std::move(task));
  if (TenantUser* user = state_.users.edit(user_key(job->tenant, job->spec.user)))
    user->served = record_.number;
  if (starts_together) granted_together_.insert(key.job);
}

void Fold::check_starts() {
  for (const JobId id : granted_together_) {
    const JobRecord& job = *state_.jobs.find(key_of(id));
    if (job.cancelled) continue;
    const std::string runs = " tasks, of which " + std::to_string(job.tasks.running) + " run";
    if (job.spec.gang && job.tasks.running != job.tasks.total)
      refuse("job " + std::to_string(id.value) + " is a gang of " +
             std::to_string(job.tasks.total) + runs);
    if (!job.spec.gang && job.tasks.running < job.spec.tasks_min)
      refuse("job " + std::to_string(id.value) + " starts with at least " +
             std::to_string(job.spec.tasks_min) + runs);
  }
}

void Fold::gather_gang(JobRecord& job) {
  if (!starts_over(job)) return;
  for (std::uint32_t index = 0; index < job.tasks.total; ++index) {
    TaskRecord* task = state_.tasks.edit(task_key(job.id, index));
    if (task && task->state == TaskState::succeeded) start_over(job, *task);
  }
}

std::uint32_t Fold::granted_step(const JobSpec& spec, const Grant& grant) const {
  if (spec.profiled.memory_steps.empty()) return 0;
  const auto& kinds = state_.meta.cluster.resources;
  const auto memory = std::find_if(kinds.begin(), kinds.end(),
                                   [](const ResourceKind& kind) { return kind.name == "memory"; });
  if (memory == kinds.end()) return 0;
  return memory_step_of(spec, grant.demand[static_cast<std::size_t>(memory - kinds.begin())]);
}

TaskRecord* Fold::running(NodeId node, const TaskKey& task) {
  const std::string key = task_key(task.job, task.index);
  const TaskRecord* found = state_.tasks.find(key);
  return found && is_run(*found, node, task) ? state_.tasks.edit(key) : nullptr;
}

JobRecord& Fold::job_of(const TaskKey& task) {
  JobRecord* job = state_.jobs.edit(key_of(task.job));
  if (!job) refuse("task " + text_of(task) + " has no job");
  return *job;
}

void Fold::finish(NodeId node, const TaskResult& result) {
  TaskRecord* task = running(node, result.task);
  if (!task) return;
  JobRecord& job = job_of(result.task);
  count_end(state_, job, *task, &result, record_.time);
  change(job, [&] { end_task(job, *task, result, record_.time); });
  note_restart(job, *task, result.task);
  if (task->state == TaskState::succeeded) remember_runtime(job, *task);
  gather_gang(job);
}

/// What others advanced for the grant goes back, then the result counts as any other.
void Fold::undo(NodeId node, const FailedLaunch& launch) {
  const TaskKey& key = launch.result.task;
  if (launch.result.reason != EndReason::launch_failed)
    refuse("task " + text_of(key) + " is no failed launch: it ended as " +
           std::string(to_string(launch.result.reason)));
  const TaskRecord* task = running(node, key);
  if (!task && !launch.returned.empty())
    refuse("task " + text_of(key) + " does not run there, and its advances would go back");
  if (!task) return;
  take_back(state_, job_of(key).tenant, task->cost, launch.returned);
  finish(node, launch.result);
}

void Fold::requeue(NodeId node, const TaskKey& key, bool node_lost) {
  TaskRecord* task = running(node, key);
  if (!task) return;
  JobRecord& job = job_of(key);
  count_end(state_, job, *task, nullptr, record_.time);
  change(job, [&] { requeue_task(job, *task, key, node_lost, record_.time); });
  note_restart(job, *task, key);
  gather_gang(job);
}

void Fold::note_restart(const JobRecord& job, const TaskRecord& task, const TaskKey& over) {
  if (job.spec.kind != JobKind::service || task.state != TaskState::pending) return;
  const std::int64_t pause_us = task.waits_until.microseconds - record_.time.microseconds;
  restarts_.push_back({over, pause_us / 1000});
}

void Fold::remember_runtime(const JobRecord& job, const TaskRecord& task) {
  if (!has_class(job.spec)) return;
  const TaskResult& result = *task.result;
  const std::string key = class_key(job.spec.job_class, amounts_at(job.spec, task.memory_step));
  const ClassHistory* found = state_.classes.find(key);
  ClassHistory history = found ? *found : ClassHistory{};
  const std::int64_t wall_ms = std::max<std::int64_t>(
      0, (result.finished_at.microseconds - result.started_at.microseconds) / 1000);
  history.wall_min_ms = history.count == 0 ? wall_ms : std::min(history.wall_min_ms, wall_ms);
  history.wall_max_ms = std::max(history.wall_max_ms, wall_ms);
  history.wall_total_ms += wall_ms;
  history.wall_last_ms = wall_ms;
  ++history.count;
  state_.classes.put(key, history);
}

}  // namespace

caf::error apply(State& state, const JournalRecord& record) {
  std::vector<ServiceRestart> restarts;
  return apply(state, record, restarts);
}

caf::error apply(State& state, const JournalRecord& record, std::vector<ServiceRestart>& restarts) {
  const auto fail = [&](const std::string& sentence) {
    return make_error(ErrorCode::internal, "journal record " + std::to_string(record.number) +
                                               " is refused: " + sentence);
  };
  if (record.number != state.meta.last_number + 1)
    return fail("it does not follow on record " + std::to_string(state.meta.last_number));
  if (record.previous != state.meta.last_hash)
    return fail("it does not carry the hash of the record before");
  if ((record.number == 1) != std::holds_alternative<ClusterCreated>(record.body))
    return fail("the first record, and no other, creates the cluster");
  if (!record.time) return fail("it has no time");
  try {
    std::visit(Fold(state, record, restarts), record.body);
    state.store_accounts();
  } catch (const Contradiction& contradiction) {
    return fail(contradiction.what());
  }
  state.meta.last_number = record.number;
  return {};
}

void note_restarts(JournalRecord& record, std::vector<ServiceRestart> restarts) {
  std::visit(
      [&](auto& body) {
        if constexpr (requires { body.restarts; }) body.restarts = std::move(restarts);
      },
      record.body);
}

Hash hash_of(std::string_view bytes) {
  Hash hash;
  const int failed = crypto_generichash(hash.data(), hash.size(),
                                        reinterpret_cast<const unsigned char*>(bytes.data()),
                                        bytes.size(), nullptr, 0);
  FAIRWATER_CHECK(failed == 0, "BLAKE2b takes 32 bytes of output");
  return hash;
}

}  // namespace fairwater::inline storage
