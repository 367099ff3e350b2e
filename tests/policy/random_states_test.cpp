// What holds for every state of a cycle, by books of its own: capacity, labels, max of tenants and
// groups, gangs whole, nobody waits who could start, nets and credits sum to zero. And what a state
// promises each tenant: no gain from overstating, no envy by more than a task.
//
// FAIRWATER_STATES=N looks at N states of each kind; by default at as many as take seconds.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "policy/allocator/deal_cycle.hpp"
#include "policy/allocator/waiting_tasks.hpp"
#include "shared_gpus.hpp"

namespace fairwater::test::states {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  template <class Integer = std::uint32_t>
  Integer in(std::int64_t from, std::int64_t to) {
    return static_cast<Integer>(
        from + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(to - from + 1)));
  }
  bool one_in(std::uint64_t n) { return random_() % n == 0; }

 private:
  std::mt19937_64 random_;
};

struct Node {
  ResourceVector capacity;
  NodeTraits traits;
  bool accepts = true;
  ResourceVector used{};
};

struct Job {
  TenantId tenant;
  ResourceVector demand;
  PlacementRulePtr rule;
  bool is_gang = false;
  std::uint32_t grows_by = 0;  ///< once it has started
  WaitingTasks next{};
  WaitingTasks growth{};
};

struct Running {
  NodeId node;
  TenantId tenant;
  ResourceVector demand;
  std::vector<std::string> devices{};
};

/// A cluster whose every round of a cycle is a state.
class Cluster {
 public:
  explicit Cluster(std::uint64_t seed) : draw_(seed), cycle_(Allocator(random_settings())) {
    const auto groups = draw_.in(0, 2);
    for (std::uint32_t id = 1; id <= groups; ++id) {
      GroupTerms& terms = groups_[GroupId{id}];
      terms.place = {.group = GroupId{draw_.in(0, id - 1)}, .weight = draw_.in<Weight>(1, 9)};
      if (draw_.one_in(2)) terms.max = amounts(4, 12);
      cycle_.allocator().set_group(GroupId{id}, terms);
    }
    for (std::uint32_t id = 1, tenants = draw_.in(1, 4); id <= tenants; ++id) {
      TenantTerms& terms = tenants_[TenantId{id}];
      terms.weight = draw_.in<Weight>(1, 9);
      if (draw_.one_in(4)) terms.min = cpu(draw_.in<Amount>(1, 4) * 500);
      if (draw_.one_in(3)) terms.max = amounts(3, 9);
      terms.may_lend = !draw_.one_in(5);
      if (groups > 0) terms.place = {.group = GroupId{draw_.in(0, groups)}, .weight = terms.weight};
      cycle_.set_tenant(TenantId{id}, terms);
    }
    for (std::uint32_t id = 1, nodes = draw_.in(1, 5); id <= nodes; ++id) {
      Node& node = nodes_[NodeId{id}];
      node = {amounts(2, 8), {}, !draw_.one_in(8)};
      node.traits.site = draw_.one_in(2) ? "a" : "b";
      if (draw_.one_in(2)) node.traits.labels["disk"] = "ssd";
      if (share_gpus_) {
        node.traits.devices = gpus::node_sharing(draw_.in<std::size_t>(1, 3)).devices;
        node.capacity[gpus::kGpuMilli] =
            static_cast<Amount>(node.traits.devices.front().names.size()) * kMilliPerGpu;
      }
      cycle_.set_node(NodeId{id}, node.traits, node.capacity, node.accepts);
    }
  }

