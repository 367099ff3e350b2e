#include "sim/schedulers/dominant.hpp"

#include <algorithm>
#include <cmath>

#include "policy/dominant/drf.hpp"

namespace fairwater::sim::inline schedulers {
namespace {

/// sum over r of |demand_r / demand_1 - free_r / free_1|, 1 being the first resource asked for.
double distance(const ResourceVector& demand, const ResourceVector& free) {
  std::size_t first = 0;
  while (first + 1 < kMaxResources && demand[first] == 0) ++first;
  double sum = 0;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    sum += std::abs(static_cast<double>(demand[r]) / static_cast<double>(demand[first]) -
                    static_cast<double>(free[r]) / static_cast<double>(free[first]));
  return sum;
}

}  // namespace

DominantScheduler::DominantScheduler(DominantPolicy policy, const Cluster& cluster,
                                     const Workload& workload)
    : policy_(policy),
      cluster_(cluster),
      workload_(workload),
      total_(total_capacity(cluster)),
      scale_(total_),
      room_(cluster),
      tenants_(cluster.tenants.size()),
      loads_(cluster.nodes.size()) {
  for (const auto& node : cluster.nodes) types_.push_back(resource_type(node.capacity, total_));
}

void DominantScheduler::submit(JobIndex job) {
  tenants_[workload_.jobs[job].tenant].queue.add(job, workload_.jobs[job].tasks);
}

void DominantScheduler::end(TaskId task, NodeIndex node) {
  const Job& job = workload_.jobs[task.job];
  room_.give_back(job, node);
  tenants_[job.tenant].held -= job.demand;
  loads_[node].used -= job.demand;
  loads_[node].used_sum -= sum_over_resources(job.demand);
  loads_[node].gdrs_sum -= scale_.gdrs(job.demand);
}

const Job& DominantScheduler::next_job(TenantIndex tenant) const {
  return workload_.jobs[tenants_[tenant].queue.task(0).job];
}

/// By dominant share / weight. Totals are below 2^48 and weights below 2^30: the products fit.
bool DominantScheduler::has_less(TenantIndex left, TenantIndex right) const {
  const auto& a = tenants_[left].held;
  const auto& b = tenants_[right].held;
  const std::size_t r = dominant_resource(a, total_), s = dominant_resource(b, total_);
  return Wide{a[r]} * total_[s] * cluster_.tenants[right].terms.weight <
         Wide{b[s]} * total_[r] * cluster_.tenants[left].terms.weight;
}

PlacedUser DominantScheduler::placed_user(const Job& job) const {
  return {.demand = job.demand,
          .demand_sum = sum_over_resources(job.demand),
          .gdrs = scale_.gdrs(job.demand),
          .type = resource_type(job.demand, total_),
          .first_resource = 0};
}

std::optional<NodeIndex> DominantScheduler::best_fit(const Job& job) const {
  std::optional<NodeIndex> best;
  double least = 0;
  for (NodeIndex node = 0; node < room_.size(); ++node) {
    if (!room_.fits(job, node)) continue;
    const double here = distance(job.demand, room_.free(node));
    if (best && here >= least) continue;
    best = node;
    least = here;
  }
  return best;
}

std::optional<NodeIndex> DominantScheduler::largest_f(const Job& job) const {
  const PlacedUser user = placed_user(job);
  std::optional<NodeIndex> best;
  bool best_is_of_type = false;
  double largest = 0;
  for (NodeIndex node = 0; node < room_.size(); ++node) {
    const bool of_type = types_[node] == user.type;
    if ((best_is_of_type && !of_type) || !room_.fits(job, node)) continue;
    const double f =
        log_f(with_task(loads_[node], user), sum_over_resources(cluster_.nodes[node].capacity),
              static_cast<double>(scale_.denominator()));
    if (best && best_is_of_type == of_type && f <= largest) continue;
    best = node;
    best_is_of_type = of_type;
    largest = f;
  }
  return best;
}

std::optional<NodeIndex> DominantScheduler::choose_node(const Job& job) const {
  switch (policy_) {
    case DominantPolicy::drfh_best_fit:
      return best_fit(job);
    case DominantPolicy::gdrf:
      return largest_f(job);
    case DominantPolicy::drf:
      break;
  }
  return room_.first_fit(job);
}

bool DominantScheduler::place_next(TenantIndex index, Actions& actions) {
  Tenant& tenant = tenants_[index];
  const Job& job = next_job(index);
  // Alike tasks: where all have room, they have it by any choice of nodes one by one.
  if (job.is_gang && room_.first_fit_of_all(job).empty()) return false;
  std::vector<NodeIndex> nodes;
  while (nodes.size() < starts_at_once(job)) {
    const auto node = choose_node(job);
    if (!node) return false;
    room_.take(job, *node);
    tenant.held += job.demand;
    loads_[*node] = with_task(loads_[*node], placed_user(job));
    nodes.push_back(*node);
  }
  tenant.queue.start(0, nodes, actions);
  return true;
}

void DominantScheduler::fill_by_share(std::vector<TenantIndex> asking, Actions& actions) {
  while (!asking.empty()) {
    auto next = asking.begin();
    for (auto other = next + 1; other != asking.end(); ++other)
      if (has_less(*other, *next)) next = other;
    if (!place_next(*next, actions) || tenants_[*next].queue.empty()) asking.erase(next);
  }
}

/// The tenants to be served in this round, in order; some several times.
std::vector<TenantIndex> DominantScheduler::next_round(
    const std::vector<TenantIndex>& asking) const {
  struct Place {
    TenantIndex tenant = 0;
    Amount amount = 0;  ///< held, and what the places of this round add
    PlacedUser user;
    double gdrw = 0;
  };
  const auto comes_first = [](const Place& a, const Place& b) {
    return a.user.gdrs != b.user.gdrs ? a.user.gdrs > b.user.gdrs : a.gdrw > b.gdrw;
  };
  const auto total = static_cast<double>(sum_over_resources(total_));
  std::vector<Place> places;
  for (const TenantIndex tenant : asking) {
    const PlacedUser user = placed_user(next_job(tenant));
    places.push_back({tenant, sum_over_resources(tenants_[tenant].held), user,
                      static_cast<double>(user.demand_sum) / total});
  }
  std::vector<Place> round;
  for (std::size_t i = 0; i < asking.size(); ++i) {
    const auto next =
        std::min_element(places.begin(), places.end(), [&](const Place& a, const Place& b) {
          return a.amount != b.amount ? a.amount < b.amount : comes_first(a, b);
        });
    round.push_back(*next);
    next->amount += next->user.demand_sum * Amount{starts_at_once(next_job(next->tenant))};
  }
  std::stable_sort(round.begin(), round.end(), comes_first);
  std::vector<TenantIndex> order;
  order.reserve(round.size());
  for (const auto& place : round) order.push_back(place.tenant);
  return order;
}

void DominantScheduler::fill_by_rounds(std::vector<TenantIndex> asking, Actions& actions) {
  while (!asking.empty()) {
    for (const TenantIndex tenant : next_round(asking)) {
      const auto found = std::find(asking.begin(), asking.end(), tenant);
      if (found == asking.end()) continue;
      if (!place_next(tenant, actions) || tenants_[tenant].queue.empty()) asking.erase(found);
    }
  }
}

Actions DominantScheduler::cycle(TimeMs /*now*/) {
  Actions actions;
  std::vector<TenantIndex> asking;
  for (TenantIndex i = 0; i < tenants_.size(); ++i)
    if (!tenants_[i].queue.empty()) asking.push_back(i);
  if (policy_ == DominantPolicy::gdrf)
    fill_by_rounds(std::move(asking), actions);
  else
    fill_by_share(std::move(asking), actions);
  return actions;
}

}  // namespace fairwater::sim::inline schedulers
