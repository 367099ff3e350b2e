// The scheduler of elastic jobs against a slow one that shows the policy all that waits, and what
// holds for every policy.
#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

#include "policy/core/splitmix64.hpp"
#include "sim/engine/engine.hpp"
#include "sim/schedulers/elastic.hpp"

namespace fairwater::sim {
namespace {

const std::vector<std::string> kElasticPolicies = {"bra", "fair", "crea", "qrea", "qrea-rebalance"};

Cluster pool_of(Units units, const std::vector<Weight>& weights) {
  Cluster cluster;
  cluster.resources = {"cpu"};
  cluster.settings.granules[0] = 100;
  cluster.nodes.emplace_back().capacity[0] = units * 100;
  for (const Weight weight : weights) cluster.tenants.emplace_back().terms.weight = weight;
  return cluster;
}

Job elastic_job(TimeMs submit_ms, TenantIndex tenant, TimeMs run_ms, Units min, Units max) {
  Job job;
  job.submit_ms = submit_ms;
  job.tenant = tenant;
  job.demand[0] = 100;
  job.run_ms = job.estimate_ms = run_ms;
  job.min_units = min;
  job.max_units = max;
  return job;
}

/// Jobs of 1 to 4 units at least, some elastic, some of several tasks; more than there is room for.
Workload draw_workload(std::uint64_t seed, TenantIndex tenants) {
  SplitMix64 random(seed);
  const auto below = [&random](std::uint64_t count) {
    return static_cast<std::int64_t>(random.below(count));
  };
  Workload workload;
  TimeMs now = 0;
  for (int i = 0; i < 150; ++i) {
    now += below(400);
    const Units min = 1 + below(4);
    Job job = elastic_job(now, static_cast<TenantIndex>(random.below(tenants)), 100 + below(5000),
                          min, min + below(3));
    if (job.min_units == job.max_units) job.tasks = static_cast<std::uint32_t>(1 + below(3));
    workload.jobs.push_back(job);
  }
  return workload;
}

/// What happened, and the books that a test wants of it.
class ElasticRecord : public Observer {
 public:
  explicit ElasticRecord(const Workload& workload) : workload_(workload) {}
  void advance(TimeMs now) override { now_ = now; }
  void started(const Start& start) override {
    log.push_back({now_, start.task, start.units});
    started_ms_[start.task] = now_;
    held += start.units;
    most_held = std::max(most_held, held);
  }
  void resized(TaskId task, Units before, Units after) override {
    log.push_back({now_, task, after});
    held += after - before;
    most_held = std::max(most_held, held);
  }
  void ended(TaskId task, NodeIndex /*node*/, Units units, bool killed) override {
    log.push_back({now_, task, 0});
    held -= units;
    if (killed) {
      ++kills;
      lost += units * (now_ - started_ms_.at(task));
    } else {
      finished += workload_.jobs[task.job].run_ms * workload_.jobs[task.job].min_units;
      done_ms[task] = now_;
    }
  }
  struct Entry {
    TimeMs at;
    TaskId task;
    Units units;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::vector<Entry> log;
  std::map<TaskId, TimeMs> done_ms;
  Units held = 0, most_held = 0;
  std::int64_t kills = 0, lost = 0, finished = 0;

 private:
  const Workload& workload_;
  TimeMs now_ = 0;
  std::map<TaskId, TimeMs> started_ms_;
};

/// The same with plain lists and nothing left out. A unit costs 1 here.
class FullQueues : public Scheduler {
 public:
  FullQueues(const std::string& policy, const Cluster& cluster, const Workload& workload)
      : workload_(workload), policy_(make_elastic_policy(policy)) {
    state_.units = cluster.nodes[0].capacity[0] / 100;
    std::vector<Weight> weights;
    for (const auto& tenant : cluster.tenants) weights.push_back(tenant.terms.weight);
    for (const Units quota : share_by_weight(state_.units, weights))
      state_.users.emplace_back().quota = quota;
  }
  void submit(JobIndex job) override {
    const Job& of = workload_.jobs[job];
    for (std::uint32_t index = 0; index < of.tasks; ++index)
      state_.users[of.tenant].queued.push_back({id({job, index}), of.min_units, of.max_units});
  }
  void end(TaskId task, NodeIndex /*node*/) override {
    std::erase_if(user(task).running, [task](const auto& job) { return job.id == id(task); });
  }
  Actions cycle(TimeMs /*now*/) override {
    const ElasticRound round = policy_->round(state_);
    Actions actions;
    for (const auto& change : round.limit) actions.shrink.push_back(resize(change, -1));
    for (const JobId killed : round.kill) {
      end(task(killed), 0);
      const Job& of = workload_.jobs[task(killed).job];
      auto& queued = user(task(killed)).queued;
      queued.insert(queued.begin(), {killed, of.min_units, of.max_units});
      actions.kill.push_back(task(killed));
    }
    for (const auto& [started, units] : round.start) {
      std::erase_if(user(task(started)).queued,
                    [&, key = started](const auto& job) { return job.id == key; });
      user(task(started))
          .running.push_back({started, units, workload_.jobs[task(started).job].max_units, units});
      actions.start.push_back({task(started), 0, units});
    }
    for (const auto& change : round.grow) actions.grow.push_back(resize(change, 1));
    for (std::size_t i = 0; i < state_.users.size(); ++i) state_.users[i].credit = round.credit[i];
    return actions;
  }

