// A cluster that deals by dominant shares.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "policy/allocator/deal_cycle.hpp"

namespace fairwater::test {

/// A cluster that deals by share, and what each tenant waits for and holds.
class ShareCluster {
 public:
  explicit ShareCluster(Accounting accounting = Accounting::time)
      : cycle_(Allocator(settings(accounting))) {}

  void tenant(std::uint32_t id, const TenantTerms& terms) {
    terms_[id] = terms;
    queues_[id];
    cycle_.set_tenant(TenantId{id}, terms);
  }
  /// Before those in it.
  void group(std::uint32_t id, const GroupTerms& terms) {
    groups_[id] = terms;
    cycle_.allocator().set_group(GroupId{id}, terms);
  }
  void node(std::uint32_t id, const ResourceVector& capacity, NodeTraits traits = {},
            bool accepts = true) {
    cycle_.set_node(NodeId{id}, traits, capacity, accepts);
    cycle_.beat(NodeId{id});
  }
  JobId submit(std::uint32_t tenant, WaitingRange range) {
    range.job = JobId{++last_job_};
    queues_[tenant].push_back(range);
    return range.job;
  }
  /// Everybody shows what waits; then all that is due is dealt.
  std::vector<Deal> run(std::size_t max_deals = 1000) {
    for (const auto& [id, queue] : queues_) show(id);
    std::vector<Deal> all;
    while (cycle_.is_due()) {
      const std::vector<Deal> deals = cycle_.run(max_deals, 100'000);
      if (deals.empty()) break;
      for (const Deal& deal : deals) take(deal);
      all.insert(all.end(), deals.begin(), deals.end());
    }
    return all;
  }
  void end(const TaskKey& task) {
    const auto ended = running_.find(task);
    REQUIRE(cycle_.release(task));
    cycle_.beat(ended->second.node);
    running_.erase(ended);
  }
  [[nodiscard]] std::uint64_t held(std::uint32_t tenant) const {
    std::uint64_t tasks = 0;
    for (const auto& [key, running] : running_) tasks += running.tenant == TenantId{tenant} ? 1 : 0;
    return tasks;
  }
  struct Running {
    TenantId tenant;
    NodeId node;
    ResourceVector demand;
  };
  [[nodiscard]] const std::map<TaskKey, Running>& running() const { return running_; }
  [[nodiscard]] const std::map<std::uint32_t, std::vector<WaitingRange>>& queues() const {
    return queues_;
  }
  [[nodiscard]] const TenantTerms& terms(std::uint32_t tenant) const { return terms_.at(tenant); }
  [[nodiscard]] const std::map<std::uint32_t, GroupTerms>& groups() const { return groups_; }
  [[nodiscard]] DealCycle& cycle() { return cycle_; }

 private:
  static AllocatorSettings settings(Accounting accounting) {
    AllocatorSettings settings = default_settings();
    settings.accounting = accounting;
    settings.allocation = AllocationRule::drf;
    return settings;
  }
  void show(std::uint32_t id) {
    DemandWindow window{.tenant = TenantId{id}, .next = queues_[id], .pending = {}};
    for (const WaitingRange& range : window.next) {
      window.pending_tasks += range.count;
      window.pending += range.demand * Amount{range.count};
    }
    window.seen_deal = cycle_.last_deal();
    cycle_.take_window(window);
  }
  void take(const Deal& deal) {
    CHECK_FALSE(deal.keeps_accounts);
    CHECK(deal.lines.empty());
    CHECK(deal.loans.empty());
    for (const Grant& grant : deal.grants) {
      REQUIRE(running_.emplace(grant.task, Running{grant.tenant, deal.node, grant.demand}).second);
      auto& queue = queues_[grant.tenant.value];
      for (WaitingRange& range : queue) {
        if (range.job != grant.task.job) continue;
        ++range.first_index;
        --range.count;
      }
      std::erase_if(queue, [](const WaitingRange& range) { return range.count == 0; });
    }
  }

  DealCycle cycle_;
  std::map<std::uint32_t, TenantTerms> terms_;
  std::map<std::uint32_t, GroupTerms> groups_;
  std::map<std::uint32_t, std::vector<WaitingRange>> queues_;
  std::map<TaskKey, Running> running_;
  std::uint64_t last_job_ = 0;
};

inline WaitingRange waiting_tasks(std::uint32_t count, const ResourceVector& demand) {
  WaitingRange range;
  range.count = count;
  range.demand = demand;
  return range;
}

inline TenantTerms tenant_of_weight(Weight weight) {
  TenantTerms terms;
  terms.weight = weight;
  return terms;
}

inline constexpr std::size_t kGpus = 2;

inline ResourceVector of_gpus(Amount count) {
  ResourceVector result;
  result[kGpus] = count;
  return result;
}

inline GroupTerms group_in(std::uint32_t around, Weight weight = 1) {
  return {.place = {.group = GroupId{around}, .weight = weight}};
}

inline TenantTerms tenant_in(std::uint32_t around, Weight weight = 1) {
  TenantTerms terms;
  terms.weight = 1'000'000 * weight;  // of the sequence: nothing goes by it
  terms.place = QuotaPlace{.group = GroupId{around}, .weight = weight};
  return terms;
}

inline constexpr std::uint32_t kAtTop = 0;
inline constexpr std::uint32_t kDeptA = 1, kFirstOfA = 11, kSecondOfA = 12, kDeptB = 2;

/// a{a1, a2} and b.
inline void two_departments(ShareCluster& cluster, Weight weight_of_a1 = 1) {
  cluster.group(kDeptA, group_in(kAtTop));
  cluster.tenant(kDeptB, tenant_in(kAtTop));
  cluster.tenant(kFirstOfA, tenant_in(kDeptA, weight_of_a1));
  cluster.tenant(kSecondOfA, tenant_in(kDeptA));
}

}  // namespace fairwater::test
