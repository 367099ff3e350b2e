#include "policy/allocator/explain.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "policy/allocator/closed_nodes.hpp"
#include "policy/allocator/explain_gang.hpp"
#include "policy/allocator/explain_preemption.hpp"
#include "policy/allocator/explain_share.hpp"
#include "policy/allocator/time_marks.hpp"
#include "policy/core/check.hpp"
#include "policy/dominant/weighted_share.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

std::string resource_name(std::size_t resource, const ObstacleNames& names) {
  const char* unit = resource == kCpu ? "millicores " : resource == kMemory ? "MiB " : "";
  return unit + ("of " + plain_resource_name(resource, names));
}

/// Devices in one message.
constexpr std::size_t kMostHolders = 8;

class Explanation {
 public:
  Explanation(AllocatorState& state, TenantState& tenant, const WindowRange& entry,
              const ObstacleNames& names)
      : state_(state), tenant_(tenant), entry_(entry), range_(entry.range), names_(names) {}

  /// First what no waiting removes, then what the tenant itself decides, then what passes: busy
  /// nodes say little to somebody whose tenant is at its max.
  std::vector<Obstacle> run(std::uint64_t tasks_before) {
    const bool only_busy = explain_nodes();
    const auto from_nodes = std::exchange(obstacles_, {});
    if (!only_busy) obstacles_ = from_nodes;
    const bool is_too_large = only_busy && entry_.is_gang() && explain_gang();
    explain_max();
    if (tasks_before > 0)
      add("order", std::to_string(tasks_before) + " tasks of the tenant come before it");
    explain_quota();
    if (only_busy && !is_too_large)
      obstacles_.insert(obstacles_.end(), from_nodes.begin(), from_nodes.end());
    if (only_busy && !is_too_large && !state_.allocates_by_share()) {
      const auto amount_text = [this](Amount value, auto r) { return amount(value, r); };
      if (auto text = explain_preemption(state_, tenant_, entry_, amount_text))
        add("preemption", std::move(*text));
    }
    explain_share();
    return std::move(obstacles_);
  }

 private:
  void add(std::string code, std::string message) {
    obstacles_.push_back({std::move(code), std::move(message)});
  }

  [[nodiscard]] std::string amount(Amount value, std::size_t resource) const {
    return std::to_string(value) + " " + resource_name(resource, names_);
  }

  [[nodiscard]] std::string group_name(GroupId group) const {
    return fairwater::group_name(group, names_);
  }

  /// How many nodes come through one question after the other, and the most that is on any of them.
  struct Narrowed {
    std::size_t up = 0;
    std::size_t allowed = 0;
    std::size_t large_enough = 0;
    std::size_t large_enough_one_day = 0;
    std::size_t with_room = 0;
    std::size_t with_devices = 0;
    std::size_t kept = 0;
    std::size_t kept_for_it = 0;
    ResourceVector most_capacity;
    ResourceVector most_with_closed;  ///< of the capacity, on those that take no tasks now as well
    ResourceVector most_one_day;
    ResourceVector most_free;
    ClosedNodes closed;
    ClosedNodes closed_allowed;
    ClosedNodes closed_large_enough;
  };

  [[nodiscard]] Narrowed narrow_nodes() const {
    Narrowed nodes;
    for (const auto& [id, node] : state_.nodes()) {
      if (!takes_it(node)) {
        narrow_closed(node, nodes);
        continue;
      }
      ++nodes.up;
      if (!is_allowed(node)) continue;
      ++nodes.allowed;
      const ResourceVector free = node.free();
      const ResourceVector one_day = node.free_one_day();
      for (std::size_t r = 0; r < kMaxResources; ++r) {
        nodes.most_capacity[r] = std::max(nodes.most_capacity[r], node.capacity[r]);
        nodes.most_with_closed[r] = std::max(nodes.most_with_closed[r], node.capacity[r]);
        nodes.most_one_day[r] = std::max(nodes.most_one_day[r], one_day[r]);
        nodes.most_free[r] = std::max(nodes.most_free[r], free[r]);
      }
      nodes.large_enough += is_large_enough(node) ? 1 : 0;
      nodes.large_enough_one_day +=
          range_.demand.fits(one_day) && state_.has_shares_one_day(node, range_) ? 1 : 0;
      if (node.reservation && !is_kept_for_another(node)) ++nodes.kept_for_it;
      if (!range_.demand.fits(free)) continue;
      ++nodes.with_room;
      if (!state_.has_devices_for(node, range_)) continue;
      ++nodes.with_devices;
      nodes.kept += is_kept_for_another(node) ? 1 : 0;
    }
    return nodes;
  }

