#include "allocator_cluster.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "policy/allocator/deal_steps.hpp"

namespace fairwater::test {

AllocatorSettings default_settings(Accounting accounting) {
  AllocatorSettings settings;
  settings.accounting = accounting;
  settings.granules = cpu_memory(100, 256);
  return settings;
}

TestCluster::TestCluster(const AllocatorSettings& settings) : allocator(settings) {}

void TestCluster::group(std::uint32_t id, const GroupTerms& terms) {
  groups_[id] = terms;
  allocator.set_group(GroupId{id}, terms);
}

void TestCluster::tenant(std::uint32_t id, const TenantTerms& terms) {
  tenants_[id].terms = terms;
  allocator.set_tenant(TenantId{id}, terms);
}

void TestCluster::node(std::uint32_t id, const ResourceVector& capacity, NodeTraits traits,
                       bool accepts) {
  nodes_[id] = {capacity, traits, accepts};
  allocator.set_node(NodeId{id}, traits, capacity, accepts);
}

JobId TestCluster::submit(std::uint32_t tenant, std::uint32_t count, const ResourceVector& demand,
                          PlacementRulePtr rule) {
  const JobId job{++last_job_};
  for (std::uint32_t i = 0; i < count; ++i)
    tenants_.at(tenant).queue.push_back({{.job = job, .index = i, .attempt = 1}, demand, rule});
  return job;
}

void TestCluster::clear(std::uint32_t tenant) { tenants_.at(tenant).queue.clear(); }

DemandWindow TestCluster::window(std::uint32_t id, std::uint64_t seen) const {
  const Tenant& tenant = tenants_.at(id);
  DemandWindow window;
  window.tenant = TenantId{id};
  window.seen_deal = seen;
  std::vector<Task> waiting;
  for (const auto& [deal, task] : tenant.granted)
    if (deal > seen) waiting.push_back(task);
  waiting.insert(waiting.end(), tenant.queue.begin(), tenant.queue.end());
  window.pending_tasks = waiting.size();
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const Task& task = waiting[i];
    window.pending += task.demand;
    if (i >= window_tasks) continue;
    if (!window.next.empty()) {
      WaitingRange& last = window.next.back();
      if (last.job == task.key.job && last.first_index + last.count == task.key.index) {
        ++last.count;
        continue;
      }
    }
    window.next.push_back({.job = task.key.job,
                           .first_index = task.key.index,
                           .count = 1,
                           .attempt = 1,
                           .demand = task.demand,
                           .rule = task.rule});
  }
  return window;
}

void TestCluster::deliver(const DemandWindow& window) {
  Tenant& tenant = tenants_.at(window.tenant.value);
  allocator.set_window(window);
  if (window.seen_deal < tenant.last_seen)
    return;  // out of date: the allocator keeps the newer one
  tenant.last_seen = window.seen_deal;
  std::erase_if(tenant.granted,
                [&](const auto& granted) { return granted.first <= window.seen_deal; });
  tenant.known.clear();
  for (const WaitingRange& range : window.next)
    for (std::uint32_t i = 0; i < range.count; ++i) {
      const TaskKey key{range.job, range.first_index + i, range.attempt};
      if (!ever_granted_.contains(key)) tenant.known.push_back({key, range.demand, range.rule});
    }
}

void TestCluster::refresh(std::uint32_t tenant) { deliver(window(tenant, allocator.last_deal())); }

std::optional<Deal> TestCluster::deal(std::uint32_t node) {
  std::map<std::uint32_t, Units> nets;
  for (const auto& [id, tenant] : tenants_) nets[id] = net(id);
  Allocator copy = allocator;
  const std::optional<Deal> same = copy.deal(NodeId{node});
  const std::optional<Deal> deal = allocator.deal(NodeId{node});
  REQUIRE(same == deal);
  ++deals_checked_;
  if (deal && deal->grants.empty()) check_reserving_deal(node, *deal);
  if (deal && !deal->grants.empty()) check_deal(node, *deal, nets);
  check_nothing_fits(node);
  return deal && deal->grants.empty() ? std::nullopt : deal;
}

/// It says that the node keeps room for somebody else than before, and nothing more.
void TestCluster::check_reserving_deal(std::uint32_t node, const Deal& deal) {
  REQUIRE(deal.entries() == 0);
  REQUIRE(deal.free_units == 0);
  REQUIRE(deal.position_before == deal.position_after);
  const auto holder = allocator.node(NodeId{node}).reserved_for;
  REQUIRE(holder.has_value() == deal.reservation.has_value());
  if (holder) REQUIRE(*holder == deal.reservation->tenant);
  Allocator again = allocator;
  REQUIRE_FALSE(again.deal(NodeId{node}));
}

