#include "sim/schedulers/sequence.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "policy/allocator/unheard_ends.hpp"
#include "policy/core/check.hpp"
#include "policy/ledger/credits.hpp"
#include "state/snapshot.hpp"

namespace fairwater::sim::inline schedulers {
namespace {

constexpr std::int64_t kSecond_ms = 1000;  ///< between settlements

/// In one cycle, while nothing starts. Where the ledger counts time, each may move room that is
/// kept from one task to another; mostly the second changes nothing.
constexpr std::uint32_t kMostHeartbeats = 100;

Grant held_grant(const Cluster& cluster, const Workload& workload, const RunningTask& running) {
  const Job& job = workload.jobs[running.task.job];
  return {.task = {job_id(running.task.job), running.task.index, 1},
          .tenant = tenant_id(job.tenant),
          .cost = cost_of(cluster, job),
          .demand = job.demand,
          .step = running.step,
          .beyond_quota = running.beyond_quota,
          .devices = running.devices};
}

PlannedRun planned_run(const Workload& workload, const RunningTask& running) {
  const Job& job = workload.jobs[running.task.job];
  return {.limit_ms = limit_ms_of(job),
          .expected_ms = 0,
          .ran_ms = run_ms_of(job, running.task.index) - running.left_ms,
          .is_service = job.is_service};
}

HeldTask held_task(const Cluster& cluster, const Workload& workload, const RunningTask& running) {
  return {.node = node_id(running.node),
          .grant = held_grant(cluster, workload, running),
          .run = planned_run(workload, running),
          .preemption = preemption_of(workload.jobs[running.task.job]),
          .user = workload.jobs[running.task.job].user};
}

/// As a coordinator that begins anew, and to which an operator applies another tree then.
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
  settings.preempt_after_ms = options.preempt_after_ms;
  settings.preempts_for_min = options.preempts_for_min;
  ClusterSnapshot snapshot;
  snapshot.tree = initial.before ? *initial.before : tenant_tree(cluster);
  snapshot.accounts = initial.accounts;
  const std::set<NodeIndex> closed{initial.closed.begin(), initial.closed.end()};
  for (NodeIndex i = 0; i < cluster.nodes.size(); ++i)
    snapshot.nodes.push_back(
        {node_id(i), cluster.nodes[i].traits, cluster.nodes[i].capacity, !closed.contains(i)});
  for (const auto& running : initial.running)
    snapshot.held.push_back(held_task(cluster, workload, running));
  DealCycle cycle = restore(settings, snapshot);
  cycle.set_care(PlaceCare::thorough);
  if (initial.before) cycle.allocator().set_tree(tenant_tree(cluster), {});
  return cycle;
}

}  // namespace

SequenceScheduler::SequenceScheduler(const PolicyOptions& options, const Cluster& cluster,
                                     const Workload& workload, const InitialState& initial)
    : cluster_(cluster),
      workload_(workload),
      cycle_(make_cycle(options, cluster, workload, initial)),
      counts_time_(cycle_.allocator().counts_time()),
      began_ms_(cycle_.allocator().accounts().time().now_ms()),
      queues_(options, cluster, workload, initial, !initial.accounts.tenants.empty()),
      accounts_(cluster.tenants.size()),
      before_(cluster.tenants.size()),
      number_(queues_.last_number()) {
  plan_drains(initial);
  for (const auto& running : initial.running) {
    WorkQueues::AtStart& job = at_start_[running.task.job];
    ++job.running;
    if (running.step != GrantStep::growth) continue;
    ++job.grown;
    grown_.insert(running.task);
  }
  for (TenantIndex i = 0; counts_time_ && i < before_.size(); ++i) {
    const TimeAccount account = cycle_.allocator().accounts().time().account(tenant_id(i));
    before_[i] = {account.held_total, account.part_total};
  }
}

void SequenceScheduler::plan_drains(const InitialState& initial) {
  const std::set<NodeIndex> closed{initial.closed.begin(), initial.closed.end()};
  for (NodeIndex node = 0; node < cluster_.nodes.size(); ++node) {
    const auto& drain = cluster_.nodes[node].drain;
    if (!drain || closed.contains(node)) continue;
    cycle_.close_node_from(node_id(node), (counts_time_ ? began_ms_ : 0) + drain->at_ms);
    drain_turns_.push_back({drain->at_ms, node, false});
    if (drain->until_ms) drain_turns_.push_back({*drain->until_ms, node, true});
  }
  std::sort(drain_turns_.begin(), drain_turns_.end(), std::greater<>());
}

void SequenceScheduler::take(const DrainTurn& turn) {
  const SimNode& node = cluster_.nodes[turn.node];
  cycle_.close_node_from(node_id(turn.node), std::nullopt);
  cycle_.set_node(node_id(turn.node), node.traits, node.capacity, turn.accepts);
  if (turn.accepts) cycle_.beat(node_id(turn.node));
}

void SequenceScheduler::pass_to(TimeMs now) {
  while (!drain_turns_.empty() && drain_turns_.back().at_ms <= now) {
    pass_without_turns_to(drain_turns_.back().at_ms);
    take(drain_turns_.back());
    drain_turns_.pop_back();
  }
  pass_without_turns_to(now);
}

// While nothing happens, the settlement of the last second does for all before it, unless rights
// bound who pays back.
void SequenceScheduler::pass_without_turns_to(TimeMs now) {
  if (counts_time_)
    pass_time_to(now);
  else
    cycle_.allocator().pass_to(now);
  settle_credits(now);
}

