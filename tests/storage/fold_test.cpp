// The fold, record by record: what follows from each, and what it refuses.
#include "storage/fold.hpp"

#include <catch2/catch.hpp>

#include "policy/allocator/advances.hpp"
#include "state/job.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

/// A state in memory to which bodies are applied as records that follow each other.
class Folded {
 public:
  Folded() : state(nothing_) {
    for (JournalBody& body : founding()) must_apply(std::move(body));
  }
  caf::error try_apply(JournalBody body) {
    const JournalRecord record{
        state.meta.last_number + 1, {time_us += 1'000'000}, state.meta.last_hash, std::move(body)};
    caf::error error = apply(state, record);
    if (!error) state.meta.last_hash = hash_of(to_bytes(record));
    return error;
  }
  void must_apply(JournalBody body) {
    const caf::error error = try_apply(std::move(body));
    if (error) FAIL(details(error).message);
  }
  std::string refusal(JournalBody body) {
    const caf::error error = try_apply(std::move(body));
    if (!error) return "accepted";
    const std::string words = details(error).message;
    const std::size_t end = words.find(" is refused: ");
    return end == std::string::npos ? words : words.substr(end + 13);
  }
  void submit(std::uint64_t id, std::uint32_t tenant, std::uint32_t tasks,
              std::uint32_t retries = 0) {
    JobSpec spec = job_spec("a", tasks);
    spec.retries = retries;
    must_apply(JobSubmitted{JobId{id}, TenantId{tenant}, spec});
  }
  void grant(std::uint32_t tenant, const std::vector<TaskKey>& tasks) {
    must_apply(Cycle{{plain_deal(state.meta.position, TenantId{tenant}, tasks)}});
  }
  const JobRecord& job(std::uint64_t id) { return *state.jobs.find(key_of(JobId{id})); }
  const TaskRecord* task(std::uint64_t id, std::uint32_t index) {
    return state.tasks.find(task_key(JobId{id}, index));
  }
  bool lives(std::uint64_t id) { return state.live.find(key_of(JobId{id})); }

 private:
  EmptyView nothing_;

 public:
  State state;
  std::int64_t time_us = 0;
};

TaskKey key(std::uint64_t job, std::uint32_t index, std::uint32_t attempt = 1) {
  return {JobId{job}, index, attempt};
}

/// `lender` gets all slots, `borrower` uses them.
Deal lending_deal(std::uint32_t lender, std::uint32_t borrower, const TaskKey& task, Units cost) {
  Deal deal = plain_deal(0, TenantId{borrower}, {task});
  deal.free_units = cost;
  deal.grants[0].cost = cost;
  deal.lines[0].granted = 0;
  deal.lines[0].placed = cost;
  TenantLine line;
  line.tenant = TenantId{lender};
  line.granted = cost;
  deal.lines.push_back(line);
  deal.loans.push_back({TenantId{lender}, TenantId{borrower}, cost});
  return deal;
}

TEST_CASE("a name belongs to one tenant", "[unit][fold]") {
  Folded folded;
  CHECK(folded.refusal(TenantsChanged{{tenant(4, "a", 1)}, 0}) ==
        "the name 'a' belongs to another tenant");
  Folded renamed;
  CHECK(renamed.refusal(TenantsChanged{{tenant(2, "a", 1)}, 0}) ==
        "the name 'a' belongs to another tenant");
  Folded twice;
  CHECK(twice.refusal(TenantsChanged{{tenant(4, "d", 1), tenant(5, "d", 1)}, 0}) ==
        "the name 'd' belongs to another tenant");
}

