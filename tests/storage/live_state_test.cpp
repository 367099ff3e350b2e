// What a tenant's actor keeps of its jobs is what a restart makes of the ledger.
#include <optional>

#include <catch2/catch.hpp>
#include <rocksdb/env.h>

#include "state/elastic.hpp"
#include "state/tenant_jobs.hpp"
#include "tests/storage/memory_disk.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

/// Every tenant's jobs, as they follow from the events one by one.
class LiveTenants {
 public:
  explicit LiveTenants(QueuePolicy policy) : policy_(policy) {}

  void take(const JournalRecord& record) {
    if (const auto* submitted = std::get_if<JobSubmitted>(&record.body)) {
      owners_.emplace(submitted->id, submitted->tenant);
      of(submitted->tenant).add({submitted_job(*submitted, record.time), {}, {}});
    } else if (const auto* cancelled = std::get_if<JobCancelled>(&record.body)) {
      (void)of_job(cancelled->id).cancel(cancelled->id, cancelled->reason, record.time);
    } else if (const auto* cycle = std::get_if<Cycle>(&record.body)) {
      for (const Deal& deal : cycle->deals)
        for (const Grant& grant : deal.grants)
          CHECK(of(grant.tenant).grant(grant, deal.node, {record.number, record.time}));
    } else if (const auto* finished = std::get_if<TasksFinished>(&record.body)) {
      for (const TaskResult& result : finished->results)
        follow(of_job(result.task.job), of_job(result.task.job).end(result, record.time));
    } else if (const auto* requeued = std::get_if<TasksRequeued>(&record.body)) {
      for (const TaskKey& task : requeued->tasks)
        follow(of_job(task.job),
               of_job(task.job).give_back(task, requeued->node_lost, record.time));
    } else if (const auto* reclaimed = std::get_if<TasksReclaimed>(&record.body)) {
      for (const Reclaim& task : reclaimed->tasks)
        CHECK_FALSE(of_job(task.task.job).reclaim(task.task).empty());
    } else if (const auto* winds_down = std::get_if<JobWindsDown>(&record.body)) {
      (void)of_job(winds_down->id).wind_down(winds_down->id, record.time);
    } else if (const auto* limited = std::get_if<GrowthLimited>(&record.body)) {
      of_job(limited->id).limit_growth(limited->id, limited->limit);
    }
  }

  /// Whether or not the attempt still runs.
  void reclaim(const TaskKey& task) { (void)of_job(task.job).reclaim(task); }