  void narrow_closed(const NodeRoom& node, Narrowed& nodes) const {
    nodes.closed.add(node, names_);
    if (!is_allowed(node)) return;
    nodes.closed_allowed.add(node, names_);
    for (std::size_t r = 0; r < kMaxResources; ++r)
      nodes.most_with_closed[r] = std::max(nodes.most_with_closed[r], node.capacity[r]);
    if (is_large_enough(node)) nodes.closed_large_enough.add(node, names_);
  }

  /// Adds the first obstacle that the nodes put up, narrowing them down. True when there is none
  /// but that they are busy now.
  bool explain_nodes() {
    const Narrowed nodes = narrow_nodes();
    if (nodes.up == 0)
      add("no_node_up", "none of " + std::to_string(state_.nodes().size()) +
                            " nodes is up and accepts tasks" +
                            (names_.closed.empty() ? "" : ": " + nodes.closed.list()));
    else if (nodes.allowed == 0)
      add("placement", "none of the " + std::to_string(nodes.up) +
                           " nodes that accept tasks is at an allowed site with matching labels" +
                           (names_devices(range_) ? " and has the devices that it names" : "") +
                           nodes.closed_allowed.text("is", "are"));
    else if (nodes.large_enough == 0)
      add("node_size", size_text(nodes));
    else if (nodes.large_enough_one_day == 0)
      add("node_busy",
          "services hold too much of every allowed node, and run until they are cancelled: " +
              shortage(nodes.most_one_day) +
              nodes.closed_large_enough.text("is large enough", "are large enough"));
    else if (nodes.with_room == 0)
      add("node_busy",
          "no allowed node has room now: " + shortage(nodes.most_free) +
              (nodes.kept_for_it == 0
                   ? std::string{}
                   : "; " + std::to_string(nodes.kept_for_it) +
                         (nodes.kept_for_it == 1 ? " of them keeps" : " of them keep") +
                         " what becomes free for the tenant") +
              expected_start());
    else if (nodes.with_devices == 0)
      add("device", takes_shares() ? shares_text() : holders_text());
    else if (nodes.with_devices == nodes.kept)
      add("node_busy", "the " + std::to_string(nodes.kept) +
                           " allowed nodes with room keep it for larger tasks that are due");
    return nodes.large_enough > 0;
  }

  [[nodiscard]] std::string size_text(const Narrowed& nodes) const {
    const ClosedNodes& closed = nodes.closed_large_enough;
    if (!closed.any())
      return "no allowed node is large enough even when empty: " + shortage(nodes.most_with_closed);
    return "no allowed node that takes tasks now is large enough: " +
           shortage(nodes.most_capacity) + closed.text("is", "are");
  }

  [[nodiscard]] bool is_allowed(const NodeRoom& node) const {
    return range_.rule == nullptr || range_.rule->allows(node.traits);
  }
  [[nodiscard]] bool takes_it(const NodeRoom& node) const {
    return node.accepts && node.is_open_for(range_, state_.clock_ms());
  }
  [[nodiscard]] bool is_large_enough(const NodeRoom& node) const {
    return range_.demand.fits(node.capacity) && has_shares_when_empty(node);
  }
  [[nodiscard]] bool takes_shares() const { return state_.takes_shares(range_.demand); }
  [[nodiscard]] bool has_shares_when_empty(const NodeRoom& node) const {
    return !takes_shares() ||
           state_.shares_beside(node, range_.demand, range_.rule.get(), {}, {}).has_value();
  }

