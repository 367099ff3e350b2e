// What was used, as the fold adds it up.
#include "state/usage.hpp"

#include <catch2/catch.hpp>

#include "tests/storage/folded.hpp"
#include "tests/storage/memory_disk.hpp"

namespace fairwater::test {
namespace {

constexpr std::int64_t kSecondOfUsage_us = 1'000'000;
constexpr std::int64_t kDayOfUsage_us = 86'400 * kSecondOfUsage_us;

using Sums = std::map<UsageGroup, UsageRecord>;

Sums sums_of(const Ledger& ledger) {
  Sums sums;
  ledger.visit_usage({}, [&](const UsageGroup& group, const UsageRecord& usage) {
    CHECK(sums.emplace(group, usage).second);
    return true;
  });
  return sums;
}

Sums sums_of(const Folded& folded) {
  Sums sums;
  for (const auto& [key, usage] : folded.state.usage.all()) {
    const auto group = usage_group_of(key);
    REQUIRE(group);
    sums.emplace(*group, usage);
  }
  return sums;
}

UsageGroup at(DayNumber day, std::uint32_t tenant, const std::string& user = {}) {
  return {day, TenantId{tenant}, user};
}

/// Submitted as job 1 by tenant a, on the first day.
JobSpec two_resources() {
  JobSpec spec = job_spec("a", 2);
  spec.resources = {{"cpu", 1500}, {"memory", 512}, {"gpu", 0}};
  spec.retries = 1;
  return spec;
}

TaskResult at_time(TaskResult result, std::int64_t finished_us) {
  result.finished_at = {finished_us};
  return result;
}

TEST_CASE("an attempt counts what it held, on the days that it did", "[unit][usage]") {
  Folded folded;
  folded.must_apply(JobSubmitted{JobId{1}, TenantId{1}, two_resources()});
  CHECK(sums_of(folded).at(at(0, 1)).submitted == 1);
  folded.time_us += 2 * kSecondOfUsage_us;
  folded.grant(1, {key(1, 0)});
  const std::int64_t granted_us = folded.time_us;
  UsageRecord first = sums_of(folded).at(at(0, 1));
  CHECK(first.first_starts == 1);
  CHECK(first.waited_ms == 3'000);
  CHECK(first.used.empty());

  folded.time_us = 2 * kDayOfUsage_us + 4 * kSecondOfUsage_us;
  folded.must_apply(TasksFinished{NodeId{1}, {at_time(success(key(1, 0)), folded.time_us)}});
  const Sums sums = sums_of(folded);
  CHECK(sums.size() == 3);
  first = sums.at(at(0, 1));
  const AmountMs on_first = static_cast<AmountMs>((kDayOfUsage_us - granted_us) / 1000);
  CHECK(first.used ==
        std::vector<UsedResource>{{"cpu", static_cast<std::uint64_t>(1500 * on_first), 0},
                                  {"memory", static_cast<std::uint64_t>(512 * on_first), 0}});
  CHECK(first.succeeded == 0);
  CHECK(sums.at(at(1, 1)).used == std::vector<UsedResource>{{"cpu", 1500 * 86'400'000ULL, 0},
                                                            {"memory", 512 * 86'400'000ULL, 0}});
  CHECK(sums.at(at(2, 1)).used ==
        std::vector<UsedResource>{{"cpu", 1500 * 4'000ULL, 0}, {"memory", 512 * 4'000ULL, 0}});
  CHECK(sums.at(at(2, 1)).succeeded == 1);
}

TEST_CASE("every end of an attempt counts once, by how it ended", "[unit][usage]") {
  Folded folded;
  JobSpec spec = two_resources();
  spec.user = "ada";
  folded.must_apply(JobSubmitted{JobId{1}, TenantId{1}, spec});
  folded.grant(1, {key(1, 0), key(1, 1)});
  // Given back, said twice.
  folded.must_apply(TasksRequeued{NodeId{1}, {key(1, 0)}, "node lost", true});
  folded.must_apply(TasksRequeued{NodeId{1}, {key(1, 0)}, "node lost", true});
  UsageRecord sums = sums_of(folded).at(at(0, 1, "ada"));
  CHECK(sums.lost == 1);
  CHECK(sums.used[0].total() == 1500 * 1'000);
  // A launch that failed held its room, too.
  TaskResult failed = success(key(1, 1));
  failed.reason = EndReason::launch_failed;
  folded.must_apply(LaunchesFailed{NodeId{1}, {{failed, {}}}, {}});
  sums = sums_of(folded).at(at(0, 1, "ada"));
  CHECK(sums.lost == 2);
  CHECK(sums.used[0].total() == 1500 * (1'000 + 3'000));
  // Its second attempt fails, and its third is stopped with the job.
  folded.grant(1, {key(1, 0, 2)});
  TaskResult broken = success(key(1, 0, 2));
  broken.exit_code = 1;
  folded.must_apply(TasksFinished{NodeId{1}, {broken, broken}});
  folded.grant(1, {key(1, 0, 3)});
  folded.must_apply(JobCancelled{JobId{1}, "enough"});
  TaskResult stopped = success(key(1, 0, 3));
  stopped.reason = EndReason::cancelled;
  folded.must_apply(TasksFinished{NodeId{1}, {stopped}});
  sums = sums_of(folded).at(at(0, 1, "ada"));
  CHECK(sums.succeeded == 0);
  CHECK(sums.failed == 1);
  CHECK(sums.cancelled == 1);
  CHECK(sums.lost == 2);
  CHECK(sums.submitted == 1);
  CHECK(sums.first_starts == 2);  // of the tasks, not of their attempts
  CHECK(sums_of(folded).size() == 1);
}

TEST_CASE("an attempt at a step of memory counts the step's amount", "[unit][usage]") {
  Folded folded;
  JobSpec spec = job_spec("a", 1);
  spec.resources = {{"memory", 256}};
  spec.profiled = {.all = false, .resources = {"memory"}, .runs = 3, .memory_steps = {1024}};
  folded.must_apply(JobSubmitted{JobId{1}, TenantId{1}, spec});
  Deal deal = plain_deal(folded.state.meta.position, TenantId{1}, {key(1, 0)});
  deal.grants[0].demand[1] = 1024;
  folded.must_apply(Cycle{{deal}});
  folded.must_apply(TasksFinished{NodeId{1}, {at_time(success(key(1, 0)), 0)}});
  CHECK(sums_of(folded).at(at(0, 1)).used ==
        std::vector<UsedResource>{{"memory", 1024 * 1'000, 0}});
}

TEST_CASE("tasks that an elastic job grows by count no waiting", "[unit][usage]") {
  Folded folded;
  JobSpec spec = job_spec("a", 2);
  spec.tasks_min = 1;
  folded.must_apply(JobSubmitted{JobId{1}, TenantId{1}, spec});
  folded.grant(1, {key(1, 0)});
  Deal growth = plain_deal(folded.state.meta.position, TenantId{1}, {key(1, 1)});
  growth.grants[0].step = GrantStep::growth;
  growth.lines.clear();
  growth.free_units = 0;
  growth.keeps_accounts = false;
  folded.must_apply(Cycle{{growth}});
  CHECK(sums_of(folded).at(at(0, 1)).first_starts == 1);
}

TEST_CASE("usage counts from the coordinator on that counts it", "[unit][usage]") {
  Folded folded;
  folded.must_apply(CoordinatorStarted{2, "older"});
  folded.submit(1, 1, 2);
  folded.grant(1, {key(1, 0), key(1, 1)});
  folded.must_apply(TasksFinished{NodeId{1}, {success(key(1, 0))}});
  CHECK(sums_of(folded).empty());
  folded.must_apply(CoordinatorStarted{3, "newer", {}, {}, true});
  folded.must_apply(TasksFinished{NodeId{1}, {at_time(success(key(1, 1)), 0)}});
  // It ended while usage was counted: it counts whole.
  UsageRecord whole;
  add_used(whole, "cpu", 100 * 3'000);
  whole.succeeded = 1;
  CHECK(sums_of(folded) == Sums{{at(0, 1), whole}});
}

TEST_CASE("a removed tenant's usage stays", "[unit][usage]") {
  Folded folded;
  folded.submit(1, 3, 1);
  folded.grant(3, {key(1, 0)});
  folded.must_apply(TasksFinished{NodeId{1}, {success(key(1, 0))}});
  const Sums before = sums_of(folded);
  REQUIRE(before.contains(at(0, 3)));
  folded.must_apply(TenantRemoved{TenantId{3}, folded.state.meta.position, 0});
  CHECK(sums_of(folded) == before);
}

/// The same by another way: whole attempts, from the journal's grants and ends.
class UsageOracle {
 public:
  void take(const JournalRecord& record) {
    const WallTime now = record.time;
    if (const auto* submitted = std::get_if<JobSubmitted>(&record.body))
      jobs_.emplace(submitted->id, *submitted);
    if (const auto* cycle = std::get_if<Cycle>(&record.body))
      for (const Deal& deal : cycle->deals)
        for (const Grant& grant : deal.grants) open_[grant.task] = {deal.node, now};
    if (const auto* finished = std::get_if<TasksFinished>(&record.body))
      for (const TaskResult& result : finished->results)
        end(finished->node, result.task, result.finished_at, now);
    if (const auto* requeued = std::get_if<TasksRequeued>(&record.body))
      for (const TaskKey& task : requeued->tasks) end(requeued->node, task, {}, now);
  }
  /// By tenant: cpu, and attempts that ended.
  std::map<TenantId, std::pair<AmountMs, std::uint64_t>> sums;

 private:
  struct Open {
    NodeId node;
    WallTime since;
  };
  void end(NodeId node, const TaskKey& task, WallTime finished, WallTime now) {
    const auto open = open_.find(task);
    if (open == open_.end() || open->second.node != node) return;
    const WallTime since = open->second.since;
    if (finished < since || finished > now) finished = now;
    const JobSubmitted& job = jobs_.at(task.job);
    const std::int64_t ms = finished.microseconds / 1000 - since.microseconds / 1000;
    auto& [cpu, ended] = sums[job.tenant];
    cpu += static_cast<AmountMs>(ms * job.spec.resources.at("cpu"));
    ++ended;
    open_.erase(open);
  }
  std::map<JobId, JobSubmitted> jobs_;
  std::map<TaskKey, Open> open_;
};

TEST_CASE("days together hold what the journal's attempts held", "[property][usage]") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  const auto env = memory_disk();
  LedgerOptions options = options_for("/ledger", env.get());
  std::mt19937_64 random(seed);
  std::int64_t now_us = 19'000 * kDayOfUsage_us;
  options.clock = [&] {
    const auto most_us = random() % 20 == 0 ? 3 * kDayOfUsage_us : 3'600 * kSecondOfUsage_us;
    return WallTime{now_us += static_cast<std::int64_t>(random() % most_us)};
  };
  auto ledger = must(Ledger::open(options));
  must(ledger->append(founding()));
  Traffic traffic(*ledger, seed);
  for (int i = 0; i < 80; ++i) must(ledger->append(traffic.next_batch(4)));

  UsageOracle oracle;
  ledger->visit_journal(1, [&](const JournalRecord& record) {
    oracle.take(record);
    return true;
  });
  std::map<TenantId, std::pair<AmountMs, std::uint64_t>> stored;
  std::set<DayNumber> days;
  for (const auto& [group, usage] : sums_of(*ledger)) {
    days.insert(group.day);
    auto& [cpu, ended] = stored[group.tenant];
    for (const UsedResource& resource : usage.used) cpu += resource.total();
    ended += usage.succeeded + usage.failed + usage.cancelled + usage.lost;
  }
  CHECK(days.size() > 5);
  CHECK(oracle.sums.size() == 3);
  for (const auto& [tenant, sums] : oracle.sums) {
    CHECK(stored[tenant].first == sums.first);
    CHECK(stored[tenant].second == sums.second);
  }
  CHECK(ledger->verify().differences == std::vector<std::string>{});
}

TEST_CASE("usage is read from any group on, in the order of days", "[unit][usage]") {
  const auto env = memory_disk();
  LedgerOptions options = options_for("/ledger", env.get());
  std::int64_t now_us = kDayOfUsage_us;
  options.clock = [&] { return WallTime{now_us += kDayOfUsage_us / 2}; };
  auto ledger = must(Ledger::open(options));
  must(ledger->append(founding()));
  JobSpec of_ada = job_spec("a", 1);
  of_ada.user = "ada";
  must(ledger->append({JobSubmitted{{}, TenantId{2}, job_spec("b", 1)}}));
  must(ledger->append({JobSubmitted{{}, TenantId{1}, of_ada}}));
  must(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));
  std::vector<UsageGroup> groups;
  for (const auto& [group, usage] : sums_of(*ledger)) groups.push_back(group);
  REQUIRE(groups.size() == 3);
  CHECK(std::is_sorted(groups.begin(), groups.end()));
  std::vector<UsageGroup> from_second;
  ledger->visit_usage(groups[1], [&](const UsageGroup& group, const UsageRecord&) {
    from_second.push_back(group);
    return true;
  });
  CHECK(from_second == std::vector<UsageGroup>{groups[1], groups[2]});
}

}  // namespace
}  // namespace fairwater::test
