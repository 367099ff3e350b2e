// Preemption around a cycle: whom a reclaim takes is checked each time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "policy/allocator/deal_cycle.hpp"

namespace fairwater::test {

/// For how long who is preempted has run.
inline constexpr std::int64_t kWhile_ms = 30'000;
inline constexpr PreemptionTerms kUrgent{.priority = 5, .preempts = true, .is_preemptible = true};

inline TenantTerms in_group(std::uint32_t group, TenantTerms terms = {}) {
  terms.place = {.group = GroupId{group}, .weight = terms.weight};
  return terms;
}

/// Jobs that run until they are told to end or are done, around a cycle.
class PreemptionModel {
 public:
  struct Job {
    TenantId tenant;
    ResourceVector demand;
    PreemptionTerms preemption{};
    bool is_gang = false;
    std::map<std::uint32_t, std::uint32_t> waiting{};  ///< attempts by index
    bool is_late = false;                              ///< where the ledger counts time
    LedgerMs limit_ms = 0;                             ///< 0: none
    std::string site{};                                ///< empty: any
  };
  struct Running {
    NodeId node;
    Grant grant;
    std::int64_t since_ms = 0;
    bool told_to_end = false;
  };

  explicit PreemptionModel(const AllocatorSettings& settings = default_settings())
      : cycle(Allocator(settings)) {}

  void tenant(std::uint32_t id, const TenantTerms& terms = {}) {
    cycle.set_tenant(TenantId{id}, terms);
    terms_[TenantId{id}] = terms;
  }
  /// At the top.
  void group(std::uint32_t id, const GroupTerms& terms) {
    cycle.allocator().set_group(GroupId{id}, terms);
    groups_[GroupId{id}] = terms;
  }
  void node(std::uint32_t id, const ResourceVector& capacity, const NodeTraits& traits = {}) {
    cycle.set_node(NodeId{id}, traits, capacity, true);
  }
  JobId submit(std::uint32_t tenant, std::uint32_t tasks, const ResourceVector& demand,
               PreemptionTerms preemption = {.priority = 0, .is_preemptible = true}) {
    return submit(Job{.tenant = TenantId{tenant}, .demand = demand, .preemption = preemption},
                  tasks);
  }
  JobId submit(Job job, std::uint32_t tasks) {
    const JobId id{++last_job_};
    job.preemption.ends_as_gang = job.is_gang;
    for (std::uint32_t i = 0; i < tasks; ++i) job.waiting[i] = 1;
    const TenantId tenant = job.tenant;
    jobs_[id] = std::move(job);
    send_window(tenant);
    return id;
  }
  /// What of it waits does so no longer.
  void cancel(JobId id) {
    jobs_.at(id).waiting.clear();
    send_window(jobs_.at(id).tenant);
  }
  void pass(std::int64_t ms) {
    now_ms_ += ms;
    cycle.pass_to(now_ms_);
    (void)cycle.settle_credits(1000);  // what a coordinator does each second
  }
  std::vector<Reclaim> run() {
    std::vector<Reclaim> all;
    while (cycle.is_due()) {
      for (const Deal& deal : cycle.run(100)) take(deal);
      for (const Reclaim& reclaim : cycle.take_reclaims()) {
        check(reclaim);
        running_.at(reclaim.task).told_to_end = true;
        all.push_back(reclaim);
      }
    }
    for (const Reclaim& reclaim : all)
      if (jobs_.at(reclaim.task.job).is_gang) REQUIRE(running_of(reclaim.task.job, false) == 0);
    return all;
  }
  void end(const TaskKey& key, bool again) {
    const Running task = running_.at(key);
    running_.erase(key);
    REQUIRE(cycle.release(key));
    Job& job = jobs_.at(key.job);
    if (again) job.waiting[key.index] = key.attempt + 1;
    send_window(job.tenant);
    cycle.beat(task.node);
  }
  void end_reclaimed() {
    std::vector<TaskKey> ending;
    for (const auto& [key, task] : running_)
      if (task.told_to_end) ending.push_back(key);
    for (const TaskKey& key : ending) end(key, true);
  }
  [[nodiscard]] std::size_t running_of(JobId job, bool with_ending = true) const {
    std::size_t count = 0;
    for (const auto& [key, task] : running_)
      count += key.job == job && (with_ending || !task.told_to_end);
    return count;
  }
  [[nodiscard]] const std::map<TaskKey, Running>& running() const { return running_; }
  [[nodiscard]] const Job& job(JobId id) const { return jobs_.at(id); }
  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }

  DealCycle cycle;

