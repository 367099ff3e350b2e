#include "policy/allocator/reclaim.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "policy/allocator/coming_room.hpp"
#include "policy/allocator/preemption.hpp"
#include "policy/allocator/time_marks.hpp"
#include "policy/allocator/victims.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

class Reclaiming {
 public:
  Reclaiming(AllocatorState& state, bool serves_all, bool for_min)
      : state_(state),
        serves_all_(serves_all),
        for_min_(for_min),
        victims_(state),
        rooms_(victims_.rooms()),
        claims_{{}, std::vector<ResourceVector>(state.quotas().group_count())} {}

  std::vector<Reclaim> run() {
    state_.await_no_gang();
    state_.set_claims({});
    expect_promised();
    keep_bounds();
    // By dominant shares nothing may stay that has grown, and nobody is within a quota.
    if (state_.allocates_by_share()) return victims_.tell();
    for (const std::uint32_t slot : whom_to_serve()) {
      if (has_enough()) break;
      serve(state_.at(slot));
    }
    state_.set_claims(std::move(claims_));
    keep_unserved_promises();
    state_.promise_below_maxes(std::move(promises_));
    for (const Served& served : kept_for_)
      state_.keep_made_room(served.node, {served.tenant, served.job, served.demand, 1});
    return victims_.tell();
  }

 private:
  /// What is guaranteed comes first; alone where nobody else can take anything.
  [[nodiscard]] std::vector<std::uint32_t> whom_to_serve() const {
    std::vector<std::uint32_t> below_min, others;
    for (const RankKey& key : state_.waiting()) {
      const TenantState& tenant = state_.at(key.slot);
      const bool is_below =
          for_min_ && (tenant.is_below_min() || state_.is_in_group_below_min(tenant));
      (is_below ? below_min : others).push_back(key.slot);
    }
    if (serves_all_) below_min.insert(below_min.end(), others.begin(), others.end());
    return below_min;
  }

  [[nodiscard]] bool has_enough() const {
    return served_ >= kMostReclaimers ||
           tasks_of(victims_.taken(), victims_.all()) >= kMostReclaimed;
  }

  /// Room that a task will have.
  struct Served {
    TenantId tenant;
    JobId job;
    NodeId node;
    ResourceVector demand;
    std::vector<std::string> gpus;  ///< that it shares
    PlacementRulePtr rule;          ///< whose devices it will have
  };

  /// Those to whom it is promised take it, before anybody is served.
  void expect_promised() {
    expected_ = state_.promises_below_maxes();
    for (const MadeRoom& room : expected_)
      victims_.note_freed(room.tenant, ResourceVector{} - room.demand * Amount{room.tasks});
  }

  /// So much of that is for these tasks, which are being looked at. False: nothing.
  bool take_promised(const TenantState& tenant, const WindowRange& entry) {
    const auto is_its = [&](const MadeRoom& room) {
      return room.job == entry.range.job && room.tasks > 0;
    };
    const auto promised = std::find_if(expected_.begin(), expected_.end(), is_its);
    if (promised == expected_.end()) return false;
    const std::uint32_t tasks = std::min(promised->tasks, entry.starts_at_once);
    promised->tasks -= tasks;
    victims_.note_freed(tenant.id, promised->demand * Amount{tasks});
    return true;
  }

  /// Of those who were not looked at, since enough others were served.
  void keep_unserved_promises() {
    if (!has_enough()) return;
    for (const MadeRoom& room : expected_)
      if (room.tasks > 0) promises_.push_back(room);
  }

  void promise(const TenantState& tenant, const WindowRange& entry) {
    promises_.push_back({tenant.id, entry.range.job, entry.range.demand, entry.starts_at_once});
  }