TEST_CASE("a job of a million tasks is one record until tasks are granted", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 1, kMaxTasksPerJob);
  CHECK(folded.job(1).tasks.pending() == kMaxTasksPerJob);
  CHECK(folded.state.tasks.all().empty());
  folded.grant(1, {key(1, 999'999)});
  CHECK(folded.state.tasks.all().size() == 1);
  CHECK(folded.job(1).tasks.running == 1);
}

TEST_CASE("a job goes from pending over running to its end", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 1, 2);
  CHECK(state_of(folded.job(1)) == JobState::pending);
  folded.grant(1, {key(1, 0), key(1, 1)});
  CHECK(state_of(folded.job(1)) == JobState::running);
  CHECK(folded.job(1).started_at.microseconds == folded.time_us);
  CHECK(folded.task(1, 0)->grant_cycle == folded.state.meta.last_number);
  folded.must_apply(TasksFinished{NodeId{1}, {success(key(1, 0))}});
  CHECK(folded.lives(1));
  TaskResult failure = success(key(1, 1));
  failure.exit_code = 3;
  folded.must_apply(TasksFinished{NodeId{1}, {failure}});
  CHECK(state_of(folded.job(1)) == JobState::failed);
  CHECK(folded.job(1).finished_at.microseconds == folded.time_us);
  CHECK_FALSE(folded.lives(1));
  CHECK(folded.task(1, 1)->result->exit_code == 3);
  CHECK(folded.state.tenants.find(key_of(TenantId{1}))->granted_units_total == 2);
}

TEST_CASE("late, repeated and foreign results change nothing", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 1, 1, /*retries=*/1);
  folded.grant(1, {key(1, 0)});
  const TaskRecord before = *folded.task(1, 0);
  folded.must_apply(TasksFinished{NodeId{2}, {success(key(1, 0))}});
  folded.must_apply(TasksFinished{NodeId{1}, {success(key(1, 0, 2))}});
  folded.must_apply(TasksFinished{NodeId{1}, {success(key(7, 0))}});
  CHECK(*folded.task(1, 0) == before);
  TaskResult failure = success(key(1, 0));
  failure.exit_code = 1;
  folded.must_apply(TasksFinished{NodeId{1}, {failure, failure}});
  CHECK(folded.task(1, 0)->failures == 1);
  CHECK(folded.task(1, 0)->state == TaskState::pending);
  CHECK(folded.task(1, 0)->attempt == 2);
}

TEST_CASE("requeued tasks wait again under the next attempt", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 1, 1);
  folded.grant(1, {key(1, 0)});
  folded.must_apply(TasksRequeued{NodeId{1}, {key(1, 0)}, "node lost"});
  folded.must_apply(TasksRequeued{NodeId{1}, {key(1, 0)}, "said twice"});
  CHECK(folded.task(1, 0)->attempt == 2);
  CHECK(folded.job(1).tasks.pending() == 1);
  folded.grant(1, {key(1, 0, 2)});
  CHECK(folded.job(1).tasks.running == 1);
}

TEST_CASE("a cancel counts waiting tasks and lets running ones end", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 1, 5);
  folded.grant(1, {key(1, 0), key(1, 1)});
  folded.must_apply(JobCancelled{JobId{1}, "wrong input"});
  CHECK(folded.job(1).tasks.cancelled == 3);
  CHECK(folded.lives(1));
  folded.must_apply(TasksRequeued{NodeId{1}, {key(1, 1)}, "node lost"});
  CHECK(folded.task(1, 1)->state == TaskState::cancelled);
  TaskResult stopped = success(key(1, 0));
  stopped.reason = EndReason::cancelled;
  folded.must_apply(TasksFinished{NodeId{1}, {stopped}});
  CHECK(folded.job(1).tasks.cancelled == 5);
  CHECK(state_of(folded.job(1)) == JobState::cancelled);
  CHECK_FALSE(folded.lives(1));
}

TEST_CASE("a grant that crossed a cancel runs until it is stopped", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 1, 1);
  folded.must_apply(JobCancelled{JobId{1}, ""});
  CHECK_FALSE(folded.lives(1));
  folded.grant(1, {key(1, 0)});
  CHECK(folded.lives(1));
  CHECK(folded.job(1).tasks.running == 1);
  CHECK_FALSE(folded.job(1).finished_at);
  folded.must_apply(TasksRequeued{NodeId{1}, {key(1, 0)}, "not launched"});
  CHECK(folded.job(1).tasks.cancelled == 1);
  CHECK_FALSE(folded.lives(1));
}

