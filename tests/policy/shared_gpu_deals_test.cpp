// GPUs that tasks share in thousandths: on which node a task runs, and that nobody waits for ever
// for an empty one.
#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "policy/allocator/deal_cycle.hpp"
#include "shared_gpus.hpp"

namespace fairwater::test::gpus {
namespace {

/// Tasks with and without limits on nodes that share GPUs, dealt by the coordinator's own cycle.
class Sharing {
 public:
  explicit Sharing(const AllocatorSettings& settings) : cycle_(Allocator(settings)) {}

  void tenant(std::uint32_t id, const ResourceVector& min = {}) {
    TenantTerms terms;
    terms.min = min;
    cycle_.set_tenant(TenantId{id}, terms);
  }
  void node(std::uint32_t id, std::size_t gpus) {
    gpus_[NodeId{id}] = gpus;
    cycle_.set_node(NodeId{id}, node_sharing(gpus, "node" + std::to_string(id)), capacity_of(gpus),
                    true);
    cycle_.beat(NodeId{id});
  }
  JobId submit(std::uint32_t tenant, const ResourceVector& demand, std::int64_t run_ms,
               std::int64_t late_in_ms = kNeverLate, const Names& names = {}) {
    WaitingRange range;
    range.job = JobId{++last_job_};
    range.demand = demand;
    range.limit_ms = range.expected_ms = run_ms;
    range.late_in_ms = late_in_ms;
    if (!names.empty()) {
      PlacementRule rule;
      rule.devices = names;
      range.rule = std::make_shared<const PlacementRule>(rule);
    }
    waiting_[tenant].push_back(range);
    return range.job;
  }
  /// Deals until nothing is due; every grant is checked.
  void deal() {
    for (auto& [tenant, ranges] : waiting_) {
      DemandWindow window;
      window.tenant = TenantId{tenant};
      window.next = {ranges.begin(), ranges.end()};
      window.seen_deal = cycle_.last_deal();
      for (const WaitingRange& range : ranges) window.pending += range.demand;
      window.pending_tasks = ranges.size();
      cycle_.take_window(std::move(window));
    }
    while (cycle_.is_due())
      for (const Deal& deal : cycle_.run(1000))
        for (const Grant& grant : deal.grants) note(deal.node, grant);
  }
  void pass_to(std::int64_t ms) {
    now_ms_ = ms;
    cycle_.pass_to(ms);
    for (auto& [tenant, ranges] : waiting_)
      for (WaitingRange& range : ranges)
        if (range.late_in_ms != kNeverLate) range.late_in_ms -= ms - last_ms_;
    last_ms_ = ms;
    std::vector<TaskKey> over;
    for (const auto& [task, held] : held_)
      if (held.run.limit_ms > 0 && held.begun_ms + held.run.limit_ms <= ms) over.push_back(task);
    for (const TaskKey& task : over) release(task);
    (void)cycle_.settle_time();
  }
  /// By value: the key is often that of what is taken out.
  void release(TaskKey task) {
    const NodeId on = held_.at(task).node;
    held_.erase(task);
    CHECK(cycle_.release(task));
    cycle_.beat(on);
  }
  void release_all() {
    while (!held_.empty()) release(held_.begin()->first);
  }