  /// Who has more than it may have gives back the rest.
  void keep_bounds() {
    for (const TenantInOrder& next : victims_.growers()) {
      const TenantState& tenant = state_.at(next.slot);
      if (!next.most) continue;
      Units extras = 0;
      for (const Victim& victim : victims_.all())
        if (victim.held.tenant == tenant.id) extras += cost_of(victim);
      for (std::size_t i = 0; i < victims_.grown() && extras > *next.most; ++i) {
        if (victims_[i].held.tenant != tenant.id) continue;
        extras -= cost_of(victims_[i]);
        victims_.take(i, {});
      }
    }
  }

  [[nodiscard]] Units cost_of(const Victim& victim) const {
    return state_.cost(victim.held.demand);
  }

  /// Its tasks in their order, as long as they are within its quota. They preempt others by their
  /// job's word only within its mark: what it gives way would be theirs again.
  void serve(TenantState& tenant) {
    ResourceVector left = state_.quotas().quota(tenant) - tenant.held_against_quota();
    ResourceVector left_below_mark = left - given_way_below_quota(state_, tenant);
    std::map<JobId, std::uint32_t> with_room;  // that others made for them before
    for (const WindowRange& entry : tenant.window) {
      // Which of the gpus that tasks share would become free is planned for any, not for names.
      if (names_devices(entry.range) && state_.takes_shares(entry.range.demand)) continue;
      std::uint32_t& has_room =
          with_room
              .try_emplace(entry.range.job, state_.tasks_with_made_room(tenant.id, entry.range.job))
              .first->second;
      const std::uint32_t at_once = entry.starts_at_once;
      for (std::uint32_t tasks = 0; tasks < entry.range.count; tasks += at_once) {
        if (has_enough() || !is_within(left, entry)) return;
        for (const std::size_t r : entry.asks) left[r] -= entry.asked_at_once(r);
        rights_ = preemption_rights(state_, tenant, entry, for_min_,
                                    {groups(), victims_.preempted(), claims_});
        keep_below_mark(rights_, entry, left_below_mark);
        for (const std::size_t r : entry.asks) left_below_mark[r] -= entry.asked_at_once(r);
        const bool was_promised = take_promised(tenant, entry);
        if (has_room > 0) {
          has_room -= std::min(has_room, at_once);
          if (was_promised) promise(tenant, entry);
          const ResourceVector asked = entry.range.demand * Amount{at_once};
          victims_.note_freed(tenant.id, ResourceVector{} - asked);
          claim(tenant.id, asked);
        } else if (serve_at_once(tenant, entry)) {
          if (was_promised || preempts_below_max_) promise(tenant, entry);
        } else {
          break;  // nor would the next of its kind
        }
      }
    }
  }

  /// A single task, or all of a gang.
  bool serve_at_once(TenantState& tenant, const WindowRange& entry) {
    ++served_;
    served_now_.clear();
    keeps_room_now_ = preempts_below_max_ = false;
    const std::size_t taken_before = victims_.taken().size();
    for (std::uint32_t i = 0; i < entry.starts_at_once; ++i)
      if (!serve_task(tenant, entry)) {
        undo(taken_before);
        return false;
      }
    if (entry.is_gang() && !state_.counts_time()) {
      std::set<NodeId> nodes;
      for (const Served& served : served_now_) nodes.insert(served.node);
      state_.await_gang_on(std::move(nodes));
    }
    for (const Served& served : served_now_) claim(served.tenant, served.demand);
    if (keeps_room_now_) kept_for_.insert(kept_for_.end(), served_now_.begin(), served_now_.end());
    return true;
  }

  void claim(TenantId tenant, const ResourceVector& amount) {
    claims_.of_tenants[tenant] += amount;
    add_in_groups(state_, claims_.in_groups, tenant, amount);
  }

  [[nodiscard]] static bool is_within(const ResourceVector& left, const WindowRange& entry) {
    for (const std::size_t r : entry.asks)
      if (entry.asked_at_once(r) > left[r]) return false;
    return true;
  }

