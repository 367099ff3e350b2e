#include "policy/allocator/allocator.hpp"

#include <algorithm>
#include <utility>

#include "policy/allocator/by_share.hpp"
#include "policy/allocator/explain.hpp"
#include "policy/allocator/growth.hpp"
#include "policy/allocator/node_deal.hpp"
#include "policy/allocator/reclaim.hpp"
#include "policy/allocator/run_out.hpp"
#include "policy/allocator/state.hpp"
#include "policy/allocator/time_marks.hpp"
#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline allocator {

class Allocator::Impl {
 public:
  explicit Impl(AllocatorSettings settings) : state(settings) {}
  Impl(const Impl& other) : state(other.state) {}
  AllocatorState state;
  NodeDeal dealer{state};
};

Allocator::Allocator(AllocatorSettings settings) : impl_(std::make_unique<Impl>(settings)) {}
Allocator::Allocator(const Allocator& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Allocator::Allocator(Allocator&&) noexcept = default;
Allocator& Allocator::operator=(const Allocator& other) {
  if (this != &other) impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}
Allocator& Allocator::operator=(Allocator&&) noexcept = default;
Allocator::~Allocator() = default;

void Allocator::set_group(GroupId group, const GroupTerms& terms) {
  impl_->state.set_group(group, terms);
}

void Allocator::set_tenant(TenantId tenant, const TenantTerms& terms) {
  impl_->state.set_tenant(tenant, terms);
}

void Allocator::set_tree(const TenantTree& tree, std::span<const Accounts::Division> divided) {
  impl_->state.set_tree(tree, divided);
}

Units Allocator::remove_tenant(TenantId tenant) { return impl_->state.remove_tenant(tenant); }

void Allocator::set_node(NodeId node, const NodeTraits& traits, const ResourceVector& capacity,
                         bool accepts) {
  impl_->state.set_node(node, traits, capacity, accepts);
}

void Allocator::close_node_from(NodeId node, std::optional<LedgerMs> at_ms) {
  impl_->state.close_node_from(node, at_ms.value_or(kNever));
}

void Allocator::remove_node(NodeId node) { impl_->state.remove_node(node); }

void Allocator::set_window(DemandWindow window) { impl_->state.set_window(std::move(window)); }

void Allocator::withdraw(TenantId tenant, JobId job) { impl_->state.withdraw(tenant, job); }

void Allocator::pass_to(LedgerMs now_ms) { impl_->state.pass_to(now_ms); }

std::optional<TimeSettlement> Allocator::settle_time() { return impl_->state.settle_time(); }

bool Allocator::release(const TaskKey& task) { return impl_->state.release(task); }

bool Allocator::release_unheard(const TaskKey& task) { return impl_->state.release_unheard(task); }
void Allocator::note_told_to_end(const TaskKey& task) {
  if (impl_->state.holds(task)) impl_->state.note_reclaim(task);
}

void Allocator::take_back(TenantId borrower, const std::vector<Advance>& advances) {
  impl_->state.take_back(borrower, advances);
}

void Allocator::forgive(TenantId debtor, std::span<const ForgivenDebt> debts) {
  impl_->state.forgive(debtor, debts);
}

void Allocator::set_incarnation(std::uint32_t incarnation) {
  impl_->state.settings.incarnation = incarnation;
}

void Allocator::restore(const AccountsSnapshot& accounts) { impl_->state.restore(accounts); }

void Allocator::restore_held(std::span<const HeldTask> held) { impl_->state.restore_held(held); }

std::optional<Deal> Allocator::deal(NodeId node, bool gives_all_places) {
  impl_->state.arrange_turns();
  return impl_->dealer.run(node, gives_all_places);
}

std::optional<CreditSettlement> Allocator::settle_credits(std::int64_t period_ms) {
  return impl_->state.settle_credits(period_ms);
}

std::vector<Deal> Allocator::grow(std::size_t max_deals, std::size_t max_entries) {
  return fairwater::grow(impl_->state, max_deals, max_entries);
}

std::vector<Reclaim> Allocator::reclaim(bool for_min) {
  return fairwater::reclaim(impl_->state, for_min);
}

bool Allocator::may_grow() const {
  return !impl_->state.growing().empty() && !allocates_by_share();
}

bool Allocator::may_grow_on(NodeId node) const {
  if (!may_grow()) return false;
  const ResourceVector free = impl_->state.node(node).free();
  for (const RankKey& key : impl_->state.growing())
    for (const WindowRange& entry : impl_->state.at(key.slot).growth)
      if (entry.range.demand.fits(free)) return true;
  return false;
}

bool Allocator::take_freed_made_rooms() { return impl_->state.take_freed_made_rooms(); }

bool Allocator::may_reclaim() const {
  return !impl_->state.extras().empty() ||
         (!allocates_by_share() && !impl_->state.preempting().empty());
}

bool Allocator::may_reclaim_for_min() const { return impl_->state.min_waits(); }

bool Allocator::allocates_by_share() const { return impl_->state.allocates_by_share(); }

SharedDeals Allocator::deal_by_share(std::size_t max_deals, std::size_t max_entries) {
  impl_->state.arrange_turns();
  return fairwater::deal_by_share(impl_->state, max_deals, max_entries);
}

bool Allocator::left_to_preferred() const { return impl_->dealer.left_to_preferred(); }

void Allocator::begin_choices() {
  impl_->state.choices().forget_refusals();
  impl_->dealer.begin_choices();
}

const std::vector<NodeId>& Allocator::chosen_next() const { return impl_->dealer.chosen_next(); }

bool Allocator::awaits_window() const { return fairwater::awaits_window(impl_->state); }

bool Allocator::left_to_chosen() const { return impl_->dealer.left_to_chosen(); }

bool Allocator::gave_up_choosing() const { return impl_->dealer.gave_up_choosing(); }

bool Allocator::stop_choosing() {
  impl_->dealer.begin_choices();
  return impl_->state.choices().stop();
}

std::size_t Allocator::looks_in_vain(std::size_t nodes, std::size_t deals) const {
  const std::size_t refused = impl_->state.choices().refused_demands();
  return impl_->state.settings.most_looks_in_vain * (nodes + deals + kMostRefusals * refused);
}

bool Allocator::placed_gang() const { return impl_->dealer.placed_gang(); }

std::optional<NodeId> Allocator::next_of_gang() const {
  const auto& gang = impl_->state.begun_gang;
  return gang ? std::optional(gang->rest.back().node) : std::nullopt;
}

void Allocator::forget_gang_plans() { impl_->state.forget_gang_plans(); }

bool Allocator::take_forgotten_gang_plans() { return impl_->state.take_forgotten_gang_plans(); }

std::optional<NodeId> Allocator::next_that_matters(NodeId from) const {
  return impl_->state.next_that_matters(from);
}

bool Allocator::may_matter(NodeId node) const { return impl_->state.may_matter(node); }

bool Allocator::takes_tasks(NodeId node) const {
  const NodeRoom* const known = impl_->state.find_node(node);
  return known != nullptr && known->accepts;
}

std::size_t Allocator::waiting_tenants() const { return impl_->state.waiting().size(); }

bool Allocator::counts_time() const { return impl_->state.counts_time(); }

void Allocator::restore_last_deal(std::uint64_t number) { impl_->state.deals = number; }

std::uint64_t Allocator::last_deal() const { return impl_->state.deals; }

TenantView Allocator::tenant(TenantId id) const {
  TenantState& tenant = impl_->state.tenant(id);
  const TimeMark mark = time_mark(impl_->state, tenant);
  return {.tenant = id,
          .request = tenant.used + tenant.pending,
          .quota = impl_->state.quotas().quota(tenant),
          .used = tenant.held_in_all(),
          .pending_tasks = tenant.pending_tasks,
          .running_tasks = tenant.running_tasks,
          .net = tenant.net,
          .deficit = tenant.deficit,
          .credit = tenant.credit,
          .extras = tenant.extras,
          .advice = credit_advice(impl_->state.growth_standing(tenant)),
          .held = mark.held,
          .part = mark.part,
          .mark = mark.base + mark.back - mark.away};
}

NodeView Allocator::node(NodeId id) const {
  const NodeRoom& node = impl_->state.node(id);
  NodeView view{.node = id,
                .capacity = node.capacity,
                .free = node.free(),
                .running_tasks = node.running_tasks,
                .accepts = node.accepts,
                .reserved_for = std::nullopt};
  const NodeDevices* shared = impl_->state.shared_devices(node);
  const std::size_t resource = impl_->state.shared_resource();
  for (const auto& [task, use] : node.device_uses)
    for (const std::string& name : use.names) {
      const bool is_shared =
          shared != nullptr && resource < kMaxResources && is_among(shared->names, name);
      view.device_holders[name].push_back(
          {task, use.tenant, is_shared ? std::min(use.demand[resource], kMilliPerGpu) : 0});
    }
  const auto& plans = impl_->state.gang_plans();
  const auto first = std::min_element(
      node.kept_for_gangs.begin(), node.kept_for_gangs.end(),
      [&](const auto& a, const auto& b) { return plans[a.plan].from_ms < plans[b.plan].from_ms; });
  if (first != node.kept_for_gangs.end()) {
    const GangPlan* plan = &plans[first->plan];
    view.reserved_for = impl_->state.at(plan->tenant_slot).id;
    if (plan->from_ms != kNever) view.reserved_from_ms = plan->from_ms;
  } else if (node.reservation) {
    const TenantState& holder = impl_->state.at(node.reservation->tenant_slot);
    view.reserved_for = holder.id;
    // Its first place there is the reservation.
    const auto kept = std::find_if(holder.kept.begin(), holder.kept.end(),
                                   [&](const KeptPlace& place) { return place.node == id; });
    if (kept != holder.kept.end() && kept->from_ms != kNever) view.reserved_from_ms = kept->from_ms;
  }
  return view;
}

ClusterUse Allocator::use() const {
  ClusterUse use{.used = impl_->state.used()};
  for (std::uint32_t slot = 0; slot < impl_->state.slots(); ++slot) {
    const TenantState& tenant = impl_->state.at(slot);
    use.pending_tasks += tenant.pending_tasks;
    use.running_tasks += tenant.running_tasks;
  }
  return use;
}

const Accounts& Allocator::accounts() const { return impl_->state.accounts(); }

bool Allocator::could_ever_fit(const ResourceVector& demand, const PlacementRule* rule) const {
  for (const auto& [id, node] : impl_->state.nodes())
    if (demand.fits(node.capacity) && (rule == nullptr || rule->allows(node.traits)) &&
        (!impl_->state.takes_shares(demand) ||
         impl_->state.shares_beside(node, demand, rule, {}, {})))
      return true;
  return false;
}

std::vector<Obstacle> Allocator::explain_waiting(TenantId tenant, JobId job, std::uint32_t index,
                                                 const ObstacleNames& names) const {
  return fairwater::explain_waiting(impl_->state, tenant, job, index, names);
}

std::vector<PlannedStart> Allocator::planned_starts() const {
  std::vector<PlannedStart> starts;
  for (const RankKey& key : impl_->state.waiting()) {
    const TenantState& tenant = impl_->state.at(key.slot);
    for (const KeptPlace& place : tenant.kept)
      if (place.job && place.from_ms != kNever)
        starts.push_back({tenant.id, place.job, place.node, place.from_ms});
  }
  for (const GangPlan& plan : impl_->state.gang_plans())
    if (!plan.shares.empty() && plan.from_ms != kNever)
      starts.push_back(
          {impl_->state.at(plan.tenant_slot).id, plan.job, plan.shares.front().node, plan.from_ms});
  return starts;
}

std::optional<std::int64_t> Allocator::starts_in_ms(TenantId tenant, JobId job) const {
  return fairwater::starts_in_ms(impl_->state, impl_->state.tenant(tenant), job);
}

std::optional<ExplainedMark> Allocator::explain_mark(TenantId tenant) const {
  if (!impl_->state.counts_time()) return std::nullopt;
  return fairwater::explain_mark(impl_->state, impl_->state.tenant(tenant));
}

}  // namespace fairwater::inline policy::inline allocator