void TestCluster::check_deal(std::uint32_t node, const Deal& deal,
                             const std::map<std::uint32_t, Units>& nets) {
  REQUIRE(!deal.grants.empty());
  REQUIRE(deal.position_after == allocator.position());
  for (const Grant& grant : deal.grants) {
    REQUIRE(ever_granted_.insert(grant.task).second);
    running_[grant.task] = {grant.tenant, deal.node, grant.demand, grant.beyond_quota};
    order_.push_back(grant.task);
    ++grants_[grant.tenant.value];
    Tenant& tenant = tenants_.at(grant.tenant.value);
    const auto is_task = [&](const Task& task) { return task.key == grant.task; };
    const auto waiting = std::find_if(tenant.queue.begin(), tenant.queue.end(), is_task);
    REQUIRE(waiting != tenant.queue.end());
    tenant.granted.emplace_back(allocator.last_deal(), *waiting);
    tenant.queue.erase(waiting);
    std::erase_if(tenant.known, is_task);
    REQUIRE(is_within_max(grant.tenant, grant.demand, {}));
  }
  check_room(node);
  check_lines(deal, nets);
  check_book();
}

void TestCluster::check_lines(const Deal& deal, const std::map<std::uint32_t, Units>& nets) {
  std::map<TenantId, Units> lent;
  std::map<TenantId, Units> placed;
  for (const Loan& loan : deal.loans) {
    REQUIRE(loan.units > 0);
    REQUIRE(tenants_.at(loan.lender.value).terms.lends());
    REQUIRE(tenants_.at(loan.borrower.value).terms.borrows());
    check_groups_allow(loan);
    lent[loan.lender] += loan.units;
    lent[loan.borrower] -= loan.units;
  }
  for (const Grant& grant : deal.grants)
    if (grant.step != GrantStep::guarantee) placed[grant.tenant] += grant.cost;
  Units granted = 0;
  Units rolled_back = 0;
  Units change = 0;
  for (const TenantLine& line : deal.lines) {
    const Units balance = closing_balance(line);
    REQUIRE(line.deficit_after + lent[line.tenant] == balance);
    REQUIRE(line.placed == placed[line.tenant]);
    REQUIRE(allocator.tenant(line.tenant).deficit == line.deficit_after);
    REQUIRE(net(line.tenant.value) - nets.at(line.tenant.value) ==
            lent[line.tenant] + line.paid - line.received);
    lent.erase(line.tenant);
    placed.erase(line.tenant);
    granted += line.granted;
    rolled_back += line.rolled_back;
    change += balance - line.deficit_before;
  }
  REQUIRE(lent.empty());
  REQUIRE(placed.empty());
  REQUIRE(granted == deal.free_units);
  REQUIRE(rolled_back == deal.unused);
  REQUIRE(change == 0);
}

void TestCluster::check_book() {
  Units sum_of_nets = 0;
  Units sum_of_deficits = 0;
  for (const auto& [id, tenant] : tenants_) {
    sum_of_nets += net(id);
    sum_of_deficits += deficit(id);
    const bool owes = !allocator.book().debts_of(id).empty();
    const bool lends = !allocator.book().claims_of(id).empty();
    REQUIRE_FALSE((owes && lends));
  }
  REQUIRE(sum_of_nets == 0);
  REQUIRE(sum_of_deficits == 0);
}

void TestCluster::check_room(std::uint32_t node) {
  ResourceVector used;
  for (const auto& [key, task] : running_)
    if (task.node.value == node) used += task.demand;
  REQUIRE(used.fits(nodes_.at(node).capacity));
  REQUIRE(allocator.node(NodeId{node}).free == nodes_.at(node).capacity - used);
}

void TestCluster::check_nothing_fits(std::uint32_t id) {
  const Node& node = nodes_.at(id);
  if (!node.accepts) return;
  if (const auto holder = allocator.node(NodeId{id}).reserved_for)
    return check_reservation(id, *holder);
  const ResourceVector free = allocator.node(NodeId{id}).free;
  for (const auto& [tenant_id, tenant] : tenants_) {
    const bool group_may_borrow = std::ranges::all_of(groups_, [&](const auto& group) {
      return group.second.rights.may_borrow || !is_in(tenant.terms, GroupId{group.first});
    });
    if (!tenant.terms.borrows() || !group_may_borrow) continue;
    for (const Task& task : tenant.known) {
      const bool allowed = task.rule == nullptr || task.rule->allows(node.traits);
      REQUIRE_FALSE((allowed && task.demand.fits(free) &&
                     is_within_max(TenantId{tenant_id}, task.demand, task.demand)));
    }
  }
}

