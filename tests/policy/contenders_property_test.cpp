// A deal looks at few of those who wait. Against one that looks at all of them: the same deals,
// settlements, reclaims, places and marks, whatever happens.
//
// FAIRWATER_STATES=N looks at N states; by default at as many as take seconds.
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "policy/allocator/deal_cycle.hpp"

namespace fairwater::test::contenders {
namespace {

/// A cluster dealt twice, by a cycle that looks at few and one that looks at all.
class Twins {
 public:
  Twins(std::uint64_t seed, Accounting accounting)
      : random_(seed),
        accounting_(accounting),
        few_(Allocator(settings(false))),
        all_(Allocator(settings(true))) {
    are_alike_ = one_in(2);
    have_rules_ = one_in(3);
    are_often_late_ = one_in(3);
    settles_each_ = one_in(2) ? 5 : 50;
    scale_ = one_in(4) ? 1 : 500;
    const std::uint64_t groups = one_in(2) ? draw(1, 4) : 0;
    for (std::uint32_t id = 1; id <= groups; ++id) set_group(id);
    for (std::uint64_t tenants = draw(2, one_in(3) ? 60 : 12); last_tenant_ < tenants;) join();
    for (std::uint64_t nodes = draw(1, one_in(3) ? 60 : 6); last_node_ < nodes;)
      set_node(++last_node_);
  }

  /// Something happens.
  void step() {
    const std::uint64_t what = draw(1, 100);
    if (what <= 30)
      end_some();
    else if (what <= 55)
      submit(any_tenant());
    else if (what <= 65)
      send_window(any_tenant());
    else if (what <= 72)
      both([&, node = any_node()](DealCycle& cycle) { cycle.beat(node); });
    else if (what <= 76)
      set_node(any_node().value);
    else if (what <= 80)
      withdraw(any_tenant());
    else if (what <= 84)
      set_terms(any_tenant());
    else if (what <= 86)
      set_some_group();
    else if (what <= 89)
      forgive(any_tenant());
    else if (what <= 91)
      move_nodes();
    else if (what <= 93)
      move_tenants();
    else if (what <= 94)
      both([](DealCycle& cycle) { cycle = DealCycle(cycle); });
    else
      both([](DealCycle& cycle) { cycle.consider_all_nodes(); });
    pass_time();
  }

