// What must hold in every state.
#include <algorithm>
#include <limits>
#include <numeric>

#include <catch2/catch.hpp>

#include "policy/gpu/offer.hpp"
#include "random_states.hpp"
#include "shared_gpus.hpp"

namespace fairwater::test::states {
namespace {

constexpr LedgerMs kNobodyKnows = std::numeric_limits<LedgerMs>::max();

bool asks_for_some(const ResourceVector& demand, const ResourceVector& of) {
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (demand[r] > 0 && of[r] > 0) return true;
  return false;
}

}  // namespace

// -- who holds what -------------------------------------------------------------------------------

bool Cluster::is_in(TenantId tenant, GroupId group) const {
  for (GroupId at = place_of(tenants_.at(tenant)).group; at; at = groups_.at(at).place.group)
    if (at == group) return true;
  return false;
}

ResourceVector Cluster::held_by(const std::function<bool(TenantId)>& is_one) const {
  ResourceVector held;
  for (const auto& [task, running] : running_)
    if (is_one(running.tenant)) held += running.demand;
  return held;
}

ResourceVector Cluster::held_but_grown(TenantId tenant) const {
  ResourceVector held;
  for (const auto& [task, running] : running_)
    if (running.tenant == tenant && !running.has_grown) held += running.demand;
  return held;
}

bool Cluster::is_within_max(TenantId tenant, const ResourceVector& more) const {
  const auto is_it = [&](TenantId other) { return other == tenant; };
  if (!(held_by(is_it) + more).fits(tenants_.at(tenant).max)) return false;
  return std::all_of(groups_.begin(), groups_.end(), [&](const auto& group) {
    if (!is_in(tenant, group.first)) return true;
    const auto are_in = [&](TenantId other) { return is_in(other, group.first); };
    return (held_by(are_in) + more).fits(group.second.max);
  });
}

ResourceVector Cluster::capacity() const {
  ResourceVector all;
  for (const auto& [id, node] : nodes_)
    if (node.accepts) all += node.capacity;
  return all;
}

Amount Cluster::plain_share(const QuotaPlace& place, std::size_t resource) const {
  const Amount whole =
      place.group ? plain_share(groups_.at(place.group).place, resource) : capacity()[resource];
  Weight all = 0;
  for (const auto& [id, terms] : tenants_)
    if (place_of(terms).group == place.group) all += place_of(terms).weight_of(resource);
  for (const auto& [id, terms] : groups_)
    if (terms.place.group == place.group) all += terms.place.weight_of(resource);
  return (whole * place.weight_of(resource) + all - 1) / all;
}

/// One that may not borrow: while it holds less than its plain share or its min.
bool Cluster::may_hold_more(TenantId tenant, const ResourceVector& demand) const {
  const TenantTerms& terms = tenants_.at(tenant);
  if (terms.may_borrow) return true;
  ResourceVector held = held_but_grown(tenant);
  for (const auto& [task, running] : running_)
    if (running.tenant == tenant && running.is_beyond_quota) held -= running.demand;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (demand[r] > 0 && held[r] >= std::max(terms.min[r], plain_share(place_of(terms), r)))
      return false;
  return true;
}

bool Cluster::may_exceed_quota(TenantId tenant) const {
  return tenants_.at(tenant).may_borrow && std::ranges::all_of(groups_, [&](const auto& group) {
           return group.second.rights.may_borrow || !is_in(tenant, group.first);
         });
}

/// Of all that it has a min of, among what is asked for.
bool Cluster::is_below_min(TenantId tenant, const ResourceVector& demand) const {
  const ResourceVector& min = tenants_.at(tenant).min;
  if (!asks_for_some(demand, min)) return false;
  const ResourceVector held = held_but_grown(tenant);
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (demand[r] > 0 && min[r] > 0 && held[r] >= min[r]) return false;
  return true;
}

ResourceVector Cluster::mins_in(GroupId group) const {
  ResourceVector mins;
  for (const auto& [id, terms] : tenants_)
    if (place_of(terms).group == group) mins += terms.min;
  for (const auto& [id, terms] : groups_)
    if (terms.place.group == group) mins += min_of(id);
  return mins;
}

/// Where it has none of its own that of all in it.
ResourceVector Cluster::min_of(GroupId group) const {
  ResourceVector min = mins_in(group);
  const GroupTerms& terms = groups_.at(group);
  for (std::size_t r = 0; r < kMaxResources; ++r) min[r] = terms.min[r].value_or(min[r]);
  return min;
}

/// Else they are scaled down.
bool Cluster::all_mins_fit() const {
  return mins_in(GroupId{}).fits(capacity()) &&
         std::all_of(groups_.begin(), groups_.end(), [&](const auto& group) {
           const ResourceVector mins = mins_in(group.first);
           return mins.fits(min_of(group.first)) && mins.fits(group.second.max) &&
                  min_of(group.first).fits(group.second.max);
         });
}

/// A single task below its tenant's min. In the tenant's order no gang is before it: a gang is
/// guaranteed as a whole or not at all, and what comes after it waits with it.
bool Cluster::is_guaranteed(JobId id, const Job& job) const {
  const bool is_behind_gang = std::any_of(jobs_.begin(), jobs_.find(id), [&](const auto& before) {
    return before.second.tenant == job.tenant && before.second.is_gang &&
           !before.second.next.empty();
  });
  return !job.is_gang && !is_behind_gang && is_below_min(job.tenant, job.demand) && all_mins_fit();
}

// -- room -----------------------------------------------------------------------------------------

/// In thousandths where they are shared.
std::map<std::string, Amount> Cluster::taken_devices(NodeId node) const {
  std::map<std::string, Amount> taken;
  for (const auto& [task, running] : running_)
    if (running.node == node)
      for (const std::string& name : running.devices)
        taken[name] +=
            devices_ == Devices::shared ? std::min(running.demand[kDevice], kMilliPerGpu) : 1;
  return taken;
}

/// A part of one, or whole ones that are empty; those that are named among them.
bool Cluster::has_devices(NodeId id, const Job& job) const {
  const Amount asked = job.demand[kDevice];
  if (asked == 0) return true;
  const Amount whole = devices_ == Devices::shared ? kMilliPerGpu : 1;
  const Amount each = std::min(asked, whole);
  const auto taken = taken_devices(id);
  const auto has_room = [&](const std::string& name) {
    const auto known = taken.find(name);
    return (known == taken.end() ? 0 : known->second) + each <= whole;
  };
  Amount enough = 0;
  for (const NodeDevices& kind : nodes_.at(id).traits.devices)
    for (const std::string& name : kind.names) enough += has_room(name) ? each : 0;
  return enough >= asked &&
         (!job.rule || std::all_of(job.rule->devices.begin(), job.rule->devices.end(), has_room));
}

bool Cluster::has_time(const Node& node, const Job& job) const {
  return node.closes_ms == 0 || (job.limit_ms > 0 && now_ms_ + job.limit_ms <= node.closes_ms);
}

bool Cluster::has_room(NodeId id, const Job& job) const {
  const Node& node = nodes_.at(id);
  return node.accepts && (!job.rule || job.rule->allows(node.traits)) &&
         job.demand.fits(node.capacity - node.used) && has_time(node, job) && has_devices(id, job);
}

/// What has run for longer than its limit is expected to end at once.
LedgerMs Cluster::expected_end(const TaskKey& task, const Running& running) const {
  const LedgerMs limit_ms = jobs_.at(task.job).limit_ms;
  return limit_ms == 0 ? kNobodyKnows : std::max(running.since_ms + limit_ms, now_ms_ + 1);
}

/// Where the ledger counts time room is kept for those who have places. A place is of a task that
/// has no room now: so none begins before the first of the node's tasks is expected to end. What
/// ends by then, and what fits then beside all that could have a place there, takes nothing from
/// anybody's. (A gang's plan is of many nodes, and may begin earlier.)
bool Cluster::may_be_kept_for_others(NodeId id, const Job& job) const {
  const Node& node = nodes_.at(id);
  bool others_want_device = false;
  ResourceVector wanted = job.demand;
  for (const auto& [other_id, other] : jobs_) {
    if (other.next.empty() || (other.rule && !other.rule->allows(node.traits))) continue;
    if (other.is_gang) return true;
    const bool is_it = &other == &job;
    wanted += other.demand * static_cast<Amount>(other.next.ranges(100).size() - (is_it ? 1 : 0));
    others_want_device = others_want_device || (!is_it && other.demand[kDevice] > 0);
  }
  LedgerMs first_ms = kNobodyKnows;
  bool some_never_end = false;
  for (const auto& [task, running] : running_) {
    if (running.node != id) continue;
    first_ms = std::min(first_ms, expected_end(task, running));
    some_never_end = some_never_end || expected_end(task, running) == kNobodyKnows;
  }
  // Where no moment can be told all is kept for one.
  if (some_never_end && cycle_.node(id).reserved_for) return true;
  if (first_ms == kNobodyKnows || (job.limit_ms > 0 && now_ms_ + job.limit_ms <= first_ms))
    return false;
  if (job.demand[kDevice] > 0 && others_want_device) return true;
  ResourceVector free = node.capacity - node.used;
  for (const auto& [task, running] : running_)
    if (running.node == id && expected_end(task, running) <= first_ms) free += running.demand;
  return !wanted.fits(free);
}

// -- what must hold -------------------------------------------------------------------------------

void Cluster::check_devices(NodeId node) const {
  const bool is_shared = devices_ == Devices::shared;
  for (const auto& [name, taken] : taken_devices(node))
    REQUIRE(taken <= (is_shared ? kMilliPerGpu : 1));
  for (const auto& [task, running] : running_) {
    const Amount asked = running.demand[kDevice];
    REQUIRE(running.devices.size() ==
            static_cast<std::size_t>(is_shared ? shared_gpus(asked).gpus : asked));
  }
}

/// While somebody who is not below its min is granted something there. Tasks that take parts of
/// GPUs are left to the node where they leave most of use, which may be another, and others to the
/// one that their rule chooses.
void Cluster::check_nobody_below_min_waits(NodeId node) {
  for (const auto& [id, job] : jobs_) {
    if (job.next.empty() || !is_guaranteed(id, job)) continue;
    if (devices_ == Devices::shared && job.demand[kDevice] > 0) continue;
    if (chooses_nodes(job.placement)) continue;
    if (is_promised_to_others(job.tenant)) continue;
    ++seen_.below_min;
    INFO("job " << id.value << " of tenant " << job.tenant.value);
    REQUIRE_FALSE((is_within_max(job.tenant, job.demand) && has_room(node, job)));
  }
}

/// What has grown may always go. What is preempted runs beyond its tenant's quota, and not within
/// its min, nor within that of a group that the other is not in.
bool Cluster::may_be_preempted(const Preempted& task, const ResourceVector& held) const {
  const ResourceVector& min = tenants_.at(task.job->tenant).min;
  const ResourceVector quota = cycle_.tenant(task.job->tenant).quota;
  bool is_beyond_quota = false;
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    const Amount taken = task.job->demand[r];
    if (taken == 0) continue;
    if (min[r] > 0 && held[r] - taken < min[r]) return false;
    is_beyond_quota = is_beyond_quota || (task.claimant->demand[r] > 0 && held[r] > quota[r]);
  }
  return is_beyond_quota;
}