TEST_CASE("loans and repayments move the book and the totals", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 2, 2);
  folded.must_apply(Cycle{{lending_deal(1, 2, key(1, 0), 4)}});
  CHECK(folded.state.balances.find(balance_key(2, 1))->units == 4);
  CHECK(folded.state.accounts.book().net(1) == 4);
  CHECK(folded.state.tenants.find(key_of(TenantId{1}))->lent_total == 4);
  CHECK(folded.state.tenants.find(key_of(TenantId{2}))->borrowed_total == 4);
  Deal repayment = lending_deal(1, 2, key(1, 1), 4);
  repayment.loans.clear();
  std::swap(repayment.lines[0].granted, repayment.lines[1].granted);
  repayment.lines[0].placed = 4;
  repayment.lines[0].granted = 8;
  repayment.lines[0].paid = 4;
  repayment.lines[1].received = 4;
  repayment.lines[1].rolled_back = 4;
  repayment.repayments.push_back({TenantId{2}, TenantId{1}, 4});
  folded.must_apply(Cycle{{repayment}});
  CHECK(folded.state.balances.find(balance_key(2, 1)) == nullptr);
  CHECK(folded.state.accounts.book().empty());
}

TaskResult launch_failure(const TaskKey& task) {
  TaskResult result;
  result.task = task;
  result.reason = EndReason::launch_failed;
  return result;
}

TEST_CASE("a launch that failed is neither use nor loan", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 2, 1);
  const Deal deal = lending_deal(1, 2, key(1, 0), 4);
  folded.must_apply(Cycle{{deal}});
  const auto advances = advances_of(deal);
  REQUIRE(advances == std::vector<std::vector<Advance>>{{{TenantId{1}, 4}}});
  const auto tenant_at = [&](std::uint32_t id) {
    return *folded.state.tenants.find(key_of(TenantId{id}));
  };
  SECTION("however it is told") {
    const LaunchesFailed failed{NodeId{1}, {{launch_failure(key(1, 0)), advances[0]}}};
    folded.must_apply(failed);
    CHECK(folded.state.accounts.book().empty());
    CHECK(tenant_at(1).lent_total == 0);
    CHECK(tenant_at(2).borrowed_total == 0);
    CHECK(tenant_at(2).granted_units_total == 0);
    CHECK(folded.task(1, 0)->state == TaskState::pending);
    CHECK(folded.task(1, 0)->launch_failures == 1);
    CHECK(folded.task(1, 0)->waits_until.microseconds == folded.time_us + 1'000'000);
    CHECK(folded.refusal(failed) ==
          "task 1.0.1 does not run there, and its advances would go back");
    folded.must_apply(LaunchesFailed{NodeId{1}, {{launch_failure(key(1, 0)), {}}}});
    folded.grant(2, {key(1, 0, 2)});
    CHECK_FALSE(folded.task(1, 0)->waits_until);
  }
  SECTION("but no more goes back than it cost, and nothing of what ran") {
    CHECK_THAT(folded.refusal(LaunchesFailed{
                   NodeId{1}, {{launch_failure(key(1, 0)), {{TenantId{1}, 3}, {TenantId{3}, 2}}}}}),
               Catch::Contains("2 units of 1 that a grant of tenant 2 cost"));
    CHECK_THAT(folded.refusal(LaunchesFailed{NodeId{1}, {{success(key(1, 0)), advances[0]}}}),
               Catch::Contains("is no failed launch: it ended as exited"));
  }
}

TEST_CASE("a node's loss is counted for the tasks that it had been ordered to run",
          "[unit][fold]") {
  Folded folded;
  folded.submit(1, 1, 1);
  folded.grant(1, {key(1, 0)});
  folded.must_apply(TasksRequeued{NodeId{1}, {key(1, 0)}, "never sent"});
  CHECK(folded.task(1, 0)->losses == 0);
  for (std::uint32_t attempt = 2; attempt < 2 + kMaxLosses; ++attempt) {
    folded.grant(1, {key(1, 0, attempt)});
    folded.must_apply(TasksRequeued{NodeId{1}, {key(1, 0, attempt)}, "node lost", true});
  }
  CHECK(folded.task(1, 0)->losses == kMaxLosses);
  CHECK(state_of(folded.job(1)) == JobState::failed);
  CHECK_FALSE(folded.lives(1));
}

