// What a tenant's actor keeps of its jobs is what a restart makes of the ledger.
#include <catch2/catch.hpp>
#include <rocksdb/env.h>

#include "state/tenant_jobs.hpp"
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
    }
  }

  /// The same as if it were read from the ledger now.
  void compare(const Ledger& ledger) {
    LiveTenants restarted(policy_);
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
    for (const WaitingRange& range : window.next)
      text += " " + std::to_string(range.job.value) + "." + std::to_string(range.first_index) +
              "+" + std::to_string(range.count) + "#" + std::to_string(range.attempt);
    return text;
  }

  QueuePolicy policy_;
  std::map<JobId, TenantId> owners_;
  std::map<TenantId, TenantJobs> tenants_;
};

TEST_CASE("what lives is what a restart makes of the journal", "[property][ledger]") {
  const std::unique_ptr<rocksdb::Env> env(rocksdb::NewMemEnv(rocksdb::Env::Default()));
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

}  // namespace
}  // namespace fairwater::test