/// While its tenant, or a group that the other is not in, holds less than its own min of all that
/// the task asks for and there is a min of; beside what is ending.
bool Cluster::may_preempt_for_min(const Job& claimant, TenantId preempted) const {
  const auto is_below = [&](const auto& min, const std::function<bool(TenantId)>& is_one) {
    ResourceVector held;
    for (const auto& [task, running] : running_)
      if (is_one(running.tenant) && !running.has_grown && !running.told_to_end)
        held += running.demand;
    bool asks = false;
    for (std::size_t r = 0; r < kMaxResources; ++r) {
      if (claimant.demand[r] == 0 || min(r) <= 0) continue;
      if (held[r] >= min(r)) return false;
      asks = true;
    }
    return asks;
  };
  const auto own = [&](std::size_t r) { return tenants_.at(claimant.tenant).min[r]; };
  if (is_below(own, [&](TenantId tenant) { return tenant == claimant.tenant; })) return true;
  return std::any_of(groups_.begin(), groups_.end(), [&](const auto& group) {
    const auto min = [&](std::size_t r) { return group.second.min[r].value_or(0); };
    const auto is_member = [&](TenantId tenant) { return is_in(tenant, group.first); };
    return is_member(claimant.tenant) && !is_member(preempted) && is_below(min, is_member);
  });
}