TEST_CASE("the last coordinator's lease is remembered", "[unit][fold]") {
  Folded folded;
  const LeaseTerms terms{15'000, 5'000, {7}};
  folded.must_apply(CoordinatorStarted{2, "", terms});
  CHECK(folded.state.meta.lease == terms);
  CHECK(longest_lease_left_ms(terms, {1'000'000}) == 20'000);
  CHECK(longest_lease_left_ms({15'000, 5'000, {61'000'000}}, {1'000'000}) == 60'000);
  CHECK(longest_lease_left_ms({}, {1'000'000}) == 0);
}

TEST_CASE("the worked example of docs/ledger.md comes out as written", "[unit][fold]") {
  constexpr std::uint32_t a = 1;
  constexpr std::uint32_t b = 2;
  constexpr std::uint32_t c = 3;
  IouBook book;
  const auto nets = [&] { return std::vector{book.net(a), book.net(b), book.net(c)}; };
  book.lend(a, b, 4);
  CHECK(nets() == std::vector<Units>{4, -4, 0});
  book.lend(c, b, 2);
  CHECK(nets() == std::vector<Units>{4, -6, 2});
  book.lend(b, c, 3);
  CHECK(nets() == std::vector<Units>{4, -3, -1});
  CHECK(book.owed(b, a) == 3);
  CHECK(book.owed(c, a) == 1);
  CHECK(book.repay(b, a, 2));
  CHECK(nets() == std::vector<Units>{2, -1, -1});
  CHECK(book.owed(b, a) == 1);
}

TEST_CASE("an IOU that comes again is younger than those that stayed", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 2, 8);
  folded.must_apply(Cycle{{lending_deal(1, 2, key(1, 0), 1), lending_deal(3, 2, key(1, 1), 1)}});
  const std::uint64_t first = folded.state.balances.find(balance_key(2, 1))->age;
  const std::uint64_t second = folded.state.balances.find(balance_key(2, 3))->age;
  CHECK(first < second);
  folded.submit(2, 1, 1);
  folded.must_apply(Cycle{{lending_deal(2, 1, key(2, 0), 1)}});  // cancels b's debt to a
  CHECK(folded.state.balances.find(balance_key(2, 1)) == nullptr);
  folded.must_apply(Cycle{{lending_deal(1, 2, key(1, 2), 1)}});
  CHECK(folded.state.balances.find(balance_key(2, 1))->age > second);
  CHECK(folded.state.balances.find(balance_key(2, 3))->age == second);
}

TEST_CASE("a leaver's claims are spread, its tokens go, its id stays used", "[unit][fold]") {
  Folded folded;
  Hash hash{};
  folded.must_apply(TokenIssued{Role::tenant, TenantId{1}, hash});
  folded.submit(1, 2, 1);
  folded.must_apply(Cycle{{lending_deal(1, 2, key(1, 0), 9)}});
  CHECK(folded.refusal(TenantRemoved{TenantId{2}, 0, 0}) ==
        "tenant 'b' leaves while a job of its lives");
  folded.must_apply(TasksFinished{NodeId{1}, {success(key(1, 0))}});
  CHECK(folded.refusal(TenantRemoved{TenantId{2}, 0, 0}) == "tenant 'b' leaves while it owes");
  // Nine units spread by weight over b (3, forgiven: its own) and c (2): c gets floor(9 * 2 / 5)
  // = 3.
  folded.must_apply(TenantRemoved{TenantId{1}, 0, 6});
  CHECK(folded.state.balances.find(balance_key(2, 3))->units == 3);
  CHECK(folded.state.tokens.find(token_key(hash)) == nullptr);
  CHECK(folded.state.accounts.period() == 5);
  CHECK(folded.refusal(TenantsChanged{{tenant(1, "again", 1)}, 0}) ==
        "the id 1 was given to another tenant before");
}

TEST_CASE("a tenant that changes keeps its totals", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 1, 1);
  folded.grant(1, {key(1, 0)});
  folded.must_apply(TenantsChanged{{tenant(1, "a", 50), tenant(4, "d", 1)}, 3});
  CHECK(folded.state.tenants.find(key_of(TenantId{1}))->granted_units_total == 1);
  CHECK(folded.state.tenants.find(key_of(TenantId{1}))->spec.weight == 50);
  CHECK(folded.state.accounts.period() == 56);
  CHECK(folded.state.meta.next_tenant == TenantId{5});
  CHECK(folded.state.meta.position == 3);
}

