// The fold, record by record: what follows from each, and what it refuses. Accounts:
// fold_accounts_test.cpp.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "state/job.hpp"
#include "tests/storage/folded.hpp"

namespace fairwater::test {
namespace {

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

/// Holds nothing, and counts how often it was asked for what, but for scans.
class AskedView final : public StateView {
 public:
  mutable std::map<Family, int> asked;

  std::optional<std::string> get(Family family, const std::string&) const override {
    ++asked[family];
    return std::nullopt;
  }
  void scan(Family, const std::function<void(std::string_view, std::string_view)>&) const override {
  }
  void scan_prefix(Family, const std::string&,
                   const std::function<void(std::string_view, std::string_view)>&) const override {}
};

TEST_CASE("what a new job cannot have is not looked for", "[unit][fold]") {
  const AskedView below;
  State state(below);
  const auto add = [&](JournalBody body) {
    const auto number = state.meta.last_number + 1;
    const JournalRecord record{
        number, {static_cast<std::int64_t>(number)}, state.meta.last_hash, std::move(body)};
    REQUIRE_FALSE(apply(state, record));
    state.meta.last_hash = hash_of(to_bytes(record));
  };
  const auto grant = [&](const std::vector<TaskKey>& tasks) {
    add(Cycle{{plain_deal(state.meta.position, TenantId{1}, tasks)}});
  };
  for (JournalBody& body : founding()) add(std::move(body));
  add(JobSubmitted{JobId{1}, TenantId{1}, job_spec("a", 1)});
  add(JobSubmitted{JobId{2}, TenantId{1}, job_spec("a", 2)});
  grant({key(1, 0), key(2, 0)});
  CHECK(below.asked[Family::jobs] == 0);
  CHECK(below.asked[Family::tasks] == 0);
  CHECK(below.asked[Family::tenant_jobs] == 0);
  grant({key(2, 1)});  // its job has started: it may have run before
  CHECK(below.asked[Family::tasks] == 1);
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

TEST_CASE("the journal says in how long a service is started again", "[unit][fold]") {
  Folded folded;
  JobSpec spec = job_spec("a", 1);
  spec.kind = JobKind::service;
  spec.job_class = "server";
  folded.must_apply(JobSubmitted{JobId{1}, TenantId{1}, spec});
  std::vector<ServiceRestart> restarts;
  const auto apply_noting = [&](JournalBody body) {
    JournalRecord record{folded.state.meta.last_number + 1,
                         {folded.time_us += 1'000'000},
                         folded.state.meta.last_hash,
                         std::move(body)};
    restarts.clear();
    REQUIRE_FALSE(apply(folded.state, record, restarts));
    note_restarts(record, restarts);
    folded.state.meta.last_hash = hash_of(to_bytes(record));
    return record.body;
  };
  folded.grant(1, {key(1, 0)});
  const auto finished = apply_noting(TasksFinished{NodeId{1}, {success(key(1, 0))}});
  CHECK(std::get<TasksFinished>(finished).restarts ==
        std::vector<ServiceRestart>{{key(1, 0), 1000}});
  CHECK(folded.lives(1));
  CHECK(folded.state.classes.all().empty());  // it says nothing of how long others run
  folded.must_apply(TasksFinished{NodeId{1}, {success(key(1, 0))}});  // told twice
  folded.grant(1, {key(1, 0, 2)});
  const auto lost = apply_noting(TasksRequeued{NodeId{1}, {key(1, 0, 2)}, "node lost", true});
  CHECK(std::get<TasksRequeued>(lost).restarts ==
        std::vector<ServiceRestart>{{key(1, 0, 2), 2000}});
  const auto again = apply_noting(TasksFinished{NodeId{1}, {success(key(1, 0, 2))}});
  CHECK(std::get<TasksFinished>(again).restarts.empty());
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
  const LeaseTerms terms{15'000, 5'000, {7}, 10'000, {8}};
  folded.must_apply(CoordinatorStarted{2, "", terms});
  CHECK(folded.state.meta.lease == terms);
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

TenantRecord tenant_in(std::uint32_t id, const std::string& name, const std::string& parent) {
  TenantRecord record = tenant(id, name, 1);
  record.spec.parent = parent;
  return record;
}

TEST_CASE("a tree of tenants has accounts at its leaves", "[unit][fold]") {
  Folded folded;
  folded.must_apply(TenantsChanged{{tenant_in(4, "b1", "b"), tenant_in(5, "b2", "b")}, 3});
  CHECK_FALSE(folded.state.accounts.has(TenantId{2}));
  CHECK(folded.state.accounts.has(TenantId{4}));
  CHECK(folded.state.accounts.period() == 1'000'000'000);  // as weighed by the tree
  SECTION("a tenant without tenants any more has one again") {
    folded.must_apply(TenantRemoved{TenantId{4}, 3, 0});
    CHECK_FALSE(folded.state.accounts.has(TenantId{2}));
    folded.must_apply(TenantRemoved{TenantId{5}, 3, 0});
    CHECK(folded.state.accounts.has(TenantId{2}));
    CHECK(folded.state.accounts.period() == 10);
  }
  SECTION("what is no tree is refused") {
    CHECK(folded.refusal(TenantsChanged{{tenant_in(2, "b", "b1")}, 3}) ==
          "tenant 'b', parent: b would be in b1, b1 in b");
  }
  SECTION("an unknown parent is refused") {
    CHECK(folded.refusal(TenantsChanged{{tenant_in(6, "d", "x")}, 3}) ==
          "tenant 'd', parent: there is no tenant 'x'");
  }
  SECTION("who has tenants does not leave") {
    CHECK(folded.refusal(TenantRemoved{TenantId{2}, 3, 0}) ==
          "tenant 'b' leaves while it has tenants");
  }
}

TEST_CASE("a tenant leaves until it is applied again, or gone", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 2, 1);
  const auto leaves = [&](std::uint32_t id) {
    return folded.state.tenants.find(key_of(TenantId{id}))->spec.leaving;
  };
  folded.must_apply(TenantLeaves{TenantId{2}});
  CHECK(leaves(2));
  CHECK_FALSE(leaves(1));
  folded.submit(2, 2, 1);  // one that was on its way
  CHECK(folded.refusal(TenantRemoved{TenantId{2}, 0, 0}) ==
        "tenant 'b' leaves while a job of its lives");
  folded.must_apply(TenantsChanged{{tenant(2, "b", 3)}, 0});
  CHECK_FALSE(leaves(2));
  CHECK(folded.refusal(TenantLeaves{TenantId{9}}) == "tenant 9 does not exist");
  Folded tree;
  tree.must_apply(TenantsChanged{{tenant_in(4, "b1", "b"), tenant_in(5, "b2", "b")}, 3});
  CHECK(tree.refusal(TenantLeaves{TenantId{2}}) == "tenant 'b' leaves while it has tenants");
}

TEST_CASE("who has a job is not divided", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 2, 1);
  CHECK(folded.refusal(TenantsChanged{{tenant_in(4, "b1", "b")}, 3}) ==
        "tenant 'b' is divided while a job of its lives");
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

TEST_CASE("a task's run is of the memory that it was granted, whatever its job's step is",
          "[unit][fold]") {
  Folded folded;
  JobSpec spec = job_spec("a", 2);
  spec.resources = {{"cpu", 100}, {"memory", 64}};
  spec.profiled.resources = {"memory"};
  spec.profiled.memory_steps = {128};
  folded.must_apply(JobSubmitted{JobId{1}, TenantId{1}, spec});
  const auto grant = [&](const TaskKey& task, Amount memory) {
    Deal deal = plain_deal(folded.state.meta.position, TenantId{1}, {task});
    deal.grants[0].demand.amount = {100, memory};
    folded.must_apply(Cycle{{deal}});
  };
  grant(key(1, 0), 64);
  TaskResult killed = success(key(1, 0));
  killed.reason = EndReason::memory_limit;
  folded.must_apply(TasksFinished{NodeId{1}, {killed}});
  CHECK(folded.job(1).memory_step == 1);
  CHECK(folded.task(1, 0)->attempt == 2);
  grant(key(1, 0, 2), 128);
  grant(key(1, 1), 64);  // dealt before the job's step was known
  CHECK(folded.task(1, 0)->memory_step == 1);
  CHECK(folded.task(1, 1)->memory_step == 0);
  folded.must_apply(TasksFinished{NodeId{1}, {success(key(1, 0, 2)), success(key(1, 1))}});
  for (const Amount memory : {64, 128}) {
    const auto* history =
        folded.state.classes.find(class_key("sleeper", {{"cpu", 100}, {"memory", memory}}));
    REQUIRE(history);
    CHECK(history->count == 1);
  }
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
    CHECK(
        folded.refusal(cycle([](Deal& deal) { deal.lines[0].granted = 2; })) ==
        "the closing equation of tenant 1 does not hold: deficit 0 + lent 0 - borrowed 0 is not 1");
    CHECK(folded.refusal(cycle([](Deal& deal) {
      deal.lines[0].deficit_after = deal.lines[0].granted = 1, deal.lines[0].placed = 0;
    })) == "the grants of tenant 1 cost 1 units, its line says 0");
    CHECK(folded.refusal(cycle([](Deal& deal) {
      deal.lines[0].granted = 2;
      deal.lines[0].deficit_after = 1;
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
  SECTION("a deficit that does not go on") {
    CHECK(folded.refusal(cycle([](Deal& deal) {
      deal.lines[0].deficit_before = deal.lines[0].deficit_after = 1;
    })) == "tenant 1 has a deficit of 0 units, not 1");
  }
}

}  // namespace
TEST_CASE("how far an elastic job is worth growing is kept with it", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 1, 2);
  CHECK(folded.refusal(GrowthLimited{JobId{1}, {2, 9, 900}}) ==
        "job 1 does not grow, and its growth is limited");
  JobSpec spec = job_spec("a", 6);
  spec.tasks_min = 1;
  folded.must_apply(JobSubmitted{JobId{2}, TenantId{1}, spec});
  folded.must_apply(GrowthLimited{JobId{2}, {4, 9, 900}});
  CHECK(folded.job(2).growth_limit == GrowthLimit{4, 9, 900});
  folded.must_apply(GrowthLimited{JobId{2}, {}});
  CHECK(folded.job(2).growth_limit == GrowthLimit{});
  folded.must_apply(JobCancelled{JobId{2}, "enough"});
  folded.must_apply(GrowthLimited{JobId{2}, {4, 9, 900}});  // it came late
  CHECK(folded.job(2).growth_limit == GrowthLimit{});
}

}  // namespace fairwater::test