bool Cluster::may_be_preempted_in_some_order(const std::vector<Preempted>& tasks,
                                             const ResourceVector& held) const {
  if (tasks.empty()) return true;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!may_be_preempted(tasks[i], held)) continue;
    std::vector<Preempted> others = tasks;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    if (may_be_preempted_in_some_order(others, held - tasks[i].job->demand)) return true;
  }
  return false;
}

void Cluster::check_reclaims(const std::vector<Reclaim>& reclaims) {
  std::map<TenantId, std::vector<Preempted>> preempted;
  for (const Reclaim& reclaim : reclaims) {
    const Running& task = running_.at(reclaim.task);
    REQUIRE_FALSE(task.told_to_end);
    const Job& job = jobs_.at(reclaim.task.job);
    REQUIRE(reclaim.preempted != task.has_grown);
    if (!reclaim.preempted) continue;
    const Job& claimant = jobs_.at(reclaim.claimant_job);
    REQUIRE(claimant.tenant == reclaim.claimant);
    REQUIRE(claimant.tenant != job.tenant);
    REQUIRE(job.preemption.is_preemptible);
    REQUIRE_FALSE(job.is_gang);
    const bool by_its_word =
        claimant.preemption.preempts && job.preemption.priority < claimant.preemption.priority;
    if (!by_its_word) {
      REQUIRE(preempts_for_min_);
      REQUIRE(may_preempt_for_min(claimant, job.tenant));
      ++seen_.preempted_for_min;
    }
    REQUIRE(now_ms_ - task.since_ms >= kPreemptAfterMs);
    preempted[job.tenant].push_back({&job, &claimant});
    note_promise(reclaim.claimant_job, job.tenant);
    ++seen_.preempted;
    if (asks_for_some(job.demand, tenants_.at(job.tenant).min)) ++seen_.preempted_of_min;
  }
  for (const auto& [tenant, tasks] : preempted) {
    ResourceVector held = held_but_grown(tenant);
    for (const auto& [task, running] : running_)
      if (running.tenant == tenant && running.told_to_end && !running.has_grown)
        held -= running.demand;
    INFO("of tenant " << tenant.value);
    REQUIRE(may_be_preempted_in_some_order(tasks, held));
  }
  for (const auto& [group, terms] : groups_) check_min_of_group(group, reclaims);
}

