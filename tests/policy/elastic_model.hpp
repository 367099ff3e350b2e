// Elastic jobs around a cycle, checked after every run: by a slow look at every node.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "policy/allocator/deal_cycle.hpp"
#include "shared_gpus.hpp"

namespace fairwater::test {

/// Jobs of tenants, elastic or not, around a cycle. A tenant claims `min` tasks of each within its
/// quota; the rest would grow.
class ElasticModel {
 public:
  struct Job {
    TenantId tenant;
    ResourceVector demand;
    std::uint32_t min = 1;
    std::uint32_t max = 1;
    std::set<std::uint32_t> waiting;                  ///< indices
    std::map<std::uint32_t, std::uint32_t> attempts;  ///< of those that are not at their first
    bool is_gang = false;                             ///< its least start together
    LedgerMs limit_ms = 0;                            ///< of each task; 0: none
  };
  struct Running {
    NodeId node;
    Grant grant;
    bool told_to_end = false;
  };

  explicit ElasticModel(AllocatorSettings settings = default_settings())
      : cycle(Allocator(settings)),
        fills_all_(settings.growth == GrowthRule::qrea || settings.growth == GrowthRule::crea) {}

  void tenant(std::uint32_t id, const TenantTerms& terms = {}) {
    cycle.set_tenant(TenantId{id}, terms);
    terms_[TenantId{id}] = terms;
  }
  void group(std::uint32_t id, const ResourceVector& max) {
    GroupTerms terms;
    terms.max = max;
    cycle.allocator().set_group(GroupId{id}, terms);
    max_of_groups_[GroupId{id}] = max;
  }
  void node(std::uint32_t id, const ResourceVector& capacity, const NodeTraits& traits = {}) {
    cycle.set_node(NodeId{id}, traits, capacity, true);
    nodes_[NodeId{id}] = capacity;
    gpus_[NodeId{id}] = traits.devices.empty() ? 0 : traits.devices.front().names.size();
  }
  JobId submit(std::uint32_t tenant, const ResourceVector& demand, std::uint32_t min,
               std::uint32_t max, bool is_gang = false, LedgerMs limit_ms = 0) {
    const JobId id{++last_job_};
    Job job{TenantId{tenant}, demand, min, max, {}, {}, is_gang, limit_ms};
    for (std::uint32_t i = 0; i < max; ++i) job.waiting.insert(i);
    jobs_[id] = std::move(job);
    send_window(TenantId{tenant});
    return id;
  }

  /// Runs until nothing is due. What was told to end in it.
  std::vector<Reclaim> run() {
    std::vector<Reclaim> all;
    while (cycle.is_due()) {
      std::set<TenantId> changed;
      for (const Deal& deal : cycle.run(100)) take(deal, changed);
      for (const TenantId tenant : changed) send_window(tenant);
      for (const Reclaim& reclaim : cycle.take_reclaims()) {
        Running& task = running_.at(reclaim.task);
        REQUIRE(task.node == reclaim.node);
        REQUIRE(task.grant.tenant == reclaim.tenant);
        REQUIRE(task.grant.step == GrantStep::growth);
        REQUIRE_FALSE(task.told_to_end);
        task.told_to_end = true;
        all.push_back(reclaim);
      }
    }
    check();
    return all;
  }