  /// What is free of the GPUs of allowed nodes with room for all else.
  [[nodiscard]] std::string shares_text() const {
    const GpuRequest request = shared_gpus(range_.demand[state_.shared_resource()]);
    std::int64_t most_of_one = 0;
    std::size_t most_whole = 0;
    bool is_kept = false;
    std::string where;
    for (const auto& [id, node] : state_.nodes()) {
      const bool has_gpus = state_.shared_devices(node) != nullptr;
      if (!takes_it(node) || !has_gpus || !range_.demand.fits(node.free())) continue;
      if (!is_allowed(node)) continue;
      is_kept = is_kept || !state_.kept_from(node, range_).empty();
      const std::optional<GpuNode>& room = node.gpu_room;
      if (!room) continue;
      const auto begin = room->gpu_milli.begin();
      const auto end = begin + static_cast<std::ptrdiff_t>(room->gpus);
      const auto whole = static_cast<std::size_t>(std::count(begin, end, kMilliPerGpu));
      const std::int64_t most = room->gpus == 0 ? 0 : *std::max_element(begin, end);
      if (most > most_of_one || whole > most_whole) where = " (node " + node.traits.name + ")";
      most_of_one = std::max(most_of_one, most);
      most_whole = std::max(most_whole, whole);
    }
    const std::string text =
        request.milli_per_gpu < kMilliPerGpu
            ? "it asks for " + std::to_string(request.milli_per_gpu) +
                  " thousandths of one gpu, the most free of any one is " +
                  std::to_string(most_of_one)
            : "it asks for " + std::to_string(request.gpus) +
                  " whole gpus, the most that nobody has a part of on any one node are " +
                  std::to_string(most_whole);
    return text + where + (names_devices(range_) ? ", or those that it names are not free" : "") +
           (is_kept ? "; some are kept for tasks that come first" : "") + expected_start();
  }

  /// Who holds what it asks for by name, on allowed nodes.
  [[nodiscard]] std::string holders_text() const {
    std::string text;
    std::size_t told = 0;
    for (const auto& [id, node] : state_.nodes()) {
      if (!takes_it(node) || !range_.rule->allows(node.traits)) continue;
      for (const std::string& device : range_.rule->devices) {
        const auto* const holder = holder_of(node.device_uses, device);
        if (holder == nullptr || told == kMostHolders) continue;
        ++told;
        text += (text.empty() ? "" : "; ") + device + " of node " + node.traits.name +
                " is held by " + task_text(holder->first, holder->second.tenant);
      }
    }
    return text.empty() ? "tasks that were started without names hold devices of its kind, and it "
                          "is not known which"
                        : text;
  }

  [[nodiscard]] std::string task_text(const TaskKey& task, TenantId of) const {
    if (of != tenant_.id && !names_.tells_of_others) return "a task of another tenant";
    return "task " + std::to_string(task.index) + " of job " + std::to_string(task.job.value);
  }

  /// True when no waiting makes room for all of it.
  bool explain_gang() {
    auto obstacle = fairwater::explain_gang(state_, entry_, names_);
    if (!obstacle) return false;
    const bool is_too_large = obstacle->code == "gang_size";
    if (obstacle->code == "gang") obstacle->message += expected_start();
    obstacles_.push_back(std::move(*obstacle));
    return is_too_large;
  }

  /// Where its job has a place.
  [[nodiscard]] std::string expected_start() const {
    const auto left_ms = starts_in_ms(state_, tenant_, range_.job);
    if (!left_ms) return {};
    const bool is_by_limits = state_.settings.predict == Predict::limits;
    return std::string(is_by_limits ? "; by the time limits of what runs"
                                    : "; by what tasks like those that run took before") +
           " the job's next task starts within " + std::to_string((*left_ms + 999) / 1000) + " s";
  }

  [[nodiscard]] bool is_kept_for_another(const NodeRoom& node) const {
    return node.reservation && node.reservation->tenant_slot != tenant_.rank.slot;
  }