void TestCluster::check_reservation(std::uint32_t id, TenantId holder) {
  const Node& node = nodes_.at(id);
  const Tenant& tenant = tenants_.at(holder.value);
  const NodeView view = allocator.node(NodeId{id});
  const ResourceVector quota = allocator.tenant(holder).quota;
  ResourceVector counted;
  for (const auto& [key, task] : running_)
    if (task.tenant == holder && !task.beyond_quota) counted += task.demand;
  const bool is_due = std::any_of(tenant.known.begin(), tenant.known.end(), [&](const Task& task) {
    const bool allowed = task.rule == nullptr || task.rule->allows(node.traits);
    bool within = true;
    for (std::size_t r = 0; r < kMaxResources; ++r)
      within = within && (task.demand[r] == 0 || counted[r] + task.demand[r] <= quota[r]);
    return allowed && within && task.demand.fits(node.capacity) && !task.demand.fits(view.free);
  });
  REQUIRE(is_due);
}

void TestCluster::finish(const TaskKey& task) {
  REQUIRE(allocator.release(task));
  running_.erase(task);
}

std::optional<Deal> TestCluster::turn_over(std::uint32_t tenant) {
  for (auto task = order_.begin(); task != order_.end();) {
    const auto found = running_.find(*task);
    if (found == running_.end()) {
      task = order_.erase(task);
      continue;
    }
    if (found->second.tenant.value != tenant) {
      ++task;
      continue;
    }
    const std::uint32_t node = found->second.node.value;
    finish(*task);
    return deal(node);
  }
  FAIL("the tenant holds no task");
  return std::nullopt;
}

std::optional<Deal> TestCluster::turn_over_oldest() {
  while (!running_.contains(order_.front())) order_.pop_front();
  return turn_over(running_.at(order_.front()).tenant.value);
}

ResourceVector TestCluster::used_by(TenantId tenant) const {
  ResourceVector used;
  for (const auto& [key, task] : running_)
    if (task.tenant == tenant) used += task.demand;
  return used;
}

bool TestCluster::is_within_max(TenantId tenant, const ResourceVector& demand,
                                const ResourceVector& more) const {
  const auto is_within = [&](const ResourceVector& used, const ResourceVector& max) {
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (demand[r] > 0 && used[r] + more[r] > max[r]) return false;
    return true;
  };
  const TenantTerms& terms = tenants_.at(tenant.value).terms;
  if (!is_within(used_by(tenant), terms.max)) return false;
  for (GroupId group = place_of(terms).group; group; group = groups_.at(group.value).place.group) {
    ResourceVector used;
    for (const auto& [id, member] : tenants_)
      if (is_in(member.terms, group)) used += used_by(TenantId{id});
    if (!is_within(used, groups_.at(group.value).max)) return false;
  }
  return true;
}

void TestCluster::check_groups_allow(const Loan& loan) const {
  const TenantTerms& lender = tenants_.at(loan.lender.value).terms;
  const TenantTerms& borrower = tenants_.at(loan.borrower.value).terms;
  for (const auto& [id, terms] : groups_) {
    const bool lends = is_in(lender, GroupId{id});
    const bool borrows = is_in(borrower, GroupId{id});
    REQUIRE((terms.rights.may_lend || !lends || borrows));
    REQUIRE((terms.rights.may_borrow || !borrows || lends));
  }
}

bool TestCluster::is_in(const TenantTerms& terms, GroupId group) const {
  GroupId above = place_of(terms).group;
  while (above && above != group) above = groups_.at(above.value).place.group;
  return above == group;
}

std::uint64_t TestCluster::held(std::uint32_t tenant) const {
  return allocator.tenant(TenantId{tenant}).running_tasks;
}

Amount TestCluster::held_cpu(std::uint32_t tenant) const {
  return allocator.tenant(TenantId{tenant}).used[kCpu];
}

std::uint64_t TestCluster::granted(std::uint32_t tenant) const {
  const auto found = grants_.find(tenant);
  return found == grants_.end() ? 0 : found->second;
}

Units TestCluster::net(std::uint32_t tenant) const { return allocator.book().net(tenant); }

Units TestCluster::deficit(std::uint32_t tenant) const {
  return allocator.tenant(TenantId{tenant}).deficit;
}

std::vector<std::uint32_t> TestCluster::tenants() const {
  std::vector<std::uint32_t> ids;
  for (const auto& [id, tenant] : tenants_) ids.push_back(id);
  return ids;
}

}  // namespace fairwater::test