  /// The task ends; it waits again, or is done. The key may stand in what goes with the task.
  void end(TaskKey key, bool again) {
    const Running task = running_.at(key);
    running_.erase(key);
    REQUIRE(cycle.release(key));
    note_end(key, again);
    cycle.beat(task.node);
  }
  /// The same, of which its tenant hears later, by note_end.
  void end_unheard(TaskKey key) {
    const Running task = running_.at(key);
    running_.erase(key);
    REQUIRE(cycle.release_unheard(key));
    unheard_.emplace(key, task.node);
    cycle.beat(task.node);
  }
  void note_end(TaskKey key, bool again) {
    unheard_.erase(key);
    Job& job = jobs_.at(key.job);
    if (again) {
      job.waiting.insert(key.index);
      job.attempts[key.index] = key.attempt + 1;
    }
    send_window(job.tenant, {key});
  }
  void end_reclaimed() {
    std::vector<TaskKey> ending;
    for (const auto& [key, task] : running_)
      if (task.told_to_end) ending.push_back(key);
    for (const TaskKey& key : ending) end(key, true);
  }
  void settle(std::int64_t period_ms) {
    (void)cycle.settle_credits(period_ms);
    Wide sum = 0;
    for (const auto& [tenant, terms] : terms_) sum += cycle.tenant(tenant).credit;
    REQUIRE(sum == 0);
  }
  [[nodiscard]] std::size_t extras(std::uint32_t tenant) const {
    std::size_t count = 0;
    for (const auto& [key, task] : running_)
      count += task.grant.tenant.value == tenant && task.grant.step == GrantStep::growth;
    return count;
  }
  [[nodiscard]] std::size_t claimed(std::uint32_t tenant) const {
    std::size_t count = 0;
    for (const auto& [key, task] : running_)
      count += task.grant.tenant.value == tenant && task.grant.step != GrantStep::growth;
    return count;
  }
  [[nodiscard]] const std::map<TaskKey, Running>& running() const { return running_; }

  DealCycle cycle;

 private:
  [[nodiscard]] std::uint32_t claims_of(JobId id) const {
    const Job& job = jobs_.at(id);
    std::uint32_t has = 0;
    for (const auto& [key, task] : running_)
      has += key.job == id && task.grant.step != GrantStep::growth;
    return std::min<std::uint32_t>(static_cast<std::uint32_t>(job.waiting.size()),
                                   job.min - std::min(job.min, has));
  }

  void send_window(TenantId tenant, std::vector<TaskKey> heard = {}) {
    DemandWindow window{.tenant = tenant,
                        .next = {},
                        .pending = {},
                        .pending_tasks = 0,
                        .seen_deal = cycle.last_deal()};
    for (const auto& [id, job] : jobs_) {
      if (job.tenant != tenant) continue;
      std::uint32_t claims = claims_of(id);
      const bool grows = claims == 0;
      for (const std::uint32_t index : job.waiting) {
        if (!grows && claims == 0) break;
        const auto attempt = job.attempts.find(index);
        WaitingRange range{.job = id,
                           .first_index = index,
                           .attempt = attempt == job.attempts.end() ? 1 : attempt->second,
                           .demand = job.demand,
                           .rule = nullptr,
                           .expected_ms = job.limit_ms,
                           .limit_ms = job.limit_ms};
        if (grows) {
          window.growth.push_back(range);
          continue;
        }
        if (job.is_gang && claims == job.min && job.attempts.empty()) {
          range.is_gang = true;
          range.count = std::exchange(claims, 1);
        }
        window.next.push_back(range);
        window.pending += job.demand * Amount{range.count};
        window.pending_tasks += range.count;
        --claims;
      }
    }
    window.heard = std::move(heard);
    cycle.take_window(window);
  }

  void take(const Deal& deal, std::set<TenantId>& changed) {
    for (const Grant& grant : deal.grants) {
      REQUIRE(jobs_.at(grant.task.job).waiting.erase(grant.task.index) == 1);
      REQUIRE(running_.emplace(grant.task, Running{deal.node, grant, false}).second);
      REQUIRE(deal.keeps_accounts == (grant.step != GrantStep::growth));
      changed.insert(grant.tenant);
    }
  }

  [[nodiscard]] ResourceVector held_on(NodeId node, bool ending_too, bool extras_too) const {
    ResourceVector held;
    visit_on(node, ending_too, extras_too, [&](const Grant& grant) { held += grant.demand; });
    return held;
  }