  [[nodiscard]] std::string shortage(const ResourceVector& most) const {
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (range_.demand[r] > most[r])
        return "it asks for " + amount(range_.demand[r], r) + ", the most on any is " +
               std::to_string(most[r]);
    return "no single node has all of the resources that it asks for together";
  }

  void explain_max() {
    for (std::size_t r = 0; r < kMaxResources; ++r) {
      if (range_.demand[r] <= 0) continue;
      if (const Amount held = tenant_.used[r] + tenant_.grown[r];
          held + entry_.asked_at_once(r) > tenant_.terms.max[r])
        add_max("holds ", held, {}, tenant_.terms.max[r], r);
      if (const auto full = state_.quotas().full_group(tenant_, r, entry_.asked_at_once(r)))
        add_max(group_name(full->group) + ", which it is in, holds ", full->used, full->promised,
                full->max, r);
    }
  }

  /// `promised`: to others.
  void add_max(const std::string& holder, Amount used, Amount promised, Amount max,
               std::size_t resource) {
    const std::string kept =
        promised > 0 ? ", " + std::to_string(promised) + " are kept for who preempted others" : "";
    const std::string who = entry_.is_gang() ? "its " + std::to_string(entry_.starts_at_once) +
                                                   " tasks start together and ask for "
                                             : "the task asks for ";
    add("max", holder + std::to_string(used) + " of its max of " + amount(max, resource) + kept +
                   ", " + who + std::to_string(entry_.asked_at_once(resource)));
  }

  /// What others owe it may be held beyond the quota.
  [[nodiscard]] bool has_claim_in_time() {
    return state_.counts_time() &&
           standing_in_time(state_, tenant_, entry_, AllocatorQuotas::Standing::at_quota,
                            state_.quotas().water_marks()) != AllocatorQuotas::Standing::at_quota;
  }

  void explain_quota() {
    if (state_.allocates_by_share() || has_claim_in_time()) return;
    const ResourceVector held = tenant_.held_against_quota();
    const ResourceVector quota = state_.quotas().quota(tenant_);
    bool at_quota = false;
    for (std::size_t r = 0; r < kMaxResources; ++r) {
      if (range_.demand[r] <= 0 || held[r] < quota[r]) continue;
      at_quota = true;
      add("quota", "holds " + std::to_string(held[r]) + " of its runtime quota of " +
                       amount(quota[r], r) + groups_text(r));
    }
    if (at_quota && !tenant_.takes_what_is_left()) add("may_not_borrow", why_not_borrow());
  }

  [[nodiscard]] std::string why_not_borrow() const {
    if (tenant_.terms.leaving) return "the tenant is leaving, and borrows nothing any more";
    if (!tenant_.terms.may_borrow) return "the tenant may not borrow what others leave idle";
    QuotaTree::Group group = tenant_.group;
    while (group != QuotaTree::kRoot && state_.quotas().group(group).terms.rights.may_borrow)
      group = state_.quotas().group(group).parent;
    FAIRWATER_CHECK(group != QuotaTree::kRoot,
                    "of a tenant whose group may not borrow a group is so");
    return group_name(state_.quotas().group(group).id) +
           ", which it is in, may not borrow what others leave idle";
  }

  /// What the groups that it is in hold of theirs, from which its own follows.
  [[nodiscard]] std::string groups_text(std::size_t resource) const {
    std::string text;
    for (const auto& [group, used, quota] : state_.quotas().group_quotas(tenant_, resource))
      text += (text.empty() ? "; it is in " : ", in ") + group_name(group) + ", which holds " +
              std::to_string(used) + " of " + std::to_string(quota);
    return text;
  }

  void explain_mark_of_debtor() {
    const TimeMark mark = time_mark(state_, tenant_);
    if (mark.away == 0 || mark.held < mark.base - mark.away) return;
    const std::size_t resource = state_.accounts().time().resource();
    const Wide lowered = Wide{mark.base - mark.away} * state_.settings.granules[resource] /
                         state_.settings.units[resource] / kMicroUnitsPerUnit;
    add("share", "holds " + std::to_string(tenant_.used[resource]) + " of " +
                     amount(static_cast<Amount>(lowered), resource) +
                     ", its mark while it owes others: their tasks come first");
  }

