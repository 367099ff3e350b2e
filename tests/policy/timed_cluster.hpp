// An Allocator whose ledger counts time, on a clock of its own: tenants with queues, tasks that run
// so long, nodes that come and go. After every event what must hold for all of them is checked.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/allocator/allocator.hpp"

namespace fairwater::test {

class TimedCluster {
 public:
  /// How a task is written down by its tenant.
  struct Task {
    ResourceVector demand;
    LedgerMs run_ms = 0;
    LedgerMs expected_ms = 0;  ///< 0: nobody knows
    LedgerMs limit_ms = 0;     ///< 0: none
    /// How long it waits until it is late. None: by its limit.
    std::optional<LedgerMs> patience_ms = std::nullopt;
    bool is_gang = false;
    PlacementRulePtr rule = nullptr;
  };
  struct Start {
    LedgerMs at_ms = 0;
    std::uint32_t tenant = 0;
    JobId job;
    std::uint32_t index = 0;
    std::uint32_t node = 0;
    friend bool operator==(const Start&, const Start&) = default;
  };

  explicit TimedCluster(const AllocatorSettings& settings);

  void group(std::uint32_t id, const GroupTerms& terms);
  void tenant(std::uint32_t id, const TenantTerms& terms);
  /// It holds nothing; whatever it waits for is forgotten.
  void remove_tenant(std::uint32_t id);
  void node(std::uint32_t id, const ResourceVector& capacity, bool accepts = true);
  /// With GPUs that tasks share.
  void node(std::uint32_t id, const ResourceVector& capacity, const NodeTraits& traits);
  /// None: it stays open.
  void close_node_from(std::uint32_t id, std::optional<LedgerMs> at_ms);
  /// With it end its tasks, which their tenants wait for again.
  void lose_node(std::uint32_t id);
  JobId submit(std::uint32_t tenant, std::uint32_t tasks, const Task& task);
  void clear(std::uint32_t tenant);
  /// Everything up to there happens.
  void run_until(LedgerMs ms);
  /// As a restart: a new allocator from what the ledger keeps.
  void restart();

  [[nodiscard]] LedgerMs now_ms() const { return now_ms_; }
  [[nodiscard]] TenantView view(std::uint32_t tenant) const {
    return allocator_.tenant(TenantId{tenant});
  }
  [[nodiscard]] std::uint64_t held(std::uint32_t tenant) const {
    return view(tenant).running_tasks;
  }
  [[nodiscard]] std::uint64_t waiting(std::uint32_t tenant) const {
    std::uint64_t tasks = 0;
    for (const Waiting& waiting : tenants_.at(tenant).queue) tasks += waiting.count;
    return tasks;
  }
  /// Unit-milliseconds that it held so far.
  [[nodiscard]] std::int64_t held_total(std::uint32_t tenant) const;
  /// Unit-milliseconds, positive when others owe it, with what is not yet in the book.
  [[nodiscard]] double net(std::uint32_t tenant) const;
  [[nodiscard]] std::vector<std::uint32_t> tenants() const;
  [[nodiscard]] const Allocator& allocator() const { return allocator_; }
  /// Of what runs; its devices.
  [[nodiscard]] const std::vector<std::string>& devices_of(JobId job,
                                                           std::uint32_t index = 0) const;
  [[nodiscard]] std::uint64_t grants() const { return starts_.size(); }
  [[nodiscard]] const std::vector<Start>& starts() const { return starts_; }
  /// The last start of any of its tasks.
  [[nodiscard]] std::optional<Start> start_of(JobId job) const;

 private:
  struct Waiting {
    Task task;
    JobId job;
    std::uint32_t index = 0;
    std::uint32_t attempt = 1;
    std::uint32_t count = 1;  ///< so many alike, with the next indices
    LedgerMs late_from_ms = 0;
    LedgerMs patience_ms = 0;
  };
  struct Tenant {
    TenantTerms terms;
    std::deque<Waiting> queue;
    Wide held = 0;  ///< micro-unit-milliseconds so far
  };
  struct Node {
    ResourceVector capacity;
    bool accepts = true;
    NodeTraits traits{};
  };
  struct Running {
    Waiting waiting;
    std::uint32_t tenant = 0;
    std::uint32_t node = 0;
    LedgerMs started_ms = 0;
    Grant grant;
  };

  void set_node(std::uint32_t id, Node node);
  [[nodiscard]] HeldTask held_task(const Running& running) const;
  void pass_to(LedgerMs ms);
  void end_tasks();
  void send_window(std::uint32_t tenant);
  void deal_all();
  void take(const Deal& deal);
  void check_gpus(std::uint32_t node) const;
  /// Deals the node, and with it all nodes of a gang that begins there. Whether something started.
  bool deal(std::uint32_t node);
  void check() const;
  void check_mark(std::uint32_t tenant) const;

  AllocatorSettings settings_;
  Allocator allocator_;
  std::map<std::uint32_t, GroupTerms> groups_;
  std::map<std::uint32_t, Tenant> tenants_;
  std::vector<std::uint32_t> joined_;
  std::map<std::uint32_t, Node> nodes_;
  std::map<TaskKey, Running> running_;
  std::multimap<LedgerMs, TaskKey> ends_;
  LedgerMs now_ms_ = 0;
  std::uint64_t last_job_ = 0;
  std::vector<Start> starts_;
  std::map<JobId, std::size_t> last_start_;  ///< in `starts_`
};

/// One resource of which a task takes one: slots.
[[nodiscard]] AllocatorSettings slot_settings();
[[nodiscard]] ResourceVector slots(Amount count);
/// In the ledger's time.
constexpr LedgerMs operator""_s(unsigned long long seconds) {
  return static_cast<LedgerMs>(seconds) * 1000;
}
/// Of so many slots, for as long as its limit.
[[nodiscard]] TimedCluster::Task task_of(Amount size, LedgerMs limit_ms);
/// Of one slot, for so long as everybody knows.
[[nodiscard]] TimedCluster::Task task_of(LedgerMs run_ms);
[[nodiscard]] TenantTerms terms_of(Weight weight, std::uint32_t repay_millionths = 1'000'000);

}  // namespace fairwater::test
