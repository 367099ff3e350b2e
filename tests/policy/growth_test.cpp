// Elastic jobs in the live allocator: they grow into what is idle and nothing else, give it back to
// whoever is within quota, and no more than that takes; against a slow look at every node.
#include <map>
#include <random>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "policy/allocator/deal_cycle.hpp"

namespace fairwater::test {
namespace {

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
  void node(std::uint32_t id, const ResourceVector& capacity) {
    cycle.set_node(NodeId{id}, {}, capacity, true);
    nodes_[NodeId{id}] = capacity;
  }
  JobId submit(std::uint32_t tenant, const ResourceVector& demand, std::uint32_t min,
               std::uint32_t max) {
    const JobId id{++last_job_};
    Job job{TenantId{tenant}, demand, min, max, {}, {}};
    for (std::uint32_t i = 0; i < max; ++i) job.waiting.insert(i);
    jobs_[id] = std::move(job);
    send_window(TenantId{tenant});
    return id;
  }

  /// Runs until nothing is due. What was told to end in it.
  std::vector<Reclaim> run() {
    std::vector<Reclaim> all;
    while (cycle.is_due()) {
      for (const Deal& deal : cycle.run(100)) take(deal);
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

  /// The task ends; it waits again, or is done.
  void end(const TaskKey& key, bool again) {
    const Running task = running_.at(key);
    running_.erase(key);
    REQUIRE(cycle.release(key));
    Job& job = jobs_.at(key.job);
    if (again) {
      job.waiting.insert(key.index);
      job.attempts[key.index] = key.attempt + 1;
    }
    send_window(job.tenant);
    cycle.beat(task.node);
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

  void send_window(TenantId tenant) {
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
                           .rule = nullptr};
        if (grows) {
          window.growth.push_back(range);
          continue;
        }
        window.next.push_back(range);
        window.pending += job.demand;
        ++window.pending_tasks;
        --claims;
      }
    }
    cycle.take_window(window);
  }

  void take(const Deal& deal) {
    std::set<TenantId> changed;
    for (const Grant& grant : deal.grants) {
      REQUIRE(jobs_.at(grant.task.job).waiting.erase(grant.task.index) == 1);
      REQUIRE(running_.emplace(grant.task, Running{deal.node, grant, false}).second);
      REQUIRE(deal.keeps_accounts == (grant.step != GrantStep::growth));
      changed.insert(grant.tenant);
    }
    for (const TenantId tenant : changed) send_window(tenant);
  }

  [[nodiscard]] ResourceVector held_on(NodeId node, bool ending_too, bool extras_too) const {
    ResourceVector held;
    for (const auto& [key, task] : running_) {
      if (task.node != node || (task.told_to_end && !ending_too)) continue;
      if (task.grant.step == GrantStep::growth && !task.told_to_end && !extras_too) continue;
      held += task.grant.demand;
    }
    return held;
  }

  void check() {
    for (const auto& [id, capacity] : nodes_) {
      REQUIRE(held_on(id, true, true).fits(capacity));
      REQUIRE(cycle.node(id).free == capacity - held_on(id, true, true));
    }
    for (const auto& [tenant, terms] : terms_) {
      ResourceVector held;
      for (const auto& [key, task] : running_)
        if (task.grant.tenant == tenant) held += task.grant.demand;
      REQUIRE(held.fits(terms.max));
      REQUIRE(cycle.tenant(tenant).used == held);
      if (fills_all_) check_grows(tenant, held);
    }
    check_takes_back();
  }

