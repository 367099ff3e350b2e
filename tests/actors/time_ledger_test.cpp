// A coordinator whose ledger counts time: what is held goes into the book each second, is durable,
// and comes back.
#include <algorithm>
#include <map>

#include "cluster_fixture.hpp"

namespace fairwater {
namespace {

constexpr TenantId kA{1};
constexpr TenantId kB{2};
// A task of one processor costs ten units.
constexpr Units kProcessorSecond = 10'000;
constexpr MicroUnits kProcessor = 10 * kMicroUnitsPerUnit;

TaskResult ran_a_second(const TaskKey& task) {
  TaskResult result = succeeded(task);
  result.started_at = {1'000'000};
  result.finished_at = {2'000'000};
  return result;
}

/// Runs what it is given, on one agent whose tasks end when the test says so.
struct Timed {
  ClusterFixture cluster;
  FakeAgent agent;
  std::size_t seen = 0;
  std::map<TaskKey, TenantId> held;

  explicit Timed(ClusterSettings settings = ClusterFixture::default_settings(),
                 Accounting accounting = Accounting::time)
      : cluster(std::move(settings), accounting) {
    cluster.apply({tenant_spec("a", 1), tenant_spec("b", 1)});
    agent = cluster.join("node", 16);
  }
  void take_orders() {
    const auto launches = agent.launches();
    for (; seen < launches.size(); ++seen) {
      const TaskKey& task = launches[seen].task;
      held[task] = launches[seen].tenant;
      agent.running.push_back(task);
    }
  }
  std::size_t held_by(TenantId tenant) {
    take_orders();
    return static_cast<std::size_t>(std::count_if(
        held.begin(), held.end(), [&](const auto& task) { return task.second == tenant; }));
  }
  /// All tasks of the tenant end.
  void finish(TenantId tenant) {
    take_orders();
    std::vector<TaskResult> results;
    for (const auto& [task, holder] : held)
      if (holder == tenant) results.push_back(ran_a_second(task));
    for (const TaskResult& result : results) {
      held.erase(result.task);
      std::erase(agent.running, result.task);
    }
    REQUIRE(cluster.report(agent, results).engaged());
    take_orders();
  }
  /// In steps of less than a lease.
  void pass(std::int64_t ms) {
    for (; ms > 0; ms -= 1000) {
      cluster.advance(std::min<std::int64_t>(ms, 1000));
      REQUIRE(cluster.report(agent).engaged());
      take_orders();
    }
  }
  /// Of a task that waits.
  ExplainedMark explain(JobId job, std::uint32_t index) {
    const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), job, index});
    REQUIRE(why.engaged());
    REQUIRE(why->mark);
    CHECK(why->measure == LedgerMeasure{Accounting::time, 100});
    for (const MarkMove& move : why->mark->moves) CHECK(why->names.tenants.contains(move.other));
    return *why->mark;
  }
  Expected<DebtsForgiven> forgive(ForgiveDebt wanted) {
    wanted.caller = cluster.operator_caller();
    return cluster.ask<DebtsForgiven>(wanted);
  }
  Units net(const std::string& tenant) {
    for (const TenantInfo& info : cluster.tenants())
      if (info.record.spec.name == tenant) return info.net;
    return 0;
  }
};

TEST_CASE("a debt of half a second costs half a second", "[actors][time]") {
  Timed timed;
  timed.cluster.submit("a", 1000);
  CHECK(timed.held_by(kA) == 16);
  timed.pass(500);
  timed.cluster.submit("b", 100);
  timed.pass(500);
  timed.finish(kA);
  CHECK(timed.held_by(kA) == 8);
  CHECK(timed.held_by(kB) == 8);
  timed.pass(1000);
  CHECK(timed.net("a") == -8 * kProcessorSecond);
  CHECK(timed.net("b") == 8 * kProcessorSecond);
  for (int i = 0; i < 5; ++i) {
    timed.finish(kA);
    timed.pass(1000);
    CHECK(timed.held_by(kA) == 8);
    CHECK(timed.held_by(kB) == 8);
  }
  CHECK(timed.net("a") == -8 * kProcessorSecond);
  CHECK(timed.cluster.verify().ok);
}

