#include "tests/cluster_sim/world/checker.hpp"

#include <algorithm>
#include <utility>

#include "tests/cluster_sim/world/actor_process.hpp"

namespace fairwater::cluster_sim {
namespace {

std::pair<JobId, std::uint32_t> task_of(const TaskKey& task) { return {task.job, task.index}; }

/// As machines have them, see machine.cpp.
bool is_shared_gpu(const std::string& device) { return device == "gpu2" || device == "gpu3"; }

/// For how long after a change of a node's capacity deals by the old one may still become durable.
constexpr std::int64_t kCapacitySettles_us = 10 * kSecond;

}  // namespace

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
  usage_.take(record);
  stage_.log.line("journal {} {}", record.number, kind_of(record.body));
  if (std::holds_alternative<TenantRemoved>(record.body) ||
      std::holds_alternative<LaunchesFailed>(record.body) ||
      std::holds_alternative<AccountingChanged>(record.body))
    nets_ = NetsState::moved_otherwise;
  if (const auto* started = std::get_if<CoordinatorStarted>(&record.body)) apply(*started);
  if (const auto* tenants = std::get_if<TenantsChanged>(&record.body)) apply(*tenants);
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
                      job->spec.devices};
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

void Checker::check_growth(const TaskKey& grown) {
  const std::uint32_t limit = jobs_[grown.job].growth_limit;
  if (limit == 0) return;
  const auto first = running_.lower_bound({grown.job, 0});
  const auto behind = running_.lower_bound({JobId{grown.job.value + 1}, 0});
  if (const auto tasks = std::distance(first, behind); tasks > limit)
    stage_.broken("task {} has grown: {} tasks of its job run, and its class makes use of {}",
                  text_of(grown), tasks, limit);
}

/// What is over on the machine holds nothing, also before its result is durable.
void Checker::check_max(const Grant& grant) {
  std::vector<TenantId> holders = nesting_.around(grant.tenant);
  holders.push_back(grant.tenant);
  for (const TenantId holder : holders) {
    const auto leaves = nesting_.leaves(holder);
    ResourceVector held;
    for (const auto& [task, running] : running_)
      if (std::binary_search(leaves.begin(), leaves.end(), running.tenant) &&
          !stopped_.contains(running.task))
        held += running.demand;
    const auto max = *catalog_.to_limit(nesting_.spec(holder).max, "max");
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (grant.demand[r] > 0 && held[r] > max[r])
        stage_.broken("with task {} tenant {} holds {} of resource {}, and its max is {}",
                      text_of(grant.task), nesting_.spec(holder).name, held[r], r, max[r]);
  }
}

void Checker::apply(const NodeAdmitted& body) {
  const auto capacity = catalog_.to_vector(body.spec.capacity, "capacity");
  auto& node = nodes_[body.node];
  node.name = body.spec.traits.name;
  if (!capacity || node.capacity == *capacity) return;
  node.capacity_before = std::exchange(node.capacity, *capacity);
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
  node.drain_deadline_us = body.draining ? body.deadline.microseconds : 0;
  node.drained_at_us = record_us_;
}

void Checker::apply(const TimeSettled& body) {
  Units sum = 0;
  Units decayed = 0;
  for (const auto& line : body.settlement.lines) {
    sum += line.position;
    decayed += line.decayed;
    net_[line.tenant] += line.position - line.decayed;
  }
  if (sum != 0) stage_.broken("a settlement of time lends {} more than it borrows", sum);
  if (decayed != 0) stage_.broken("of claims decay {} more than of debts", decayed);
  nets_ = std::max(nets_, NetsState::moved_by_deals);
}

void Checker::apply(const Cycle& body) {
  for (const auto& deal : body.deals) {
    for (const auto& one : deal.grants) grant(deal, one);
    if (!deal.grants.empty()) check_room(deal.node);
    for (const auto& loan : deal.loans) move_net(loan.lender, loan.borrower, loan.units);
    for (const auto& paid : deal.repayments) move_net(paid.debtor, paid.creditor, paid.units);
  }
  for (const auto& deal : body.deals)
    for (const auto& one : deal.grants)
      if (const auto job = jobs_.find(one.task.job); job != jobs_.end() && job->second.is_gang)
        check_gang(one.task);
}

void Checker::check_drained(const Reclaim& reclaim) {
  const NodeModel& node = nodes_[reclaim.node];
  // Waits go by a clock that may gain a percent.
  const std::int64_t wait_us = (node.drain_deadline_us - node.drained_at_us) / 100 * 98;
  if (node.drain_deadline_us == 0 || record_us_ < node.drained_at_us + wait_us)
    stage_.broken("task {} is to end for a drain of node {} whose deadline has not come",
                  text_of(reclaim.task), node.name);
  if (jobs_[reclaim.task.job].is_service)
    stage_.broken("task {} is reclaimed for a drain, and is a service's", text_of(reclaim.task));
}