  /// Idle room is used.
  void check_grows(TenantId tenant, const ResourceVector& held) {
    for (const auto& [id, job] : jobs_) {
      if (job.tenant != tenant || job.waiting.empty() || claims_of(id) > 0) continue;
      if (!(held + job.demand).fits(terms_.at(tenant).max)) continue;
      for (const auto& [node, capacity] : nodes_) {
        const bool somebody_ends = held_on(node, true, true) != held_on(node, false, true);
        if (somebody_ends || cycle.node(node).reserved_for) continue;
        INFO("job " << id.value << " on node " << node.value);
        REQUIRE_FALSE(job.demand.fits(capacity - held_on(node, true, true)));
      }
    }
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
      const bool is_within = (counted + job.demand).fits(view.quota);
      if (!is_within || !(held + job.demand).fits(first->second.max)) return;
      bool will_have_room = false, could_have_room = false;
      for (const auto& [node, capacity] : nodes_) {
        const auto kept = cycle.node(node).reserved_for;
        if (kept && *kept != first->first) continue;
        will_have_room = will_have_room || job.demand.fits(capacity - held_on(node, false, true));
        could_have_room =
            could_have_room || job.demand.fits(capacity - held_on(node, false, false));
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
  std::map<NodeId, ResourceVector> nodes_;
  std::map<JobId, Job> jobs_;
  std::map<TaskKey, Running> running_;
  std::uint64_t last_job_ = 0;
};

TEST_CASE("an elastic job starts within its quota and grows into what is idle", "[unit][growth]") {
  ElasticModel model;
  model.tenant(1);
  model.tenant(2);
  model.node(1, cpu(4000));
  model.node(2, cpu(4000));
  model.submit(1, cpu(1000), 2, 20);
  CHECK(model.run().empty());
  CHECK(model.claimed(1) == 2);
  CHECK(model.extras(1) == 6);
  // What it started with is half a loan of the other's; growth is none, nor use of its quota.
  CHECK(model.cycle.tenant(TenantId{1}).net == -10);
  CHECK(model.cycle.tenant(TenantId{1}).request == cpu(2000));
}

TEST_CASE("what has grown makes room for who is within quota, and no more than is needed",
          "[unit][growth]") {
  ElasticModel model;
  model.tenant(1);
  model.tenant(2);
  model.node(1, cpu(4000));
  model.node(2, cpu(4000));
  model.submit(1, cpu(1000), 2, 20);
  model.run();
  model.submit(2, cpu(2000), 1, 1);
  const auto reclaims = model.run();
  REQUIRE(reclaims.size() == 2);
  CHECK(reclaims[0].node == reclaims[1].node);
  CHECK(reclaims[0].claimant == TenantId{2});
  // The newest go first.
  CHECK(reclaims[0].task.index > reclaims[1].task.index);
  // While they end nothing more is told to, and nothing grows where they are.
  CHECK(model.run().empty());
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.claimed(2) == 1);
  CHECK(model.extras(1) == 4);
}

TEST_CASE("who waits beyond its quota takes nothing back", "[unit][growth]") {
  ElasticModel model;
  model.tenant(1);
  model.tenant(2, {.max = cpu(1000)});
  model.node(1, cpu(4000));
  model.submit(1, cpu(1000), 1, 4);
  model.run();
  model.submit(2, cpu(1000), 2, 2);
  CHECK(model.run().size() == 1);
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.claimed(2) == 1);
  CHECK(model.extras(1) == 2);
}

TEST_CASE("a tenant's own growth makes room below its max", "[unit][growth]") {
  ElasticModel model;
  model.tenant(1, {.max = cpu(4000)});
  model.node(1, cpu(8000));
  model.submit(1, cpu(1000), 1, 8);
  model.run();
  CHECK(model.extras(1) == 3);
  model.submit(1, cpu(2000), 1, 1);
  const auto reclaims = model.run();
  REQUIRE(reclaims.size() == 2);
  CHECK(reclaims[0].claimant == TenantId{1});
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.claimed(1) == 2);
}

TEST_CASE("who has most credit grows first, and who has least gives back first", "[unit][growth]") {
  ElasticModel model;
  model.tenant(1);
  model.tenant(2);
  model.tenant(3);
  model.node(1, cpu(6000));
  model.submit(1, cpu(1000), 1, 6);
  model.run();
  REQUIRE(model.extras(1) == 5);
  model.settle(1000);  // one pays, the others earn
  CHECK(model.cycle.tenant(TenantId{1}).credit < 0);
  CHECK(model.cycle.tenant(TenantId{2}).credit > 0);
  model.submit(2, cpu(1000), 1, 6);
  model.run();
  model.end_reclaimed();
  model.run();
  CHECK(model.extras(1) == 4);
  // A task of one's ends: two has more credit.
  const auto of_one =
      std::find_if(model.running().begin(), model.running().end(), [](const auto& entry) {
        return entry.second.grant.tenant == TenantId{1} &&
               entry.second.grant.step == GrantStep::growth;
      });
  model.end(of_one->first, true);
  model.run();
  CHECK(model.extras(2) == 1);
  CHECK(model.extras(1) == 3);
  // Three comes: one gives back, not two.
  model.submit(3, cpu(1000), 1, 1);
  const auto reclaims = model.run();
  REQUIRE(reclaims.size() == 1);
  CHECK(reclaims[0].tenant == TenantId{1});
}

TEST_CASE("under bra nothing grows, and crea grows whoever has fewest", "[unit][growth]") {
  AllocatorSettings settings = default_settings();
  settings.growth = GrowthRule::bra;
  ElasticModel none(settings);
  none.tenant(1);
  none.node(1, cpu(4000));
  none.submit(1, cpu(1000), 1, 4);
  none.run();
  CHECK(none.extras(1) == 0);

  settings.growth = GrowthRule::crea;
  ElasticModel even(settings);
  even.tenant(1);
  even.tenant(2);
  even.node(1, cpu(6000));
  even.submit(1, cpu(1000), 1, 6);
  even.run();
  even.submit(2, cpu(1000), 1, 6);
  even.run();
  even.end_reclaimed();
  even.run();
  CHECK(even.extras(1) == 4);
  const TaskKey newest =
      std::prev(std::find_if(even.running().begin(), even.running().end(), [](const auto& entry) {
        return entry.first.job == JobId{2};
      }))->first;
  even.settle(1000);
  even.end(newest, true);
  even.run();
  CHECK(even.extras(2) == 1);
}