 private:
  static JobId id(TaskId task) { return {std::uint64_t{task.job} * 1000 + task.index + 1}; }
  static TaskId task(JobId id) {
    return {static_cast<JobIndex>((id.value - 1) / 1000),
            static_cast<std::uint32_t>((id.value - 1) % 1000)};
  }
  ElasticUser& user(TaskId task) { return state_.users[workload_.jobs[task.job].tenant]; }
  Resize resize(const JobUnits& change, Units sign) {
    for (auto& job : user(task(change.id)).running)
      if (job.id == change.id) return {task(job.id), job.now += sign * change.units};
    FAIL("a job that does not run is resized");
    return {};
  }

  const Workload& workload_;
  std::unique_ptr<ElasticPolicy> policy_;
  ElasticCluster state_;
};

std::unique_ptr<Scheduler> elastic_scheduler(const std::string& policy, const Cluster& cluster,
                                             const Workload& workload, TimeMs credit_period_ms) {
  auto made = ElasticScheduler::make({policy, credit_period_ms, {}}, cluster, workload);
  REQUIRE(made);
  return std::move(*made);
}

std::string elastic_refusal(const ElasticOptions& options, const Cluster& cluster,
                            const Workload& workload) {
  const auto made = ElasticScheduler::make(options, cluster, workload);
  return made ? "was accepted" : details(made.error()).field;
}

}  // namespace

TEST_CASE("quotas are whole units that add up", "[unit][elastic]") {
  CHECK(share_by_weight(200, {1, 1, 1, 1}) == std::vector<Units>{50, 50, 50, 50});
  CHECK(share_by_weight(10, {1, 1, 1}) == std::vector<Units>{4, 3, 3});
  CHECK(share_by_weight(10, {1, 6, 5}) == std::vector<Units>{1, 5, 4});  // 0.83, 5, 4.17
  CHECK(share_by_weight(2, {1, 1, 1}) == std::vector<Units>{1, 1, 0});
}

TEST_CASE("a quota can be given", "[unit][elastic]") {
  Cluster cluster = pool_of(10, {1, 1});
  cluster.tenants[0].quota = 8;
  Workload workload;
  for (int i = 0; i < 10; ++i) workload.jobs.push_back(elastic_job(0, 0, 1000, 1, 1));
  const auto scheduler = elastic_scheduler("bra", cluster, workload, 0);
  ElasticRecord record(workload);
  run_engine(cluster, workload, *scheduler, record, {});
  CHECK(record.most_held == 8);
}

TEST_CASE("every elastic policy does all the work, with what there is", "[property][elastic]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Cluster cluster = pool_of(24, {3, 2, 1});
    const Workload workload = draw_workload(seed, 3);
    std::int64_t work = 0, tasks = 0;
    for (const Job& job : workload.jobs) {
      work += job.run_ms * job.min_units * job.tasks;
      tasks += job.tasks;
    }
    for (const std::string& policy : kElasticPolicies) {
      CAPTURE(seed, policy);
      const auto scheduler = elastic_scheduler(policy, cluster, workload, 1000);
      ElasticRecord record(workload);
      const EngineResult result = run_engine(cluster, workload, *scheduler, record, {});
      CHECK(result.waiting == 0);
      CHECK(result.running == 0);
      CHECK(record.held == 0);
      CHECK(record.most_held <= 24);
      CHECK(record.finished == work);
      CHECK((policy == "fair" || record.kills == 0));
      // The last millisecond of a job with n units may be used by n - 1 of them in vain.
      const auto done = static_cast<std::int64_t>(result.work_done);
      CHECK(done >= work + record.lost);
      CHECK(done <= work + record.lost + 5 * tasks);
      double credits = 0;
      for (TenantIndex tenant = 0; tenant < 3; ++tenant)
        credits += scheduler->account(tenant).credit;
      CHECK(credits == Approx(0).margin(1e-6));
    }
  }
}

TEST_CASE("what the policy is not shown of a queue makes no difference", "[property][elastic]") {
  std::int64_t kills = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Cluster cluster = pool_of(24, {3, 2, 1});
    const Workload workload = draw_workload(seed, 3);
    for (const std::string& policy : kElasticPolicies) {
      CAPTURE(seed, policy);
      const auto scheduler = elastic_scheduler(policy, cluster, workload, 0);
      FullQueues full(policy, cluster, workload);
      ElasticRecord record(workload), expected(workload);
      run_engine(cluster, workload, *scheduler, record, {});
      run_engine(cluster, workload, full, expected, {});
      CHECK(record.log == expected.log);
      kills += record.kills;
    }
  }
  CHECK(kills > 0);
}