 private:
  void send_window(TenantId tenant) {
    DemandWindow window{.tenant = tenant,
                        .next = {},
                        .pending = {},
                        .pending_tasks = 0,
                        .seen_deal = cycle.last_deal()};
    for (const auto& [id, job] : jobs_) {
      if (job.tenant != tenant || (job.is_gang && running_of(id) > 0)) continue;
      const auto tasks = static_cast<std::uint32_t>(job.waiting.size());
      for (const auto& [index, attempt] : job.waiting) {
        if (job.is_gang && index > job.waiting.begin()->first) break;  // all at once
        window.next.push_back({.job = id,
                               .first_index = index,
                               .count = job.is_gang ? tasks : 1,
                               .attempt = attempt,
                               .demand = job.demand,
                               .rule = rule_of(job),
                               .expected_ms = job.limit_ms,
                               .limit_ms = job.limit_ms,
                               .late_in_ms = job.is_late ? 0 : kNeverLate,
                               .is_gang = job.is_gang,
                               .preemption = job.preemption});
      }
      window.pending += job.demand * Amount{tasks};
      window.pending_tasks += tasks;
    }
    cycle.take_window(window);
  }
  [[nodiscard]] static PlacementRulePtr rule_of(const Job& job) {
    if (job.site.empty()) return nullptr;
    return std::make_shared<PlacementRule>(PlacementRule{{job.site}, {}, {}});
  }
  void take(const Deal& deal) {
    std::set<TenantId> changed;
    for (const Grant& grant : deal.grants) {
      REQUIRE(jobs_.at(grant.task.job).waiting.erase(grant.task.index) == 1);
      REQUIRE(running_.emplace(grant.task, Running{deal.node, grant, now_ms_, false}).second);
      changed.insert(grant.tenant);
    }
    for (const TenantId tenant : changed) send_window(tenant);
    for (const auto& [group, terms] : groups_) {
      ResourceVector all;
      for (const auto& [key, task] : running_)
        if (const auto& place = terms_.at(task.grant.tenant).place; place && place->group == group)
          all += task.grant.demand;
      REQUIRE(all.fits(terms.max));
    }
  }
  [[nodiscard]] ResourceVector held(TenantId tenant) const {
    ResourceVector held;
    for (const auto& [key, task] : running_)
      if (task.grant.tenant == tenant && !task.told_to_end) held += task.grant.demand;
    return held;
  }
  /// Its tenant's, or its group's, of some resource that the task asks for.
  [[nodiscard]] bool is_below_a_min(const Job& claimant) const {
    const ResourceVector of_tenant = held(claimant.tenant);
    const TenantTerms& terms = terms_.at(claimant.tenant);
    ResourceVector of_group;
    if (terms.place)
      for (const auto& [id, other] : terms_)
        if (other.place && other.place->group == terms.place->group) of_group += held(id);
    for (std::size_t r = 0; r < kMaxResources; ++r) {
      if (claimant.demand[r] == 0) continue;
      if (of_tenant[r] < terms.min[r]) return true;
      const auto group = terms.place ? groups_.find(terms.place->group) : groups_.end();
      if (group != groups_.end() && of_group[r] < group->second.min[r].value_or(0)) return true;
    }
    return false;
  }
  /// What must hold of each task that is preempted.
  void check(const Reclaim& reclaim) const {
    const Running& task = running_.at(reclaim.task);
    const Job& job = jobs_.at(reclaim.task.job);
    const Job& claimant = jobs_.at(reclaim.claimant_job);
    REQUIRE(reclaim.preempted);
    REQUIRE(task.node == reclaim.node);
    REQUIRE_FALSE(task.told_to_end);
    REQUIRE(job.preemption.is_preemptible);
    REQUIRE(claimant.tenant == reclaim.claimant);
    REQUIRE(claimant.tenant != job.tenant);
    const bool by_its_word =
        claimant.preemption.preempts && job.preemption.priority < claimant.preemption.priority;
    REQUIRE((by_its_word || is_below_a_min(claimant)));
    REQUIRE(now_ms_ - task.since_ms >= kWhile_ms);
    const ResourceVector quota = cycle.tenant(job.tenant).quota;
    const ResourceVector before = held(job.tenant);
    bool is_beyond = false;
    for (std::size_t r = 0; r < kMaxResources; ++r) {
      const Amount taken = task.grant.demand[r];
      if (taken == 0) continue;
      REQUIRE(before[r] - taken >= terms_.at(job.tenant).min[r]);
      is_beyond = is_beyond || (claimant.demand[r] > 0 && before[r] > quota[r]);
    }
    // A gang counts as one task: its first is told when all of it runs.
    REQUIRE((is_beyond ||
             (job.is_gang && running_of(reclaim.task.job, false) < running_of(reclaim.task.job))));
  }

  std::map<TenantId, TenantTerms> terms_;
  std::map<GroupId, GroupTerms> groups_;
  std::map<JobId, Job> jobs_;
  std::map<TaskKey, Running> running_;
  std::uint64_t last_job_ = 0;
  std::int64_t now_ms_ = 1'000'000;
};

/// Why the job's first task preempts nobody, or whom.
inline std::string why(PreemptionModel& model, JobId job) {
  const auto obstacles =
      model.cycle.allocator().explain_waiting(model.job(job).tenant, job, 0, ObstacleNames{});
  const auto found = std::find_if(obstacles.begin(), obstacles.end(), [](const Obstacle& obstacle) {
    return obstacle.code == "preemption";
  });
  return found == obstacles.end() ? "" : found->message;
}

}  // namespace fairwater::test