void Checker::apply(const TasksReclaimed& body) {
  for (const auto& reclaim : body.tasks) {
    const auto running = running_.find(task_of(reclaim.task));
    if (running == running_.end() || running->second.task != reclaim.task) continue;  // it ended
    if (body.for_drain)
      check_drained(reclaim);
    else if (running->second.has_grown == reclaim.preempted)
      stage_.broken("task {} was reclaimed, and it is {}of growth", text_of(reclaim.task),
                    reclaim.preempted ? "" : "none ");
    if (reclaim.preempted && !jobs_[reclaim.task.job].is_preemptible)
      stage_.broken("task {} was preempted, and its job may not be", text_of(reclaim.task));
    running->second.is_reclaimed = true;
  }
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
    if (last_attempt_[id] <= attempt)
      stage_.broken("job {} has ended, and its task {}, which was taken back, did not run again",
                    id.first.value, id.second);
  }
}

void Checker::check_gang(const TaskKey& granted) {
  for (std::uint32_t index = 0; index < jobs_.at(granted.job).tasks; ++index) {
    const auto running = running_.find({granted.job, index});
    if (running == running_.end() || running->second.task.attempt != granted.attempt)
      return stage_.broken("task {} of a gang was granted without task {}", text_of(granted),
                           index);
  }
}

void Checker::check_devices(const RunningTask& granted) {
  const auto has = [](const RunningTask& task, const std::string& device) {
    return std::find(task.devices.begin(), task.devices.end(), device) != task.devices.end();
  };
  for (const std::string& device : jobs_[granted.task.job].devices)
    if (!has(granted, device))
      stage_.broken("task {} was granted without {}, for which its job asks", text_of(granted.task),
                    device);
  check_shares(granted);
  for (const auto& [id, other] : running_)
    for (const std::string& device : granted.devices)
      if (other.node == granted.node && other.task != granted.task &&
          !stopped_.contains(other.task) && has(other, device) && !is_shared_gpu(device))
        stage_.broken("task {} was granted {}, which {} has", text_of(granted.task), device,
                      text_of(other.task));
}

void Checker::check_shares(const RunningTask& granted) {
  const std::size_t resource = *catalog_.index_of(kSharedGpus);
  const Amount milli = granted.demand[resource];
  const auto of_each = [&](const RunningTask& task) {
    return std::min(task.demand[resource], kMilliPerGpu);
  };
  const auto given = std::count_if(granted.devices.begin(), granted.devices.end(), is_shared_gpu);
  if (milli != given * of_each(granted))
    stage_.broken("task {} takes {} thousandths of GPUs, and was granted {} of them",
                  text_of(granted.task), milli, given);
  for (const std::string& device : granted.devices) {
    if (!is_shared_gpu(device)) continue;
    Amount taken = 0;
    for (const auto& [id, task] : running_)
      if (task.node == granted.node && !stopped_.contains(task.task) &&
          std::find(task.devices.begin(), task.devices.end(), device) != task.devices.end())
        taken += of_each(task);
    if (taken > kMilliPerGpu)
      stage_.broken("task {} was granted {}, of which {} thousandths are taken with it",
                    text_of(granted.task), device, taken);
  }
}

void Checker::grant(const Deal& deal, const Grant& grant) {
  const auto& key = grant.task;
  const auto id = task_of(key);
  stage_.log.line("grant {} node {}", text_of(key), deal.node.value);
  const auto job = jobs_.find(key.job);
  if (job == jobs_.end() || key.index >= job->second.tasks)
    stage_.broken("task {} was granted, and no such task was submitted", text_of(key));
  else if (job->second.is_cancelled)
    stage_.broken("task {} was granted after its job was cancelled", text_of(key));
  if (!nodes_.contains(deal.node))
    stage_.broken("task {} was granted to node {}, which is unknown", text_of(key),
                  deal.node.value);
  if (running_.contains(id))
    stage_.broken("task {} was granted while {} runs", text_of(key), text_of(running_.at(id).task));
  if (const auto pause = not_before_us_.find(id);
      pause != not_before_us_.end() && record_us_ < pause->second)
    stage_.broken("task {} of a service was granted {} ms before its pause was over", text_of(key),
                  (pause->second - record_us_) / kMs);
  auto& last_attempt = last_attempt_[id];
  if (key.attempt <= last_attempt)
    stage_.broken("task {} was granted after attempt {}", text_of(key), last_attempt);
  last_attempt = key.attempt;
  if (const auto least = least_memory_.find(id);
      least != least_memory_.end() && grant.demand[kMemory] < least->second)
    stage_.broken("task {} was granted {} MiB, and should have {} by now", text_of(key),
                  grant.demand[kMemory], least->second);
  const bool has_grown = grant.step == GrantStep::growth;
  if (has_grown && job != jobs_.end() && !job->second.is_elastic)
    stage_.broken("task {} was granted by growth, and its job is not elastic", text_of(key));
  running_[id] = {key, deal.node, grant.tenant, grant.demand, has_grown, false, grant.devices};
  if (has_grown) check_growth(key);
  check_devices(running_[id]);
  if (nesting_.is_leaf(grant.tenant))
    check_max(grant);
  else
    stage_.broken("task {} was granted to tenant {}, which runs no jobs", text_of(key),
                  grant.tenant.value);
  granted_[key] = deal.node;
  has_granted_ = true;
}