  bool serve_task(TenantState& tenant, const WindowRange& entry) {
    const auto lacks = make_room_in_max(tenant, entry);
    if (!lacks) return false;
    const auto node =
        lacks->are_covered() ? find_room(tenant, entry) : preempt_below_max(tenant, entry, *lacks);
    if (!node) return false;
    ComingRoom& room = rooms_.on(*node);
    Served served{tenant.id,
                  entry.range.job,
                  *node,
                  entry.range.demand,
                  rooms_.gpus_for(*node, entry.range, room),
                  entry.range.rule};
    rooms_.note(room, *node, served.demand, served.gpus, false);
    victims_.note_freed(tenant.id, ResourceVector{} - served.demand);
    if (names_devices(entry.range))
      for (const std::string& name : entry.range.rule->devices)
        promised_devices_.emplace(*node, name);
    served_now_.push_back(std::move(served));
    return true;
  }

  /// Free, or coming, or made.
  std::optional<NodeId> find_room(const TenantState& tenant, const WindowRange& entry) {
    auto node = with_room(tenant, entry.range);
    if (!node) node = make_room(tenant, entry.range);
    if (!node) node = preempt(tenant, entry, {});
    return node;
  }

  /// What was taken back and given since then stays where it was.
  void undo(std::size_t taken_before) {
    for (const Served& served : served_now_) {
      rooms_.note(rooms_.on(served.node), served.node, served.demand, served.gpus, true);
      victims_.note_freed(served.tenant, served.demand);
      if (served.rule)
        for (const std::string& name : served.rule->devices)
          promised_devices_.erase({served.node, name});
    }
    victims_.leave(taken_before);
  }

  /// As they were when this began: what is told to end is noted last.
  const GroupSums& groups() {
    if (!groups_) groups_.emplace(state_);
    return *groups_;
  }

  /// What keeps a task back: of `resource` its tenant's max, or that of a group around it.
  struct FullMax {
    QuotaTree::Group group;  ///< the root: the tenant's own
    std::size_t resource;
  };
  /// With what ends already, and what was taken and served so far.
  [[nodiscard]] std::optional<FullMax> full_max(const TenantState& tenant, const WindowRange& entry,
                                                const GroupLacks& lacks) {
    const ResourceVector held = tenant.held_in_all() - tenant.ending - tenant.ending_grown;
    for (const std::size_t r : entry.asks)
      if (held[r] - victims_.freed_of(tenant.id)[r] + entry.range.demand[r] > tenant.terms.max[r])
        return FullMax{QuotaTree::kRoot, r};
    if (const auto missing = lacks.first()) return FullMax{missing->group, missing->resource};
    return std::nullopt;
  }

  /// Takes back what has grown and fills the maxes that keep the task from starting, until they
  /// have room. No node is in the way of that. Returns what is missing still, for a task that may
  /// preempt. None: it has to wait.
  std::optional<GroupLacks> make_room_in_max(const TenantState& tenant, const WindowRange& entry) {
    for (;;) {
      GroupLacks lacks(state_, groups(), tenant, entry.range.demand, victims_.freed_in_groups());
      const auto full = full_max(tenant, entry, lacks);
      if (!full) return lacks;
      const auto victim = next_below(*full, tenant);
      const bool may_be_preempted = full->group != QuotaTree::kRoot && !rights_.empty();
      if (!victim) return may_be_preempted ? std::optional(std::move(lacks)) : std::nullopt;
      victims_.take(*victim, {tenant.id, entry.range.job});
    }
  }

  /// The first whose end gives room below that max.
  [[nodiscard]] std::optional<std::size_t> next_below(const FullMax& full,
                                                      const TenantState& tenant) const {
    for (std::size_t i = 0; i < victims_.grown(); ++i) {
      const Victim& victim = victims_[i];
      const TenantState& holder = state_.tenant(victim.held.tenant);
      const bool fills = full.group == QuotaTree::kRoot ? holder.id == tenant.id
                                                        : is_in_group(state_, holder, full.group);
      if (!victim.is_taken && fills && victim.held.demand[full.resource] > 0) return i;
    }
    return std::nullopt;
  }

