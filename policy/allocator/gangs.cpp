#include "policy/allocator/gangs.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "policy/allocator/expected_room.hpp"
#include "policy/allocator/gang_moment.hpp"
#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// So long all room is kept for a gang where nobody knows when it will do, and so long it is not.
constexpr LedgerMs kKeepMs = 10 * 60'000;
/// A gang's plan takes a look at all that runs: so many are made until all are made anew.
constexpr std::size_t kMostPlans = 8;
/// With those of late gangs.
constexpr std::size_t kMostWithLate = 2 * kMostPlans;
/// Enough nodes to choose from, once all of a gang fits.
constexpr std::size_t kEnoughNodes = 1024;

struct NodeChoice {
  const NodeRoom* node = nullptr;
  std::uint32_t tasks = 0;       ///< as many as it may start
  std::uint32_t tasks_free = 0;  ///< for which it has room now
  LedgerMs from_ms = 0;          ///< from when on
};

/// For how many of its tasks the GPUs have room that tasks share: all, where it takes none.
std::uint32_t tasks_on_gpus(const AllocatorState& state, const NodeRoom& node,
                            const WindowRange& gang, const std::optional<GpuNode>& room,
                            const std::set<std::string>& kept) {
  if (!state.takes_shares(gang.range.demand)) return gang.starts_at_once;
  if (!room) return 0;
  const std::int64_t tasks = shares_that_fit(without_gpus(*room, *state.shared_devices(node), kept),
                                             gang.range.demand[state.shared_resource()]);
  return static_cast<std::uint32_t>(std::min<std::int64_t>(tasks, gang.starts_at_once));
}

/// Where so much is free, whatever is kept for others.
std::uint32_t tasks_now(const AllocatorState& state, const NodeRoom& node, const WindowRange& gang,
                        const ResourceVector& free) {
  return std::min(tasks_that_fit(gang, free), tasks_on_gpus(state, node, gang, node.gpu_room, {}));
}

/// When all has ended that ends by itself.
std::uint32_t tasks_one_day(const AllocatorState& state, const NodeRoom& node,
                            const WindowRange& gang) {
  return std::min(tasks_that_fit(gang, node.free_one_day()),
                  tasks_on_gpus(state, node, gang, state.gpus_beside_services(node), {}));
}

std::uint32_t tasks_when_empty(const AllocatorState& state, const NodeRoom& node,
                               const WindowRange& gang) {
  return std::min(tasks_that_fit(gang, node.capacity),
                  tasks_on_gpus(state, node, gang, state.gpus_when_empty(node), {}));
}

/// Those that so many of its tasks get of what is free of the node's shared GPUs.
std::vector<std::string> gpus_for(const AllocatorState& state, const NodeRoom& node,
                                  const WindowRange& gang, std::uint32_t tasks, GpuNode room,
                                  const std::set<std::string>& kept) {
  const ResourceVector& demand = gang.range.demand;
  const NodeDevices& kind = *state.shared_devices(node);
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const auto chosen = state.shares_of(node, room, demand, gang.range.rule.get(), kept);
    FAIRWATER_CHECK(chosen, "a gang's tasks get the GPUs that they were counted for");
    names.insert(chosen->names.begin(), chosen->names.end());
    give_shares(room, kind, chosen->names,
                -std::min(demand[state.shared_resource()], kMilliPerGpu));
  }
  return {names.begin(), names.end()};
}

bool is_allowed(const AllocatorState& state, const WindowRange& gang, const NodeRoom& node) {
  return node.accepts && state.is_allowed_on(node, gang.range);
}

/// The most of `tasks` that may start beside what is planned there.
std::uint32_t tasks_beside(const RoomProfile& profile, const WindowRange& gang, std::uint32_t tasks,
                           LedgerMs now_ms, Predict predict) {
  const std::int64_t duration_ms = duration_of(gang.range, predict);
  std::uint32_t possible = 0;
  std::uint32_t impossible = tasks + 1;
  while (possible + 1 < impossible) {
    const std::uint32_t middle = possible + (impossible - possible) / 2;
    if (profile.earliest(gang.range.demand * Amount{middle}, duration_ms, now_ms + 1))
      possible = middle;
    else
      impossible = middle;
  }
  return possible;
}