  /// Those that count in held_on.
  template <class Visit>
  void visit_on(NodeId node, bool ending_too, bool extras_too, Visit&& visit) const {
    for (const auto& [key, task] : running_) {
      if (task.node != node || (task.told_to_end && !ending_too)) continue;
      if (task.grant.step == GrantStep::growth && !task.told_to_end && !extras_too) continue;
      visit(task.grant);
    }
  }

  /// By a look at each of the GPUs that tasks share.
  [[nodiscard]] bool has_room(NodeId node, const ResourceVector& demand, bool ending_too,
                              bool extras_too) const {
    if (!demand.fits(nodes_.at(node) - held_on(node, ending_too, extras_too))) return false;
    const Amount milli = demand[gpus::kGpuMilli];
    std::map<std::string, Amount> taken;
    visit_on(node, ending_too, extras_too, [&](const Grant& grant) {
      for (const std::string& name : grant.devices)
        taken[name] += std::min(grant.demand[gpus::kGpuMilli], kMilliPerGpu);
    });
    const Amount each = std::min(milli, kMilliPerGpu);
    Amount enough = 0;
    for (std::size_t i = 0; i < gpus_.at(node); ++i)
      if (taken["gpu" + std::to_string(i)] + each <= kMilliPerGpu) enough += each;
    return enough >= milli;
  }

  void check_gpus(NodeId node) const {
    std::map<std::string, Amount> taken;
    visit_on(node, true, true, [&](const Grant& grant) {
      const Amount milli = grant.demand[gpus::kGpuMilli];
      const auto count = static_cast<std::size_t>((milli + kMilliPerGpu - 1) / kMilliPerGpu);
      REQUIRE(grant.devices.size() == count);
      for (const std::string& name : grant.devices)
        REQUIRE((taken[name] += std::min(milli, kMilliPerGpu)) <= kMilliPerGpu);
    });
  }

  void check() {
    for (const auto& [id, capacity] : nodes_) {
      check_gpus(id);
      REQUIRE(held_on(id, true, true).fits(capacity));
      REQUIRE(cycle.node(id).free == capacity - held_on(id, true, true));
    }
    for (const auto& [tenant, terms] : terms_) {
      ResourceVector held;
      for (const auto& [key, task] : running_)
        if (task.grant.tenant == tenant) held += task.grant.demand;
      REQUIRE(held.fits(terms.max));
      if (max_of_groups_.contains(group_of(tenant)))
        REQUIRE(held_by_group(tenant).fits(max_of_group(tenant)));
      REQUIRE(cycle.tenant(tenant).used == held);
      if (fills_all_) check_grows(tenant, held);
    }
    // What must end is looked for with windows, so not before ends are heard of.
    if (unheard_.empty()) check_takes_back();
  }

  /// What is free may be for a gang that waits for what ends elsewhere.
  [[nodiscard]] bool may_await_gang() const {
    const auto is_ending = [](const auto& task) { return task.second.told_to_end; };
    const auto waits = [&](const auto& job) {
      return job.second.is_gang && claims_of(job.first) > 0;
    };
    return std::any_of(running_.begin(), running_.end(), is_ending) &&
           std::any_of(jobs_.begin(), jobs_.end(), waits);
  }

  [[nodiscard]] GroupId group_of(TenantId tenant) const {
    const auto& place = terms_.at(tenant).place;
    return place ? place->group : GroupId{};
  }
  [[nodiscard]] ResourceVector max_of_group(TenantId tenant) const {
    const auto max = max_of_groups_.find(group_of(tenant));
    return max == max_of_groups_.end() ? ResourceVector::filled(kUnlimited) : max->second;
  }
  [[nodiscard]] ResourceVector held_by_group(TenantId tenant) const {
    ResourceVector held;
    for (const auto& [key, task] : running_)
      if (group_of(task.grant.tenant) == group_of(tenant)) held += task.grant.demand;
    return held;
  }

