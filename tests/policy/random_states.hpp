// A cluster whose every round of a cycle is a random state, with books of its own against which
// everything that the cycle does is checked.
//
// Drawn: tenants and groups with weight, min, max, may_lend, may_borrow, caps; nodes with sites,
// labels and devices that are shared or given by name; jobs of single tasks, gangs and elastic
// ones, with and without time limits, late or not, of several priorities, some of which preempt,
// and rules by which their nodes are chosen; nodes that are going to close; both accountings, and
// dominant shares.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "allocator_cluster.hpp"
#include "draw.hpp"
#include "policy/allocator/deal_cycle.hpp"
#include "policy/allocator/waiting_tasks.hpp"
#include "shared_gpus.hpp"

namespace fairwater::test::states {

/// Of devices, with parts or without.
inline constexpr std::size_t kDevice = gpus::kGpuMilli;

inline constexpr std::int64_t kPreemptAfterMs = 300;

/// How often what is checked has come up: a property of nothing holds always.
struct Seen {
  std::uint64_t granted = 0;
  std::uint64_t grown = 0;
  std::uint64_t gangs = 0;
  std::uint64_t sharing_gangs = 0;  ///< of them, with shares of gpus
  std::uint64_t grown_shares = 0;
  std::uint64_t named_devices = 0;
  std::uint64_t preempted_of_group = 0;
  std::uint64_t preempted_below_max = 0;
  std::uint64_t chosen = 0;           ///< grants on nodes that a rule chose
  std::uint64_t waiting = 0;          ///< that could not start
  std::uint64_t waiting_by_time = 0;  ///< of them, with room that may be kept for others
  std::uint64_t guaranteed = 0;       ///< grants below a min
  std::uint64_t below_min = 0;        ///< tenants, while others were granted something
  std::uint64_t at_plain_share = 0;   ///< tenants that may not borrow, and were not given more
  std::uint64_t preempted = 0;
  std::uint64_t preempted_of_min = 0;  ///< of tenants with a min
  std::uint64_t preempted_for_min = 0;
  std::uint64_t before_closing = 0;  ///< grants on nodes that close
  std::uint64_t too_long =
      0;  ///< tasks that had room on such a node, and not the time to run there
  std::uint64_t lent_by_time = 0;  ///< settlements in which something was
  std::uint64_t at_cap = 0;        ///< tenants in them whose caps kept something out of the book

  Seen& operator+=(const Seen& other);
};

class Cluster {
 public:
  explicit Cluster(std::uint64_t seed);

  /// Something happens, and everybody starts what can start.
  void next_state();
  /// Requests stay as they are and nothing ends but what is told to, which then waits again: until
  /// nobody has been preempted for some rounds, each as long as one must have run for that.
  std::size_t rounds_until_nobody_is_preempted(std::size_t most);
  [[nodiscard]] const Seen& seen() const { return seen_; }

 private:
  enum class Devices : std::uint8_t { none, shared, named };
  struct Node {
    ResourceVector capacity;
    NodeTraits traits;
    bool accepts = true;
    ResourceVector used{};
    LedgerMs closes_ms = 0;  ///< 0: it stays open
  };
  struct Job {
    TenantId tenant;
    ResourceVector demand;
    PlacementRulePtr rule;
    Placement placement = Placement::unset;
    bool is_gang = false;
    std::uint32_t grows_by = 0;  ///< once it has started
    PreemptionTerms preemption = {};
    LedgerMs limit_ms = 0;  ///< 0: none
    LedgerMs late_from_ms = 0;
    WaitingTasks next{};
    WaitingTasks growth{};
  };
  struct Running {
    NodeId node;
    TenantId tenant;
    ResourceVector demand;
    std::vector<std::string> devices{};
    bool has_grown = false;
    bool is_beyond_quota = false;  ///< what its tenant was owed
    LedgerMs since_ms = 0;
    bool told_to_end = false;
  };

  // -- what is drawn
  AllocatorSettings random_settings();
  ResourceVector amounts(std::int64_t from, std::int64_t to);
  ResourceWeights own_weights();
  DebtCap random_cap();
  void draw_tenants();
  void draw_nodes();
  void submit();
  /// The node is to close some time, or stays open.
  void close_some_node();
  void draw_devices(Job& job, PlacementRule& rule);

