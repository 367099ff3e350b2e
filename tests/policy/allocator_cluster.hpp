// A cluster model around an Allocator: tenants with queues that see deals late, nodes, running
// tasks. Every deal is checked against what must hold for all of them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "policy/allocator/allocator.hpp"

namespace fairwater::test {

inline ResourceVector cpu(Amount millicores) {
  ResourceVector result;
  result[kCpu] = millicores;
  return result;
}

inline ResourceVector cpu_memory(Amount millicores, Amount mebibytes) {
  ResourceVector result = cpu(millicores);
  result[kMemory] = mebibytes;
  return result;
}

/// Of a property over random states: FAIRWATER_STATES, where it is set.
inline std::uint64_t states_to_look_at(std::uint64_t by_default) {
  const char* text = std::getenv("FAIRWATER_STATES");
  return text == nullptr ? by_default : std::strtoull(text, nullptr, 10);
}

/// 100 millicores and 256 MiB, as in the default configuration.
AllocatorSettings default_settings(Accounting accounting = Accounting::units);

class TestCluster {
 public:
  struct Task {
    TaskKey key;
    ResourceVector demand;
    PlacementRulePtr rule;
  };
  struct Running {
    TenantId tenant;
    NodeId node;
    ResourceVector demand;
    bool beyond_quota = false;
  };

  explicit TestCluster(const AllocatorSettings& settings = default_settings());

  void group(std::uint32_t id, const GroupTerms& terms);
  void tenant(std::uint32_t id, const TenantTerms& terms);
  void node(std::uint32_t id, const ResourceVector& capacity, NodeTraits traits = {},
            bool accepts = true);
  /// Adds a job of `count` tasks to the tenant's queue; the allocator hears of it with the next
  /// window.
  JobId submit(std::uint32_t tenant, std::uint32_t count, const ResourceVector& demand,
               PlacementRulePtr rule = nullptr);
  /// Empties the tenant's queue.
  void clear(std::uint32_t tenant);

  /// The tenant's window as it stands, after it has seen all deals but those after `seen`.
  DemandWindow window(std::uint32_t tenant, std::uint64_t seen) const;
  void deliver(const DemandWindow& window);
  /// The tenant sees everything and sends its window.
  void refresh(std::uint32_t tenant);

  /// Deals and checks the deal and what it left idle: nobody could use it, or it is kept for a task
  /// that is due. One that places nothing is none.
  std::optional<Deal> deal(std::uint32_t node);
  void finish(const TaskKey& task);
  /// Finishes the task that runs longest among `tenant`'s, and deals its node.
  std::optional<Deal> turn_over(std::uint32_t tenant);
  /// The same for whichever tenant's task runs longest.
  std::optional<Deal> turn_over_oldest();

  [[nodiscard]] std::uint64_t held(std::uint32_t tenant) const;
  [[nodiscard]] Amount held_cpu(std::uint32_t tenant) const;
  [[nodiscard]] std::uint64_t granted(std::uint32_t tenant) const;
  [[nodiscard]] const TenantTerms& terms(std::uint32_t tenant) const {
    return tenants_.at(tenant).terms;
  }
  [[nodiscard]] Units net(std::uint32_t tenant) const;
  [[nodiscard]] Units deficit(std::uint32_t tenant) const;
  [[nodiscard]] const std::map<TaskKey, Running>& running() const { return running_; }
  [[nodiscard]] std::vector<std::uint32_t> tenants() const;
  [[nodiscard]] std::uint64_t deals() const { return deals_checked_; }

  Allocator allocator;
  std::size_t window_tasks = 200;

 private:
  struct Tenant {
    TenantTerms terms;
    std::deque<Task> queue;                               ///< all that was not granted
    std::vector<std::pair<std::uint64_t, Task>> granted;  ///< by deal
    std::uint64_t last_seen = 0;
    std::vector<Task> known;  ///< what the allocator knows to wait within the window
  };
  struct Node {
    ResourceVector capacity;
    NodeTraits traits;
    bool accepts = true;
  };

  void check_reserving_deal(std::uint32_t node, const Deal& deal);
  void check_deal(std::uint32_t node, const Deal& deal, const std::map<std::uint32_t, Units>& nets);
  void check_lines(const Deal& deal, const std::map<std::uint32_t, Units>& nets);
  void check_book();
  void check_room(std::uint32_t node);
  void check_nothing_fits(std::uint32_t node);
  void check_reservation(std::uint32_t node, TenantId holder);
  [[nodiscard]] ResourceVector used_by(TenantId tenant) const;
  /// True when with `more` the tenant, and every group that it is in, holds no more than its max of
  /// what `demand` asks for.
  [[nodiscard]] bool is_within_max(TenantId tenant, const ResourceVector& demand,
                                   const ResourceVector& more) const;
  [[nodiscard]] bool is_in(const TenantTerms& terms, GroupId group) const;
  void check_groups_allow(const Loan& loan) const;

  std::map<std::uint32_t, GroupTerms> groups_;
  std::map<std::uint32_t, Tenant> tenants_;
  std::map<std::uint32_t, Node> nodes_;
  std::map<TaskKey, Running> running_;
  std::deque<TaskKey> order_;  ///< of starting
  std::set<TaskKey> ever_granted_;
  std::map<std::uint32_t, std::uint64_t> grants_;  ///< tasks granted, by tenant
  std::uint64_t last_job_ = 0;
  std::uint64_t deals_checked_ = 0;
};

}  // namespace fairwater::test