void SequenceScheduler::pass_time_to(TimeMs now) {
  const fairwater::Accounts& accounts = cycle_.allocator().accounts();
  const TimeAccounts& time = accounts.time();
  const LedgerMs then = time.now_ms(), until = began_ms_ + now;
  const LedgerMs first = then / kSecond_ms * kSecond_ms + kSecond_ms,
                 last = until / kSecond_ms * kSecond_ms;
  for (LedgerMs second = first; second <= last;) {
    if (second > time.settled_ms()) {
      cycle_.allocator().pass_to(second);
      settle();
    }
    if (second == last) break;
    second = accounts.has_bounded_loans() ? second + kSecond_ms : last;
  }
  cycle_.allocator().pass_to(until);
}

// What has grown pays until it has ended, also once it is told to: as a coordinator counts.
void SequenceScheduler::settle_credits(TimeMs now) {
  while (credits_due_at() && *credits_due_at() <= now) {
    *credits_since_ms_ += kSecond_ms;
    const bool has_grown = cycle_.settle_credits(kSecond_ms).has_value();
    if (!has_grown && !cycle_.may_reclaim()) credits_since_ms_.reset();
  }
}

std::optional<TimeMs> SequenceScheduler::changes_at() const {
  if (drain_turns_.empty()) return std::nullopt;
  return drain_turns_.back().at_ms;
}

std::optional<TimeMs> SequenceScheduler::wakes_at() const {
  const auto credits = credits_due_at(), turn = changes_at();
  return credits && turn ? std::min(credits, turn) : credits ? credits : turn;
}

std::optional<TimeMs> SequenceScheduler::credits_due_at() const {
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
  const auto running = at_start_.find(index);
  queues_.add(index, running == at_start_.end() ? WorkQueues::AtStart{} : running->second);
}

void SequenceScheduler::done(JobIndex index) {
  queues_.done(index);
  cycle_.withdraw(tenant_id(workload_.jobs[index].tenant), job_id(index));
}

void SequenceScheduler::end(TaskId task, NodeIndex node) {
  const Job& job = workload_.jobs[task.job];
  // How long an elastic job took says nothing of others, nor does what was cut short.
  if (counts_time_ && !shares_work(job) && !told_.contains(task))
    queues_.note_run(task.job, run_ms_of(job, task.index));
  // As after any result: that what must end is looked for anew follows from it, and growth.
  if (counts_time_ || looks_for_room() || cycle_.allocator().may_grow())
    queues_.note_changed(job.tenant);
  const TaskKey key{job_id(task.job), task.index, end_attempt(task)};
  cycle_.release_unheard(key);
  ended_[job.tenant].push_back(key);
  cycle_.beat(node_id(node));
}

DemandWindow SequenceScheduler::window(TenantIndex tenant, TimeMs now) {
  DemandWindow window = queues_.window(tenant, now, cycle_.allocator().last_deal());
  window.heard = take_heard(ended_[tenant], [&](const TaskKey& task) {
    return queues_.gathers(static_cast<JobIndex>(task.job.value - 1));
  });
  return window;
}

std::uint32_t SequenceScheduler::end_attempt(TaskId task) {
  const auto known = attempts_.extract(task);
  const std::uint32_t attempt = known.empty() ? 1 : known.mapped();
  const bool had_grown = grown_.erase(task) > 0;
  queues_.end(task, had_grown);
  if (told_.erase(task) > 0) queues_.wait_again(task, attempt + 1, had_grown);
  return attempt;
}

void SequenceScheduler::start_over(TaskId task) { queues_.wait_with_gang(task); }

void SequenceScheduler::grant(const Deal& deal, Actions& actions) {
  for (const auto& grant : deal.grants) {
    const TaskId task{static_cast<JobIndex>(grant.task.job.value - 1), grant.task.index};
    const bool has_grown = grant.step == GrantStep::growth;
    queues_.start(task, grant.task.attempt, has_grown, number_);
    if (has_grown) grown_.insert(task);
    if (grant.task.attempt > 1) attempts_[task] = grant.task.attempt;
    actions.start.push_back({task, deal.node.value - 1, 1, has_grown});
  }
  for (const auto& loan : deal.loans) {
    accounts_[loan.lender.value - 1].lent += loan.units;
    accounts_[loan.borrower.value - 1].borrowed += loan.units;
  }
  for (const auto& repayment : deal.repayments)
    accounts_[repayment.debtor.value - 1].repaid += repayment.units;
}

void SequenceScheduler::take_back(Actions& actions) {
  for (const Reclaim& reclaim : cycle_.take_reclaims()) {
    const TaskId task{static_cast<JobIndex>(reclaim.task.job.value - 1), reclaim.task.index};
    (reclaim.preempted ? actions.preempt : actions.take_back).push_back(task);
    told_.insert(task);
    reclaims_.push_back(reclaim);
  }
}

bool SequenceScheduler::looks_for_room() const {
  return cycle_.may_reclaim() || queues_.may_grow();
}

// Once more to look what must end is not a heartbeat's to ask for.
void SequenceScheduler::hear_all_nodes() {
  if (!looks_for_room()) return cycle_.consider_all_nodes();
  for (NodeIndex node = 0; node < cluster_.nodes.size(); ++node) cycle_.beat(node_id(node));
}

bool SequenceScheduler::deal_due_nodes(TimeMs now, Actions& actions) {
  auto deals = cycle_.run(std::numeric_limits<std::size_t>::max());
  // Not at the end of the cycle: what grows now may be told to end by then, and pays all the same.
  if (!credits_since_ms_ && cycle_.may_reclaim()) credits_since_ms_ = now;
  ++number_;
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
    const auto changed = queues_.take_changed();
    for (const TenantIndex tenant : changed) cycle_.take_window(window(tenant, now));
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