TEST_CASE("successful runs make the history of their class", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 1, 3);
  folded.grant(1, {key(1, 0), key(1, 1), key(1, 2)});
  TaskResult longer = success(key(1, 1));
  longer.finished_at = {6'000'000};
  TaskResult failed = success(key(1, 2));
  failed.exit_code = 1;
  folded.must_apply(TasksFinished{NodeId{1}, {success(key(1, 0)), longer, failed}});
  const auto* history = folded.state.classes.find(class_key("sleeper", {{"cpu", 100}}));
  REQUIRE(history);
  CHECK(*history == ClassHistory{2, 7000, 2000, 5000, 5000});
}

TEST_CASE("a ledger that was vouched for grants under its incarnation, to jobs with new ids",
          "[unit][fold]") {
  Folded folded;
  folded.submit(1, 1, 2);
  folded.grant(1, {key(1, 0)});
  const auto last = folded.state.meta.last_number;
  CHECK(folded.refusal(LedgerTrusted{0, last + 50, 10, "why"}) ==
        "incarnation 0 does not follow on 0");
  folded.must_apply(LedgerTrusted{3, last + 50, 10, "why"});
  CHECK(folded.state.meta.incarnation == 3);
  CHECK(folded.state.meta.given_up == last + 50);
  CHECK(folded.state.meta.next_job == JobId{12});
  CHECK(folded.refusal(Cycle{{plain_deal(folded.state.meta.position, TenantId{1}, {key(1, 1)})}}) ==
        "task 1.1.1 was granted, but the ledger's incarnation is 3");
  folded.grant(1, {{JobId{1}, 1, 1, 3}});
  CHECK(folded.task(1, 1)->incarnation == 3);
  // A result of the lost life's run of that attempt is a stranger's; what ran before goes on.
  folded.must_apply(TasksFinished{NodeId{1}, {success(key(1, 1))}});
  CHECK(folded.task(1, 1)->state == TaskState::running);
  folded.must_apply(TasksFinished{NodeId{1}, {success({JobId{1}, 1, 1, 3}), success(key(1, 0))}});
  CHECK(state_of(folded.job(1)) == JobState::succeeded);
}

TEST_CASE("what happens to a node changes what it tells of", "[unit][fold]") {
  Folded folded;
  const auto stored = [&] { return *folded.state.nodes.find(key_of(NodeId{1})); };
  folded.must_apply(NodeDrained{NodeId{1}, true, "new disks"});
  NodeAdmitted again = registered(1, "n1");
  again.run = {7, "process"};
  folded.must_apply(again);  // its agent was started anew while the drain was being written
  CHECK(stored().draining);
  CHECK(stored().drain_reason == "new disks");
  CHECK(stored().run.starts == 7);
  folded.must_apply(NodeLost{NodeId{1}});
  CHECK(stored().lost);
  folded.must_apply(NodeSuperseded{NodeId{1}, {8, "another"}});
  folded.must_apply(NodeReturned{NodeId{1}});
  CHECK_FALSE(stored().lost);
  CHECK(stored().run.starts == 8);
  folded.must_apply(NodeDrained{NodeId{1}, false, ""});
  CHECK_FALSE(stored().draining);
  CHECK(stored().drain_reason.empty());
  CHECK(folded.refusal(NodeLost{NodeId{9}}) == "node 9 does not exist");
}

TEST_CASE("the record of a node that an older version wrote is taken as it is", "[unit][fold]") {
  Folded folded;
  NodeRecord whole = node(4, "n4");
  whole.draining = whole.lost = true;
  whole.drain_reason = "old";
  folded.must_apply(NodeChanged{whole});
  CHECK(*folded.state.nodes.find(key_of(NodeId{4})) == whole);
  CHECK(folded.state.meta.next_node == NodeId{5});
  folded.must_apply(NodeReturned{NodeId{4}});
  whole.lost = false;
  CHECK(*folded.state.nodes.find(key_of(NodeId{4})) == whole);
}