  template <class IsOne>
  [[nodiscard]] ResourceVector claimed_by(IsOne&& is_one) const {
    ResourceVector claimed;
    for (const auto& [id, job] : jobs_)
      if (is_one(job.tenant)) claimed += job.demand * Amount{claims_of(id)};
    return claimed;
  }

  /// Idle room is used.
  void check_grows(TenantId tenant, const ResourceVector& held) {
    if (may_await_gang()) return;
    for (const auto& [id, job] : jobs_) {
      if (job.tenant != tenant || job.waiting.empty() || claims_of(id) > 0) continue;
      // What is claimed below a max is left alone.
      const auto of_tenant = [&](TenantId other) { return other == tenant; };
      const auto of_group = [&](TenantId other) { return group_of(other) == group_of(tenant); };
      if (!(held + claimed_by(of_tenant) + job.demand).fits(terms_.at(tenant).max)) continue;
      if (!(held_by_group(tenant) + claimed_by(of_group) + job.demand).fits(max_of_group(tenant)))
        continue;
      for (const auto& [node, capacity] : nodes_) {
        const bool somebody_ends = held_on(node, true, true) != held_on(node, false, true);
        if (somebody_ends || is_unheard_on(node) || cycle.node(node).reserved_for) continue;
        INFO("job " << id.value << " on node " << node.value);
        REQUIRE_FALSE(has_room(node, job.demand, true, true));
      }
    }
  }

  [[nodiscard]] bool is_unheard_on(NodeId node) const {
    return std::any_of(unheard_.begin(), unheard_.end(),
                       [&](const auto& end) { return end.second == node; });
  }

  /// The first in rank that waits within its quota has room, or will have, if that can be.
  void check_takes_back() {
    const auto first =
        std::max_element(terms_.begin(), terms_.end(), [&](const auto& a, const auto& b) {
          const bool a_waits = waits(a.first), b_waits = waits(b.first);
          if (a_waits != b_waits) return b_waits;
          return a.second.weight != b.second.weight ? a.second.weight < b.second.weight
                                                    : b.first < a.first;
        });
    if (!waits(first->first)) return;
    const TenantView view = cycle.tenant(first->first);
    ResourceVector counted;
    ResourceVector held;
    for (const auto& [key, task] : running_) {
      if (task.grant.tenant != first->first) continue;
      held += task.grant.demand;
      if (!task.grant.beyond_quota) counted += task.grant.demand;
    }
    for (const auto& [id, job] : jobs_) {
      if (job.tenant != first->first || job.waiting.empty() || claims_of(id) == 0) continue;
      if (job.is_gang) return;
      const bool is_within = (counted + job.demand).fits(view.quota);
      if (!is_within || !(held + job.demand).fits(first->second.max)) return;
      bool will_have_room = false, could_have_room = false;
      for (const auto& [node, capacity] : nodes_) {
        const auto kept = cycle.node(node).reserved_for;
        if (kept && *kept != first->first) continue;
        will_have_room = will_have_room || has_room(node, job.demand, false, true);
        could_have_room = could_have_room || has_room(node, job.demand, false, false);
      }
      INFO("tenant " << first->first.value << " job " << id.value);
      REQUIRE(will_have_room == could_have_room);
      return;  // those behind it may want the same room
    }
  }
  [[nodiscard]] bool waits(TenantId tenant) const {
    for (const auto& [id, job] : jobs_)
      if (job.tenant == tenant && claims_of(id) > 0) return true;
    return false;
  }

  bool fills_all_;
  std::map<TenantId, TenantTerms> terms_;
  std::map<GroupId, ResourceVector> max_of_groups_;
  std::map<NodeId, ResourceVector> nodes_;
  std::map<NodeId, std::size_t> gpus_;  ///< that tasks share
  std::map<JobId, Job> jobs_;
  std::map<TaskKey, Running> running_;
  std::map<TaskKey, NodeId> unheard_;  ///< where they ran
  std::uint64_t last_job_ = 0;
};

}  // namespace fairwater::test