  void explain_dominant_share() {
    if (state_.quotas().group_count() > 1) {
      if (auto text = explain_share_in_tree(state_, tenant_, entry_, names_))
        add("share", std::move(*text));
      return;
    }
    const auto share_of = [&](const TenantState& tenant) {
      return weighted_share(tenant.used, state_.capacity(), place_of(tenant.terms).weights());
    };
    const WeightedShare share = share_of(tenant_);
    const auto smaller =
        std::count_if(state_.waiting().begin(), state_.waiting().end(), [&](const RankKey& key) {
          const TenantState& other = state_.at(key.slot);
          return &other != &tenant_ && compare(share_of(other), share) < 0;
        });
    if (smaller == 0 || share.total == 0) return;
    const auto thousandths = [](auto part, auto whole) {
      return std::to_string(static_cast<std::int64_t>(Wide{part} * 1000 / Wide{whole}));
    };
    add("share", "its tenant's dominant share is " + thousandths(share.amount, share.total) +
                     " thousandths, and " +
                     thousandths(share.weight,
                                 state_.quotas().weights_in(QuotaTree::kRoot, share.resource)) +
                     " belong to it by weight" +
                     (place_of(tenant_.terms).weights() == alike(share.weight)
                          ? ""
                          : " for " + plain_resource_name(share.resource, names_)) +
                     "; " + std::to_string(smaller) +
                     " tenant(s) that wait have less by weight, and come first");
  }

  void explain_share() {
    if (state_.allocates_by_share()) {
      explain_dominant_share();
      return;
    }
    if (state_.counts_time()) {
      explain_mark_of_debtor();
      return;
    }
    const Units net = tenant_.net;
    if (net < 0)
      add("share", "owes " + std::to_string(-net) + " units: what falls to it is paid back first");
    else if (tenant_.deficit < 0)
      add("share", "has had " + std::to_string(-tenant_.deficit) +
                       " units more than its part: others are served first");
  }

  AllocatorState& state_;
  TenantState& tenant_;
  const WindowRange& entry_;
  const WaitingRange& range_;
  const ObstacleNames& names_;
  std::vector<Obstacle> obstacles_;
};

}  // namespace

std::optional<std::int64_t> starts_in_ms(const AllocatorState& state, const TenantState& tenant,
                                         JobId job) {
  const GangPlan* plan = state.gang_plan_of(tenant.rank.slot, job);
  if (plan != nullptr && !plan->shares.empty() && plan->from_ms != kNever)
    return std::max<LedgerMs>(plan->from_ms - state.now_ms(), 0);
  const auto kept = std::find_if(tenant.kept.begin(), tenant.kept.end(),
                                 [&](const KeptPlace& place) { return place.job == job; });
  if (kept == tenant.kept.end() || kept->from_ms == kNever) return std::nullopt;
  return std::max<LedgerMs>(kept->from_ms - state.now_ms(), 0);
}

std::vector<Obstacle> explain_waiting(AllocatorState& state, TenantId tenant_id, JobId job,
                                      std::uint32_t index, const ObstacleNames& names) {
  TenantState& tenant = state.tenant(tenant_id);
  std::uint64_t before = 0;
  for (const WindowRange& entry : tenant.window) {
    const WaitingRange& range = entry.range;
    if (range.job == job && index >= range.first_index && index - range.first_index < range.count)
      return Explanation(state, tenant, entry, names)
          .run(entry.is_gang() ? before : before + (index - range.first_index));
    before += range.count;
  }
  return {{"order", "it is not among the next " + std::to_string(before) +
                        " tasks that the tenant offers; " + std::to_string(tenant.pending_tasks) +
                        " wait in all"}};
}

}  // namespace fairwater::inline policy::inline allocator