TEST_CASE("nets outlive a restart, and time stands still in between", "[actors][time]") {
  Timed timed;
  timed.cluster.submit("a", 1000);
  CHECK(timed.held_by(kA) == 16);
  timed.pass(20'000);
  CHECK(timed.net("b") == 160 * kProcessorSecond);
  timed.cluster.restart();
  CHECK(timed.net("b") == 160 * kProcessorSecond);
  CHECK_FALSE(timed.cluster.reattach(timed.agent));
  timed.pass(1000);
  CHECK(timed.net("b") >= 168 * kProcessorSecond);
  CHECK(timed.net("b") <= 176 * kProcessorSecond);
  CHECK(timed.cluster.verify().ok);

  // A creditor may leave: what it is owed is spread, and the time up to then is settled.
  timed.cluster.apply({tenant_spec("a", 1), tenant_spec("b", 1), tenant_spec("c", 2)});
  timed.pass(2000);
  CHECK(timed.net("c") > 0);
  const RemoveTenant remove{timed.cluster.operator_caller(), "c"};
  CHECK_FALSE(timed.cluster.ask<TenantDeparture>(remove)->leaving);
  timed.pass(1000);
  CHECK(timed.net("a") + timed.net("b") == 0);
  CHECK(timed.cluster.verify().ok);
}

TEST_CASE("how long a class of tasks takes is known after a restart", "[actors][time]") {
  Timed timed;
  const JobId ended = timed.cluster.submit("b", 8);
  timed.finish(kB);
  CHECK(state_of(timed.cluster.show(ended).job) == JobState::succeeded);
  timed.cluster.restart();
  CHECK_FALSE(timed.cluster.reattach(timed.agent));
  const JobId waiting = timed.cluster.submit("b", 100);
  const auto next = timed.explain(waiting, 99).next;
  REQUIRE(next);
  CHECK(next->expected_ms == 1000);
  CHECK(next->expected_from == PredictionSource::task_class);

  // Also of a job that has not ended.
  timed.finish(kB);
  timed.cluster.restart();
  CHECK_FALSE(timed.cluster.reattach(timed.agent));
  CHECK(timed.explain(waiting, 99).next->expected_ms == 1000);
}

TEST_CASE("job show and job explain say by when a job is expected to start", "[actors][time]") {
  ClusterSettings settings = ClusterFixture::default_settings();
  settings.wall_clock = [] { return WallTime{1'000'000'000}; };
  Timed timed(std::move(settings));
  const auto submit = [&](const std::string& tenant, std::int64_t time_limit_ms) {
    JobSpec spec;
    spec.tenant = tenant;
    spec.command = {"true"};
    spec.resources = {{"cpu", 16'000}};
    spec.time_limit_ms = time_limit_ms;
    const auto accepted =
        timed.cluster.ask<JobAccepted>(SubmitJob{timed.cluster.operator_caller(), spec});
    REQUIRE(accepted);
    timed.cluster.run();
    return accepted->id;
  };
  const JobId running = submit("a", 60'000);
  const JobId waiting = submit("b", 60'000);
  timed.pass(5000);
  const WallTime expected{1'055'000'000};
  CHECK(timed.cluster.show(waiting).expected_start == expected);
  const auto why =
      timed.cluster.ask<Explanation>(ExplainTask{timed.cluster.operator_caller(), waiting, 0});
  REQUIRE(why);
  CHECK(why->expected_start == expected);
  CHECK_FALSE(timed.cluster.show(running).expected_start);
}

TEST_CASE("a tenant does not leave with what it held a moment ago", "[actors][time]") {
  Timed timed;
  timed.cluster.submit("b", 16);
  CHECK(timed.held_by(kB) == 16);
  timed.pass(400);
  timed.finish(kB);
  CHECK(timed.net("b") == 0);
  const RemoveTenant remove{timed.cluster.operator_caller(), "b"};
  CHECK(timed.cluster.ask<TenantDeparture>(remove)->leaving);
  CHECK(timed.net("b") == -32'000);
  CHECK(timed.cluster.verify().ok);
}

TEST_CASE("an operator forgives a debt: marks follow, and a restart knows it", "[actors][time]") {
  Timed timed;
  timed.cluster.submit("a", 1000);
  timed.pass(100'000);
  CHECK(timed.net("a") == -800 * kProcessorSecond);
  const auto records = timed.cluster.journal().size();
  const auto planned = timed.forgive(
      {.caller = {}, .debtor = "a", .amount = "300core-s", .reason = "?", .dry_run = true});
  REQUIRE(planned.engaged());
  CHECK(planned->left == 500 * kProcessorSecond);
  CHECK(timed.cluster.journal().size() == records);

  const auto part = timed.forgive({.caller = {},
                                   .debtor = "a",
                                   .creditor = "b",
                                   .amount = "300core-s",
                                   .reason = "a broken job"});
  REQUIRE(part.engaged());
  CHECK(part->shares == std::vector<ForgivenShare>{{"b", 300 * kProcessorSecond}});
  CHECK(part->left == 500 * kProcessorSecond);
  CHECK(timed.net("a") == -500 * kProcessorSecond);
  const auto journal = timed.cluster.journal();
  const auto& record = std::get<DebtForgiven>(journal.back().body);
  CHECK(record == DebtForgiven{kA, {{kB, 300 * kProcessorSecond}}, "a broken job"});
  REQUIRE(timed.forgive({.caller = {}, .debtor = "a", .reason = "the rest"}).engaged());
  CHECK(timed.net("b") == 0);
  // Without the debt b has no claim beyond its part, however short its tasks are known to be.
  timed.cluster.submit("b", 1000);
  timed.finish(kA);
  timed.pass(1000);
  timed.finish(kB);
  timed.finish(kA);
  CHECK(timed.held_by(kA) == 8);
  CHECK(timed.held_by(kB) == 8);
  const std::vector<TenantInfo> before = timed.cluster.tenants();
  timed.cluster.restart();
  for (const TenantInfo& tenant : before) {
    CHECK(timed.net(tenant.record.spec.name) == tenant.net);
    const Units sign = tenant.record.id == kA ? -1 : 1;
    CHECK(tenant.record.forgiven_total == sign * 800 * kProcessorSecond);
  }
  CHECK(timed.cluster.verify().ok);
}

TEST_CASE("the resource that is counted outlives a restart", "[actors][time]") {
  Timed timed;
  // Sixteen tasks take all memory, and a tenth of the processors.
  constexpr std::int64_t kUnitsOfMemory = (1 << 20) / 256;
  JobSpec job;
  job.tenant = "a";
  job.command = {"true"};
  job.tasks_min = job.tasks_max = 16;
  job.resources = {{"cpu", 100}, {"memory", (1 << 20) / 16}};
  REQUIRE(
      timed.cluster.ask<JobAccepted>(SubmitJob{timed.cluster.operator_caller(), job}).engaged());
  CHECK(timed.held_by(kA) == 16);
  const auto held_per_ms = [&] {
    TimeSettlement last;
    for (const JournalRecord& record : timed.cluster.journal())
      if (const auto* settled = std::get_if<TimeSettled>(&record.body)) last = settled->settlement;
    CHECK(last.resource == kMemory);
    REQUIRE_FALSE(last.lines.empty());
    return last.lines.front().held.unit_ms / (last.until_ms - last.from_ms);
  };
  timed.pass(5000);
  CHECK(held_per_ms() == kUnitsOfMemory);
  timed.cluster.restart();
  REQUIRE_FALSE(timed.cluster.reattach(timed.agent));
  timed.pass(1000);
  CHECK(held_per_ms() == kUnitsOfMemory);
  CHECK(timed.cluster.verify().ok);
}

TEST_CASE("debts end at their cap, half of them in a half-life, also with restarts",
          "[actors][time]") {
  ClusterSettings settings = ClusterFixture::default_settings();
  settings.debts = {.cap_part_ms = 20'000, .half_life_ms = 100'000};
  Timed timed(settings);
  timed.cluster.submit("a", 16);
  timed.pass(60'000);
  constexpr Units kCap = 20 * 8 * kProcessorSecond;
  CHECK(timed.net("b") <= kCap);
  CHECK(timed.net("b") > kCap * 98 / 100);
  timed.finish(kA);
  timed.pass(1000);
  const Units owed = timed.net("b");
  for (int i = 0; i < 10; ++i) {
    timed.pass(10'000);
    timed.cluster.restart();
    REQUIRE_FALSE(timed.cluster.reattach(timed.agent));
  }
  // Restarts cost a moment each, in which time stands still.
  CHECK(timed.net("b") >= owed / 2);
  CHECK(timed.net("b") < owed * 55 / 100);
  for (const TenantInfo& info : timed.cluster.tenants()) {
    const TenantRecord& record = info.record;
    CHECK((record.held_total.micro() - record.part_total.micro()) / kMicroUnitsPerUnit ==
          -info.net - record.forgiven_total);
  }
  CHECK(timed.cluster.verify().ok);
}

TEST_CASE("a ledger that counted units counts time after a restart", "[actors][time]") {
  Timed timed(ClusterFixture::default_settings(), Accounting::units);
  timed.cluster.submit("a", 1000);
  CHECK(timed.held_by(kA) == 16);
  const Units lent = timed.net("b");
  REQUIRE(lent > 0);
  constexpr Units kUnit = kProcessorSecond / 10 * 60;  // a minute of a unit
  timed.cluster.restart([](rocksdb::Env* env, const std::string& directory) {
    LedgerOptions options;
    options.directory = directory;
    options.env = env;
    auto ledger = Ledger::open(options);
    REQUIRE(ledger.engaged());
    REQUIRE((*ledger)->append({AccountingChanged{kUnit}}).engaged());
  });
  CHECK(timed.net("b") == lent * kUnit);
  REQUIRE_FALSE(timed.cluster.reattach(timed.agent));
  timed.pass(10'000);
  CHECK(timed.net("b") >= lent * kUnit + 72 * kProcessorSecond);
  CHECK(timed.net("b") <= lent * kUnit + 80 * kProcessorSecond);
  const auto shown = timed.cluster.ask<LedgerView>(ShowLedger{timed.cluster.operator_caller()});
  REQUIRE(shown.engaged());
  CHECK(shown->measure.accounting == Accounting::time);
  CHECK(shown->counts_time_since);
  CHECK(shown->unit_ms_per_unit == kUnit);
  timed.cluster.restart();
  CHECK(timed.cluster.verify().ok);
}

TEST_CASE("who may forgive, whom and how much", "[actors][time]") {
  Timed timed;
  const auto refusal = [&](const ForgiveDebt& wanted) {
    const auto forgiven = timed.forgive(wanted);
    REQUIRE_FALSE(forgiven.engaged());
    return details(forgiven.error());
  };
  CHECK(refusal({.caller = {}, .debtor = "a", .reason = "why not"}).message ==
        "tenant a owes nothing");
  timed.cluster.submit("a", 16);
  timed.pass(1000);
  const ForgiveDebt good{.caller = {}, .debtor = "a", .reason = "why not"};
  ForgiveDebt wrong = good;
  wrong.reason = "";
  CHECK(refusal(wrong).message == "say why it is forgiven; the journal keeps it");
  wrong.reason = std::string(2000, 'x');
  CHECK(refusal(wrong).field == "reason");
  wrong = good;
  wrong.debtor = "c";
  CHECK(refusal(wrong).message == "there is no tenant 'c'");
  CHECK(refusal(wrong).field == "debtor");
  wrong = good;
  wrong.creditor = "c";
  CHECK(refusal(wrong).field == "creditor");
  wrong.creditor = "a";
  CHECK(refusal(wrong).message == "tenant a owes a nothing; it owes b");
  wrong = good;
  wrong.amount = "8";
  CHECK(refusal(wrong).field == "amount");
  CHECK_THAT(refusal(wrong).message,
             Catch::StartsWith("'8' is no balance: this ledger counts time"));

  ForgiveDebt asked = good;
  asked.caller = timed.cluster.tenant_caller("a");
  const auto by_tenant = timed.cluster.ask<DebtsForgiven>(asked);
  REQUIRE_FALSE(by_tenant.engaged());
  CHECK(details(by_tenant.error()).code == ErrorCode::not_permitted);

  timed.cluster.fill_disk(true);
  CHECK_FALSE(timed.forgive(good).engaged());
  timed.cluster.fill_disk(false);
  timed.pass(3000);
  CHECK(timed.net("a") < 0);
  REQUIRE(timed.forgive(good).engaged());
  CHECK(timed.net("a") == 0);
  CHECK(timed.cluster.verify().ok);
}

TEST_CASE("what was lent comes back as fast as its owner's tasks are known to end",
          "[actors][time]") {
  Timed timed;
  timed.cluster.submit("a", 1000);
  timed.pass(100'000);
  CHECK(timed.net("b") == 800 * kProcessorSecond);
  const JobId job = timed.cluster.submit("b", 1000);
  timed.finish(kA);
  // Nobody knows yet how long its tasks run: it has its part and no more.
  CHECK(timed.held_by(kB) == 8);
  const auto unknown = timed.explain(job, 8);
  CHECK(unknown.mark == 8 * kProcessor);
  CHECK(unknown.next->expected_ms == 0);
  CHECK_FALSE(unknown.next->is_covered);
  timed.pass(1000);
  timed.finish(kB);
  timed.finish(kA);
  CHECK(timed.held_by(kB) == 16);
  const auto known = timed.explain(job, 24);
  CHECK(known.held == 16 * kProcessor);
  CHECK(known.part == 8 * kProcessor);
  CHECK(known.mark == 16 * kProcessor);
  CHECK(known.net == 800 * kProcessorSecond);
  REQUIRE(known.moves.size() == 1);
  CHECK(known.moves[0].other == kA);
  CHECK(known.moves[0].moved == 8 * kProcessor);
  CHECK(known.next->index == 24);
  CHECK(known.next->expected_from == PredictionSource::task_class);
  CHECK(known.next->expected_ms == 1000);
  CHECK(known.next->is_covered);
  const auto journal = timed.cluster.journal();
  CHECK(std::any_of(journal.begin(), journal.end(), [](const JournalRecord& record) {
    return std::holds_alternative<TimeSettled>(record.body);
  }));
}

}  // namespace
TEST_CASE("tasks are late by when they came, wherever the ledger's clock stood then", "[actor]") {
  const auto now_ms = std::make_shared<std::int64_t>(0);
  ClusterSettings settings = ClusterFixture::default_settings();
  settings.lease_ms = 86'400'000;
  settings.wall_clock = [now_ms] { return WallTime{1'000'000'000'000 + *now_ms * 1000}; };
  ClusterFixture cluster(settings, Accounting::time);
  cluster.apply({tenant_spec("a", 1), tenant_spec("b", 1), tenant_spec("c", 1)});
  FakeAgent agent = cluster.join("node", 1);
  const auto pass = [&](std::int64_t ms) {
    *now_ms += ms;
    cluster.advance(ms);
  };
  const auto submit = [&](const std::string& tenant, std::int64_t limit_ms) {
    JobSpec spec;
    spec.tenant = tenant;
    spec.command = {"true"};
    spec.resources = {{"cpu", 1000}};
    spec.time_limit_ms = limit_ms;
    const auto accepted = cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec});
    REQUIRE(accepted.engaged());
    cluster.run();
    return accepted->id;
  };
  submit("c", 0);
  REQUIRE(agent.launches().size() == 1);
  agent.running = {agent.launches().front().task};
  // The first is late 50 ms after the second; the ledger's clock was set 900 ms before it came.
  pass(900);
  submit("a", 10'000);
  pass(100);
  const JobId sooner = submit("b", 9700);
  pass(4'000'000);
  const auto ended = std::exchange(agent.running, {}).front();
  REQUIRE(cluster.report(agent, {succeeded(ended)}).engaged());
  REQUIRE(agent.launches().size() == 2);
  CHECK(agent.launches().back().task.job == sooner);
}

}  // namespace fairwater
