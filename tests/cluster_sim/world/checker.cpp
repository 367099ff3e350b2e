#include "tests/cluster_sim/world/checker.hpp"

#include <algorithm>
#include <utility>

#include "tests/cluster_sim/world/actor_process.hpp"

namespace fairwater::cluster_sim {
// -- the journal ----------------------------------------------------------------------------------

std::vector<std::string> Checker::names_of(const ResourceCatalog& catalog) {
  std::vector<std::string> names;
  for (const ResourceKind& kind : catalog.kinds()) names.push_back(kind.name);
  return names;
}

void Checker::follow(const Ledger& ledger) {
  if (ledger.last_number() <= last_number_) return;
  ledger.visit_journal(last_number_ + 1, [&](const JournalRecord& record) {
    apply(record);
    return record.number < ledger.last_number() && !stage_.violation;
  });
  last_hash_ = ledger.end().hash;
  check_nets(ledger);
  check_services(ledger);
}

void Checker::check_services(const Ledger& ledger) {
  for (const auto& [id, model] : jobs_) {
    if (!model.is_service || model.is_cancelled) continue;
    const auto job = ledger.job(id);
    if (!job || is_terminal(state_of(*job)))
      stage_.broken("service {} has ended, and nobody cancelled it", id.value);
  }
}

std::size_t Checker::services_not_seen() const {
  std::size_t unseen = 0;
  for (const auto& [id, model] : jobs_)
    for (std::uint32_t index = 0; index < model.tasks; ++index)
      unseen += model.is_service && !model.is_cancelled && !seen_services_.contains({id, index});
  return unseen;
}

void Checker::check_restarts(const std::vector<TaskKey>& over,
                             const std::vector<ServiceRestart>& restarts) {
  for (const auto& task : over) {
    const auto job = jobs_.find(task.job);
    if (job == jobs_.end() || !job->second.is_service || job->second.is_cancelled) continue;
    const auto found = std::find_if(restarts.begin(), restarts.end(),
                                    [&](const auto& restart) { return restart.task == task; });
    if (found == restarts.end())
      return stage_.broken("the journal does not say when service {} starts again", text_of(task));
    // Pauses go by a clock that may gain a percent, and where the record's time is of a machine
    // whose date was ahead, the leader waits by that clock until its own date has come there, too.
    const std::int64_t waits_us = found->in_ms * kMs + 2 * kMostApart_us;
    not_before_us_[task_of(task)] = record_us_ + found->in_ms * kMs - waits_us / 50;
  }
}

/// What deals and settlements of time lend and repay, and operators forgive, added up here, is what
/// the ledger's IOUs come to.
void Checker::check_nets(const Ledger& ledger) {
  if (nets_ != NetsState::as_known) {
    std::map<TenantId, Units> stored;
    for (const auto& iou : ledger.ious()) {
      stored[TenantId{iou.debtor}] -= iou.units;
      stored[TenantId{iou.creditor}] += iou.units;
    }
    std::erase_if(net_, [](const auto& entry) { return entry.second == 0; });
    std::erase_if(stored, [](const auto& entry) { return entry.second == 0; });
    if (nets_ == NetsState::moved_by_deals && stored != net_)
      stage_.broken("at record {} the IOUs do not come to what was lent, repaid and forgiven",
                    last_number_);
    net_ = std::move(stored);
  }
  nets_ = NetsState::as_known;
}

void Checker::move_net(TenantId giver, TenantId taker, Units units) {
  net_[giver] += units;
  net_[taker] -= units;
  nets_ = std::max(nets_, NetsState::moved_by_deals);
}

void Checker::take_back(const Checker& then) {
  last_number_ = then.last_number_;
  last_hash_ = then.last_hash_;
  jobs_ = then.jobs_;
  nodes_ = then.nodes_;
  specs_ = then.specs_;
  nesting_ = then.nesting_;
  running_ = then.running_;
  last_attempt_ = then.last_attempt_;
  over_ = then.over_;
  returned_ = then.returned_;
  not_before_us_ = then.not_before_us_;
  least_memory_ = then.least_memory_;
  given_back_ = then.given_back_;
  accepted_ = then.accepted_;
  requested_ = then.requested_;
  cancels_ = then.cancels_;
  nets_ = then.nets_;
  net_ = then.net_;
  usage_ = then.usage_;
  has_granted_ = false;
}

void Checker::reopened(const Ledger& ledger) {
  if (ledger.last_number() < last_number_)
    return stage_.broken("the ledger ends at record {}, but {} was durable", ledger.last_number(),
                         last_number_);
  if (last_number_ == 0) return;
  const auto next = ledger.record(last_number_ + 1);
  if ((next ? next->previous : ledger.end().hash) != last_hash_)
    stage_.broken("record {} of the ledger is another than before", last_number_);
}

void Checker::compare(const Ledger& ledger) {
  const LedgerMark end = ledger.end();
  if (end.number == 0 || end.number > last_number_) return;
  const bool is_newest = end.number == last_number_;
  if (end.hash != (is_newest ? last_hash_ : std::optional(hashes_[end.number - 1])))
    stage_.broken("record {} of a ledger is another than that of the others", end.number);
}

void Checker::apply(const JournalRecord& record) {
  if (record.number != last_number_ + 1)
    return stage_.broken("record {} follows on record {}", record.number, last_number_);
  hashes_.resize(last_number_);
  if (last_number_ > 0) hashes_.back() = record.previous;
  last_number_ = record.number;
  if (record.time.microseconds < record_us_)
    stage_.broken("record {} is {} us older than the one before", record.number,
                  record_us_ - record.time.microseconds);
  if (format_of(record.body) > known_format)
    stage_.broken("record {} ({}) has format {}, and a coordinator knows formats up to {}",
                  record.number, kind_of(record.body), format_of(record.body), known_format);
  record_us_ = record.time.microseconds;
  const std::int64_t now_us = stage_.time.now_us();
  if (now_us - read_at_us_ > kSilence_us) {
    // While one waits the next is decided, and may have to wait for as long again.
    waited_from_us_ = read_at_us_ == waited_until_us_ ? silent_from_us_ : read_at_us_;
    silent_from_us_ = read_at_us_;
    waited_until_us_ = now_us;
  }
  read_at_us_ = now_us;
  usage_.take(record);
  stage_.log.line("journal {} {}", record.number, kind_of(record.body));
  if (std::holds_alternative<TenantRemoved>(record.body) ||
      std::holds_alternative<LaunchesFailed>(record.body) ||
      std::holds_alternative<AccountingChanged>(record.body))
    nets_ = NetsState::moved_otherwise;
  if (const auto* started = std::get_if<CoordinatorStarted>(&record.body)) apply(*started);
  if (const auto* tenants = std::get_if<TenantsChanged>(&record.body)) apply(*tenants);
  if (const auto* leaves = std::get_if<TenantLeaves>(&record.body)) apply(*leaves);
  if (const auto* gone = std::get_if<TenantRemoved>(&record.body)) {
    specs_.erase(gone->tenant);
    nesting_ = TenantNesting(specs_);
  }
  if (const auto* node = std::get_if<NodeAdmitted>(&record.body)) apply(*node);
  if (const auto* drain = std::get_if<NodeDrained>(&record.body)) apply(*drain);
  if (const auto* removed = std::get_if<NodeRemoved>(&record.body)) apply(*removed);
  if (const auto* cycle = std::get_if<Cycle>(&record.body)) apply(*cycle);
  if (const auto* settled = std::get_if<TimeSettled>(&record.body)) apply(*settled);
  if (const auto* reclaimed = std::get_if<TasksReclaimed>(&record.body)) apply(*reclaimed);
  if (const auto* forgiven = std::get_if<DebtForgiven>(&record.body))
    for (const auto& debt : forgiven->debts) move_net(forgiven->debtor, debt.creditor, debt.units);
  if (const auto* disowned = std::get_if<TasksDisowned>(&record.body))
    for (const auto& result : disowned->results) over_.insert(result.task);
  if (const auto* job = std::get_if<JobSubmitted>(&record.body);
      job != nullptr && !given_.insert(job->id).second)
    stage_.broken("job id {} was given twice", job->id.value);
  if (const auto* job = std::get_if<JobSubmitted>(&record.body);
      job != nullptr && !job->request.id.empty() &&
      !requested_.try_emplace({job->tenant, job->request.id}, job->id).second)
    stage_.broken("{} makes a second job, {}", job->request.id, job->id.value);
  if (const auto* job = std::get_if<JobSubmitted>(&record.body))
    jobs_[job->id] = {job->spec.tasks_max,
                      false,
                      job->spec.kind == JobKind::service,
                      job->spec.gang,
                      job->spec.profiled.memory_steps,
                      is_elastic(job->spec),
                      preemption_terms(job->spec).is_preemptible,
                      job->spec.user,
                      job->spec.devices,
                      *placement_of(job->spec),
                      0,
                      job->spec.time_limit_ms * kMs};
  if (const auto* limited = std::get_if<GrowthLimited>(&record.body))
    jobs_[limited->id].growth_limit = limited->limit.tasks;
  if (const auto* cancel = std::get_if<JobCancelled>(&record.body))
    jobs_[cancel->id].is_cancelled = true;
  if (const auto* finished = std::get_if<TasksFinished>(&record.body)) {
    std::vector<TaskKey> over;
    for (const auto& result : finished->results) {
      if (result.reason == EndReason::memory_limit) expect_more_memory(result.task);
      const auto running = running_.find(task_of(result.task));
      if (running != running_.end() && running->second.is_reclaimed &&
          result.reason == EndReason::cancelled)
        given_back_[task_of(result.task)] = result.task.attempt;
      end(finished->node, result.task, "a result");
      over.push_back(result.task);
      const auto known = results_.find(result.task);
      if (known == results_.end() || known->second.reason != result.reason ||
          known->second.exit_code != result.exit_code)
        stage_.broken("task {} is recorded as {} with status {}, which no host has told",
                      text_of(result.task), to_string(result.reason), result.exit_code);
    }
    check_restarts(over, finished->restarts);
  }
  if (const auto* failed = std::get_if<LaunchesFailed>(&record.body)) {
    std::vector<TaskKey> over;
    for (const auto& launch : failed->launches) {
      end(failed->node, launch.result.task, "a failed launch");
      over.push_back(launch.result.task);
    }
    check_restarts(over, failed->restarts);
  }
  if (const auto* requeued = std::get_if<TasksRequeued>(&record.body)) {
    for (const auto& task : requeued->tasks) {
      end(requeued->node, task, "a requeue");
      returned_.insert(task);
    }
    check_restarts(requeued->tasks, requeued->restarts);
  }
}

/// Steps rise, so the task's next run has at least the one above what it had.
void Checker::expect_more_memory(const TaskKey& key) {
  const auto running = running_.find(task_of(key));
  if (running == running_.end()) return;
  for (const Amount step : jobs_[key.job].memory_steps) {
    if (step <= running->second.demand[kMemory]) continue;
    least_memory_[task_of(key)] = step;
    return;
  }
}

void Checker::apply(const CoordinatorStarted& body) {
  if (body.epoch <= epoch_) stage_.broken("epoch {} follows on epoch {}", body.epoch, epoch_);
  epoch_ = body.epoch;
}

/// What is owed to one that is divided goes to those in it.
void Checker::apply(const TenantsChanged& body) {
  for (const auto& tenant : body.tenants) specs_[tenant.id] = tenant.spec;
  TenantNesting after(specs_);
  if (!after.shape_faults().empty())
    stage_.broken("record {} makes no tree of the tenants: {}", last_number_,
                  after.shape_faults().front().message);
  const auto was_leaf = [&](TenantId tenant) { return nesting_.is_leaf(tenant); };
  if (!after.divisions(was_leaf).empty()) nets_ = NetsState::moved_otherwise;
  nesting_ = std::move(after);
}

void Checker::apply(const TenantLeaves& body) {
  if (!nesting_.is_leaf(body.tenant) || nesting_.spec(body.tenant).leaving)
    stage_.broken("tenant {} leaves, and it has tenants, or leaves already", body.tenant.value);
  specs_[body.tenant].leaving = true;
  nesting_ = TenantNesting(specs_);
}

std::vector<std::string> Checker::leavers_left(const Ledger& ledger) const {
  std::map<std::uint32_t, Units> debts;
  for (const auto& iou : ledger.ious()) debts[iou.debtor] += iou.units;
  std::vector<std::string> left;
  for (const auto& tenant : ledger.tenants())
    if (tenant.spec.leaving && !debts.contains(tenant.id.value)) left.push_back(tenant.spec.name);
  return left;
}

void Checker::apply(const NodeAdmitted& body) {
  const auto capacity = catalog_.to_vector(body.spec.capacity, "capacity");
  auto& node = nodes_[body.node];
  node.name = body.spec.traits.name;
  if (!capacity || (node.capacity == *capacity && node.traits == body.spec.traits)) return;
  node.capacity_before = std::exchange(node.capacity, *capacity);
  node.traits_before = std::exchange(node.traits, body.spec.traits);
  node.changed_at_us = stage_.time.now_us();
}

void Checker::apply(const NodeRemoved& body) {
  for (const auto& [id, running] : running_)
    if (running.node == body.node)
      stage_.broken("node {} was removed while it has task {}", body.node.value,
                    text_of(running.task));
  nodes_.erase(body.node);
}

void Checker::apply(const NodeDrained& body) {
  auto& node = nodes_[body.node];
  const auto in_ms = (body.begins.microseconds - stage_.time.wall_time().microseconds) / kMs;
  stage_.log.line("node {} {}", body.node.value,
                  body.begins      ? fmt::format("drains in {} ms", in_ms)
                  : body.by_itself ? "drains itself"
                  : body.draining  ? "drains"
                                   : "drains no more");
  if (body.begins) {
    node.drain_begins_us = body.begins.microseconds;
    node.drain_seen_at_us = stage_.time.now_us();
    return;
  }
  if (!body.by_itself) node.drain_begins_us = 0;
  node.drain_deadline_us = body.draining ? body.deadline.microseconds : 0;
  node.drained_at_us = record_us_;
  node.drain_seen_at_us = stage_.time.now_us();
}

void Checker::apply(const Cycle& body) {
  for (const auto& deal : body.deals) {
    for (const auto& one : deal.grants) grant(deal, one);
    if (!deal.grants.empty()) check_room(deal.node);
    for (const auto& loan : deal.loans) check_loan(loan);
    for (const auto& loan : deal.loans) move_net(loan.lender, loan.borrower, loan.units);
    for (const auto& paid : deal.repayments) move_net(paid.debtor, paid.creditor, paid.units);
  }
  for (const auto& deal : body.deals)
    for (const auto& one : deal.grants)
      if (const auto job = jobs_.find(one.task.job); job != jobs_.end() && job->second.is_gang)
        check_gang(one.task);
}

bool Checker::has_come_to_deadline(const Reclaim& reclaim) {
  const NodeModel& node = nodes_[reclaim.node];
  // Waits go by a clock that may gain a percent. The journal's time may have stood meanwhile, until
  // the leader's date had come up to what the last one's was.
  const std::int64_t by_date_us = node.drain_deadline_us - node.drained_at_us;
  const std::int64_t gained_us =
      std::max(by_date_us, stage_.time.now_us() - node.drain_seen_at_us) / 50;
  return node.drain_deadline_us != 0 && record_us_ >= node.drain_deadline_us - gained_us;
}

/// A gang ends whole where one of its tasks is on such a node.
void Checker::check_drained(const TasksReclaimed& body, const Reclaim& reclaim) {
  const bool is_due = has_come_to_deadline(reclaim) ||
                      (jobs_[reclaim.task.job].is_gang &&
                       std::any_of(body.tasks.begin(), body.tasks.end(), [&](const Reclaim& other) {
                         return other.task.job == reclaim.task.job && has_come_to_deadline(other);
                       }));
  if (!is_due)
    stage_.broken("task {} is to end for a drain of node {} whose deadline has not come",
                  text_of(reclaim.task), nodes_[reclaim.node].name);
  if (jobs_[reclaim.task.job].is_service)
    stage_.broken("task {} is reclaimed for a drain, and is a service's", text_of(reclaim.task));
}

void Checker::apply(const TasksReclaimed& body) {
  std::set<JobId> gangs;  // that are to make room
  for (const auto& reclaim : body.tasks) {
    stage_.log.line("reclaim {} for job {} of tenant {}", text_of(reclaim.task),
                    reclaim.claimant_job.value, reclaim.claimant.value);
    const auto running = running_.find(task_of(reclaim.task));
    if (running == running_.end() || running->second.task != reclaim.task) continue;  // it ended
    if (body.for_drain)
      check_drained(body, reclaim);
    else if (running->second.has_grown == reclaim.preempted)
      stage_.broken("task {} was reclaimed, and it is {}of growth", text_of(reclaim.task),
                    reclaim.preempted ? "" : "none ");
    if (reclaim.preempted && !jobs_[reclaim.task.job].is_preemptible)
      stage_.broken("task {} was preempted, and its job may not be", text_of(reclaim.task));
    running->second.is_reclaimed = true;
    if (jobs_[reclaim.task.job].is_gang) gangs.insert(reclaim.task.job);
  }
  for (const auto& [id, task] : running_)
    if (gangs.contains(id.first) && !task.is_reclaimed)
      stage_.broken("task {} goes on, and its gang is to make room", text_of(task.task));
}

/// Unless the ledger goes on after what was read of it: it was just opened.
void Checker::check_usage(const Ledger& ledger) {
  if (ledger.last_number() != last_number_) return;
  if (const auto difference = usage_.difference(ledger); !difference.empty())
    stage_.broken("usage of {}", difference);
}

void Checker::check_reclaimed(const Ledger& ledger) {
  for (const auto& [id, attempt] : given_back_) {
    const auto job = ledger.job(id.first);
    if (!job || job->cancelled || !is_terminal(state_of(*job))) continue;
    // What was stopped on one node may have failed as a whole on another.
    if (job->spec.gang && state_of(*job) == JobState::failed) continue;
    if (last_attempt_[id] <= attempt)
      stage_.broken("job {} has ended, and its task {}, which was taken back, did not run again",
                    id.first.value, id.second);
  }
}

void Checker::end(NodeId node, const TaskKey& task, const char* how) {
  const auto found = running_.find(task_of(task));
  if (found == running_.end() || found->second.task != task || found->second.node != node)
    return stage_.broken("{} of task {} on node {} is in the journal, and it does not run there",
                         how, text_of(task), node.value);
  stage_.log.line("{} of {}", how, text_of(task));
  running_.erase(found);
  over_.insert(task);
}

void Checker::verify(const Ledger& ledger) {
  // Each at every other number of records: what is archived is proved, or taken as given.
  const auto scope = ledger.last_number() % 2 == 0 ? VerifyScope::database : VerifyScope::archive;
  const auto report = ledger.verify(scope);
  if (!report.ok || report.net_sum != 0)
    return stage_.broken("verify: net sum {}, {} differences, the first: {}", report.net_sum,
                         report.differences.size(),
                         report.differences.empty() ? "none" : report.differences.front());
  std::set<std::uint32_t> debtors;
  std::set<std::uint32_t> creditors;
  for (const auto& iou : ledger.ious()) {
    if (iou.units <= 0) stage_.broken("an IOU of {} units", iou.units);
    debtors.insert(iou.debtor);
    creditors.insert(iou.creditor);
  }
  for (const auto debtor : debtors)
    if (creditors.contains(debtor)) stage_.broken("tenant {} owes and is owed", debtor);
  Units credits = 0;
  for (const auto& tenant : ledger.tenants()) credits += tenant.credit;
  if (credits != 0) stage_.broken("credits sum to {}", credits);
  stage_.log.line("verified {} records", report.records);
}

void Checker::audit(const Ledger& ledger) {
  verify(ledger);
  check_reclaimed(ledger);
  check_usage(ledger);
  for (const auto id : accepted_)
    if (!ledger.job(id)) stage_.broken("job {} was accepted and is gone", id.value);
  for (const auto id : cancels_) {
    const auto job = ledger.job(id);
    if (job && !job->cancelled && !is_terminal(state_of(*job)))
      stage_.broken("job {} was cancelled and is not", id.value);
  }
}

}  // namespace fairwater::cluster_sim