  // -- what happens
  /// Everybody starts what can start; how many were preempted.
  std::size_t pass(LedgerMs time_ms, std::int64_t credits_ms);
  [[nodiscard]] WaitingRange range_of(JobId id, const Job& job, const WaitingTasks::Range& tasks,
                                      bool is_gang) const;
  [[nodiscard]] DemandWindow window(TenantId tenant) const;
  [[nodiscard]] bool somebody_is_ending() const;
  /// Half of those that were told to, which wait again then.
  void end_some_told();
  void wait_again(const TaskKey& task, bool had_grown);
  bool take(const std::vector<Deal>& deals);
  void take(const Deal& deal, const Grant& grant);
  void end(TaskKey task);

  // -- the books
  [[nodiscard]] bool is_in(TenantId tenant, GroupId group) const;
  [[nodiscard]] ResourceVector held_by(const std::function<bool(TenantId)>& is_one) const;
  [[nodiscard]] ResourceVector held_but_grown(TenantId tenant) const;
  /// Of the tenant and all groups that it is in, with so much more.
  [[nodiscard]] bool is_within_max(TenantId tenant, const ResourceVector& more) const;
  [[nodiscard]] ResourceVector capacity() const;
  /// By weight of all weights, level by level, rounded up.
  [[nodiscard]] Amount plain_share(const QuotaPlace& place, std::size_t resource) const;
  [[nodiscard]] bool may_hold_more(TenantId tenant, const ResourceVector& demand) const;
  [[nodiscard]] bool may_exceed_quota(TenantId tenant) const;
  [[nodiscard]] bool is_below_min(TenantId tenant, const ResourceVector& demand) const;
  [[nodiscard]] ResourceVector mins_in(GroupId group) const;
  [[nodiscard]] ResourceVector min_of(GroupId group) const;
  [[nodiscard]] bool all_mins_fit() const;
  [[nodiscard]] bool others_claim(JobId id, const Job& job) const;
  [[nodiscard]] bool is_guaranteed(JobId id, const Job& job) const;
  [[nodiscard]] std::map<std::string, Amount> taken_devices(NodeId node) const;
  [[nodiscard]] bool has_devices(NodeId id, const Job& job) const;
  [[nodiscard]] bool has_room(NodeId id, const Job& job) const;
  [[nodiscard]] bool has_time(const Node& node, const Job& job) const;
  [[nodiscard]] LedgerMs expected_end(const TaskKey& task, const Running& running) const;
  [[nodiscard]] bool may_be_kept_for_others(NodeId id, const Job& job) const;

  // -- what must hold
  void check_devices(NodeId node) const;
  void check_nobody_below_min_waits(NodeId node);
  struct Preempted {
    const Job* job = nullptr;
    const Job* claimant = nullptr;
  };
  /// Beyond its tenant's quota, and not within its min, while the tenant holds so much.
  [[nodiscard]] bool may_be_preempted(const Preempted& task, const ResourceVector& held) const;
  /// All of one tenant: they are told in another order than they were found in.
  [[nodiscard]] bool may_be_preempted_in_some_order(const std::vector<Preempted>& tasks,
                                                    const ResourceVector& held) const;
  void check_reclaims(const std::vector<Reclaim>& reclaims);
  [[nodiscard]] bool may_preempt_for_min(const Job& claimant, TenantId preempted) const;
  void check_min_of_group(GroupId group, const std::vector<Reclaim>& reclaims);
  void note_promise(JobId claimant, TenantId preempted);
  [[nodiscard]] bool is_promised_to_others(TenantId tenant) const;
  /// Of time: who lends and borrows may, up to its caps, of the parts that they had until then.
  void check_settlement(const TimeSettlement& settlement,
                        const std::map<TenantId, MicroUnits>& parts);
  void check_sums();
  void check_nobody_could_start();

  Draw draw_;
  bool counts_time_ = false;
  bool preempts_for_min_ = false;
  bool by_share_ = false;
  bool closes_nodes_ = false;
  bool ends_slowly_ = false;  ///< what is told to end does so some states later
  Devices devices_ = Devices::none;
  DealCycle cycle_;
  std::map<GroupId, GroupTerms> groups_;
  std::map<TenantId, TenantTerms> tenants_;
  std::map<NodeId, Node> nodes_;
  std::map<JobId, Job> jobs_;
  std::set<std::pair<JobId, GroupId>> promised_;  ///< below whose max, while the job waits
  std::map<TaskKey, Running> running_;
  std::map<TenantId, Units> nets_;  ///< by the deals or, where time is counted, the settlements
  std::uint64_t last_job_ = 0;
  LedgerMs now_ms_ = 0;
  Seen seen_;
};

}  // namespace fairwater::test::states
