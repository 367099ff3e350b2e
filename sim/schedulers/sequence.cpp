#include "sim/schedulers/sequence.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "model/job.hpp"
#include "policy/core/check.hpp"
#include "policy/ledger/credits.hpp"
#include "state/snapshot.hpp"

namespace fairwater::sim::inline schedulers {
namespace {

constexpr std::int64_t kSecond_ms = 1000;  ///< between settlements

/// In one cycle, while nothing starts. Where the ledger counts time, each may move room that is
/// kept from one task to another; mostly the second changes nothing.
constexpr std::uint32_t kMostHeartbeats = 100;

JobId job_id(JobIndex job) { return {std::uint64_t{job} + 1}; }

/// The tenants as they were before the initial state's changes.
std::vector<TenantTree::Tenant> tenants_before(const Cluster& cluster,
                                               const InitialState& initial) {
  std::map<TenantIndex, const TermsChange*> changes;
  for (const auto& change : initial.changes) changes[change.tenant] = &change;
  std::vector<TenantTree::Tenant> tenants;
  for (TenantIndex i = 0; i < cluster.tenants.size(); ++i) {
    const auto change = changes.find(i);
    const bool is_there = change == changes.end() || change->second->before;
    if (!is_there) continue;
    tenants.push_back({tenant_id(i), change == changes.end() ? cluster.tenants[i].terms
                                                             : *change->second->before});
  }
  return tenants;
}

Grant held_grant(const Cluster& cluster, const Workload& workload, const RunningTask& running) {
  const Job& job = workload.jobs[running.task.job];
  return {.task = {job_id(running.task.job), running.task.index, 1},
          .tenant = tenant_id(job.tenant),
          .cost = cost_of(cluster, job),
          .demand = job.demand,
          .step = running.step,
          .beyond_quota = running.beyond_quota};
}

PlannedRun planned_run(const Workload& workload, const RunningTask& running) {
  const Job& job = workload.jobs[running.task.job];
  return {.limit_ms = std::max<TimeMs>(job.estimate_ms, 1),
          .expected_ms = 0,
          .ran_ms = run_ms_of(job, running.task.index) - running.left_ms};
}

/// As a coordinator that begins anew, and to which an operator applies the changes then.
DealCycle make_cycle(const PolicyOptions& options, const Cluster& cluster, const Workload& workload,
                     const InitialState& initial) {
  AllocatorSettings settings = cluster.settings;
  settings.mode = options.mode;
  settings.backups = options.backups;
  settings.accounting =
      options.accounting == SequenceAccounting::time ? Accounting::time : Accounting::units;
  settings.debts = options.debts;
  settings.predict = options.predict;
  settings.allocation = options.allocation;
  settings.growth = options.growth;
  settings.deferral_patiences = options.deferral_patiences;
  ClusterSnapshot snapshot;
  for (std::uint32_t i = 0; i < cluster.groups.size(); ++i)
    snapshot.tree.groups.push_back({GroupId{i + 1}, cluster.groups[i]});
  snapshot.tree.tenants = tenants_before(cluster, initial);
  snapshot.accounts = initial.accounts;
  const std::set<NodeIndex> closed{initial.closed.begin(), initial.closed.end()};
  for (NodeIndex i = 0; i < cluster.nodes.size(); ++i)
    snapshot.nodes.push_back(
        {node_id(i), cluster.nodes[i].traits, cluster.nodes[i].capacity, !closed.contains(i)});
  for (const auto& running : initial.running)
    snapshot.held.push_back({node_id(running.node), held_grant(cluster, workload, running),
                             planned_run(workload, running)});
  DealCycle cycle = restore(settings, snapshot);
  cycle.set_care(PlaceCare::thorough);
  for (const auto& change : initial.changes)
    cycle.allocator().set_tenant(tenant_id(change.tenant), cluster.tenants[change.tenant].terms);
  return cycle;
}

}  // namespace

SequenceScheduler::SequenceScheduler(const PolicyOptions& options, const Cluster& cluster,
                                     const Workload& workload, const InitialState& initial)
    : cluster_(cluster),
      workload_(workload),
      cycle_(make_cycle(options, cluster, workload, initial)),
      counts_time_(cycle_.allocator().counts_time()),
      order_(options.order),
      predict_(options.predict),
      knows_runs_(!initial.accounts.tenants.empty()),
      patience_percent_(options.patience_percent),
      began_ms_(cycle_.allocator().accounts().time().now_ms()),
      queues_(cluster.tenants.size()),
      accounts_(cluster.tenants.size()),
      before_(cluster.tenants.size()) {
  for (const auto& running : initial.running) ++running_at_start_[running.task.job];
  for (TenantIndex i = 0; counts_time_ && i < before_.size(); ++i) {
    const TimeAccount account = cycle_.allocator().accounts().time().account(tenant_id(i));
    before_[i] = {account.held_total, account.part_total};
  }
}

// While nothing happens, the settlement of the last second does for all before it.
void SequenceScheduler::pass_to(TimeMs now) {
  if (counts_time_) pass_time_to(now);
  settle_credits(now);
}

void SequenceScheduler::pass_time_to(TimeMs now) {
  const TimeAccounts& time = cycle_.allocator().accounts().time();
  const LedgerMs then = time.now_ms(), until = began_ms_ + now;
  const LedgerMs first = then / kSecond_ms * kSecond_ms + kSecond_ms,
                 last = until / kSecond_ms * kSecond_ms;
  for (const LedgerMs second : {first, last}) {
    if (second < then || second > until || second <= time.settled_ms()) continue;
    cycle_.allocator().pass_to(second);
    settle();
  }
  cycle_.allocator().pass_to(until);
}

// What has grown pays until it has ended, also once it is told to: as a coordinator counts.
void SequenceScheduler::settle_credits(TimeMs now) {
  while (wakes_at() && *wakes_at() <= now) {
    *credits_since_ms_ += kSecond_ms;
    const bool has_grown = cycle_.settle_credits(kSecond_ms).has_value();
    if (!has_grown && !cycle_.allocator().may_reclaim()) credits_since_ms_.reset();
  }
}

std::optional<TimeMs> SequenceScheduler::wakes_at() const {
  if (!credits_since_ms_) return std::nullopt;
  return *credits_since_ms_ + kSecond_ms;
}

// A position against what its tenant was owed or owed returns it; the rest is a loan.
void SequenceScheduler::settle() {
  if (!counts_time_) return;
  const auto settlement = cycle_.allocator().settle_time();
  if (!settlement) return;
  for (const TimeLine& line : settlement->lines) {
    if (line.position == 0) continue;
    Account& account = accounts_[line.tenant.value - 1];
    const Units before = cycle_.allocator().book().net(line.tenant.value) - line.position;
    if (line.position > 0) {
      const Units repaid = std::clamp<Units>(-before, 0, line.position);
      account.repaid += repaid;
      account.lent += line.position - repaid;
    } else {
      account.borrowed -= line.position + std::clamp<Units>(before, 0, -line.position);
    }
  }
}

void SequenceScheduler::submit(JobIndex index) {
  const Job& job = workload_.jobs[index];
  const auto running = running_at_start_.find(index);
  const std::uint32_t first = running == running_at_start_.end() ? 0 : running->second;
  const std::uint32_t waiting = shares_work(job) ? job.least_tasks : job.tasks - first;
  if (waiting > 0) add_waiting(index, first, waiting, 1);
}

void SequenceScheduler::add_waiting(JobIndex index, std::uint32_t first, std::uint32_t count,
                                    std::uint32_t attempt) {
  const Job& job = workload_.jobs[index];
  Queue& queue = queues_[job.tenant];
  queue.jobs[index].add(first, count, attempt);
  queue.order.insert(place_of(index));
  queue.late.insert(lateness_of(index));
  for (std::size_t r = 0; r < kMaxResources; ++r) queue.pending[r] += job.demand[r] * Amount{count};
  queue.pending_tasks += count;
  changed_.insert(job.tenant);
}

void SequenceScheduler::done(JobIndex index) {
  const TenantIndex tenant = workload_.jobs[index].tenant;
  queues_[tenant].growth.erase(index);
  cycle_.withdraw(tenant_id(tenant), job_id(index));
  changed_.insert(tenant);
}

void SequenceScheduler::end(TaskId task, NodeIndex node) {
  const Job& job = workload_.jobs[task.job];
  // How long an elastic job took says nothing of others, nor does what was cut short.
  if (counts_time_ && !shares_work(job) && !told_.contains(task))
    run_times_.finished(class_of(job), tenant_id(job.tenant), run_ms_of(job, task.index));
  // As after any result: that what must end is looked for anew follows from it.
  if (counts_time_ || something_would_grow()) changed_.insert(job.tenant);
  const std::uint32_t attempt = end_attempt(task);
  cycle_.allocator().release({job_id(task.job), task.index, attempt});
  cycle_.beat(node_id(node));
}

std::uint32_t SequenceScheduler::end_attempt(TaskId task) {
  const auto known = attempts_.extract(task);
  const std::uint32_t attempt = known.empty() ? 1 : known.mapped();
  if (told_.erase(task) > 0) wait_again(task, attempt + 1);
  return attempt;
}

void SequenceScheduler::wait_again(TaskId task, std::uint32_t attempt) {
  const Job& job = workload_.jobs[task.job];
  if (!shares_work(job)) return add_waiting(task.job, task.index, 1, attempt);
  auto& growing = queues_[job.tenant].growth;
  if (const auto growth = growing.find(task.job); growth != growing.end())
    growth->second.add(task.index, 1, attempt);
  changed_.insert(job.tenant);
}

Prediction SequenceScheduler::expected(const Job& job) const {
  const Prediction estimate{job.estimate_ms, PredictionSource::limit};
  if (knows_runs_ && predict_ == Predict::limits) return estimate;
  return run_times_.expected(class_of(job), tenant_id(job.tenant), job.estimate_ms)
      .value_or(estimate);
}

SequenceScheduler::Place SequenceScheduler::place_of(JobIndex job) const {
  return {order_ == QueueOrder::shortest_first ? workload_.jobs[job].estimate_ms : 0, job};
}

SequenceScheduler::Place SequenceScheduler::lateness_of(JobIndex index) const {
  const Job& job = workload_.jobs[index];
  return {job.submit_ms + patience_ms(job.estimate_ms, patience_percent_), index};
}

WaitingRange SequenceScheduler::waiting_range(JobIndex index,
                                              const WaitingTasks::Range& range) const {
  const Job& job = workload_.jobs[index];
  const TimeMs now = cycle_.allocator().accounts().time().now_ms() - began_ms_;
  const Prediction run_time = expected(job);
  return {.job = job_id(index),
          .first_index = range.first,
          .count = range.count,
          .attempt = range.attempt,
          .demand = job.demand,
          .rule = job.rule,
          .expected_ms = run_time.expected_ms,
          .expected_from = run_time.source,
          .limit_ms = std::max<TimeMs>(job.estimate_ms, 1),
          .late_in_ms = lateness_of(index).first - now,
          .patience_ms = patience_ms(job.estimate_ms, patience_percent_),
          .is_gang = job.is_gang || (range.first == 0 && job.least_tasks > 1),
          .placement = placement_for(job.placement, cluster_.tenants[job.tenant].placement)};
}

std::uint32_t SequenceScheduler::show(JobIndex index, const Queue& queue, std::uint32_t most,
                                      DemandWindow& window) const {
  std::uint32_t shown = 0;
  for (const auto& range : queue.jobs.at(index).ranges(kWindowRanges - window.next.size())) {
    if (shown >= most) break;
    window.next.push_back(waiting_range(index, range));
    shown += range.count;
  }
  return shown;
}

DemandWindow SequenceScheduler::window(TenantIndex tenant) const {
  const Queue& queue = queues_[tenant];
  DemandWindow window;
  window.tenant = tenant_id(tenant);
  window.pending = queue.pending;
  window.pending_tasks = queue.pending_tasks;
  window.seen_deal = cycle_.allocator().last_deal();
  std::uint32_t shown = 0;
  for (const auto& [key, index] : queue.order) {
    if (window.next.size() >= kWindowRanges || shown >= kWindowTasks) break;
    shown += show(index, queue, kWindowTasks - shown, window);
  }
  for (const auto& [index, waiting] : queue.growth) {
    if (window.growth.size() >= kWindowRanges) break;
    for (const auto& range : waiting.ranges(kWindowRanges - window.growth.size()))
      window.growth.push_back(waiting_range(index, range));
  }
  if (counts_time_ && !queue.late.empty())
    show_first_late(queue.late.begin()->second, queue, window);
  return window;
}

/// Whatever the order: else the window could hide it for ever.
void SequenceScheduler::show_first_late(JobIndex job, const Queue& queue,
                                        DemandWindow& window) const {
  const auto is_its = [&](const WaitingRange& range) { return range.job == job_id(job); };
  if (std::any_of(window.next.begin(), window.next.end(), is_its)) return;
  if (window.next.size() == kWindowRanges) window.next.pop_back();
  window.next.push_back(waiting_range(job, queue.jobs.at(job).ranges(1).front()));
}

void SequenceScheduler::grant(const Deal& deal, Actions& actions) {
  for (const auto& grant : deal.grants) {
    const auto job = static_cast<JobIndex>(grant.task.job.value - 1);
    const TenantIndex tenant = grant.tenant.value - 1;
    if (grant.step == GrantStep::growth)
      queues_[tenant].growth.at(job).take(grant.task.index, grant.task.attempt);
    else
      start_waiting(grant, queues_[tenant]);
    if (grant.task.attempt > 1) attempts_[{job, grant.task.index}] = grant.task.attempt;
    changed_.insert(tenant);
    actions.start.push_back({{job, grant.task.index}, deal.node.value - 1, 1});
  }
  for (const auto& loan : deal.loans) {
    accounts_[loan.lender.value - 1].lent += loan.units;
    accounts_[loan.borrower.value - 1].borrowed += loan.units;
  }
  for (const auto& repayment : deal.repayments)
    accounts_[repayment.debtor.value - 1].repaid += repayment.units;
}

void SequenceScheduler::start_waiting(const Grant& grant, Queue& queue) {
  const auto index = static_cast<JobIndex>(grant.task.job.value - 1);
  const auto found = queue.jobs.find(index);
  FAIRWATER_CHECK(found != queue.jobs.end(), "a grant is for a waiting task");
  found->second.take(grant.task.index, grant.task.attempt);
  queue.pending -= grant.demand;
  --queue.pending_tasks;
  if (!found->second.empty()) return;
  queue.jobs.erase(found);
  queue.order.erase(place_of(index));
  queue.late.erase(lateness_of(index));
  const Job& job = workload_.jobs[index];
  if (shares_work(job)) queue.growth[index].add(job.least_tasks, job.tasks - job.least_tasks, 1);
}

void SequenceScheduler::take_back(Actions& actions) {
  for (const Reclaim& reclaim : cycle_.take_reclaims()) {
    const TaskId task{static_cast<JobIndex>(reclaim.task.job.value - 1), reclaim.task.index};
    actions.take_back.push_back(task);
    told_.insert(task);
    reclaims_.push_back(reclaim);
  }
}

bool SequenceScheduler::something_would_grow() const {
  return std::any_of(queues_.begin(), queues_.end(),
                     [](const Queue& queue) { return !queue.growth.empty(); });
}

// Once more to look what must end is not a heartbeat's to ask for.
void SequenceScheduler::hear_all_nodes() {
  if (!something_would_grow()) return cycle_.consider_all_nodes();
  for (NodeIndex node = 0; node < cluster_.nodes.size(); ++node) cycle_.beat(node_id(node));
}

bool SequenceScheduler::deal_due_nodes(TimeMs now, Actions& actions) {
  auto deals = cycle_.run(std::numeric_limits<std::size_t>::max());
  // Not at the end of the cycle: what grows now may be told to end by then, and pays all the same.
  if (!credits_since_ms_ && cycle_.allocator().may_reclaim()) credits_since_ms_ = now;
  for (Deal& deal : deals) {
    grant(deal, actions);
    deals_.push_back(std::move(deal));
  }
  take_back(actions);
  return !deals.empty();
}

Actions SequenceScheduler::cycle(TimeMs now) {
  Actions actions;
  deals_.clear();
  reclaims_.clear();
  deal_due_nodes(now, actions);
  std::uint32_t heartbeats = 0;  // since something started
  for (bool goes_on = true; goes_on && heartbeats < kMostHeartbeats;) {
    const auto changed = std::exchange(changed_, {});
    for (const TenantIndex tenant : changed) cycle_.take_window(window(tenant));
    if (changed.empty()) hear_all_nodes();
    heartbeats = changed.empty() ? heartbeats + 1 : 0;
    goes_on = deal_due_nodes(now, actions) || !changed.empty();
  }
  return actions;
}

Account SequenceScheduler::account(TenantIndex tenant) const {
  Account account = accounts_[tenant];
  account.net = cycle_.allocator().book().net(tenant_id(tenant).value);
  account.credit = static_cast<double>(cycle_.allocator().tenant(tenant_id(tenant)).credit) / 1000;
  if (!counts_time_) return account;
  const TimeAccounts& time = cycle_.allocator().accounts().time();
  const TimeAccounts::Integrals integrals = time.integrals(tenant_id(tenant));
  account.held = static_cast<Units>((integrals.held - before_[tenant].held) / kMicroUnitsPerUnit);
  account.part = static_cast<Units>((integrals.part - before_[tenant].part) / kMicroUnitsPerUnit);
  return account;
}

}  // namespace fairwater::sim::inline schedulers
