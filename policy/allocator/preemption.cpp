#include "policy/allocator/preemption.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "policy/allocator/time_marks.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// Sets that are tried to make one younger.
constexpr std::size_t kMostExchanges = 64;
/// Divided by any number of GPUs of a node it is whole.
constexpr std::int64_t kOneVictim = 720'720;

}  // namespace

bool is_beyond_quota(const AllocatorState& state, const Victim& victim, const WindowRange& entry,
                     const ResourceVector& gone, PreemptionRight right) {
  const TenantState& holder = state.tenant(victim.held.tenant);
  const ResourceVector& demand = victim.held.demand;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (demand[r] > 0 && holder.used[r] - gone[r] - demand[r] < holder.terms.min[r]) return false;
  ResourceVector counted = holder.held_against_quota() - gone;
  if (!right.is_for_min()) counted -= owed_beyond_quota(state, holder);
  for (const std::size_t r : entry.asks)
    if (demand[r] > 0 && counted[r] > state.quotas().exact_quota(holder, r)) return true;
  return false;
}

bool is_within_group_min(const AllocatorState& state, const GroupSums& groups, const Victim& victim,
                         const TenantState& claimant,
                         std::initializer_list<const GoneByTenant*> gone) {
  const ResourceVector& demand = victim.held.demand;
  for (auto group = state.tenant(victim.held.tenant).group; group != QuotaTree::kRoot;
       group = state.quotas().group(group).parent) {
    if (is_in_group(state, claimant, group)) return false;  // what one loses the other gets
    const GroupTerms& terms = state.quotas().group(group).terms;
    const ResourceVector left =
        groups.of(group).used - groups.of(group).ending - gone_of(state, group, gone) - demand;
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (demand[r] > 0 && terms.min[r] && left[r] < *terms.min[r]) return true;
  }
  return false;
}

