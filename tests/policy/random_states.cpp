// What is drawn and what happens; random_states_books.cpp has what must hold.
#include "random_states.hpp"

#include <algorithm>
#include <memory>
#include <variant>

#include <catch2/catch.hpp>

namespace fairwater::test::states {

Seen& Seen::operator+=(const Seen& other) {
  for (const auto count : {&Seen::granted,
                           &Seen::grown,
                           &Seen::gangs,
                           &Seen::sharing_gangs,
                           &Seen::grown_shares,
                           &Seen::named_devices,
                           &Seen::chosen,
                           &Seen::waiting,
                           &Seen::waiting_by_time,
                           &Seen::guaranteed,
                           &Seen::below_min,
                           &Seen::at_plain_share,
                           &Seen::preempted,
                           &Seen::preempted_for_min,
                           &Seen::preempted_of_min,
                           &Seen::preempted_of_group,
                           &Seen::preempted_below_max,
                           &Seen::before_closing,
                           &Seen::too_long,
                           &Seen::lent_by_time,
                           &Seen::at_cap})
    this->*count += other.*count;
  return *this;
}

Cluster::Cluster(std::uint64_t seed) : draw_(seed), cycle_(Allocator(random_settings())) {
  const auto groups = draw_.in(0, 2);
  for (std::uint32_t id = 1; id <= groups; ++id) {
    GroupTerms& terms = groups_[GroupId{id}];
    terms.place = {.group = GroupId{draw_.in(0, id - 1)}, .weight = draw_.in<Weight>(1, 9)};
    if (draw_.one_in(3)) terms.place.own_weights = own_weights();
    if (draw_.one_in(2)) terms.max = amounts(4, 12);
    if (draw_.one_in(3)) terms.min[kCpu] = amounts(1, 6)[kCpu];
    terms.rights.may_lend = !draw_.one_in(5);
    terms.rights.may_borrow = !draw_.one_in(5);
    if (counts_time_ && draw_.one_in(5)) terms.rights.caps.lend.part_ms = draw_.in(0, 20'000);
    if (counts_time_ && draw_.one_in(5)) terms.rights.caps.borrow.unit_ms = draw_.in(0, 20'000);
    cycle_.allocator().set_group(GroupId{id}, terms);
  }
  draw_tenants();
  draw_nodes();
  ends_slowly_ = draw_.one_in(2);
  closes_nodes_ = draw_.one_in(3);
}

AllocatorSettings Cluster::random_settings() {
  devices_ = draw_.in<Devices>(0, 2);
  AllocatorSettings settings = devices_ == Devices::shared ? gpus::sharing() : default_settings();
  if (devices_ == Devices::named) {
    settings.granules[kDevice] = 1;
    settings.resources = {"cpu", "memory", "fpga"};
  }
  settings.accounting = draw_.one_in(2) ? Accounting::units : Accounting::time;
  settings.allocation = draw_.one_in(4) ? AllocationRule::drf : AllocationRule::sequence;
  if (settings.allocation == AllocationRule::drf) settings.accounting = Accounting::units;
  settings.growth = draw_.one_in(2) ? GrowthRule::qrea : GrowthRule::crea;
  settings.preempt_after_ms = kPreemptAfterMs;
  settings.preempts_for_min = preempts_for_min_ = !draw_.one_in(4);
  counts_time_ = settings.accounting == Accounting::time;
  by_share_ = settings.allocation == AllocationRule::drf;
  return settings;
}

ResourceVector Cluster::amounts(std::int64_t from, std::int64_t to) {
  return cpu_memory(draw_.in<Amount>(from, to) * 500, draw_.in<Amount>(from, to) * 512);
}

/// Of some resources.
ResourceWeights Cluster::own_weights() {
  ResourceWeights weights{};
  for (std::size_t r = 0; r < 3; ++r) weights[r] = draw_.in<Weight>(0, 9);
  return weights;
}

DebtCap Cluster::random_cap() {
  if (draw_.one_in(2)) return {.part_ms = draw_.in(1, 20'000)};
  return {.unit_ms = draw_.in<Units>(1, 200'000)};
}

void Cluster::draw_tenants() {
  for (std::uint32_t id = 1, tenants = draw_.in(1, 4); id <= tenants; ++id) {
    TenantTerms& terms = tenants_[TenantId{id}];
    terms.weight = draw_.in<Weight>(1, 9);
    if (draw_.one_in(3)) terms.min = draw_.one_in(2) ? amounts(1, 4) : cpu(amounts(1, 4)[kCpu]);
    if (draw_.one_in(3)) terms.max = amounts(3, 9);
    terms.may_lend = !draw_.one_in(5);
    terms.may_borrow = !draw_.one_in(5);
    if (counts_time_ && draw_.one_in(5)) terms.caps.lend = random_cap();
    if (counts_time_ && draw_.one_in(5)) terms.caps.borrow = random_cap();
    if (!groups_.empty())
      terms.place = {.group = GroupId{draw_.in(0, static_cast<std::int64_t>(groups_.size()))},
                     .weight = terms.weight};
    if (draw_.one_in(3)) {
      terms.place = place_of(terms);
      terms.place->own_weights = own_weights();
    }
    cycle_.set_tenant(TenantId{id}, terms);
  }
}

void Cluster::draw_nodes() {
  for (std::uint32_t id = 1, nodes = draw_.in(1, 5); id <= nodes; ++id) {
    Node& node = nodes_[NodeId{id}];
    node = {amounts(2, 8), {}, !draw_.one_in(8)};
    node.traits.site = draw_.one_in(2) ? "a" : "b";
    if (draw_.one_in(2)) node.traits.labels["disk"] = "ssd";
    if (devices_ != Devices::none) {
      node.traits.devices = gpus::node_sharing(draw_.in<std::size_t>(1, 3)).devices;
      const bool is_shared = devices_ == Devices::shared;
      if (!is_shared) node.traits.devices.front().resource = "fpga";
      node.capacity[kDevice] = static_cast<Amount>(node.traits.devices.front().names.size()) *
                               (is_shared ? kMilliPerGpu : 1);
    }
    cycle_.set_node(NodeId{id}, node.traits, node.capacity, node.accepts);
  }
}

void Cluster::submit() {
  const JobId id{++last_job_};
  Job& job = jobs_[id];
  job.tenant = TenantId{draw_.in(1, static_cast<std::int64_t>(tenants_.size()))};
  job.demand = draw_.one_in(4) ? amounts(2, 5) : amounts(1, 2);
  PlacementRule rule;
  const bool has_rule = draw_.one_in(3);
  if (has_rule) {
    if (draw_.one_in(2)) rule.sites = {"a"};
    if (draw_.one_in(2)) rule.labels = std::get<LabelExpression>(LabelExpression::parse("disk"));
  }
  const std::uint32_t tasks = draw_.in(1, 5);
  job.is_gang = draw_.one_in(3);
  if (draw_.one_in(3)) {
    job.is_gang = tasks > 1;
    job.grows_by = draw_.in(1, 6);
  }
  if (!job.is_gang || devices_ == Devices::shared) draw_devices(job, rule);
  if (has_rule || !rule.devices.empty()) job.rule = std::make_shared<PlacementRule>(rule);
  if (draw_.one_in(4)) job.placement = draw_.in<Placement>(1, 5);
  job.limit_ms = draw_.one_in(8) ? 0 : draw_.in<LedgerMs>(2, 60) * 100;
  job.late_from_ms = draw_.one_in(3) ? now_ms_ + draw_.in<LedgerMs>(0, 4000) : kNeverLate;
  job.preemption = {.priority = draw_.in<std::int32_t>(0, 3),
                    .preempts = draw_.one_in(2),
                    .is_preemptible = !job.is_gang && !draw_.one_in(8)};
  job.next.add(0, tasks, 1);
}

void Cluster::draw_devices(Job& job, PlacementRule& rule) {
  if (devices_ == Devices::none || draw_.one_in(4)) return;
  if (devices_ == Devices::shared) {
    job.demand[kDevice] =
        draw_.one_in(4) ? kMilliPerGpu * draw_.in<Amount>(1, 2) : draw_.in<Amount>(1, 999);
    return;
  }
  job.demand[kDevice] = draw_.in<Amount>(1, 2);
  if (draw_.one_in(2)) rule.devices = {"gpu" + std::to_string(draw_.in(0, 2))};
}

void Cluster::close_some_node() {
  const NodeId id{draw_.in<std::uint32_t>(1, static_cast<std::int64_t>(nodes_.size()))};
  LedgerMs& closes_ms = nodes_.at(id).closes_ms;
  closes_ms = draw_.one_in(4) ? 0 : now_ms_ + draw_.in<LedgerMs>(1, 80) * 100;
  cycle_.close_node_from(id, closes_ms == 0 ? std::nullopt : std::optional(closes_ms));
}

// -- what happens ---------------------------------------------------------------------------------

void Cluster::next_state() {
  for (auto events = draw_.in(1, 4); events > 0; --events)
    if (draw_.one_in(2)) submit();
  if (closes_nodes_ && draw_.one_in(4)) close_some_node();
  end_some_told();
  for (auto ends = draw_.in(0, 2); ends > 0 && !running_.empty(); --ends)
    end(std::next(running_.begin(),
                  draw_.in<std::ptrdiff_t>(0, static_cast<std::int64_t>(running_.size()) - 1))
            ->first);
  (void)pass(draw_.in<LedgerMs>(1, 2000), draw_.in<std::int64_t>(1, 2000));
}

std::size_t Cluster::rounds_until_nobody_is_preempted(std::size_t most) {
  constexpr std::size_t kQuietRounds = 3;
  std::size_t rounds = 0;
  for (std::size_t quiet = 0; quiet < kQuietRounds && rounds < most; ++rounds) {
    end_some_told();
    const bool is_quiet = pass(kPreemptAfterMs, kPreemptAfterMs) == 0 && !somebody_is_ending();
    quiet = is_quiet ? quiet + 1 : 0;
  }
  return rounds;
}

bool Cluster::somebody_is_ending() const {
  return std::any_of(running_.begin(), running_.end(),
                     [](const auto& task) { return task.second.told_to_end; });
}

void Cluster::end_some_told() {
  std::vector<TaskKey> ending;
  for (const auto& [task, running] : running_)
    if (running.told_to_end && draw_.one_in(2)) ending.push_back(task);
  for (const TaskKey& task : ending) {
    const bool had_grown = running_.at(task).has_grown;
    end(task);
    wait_again(task, had_grown);
  }
}

void Cluster::wait_again(const TaskKey& task, bool had_grown) {
  Job& job = jobs_.at(task.job);
  (had_grown ? job.growth : job.next).add(task.index, 1, task.attempt + 1);
}

std::size_t Cluster::pass(LedgerMs time_ms, std::int64_t credits_ms) {
  now_ms_ += time_ms;
  cycle_.pass_to(now_ms_);
  std::map<TenantId, MicroUnits> parts;
  for (const auto& [tenant, terms] : tenants_) parts[tenant] = cycle_.tenant(tenant).part;
  if (const auto settlement = cycle_.settle_time()) check_settlement(*settlement, parts);
  (void)cycle_.settle_credits(credits_ms);
  std::vector<Reclaim> given_back;
  for (bool goes_on = true; goes_on;) {
    for (const auto& [tenant, terms] : tenants_) cycle_.take_window(window(tenant));
    cycle_.consider_all_nodes();
    goes_on = take(cycle_.run(100'000));
    const std::vector<Reclaim> reclaims = cycle_.take_reclaims();
    check_reclaims(reclaims);
    for (const Reclaim& reclaim : reclaims) {
      given_back.push_back(reclaim);
      running_.at(reclaim.task).told_to_end = true;
      if (!ends_slowly_) end(reclaim.task);
      goes_on = true;
    }
  }
  check_sums();
  if (given_back.empty() && !somebody_is_ending()) check_nobody_could_start();
  if (!ends_slowly_)
    for (const Reclaim& reclaim : given_back) wait_again(reclaim.task, !reclaim.preempted);
  return static_cast<std::size_t>(
      std::count_if(given_back.begin(), given_back.end(),
                    [](const Reclaim& reclaim) { return reclaim.preempted; }));
}

WaitingRange Cluster::range_of(JobId id, const Job& job, const WaitingTasks::Range& tasks,
                               bool is_gang) const {
  return {.job = id,
          .first_index = tasks.first,
          .count = tasks.count,
          .attempt = tasks.attempt,
          .demand = job.demand,
          .rule = job.rule,
          .expected_ms = job.limit_ms,
          .limit_ms = job.limit_ms,
          .late_in_ms = job.late_from_ms == kNeverLate ? kNeverLate : job.late_from_ms - now_ms_,
          .patience_ms = 500,
          .is_gang = is_gang,
          .preemption = job.preemption,
          .placement = job.placement};
}

DemandWindow Cluster::window(TenantId tenant) const {
  DemandWindow window{.tenant = tenant, .next = {}, .pending = {}};
  for (const auto& [id, job] : jobs_) {
    if (job.tenant != tenant) continue;
    for (const auto& tasks : job.next.ranges(100))
      window.next.push_back(range_of(id, job, tasks, job.is_gang));
    for (const auto& tasks : job.growth.ranges(100))
      window.growth.push_back(range_of(id, job, tasks, false));
    window.pending += job.demand * Amount{job.next.size()};
    window.pending_tasks += job.next.size();
  }
  window.seen_deal = cycle_.last_deal();
  return window;
}

bool Cluster::take(const std::vector<Deal>& deals) {
  bool some = false;
  std::set<JobId> gangs;
  for (const Deal& deal : deals) {
    for (const Loan& loan : deal.loans) {
      nets_[loan.lender] += loan.units;
      nets_[loan.borrower] -= loan.units;
    }
    for (const Repayment& repayment : deal.repayments) {
      nets_[repayment.debtor] += repayment.units;
      nets_[repayment.creditor] -= repayment.units;
    }
    for (const Grant& grant : deal.grants) {
      some = true;
      const Job& job = jobs_.at(grant.task.job);
      const bool starts_gang = job.is_gang && grant.step != GrantStep::growth;
      if (starts_gang && job.demand[kDevice] > 0 && !gangs.contains(grant.task.job))
        ++seen_.sharing_gangs;
      if (!starts_gang || gangs.insert(grant.task.job).second) {
        const bool is_below = is_below_min(job.tenant, job.demand);
        if (is_below) ++seen_.guaranteed;
        // A gang that has its turn on one node takes room on others before these are dealt, and
        // dominant shares tell no order of deals.
        if (!is_below && !starts_gang && !by_share_) check_nobody_below_min_waits(deal.node);
        // A min of one resource is kept whatever of others its tasks take, and what is owed comes
        // back beyond the share.
        const bool is_free_of_quota = by_share_ || grant.step == GrantStep::growth ||
                                      grant.step == GrantStep::guarantee || grant.beyond_quota ||
                                      (counts_time_ && cycle_.tenant(job.tenant).net > 0);
        if (!is_free_of_quota) REQUIRE(may_hold_more(job.tenant, job.demand));
      }
      take(deal, grant);
    }
  }
  for (const JobId gang : gangs) REQUIRE(jobs_.at(gang).next.empty());
  seen_.gangs += gangs.size();
  return some;
}

void Cluster::take(const Deal& deal, const Grant& grant) {
  Job& job = jobs_.at(grant.task.job);
  const bool has_grown = grant.step == GrantStep::growth;
  REQUIRE((has_grown ? job.growth : job.next).take(grant.task.index, grant.task.attempt));
  REQUIRE(grant.tenant == job.tenant);
  REQUIRE(grant.demand == job.demand);
  if (job.next.empty() && !has_grown && job.grows_by > 0)
    job.growth.add(grant.task.index + 100, std::exchange(job.grows_by, 0), 1);
  Node& node = nodes_.at(deal.node);
  REQUIRE(node.accepts);
  REQUIRE(has_time(node, job));
  if (node.closes_ms > 0) ++seen_.before_closing;
  REQUIRE((!job.rule || job.rule->allows(node.traits)));
  node.used += job.demand;
  REQUIRE(node.used.fits(node.capacity));
  const Running running{
      .node = deal.node,
      .tenant = job.tenant,
      .demand = job.demand,
      .devices = grant.devices,
      .has_grown = has_grown,
      .is_beyond_quota = grant.beyond_quota && !has_grown,
      .since_ms = now_ms_,
  };
  REQUIRE(running_.emplace(grant.task, running).second);
  if (job.rule)
    for (const std::string& name : job.rule->devices) {
      REQUIRE(std::count(grant.devices.begin(), grant.devices.end(), name) == 1);
      ++seen_.named_devices;
    }
  check_devices(deal.node);
  REQUIRE(is_within_max(job.tenant, {}));
  if (has_grown && job.demand[kDevice] > 0) ++seen_.grown_shares;
  ++seen_.granted;
  if (chooses_nodes(grant.placement)) ++seen_.chosen;
  seen_.grown += has_grown ? 1 : 0;
}

/// By value: the key is often that of what is taken out.
void Cluster::end(TaskKey task) {
  const Running ended = running_.extract(task).mapped();
  nodes_.at(ended.node).used -= ended.demand;
  REQUIRE(cycle_.release(task));
  cycle_.beat(ended.node);
}

}  // namespace fairwater::test::states