  struct Held {
    NodeId node;
    Grant grant;
    PlannedRun run;
    std::int64_t begun_ms = 0;
  };
  [[nodiscard]] const std::map<TaskKey, Held>& held() const { return held_; }
  [[nodiscard]] const Held* held_of(JobId job) const {
    const auto found = held_.find(TaskKey{job, 0, 1});
    return found == held_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool waits(std::uint32_t tenant) const {
    const auto found = waiting_.find(tenant);
    return found != waiting_.end() && !found->second.empty();
  }
  [[nodiscard]] std::size_t waiting(std::uint32_t tenant) const {
    return waits(tenant) ? waiting_.at(tenant).size() : 0;
  }
  [[nodiscard]] const Allocator& allocator() const { return cycle_.allocator(); }

  /// By looking at every GPU of every node.
  [[nodiscard]] std::map<std::string, Amount> taken_on(NodeId node) const {
    std::map<std::string, Amount> taken;
    for (const auto& [task, held] : held_)
      if (held.node == node)
        for (const std::string& name : held.grant.devices)
          taken[name] += std::min(held.grant.demand[kGpuMilli], kMilliPerGpu);
    return taken;
  }
  [[nodiscard]] bool could_start_somewhere() const {
    for (const auto& [tenant, ranges] : waiting_)
      for (const WaitingRange& range : ranges)
        for (const auto& [node, gpus] : gpus_)
          if (could_start(node, gpus, range)) return true;
    return false;
  }
  /// As after a restart.
  void restart(const AllocatorSettings& settings, std::uint32_t tenants) {
    Allocator anew{settings};
    for (std::uint32_t id = 1; id <= tenants; ++id) anew.set_tenant(TenantId{id}, {});
    for (const auto& [node, gpus] : gpus_)
      anew.set_node(node, node_sharing(gpus, "node" + std::to_string(node.value)),
                    capacity_of(gpus), true);
    std::vector<HeldTask> tasks;
    for (const auto& [task, held] : held_) {
      PlannedRun run = held.run;
      run.ran_ms = now_ms_ - held.begun_ms;
      tasks.push_back({held.node, held.grant, run});
    }
    anew.restore_held(tasks);
    anew.restore_last_deal(cycle_.last_deal());
    anew.pass_to(now_ms_);
    for (const auto& [node, gpus] : gpus_)
      CHECK(anew.node(node).device_holders == cycle_.node(node).device_holders);
  }

 private:
  [[nodiscard]] bool could_start(NodeId node, std::size_t gpus, const WaitingRange& range) const {
    if (!range.demand.fits(cycle_.node(node).free)) return false;
    const Amount milli = range.demand[kGpuMilli];
    const Amount each = std::min(milli, kMilliPerGpu);
    auto taken = taken_on(node);
    Amount enough = 0;
    for (std::size_t i = 0; i < gpus; ++i)
      if (taken["gpu" + std::to_string(i)] + each <= kMilliPerGpu) enough += each;
    if (range.rule != nullptr)
      for (const std::string& name : range.rule->devices)
        if (std::stoul(name.substr(3)) >= gpus || taken[name] + each > kMilliPerGpu) return false;
    return enough >= milli;
  }

  void note(NodeId node, const Grant& grant) {
    const Amount milli = grant.demand[kGpuMilli];
    const auto count = static_cast<std::size_t>((milli + kMilliPerGpu - 1) / kMilliPerGpu);
    CHECK(grant.devices.size() == count);
    CHECK(grant.placement == Placement::unset);
    const auto taken = taken_on(node);
    for (const std::string& name : grant.devices) {
      const auto known = taken.find(name);
      const Amount before = known == taken.end() ? 0 : known->second;
      CHECK(before + std::min(milli, kMilliPerGpu) <= kMilliPerGpu);
      CHECK(std::stoul(name.substr(3)) < gpus_.at(node));
    }
    auto& ranges = waiting_.at(grant.tenant.value);
    const auto range = std::find_if(ranges.begin(), ranges.end(), [&](const WaitingRange& waiting) {
      return waiting.job == grant.task.job;
    });
    REQUIRE(range != ranges.end());
    if (range->rule != nullptr)
      for (const std::string& name : range->rule->devices)
        CHECK(std::count(grant.devices.begin(), grant.devices.end(), name) == 1);
    held_.emplace(grant.task,
                  Held{node, grant, {range->limit_ms, range->expected_ms, 0, false}, now_ms_});
    ranges.erase(range);
  }

  DealCycle cycle_;
  std::map<NodeId, std::size_t> gpus_;
  std::map<std::uint32_t, std::deque<WaitingRange>> waiting_;
  std::map<TaskKey, Held> held_;
  std::uint64_t last_job_ = 0;
  std::int64_t now_ms_ = 0;
  std::int64_t last_ms_ = 0;
};

}  // namespace

TEST_CASE("parts fill the GPUs that others have begun, also on other nodes",
          "[unit][devices][shares]") {
  for (const AllocationRule rule : {AllocationRule::sequence, AllocationRule::drf}) {
    Sharing cluster(sharing(Accounting::units, rule));
    cluster.tenant(1);
    for (std::uint32_t node = 1; node <= 3; ++node) cluster.node(node, 2);
    for (const Amount milli : {600, 700, 400, 300}) {
      (void)cluster.submit(1, share(milli), 0);
      cluster.deal();
    }
    REQUIRE(cluster.held().size() == 4);
    // 600 and 400 are one GPU, 700 and 300 another.
    std::map<std::pair<NodeId, std::string>, Amount> taken;
    for (const auto& [task, held] : cluster.held())
      taken[{held.node, held.grant.devices.at(0)}] += held.grant.demand[kGpuMilli];
    CHECK(taken.size() == 2);
    for (const auto& [gpu, amount] : taken) CHECK(amount == kMilliPerGpu);
    const JobId whole = cluster.submit(1, share(2000), 0);
    cluster.deal();
    REQUIRE(cluster.held_of(whole) != nullptr);
    CHECK(cluster.held_of(whole)->grant.devices.size() == 2);
    CHECK_FALSE(cluster.allocator().could_ever_fit(share(3000), nullptr));
    CHECK(cluster.allocator().could_ever_fit(share(2000), nullptr));
  }
}

TEST_CASE("who waits for a part or a whole GPU hears what is free", "[unit][devices][shares]") {
  Sharing cluster(sharing());
  cluster.tenant(1);
  cluster.node(1, 2);
  for (int i = 0; i < 2; ++i) (void)cluster.submit(1, share(600), 0);
  cluster.deal();
  const auto said = [&](Amount milli) {
    const JobId job = cluster.submit(1, share(milli), 0);
    cluster.deal();
    for (const Obstacle& obstacle : cluster.allocator().explain_waiting(TenantId{1}, job, 0))
      if (obstacle.code == "device") return obstacle.message;
    return std::string{};
  };
  CHECK(said(500) ==
        "it asks for 500 thousandths of one gpu, the most free of any one is 400 (node node1)");
  (void)cluster.submit(1, share(400), 0);
  CHECK(said(1000).empty());  // all in all too little is free
  const auto obstacles = cluster.allocator().explain_waiting(TenantId{1}, JobId{5}, 0);
  CHECK(std::any_of(obstacles.begin(), obstacles.end(),
                    [](const Obstacle& known) { return known.code == "node_busy"; }));
}

TEST_CASE("no shared GPU is given beyond 1000, whole ones are empty, and nothing that fits waits",
          "[property][devices][shares]") {
  constexpr std::uint32_t kTenants = 2;
  std::size_t grants = 0;
  for (std::uint64_t seed = 1; seed <= 90; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    const bool is_drf = seed % 3 == 0;
    const AllocatorSettings settings =
        sharing(seed % 3 == 1 ? Accounting::time : Accounting::units,
                is_drf ? AllocationRule::drf : AllocationRule::sequence);
    Sharing cluster(settings);
    for (std::uint32_t id = 1; id <= kTenants; ++id) cluster.tenant(id);
    for (std::uint32_t node = 1; node <= 3; ++node) cluster.node(node, 1 + below(4));
    cluster.node(4, 4);
    std::int64_t now_ms = 0;
    for (int step = 0; step < 60; ++step) {
      const auto tenant = static_cast<std::uint32_t>(1 + below(kTenants));
      if (cluster.waiting(tenant) < 6) {
        const Amount milli = below(4) == 0 ? 1000 * static_cast<Amount>(1 + below(2))
                                           : static_cast<Amount>(1 + below(999));
        const Names names =
            milli <= 1000 && below(6) == 0 ? Names{"gpu" + std::to_string(below(4))} : Names{};
        (void)cluster.submit(tenant, share(milli, static_cast<Amount>(100 + below(900))),
                             static_cast<std::int64_t>(below(4) * 1000),
                             below(3) == 0 ? 3000 : kNeverLate, names);
      }
      cluster.deal();
      if (is_drf) CHECK_FALSE(cluster.could_start_somewhere());
      now_ms += static_cast<std::int64_t>(below(700));
      cluster.pass_to(now_ms);
      if (!cluster.held().empty() && below(2) == 0)
        cluster.release(std::next(cluster.held().begin(),
                                  static_cast<std::ptrdiff_t>(below(cluster.held().size())))
                            ->first);
      if (below(10) == 0) cluster.restart(settings, kTenants);
    }
    grants += cluster.held().size();
    // Whoever waits is served when others end.
    for (int round = 0; round < 40 && (cluster.waits(1) || cluster.waits(2)); ++round) {
      cluster.release_all();
      now_ms += 1000;
      cluster.pass_to(now_ms);
      cluster.deal();
    }
    CHECK_FALSE((cluster.waits(1) || cluster.waits(2)));
  }
  CHECK(grants > 100);
}

TEST_CASE("parts that keep coming do not keep a whole GPU back for ever",
          "[unit][devices][shares]") {
  constexpr std::int64_t kRun_ms = 10'000;
  for (const bool is_late : {false, true})
    for (const Accounting accounting : {Accounting::units, Accounting::time}) {
      INFO("accounting " << to_string(accounting) << ", late " << is_late);
      Sharing cluster(sharing(accounting));
      cluster.tenant(1);
      cluster.tenant(2);
      cluster.node(1, 2);
      JobId whole{};
      std::optional<std::int64_t> started_ms;
      std::int64_t submitted_ms = 0;
      for (std::int64_t now_ms = 0; now_ms < 20 * kRun_ms && !started_ms; now_ms += 500) {
        cluster.pass_to(now_ms);
        // Each ends at another time than the others.
        while (cluster.waiting(2) < 6) (void)cluster.submit(2, share(500), kRun_ms);
        if (now_ms == 3 * kRun_ms) {
          whole = cluster.submit(1, share(1000), kRun_ms, is_late ? 1000 : kNeverLate);
          submitted_ms = now_ms;
        }
        if (now_ms % 2500 == 0 || now_ms > 4000) cluster.deal();
        if (cluster.held_of(whole) != nullptr) started_ms = now_ms;
      }
      REQUIRE(started_ms);
      CHECK(*started_ms - submitted_ms <= 2 * kRun_ms);
    }
}

TEST_CASE("beside the GPU that is kept for a whole one parts go on", "[unit][devices][shares]") {
  Sharing cluster(sharing(Accounting::time));
  cluster.tenant(1);
  cluster.tenant(2);
  cluster.node(1, 2);
  // One GPU is free of others in 10 s, the other in 40 s.
  const JobId short_one = cluster.submit(2, share(600), 10'000);
  const JobId long_one = cluster.submit(2, share(600), 40'000);
  cluster.deal();
  REQUIRE(cluster.held().size() == 2);
  const Names early = cluster.held_of(short_one)->grant.devices;
  const Names late = cluster.held_of(long_one)->grant.devices;
  CHECK(early != late);
  const JobId whole = cluster.submit(1, share(1000), 10'000);
  cluster.deal();
  CHECK(cluster.held_of(whole) == nullptr);
  // It would hold the kept one for too long, and gets the other; what ends in time gets any.
  const JobId beside = cluster.submit(2, share(300), 30'000);
  cluster.deal();
  REQUIRE(cluster.held_of(beside) != nullptr);
  CHECK(cluster.held_of(beside)->grant.devices == late);
  const JobId too_long = cluster.submit(2, share(300), 30'000);
  cluster.deal();
  CHECK(cluster.held_of(too_long) == nullptr);
  const JobId in_time = cluster.submit(2, share(400), 9'000);
  cluster.deal();
  REQUIRE(cluster.held_of(in_time) != nullptr);
  CHECK(cluster.held_of(in_time)->grant.devices == early);
  cluster.pass_to(10'000);
  cluster.deal();
  REQUIRE(cluster.held_of(whole) != nullptr);
  CHECK(cluster.held_of(whole)->grant.devices == early);
}

TEST_CASE("a guarantee comes before the place of a whole GPU", "[unit][devices][shares]") {
  Sharing cluster(sharing(Accounting::time));
  cluster.tenant(1);
  cluster.tenant(2);
  cluster.tenant(3, share(300));
  cluster.node(1, 1);
  (void)cluster.submit(2, share(600), 10'000);
  cluster.deal();
  const JobId whole = cluster.submit(1, share(1000), 10'000);
  cluster.deal();
  CHECK(cluster.held_of(whole) == nullptr);
  const JobId beyond_its_start = cluster.submit(2, share(300), 30'000);
  cluster.deal();
  CHECK(cluster.held_of(beyond_its_start) == nullptr);
  const JobId guaranteed = cluster.submit(3, share(300), 30'000);
  cluster.deal();
  CHECK(cluster.held_of(guaranteed) != nullptr);
}

TEST_CASE("no room is kept for a GPU that services share for ever", "[unit][devices][shares]") {
  const auto accounting = GENERATE(Accounting::units, Accounting::time);
  const auto placement = GENERATE(Placement::unset, Placement::in_turn);
  Allocator allocator{sharing(accounting)};
  allocator.set_tenant(TenantId{1}, {});
  allocator.set_tenant(TenantId{2}, {});
  allocator.set_node(NodeId{1}, node_sharing(2), capacity_of(2), true);
  std::vector<HeldTask> services;
  for (std::uint32_t i = 0; i < 2; ++i) {
    Grant grant;
    grant.task = {JobId{90}, i, 1};
    grant.tenant = TenantId{1};
    grant.demand = share(400);
    grant.devices = {"gpu" + std::to_string(i)};
    services.push_back({NodeId{1}, grant, {0, 0, 0, true}});
  }
  allocator.restore_held(services);
  const auto offer = [&](std::uint32_t tenant, JobId job, Amount milli) {
    WaitingRange range;
    range.job = job;
    range.demand = share(milli);
    range.placement = placement;
    DemandWindow window;
    window.tenant = TenantId{tenant};
    window.next = {range};
    window.pending = range.demand;
    window.pending_tasks = 1;
    window.seen_deal = allocator.last_deal();
    allocator.set_window(window);
  };
  offer(1, JobId{1}, 1000);
  (void)allocator.deal(NodeId{1});
  CHECK_FALSE(allocator.node(NodeId{1}).reserved_for);
  offer(2, JobId{2}, 600);
  const auto deal = allocator.deal(NodeId{1});
  REQUIRE(deal);
  REQUIRE(deal->grants.size() == 1);
  CHECK(deal->grants[0].task.job == JobId{2});
  const auto why = allocator.explain_waiting(TenantId{1}, JobId{1}, 0);
  REQUIRE_FALSE(why.empty());
  CHECK(std::any_of(why.begin(), why.end(), [](const Obstacle& obstacle) {
    return obstacle.message.find("services hold too much") != std::string::npos;
  }));
}

}  // namespace fairwater::test::gpus