/// Of a node that is not dealt now, with room for so many.
std::uint32_t tasks_elsewhere(const AllocatorState& state, const NodeRoom& node,
                              const TenantState& tenant, const WindowRange& gang,
                              std::uint32_t tasks, Predict predict, OtherPlaces places) {
  if (tasks == 0) return 0;
  if (!state.counts_time())
    return node.reservation && node.reservation->tenant_slot != tenant.rank.slot ? 0 : tasks;
  if (node.places_of.empty() && node.kept_for_gangs.empty()) return tasks;
  if (keeps_for_late(state, node)) predict = Predict::limits;
  const LedgerMs late_by_ms = places == OtherPlaces::count ? kNever : gang.late_from_ms;
  const auto profile = room_beside_places(state, node, gang.range.job, predict, late_by_ms);
  return profile ? tasks_beside(*profile, gang, tasks, state.now_ms(), predict) : 0;
}

std::uint32_t tasks_here(const AllocatorState& state, const RoomHere& here, const WindowRange& gang,
                         std::uint32_t tasks, Predict predict) {
  if (tasks == 0 || here.profile == nullptr) return tasks;
  return tasks_beside(*here.profile, gang, tasks, state.now_ms(), predict);
}

/// Takes nodes in turn until the gang is whole; nothing when they are not enough.
std::vector<GangShare> shares_of(const WindowRange& gang, std::span<const NodeChoice> choices) {
  std::vector<GangShare> shares;
  std::uint32_t left = gang.starts_at_once;
  for (const NodeChoice& choice : choices) {
    const std::uint32_t tasks = std::min(left, choice.tasks);
    if (tasks > 0) shares.push_back({choice.node->id, tasks});
    left -= tasks;
    if (left == 0) return shares;
  }
  return {};
}

/// The one site that is to have it all; none: no site has room enough.
std::optional<std::string> site_for(const WindowRange& gang, std::span<const NodeChoice> choices) {
  std::map<std::string, std::uint64_t> tasks;
  for (const NodeChoice& choice : choices) tasks[choice.node->traits.site] += choice.tasks;
  if (gang.range.rule != nullptr)
    for (const std::string& preferred : gang.range.rule->sites)
      if (tasks[preferred] >= gang.starts_at_once) return preferred;
  for (const auto& [site, possible] : tasks)
    if (possible >= gang.starts_at_once) return site;
  return std::nullopt;
}

/// Nothing when all nodes together are not enough.
std::vector<GangShare> choose(const WindowRange& gang, std::vector<NodeChoice> choices) {
  std::uint64_t tasks = 0;
  for (const NodeChoice& choice : choices) tasks += choice.tasks;
  if (tasks < gang.starts_at_once) return {};
  if (const auto site = site_for(gang, choices))
    std::erase_if(choices,
                  [&](const NodeChoice& choice) { return choice.node->traits.site != *site; });
  std::sort(choices.begin(), choices.end(), [](const NodeChoice& a, const NodeChoice& b) {
    if (a.tasks_free != b.tasks_free) return a.tasks_free > b.tasks_free;
    if (a.tasks != b.tasks) return a.tasks > b.tasks;
    if (a.from_ms != b.from_ms) return a.from_ms > b.from_ms;
    return a.node->id < b.node->id;
  });
  return shares_of(gang, choices);
}

// -- plans ----------------------------------------------------------------------------------------

/// Whether its turn to have all room kept is now.
bool is_time_to_keep(const AllocatorState& state, const WindowRange& gang) {
  if (gang.late_from_ms == kNever) return true;
  const LedgerMs since_ms = state.now_ms() - gang.late_from_ms;
  const LedgerMs turn = since_ms >= 0 ? since_ms / kKeepMs : -((-since_ms - 1) / kKeepMs + 1);
  return turn % 2 == 0;
}

bool is_late(const AllocatorState& state, const PlanTerms& terms) {
  return terms.late_from_ms <= state.now_ms();
}

/// What a node is expected to have beside the plans of others.
struct Plannable {
  const NodeRoom* node = nullptr;
  RoomProfile profile;
  std::vector<ExpectedGpus> gpus;  ///< where the gang shares some
};

