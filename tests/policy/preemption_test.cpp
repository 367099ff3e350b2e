// Preemption: whose room may be taken, how little of it, and that it comes to an end.
#include <map>
#include <random>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "policy/allocator/deal_cycle.hpp"

namespace fairwater::test {
namespace {

constexpr std::int64_t kWhile_ms = 30'000;

/// Jobs of single tasks that run until they are told to end or are done, around a cycle.
class PreemptionModel {
 public:
  struct Job {
    TenantId tenant;
    ResourceVector demand;
    PreemptionTerms preemption;
    bool is_gang = false;
    std::map<std::uint32_t, std::uint32_t> waiting;  ///< attempts by index
  };
  struct Running {
    NodeId node;
    Grant grant;
    std::int64_t since_ms = 0;
    bool told_to_end = false;
  };

  PreemptionModel() : cycle(Allocator(default_settings())) {}

  void tenant(std::uint32_t id, const TenantTerms& terms = {}) {
    cycle.set_tenant(TenantId{id}, terms);
    terms_[TenantId{id}] = terms;
  }
  void node(std::uint32_t id, const ResourceVector& capacity) {
    cycle.set_node(NodeId{id}, {}, capacity, true);
    capacity_ += capacity;
  }
  JobId submit(std::uint32_t tenant, std::uint32_t tasks, const ResourceVector& demand,
               PreemptionTerms preemption = {.priority = 0, .is_preemptible = true}) {
    const JobId id{++last_job_};
    Job job{TenantId{tenant}, demand, preemption, false, {}};
    for (std::uint32_t i = 0; i < tasks; ++i) job.waiting[i] = 1;
    jobs_[id] = std::move(job);
    send_window(TenantId{tenant});
    return id;
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
  [[nodiscard]] std::size_t running_of(JobId job) const {
    std::size_t count = 0;
    for (const auto& [key, task] : running_) count += key.job == job;
    return count;
  }
  [[nodiscard]] const std::map<TaskKey, Running>& running() const { return running_; }

  DealCycle cycle;

 private:
  void send_window(TenantId tenant) {
    DemandWindow window{.tenant = tenant,
                        .next = {},
                        .pending = {},
                        .pending_tasks = 0,
                        .seen_deal = cycle.last_deal()};
    for (const auto& [id, job] : jobs_) {
      if (job.tenant != tenant) continue;
      for (const auto& [index, attempt] : job.waiting) {
        window.next.push_back({.job = id,
                               .first_index = index,
                               .attempt = attempt,
                               .demand = job.demand,
                               .rule = nullptr,
                               .preemption = job.preemption});
        window.pending += job.demand;
        ++window.pending_tasks;
      }
    }
    cycle.take_window(window);
  }
  void take(const Deal& deal) {
    std::set<TenantId> changed;
    for (const Grant& grant : deal.grants) {
      REQUIRE(jobs_.at(grant.task.job).waiting.erase(grant.task.index) == 1);
      REQUIRE(running_.emplace(grant.task, Running{deal.node, grant, now_ms_, false}).second);
      changed.insert(grant.tenant);
    }
    for (const TenantId tenant : changed) send_window(tenant);
  }
  [[nodiscard]] ResourceVector held(TenantId tenant) const {
    ResourceVector held;
    for (const auto& [key, task] : running_)
      if (task.grant.tenant == tenant && !task.told_to_end) held += task.grant.demand;
    return held;
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
    REQUIRE(claimant.preemption.preempts);
    REQUIRE(claimant.tenant == reclaim.claimant);
    REQUIRE(claimant.tenant != job.tenant);
    REQUIRE(job.preemption.priority < claimant.preemption.priority);
    REQUIRE(now_ms_ - task.since_ms >= kWhile_ms);
    const ResourceVector quota = cycle.tenant(job.tenant).quota;
    const ResourceVector before = held(job.tenant);
    REQUIRE(before[kCpu] > quota[kCpu]);
    REQUIRE(before[kCpu] - task.grant.demand[kCpu] >= terms_.at(job.tenant).min[kCpu]);
  }

  std::map<TenantId, TenantTerms> terms_;
  ResourceVector capacity_;
  std::map<JobId, Job> jobs_;
  std::map<TaskKey, Running> running_;
  std::uint64_t last_job_ = 0;
  std::int64_t now_ms_ = 1'000'000;
};

constexpr PreemptionTerms kUrgent{.priority = 5, .preempts = true, .is_preemptible = true};

/// Tenant 1 has borrowed all of two nodes of four processors.
PreemptionModel borrowed(const TenantTerms& borrower = {},
                         PreemptionTerms theirs = {.priority = 0, .is_preemptible = true}) {
  PreemptionModel model;
  model.cycle.pass_to(1'000'000);
  model.tenant(1, borrower);
  model.tenant(2);
  model.node(1, cpu(4000));
  model.node(2, cpu(4000));
  model.submit(1, 8, cpu(1000), theirs);
  REQUIRE(model.run().empty());
  REQUIRE(model.running().size() == 8);
  return model;
}

TEST_CASE("who is within quota and urgent takes what others run beyond theirs",
          "[unit][preemption]") {
  PreemptionModel model = borrowed();
  const JobId urgent = model.submit(2, 5, cpu(1000), kUrgent);
  CHECK(model.run().empty());  // nobody has run for long enough
  model.pass(kWhile_ms);
  const auto reclaims = model.run();
  CHECK(reclaims.size() == 4);  // its part; the fifth waits
  CHECK(model.run().empty());
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.running_of(urgent) == 4);
  model.pass(10 * kWhile_ms);
  CHECK(model.run().empty());
}

TEST_CASE("who does not preempt, or is not more urgent, waits", "[unit][preemption]") {
  PreemptionModel plain = borrowed();
  plain.submit(2, 1, cpu(1000), {.priority = 5, .is_preemptible = true});
  plain.pass(kWhile_ms);
  CHECK(plain.run().empty());
  PreemptionModel equal = borrowed({}, {.priority = 5, .is_preemptible = true});
  equal.submit(2, 1, cpu(1000), kUrgent);
  equal.pass(kWhile_ms);
  CHECK(equal.run().empty());
  PreemptionModel kept = borrowed({}, {.priority = 0, .is_preemptible = false});
  kept.submit(2, 1, cpu(1000), kUrgent);
  kept.pass(kWhile_ms);
  CHECK(kept.run().empty());
}

TEST_CASE("nothing within a tenant's min is preempted", "[unit][preemption]") {
  // Of the eighth processor half is the other's.
  PreemptionModel model = borrowed({.min = cpu(7000)});
  model.submit(2, 4, cpu(500), kUrgent);
  model.pass(kWhile_ms);
  CHECK(model.run().size() == 1);
  PreemptionModel guarded = borrowed({.min = cpu(7500)});
  guarded.submit(2, 4, cpu(100), kUrgent);
  guarded.pass(kWhile_ms);
  CHECK(guarded.run().empty());
}

TEST_CASE("the smallest set goes, the youngest of it first", "[unit][preemption]") {
  PreemptionModel model;
  model.cycle.pass_to(1'000'000);
  model.tenant(1);
  model.tenant(2);
  model.node(1, cpu(4000));
  model.node(2, cpu(4000));
  const JobId small = model.submit(1, 4, cpu(1000));
  model.run();
  model.pass(10);
  const JobId large = model.submit(1, 1, cpu(4000));
  model.run();
  REQUIRE(model.running_of(small) == 4);
  REQUIRE(model.running_of(large) == 1);
  model.submit(2, 1, cpu(3000), kUrgent);
  model.pass(kWhile_ms);
  const auto reclaims = model.run();
  REQUIRE(reclaims.size() == 1);  // one large one instead of three small ones
  CHECK(reclaims[0].task.job == large);
}

TEST_CASE("what has grown goes before anything is preempted", "[unit][preemption]") {
  PreemptionModel model = borrowed();
  // One of the eight ends, and an elastic job grows there.
  const TaskKey first = model.running().begin()->first;
  model.end(first, false);
  DemandWindow growing{
      .tenant = TenantId{1},
      .next = {},
      .growth = {{.job = JobId{77}, .count = 1, .demand = cpu(1000), .rule = nullptr}},
      .pending = {},
      .pending_tasks = 0,
      .seen_deal = model.cycle.last_deal()};
  model.cycle.take_window(growing);
  REQUIRE(model.cycle.run(10).size() == 1);
  model.submit(2, 1, cpu(1000), kUrgent);
  model.pass(kWhile_ms);
  (void)model.cycle.run(10);
  const auto reclaims = model.cycle.take_reclaims();
  REQUIRE(reclaims.size() == 1);
  CHECK(reclaims[0].task.job == JobId{77});
  CHECK_FALSE(reclaims[0].preempted);
}

TEST_CASE("preemption comes to an end, whatever is asked for", "[property][preemption]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint64_t from, std::uint64_t to) {
      return from + random() % (to - from + 1);
    };
    PreemptionModel model;
    model.cycle.pass_to(1'000'000);
    const auto tenants = static_cast<std::uint32_t>(draw(2, 4));
    for (std::uint32_t id = 1; id <= tenants; ++id) {
      TenantTerms terms;
      terms.weight = static_cast<Weight>(draw(1, 5));
      if (draw(0, 3) == 0) terms.min = cpu(static_cast<Amount>(draw(1, 2)) * 1000);
      model.tenant(id, terms);
    }
    for (std::uint32_t id = 1; id <= draw(1, 3); ++id)
      model.node(id, cpu(static_cast<Amount>(draw(2, 8)) * 1000));
    for (int step = 0; step < 20; ++step) {
      model.submit(static_cast<std::uint32_t>(draw(1, tenants)),
                   static_cast<std::uint32_t>(draw(1, 6)),
                   cpu(static_cast<Amount>(draw(1, 4)) * 500),
                   {.priority = static_cast<std::int32_t>(draw(0, 3)),
                    .preempts = draw(0, 1) == 0,
                    .is_preemptible = draw(0, 4) > 0});
      if (draw(0, 2) == 0 && !model.running().empty()) {
        const TaskKey done = model.running().begin()->first;
        model.end(done, model.running().begin()->second.told_to_end);
      }
      model.pass(static_cast<std::int64_t>(draw(0, 40'000)));
      model.run();
      if (draw(0, 1) == 0) model.end_reclaimed();
    }
    // Requests stay as they are, and nothing ends but what is told to: in the end nothing is.
    int rounds = 0;
    for (int quiet = 0; quiet < 2; ++rounds) {
      REQUIRE(rounds < 200);
      model.end_reclaimed();
      model.pass(kWhile_ms);
      quiet = model.run().empty() ? quiet + 1 : 0;
    }
  }
}

}  // namespace
}  // namespace fairwater::test