TEST_CASE("an elastic job halves its time when there is room", "[unit][elastic]") {
  const Cluster cluster = pool_of(4, {1, 1});
  const Workload workload{{elastic_job(0, 0, 10'000, 1, 2), elastic_job(0, 1, 10'000, 1, 2)}};
  const auto done_with = [&](const std::string& policy) {
    ElasticRecord record(workload);
    run_engine(cluster, workload, *elastic_scheduler(policy, cluster, workload, 0), record, {});
    return record.done_ms[{0, 0}];
  };
  CHECK(done_with("bra") == 10'000);
  CHECK(done_with("fair") == 10'000);
  CHECK(done_with("crea") == 5'000);
  CHECK(done_with("qrea") == 5'000);
}

TEST_CASE("a killed job waits at the head and starts anew", "[unit][elastic]") {
  // The first tenant has both units when the second comes for its own.
  const Cluster cluster = pool_of(2, {1, 1});
  const Workload workload{{elastic_job(0, 0, 1000, 1, 1), elastic_job(0, 0, 1000, 1, 1),
                           elastic_job(0, 0, 1000, 1, 1), elastic_job(600, 1, 1000, 1, 1)}};
  ElasticRecord record(workload);
  run_engine(cluster, workload, *elastic_scheduler("fair", cluster, workload, 0), record, {});
  CHECK(record.kills == 1);
  CHECK(record.lost == 600);
  CHECK(record.done_ms ==
        std::map<TaskId, TimeMs>{{{0, 0}, 1000}, {{1, 0}, 2000}, {{2, 0}, 2600}, {{3, 0}, 1600}});
}

TEST_CASE("credits by time do not depend on how often something happens", "[unit][elastic]") {
  // The first holds 2 extras for 5 s; each has as much unused quota as the other, but for the
  // first's job: 9 and 10 of 19 units.
  Workload quiet{{elastic_job(0, 0, 15'000, 1, 3)}}, busy = quiet;
  for (const TimeMs at : {1000, 1001, 1002, 3000}) {
    Job job = elastic_job(at, 1, 0, 1, 1);
    busy.jobs.push_back(job);
  }
  quiet.jobs.push_back(elastic_job(6000, 1, 0, 1, 1));  // credits are brought up to date by a cycle
  busy.jobs.push_back(quiet.jobs.back());
  const Cluster cluster = pool_of(20, {1, 1});
  const auto credit_after = [&](const Workload& workload, TimeMs period_ms) {
    const auto scheduler = elastic_scheduler("qrea", cluster, workload, period_ms);
    ElasticRecord record(workload);
    run_engine(cluster, workload, *scheduler, record, {});
    return scheduler->account(0).credit;
  };
  CHECK(credit_after(quiet, 1000) == Approx(5 * (2 * 9 / 19.0 - 2)));
  CHECK(credit_after(busy, 1000) == Approx(credit_after(quiet, 1000)).margin(1e-9));
  CHECK(credit_after(busy, 0) < 2 * credit_after(quiet, 0));  // more rounds, more is paid
}

TEST_CASE("what elastic policies cannot run is refused", "[unit][elastic]") {
  const Cluster cluster = pool_of(10, {1, 1});
  const Workload workload{{elastic_job(0, 0, 1000, 1, 2), elastic_job(0, 1, 1000, 6, 6)}};
  CHECK(elastic_refusal({"best", 0, {}}, cluster, workload) == "policy");
  CHECK(elastic_refusal({"qrea", -1, {}}, cluster, workload) == "credit_period_ms");
  CHECK(elastic_refusal({"qrea", 0, {}}, cluster, workload) == "jobs[1]");
  CHECK(elastic_refusal({"fair", 0, {}}, cluster, workload) == "was accepted");
  Cluster two_nodes = cluster;
  two_nodes.nodes.push_back(two_nodes.nodes[0]);
  CHECK(elastic_refusal({"qrea", 0, {}}, two_nodes, workload) == "nodes");
  Workload wide = workload;
  wide.jobs[0].demand[0] = 101;
  CHECK(elastic_refusal({"qrea", 0, {}}, cluster, wide) == "jobs[0]");
}

}  // namespace fairwater::sim