std::vector<Plannable> plannable(const AllocatorState& state, const WindowRange& gang,
                                 const PlanTerms& terms) {
  const LedgerMs late_by_ms = is_late(state, terms) ? terms.late_from_ms : kNever;
  std::vector<Plannable> nodes;
  for (const auto& [id, node] : state.nodes()) {
    if (!is_allowed(state, gang, node) || tasks_that_fit(gang, node.capacity) == 0) continue;
    std::vector<ExpectedGpus> gpus;
    if (state.takes_shares(gang.range.demand)) {
      gpus = expected_gpus(state, node, gang.range.job, terms.predict, {late_by_ms, true});
      if (gpus.empty()) continue;
    }
    if (auto profile = room_beside_gangs(state, node, gang.range.job, terms.predict, late_by_ms))
      nodes.push_back({&node, std::move(*profile), std::move(gpus)});
  }
  return nodes;
}

std::vector<PossibleTasks> possible_on(const AllocatorState& state, const Plannable& node,
                                       const WindowRange& gang, Predict predict) {
  auto possible =
      possible_tasks(node.profile, duration_of(gang.range, predict),
                     [&gang](const ResourceVector& free) { return tasks_that_fit(gang, free); });
  if (node.node->closes_ms != kNever) {
    const LedgerMs last_start_ms = node.node->closes_ms - longest_run_ms(gang.range);
    possible = lesser_of(possible,
                         std::vector<PossibleTasks>{{possible.front().from_ms, gang.starts_at_once},
                                                    {last_start_ms + 1, 0}});
  }
  if (node.gpus.empty()) return possible;
  std::vector<PossibleTasks> on_gpus;
  for (const auto& [from_ms, room] : node.gpus)
    on_gpus.push_back({from_ms, tasks_on_gpus(state, *node.node, gang, room, {})});
  return lesser_of(possible, on_gpus);
}

/// The room of the step that holds at that moment.
const GpuNode& gpus_at(const Plannable& node, LedgerMs at_ms) {
  const auto behind = std::upper_bound(
      node.gpus.begin(), node.gpus.end(), at_ms,
      [](LedgerMs moment, const ExpectedGpus& gpus) { return moment < gpus.from_ms; });
  return std::prev(behind)->room;
}

/// Which GPUs the plan keeps.
void keep_gpus(const AllocatorState& state, const WindowRange& gang,
               std::span<const Plannable> nodes, GangPlan& plan) {
  for (GangShare& share : plan.shares) {
    const auto on = std::find_if(nodes.begin(), nodes.end(), [&](const Plannable& node) {
      return node.node->id == share.node;
    });
    if (!on->gpus.empty())
      share.gpus = gpus_for(state, *on->node, gang, share.tasks, gpus_at(*on, plan.from_ms), {});
  }
}

/// Nodes where all that becomes free may be kept.
std::vector<NodeChoice> nodes_to_keep(const AllocatorState& state, const WindowRange& gang) {
  std::vector<NodeChoice> choices;
  for (const auto& [id, node] : state.nodes()) {
    // Nobody knows when they will have room: before one closes that may be too late.
    if (!is_allowed(state, gang, node) || !node.kept_for_gangs.empty() || node.closes_ms != kNever)
      continue;
    choices.push_back(
        {&node, tasks_one_day(state, node, gang), tasks_now(state, node, gang, node.free()), 0});
  }
  return choices;
}

GangPlan make_plan(const AllocatorState& state, const TenantState& tenant, const WindowRange& gang,
                   const PlanTerms& terms) {
  GangPlan plan{tenant.rank.slot, gang.range.job, kNever, terms.late_from_ms, {}, terms.predict};
  const std::vector<Plannable> nodes = plannable(state, gang, terms);
  std::vector<std::vector<PossibleTasks>> possible;
  possible.reserve(nodes.size());
  for (const Plannable& node : nodes)
    possible.push_back(possible_on(state, node, gang, terms.predict));
  if (const auto from_ms = first_moment(gang.starts_at_once, possible)) {
    plan.from_ms = *from_ms;
    std::vector<NodeChoice> choices;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const PossibleTasks then = possible_at(possible[i], *from_ms);
      choices.push_back({nodes[i].node, then.tasks, then.tasks, then.from_ms});
    }
    plan.shares = choose(gang, std::move(choices));
    keep_gpus(state, gang, nodes, plan);
  } else if (terms.may_keep_all && is_time_to_keep(state, gang)) {
    plan.shares = choose(gang, nodes_to_keep(state, gang));
  }
  return plan;
}

}  // namespace