void leave_out_needless(VictimNumbers& victims, const std::vector<Victim>& all,
                        const AllocatorState& state, const ComingRooms& rooms, NodeId node,
                        ComingRoom room, const WaitingRange& task, GroupLacks lacks) {
  for (std::size_t i = victims.size(); i-- > 0;) {
    const Victim& victim = all[victims[i]];
    GroupLacks missing = lacks;
    missing.note(state, state.tenant(victim.held.tenant), victim.held.demand, false);
    if (!missing.are_covered()) continue;
    ComingRoom without = room;
    note_on(rooms, without, node, victim, false);
    if (!rooms.has_room(node, task, without)) continue;
    lacks = std::move(missing);
    room = std::move(without);
    victims.erase(victims.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

const VictimNumbers* Preemption::fewer(const std::optional<VictimNumbers>& a,
                                       const std::optional<VictimNumbers>& b) const {
  if (!a || !b) return a ? &*a : b ? &*b : nullptr;
  const std::size_t tasks_a = tasks_of(*a, victims_), tasks_b = tasks_of(*b, victims_);
  if (tasks_a != tasks_b || a->empty()) return tasks_a <= tasks_b ? &*a : &*b;
  // Of as many those whose oldest is the younger.
  return *std::max_element(a->begin(), a->end()) <= *std::max_element(b->begin(), b->end()) ? &*a
                                                                                            : &*b;
}

std::optional<Preemption::Choice> Preemption::fewest() {
  auto choice = fewest_of(candidates(false));
  const bool has_gangs = std::any_of(victims_.begin(), victims_.end(),
                                     [](const Victim& victim) { return victim.is_gang(); });
  if (!choice && has_gangs) choice = fewest_of(candidates(true));
  return choice;
}

std::map<NodeId, VictimNumbers> Preemption::candidates(bool with_gangs) const {
  std::map<NodeId, VictimNumbers> found;
  for (std::size_t i = 0; i < victims_.size(); ++i) {
    if (victims_[i].is_taken || (victims_[i].is_gang() && !with_gangs)) continue;
    victims_[i].for_each_task([&](const TaskKey&, NodeId node, const ResourceVector&) {
      VictimNumbers& there = found[node];
      if (there.empty() || there.back() != i) there.push_back(i);
    });
  }
  return found;
}

std::optional<Preemption::Choice> Preemption::fewest_of(
    const std::map<NodeId, VictimNumbers>& candidates) {
  std::optional<Choice> fewest;
  for (const auto& [id, of_node] : candidates) {
    const NodeRoom& node = state_.node(id);
    if (!node.accepts || !state_.may_preempt_on(node, claimant_, entry_.range)) continue;
    auto victims = on_node(id, of_node);
    if (victims && (!fewest || tasks_of(*victims, victims_) < tasks_of(fewest->victims, victims_)))
      fewest = Choice{id, std::move(*victims)};
  }
  return fewest;
}

std::optional<VictimNumbers> Preemption::for_maxes() const {
  GroupLacks lacks = lacks_;
  GoneByTenant preempted;
  VictimNumbers chosen;
  for (std::size_t i = 0; i < victims_.size() && !lacks.are_covered(); ++i) {
    const Victim& victim = victims_[i];
    if (victim.is_taken ||
        !lacks.are_eased_by(state_, state_.tenant(victim.held.tenant), victim.held.demand))
      continue;
    if (!victim.has_grown && !may_preempt(victim, preempted)) continue;
    if (!victim.has_grown) preempted[victim.held.tenant] += victim.held.demand;
    note(lacks, i, true);
    chosen.push_back(i);
  }
  if (!lacks.are_covered()) return std::nullopt;
  for (std::size_t i = chosen.size(); i-- > 0;) {
    GroupLacks without = lacks;
    note(without, chosen[i], false);
    if (!without.are_covered()) continue;
    lacks = std::move(without);
    chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return chosen;
}

std::optional<VictimNumbers> Preemption::on_node(NodeId node, const VictimNumbers& candidates) {
  if (!state_.takes_shares(entry_.range.demand)) {
    const bool has_gangs = !candidates.empty() && victims_[candidates.back()].is_gang();
    return has_gangs ? with_gangs(node, candidates) : for_amounts(node, candidates);
  }
  if (state_.shared_devices(state_.node(node)) == nullptr) return std::nullopt;
  const GpuRequest request = shared_gpus(entry_.range.demand[state_.shared_resource()]);
  return request.gpus == 1 ? for_one_gpu(node, candidates) : for_whole_gpus(node, candidates);
}

std::size_t Preemption::preempted_of(const VictimNumbers& victims) const {
  return static_cast<std::size_t>(std::count_if(
      victims.begin(), victims.end(), [&](std::size_t i) { return !victims_[i].has_grown; }));
}

std::size_t Preemption::least_of(const Trial& grown_ended, const VictimNumbers& candidates) const {
  std::size_t least = 0;
  for (const std::size_t r : entry_.asks) {
    std::vector<Amount> held;
    for (const std::size_t i : candidates)
      if (!victims_[i].has_grown) held.push_back(victims_[i].held.demand[r]);
    std::sort(held.begin(), held.end(), std::greater<>());
    Amount missing = entry_.range.demand[r] - grown_ended.room.free[r];
    std::size_t tasks = 0;
    while (missing > 0 && tasks < held.size()) missing -= held[tasks++];
    least = std::max(least, tasks);
  }
  return least;
}

std::optional<VictimNumbers> Preemption::for_amounts(NodeId node, const VictimNumbers& candidates) {
  auto best = gather(node, candidates);
  const std::size_t of_youngest = best ? preempted_of(*best) : 0;
  if (of_youngest <= 1) return best;
  for (const std::size_t r : entry_.asks) {
    VictimNumbers largest = candidates;
    std::stable_sort(largest.begin(), largest.end(), [&](std::size_t a, std::size_t b) {
      const Victim& one = victims_[a];
      const Victim& other = victims_[b];
      if (one.has_grown || other.has_grown) return one.has_grown && !other.has_grown;
      return one.held.demand[r] > other.held.demand[r];
    });
    if (auto found = gather(node, largest); found && preempted_of(*found) < preempted_of(*best))
      best = std::move(found);
  }
  Trial grown_ended = trial_on(node);
  VictimNumbers others;
  for (const std::size_t i : candidates) {
    if (victims_[i].has_grown)
      (void)end(grown_ended, node, i);
    else
      others.push_back(i);
  }
  for (std::size_t count = std::max<std::size_t>(1, least_of(grown_ended, candidates));
       count < preempted_of(*best); ++count) {
    auto found = so_many(node, grown_ended, others, count);
    if (!found) continue;
    best = without_needless(node, *std::move(found));
    break;
  }
  if (preempted_of(*best) < of_youngest) make_younger(*best, node, candidates);
  return best;
}

std::optional<VictimNumbers> Preemption::with_gangs(NodeId node, const VictimNumbers& candidates) {
  const auto first_gang = std::find_if(candidates.begin(), candidates.end(),
                                       [&](std::size_t i) { return victims_[i].is_gang(); });
  const VictimNumbers others(candidates.begin(), first_gang);
  std::optional<VictimNumbers> best;
  std::size_t tries = 0;
  for (auto gang = first_gang; gang != candidates.end() && tries < kMostGangs; ++gang, ++tries) {
    VictimNumbers order{*gang};
    order.insert(order.end(), others.begin(), others.end());
    const auto found = gather(node, order);
    if (const VictimNumbers* chosen = fewer(best, found)) best = VictimNumbers(*chosen);
  }
  if (best) return best;
  // Several: who is beyond its quota by gangs alone may keep its single tasks.
  VictimNumbers gangs_first(first_gang, candidates.end());
  gangs_first.insert(gangs_first.end(), others.begin(), others.end());
  const auto singles_first = gather(node, candidates);
  const auto by_gangs = gather(node, gangs_first);
  if (const VictimNumbers* chosen = fewer(singles_first, by_gangs)) best = VictimNumbers(*chosen);
  return best;
}

std::optional<Preemption::Trial> Preemption::so_many(NodeId node, const Trial& so_far,
                                                     std::span<const std::size_t> others,
                                                     std::size_t count) {
  for (std::size_t i = 0; i + count <= others.size() && sets_to_try_ > 0; ++i) {
    --sets_to_try_;
    Trial trial = so_far;
    if (!end(trial, node, others[i])) continue;
    if (count == 1) {
      if (is_enough(node, trial)) return trial;
    } else if (auto found = so_many(node, trial, others.subspan(i + 1), count - 1)) {
      return found;
    }
  }
  return std::nullopt;
}

VictimNumbers Preemption::without_needless(NodeId node, Trial trial) {
  std::sort(trial.victims.begin(), trial.victims.end());
  leave_out_needless(trial.victims, victims_, state_, rooms_, node, std::move(trial.room),
                     entry_.range, std::move(trial.lacks));
  return std::move(trial.victims);
}

std::optional<VictimNumbers> Preemption::for_one_gpu(NodeId node, const VictimNumbers& candidates) {
  std::optional<VictimNumbers> best;
  for (const std::string& gpu : state_.shared_devices(state_.node(node))->names) {
    const VictimNumbers youngest = on_gpu(node, gpu, candidates);
    auto found = gather(node, with_others(youngest, node, candidates));
    VictimNumbers largest = youngest;
    std::stable_sort(largest.begin(), largest.end(), [&](std::size_t a, std::size_t b) {
      return shares_on(node, gpu, a) > shares_on(node, gpu, b);
    });
    auto least = gather(node, with_others(std::move(largest), node, candidates));
    if (least && (!found || tasks_of(*least, victims_) < tasks_of(*found, victims_))) {
      make_younger(*least, node, youngest);
      found = std::move(least);
    }
    if (const VictimNumbers* chosen = fewer(best, found)) best = VictimNumbers(*chosen);
  }
  return best;
}

/// Of GPUs that can be empty those first for which fewest must end: a task that has several counts
/// as a part for each.
std::optional<VictimNumbers> Preemption::for_whole_gpus(NodeId node,
                                                        const VictimNumbers& candidates) {
  struct Emptied {
    std::int64_t victims = 0;
    VictimNumbers numbers;
  };
  std::vector<Emptied> gpus;
  const std::optional<GpuNode>& room = rooms_.on(node).gpus;
  if (!room) return std::nullopt;
  for (std::size_t gpu = 0; gpu < room->gpus; ++gpu) {
    const std::string& name = state_.shared_devices(state_.node(node))->names[gpu];
    Emptied emptied{0, on_gpu(node, name, candidates)};
    Amount free = room->gpu_milli[gpu];
    for (const std::size_t i : emptied.numbers) {
      free += shares_on(node, name, i);
      victims_[i].for_each_task([&](const TaskKey&, NodeId, const ResourceVector& demand) {
        const Amount shares = demand[state_.shared_resource()];
        emptied.victims += shares > 0 ? kOneVictim / shared_gpus(shares).gpus : kOneVictim;
      });
    }
    if (free == kMilliPerGpu) gpus.push_back(std::move(emptied));
  }
  std::stable_sort(gpus.begin(), gpus.end(),
                   [](const Emptied& a, const Emptied& b) { return a.victims < b.victims; });
  VictimNumbers order;
  std::set<std::size_t> listed;
  for (const Emptied& gpu : gpus)
    for (const std::size_t i : gpu.numbers)
      if (listed.insert(i).second) order.push_back(i);
  return gather(node, with_others(std::move(order), node, candidates));
}

std::optional<VictimNumbers> Preemption::gather(NodeId node, const VictimNumbers& candidates) {
  Trial trial = trial_on(node);
  for (const std::size_t i : candidates) {
    if (!end(trial, node, i) || !is_enough(node, trial)) continue;
    return without_needless(node, std::move(trial));
  }
  return std::nullopt;
}

void Preemption::make_younger(VictimNumbers& victims, NodeId node,
                              const VictimNumbers& candidates) {
  const auto are_enough = [&](const VictimNumbers& some) {
    Trial trial = trial_on(node);
    return std::all_of(some.begin(), some.end(),
                       [&](std::size_t i) { return end(trial, node, i); }) &&
           is_enough(node, trial);
  };
  std::size_t tries = 0;
  for (const std::size_t younger : candidates) {
    if (std::find(victims.begin(), victims.end(), younger) != victims.end()) continue;
    for (std::size_t i = victims.size(); i-- > 0 && victims[i] > younger;) {
      if (++tries > kMostExchanges) return;
      VictimNumbers exchanged = victims;
      exchanged[i] = younger;
      std::sort(exchanged.begin(), exchanged.end());
      if (!are_enough(exchanged)) continue;
      victims = std::move(exchanged);
      break;
    }
  }
}

void Preemption::note(GroupLacks& lacks, std::size_t i, bool ends) const {
  lacks.note(state_, state_.tenant(victims_[i].held.tenant), victims_[i].held.demand, ends);
}

bool Preemption::end(Trial& trial, NodeId node, std::size_t i) const {
  const Victim& victim = victims_[i];
  if (!victim.has_grown && !may_preempt(victim, trial.preempted)) return false;
  if (!victim.has_grown) trial.preempted[victim.held.tenant] += victim.held.demand;
  note_on(rooms_, trial.room, node, victim, true);
  note(trial.lacks, i, true);
  trial.victims.push_back(i);
  return true;
}

bool Preemption::may_preempt(const Victim& victim, const GoneByTenant& with) const {
  const TenantState& holder = state_.tenant(victim.held.tenant);
  if (holder.id == claimant_.id || victim.priority >= right_.below_priority) return false;
  if (right_.spared != QuotaTree::kRoot && is_in_group(state_, holder, right_.spared)) return false;
  ResourceVector gone = holder.ending;
  for (const GoneByTenant* others : {&preempted_, &with})
    if (const auto found = others->find(holder.id); found != others->end()) gone += found->second;
  return is_beyond_quota(state_, victim, entry_, gone, right_) &&
         !is_within_group_min(state_, groups_, victim, claimant_, {&preempted_, &with});
}

Amount Preemption::shares_on(NodeId node, const std::string& gpu, std::size_t victim) const {
  Amount shares = 0;
  victims_[victim].for_each_task_on(node, [&](const TaskKey& task, const ResourceVector& demand) {
    if (is_among(rooms_.gpus_of(node, task), gpu))
      shares += std::min(demand[state_.shared_resource()], kMilliPerGpu);
  });
  return shares;
}

VictimNumbers Preemption::on_gpu(NodeId node, const std::string& gpu,
                                 const VictimNumbers& candidates) const {
  VictimNumbers found;
  for (const std::size_t i : candidates)
    if (shares_on(node, gpu, i) > 0) found.push_back(i);
  return found;
}

VictimNumbers Preemption::with_others(VictimNumbers first, NodeId node,
                                      const VictimNumbers& candidates) {
  ResourceVector others = entry_.range.demand;
  others[state_.shared_resource()] = 0;
  if (others.fits(rooms_.on(node).free)) return first;
  const std::size_t behind = first.size();
  for (const std::size_t i : candidates)
    if (std::find(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(behind), i) ==
        first.begin() + static_cast<std::ptrdiff_t>(behind))
      first.push_back(i);
  return first;
}

}  // namespace fairwater::inline policy::inline allocator