  /// A node with room that is free, or coming.
  [[nodiscard]] std::optional<NodeId> with_room(const TenantState& tenant,
                                                const WaitingRange& task) {
    const auto will_do = [&](NodeId id) {
      return may_use(id, tenant, task) && rooms_.has_room(id, task, rooms_.on(id)) &&
             will_have_devices(id, task, {});
    };
    for (const auto& [id, room] : rooms_.looked_at())
      if (will_do(id)) return id;
    for (const NodeId id : state_.ending_on())
      if (will_do(id)) return id;
    NodeId from;
    for (std::size_t looks = 0; looks < kMaxNodesTriedInVain; ++looks) {
      const auto id = state_.next_with_room(from, task);
      if (!id) break;
      if (will_do(*id)) return id;
      from = NodeId{id->value + 1};
    }
    return std::nullopt;
  }

  /// The first node that has room once so many give back, in their order. Where others have places,
  /// or a gang a plan, it is theirs what is free: those who give back must make all of the room.
  [[nodiscard]] std::optional<NodeId> make_room(const TenantState& tenant,
                                                const WaitingRange& task) {
    std::map<NodeId, ComingRoom> gathered;
    for (std::size_t i = 0; i < victims_.grown(); ++i) {
      const Victim& victim = victims_[i];
      const NodeId id = victim.held.node;
      const NodeRoom& node = state_.node(id);
      if (victim.is_taken || !node.accepts || !state_.may_preempt_on(node, tenant, task)) continue;
      const bool others_have_places = !state_.may_use_room(node, tenant, task);
      if (others_have_places && state_.takes_shares(task.demand)) continue;
      ComingRoom& room =
          gathered.try_emplace(id, others_have_places ? ComingRoom{} : rooms_.on(id)).first->second;
      note_on(rooms_, room, id, victim, true);
      if (!rooms_.has_room(id, task, room)) continue;
      VictimNumbers victims;
      for (std::size_t other = 0; other <= i; ++other)
        if (!victims_[other].is_taken && victims_[other].held.node == id) victims.push_back(other);
      if (!will_have_devices(id, task, victims)) continue;
      // Who gives back first is left out first, where a later one must go anyway.
      std::reverse(victims.begin(), victims.end());
      const VictimNumbers holders = take_holders_out(victims, task);
      leave_out_needless(victims, victims_.all(), state_, rooms_, id, room, task);
      victims.insert(victims.end(), holders.begin(), holders.end());
      std::sort(victims.begin(), victims.end());
      victims_.take_all(victims, {tenant.id, task.job});
      // Else it would be for whoever has a place there.
      keeps_room_now_ = keeps_room_now_ || others_have_places;
      return id;
    }
    return std::nullopt;
  }

  /// Whether the devices that the task names are free there, or will be, with the end of these, and
  /// nobody is to have them who was served before it. O(devices * tasks on the node).
  [[nodiscard]] bool will_have_devices(NodeId id, const WaitingRange& task,
                                       const VictimNumbers& ending) const {
    if (!names_devices(task)) return true;
    const auto ends = [&](const TaskKey& holder) {
      const auto is_it = [&](std::size_t i) {
        bool is_among_them = false;
        victims_[i].for_each_task([&](const TaskKey& task, NodeId, const ResourceVector&) {
          is_among_them = is_among_them || task == holder;
        });
        return is_among_them;
      };
      return std::any_of(ending.begin(), ending.end(), is_it) ||
             std::any_of(victims_.taken().begin(), victims_.taken().end(), is_it);
    };
    for (const std::string& name : task.rule->devices) {
      if (promised_devices_.contains({id, name})) return false;
      for (const auto& [holder, use] : state_.node(id).device_uses)
        if (!use.is_ending && is_among(use.names, name) && !ends(holder)) return false;
    }
    return true;
  }