TEST_CASE("with a line for debts who owes too much gives back what it does not earn",
          "[unit][growth]") {
  AllocatorSettings settings = default_settings();
  settings.growth = GrowthRule::qrea_rebalance;
  ElasticModel model(settings);
  model.tenant(1);
  model.tenant(2);
  model.node(1, cpu(4000));
  model.submit(1, cpu(1000), 1, 4);
  model.run();
  REQUIRE(model.extras(1) == 3);
  for (int second = 0; second < 60 && model.extras(1) == 3; ++second) {
    model.settle(1000);
    model.run();
    model.end_reclaimed();
    model.run();
  }
  // Its part is two processors, of which one runs: it earns a third of the extras of three.
  CHECK(model.extras(1) == 1);
}

TEST_CASE("a job of several tasks starts whole in what has grown", "[unit][growth]") {
  ElasticModel model;
  model.tenant(1);
  model.tenant(2);
  for (std::uint32_t node = 1; node <= 3; ++node) model.node(node, cpu(2000));
  model.submit(1, cpu(1000), 3, 6);
  model.run();
  REQUIRE(model.extras(1) == 3);
  DemandWindow window{.tenant = TenantId{2},
                      .next = {},
                      .pending = cpu(3000),
                      .pending_tasks = 3,
                      .seen_deal = model.cycle.last_deal()};
  window.next.push_back(
      {.job = JobId{99}, .count = 3, .demand = cpu(1000), .rule = nullptr, .is_gang = true});
  model.cycle.take_window(window);
  for (const Deal& deal : model.cycle.run(100)) REQUIRE(deal.grants.empty());
  CHECK(model.cycle.take_reclaims().size() == 3);
  // One of four is beyond its quota of three processors: none of it takes anything.
  window.next.front().job = JobId{98};
  window.next.front().count = 4;
  window.pending = cpu(4000);
  window.pending_tasks = 4;
  model.cycle.take_window(window);
  (void)model.cycle.run(100);
  CHECK(model.cycle.take_reclaims().empty());
}

TEST_CASE("random elastic clusters grow, give back and keep all bounds", "[property][growth]") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint64_t from, std::uint64_t to) {
      return from + random() % (to - from + 1);
    };
    AllocatorSettings settings = default_settings();
    settings.growth = static_cast<GrowthRule>(draw(0, 1) == 0 ? 0 : 2);
    ElasticModel model(settings);
    const auto tenants = static_cast<std::uint32_t>(draw(1, 4));
    for (std::uint32_t id = 1; id <= tenants; ++id) {
      TenantTerms terms;
      terms.weight = static_cast<Weight>(draw(1, 5));
      if (draw(0, 3) == 0) terms.max = cpu_memory(static_cast<Amount>(draw(4, 8)) * 1000, 9000);
      if (draw(0, 3) == 0) terms.min = cpu(static_cast<Amount>(draw(1, 2)) * 1000);
      model.tenant(id, terms);
    }
    for (std::uint32_t id = 1; id <= draw(1, 4); ++id)
      model.node(id, cpu_memory(static_cast<Amount>(draw(2, 8)) * 1000, 8192));
    for (int step = 0; step < 60; ++step) {
      switch (draw(0, 5)) {
        case 0:
        case 1: {
          const auto min = static_cast<std::uint32_t>(draw(1, 3));
          const auto more = static_cast<std::uint32_t>(draw(0, 1) == 0 ? 0 : draw(1, 8));
          model.submit(static_cast<std::uint32_t>(draw(1, tenants)),
                       cpu_memory(static_cast<Amount>(draw(1, 4)) * 500,
                                  static_cast<Amount>(draw(0, 4)) * 256),
                       min, min + more);
          break;
        }
        case 2:
          model.end_reclaimed();
          break;
        case 3:
          model.settle(static_cast<std::int64_t>(draw(1, 5000)));
          break;
        default:
          if (model.running().empty()) break;
          auto task = model.running().begin();
          std::advance(task, static_cast<std::ptrdiff_t>(draw(0, model.running().size() - 1)));
          const TaskKey key = task->first;
          model.end(key, task->second.told_to_end || draw(0, 3) == 0);
      }
      model.run();
    }
  }
}

}  // namespace
}  // namespace fairwater::test