/// What is over on the machine holds nothing, also before its result is durable.
void Checker::check_room(NodeId id) {
  const auto& node = nodes_[id];
  ResourceVector held;
  for (const auto& [task, running] : running_)
    if (running.node == id && !stopped_.contains(running.task)) held += running.demand;
  const bool settles = stage_.time.now_us() < node.changed_at_us + kCapacitySettles_us;
  if (held.fits(node.capacity) || (settles && held.fits(node.capacity_before))) return;
  stage_.broken("node {} was given {} millicores and {} MiB, and has {} and {}", node.name,
                held[kCpu], held[kMemory], node.capacity[kCpu], node.capacity[kMemory]);
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

// -- what leaves the coordinator ------------------------------------------------------------------

void Checker::ordered(const std::string& node, const LaunchOrder& order, std::uint64_t epoch) {
  const TaskKey& task = order.task;
  stage_.log.line("order {} to {}", text_of(task), node);
  // One that was deposed and does not know it does not know what others wrote since, either.
  const bool knows_all = epoch == epoch_;
  const auto granted = granted_.find(task);
  const auto host = granted == granted_.end() ? nodes_.end() : nodes_.find(granted->second);
  const bool is_host = host == nodes_.end() ? !knows_all : host->second.name == node;
  if (granted == granted_.end() || !is_host)
    return stage_.broken("task {} was ordered to start on {}, and its grant is not durable",
                         text_of(task), node);
  const auto running = running_.find(task_of(task));
  if (running != running_.end() && running->second.task == task &&
      order.limits.at("memory") != running->second.demand[kMemory])
    stage_.broken("task {} was ordered to start with {} MiB, and was granted {}", text_of(task),
                  order.limits.at("memory"), running->second.demand[kMemory]);
  if (knows_all && returned_.contains(task))
    stage_.broken("task {} was ordered to start after it was given back", text_of(task));
  if (order.epoch != epoch)
    stage_.broken("task {} was ordered in epoch {}, and it is epoch {}", text_of(task), order.epoch,
                  epoch);
}

void Checker::acknowledged(const std::string& node, const TaskKey& task) {
  stage_.log.line("acknowledge {} to {}", text_of(task), node);
  if (!over_.contains(task))
    stage_.broken("node {} may forget the result of task {}, and it is not durable", node,
                  text_of(task));
}

void Checker::accepted(JobId job, const std::string& request_id, const std::string& user) {
  stage_.log.line("accepted job {} {}", job.value, request_id);
  if (!jobs_.contains(job)) stage_.broken("job {} was accepted and is not durable", job.value);
  if (jobs_[job].user != user)
    stage_.broken("job {} of user '{}' became one of '{}'", job.value, user, jobs_[job].user);
  if (!accepted_.insert(job).second && request_id.empty())
    stage_.broken("job id {} was told twice", job.value);
  const bool is_its_job =
      request_id.empty() || std::any_of(requested_.begin(), requested_.end(), [&](const auto& one) {
        return one.first.second == request_id && one.second == job;
      });
  if (!is_its_job) stage_.broken("{} is answered with job {}", request_id, job.value);
}

void Checker::cancelled(JobId id, const Ledger& ledger) {
  stage_.log.line("cancelled job {}", id.value);
  cancels_.insert(id);
  const auto job = ledger.job(id);
  if (!job || (!job->cancelled && !is_terminal(state_of(*job))))
    stage_.broken("job {} is said to be cancelled and is not durably", id.value);
}

// -- on the machines ------------------------------------------------------------------------------

void Checker::started(const std::string& machine, const TaskKey& task) {
  stage_.log.line("start {} on {}", text_of(task), machine);
  if (!started_.insert(task).second)
    stage_.broken("task {} was started twice, now on {}", text_of(task), machine);
  stopped_.erase(task);  // an earlier try to start it may have failed
  seen_services_.insert(task_of(task));
  auto& alive = alive_[task_of(task)];
  if (!alive.empty())
    stage_.broken("task {} was started on {} while {} is alive on {}", text_of(task), machine,
                  text_of(alive.begin()->first), alive.begin()->second);
  alive.emplace(task, machine);
  if (!granted_.contains(task))
    stage_.broken("task {} was started on {} and never granted", text_of(task), machine);
}

void Checker::stopped(const std::string& machine, const TaskKey& task) {
  stage_.log.line("gone {} from {}", text_of(task), machine);
  stopped_.insert(task);
  const auto alive = alive_.find(task_of(task));
  if (alive != alive_.end()) alive->second.erase(task);
}

}  // namespace fairwater::cluster_sim