std::optional<std::vector<GangShare>> gang_start(AllocatorState& state, const TenantState& tenant,
                                                 const WindowRange& gang, const RoomHere& here,
                                                 Predict predict, OtherPlaces places) {
  if (gang.range.count != gang.starts_at_once || state.lacks_room(gang.range.job))
    return std::nullopt;
  const LedgerMs late_by_ms = places == OtherPlaces::count ? kNever : gang.late_from_ms;
  const bool takes_shares = state.takes_shares(gang.range.demand);
  const auto kept_gpus = [&](const NodeRoom& node) {
    return state.kept_from(node, gang.range, {late_by_ms, &node != here.node});
  };
  std::vector<NodeChoice> choices;
  std::uint64_t tasks = 0;
  std::uint64_t with_room = 0;  // whatever is kept for others
  const auto add = [&](const NodeRoom& node, std::uint32_t fitting) {
    if (fitting > 0 && takes_shares)
      fitting = std::min(fitting, tasks_on_gpus(state, node, gang, node.gpu_room, kept_gpus(node)));
    if (fitting == 0) return;
    choices.push_back({&node, fitting, fitting, 0});
    tasks += fitting;
  };
  if (is_allowed(state, gang, *here.node)) {
    const std::uint32_t fitting = tasks_now(state, *here.node, gang, here.free);
    with_room += fitting;
    add(*here.node, tasks_here(state, here, gang, fitting, predict));
  }
  for (auto id = state.next_with_room(NodeId{}, gang.range); id;
       id = state.next_with_room(NodeId{id->value + 1}, gang.range)) {
    if (tasks >= gang.starts_at_once && choices.size() >= kEnoughNodes) break;
    const NodeRoom& node = state.node(*id);
    if (&node == here.node || !is_allowed(state, gang, node)) continue;
    const std::uint32_t fitting = tasks_now(state, node, gang, node.free());
    with_room += fitting;
    add(node, tasks_elsewhere(state, node, tenant, gang, fitting, predict, places));
  }
  if (with_room < gang.starts_at_once) state.note_lack_of_room(gang.range.job);
  std::vector<GangShare> shares = choose(gang, std::move(choices));
  if (takes_shares)
    for (GangShare& share : shares) {
      const NodeRoom& node = state.node(share.node);
      share.gpus = gpus_for(state, node, gang, share.tasks, *node.gpu_room, kept_gpus(node));
    }
  return shares.empty() ? std::nullopt : std::optional(std::move(shares));
}

const GangPlan* gang_plan(AllocatorState& state, const TenantState& tenant, const WindowRange& gang,
                          const PlanTerms& terms) {
  const GangPlan* known = state.gang_plan_of(tenant.rank.slot, gang.range.job);
  const std::size_t most = is_late(state, terms) ? kMostWithLate : kMostPlans;
  if (known == nullptr && state.gang_plans().size() < most)
    known = &state.add_gang_plan(make_plan(state, tenant, gang, terms));
  return known == nullptr || known->shares.empty() ? nullptr : known;
}

GangRoom gang_room(const AllocatorState& state, const WindowRange& gang) {
  GangRoom room;
  for (const auto& [id, node] : state.nodes()) {
    const PlacementRule* rule = gang.range.rule.get();
    if (rule != nullptr && !rule->allows(node.traits)) continue;
    const std::uint32_t one_day = tasks_one_day(state, node, gang);
    const std::uint32_t empty = tasks_when_empty(state, node, gang);
    if (is_allowed(state, gang, node)) {
      room.now += tasks_now(state, node, gang, node.free());
      room.one_day += one_day;
      room.empty += empty;
    } else if (empty > 0) {
      room.closed_one_day += one_day;
      room.closed_empty += empty;
      room.closed.push_back(&node);
    }
  }
  return room;
}

}  // namespace fairwater::inline policy::inline allocator