/// Whose end leaves something below the max of a group which kept the claimant back.
void Cluster::note_promise(JobId claimant, TenantId preempted) {
  const Job& job = jobs_.at(claimant);
  for (const auto& [group, terms] : groups_) {
    const auto are_in = [&, of = group](TenantId other) { return is_in(other, of); };
    if (!are_in(job.tenant) || !are_in(preempted)) continue;
    if ((held_by(are_in) + job.demand).fits(terms.max)) continue;
    promised_.emplace(claimant, group);
    ++seen_.preempted_below_max;
  }
}

bool Cluster::is_promised_to_others(TenantId tenant) const {
  return std::any_of(promised_.begin(), promised_.end(), [&](const auto& promise) {
    const auto job = jobs_.find(promise.first);
    return job != jobs_.end() && !job->second.next.empty() && job->second.tenant != tenant &&
           is_in(tenant, promise.second);
  });
}

/// Of all that is preempted for others who are not in it.
void Cluster::check_min_of_group(GroupId group, const std::vector<Reclaim>& reclaims) {
  ResourceVector held;
  for (const auto& [task, running] : running_)
    if (is_in(running.tenant, group) && !running.has_grown && !running.told_to_end)
      held += running.demand;
  ResourceVector taken;
  for (const Reclaim& reclaim : reclaims)
    if (reclaim.preempted && is_in(running_.at(reclaim.task).tenant, group)) {
      held -= running_.at(reclaim.task).demand;
      if (!is_in(reclaim.claimant, group)) taken += running_.at(reclaim.task).demand;
    }
  // What those in it have taken of each other comes back to it.
  for (const Reclaim& reclaim : reclaims)
    if (reclaim.preempted && is_in(running_.at(reclaim.task).tenant, group) &&
        is_in(reclaim.claimant, group))
      held += running_.at(reclaim.task).demand;
  INFO("of group " << group.value);
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    if (taken[r] == 0 || !groups_.at(group).min[r]) continue;
    ++seen_.preempted_of_group;
    REQUIRE(held[r] >= *groups_.at(group).min[r]);
  }
}