  /// What both did, and how it stands afterwards.
  void run_and_compare() {
    const std::size_t most_deals = one_in(3) ? draw(1, 3) : 1000;
    const std::vector<Deal> deals = few_.run(most_deals, 100'000);
    REQUIRE(all_.run(most_deals, 100'000) == deals);
    const std::vector<Reclaim> reclaims = few_.take_reclaims();
    REQUIRE(all_.take_reclaims() == reclaims);
    take(deals);
    for (const Reclaim& reclaim : reclaims)
      if (one_in(2)) end(reclaim.task);
    compare_state();
  }
  [[nodiscard]] std::uint64_t grants() const { return grants_; }

 private:
  AllocatorSettings settings(bool looks_at_all) {
    AllocatorSettings settings = default_settings();
    // Both alike: the first is made before anything else is drawn.
    if (!looks_at_all) {
      predict_ = one_in(3) ? Predict::history : Predict::limits;
      growth_ = one_in(2) ? GrowthRule::qrea : GrowthRule::crea;
      backups_ = static_cast<std::uint32_t>(draw(1, 3));
      if (accounting_ == Accounting::units && one_in(4)) mode_ = DealMode::slots;
    }
    settings.accounting = accounting_;
    settings.mode = mode_;
    settings.predict = predict_;
    settings.growth = growth_;
    settings.backups = backups_;
    settings.looks_at_all = looks_at_all;
    settings.preempt_after_ms = 500;
    return settings;
  }
  std::uint64_t draw(std::uint64_t from, std::uint64_t to) {
    return from + random_() % (to - from + 1);
  }
  bool one_in(std::uint64_t n) { return random_() % n == 0; }
  template <class Map>
  auto any_of(const Map& map) {
    return std::next(map.begin(), static_cast<std::ptrdiff_t>(draw(0, map.size() - 1)));
  }
  TenantId any_tenant() { return any_of(queues_)->first; }
  NodeId any_node() { return any_of(nodes_)->first; }
  Amount amount(std::uint64_t from, std::uint64_t to) {
    return static_cast<Amount>(draw(from, to)) * scale_;
  }
  ResourceVector amounts(std::uint64_t from, std::uint64_t to) {
    ResourceVector some = cpu_memory(amount(from, to), amount(from, to));
    if (are_alike_) some[kMemory] = some[kCpu];
    return some;
  }
  template <class Event>
  void both(Event&& event) {
    event(few_);
    event(all_);
  }

  // -- what happens ------------------------------------------------------------------------------

  void set_group(std::uint32_t id) {
    if (groups_ < id) {
      places_.push_back(GroupId{static_cast<std::uint32_t>(draw(0, groups_))});
      groups_ = id;
    }
    GroupTerms terms;
    terms.place = {.group = places_[id - 1], .weight = static_cast<Weight>(draw(1, 9))};
    terms.place.own_weights = own_weights();
    if (one_in(3)) terms.min[kCpu] = amount(0, 10);
    if (one_in(3)) terms.max = amounts(4, 40);
    terms.rights.may_borrow = !one_in(4);
    both([&](DealCycle& cycle) { cycle.allocator().set_group(GroupId{id}, terms); });
  }
  ResourceWeights own_weights() {
    ResourceWeights weights{};
    for (const std::size_t r : {kCpu, kMemory})
      if (one_in(4)) weights[r] = static_cast<Weight>(draw(1, 9));
    return weights;
  }
  void set_some_group() {
    if (groups_ > 0) set_group(static_cast<std::uint32_t>(draw(1, groups_)));
  }
  void join() {
    const TenantId tenant{++last_tenant_};
    queues_[tenant];
    if (groups_ > 0) home_of_[tenant] = GroupId{static_cast<std::uint32_t>(draw(0, groups_))};
    set_terms(tenant);
  }
  void set_terms(TenantId tenant) {
    TenantTerms terms;
    terms.weight = are_alike_ ? 1 : static_cast<Weight>(draw(1, 9));
    if (one_in(4)) terms.min = cpu(amount(1, 4));
    if (one_in(4)) terms.max = cpu_memory(amount(2, 12), amount(2, 40));
    terms.may_lend = !one_in(5);
    terms.may_borrow = !one_in(5);
    terms.leaving = one_in(8);
    terms.repay_millionths = one_in(2) ? 1'000'000 : static_cast<std::uint32_t>(draw(1, 1'000'000));
    if (groups_ > 0)
      terms.place = {.group = home_of_.at(tenant), .weight = static_cast<Weight>(draw(1, 5))};
    if (one_in(6)) {
      terms.place = place_of(terms);
      terms.place->own_weights = own_weights();
    }
    both([&](DealCycle& cycle) { cycle.set_tenant(tenant, terms); });
  }
  /// One comes, or one goes that may.
  void move_tenants() {
    if (one_in(2)) return join();
    const TenantId tenant = any_tenant();
    if (queues_.size() < 3) return;
    std::erase_if(queues_[tenant], [](const WaitingRange&) { return true; });
    send_window(tenant);
    const TenantView view = few_.tenant(tenant);
    if (view.running_tasks > 0 || view.net < 0) return;
    settle();
    if (few_.tenant(tenant).net < 0) return;
    both([&](DealCycle& cycle) { (void)cycle.allocator().remove_tenant(tenant); });
    queues_.erase(tenant);
    home_of_.erase(tenant);
  }
  void set_node(std::uint32_t id) {
    const auto [node, is_new] = nodes_.try_emplace(NodeId{id});
    if (is_new) {
      node->second.site = one_in(2) ? "a" : "b";
      if (one_in(2)) node->second.labels["disk"] = "ssd";
      capacities_[NodeId{id}] = amounts(2, 10);
    }
    const bool accepts = is_new || !one_in(3);
    both([&](DealCycle& cycle) {
      cycle.set_node(NodeId{id}, node->second, capacities_[NodeId{id}], accepts);
      cycle.beat(NodeId{id});
    });
    if (!one_in(4)) return;
    const auto in_ms = static_cast<LedgerMs>(draw(1, 20)) * 500;
    const auto closes_ms = one_in(3) ? std::nullopt : std::optional(now_ms_ + in_ms);
    both([&](DealCycle& cycle) { cycle.close_node_from(NodeId{id}, closes_ms); });
  }
  /// One comes, or one leaves with what runs there.
  void move_nodes() {
    if (one_in(2) || nodes_.size() < 2) return set_node(++last_node_);
    const NodeId node = any_node();
    std::vector<TaskKey> there;
    for (const auto& [task, on] : running_)
      if (on == node) there.push_back(task);
    for (const TaskKey& task : there) end(task);
    both([&](DealCycle& cycle) { cycle.remove_node(node); });
    nodes_.erase(node);
  }

  void submit(TenantId tenant) {
    for (std::uint64_t jobs = draw(1, 3); jobs > 0; --jobs)
      queues_[tenant].push_back(one_in(3) ? random_job() : usual_job());
    send_window(tenant);
  }
  WaitingRange usual_job() {
    WaitingRange range;
    range.job = JobId{++last_job_};
    range.count = static_cast<std::uint32_t>(draw(1, 12));
    range.demand = are_alike_ ? cpu_memory(scale_, scale_) : amounts(1, 2);
    range.expected_ms = range.limit_ms = static_cast<std::int64_t>(draw(0, 5)) * 1000;
    if (one_in(2)) range.expected_ms = static_cast<std::int64_t>(draw(1, 5000));
    if (range.limit_ms > 0) range.expected_ms = std::min(range.expected_ms, range.limit_ms);
    if (one_in(are_often_late_ ? 1 : 6))
      range.late_in_ms = static_cast<std::int64_t>(draw(0, 9)) * 500;
    range.patience_ms = static_cast<std::int64_t>(draw(0, 4)) * 100;
    return range;
  }
  WaitingRange random_job() {
    WaitingRange range = usual_job();
    if (one_in(2)) range.demand = amounts(0, 6);
    range.is_service = one_in(8);
    range.preemption = {static_cast<std::int32_t>(draw(0, 2)), one_in(6), one_in(3)};
    if (one_in(3)) range.user = one_in(2) ? "ann" : "ben";
    if (!have_rules_) return range;
    range.is_gang = one_in(4);
    if (one_in(3)) {
      PlacementRule rule;
      if (one_in(2))
        rule.sites = one_in(2) ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"};
      if (one_in(2)) rule.labels = std::get<LabelExpression>(LabelExpression::parse("disk"));
      range.rule = std::make_shared<PlacementRule>(rule);
    }
    if (one_in(3)) range.placement = static_cast<Placement>(draw(0, 5));
    if (one_in(6)) range.home = any_node();
    return range;
  }
  void send_window(TenantId tenant) {
    DemandWindow window{.tenant = tenant, .next = {}, .pending = {}};
    for (const WaitingRange& range : queues_[tenant]) {
      window.next.push_back(range);
      window.pending_tasks += range.count;
      window.pending += range.demand * Amount{range.count};
    }
    if (one_in(8) && !window.next.empty()) {
      WaitingRange more = usual_job();
      more.late_in_ms = kNeverLate;
      window.growth.push_back(more);
    }
    window.takes_turns = one_in(4);
    window.seen_deal = few_.last_deal();
    both([&](DealCycle& cycle) { cycle.take_window(window); });
  }
  void withdraw(TenantId tenant) {
    auto& queue = queues_[tenant];
    if (queue.empty()) return;
    const JobId job = queue[draw(0, queue.size() - 1)].job;
    std::erase_if(queue, [&](const WaitingRange& range) { return range.job == job; });
    both([&](DealCycle& cycle) { cycle.allocator().withdraw(tenant, job); });
  }
  void end(TaskKey task) {
    const NodeId node = running_.extract(task).mapped();
    both([&](DealCycle& cycle) {
      REQUIRE(cycle.release(task));
      cycle.beat(node);
    });
  }
  void end_some() {
    for (std::uint64_t i = draw(1, 4); i > 0 && !running_.empty(); --i)
      end(any_of(running_)->first);
  }
  void forgive(TenantId debtor) {
    std::vector<ForgivenDebt> debts;
    for (const IouBook::Iou& iou : few_.allocator().book().debts_of(debtor.value))
      debts.push_back({TenantId{iou.creditor}, (iou.units + 1) / 2});
    if (!debts.empty()) both([&](DealCycle& cycle) { cycle.forgive(debtor, debts); });
  }
  void pass_time() {
    now_ms_ += static_cast<LedgerMs>(draw(0, 400));
    both([&](DealCycle& cycle) { cycle.pass_to(now_ms_); });
    if (one_in(settles_each_)) settle();
    if (!one_in(10)) return;
    const auto period_ms = static_cast<std::int64_t>(draw(1, 2000));
    both([&](DealCycle& cycle) { (void)cycle.settle_credits(period_ms); });
  }
  void settle() {
    const auto settled = few_.settle_time();
    REQUIRE(all_.settle_time() == settled);
  }
  void take(const std::vector<Deal>& deals) {
    for (const Deal& deal : deals)
      for (const Grant& grant : deal.grants) {
        ++grants_;
        running_.emplace(grant.task, deal.node);
        auto& queue = queues_[grant.tenant];
        for (WaitingRange& range : queue) {
          if (range.job != grant.task.job) continue;
          ++range.first_index;
          --range.count;
        }
        std::erase_if(queue, [](const WaitingRange& range) { return range.count == 0; });
      }
  }

  void compare_state() {
    REQUIRE(few_.is_due() == all_.is_due());
    REQUIRE(few_.position() == all_.position());
    for (const auto& [node, traits] : nodes_) {
      REQUIRE(few_.node(node).reserved_for == all_.node(node).reserved_for);
      REQUIRE(few_.node(node).reserved_from_ms == all_.node(node).reserved_from_ms);
    }
    for (const auto& [tenant, queue] : queues_) {
      const TenantView view = few_.tenant(tenant);
      const TenantView other = all_.tenant(tenant);
      REQUIRE(view.deficit == other.deficit);
      REQUIRE(view.net == other.net);
      REQUIRE(view.mark == other.mark);
    }
    const auto starts = few_.allocator().planned_starts();
    const auto others = all_.allocator().planned_starts();
    REQUIRE(starts.size() == others.size());
    for (std::size_t i = 0; i < starts.size(); ++i) {
      REQUIRE(starts[i].job == others[i].job);
      REQUIRE(starts[i].node == others[i].node);
    }
  }

  std::mt19937_64 random_;
  Accounting accounting_;
  DealMode mode_ = DealMode::sized;
  Predict predict_ = Predict::limits;
  GrowthRule growth_ = GrowthRule::qrea;
  std::uint32_t backups_ = 1;
  DealCycle few_;
  DealCycle all_;
  bool are_alike_ = false;   ///< tenants and tasks
  bool have_rules_ = false;  ///< gangs, sites, labels, homes, placement
  bool are_often_late_ = false;
  std::uint64_t settles_each_ = 5;  ///< about so many states
  Amount scale_ = 1;                ///< of amounts: small ones make quotas uneven
  std::uint32_t groups_ = 0;
  std::vector<GroupId> places_;  ///< of groups
  std::map<TenantId, GroupId> home_of_;
  std::map<TenantId, std::vector<WaitingRange>> queues_;
  std::map<NodeId, NodeTraits> nodes_;
  std::map<NodeId, ResourceVector> capacities_;
  std::map<TaskKey, NodeId> running_;
  std::uint32_t last_tenant_ = 0;
  std::uint32_t last_node_ = 0;
  std::uint64_t last_job_ = 0;
  std::uint64_t grants_ = 0;
  LedgerMs now_ms_ = 0;
};

TEST_CASE("a deal that looks at few is the deal that looks at all",
          "[property][allocator][contenders]") {
  constexpr std::uint64_t kStatesOfCluster = 100;
  const Accounting accounting = GENERATE(Accounting::time, Accounting::units);
  const std::uint64_t states = states_to_look_at(20'000);
  std::uint64_t grants = 0;
  for (std::uint64_t seed = 1; seed <= (states + kStatesOfCluster - 1) / kStatesOfCluster; ++seed) {
    INFO("seed " << seed);
    Twins twins(seed, accounting);
    for (std::uint64_t i = 0; i < kStatesOfCluster; ++i) {
      INFO("state " << i);
      twins.step();
      twins.run_and_compare();
    }
    grants += twins.grants();
  }
  CHECK(grants > states);
}

}  // namespace
}  // namespace fairwater::test::contenders