  /// The same as if it were read from the ledger now.
  void compare(const Ledger& ledger) {
    LiveTenants restarted(policy_);
    for (const auto& [id, jobs] : tenants_)
      restarted.of(id).remember_served(ledger.served_users(id));
    for (const JobId id : ledger.live_jobs()) {
      UnfinishedJob job{*ledger.job(id), {}, {}};
      for (const StoredTask& task : ledger.tasks(id)) job.tasks.emplace(task.index, task.record);
      const TenantId tenant = job.record.tenant;
      CHECK(of(tenant).knows(id));
      if (of(tenant).knows(id)) CHECK(of(tenant).record(id) == job.record);
      restarted.of(tenant).add(std::move(job));
    }
    for (auto& [id, jobs] : tenants_) {
      TenantJobs& fresh = restarted.of(id);
      for (const BackingOff& task : fresh.backing_off()) fresh.end_backoff(task.key);
      CHECK(jobs.size() == fresh.size());
      CHECK(jobs.bytes() == fresh.bytes());
      CHECK(keys_of(jobs.to_stop()) == keys_of(fresh.to_stop()));
      CHECK(jobs.out_of_work() == fresh.out_of_work());
      CHECK(text_of(jobs.window(1000, 100'000, 0, {})) ==
            text_of(fresh.window(1000, 100'000, 0, {})));
    }
  }

 private:
  TenantJobs& of(TenantId tenant) {
    return tenants_.try_emplace(tenant, tenant, policy_, ResourceCatalog{}).first->second;
  }
  TenantJobs& of_job(JobId job) { return of(owners_.at(job)); }

  /// Pauses are over at once.
  static void follow(TenantJobs& jobs, const AttemptOutcome& outcome) {
    if (outcome.backing_off) jobs.end_backoff(outcome.backing_off->key);
  }
  static std::vector<TaskKey> keys_of(const std::vector<RunningTask>& tasks) {
    std::vector<TaskKey> keys;
    for (const RunningTask& task : tasks) keys.push_back(task.key);
    return keys;
  }
  static std::string text_of(const DemandWindow& window) {
    std::string text = std::to_string(window.pending_tasks);
    for (const auto* ranges : {&window.next, &window.growth}) {
      for (const WaitingRange& range : *ranges)
        text += " " + std::to_string(range.job.value) + "." + std::to_string(range.first_index) +
                "+" + std::to_string(range.count) + "#" + std::to_string(range.attempt);
      text += " /";
    }
    return text;
  }

  QueuePolicy policy_;
  std::map<JobId, TenantId> owners_;
  std::map<TenantId, TenantJobs> tenants_;
};

TEST_CASE("what lives is what a restart makes of the journal", "[property][ledger]") {
  const auto env = memory_disk();
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    INFO("seed " << seed);
    auto ledger = must(Ledger::open(options_for("/ledger" + std::to_string(seed), env.get())));
    must(ledger->append(founding()));
    Traffic traffic(*ledger, seed);
    LiveTenants live(seed % 2 == 0 ? QueuePolicy::fair : QueuePolicy::fifo);
    for (int batch = 0; batch < 150; ++batch) {
      for (const Receipt& receipt : must(ledger->append(traffic.next_batch(4))))
        live.take(*ledger->record(receipt.number));
      if (batch % 5 == 0) live.compare(*ledger);
    }
    live.compare(*ledger);
  }
}

/// What may happen to gangs, by what the ledger says of them.
class GangTraffic {
 public:
  GangTraffic(const Ledger& ledger, std::uint64_t seed) : ledger_(ledger), random_(seed) {}

  JournalBody next() {
    const std::vector<JobId> live = ledger_.live_jobs();
    if (live.size() < 3) return submit();
    const JobId id = live[below(live.size())];
    if (below(40) == 0 && !ledger_.job(id)->cancelled) return JobCancelled{id, "no longer needed"};
    std::vector<TaskKey> waiting;
    std::vector<std::pair<NodeId, TaskKey>> running;
    for (std::uint32_t index = 0; index < ledger_.job(id)->tasks.total; ++index) {
      const TaskRecord task = record_of(id, index);
      const TaskKey key{id, index, task.attempt};
      if (task.state == TaskState::pending) waiting.push_back(key);
      if (task.state == TaskState::running) running.emplace_back(task.node, key);
    }
    if (running.empty()) return start(id, waiting);
    const auto& [node, key] = running[below(running.size())];
    if (below(8) == 0) return TasksRequeued{node, {key}, "node lost", below(2) == 0};
    if (below(6) == 0) {  // the whole gang makes room
      TasksReclaimed all;
      for (const auto& [place, task] : running)
        all.tasks.push_back({place, task, TenantId{1}, {}, {}});
      return all;
    }
    TaskResult result = success(key);
    if (below(3) == 0) result.exit_code = 1;
    if (below(8) == 0) result.reason = EndReason::supervisor_lost;
    if (below(8) == 0) result.reason = EndReason::cancelled;
    return TasksFinished{node, {result}};
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  [[nodiscard]] TaskRecord record_of(JobId job, std::uint32_t index) const {
    for (const StoredTask& task : ledger_.tasks(job))
      if (task.index == index) return task.record;
    return {};
  }
  JournalBody submit() {
    JobSpec spec = job_spec("a", static_cast<std::uint32_t>(2 + below(4)));
    spec.gang = true;
    spec.retries = static_cast<std::uint32_t>(below(3));
    return JobSubmitted{ledger_.next_job_id(), TenantId{1}, spec};
  }
  /// All of it, on two nodes.
  JournalBody start(JobId job, const std::vector<TaskKey>& waiting) {
    CHECK(waiting.size() == ledger_.job(job)->tasks.total);
    for (const TaskKey& task : waiting) CHECK(task.attempt == waiting.front().attempt);
    const auto middle =
        waiting.begin() + static_cast<std::ptrdiff_t>(1 + below(waiting.size() - 1));
    Deal first = plain_deal(ledger_.position(), TenantId{1}, {waiting.begin(), middle});
    Deal second = plain_deal(ledger_.position(), TenantId{1}, {middle, waiting.end()});
    second.node = NodeId{2};
    return Cycle{{first, second}};
  }

  const Ledger& ledger_;
  std::mt19937_64 random_;
};

TEST_CASE("gangs live as a restart finds them, and are granted whole", "[property][ledger]") {
  const auto env = memory_disk();
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    INFO("seed " << seed);
    auto ledger = must(Ledger::open(options_for("/gangs" + std::to_string(seed), env.get())));
    must(ledger->append(founding()));
    GangTraffic traffic(*ledger, seed);
    LiveTenants live(seed % 2 == 0 ? QueuePolicy::fair : QueuePolicy::fifo);
    std::optional<TasksReclaimed> heard_late;
    std::size_t ends_heard_first = 0;
    for (int i = 0; i < 600; ++i) {
      const Receipt receipt = must(ledger->append({traffic.next()})).front();
      const JournalRecord record = *ledger->record(receipt.number);
      const auto* reclaimed = std::get_if<TasksReclaimed>(&record.body);
      // Of reclaims and of ends a tenant hears from two, in any order.
      if (reclaimed != nullptr && !heard_late && i % 2 == 0) {
        heard_late = *reclaimed;
        continue;
      }
      if (heard_late) ends_heard_first += receipt.made_room.size();
      for (const TaskKey& task : receipt.made_room) live.reclaim(task);
      live.take(record);
      if (heard_late)
        for (const Reclaim& task : heard_late->tasks) live.reclaim(task.task);
      heard_late.reset();
      live.compare(*ledger);
    }
    CHECK(ends_heard_first > 0);
    CHECK(ledger->verify().ok);
  }
}

/// What may happen to elastic jobs, by what the ledger says of them.
class ElasticTraffic {
 public:
  ElasticTraffic(const Ledger& ledger, std::uint64_t seed) : ledger_(ledger), random_(seed) {}

  JournalBody next() {
    const std::vector<JobId> live = ledger_.live_jobs();
    if (live.size() < 3) return submit();
    const JobId id = live[below(live.size())];
    const JobRecord job = *ledger_.job(id);
    if (below(60) == 0 && !job.cancelled) return JobCancelled{id, "no longer needed"};
    if (has_run_out_of_work(job) && below(2) == 0) return JobWindsDown{id};
    if (below(20) == 0) return GrowthLimited{id, {static_cast<std::uint32_t>(below(6)), 9, 900}};
    std::vector<TaskKey> waiting;
    std::vector<std::pair<NodeId, TaskKey>> running;
    for (std::uint32_t index = 0; index < job.tasks.total; ++index) {
      const TaskRecord task = record_of(id, index);
      const TaskKey key{id, index, task.attempt};
      if (task.state == TaskState::pending && !is_unneeded(job, task)) waiting.push_back(key);
      if (task.state == TaskState::running) running.emplace_back(task.node, key);
    }
    const bool may_start = !job.cancelled && !waiting.empty();
    if (may_start && (running.empty() || below(2) == 0)) return start(job, waiting);
    if (running.empty()) return submit();
    const auto& [node, key] = running[below(running.size())];
    if (below(8) == 0) return TasksRequeued{node, {key}, "node lost", below(2) == 0};
    const bool was_reclaimed = record_of(id, key.index).reclaimed;
    if (!was_reclaimed && below(3) == 0)
      return TasksReclaimed{{{node, key, TenantId{1}, TenantId{2}, id, false}}};
    TaskResult result = success(key);
    if (was_reclaimed) result.reason = EndReason::cancelled;
    if (below(4) == 0) result.exit_code = 1;
    return TasksFinished{node, {result}};
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  [[nodiscard]] TaskRecord record_of(JobId job, std::uint32_t index) const {
    for (const StoredTask& task : ledger_.tasks(job))
      if (task.index == index) return task.record;
    return {};
  }
  JournalBody submit() {
    JobSpec spec = job_spec("a", static_cast<std::uint32_t>(3 + below(4)));
    spec.tasks_min = static_cast<std::uint32_t>(1 + below(2));
    spec.retries = static_cast<std::uint32_t>(below(3));
    return JobSubmitted{ledger_.next_job_id(), TenantId{1}, spec};
  }
  /// What it claims, or one more by growth.
  JournalBody start(const JobRecord& job, const std::vector<TaskKey>& waiting) {
    const std::uint32_t claimed = claimed_tasks(job);
    const auto count = static_cast<std::ptrdiff_t>(std::max(claimed, 1U));
    Deal deal =
        plain_deal(ledger_.position(), TenantId{1}, {waiting.begin(), waiting.begin() + count});
    if (claimed > 0) return Cycle{{deal}};
    deal.grants.front().step = GrantStep::growth;
    Deal growth;
    growth.node = deal.node;
    growth.grants = deal.grants;
    growth.keeps_accounts = false;
    return Cycle{{growth}};
  }

  const Ledger& ledger_;
  std::mt19937_64 random_;
};

TEST_CASE("elastic jobs live as a restart finds them", "[property][ledger]") {
  const auto env = memory_disk();
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    INFO("seed " << seed);
    auto ledger = must(Ledger::open(options_for("/elastic" + std::to_string(seed), env.get())));
    must(ledger->append(founding()));
    ElasticTraffic traffic(*ledger, seed);
    LiveTenants live(seed % 2 == 0 ? QueuePolicy::fair : QueuePolicy::fifo);
    for (int i = 0; i < 500; ++i) {
      const Receipt receipt = must(ledger->append({traffic.next()})).front();
      live.take(*ledger->record(receipt.number));
      live.compare(*ledger);
    }
    CHECK(ledger->verify().ok);
  }
}

TEST_CASE("credits are the ledger's, sum to zero and come back", "[unit][ledger]") {
  const auto env = memory_disk();
  auto ledger = must(Ledger::open(options_for("/credits", env.get())));
  must(ledger->append(founding()));
  CreditsSettled settled{{1000, {{TenantId{1}, 6, 0}, {TenantId{2}, 0, 20}}}};
  settle_credits(settled.settlement);
  must(ledger->append({settled}));
  const auto credit = [&](std::uint32_t tenant) {
    return ledger->tenant(TenantId{tenant})->credit;
  };
  CHECK(credit(1) == -6000);
  CHECK(credit(2) == 6000);
  CHECK(ledger->verify().ok);
  ++settled.settlement.lines[0].change;
  CHECK_THAT(details(ledger->append({settled}).error()).message,
             Catch::Contains("the credit of tenant 1 changes by -6000, not -5999"));
  ledger.reset();
  ledger = must(Ledger::open(options_for("/credits", env.get())));
  CHECK(credit(2) == 6000);
}

TEST_CASE("a record that starts an elastic job below its least is refused", "[unit][ledger]") {
  const auto env = memory_disk();
  auto ledger = must(Ledger::open(options_for("/least", env.get())));
  must(ledger->append(founding()));
  JobSpec spec = job_spec("a", 4);
  spec.tasks_min = 2;
  must(ledger->append({JobSubmitted{JobId{1}, TenantId{1}, spec}}));
  const auto part =
      ledger->append({Cycle{{plain_deal(ledger->position(), TenantId{1}, {{JobId{1}, 0, 1}})}}});
  REQUIRE(!part);
  CHECK_THAT(details(part.error()).message,
             Catch::Contains("job 1 starts with at least 2 tasks, of which 1 run"));
}

TEST_CASE("a record that starts a gang in part is refused", "[unit][ledger]") {
  const auto env = memory_disk();
  auto ledger = must(Ledger::open(options_for("/part", env.get())));
  must(ledger->append(founding()));
  JobSpec spec = job_spec("a", 3);
  spec.gang = true;
  must(ledger->append({JobSubmitted{JobId{1}, TenantId{1}, spec}}));
  const auto part = ledger->append(
      {Cycle{{plain_deal(ledger->position(), TenantId{1}, {{JobId{1}, 0, 1}, {JobId{1}, 1, 1}})}}});
  REQUIRE(!part);
  CHECK_THAT(details(part.error()).message,
             Catch::Contains("job 1 is a gang of 3 tasks, of which 2 run"));
}

}  // namespace
}  // namespace fairwater::test