  /// Something happens, and everybody starts what can start.
  void next_state() {
    for (auto events = draw_.in(1, 3); events > 0; --events)
      if (draw_.one_in(2)) submit();
    for (auto ends = draw_.in(0, 4); ends > 0 && !running_.empty(); --ends)
      end(std::next(running_.begin(), draw_.in<std::ptrdiff_t>(0, running_.size() - 1))->first);
    now_ms_ += draw_.in<LedgerMs>(1, 2000);
    cycle_.pass_to(now_ms_);
    (void)cycle_.settle_time();
    (void)cycle_.settle_credits(draw_.in<std::int64_t>(1, 2000));
    std::vector<TaskKey> given_back;
    for (bool goes_on = true; goes_on;) {
      for (const auto& [tenant, terms] : tenants_) cycle_.take_window(window(tenant));
      cycle_.consider_all_nodes();
      goes_on = take(cycle_.run(100'000));
      for (const Reclaim& reclaim : cycle_.take_reclaims()) {
        given_back.push_back(reclaim.task);
        end(reclaim.task);
        goes_on = true;
      }
    }
    check_sums();
    if (given_back.empty()) check_nobody_could_start();
    for (const TaskKey& task : given_back)
      jobs_.at(task.job).growth.add(task.index, 1, task.attempt + 1);
  }

  [[nodiscard]] std::uint64_t granted() const { return granted_; }
  [[nodiscard]] std::uint64_t grown() const { return grown_; }
  [[nodiscard]] std::uint64_t gangs() const { return gangs_; }
  [[nodiscard]] std::uint64_t grown_shares() const { return grown_shares_; }
  [[nodiscard]] std::uint64_t gangs_on_gpus() const { return gangs_on_gpus_; }
  [[nodiscard]] std::uint64_t gangs_on_gpus_looked_at() const { return gangs_on_gpus_looked_at_; }
  [[nodiscard]] std::uint64_t waiting_looked_at() const { return waiting_looked_at_; }

 private:
  AllocatorSettings random_settings() {
    share_gpus_ = draw_.one_in(3);
    AllocatorSettings settings = share_gpus_ ? gpus::sharing() : default_settings();
    settings.accounting = draw_.one_in(2) ? Accounting::units : Accounting::time;
    settings.allocation = draw_.one_in(4) ? AllocationRule::drf : AllocationRule::sequence;
    if (settings.allocation == AllocationRule::drf) settings.accounting = Accounting::units;
    settings.growth = draw_.one_in(2) ? GrowthRule::qrea : GrowthRule::crea;
    counts_time_ = settings.accounting == Accounting::time;
    grows_ = settings.allocation == AllocationRule::sequence;
    return settings;
  }
  ResourceVector amounts(std::int64_t from, std::int64_t to) {
    return cpu_memory(draw_.in<Amount>(from, to) * 500, draw_.in<Amount>(from, to) * 512);
  }

  void submit() {
    const JobId id{++last_job_};
    Job& job = jobs_[id];
    job.tenant = TenantId{draw_.in(1, static_cast<std::int64_t>(tenants_.size()))};
    job.demand = draw_.one_in(4) ? amounts(2, 5) : amounts(1, 2);
    if (draw_.one_in(3)) {
      PlacementRule rule;
      if (draw_.one_in(2)) rule.sites = {"a"};
      if (draw_.one_in(2)) rule.labels = std::get<LabelExpression>(LabelExpression::parse("disk"));
      job.rule = std::make_shared<PlacementRule>(rule);
    }
    const std::uint32_t tasks = draw_.in(1, 5);
    job.is_gang = draw_.one_in(3);
    if (draw_.one_in(3)) {
      job.is_gang = tasks > 1;
      job.grows_by = draw_.in(1, 6);
    }
    if (share_gpus_ && !draw_.one_in(4))
      job.demand[gpus::kGpuMilli] =
          draw_.one_in(4) ? kMilliPerGpu * draw_.in<Amount>(1, 2) : draw_.in<Amount>(1, 999);
    job.next.add(0, tasks, 1);
  }

  [[nodiscard]] WaitingRange range_of(JobId id, const Job& job, const WaitingTasks::Range& tasks,
                                      bool is_gang) const {
    return {.job = id,
            .first_index = tasks.first,
            .count = tasks.count,
            .attempt = tasks.attempt,
            .demand = job.demand,
            .rule = job.rule,
            .expected_ms = 5000,
            .limit_ms = 5000,
            .is_gang = is_gang};
  }
  [[nodiscard]] DemandWindow window(TenantId tenant) const {
    DemandWindow window{.tenant = tenant, .next = {}, .pending = {}};
    for (const auto& [id, job] : jobs_) {
      if (job.tenant != tenant) continue;
      for (const auto& tasks : job.next.ranges(100))
        window.next.push_back(range_of(id, job, tasks, job.is_gang));
      for (const auto& tasks : job.growth.ranges(100))
        window.growth.push_back(range_of(id, job, tasks, false));
      window.pending += job.demand * Amount{job.next.size()};
      window.pending_tasks += job.next.size();
    }
    window.seen_deal = cycle_.last_deal();
    return window;
  }

  bool take(const std::vector<Deal>& deals) {
    bool some = false;
    std::set<JobId> gangs;
    for (const Deal& deal : deals) {
      for (const Loan& loan : deal.loans) {
        nets_[loan.lender] += loan.units;
        nets_[loan.borrower] -= loan.units;
      }
      for (const Repayment& repayment : deal.repayments) {
        nets_[repayment.debtor] += repayment.units;
        nets_[repayment.creditor] -= repayment.units;
      }
      for (const Grant& grant : deal.grants) {
        some = true;
        Job& job = jobs_.at(grant.task.job);
        const bool has_grown = grant.step == GrantStep::growth;
        REQUIRE((has_grown ? job.growth : job.next).take(grant.task.index, grant.task.attempt));
        REQUIRE(grant.tenant == job.tenant);
        REQUIRE(grant.demand == job.demand);
        if (job.is_gang && !has_grown) gangs.insert(grant.task.job);
        if (job.next.empty() && !has_grown && job.grows_by > 0)
          job.growth.add(grant.task.index + 100, job.grows_by, 1);
        Node& node = nodes_.at(deal.node);
        REQUIRE(node.accepts);
        REQUIRE((!job.rule || job.rule->allows(node.traits)));
        node.used += job.demand;
        REQUIRE(node.used.fits(node.capacity));
        REQUIRE(
            running_.emplace(grant.task, Running{deal.node, job.tenant, job.demand, grant.devices})
                .second);
        check_gpus(deal.node);
        if (has_grown && job.demand[gpus::kGpuMilli] > 0) ++grown_shares_;
        REQUIRE(is_within_max(job.tenant, {}));
        ++granted_;
        grown_ += has_grown ? 1 : 0;
      }
    }
    for (const JobId gang : gangs) {
      REQUIRE(jobs_.at(gang).next.empty());
      gangs_on_gpus_ += jobs_.at(gang).demand[gpus::kGpuMilli] > 0 ? 1 : 0;
    }
    gangs_ += gangs.size();
    return some;
  }

  [[nodiscard]] std::map<std::string, Amount> taken_gpus(NodeId node) const {
    std::map<std::string, Amount> taken;
    for (const auto& [task, running] : running_)
      if (running.node == node)
        for (const std::string& name : running.devices)
          taken[name] += std::min(running.demand[gpus::kGpuMilli], kMilliPerGpu);
    return taken;
  }
  void check_gpus(NodeId node) const {
    for (const auto& [name, taken] : taken_gpus(node)) REQUIRE(taken <= kMilliPerGpu);
    for (const auto& [task, running] : running_)
      REQUIRE(running.devices.size() == shared_gpus(running.demand[gpus::kGpuMilli]).gpus);
  }
  /// For how many tasks: of each a part of one, or whole ones that are empty.
  [[nodiscard]] std::uint32_t tasks_on_gpus(NodeId id, Amount milli, std::uint32_t most) const {
    if (milli == 0) return most;
    auto taken = taken_gpus(id);
    const Amount each = std::min(milli, kMilliPerGpu);
    std::uint32_t tasks = 0;
    for (bool fits = true; fits && tasks < most;) {
      Amount enough = 0;
      for (const NodeDevices& kind : nodes_.at(id).traits.devices)
        for (const std::string& name : kind.names)
          if (enough < milli && taken[name] + each <= kMilliPerGpu) {
            taken[name] += each;
            enough += each;
          }
      fits = enough >= milli;
      tasks += fits ? 1 : 0;
    }
    return tasks;
  }
  /// By value: the key is often that of what is taken out.
  void end(TaskKey task) {
    const Running ended = running_.extract(task).mapped();
    nodes_.at(ended.node).used -= ended.demand;
    REQUIRE(cycle_.release(task));
    cycle_.beat(ended.node);
  }

  [[nodiscard]] bool is_in(TenantId tenant, GroupId group) const {
    for (GroupId at = place_of(tenants_.at(tenant)).group; at; at = groups_.at(at).place.group)
      if (at == group) return true;
    return false;
  }
  [[nodiscard]] ResourceVector held_by(const std::function<bool(TenantId)>& is_one) const {
    ResourceVector held;
    for (const auto& [task, running] : running_)
      if (is_one(running.tenant)) held += running.demand;
    return held;
  }
  /// Of the tenant and all groups that it is in, with so much more.
  [[nodiscard]] bool is_within_max(TenantId tenant, const ResourceVector& more) const {
    const auto is_it = [&](TenantId other) { return other == tenant; };
    if (!(held_by(is_it) + more).fits(tenants_.at(tenant).max)) return false;
    return std::all_of(groups_.begin(), groups_.end(), [&](const auto& group) {
      if (!is_in(tenant, group.first)) return true;
      const auto are_in = [&](TenantId other) { return is_in(other, group.first); };
      return (held_by(are_in) + more).fits(group.second.max);
    });
  }

  void check_sums() {
    Units nets = 0, credits = 0;
    for (const auto& [tenant, terms] : tenants_) {
      const TenantView view = cycle_.tenant(tenant);
      if (!counts_time_) REQUIRE(view.net == nets_[tenant]);
      nets += view.net;
      credits += view.credit;
    }
    REQUIRE(nets == 0);
    REQUIRE(credits == 0);
  }

  /// For so many of its tasks at once. Where room is kept, its own tests say whether it should be.
  [[nodiscard]] bool has_room(const Job& job, std::uint32_t tasks) const {
    std::uint32_t with_room = 0;
    for (const auto& [id, node] : nodes_) {
      if (!node.accepts || cycle_.node(id).reserved_for) continue;
      if (job.rule && !job.rule->allows(node.traits)) continue;
      const ResourceVector free = node.capacity - node.used;
      std::uint32_t here = 0;
      while (here < tasks && (job.demand * Amount{here + 1}).fits(free)) ++here;
      with_room += tasks_on_gpus(id, job.demand[gpus::kGpuMilli], here);
    }
    return with_room >= tasks;
  }
  void check_nobody_could_start() {
    if (counts_time_) return;  // places in time keep room of all kinds
    for (const auto& [id, job] : jobs_) {
      if (job.next.empty() && (job.growth.empty() || !grows_)) continue;
      const std::uint32_t at_once =
          job.is_gang && !job.next.empty() ? static_cast<std::uint32_t>(job.next.size()) : 1;
      ++waiting_looked_at_;
      if (at_once > 1 && job.demand[gpus::kGpuMilli] > 0) ++gangs_on_gpus_looked_at_;
      INFO("job " << id.value << " of tenant " << job.tenant.value << ", " << at_once
                  << " at once");
      REQUIRE_FALSE(
          (is_within_max(job.tenant, job.demand * Amount{at_once}) && has_room(job, at_once)));
    }
  }

  Draw draw_;
  bool counts_time_ = false;
  bool grows_ = false;
  bool share_gpus_ = false;
  DealCycle cycle_;
  std::map<GroupId, GroupTerms> groups_;
  std::map<TenantId, TenantTerms> tenants_;
  std::map<NodeId, Node> nodes_;
  std::map<JobId, Job> jobs_;
  std::map<TaskKey, Running> running_;
  std::map<TenantId, Units> nets_;  ///< by the deals; where units are counted
  std::uint64_t last_job_ = 0;
  std::uint64_t granted_ = 0;
  std::uint64_t grown_ = 0;
  std::uint64_t gangs_ = 0;
  std::uint64_t gangs_on_gpus_ = 0;
  std::uint64_t gangs_on_gpus_looked_at_ = 0;
  std::uint64_t grown_shares_ = 0;
  std::uint64_t waiting_looked_at_ = 0;
  LedgerMs now_ms_ = 0;
};

// -- what tenants are promised -------------------------------------------------------------------

/// By dominant shares, whose promises are of every moment: what the sequence promises is over time
/// (allocator_property_test.cpp). Tenants of one weight on one empty node of one resource, each
/// with so many tasks of one size.
struct Wish {
  Amount size = 1;
  std::uint32_t tasks = 1;
};
std::vector<std::uint32_t> granted_tasks(Amount capacity, const std::vector<Wish>& wishes) {
  AllocatorSettings settings;
  settings.granules = cpu(1);
  settings.allocation = AllocationRule::drf;
  DealCycle cycle{Allocator(settings)};
  cycle.set_node(NodeId{1}, {}, cpu(capacity), true);
  for (std::uint32_t i = 0; i < wishes.size(); ++i) cycle.set_tenant(TenantId{i + 1}, {});
  std::vector<std::uint32_t> granted(wishes.size());
  for (std::uint32_t before = 1, sum = 0; before != sum;) {
    before = sum;
    for (std::uint32_t i = 0; i < wishes.size(); ++i) {
      const std::uint32_t left = wishes[i].tasks - granted[i];
      DemandWindow window{.tenant = TenantId{i + 1}, .next = {}, .pending = {}};
      if (left > 0)
        window.next = {{.job = JobId{i + 1},
                        .first_index = granted[i],
                        .count = left,
                        .demand = cpu(wishes[i].size),
                        .rule = nullptr}};
      window.pending = cpu(wishes[i].size) * Amount{left};
      window.pending_tasks = left;
      window.seen_deal = cycle.last_deal();
      cycle.take_window(window);
    }
    cycle.consider_all_nodes();
    for (const Deal& deal : cycle.run(1000))
      for (const Grant& grant : deal.grants) {
        ++granted[grant.tenant.value - 1];
        ++sum;
      }
  }
  return granted;
}

}  // namespace

TEST_CASE(
    "in every state capacity, labels, max, gangs, credits and nets are kept, and nobody waits "
    "who could start",
    "[property][states]") {
  constexpr std::uint64_t kStatesOfCluster = 10;
  const std::uint64_t states = states_to_look_at(3000);
  std::uint64_t granted = 0, grown = 0, gangs = 0, looked_at = 0, grown_shares = 0;
  std::uint64_t gangs_on_gpus = 0, gangs_on_gpus_looked_at = 0;
  for (std::uint64_t seed = 1; seed <= (states + kStatesOfCluster - 1) / kStatesOfCluster; ++seed) {
    INFO("seed " << seed);
    Cluster cluster(seed);
    for (std::uint64_t i = 0; i < kStatesOfCluster; ++i) cluster.next_state();
    granted += cluster.granted();
    grown += cluster.grown();
    gangs += cluster.gangs();
    looked_at += cluster.waiting_looked_at();
    grown_shares += cluster.grown_shares();
    gangs_on_gpus += cluster.gangs_on_gpus();
    gangs_on_gpus_looked_at += cluster.gangs_on_gpus_looked_at();
  }
  CHECK(granted > states);
  CHECK(grown > states / 20);
  CHECK(gangs > states / 20);
  CHECK(looked_at > states / 2);
  CHECK(grown_shares > states / 200);
  CHECK(gangs_on_gpus > states / 60);
  CHECK(gangs_on_gpus_looked_at > states / 30);
}

TEST_CASE("by share nobody prefers another's grant, or gains by overstating, by more than a task",
          "[property][states]") {
  const std::uint64_t states = states_to_look_at(1000);
  std::uint64_t envied = 0, overstated = 0;
  for (std::uint64_t seed = 1; seed <= states; ++seed) {
    Draw draw(seed);
    const auto capacity = draw.in<Amount>(8, 60);
    std::vector<Wish> wishes;
    for (auto tenants = draw.in(2, 5); tenants > 0; --tenants)
      wishes.push_back({draw.in<Amount>(1, 8), draw.in(1, 20)});
    const auto granted = granted_tasks(capacity, wishes);
    std::string story = "seed " + std::to_string(seed) + ", room " + std::to_string(capacity) + ":";
    for (std::size_t i = 0; i < wishes.size(); ++i)
      story += " " + std::to_string(granted[i]) + " of " + std::to_string(wishes[i].tasks) +
               " by " + std::to_string(wishes[i].size) + ",";
    INFO(story);
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      if (granted[i] == wishes[i].tasks) continue;
      for (std::size_t j = 0; j < wishes.size(); ++j) {
        if (j == i || granted[j] == 0) continue;
        const Amount other = wishes[j].size * (granted[j] - 1);
        REQUIRE(other / wishes[i].size <= granted[i]);
        ++envied;
      }
    }
    const std::size_t liar = draw.in<std::size_t>(0, static_cast<std::int64_t>(wishes.size()) - 1);
    auto lies = wishes;
    lies[liar].tasks += draw.in(1, 30);
    REQUIRE(std::min(granted_tasks(capacity, lies)[liar], wishes[liar].tasks) <= granted[liar]);
    lies = wishes;
    lies[liar].size += draw.in<Amount>(1, 8);
    if (granted[liar] < wishes[liar].tasks) ++overstated;
    // Tasks are whole: what it may win is the room of one task of another that no longer fits.
    Amount largest_of_others = 0;
    for (std::size_t i = 0; i < wishes.size(); ++i)
      if (i != liar) largest_of_others = std::max(largest_of_others, wishes[i].size);
    const Amount won =
        (Amount{granted_tasks(capacity, lies)[liar]} - granted[liar]) * wishes[liar].size;
    REQUIRE(won <= largest_of_others);
  }
  CHECK(envied > states / 2);
  CHECK(overstated > states / 4);
}

}  // namespace fairwater::test::states