  /// Those that have a device which the task names: none of them may stay.
  VictimNumbers take_holders_out(VictimNumbers& victims, const WaitingRange& task) const {
    VictimNumbers holders;
    if (!names_devices(task)) return holders;
    std::erase_if(victims, [&](std::size_t i) {
      const std::vector<std::string>& names =
          rooms_.gpus_of(victims_[i].held.node, victims_[i].task);
      const auto& named = task.rule->devices;
      const bool holds = std::any_of(named.begin(), named.end(), [&](const std::string& name) {
        return is_among(names, name);
      });
      if (holds) holders.push_back(i);
      return holds;
    });
    return holders;
  }

  [[nodiscard]] Preemption preemption(const TenantState& tenant, const WindowRange& entry,
                                      PreemptionRight right, const GroupLacks& lacks) {
    victims_.find_preemptible();
    return {state_, groups(), rooms_, victims_.all(), victims_.preempted(),
            tenant, entry,    right,  lacks};
  }

  /// By the strongest of its rights by which it can: the node where fewest must end.
  [[nodiscard]] std::optional<NodeId> preempt(const TenantState& tenant, const WindowRange& entry,
                                              const GroupLacks& lacks) {
    for (const PreemptionRight& right : rights_) {
      const auto fewest = preemption(tenant, entry, right, lacks).fewest();
      if (!fewest) continue;
      victims_.take_all(fewest->victims, {tenant.id, entry.range.job});
      keeps_room_now_ = true;
      return fewest->node;
    }
    return std::nullopt;
  }

  /// The youngest whose end makes the maxes large enough, where a node has room then; else of one
  /// node those who make both; else the first, and whoever has to end besides.
  [[nodiscard]] std::optional<NodeId> preempt_below_max(const TenantState& tenant,
                                                        const WindowRange& entry,
                                                        const GroupLacks& lacks) {
    std::optional<VictimNumbers> youngest;
    for (const PreemptionRight& right : rights_)
      if (!youngest) youngest = preemption(tenant, entry, right, lacks).for_maxes();
    if (!youngest) return std::nullopt;
    const std::size_t taken_before = victims_.taken().size();
    victims_.take_all(*youngest, {tenant.id, entry.range.job});
    keeps_room_now_ = preempts_below_max_ = true;
    if (const auto node = with_room(tenant, entry.range)) return node;
    victims_.leave(taken_before);
    if (const auto node = preempt(tenant, entry, lacks)) return node;
    victims_.take_all(*youngest, {tenant.id, entry.range.job});
    return preempt(tenant, entry, {});
  }

  [[nodiscard]] bool may_use(NodeId id, const TenantState& tenant, const WaitingRange& task) const {
    const NodeRoom& node = state_.node(id);
    return node.accepts && state_.may_use_room(node, tenant, task);
  }

  AllocatorState& state_;
  const bool serves_all_;
  const bool for_min_;
  Victims victims_;
  ComingRooms& rooms_;               ///< of these
  std::optional<GroupSums> groups_;  ///< once somebody asks
  AllocatorState::Claims claims_;    ///< of those that were served
  std::set<std::pair<NodeId, std::string>>
      promised_devices_;                 ///< devices of those that were served
  std::vector<PreemptionRight> rights_;  ///< of the task that is being served
  std::vector<Served> served_now_;       ///< tasks of the gang that is being served
  bool keeps_room_now_ = false;          ///< that is made for one of them
  bool preempts_below_max_ = false;      ///< likewise
  std::vector<Served> kept_for_;         ///< whose room is kept for them
  std::vector<MadeRoom> expected_;       ///< promises, of tasks not looked at yet
  std::vector<MadeRoom> promises_;       ///< from now on
  std::size_t served_ = 0;
};

}  // namespace

std::vector<Reclaim> reclaim(AllocatorState& state, bool for_min) {
  const bool somebody_preempts = !state.allocates_by_share() && !state.preempting().empty();
  const bool some_min_waits = for_min && state.min_waits();
  const bool serves_all = !state.extras().empty() || somebody_preempts || state.has_claims();
  if (!serves_all && !some_min_waits) return {};
  return Reclaiming(state, serves_all, some_min_waits).run();
}

}  // namespace fairwater::inline policy::inline allocator