void Cluster::check_settlement(const TimeSettlement& settlement,
                               const std::map<TenantId, MicroUnits>& parts) {
  Units sum = 0;
  for (const TimeLine& line : settlement.lines) {
    INFO("tenant " << line.tenant.value << ", " << line.position);
    const TenantTerms& terms = tenants_.at(line.tenant);
    const Units before = std::exchange(nets_[line.tenant], nets_[line.tenant] + line.position);
    const Units after = before + line.position;
    sum += line.position;
    const MicroUnits part = parts.at(line.tenant);
    // What it owes it pays back, whether it may lend or not, and likewise.
    if (line.position > 0) {
      REQUIRE((terms.may_lend || after <= 1));
      REQUIRE(after <= std::max<Units>(cap_of(terms.caps.lend, part), 0));
    }
    if (line.position < 0) {
      REQUIRE((terms.may_borrow || after >= -1));  // by rounding
      REQUIRE(after >= -cap_of(terms.caps.borrow, part));
    }
    REQUIRE(line.decayed == 0);
    if (line.position != 0) ++seen_.lent_by_time;
    if (line.beyond_cap != 0) ++seen_.at_cap;
  }
  REQUIRE(sum == 0);
}

void Cluster::check_sums() {
  Units nets = 0, credits = 0;
  for (const auto& [tenant, terms] : tenants_) {
    const TenantView view = cycle_.tenant(tenant);
    REQUIRE(view.net == nets_[tenant]);
    nets += view.net;
    credits += view.credit;
  }
  REQUIRE(nets == 0);
  REQUIRE(credits == 0);
}

/// Below a tenant's max, or a group's, nothing grows into what others there are to have.
bool Cluster::others_claim(JobId id, const Job& job) const {
  const auto others_wait = [&](const auto& are_there) {
    return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& other) {
      return other.first != id && !other.second.next.empty() && are_there(other.second.tenant);
    });
  };
  const bool has_max = tenants_.at(job.tenant).max[kCpu] != kUnlimited;
  if (has_max && others_wait([&](TenantId other) { return other == job.tenant; })) return true;
  return std::any_of(groups_.begin(), groups_.end(), [&](const auto& group) {
    return is_in(job.tenant, group.first) && group.second.max[kCpu] != kUnlimited &&
           others_wait([&](TenantId other) { return is_in(other, group.first); });
  });
}

void Cluster::check_nobody_could_start() {
  const bool others_wait = std::any_of(jobs_.begin(), jobs_.end(),
                                       [](const auto& job) { return !job.second.next.empty(); });
  for (const auto& [id, job] : jobs_) {
    const bool waits_for_one = !job.next.empty() && !job.is_gang;
    // By dominant shares nothing grows, and by time nothing where others have places.
    const bool may_grow = !job.growth.empty() && !by_share_ && !(counts_time_ && others_wait) &&
                          !others_claim(id, job);
    if (!waits_for_one && !may_grow) continue;
    ++seen_.waiting;
    if (!is_within_max(job.tenant, job.demand) || is_promised_to_others(job.tenant)) continue;
    const bool is_due = waits_for_one && is_guaranteed(id, job);
    // What it may hold at most follows from the tree, and what it is owed: not told here.
    if (!is_due && !may_grow && !by_share_ && !may_exceed_quota(job.tenant)) {
      if (!may_hold_more(job.tenant, job.demand)) ++seen_.at_plain_share;
      continue;
    }
    INFO("job " << id.value << " of tenant " << job.tenant.value << ", now " << now_ms_);
    for (const auto& [node, known] : nodes_) {
      if (!has_time(known, job) && job.demand.fits(known.capacity - known.used)) ++seen_.too_long;
      if (!has_room(node, job)) continue;
      INFO("node " << node.value);
      REQUIRE_FALSE(is_due);
      // Where room is kept for larger tasks that are due, its own tests say whether it should be.
      if (!counts_time_) REQUIRE(cycle_.node(node).reserved_for.has_value());
      if (!counts_time_) continue;
      REQUIRE(may_be_kept_for_others(node, job));
      ++seen_.waiting_by_time;
    }
  }
}

}  // namespace fairwater::test::states