TEST_CASE("a policy without accounts grants and moves no units", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 1, 2);
  const AccountsSnapshot before = folded.state.accounts.snapshot();
  Deal deal;
  deal.node = NodeId{1};
  deal.keeps_accounts = false;
  deal.grants = plain_deal(0, TenantId{1}, {key(1, 0)}).grants;
  folded.must_apply(Cycle{{deal}});
  CHECK(folded.state.accounts.snapshot() == before);
  CHECK(folded.state.tenants.find(key_of(TenantId{1}))->granted_units_total == 1);
  CHECK(folded.job(1).tasks.running == 1);
}

TEST_CASE("records that contradict the state are refused", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 1, 2);
  folded.grant(1, {key(1, 0)});
  const auto cycle = [&](const std::function<void(Deal&)>& change) {
    Deal deal = plain_deal(0, TenantId{1}, {key(1, 1)});
    change(deal);
    return Cycle{{deal}};
  };
  SECTION("order") {
    CHECK(folded.refusal(small_cluster()) == "the first record, and no other, creates the cluster");
    CHECK(folded.refusal(CoordinatorStarted{1, ""}) == "epoch 1 does not follow on 1");
    CHECK(folded.refusal(JobSubmitted{JobId{1}, TenantId{1}, job_spec("a", 1)}) ==
          "the id 1 was given to another job before");
    JournalRecord gap{folded.state.meta.last_number + 2, {1}, folded.state.meta.last_hash, Cycle{}};
    CHECK(apply(folded.state, gap));
    JournalRecord unchained{folded.state.meta.last_number + 1, {1}, {}, Cycle{}};
    CHECK(apply(folded.state, unchained));
  }
  SECTION("grants") {
    CHECK(folded.refusal(cycle([](Deal& deal) { deal.grants[0].task.index = 0; })) ==
          "task 1.0 attempt 1 was granted while it is running with attempt 1");
    CHECK(folded.refusal(cycle([](Deal& deal) { deal.node = NodeId{9}; })) ==
          "node 9 does not exist");
  }
  SECTION("a task of another tenant or beyond the job") {
    CHECK(folded.refusal(cycle([](Deal& deal) { deal.grants[0].task.index = 2; })) ==
          "task 1.2 attempt 1 was granted, but its tenant has no such task");
  }
  SECTION("an attempt out of turn") {
    CHECK(folded.refusal(cycle([](Deal& deal) { deal.grants[0].task.attempt = 2; })) ==
          "task 1.1 attempt 2 was granted while it is pending with attempt 1");
  }
  SECTION("arithmetic") {
    CHECK(folded.refusal(cycle([](Deal& deal) { deal.lines[0].granted = 2; })) ==
          "the closing equation of tenant 1 does not hold: carry 0 + lent 0 - borrowed 0 is not 1");
    CHECK(folded.refusal(cycle([](Deal& deal) {
      deal.lines[0].carry = deal.lines[0].granted = 1, deal.lines[0].placed = 0;
    })) == "the grants of tenant 1 cost 1 units, its line says 0");
    CHECK(folded.refusal(cycle([](Deal& deal) {
      deal.lines[0].granted = 2;
      deal.lines[0].carry = 1;
    })) == "the deal adds 1 units to the balances instead of none");
    CHECK(folded.refusal(cycle([](Deal& deal) {
      deal.loans.push_back({TenantId{2}, TenantId{3}, 1});
    })) == "tenant 2 takes part without a line");
    CHECK(folded.refusal(cycle([](Deal& deal) {
      deal.repayments.push_back({TenantId{1}, TenantId{2}, 0});
    })) == "tenant 1 repays 0 units to tenant 2");
  }
  SECTION("accounts") {
    CHECK(folded.refusal(cycle([](Deal& deal) { deal.position_before = 4; })) ==
          "a deal begins at position 4 of the sequence, which is at 0");
    CHECK(folded.refusal(cycle([](Deal& deal) { deal.position_after = 10; })) ==
          "position 10 is not within the sequence's period of 10");
  }
  SECTION("a deal without accounts that moves units") {
    CHECK(folded.refusal(cycle([](Deal& deal) { deal.keeps_accounts = false; })) ==
          "a deal without accounts moves units");
  }
  SECTION("a carry that does not go on") {
    CHECK(folded.refusal(cycle([](Deal& deal) {
      deal.lines[0].carried = deal.lines[0].carry = 1;
    })) == "tenant 1 carries 0 units, not 1");
  }
}

}  // namespace
}  // namespace fairwater::test
