#include "timed_cluster.hpp"

#include <algorithm>
#include <utility>

#include <catch2/catch.hpp>

#include "policy/prediction/patience.hpp"
#include "shared_gpus.hpp"

namespace fairwater::test {
namespace {

constexpr LedgerMs kPeriodMs = 1000;  ///< between settlements
constexpr std::size_t kWindowRanges = 64;

NodeTraits traits_of(std::uint32_t id) {
  NodeTraits traits;
  traits.name = "node" + std::to_string(id);
  return traits;
}

}  // namespace

TimedCluster::TimedCluster(const AllocatorSettings& settings)
    : settings_(settings), allocator_(settings) {
  settings_.accounting = Accounting::time;
  allocator_ = Allocator(settings_);
}

void TimedCluster::group(std::uint32_t id, const GroupTerms& terms) {
  groups_[id] = terms;
  allocator_.set_group(GroupId{id}, terms);
}

void TimedCluster::tenant(std::uint32_t id, const TenantTerms& terms) {
  if (!tenants_.contains(id)) joined_.push_back(id);
  tenants_[id].terms = terms;
  allocator_.set_tenant(TenantId{id}, terms);
  deal_all();
}

void TimedCluster::remove_tenant(std::uint32_t id) {
  (void)allocator_.settle_time();
  allocator_.remove_tenant(TenantId{id});
  tenants_.erase(id);
  std::erase(joined_, id);
  deal_all();
}

void TimedCluster::node(std::uint32_t id, const ResourceVector& capacity, bool accepts) {
  set_node(id, {capacity, accepts, traits_of(id)});
}

void TimedCluster::node(std::uint32_t id, const ResourceVector& capacity,
                        const NodeTraits& traits) {
  set_node(id, {capacity, true, traits});
}

void TimedCluster::set_node(std::uint32_t id, Node node) {
  allocator_.set_node(NodeId{id}, node.traits, node.capacity, node.accepts);
  nodes_[id] = std::move(node);
  deal_all();
}

void TimedCluster::close_node_from(std::uint32_t id, std::optional<LedgerMs> at_ms) {
  allocator_.close_node_from(NodeId{id}, at_ms);
  deal_all();
}

void TimedCluster::lose_node(std::uint32_t id) {
  std::vector<TaskKey> lost;
  for (const auto& [key, running] : running_)
    if (running.node == id) lost.push_back(key);
  for (const TaskKey& key : lost) {
    auto running = running_.extract(key).mapped();
    allocator_.release(key);
    std::erase_if(ends_, [&](const auto& end) { return end.second == key; });
    ++running.waiting.attempt;
    tenants_[running.tenant].queue.push_front(running.waiting);
  }
  allocator_.remove_node(NodeId{id});
  nodes_.erase(id);
  for (const std::uint32_t tenant : tenants()) send_window(tenant);
  deal_all();
}

JobId TimedCluster::submit(std::uint32_t tenant, std::uint32_t tasks, const Task& task) {
  const JobId job{++last_job_};
  const LedgerMs waits_ms = task.patience_ms.value_or(patience_ms(task.limit_ms));
  tenants_[tenant].queue.push_back({task, job, 0, 1, tasks, now_ms_ + waits_ms, waits_ms});
  deal_all();
  return job;
}

void TimedCluster::clear(std::uint32_t tenant) {
  tenants_[tenant].queue.clear();
  deal_all();
}

void TimedCluster::run_until(LedgerMs ms) {
  while (true) {
    const LedgerMs period = (now_ms_ / kPeriodMs + 1) * kPeriodMs;
    const LedgerMs next = ends_.empty() ? period : std::min(period, ends_.begin()->first);
    if (next > ms) break;
    pass_to(next);
    end_tasks();
    if (now_ms_ % kPeriodMs == 0) (void)allocator_.settle_time();
    deal_all();
  }
  pass_to(ms);
}

HeldTask TimedCluster::held_task(const Running& running) const {
  const Task& task = running.waiting.task;
  return {NodeId{running.node},
          running.grant,
          {task.limit_ms, task.expected_ms, now_ms_ - running.started_ms}};
}

void TimedCluster::restart() {
  const AccountsSnapshot accounts = allocator_.accounts().snapshot();
  Allocator again(settings_);
  for (const auto& [id, terms] : groups_) again.set_group(GroupId{id}, terms);
  for (const std::uint32_t id : joined_) again.set_tenant(TenantId{id}, tenants_[id].terms);
  for (const auto& [id, node] : nodes_)
    again.set_node(NodeId{id}, node.traits, node.capacity, node.accepts);
  again.restore(accounts);
  std::vector<HeldTask> held;
  for (const auto& [key, running] : running_) held.push_back(held_task(running));
  again.restore_held(held);
  again.restore_last_deal(allocator_.last_deal());
  allocator_ = std::move(again);
  for (const std::uint32_t tenant : tenants()) send_window(tenant);
  CHECK(allocator_.accounts().snapshot() == accounts);
}

// -- what happens ---------------------------------------------------------------------------------

void TimedCluster::pass_to(LedgerMs ms) {
  for (auto& [id, tenant] : tenants_) tenant.held += Wide{view(id).held} * (ms - now_ms_);
  now_ms_ = ms;
  allocator_.pass_to(ms);
  check();
}

void TimedCluster::end_tasks() {
  while (!ends_.empty() && ends_.begin()->first == now_ms_) {
    const TaskKey key = ends_.begin()->second;
    ends_.erase(ends_.begin());
    running_.erase(key);
    REQUIRE(allocator_.release(key));
  }
}

void TimedCluster::send_window(std::uint32_t tenant) {
  DemandWindow window;
  window.tenant = TenantId{tenant};
  window.seen_deal = allocator_.last_deal();
  for (const Waiting& waiting : tenants_[tenant].queue) {
    for (std::size_t r = 0; r < kMaxResources; ++r)
      window.pending[r] += waiting.task.demand[r] * waiting.count;
    window.pending_tasks += waiting.count;
    if (window.next.size() >= kWindowRanges) continue;
    window.next.push_back({.job = waiting.job,
                           .first_index = waiting.index,
                           .count = waiting.count,
                           .attempt = waiting.attempt,
                           .demand = waiting.task.demand,
                           .rule = waiting.task.rule,
                           .expected_ms = waiting.task.expected_ms,
                           .limit_ms = waiting.task.limit_ms,
                           .late_in_ms = waiting.late_from_ms - now_ms_,
                           .patience_ms = waiting.patience_ms,
                           .is_gang = waiting.task.is_gang});
  }
  allocator_.set_window(std::move(window));
}

void TimedCluster::deal_all() {
  for (bool dealt = true; std::exchange(dealt, false);) {
    for (const std::uint32_t tenant : tenants()) send_window(tenant);
    for (const auto& [id, node] : nodes_) dealt = deal(id) || dealt;
  }
}

bool TimedCluster::deal(std::uint32_t node) {
  const std::size_t before = starts_.size();
  if (const auto dealt = allocator_.deal(NodeId{node})) take(*dealt);
  while (const auto next = allocator_.next_of_gang()) {
    const auto dealt = allocator_.deal(*next);
    REQUIRE(dealt.has_value());
    take(*dealt);
  }
  for (const auto& [id, tenant] : tenants_)
    for (const Waiting& waiting : tenant.queue)
      REQUIRE((!waiting.task.is_gang || waiting.index == 0));
  return starts_.size() > before;
}

void TimedCluster::take(const Deal& deal) {
  CHECK(deal.loans.empty());
  CHECK(deal.repayments.empty());
  for (const Grant& grant : deal.grants) {
    auto& queue = tenants_.at(grant.tenant.value).queue;
    const auto found = std::find_if(queue.begin(), queue.end(), [&](const Waiting& waiting) {
      return waiting.job == grant.task.job && waiting.index == grant.task.index;
    });
    REQUIRE(found != queue.end());
    const LedgerMs ends_ms = now_ms_ + found->task.run_ms;
    Waiting taken = *found;
    taken.count = 1;
    running_[grant.task] = {taken, grant.tenant.value, deal.node.value, now_ms_, grant};
    ends_.emplace(ends_ms, grant.task);
    ++found->index;
    if (--found->count == 0) queue.erase(found);
    last_start_[grant.task.job] = starts_.size();
    starts_.push_back(
        {now_ms_, grant.tenant.value, grant.task.job, grant.task.index, deal.node.value});
  }
  check_gpus(deal.node.value);
}

/// By a look at each of those that tasks share.
void TimedCluster::check_gpus(std::uint32_t node) const {
  std::map<std::string, Amount> taken;
  for (const auto& [key, running] : running_) {
    const Amount milli = running.grant.demand[gpus::kGpuMilli];
    if (running.node != node || milli == 0) continue;
    REQUIRE(running.grant.devices.size() == shared_gpus(milli).gpus);
    for (const std::string& name : running.grant.devices)
      REQUIRE((taken[name] += std::min(milli, kMilliPerGpu)) <= kMilliPerGpu);
  }
}

void TimedCluster::check() const {
  Units nets = 0;
  Wide rests = 0;
  for (const auto& [id, tenant] : tenants_) {
    nets += allocator_.book().net(id);
    rests += allocator_.accounts().time().account(TenantId{id}).rest;
  }
  REQUIRE(nets == 0);
  REQUIRE(rests == 0);
  for (const auto& [id, tenant] : tenants_) check_mark(id);
}

/// What the allocator remembers of debts and claims against what each IOU makes of them now.
void TimedCluster::check_mark(std::uint32_t tenant) const {
  const auto explained = allocator_.explain_mark(TenantId{tenant});
  REQUIRE(explained.has_value());
  const MicroUnits beyond = explained->mark - explained->base;
  const auto repaid = static_cast<MicroUnits>(
      Wide{explained->part} * tenants_.at(tenant).terms.repay_millionths / kMicroUnitsPerUnit);
  MicroUnits due = 0, moved = 0, least = repaid, most = 0;
  for (const MarkMove& move : explained->moves) {
    due += move.due;
    moved += move.moved;
    const MicroUnits by_this = std::min(repaid, explained->part - move.kept_for_min);
    least = std::min(least, by_this);
    most = std::max(most, by_this);
  }
  if (explained->net <= 0) {
    REQUIRE(beyond == -moved);
    REQUIRE(moved <= most);
    // Who gives way all that is due keeps nothing of it by rounding.
    const auto keeps_some = [](const MarkMove& move) { return move.moved < move.due; };
    if (explained->net < 0 &&
        std::none_of(explained->moves.begin(), explained->moves.end(), keeps_some))
      REQUIRE(moved >= least);
    return;
  }
  // Each move is rounded down.
  const auto moves = static_cast<MicroUnits>(explained->moves.size());
  REQUIRE(beyond <= due);
  REQUIRE(moved <= beyond);
  REQUIRE(moved >= beyond - moves);
}

// -- views ----------------------------------------------------------------------------------------

std::int64_t TimedCluster::held_total(std::uint32_t tenant) const {
  return static_cast<std::int64_t>(tenants_.at(tenant).held / kMicroUnitsPerUnit);
}

std::optional<TimedCluster::Start> TimedCluster::start_of(JobId job) const {
  const auto found = last_start_.find(job);
  return found == last_start_.end() ? std::nullopt : std::optional(starts_[found->second]);
}

const std::vector<std::string>& TimedCluster::devices_of(JobId job, std::uint32_t index) const {
  const auto found = running_.lower_bound(TaskKey{job, index, 0});
  REQUIRE((found != running_.end() && found->first.job == job && found->first.index == index));
  return found->second.grant.devices;
}

double TimedCluster::net(std::uint32_t tenant) const {
  const TimeAccount account = allocator_.accounts().time().account(TenantId{tenant});
  return static_cast<double>(allocator_.book().net(tenant)) +
         static_cast<double>(account.rest + account.spare - account.borrowed) /
             static_cast<double>(kMicroUnitsPerUnit);
}

std::vector<std::uint32_t> TimedCluster::tenants() const {
  std::vector<std::uint32_t> ids;
  for (const auto& [id, tenant] : tenants_) ids.push_back(id);
  return ids;
}

// -- slots ----------------------------------------------------------------------------------------

AllocatorSettings slot_settings() {
  AllocatorSettings settings;
  settings.granules[kCpu] = 1;
  return settings;
}

ResourceVector slots(Amount count) {
  ResourceVector result;
  result[kCpu] = count;
  return result;
}

TimedCluster::Task task_of(Amount size, LedgerMs limit_ms) {
  return {.demand = slots(size), .run_ms = limit_ms, .expected_ms = limit_ms, .limit_ms = limit_ms};
}

TimedCluster::Task task_of(LedgerMs run_ms) {
  return {.demand = slots(1), .run_ms = run_ms, .expected_ms = run_ms};
}

TenantTerms terms_of(Weight weight, std::uint32_t repay_millionths) {
  TenantTerms terms;
  terms.weight = weight;
  terms.repay_millionths = repay_millionths;
  return terms;
}

}  // namespace fairwater::test
