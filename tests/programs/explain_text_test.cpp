#include "cli/cluster/explain_text.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

Explanation task_of_physics(TaskState state) {
  Explanation explanation;
  explanation.job.id = {7};
  explanation.job.tenant = {1};
  explanation.task.index = 3;
  explanation.task.record.state = state;
  explanation.names.tenants = {
      {TenantId{1}, "physics"}, {TenantId{2}, "biology"}, {TenantId{3}, "chemistry"}};
  explanation.names.nodes = {{NodeId{1}, "node-1"}};
  explanation.names.resources = {"cpu", "memory"};
  return explanation;
}

Deal lending_deal() {
  TenantLine line;
  line.tenant = {1};
  line.deficit_before = 2;
  line.granted = 20;
  line.passed_on = 1;
  line.passed_to = 4;
  line.received = 3;
  line.paid = 5;
  line.pooled = 7;
  line.allowance = 30;
  line.guaranteed = 10;
  line.placed = 27;
  line.rolled_back = 6;
  line.deficit_after = 1;
  line.quota[kCpu] = 8000;
  line.quota[kMemory] = 16384;
  line.used[kCpu] = 6000;
  Grant grant;
  grant.task = {JobId{7}, 3, 1};
  grant.tenant = {1};
  grant.cost = 10;
  grant.step = GrantStep::allowance;
  return {.node = {1},
          .free_units = 40,
          .unused = 6,
          .position_before = 120,
          .position_after = 154,
          .lines = {line},
          .grants = {grant},
          .repayments = {{{1}, {3}, 5}, {{2}, {1}, 3}},
          .loans = {{{2}, {1}, 12}, {{1}, {3}, 1}},
          .reservation = std::nullopt};
}

Explanation placed_task() {
  Explanation explanation = task_of_physics(TaskState::running);
  explanation.task.node = "node-1";
  explanation.grant_cycle = 812;
  explanation.deal = lending_deal();
  return explanation;
}

/// A unit is a tenth of a processor; one of physics' debtors gives way as far as credit covers.
Explanation task_of_creditor() {
  constexpr MicroUnits kCore = 10 * kMicroUnitsPerUnit;
  Explanation explanation = task_of_physics(TaskState::pending);
  explanation.measure = {Accounting::time, 100};
  explanation.mark = {
      .resource = 0,
      .held = 9 * kCore,
      .part = 8 * kCore,
      .base = 8 * kCore,
      .mark = 13 * kCore,
      .net = 9'000'000,
      .moves = {{{2}, 8'000'000, 8'000'000, 8 * kCore, 500'000, 0, 4 * kCore, 4 * kCore},
                {{3}, 1'000'000, 2'000'000, 8 * kCore, 500'000, 0, 2 * kCore, kCore}},
      .next = NextTask{.job = {7},
                       .index = 3,
                       .cost = 2 * kCore,
                       .expected_ms = 45'000,
                       .expected_from = PredictionSource::task_class,
                       .is_covered = true}};
  return explanation;
}

}  // namespace

TEST_CASE("job explain says where amounts come from, and why they grew", "[golden][explain]") {
  Explanation waiting = task_of_physics(TaskState::pending);
  JobSpec& spec = waiting.job.spec;
  spec.job_class = "render";
  spec.resources = {{"cpu", 2000}, {"memory", 128}};
  spec.profiled.resources = {"cpu", "memory"};
  spec.profiled.runs = 30;
  spec.profiled.confidence_permille = 934;
  spec.profiled.memory_steps = {256, 1024};
  const std::string chosen =
      "cpu 2, memory 128 MiB by the profile of class render: 30 runs, confidence 93 %\n";
  CHECK_THAT(explain_text(waiting), Catch::Contains(chosen));
  CHECK_THAT(explain_text(waiting), !Catch::Contains("hit its limit"));
  waiting.job.memory_step = 2;
  CHECK_THAT(
      explain_text(waiting),
      Catch::Contains(chosen + "memory 1 GiB since a task hit its limit with 256 MiB: the next "
                               "measured amount (step 2 of 2)\n"));
  // A task that started before the step rose has what it was granted.
  Explanation running = waiting;
  running.task.record.state = TaskState::running;
  running.task.record.memory_step = 1;
  CHECK_THAT(explain_text(running), Catch::Contains("memory 256 MiB since") &&
                                        Catch::Contains("with 128 MiB") &&
                                        Catch::Contains("(step 1 of 2)"));
  spec.profiled.confidence_permille = 0;
  CHECK_THAT(explain_text(waiting), Catch::Contains("of class render: 30 runs\n"));
  const Json json = explain_json(waiting)["job"];
  CHECK(json["resources"]["memory"] == 1024);
  CHECK(json["profiled"]["memory_steps"] == Json({256, 1024}));
  CHECK(json["profiled"]["memory_step"] == 2);
  CHECK(explain_json(task_of_physics(TaskState::pending))["job"]["profiled"] == nullptr);
}

TEST_CASE("where time is counted a waiting task's marks are laid open", "[golden][explain]") {
  CHECK(
      explain_text(task_of_creditor()) ==
      "job 7 task 3 of tenant physics: pending\n"
      "nothing keeps it waiting: the next heartbeat of a node with room places it\n"
      "what physics may hold with a claim, in cores (time is counted of cpu, the scarcest):\n"
      "      8.000  its part\n"
      "     +4.000  from biology, which owes it: 0.5 (repay) of the debtor's part of 8.000, times "
      "800.0 core-s of 800.0 core-s that it owes\n"
      "     +1.000  from chemistry, which owes it: 0.5 (repay) of the debtor's part of 8.000, "
      "times 100.0 core-s of 200.0 core-s that it owes; of 2.000, what credit covers\n"
      "     13.000  its mark; it holds 9.000\n"
      "its next task, job 7 task 3, asks for 2.000, which goes 3.000 beyond its part: for 45s "
      "(as the last ones like it took) that takes 135.0 core-s of a credit of 900.0 core-s: "
      "covered\n");
  const Json json = explain_json(task_of_creditor());
  CHECK(json.at("currency") == "unit_ms");
  CHECK(json_text(json.at("mark")) ==
        R"({"resource":"cpu","held_units":90.0,"part_units":80.0,"base_units":80.0,)"
        R"("mark_units":130.0,"net":9000000,"moves":[)"
        R"({"debtor":"biology","creditor":"physics","owed":8000000,"debtor_owes":8000000,)"
        R"("debtor_part_units":80.0,"repay":0.5,"kept_for_min_units":0.0,)"
        R"("due_units":40.0,"moved_units":40.0},)"
        R"({"debtor":"chemistry","creditor":"physics","owed":1000000,"debtor_owes":2000000,)"
        R"("debtor_part_units":80.0,"repay":0.5,"kept_for_min_units":0.0,)"
        R"("due_units":20.0,"moved_units":10.0}],)"
        R"("next_task":{"job":7,"task":3,"units":20.0,"beyond_part_units":30.0,)"
        R"("expected_seconds":45.0,"expected_from":"class","needs_credit":true,)"
        R"("credit_needed":1350000,"covered":true}})");
}

TEST_CASE("what is counted of another resource than processors are no cores", "[golden][explain]") {
  Explanation explanation = task_of_creditor();
  explanation.names.resources = {"gpu"};
  CHECK_THAT(explain_text(explanation),
             Catch::Contains("in cores' worth (time is counted of gpu, the scarcest):\n"));
  explanation.measure.millicores_per_unit = 0;
  CHECK_THAT(explain_text(explanation),
             Catch::Contains("in units (time is counted of gpu, the scarcest):\n"));
}

TEST_CASE("what a debtor keeps for a min is said", "[golden][explain]") {
  Explanation explanation = task_of_creditor();
  MarkMove& move = explanation.mark->moves.front();
  move.kept_for_min = 60 * kMicroUnitsPerUnit;
  move.due = move.moved = 20 * kMicroUnitsPerUnit;
  CHECK_THAT(explain_text(explanation),
             Catch::Contains("     +2.000  from biology, which owes it: 2.000 of the debtor's part "
                             "of 8.000, all but what it keeps for a min, times 800.0 core-s of "
                             "800.0 core-s that it owes\n"));
  CHECK(explain_json(explanation).at("mark").at("moves").front().at("kept_for_min_units") == 60);
  // Half of its part is less than what it has beyond that.
  move.kept_for_min = 40 * kMicroUnitsPerUnit;
  CHECK_THAT(explain_text(explanation), Catch::Contains("owes it: 0.5 (repay) of the debtor's"));
}

TEST_CASE("why a next task has no credit to lean on is said", "[golden][explain]") {
  Explanation explanation = task_of_creditor();
  NextTask& next = *explanation.mark->next;
  const auto text = [&] { return explain_text(explanation); };
  next.is_covered = false;
  next.expected_from = PredictionSource::limit;
  CHECK_THAT(text(),
             Catch::EndsWith("for 45s (its time limit: no task of the tenant has ended) that takes "
                             "135.0 core-s of a credit of 900.0 core-s: not covered\n"));
  next.expected_ms = 0;
  CHECK_THAT(text(), Catch::EndsWith("beyond its part: not covered, for nobody knows how long it "
                                     "runs (no task of the tenant has ended, and it has no time "
                                     "limit); the credit is 900.0 core-s\n"));
  CHECK(explain_json(explanation).at("mark").at("next_task").at("expected_seconds").is_null());
  explanation.mark->net = 0;
  explanation.mark->moves.clear();
  CHECK_THAT(text(), Catch::EndsWith("beyond its part: not covered, nobody owes the tenant "
                                     "anything\n"));
  explanation.mark->base = 200 * kMicroUnitsPerUnit;
  CHECK_THAT(text(),
             Catch::Contains("    +12.000  its quota is more: others leave that much idle\n"));
  CHECK_THAT(text(),
             Catch::EndsWith("asks for 2.000: within its part or quota, it needs no credit\n"));
  explanation.mark->next.reset();
  CHECK_THAT(text(), Catch::EndsWith("its mark; it holds 9.000\n"));
}

TEST_CASE("a debtor's mark falls by what its creditors take back", "[golden][explain]") {
  Explanation explanation = task_of_creditor();
  explanation.mark->net = -1'800'000;
  explanation.mark->moves.clear();
  for (std::uint32_t creditor = 10; creditor < 22; ++creditor)
    explanation.mark->moves.push_back(
        {{creditor}, 150'000, 1'800'000, 80'000'000, 1'000'000, 0, 5'000'000, 5'000'000});
  const std::string text = explain_text(explanation);
  CHECK_THAT(text, Catch::Contains("     -0.500  to tenant-10, which it owes: 1 (repay) of the "
                                   "debtor's part of 8.000, times 15.0 core-s of 180.0 core-s that "
                                   "it owes\n"));
  CHECK_THAT(text, Catch::Contains("     -1.000  by 2 others\n"));
  CHECK(text.find("tenant-20") == std::string::npos);
}

TEST_CASE("a waiting task is explained by its first obstacle and all others", "[golden][explain]") {
  Explanation explanation = task_of_physics(TaskState::pending);
  explanation.obstacles = {{"quota", "physics holds all of its runtime quota of 8 cpu"},
                           {"node_busy", "no node has 1 cpu free"},
                           {"order", "2 tasks of its tenant are before it"}};
  CHECK(explain_text(explanation) ==
        "job 7 task 3 of tenant physics: pending\n"
        "waits because physics holds all of its runtime quota of 8 cpu [quota]\n"
        "and if that were gone:\n"
        "  - no node has 1 cpu free [node_busy]\n"
        "  - 2 tasks of its tenant are before it [order]\n");
}

TEST_CASE("a task that nothing holds up is placed next", "[golden][explain]") {
  CHECK(explain_text(task_of_physics(TaskState::pending)) ==
        "job 7 task 3 of tenant physics: pending\n"
        "nothing keeps it waiting: the next heartbeat of a node with room places it\n");
}

TEST_CASE("a placed task is explained by the arithmetic of its grant", "[golden][explain]") {
  CHECK(explain_text(placed_task()) ==
        "job 7 task 3 of tenant physics: running on node node-1, attempt 1\n"
        "granted in cycle 812 for 10 units, within the tenant's allowance\n"
        "node node-1 had 40 units to deal, 6 unused: 34 slots of the sequence, which goes round, "
        "from position 120 to 154\n"
        "runtime quota (the water level at that moment) and what it held before:\n"
        "  cpu: level 8, held 6\n"
        "  memory: level 16 GiB, held 0 MiB\n"
        "account of physics in this deal, in units:\n"
        "        +2  carried over: not enough for a whole task before\n"
        "       +20  granted by the sequence\n"
        "        -1  passed on to others without a claim\n"
        "        +4  passed on by others, who have no claim for it\n"
        "        -6  rolled back: slots that nobody could use\n"
        "        -5  repaid to chemistry\n"
        "        +3  repaid by biology\n"
        "       +12  borrowed from biology\n"
        "        -1  lent to chemistry\n"
        "        28  in all\n"
        "       +27  of them placed in this deal\n"
        "        +1  carried on to the next deal\n"
        "beside that 10 units placed by its guarantee, which no account counts\n"
        "its allowance was 30 units, 7 of them from the pool of what others did not need\n");
}

TEST_CASE("what a tenant leaves to the pool, or had before it was its own, is said",
          "[golden][explain]") {
  Explanation explanation = placed_task();
  TenantLine& line = explanation.deal->lines[0];
  line.pooled = -4;
  line.deficit_before = -2;
  CHECK_THAT(explain_text(explanation),
             Catch::Contains("        -2  carried over: placed before beyond what it had\n") &&
                 Catch::EndsWith("its allowance was 30 units; it had left 4 to the pool, which its "
                                 "waiting tasks did not need\n"));
}

TEST_CASE("where time is counted a grant is told by claims, and no allowance is",
          "[golden][explain]") {
  Explanation explanation = placed_task();
  explanation.measure = {Accounting::time, 100};
  Deal& deal = *explanation.deal;
  deal.lines[0].allowance = deal.lines[0].pooled = 0;
  deal.free_units = 8;
  deal.unused = 0;
  deal.position_before = deal.position_after = 0;
  const auto said = [&](GrantStep step) {
    deal.grants[0].step = step;
    return explain_text(explanation);
  };
  CHECK_THAT(said(GrantStep::allowance),
             Catch::Contains("for 10 units, with a claim: within what the tenant may hold by its "
                             "quota and debts\n"
                             "node node-1 was dealt 8 units, in the order of time held: 8 slots of "
                             "the sequence, which goes round, from position 0 to 0\n") &&
                 !Catch::Contains("allowance"));
  CHECK_THAT(said(GrantStep::remainder),
             Catch::Contains("in part beyond what the tenant may hold"));
  CHECK_THAT(said(GrantStep::reserved), Catch::Contains("it was late, or room had been made"));
  CHECK_THAT(said(GrantStep::backfill),
             Catch::Contains("in room that nobody with a claim could use"));
  CHECK_THAT(said(GrantStep::guarantee), Catch::Contains("the tenant was below min)\n"));
  CHECK_THAT(said(GrantStep::growth), Catch::Contains("by growth into room"));
}

TEST_CASE("an explanation says how a task beyond its quota was placed", "[golden][explain]") {
  Explanation explanation = placed_task();
  explanation.deal->grants[0].beyond_quota = true;
  explanation.deal->grants[0].step = GrantStep::backfill;
  CHECK_THAT(explain_text(explanation),
             Catch::Contains("for 10 units, as the largest waiting task that fits what nobody else "
                             "could use, above its runtime quota on units that were owed to it\n"));
}

TEST_CASE("a task that grew is explained by idle room and the rule that chose its node",
          "[golden][explain]") {
  Explanation explanation = placed_task();
  Deal& deal = *explanation.deal;
  deal.keeps_accounts = false;
  deal.lines.clear();
  deal.grants[0].step = GrantStep::growth;
  deal.grants[0].beyond_quota = true;
  const std::string grown =
      "job 7 task 3 of tenant physics: running on node node-1, attempt 1\n"
      "granted in cycle 812 for 10 units, by growth into room that nobody else could use (no quota "
      "counts it; credits pay)\n";
  CHECK(explain_text(explanation) == grown);
  deal.grants[0].placement = Placement::spread;
  CHECK(explain_text(explanation) ==
        grown +
            "node chosen by placement spread: of the nodes with room, the one that is least "
            "full with the task on it\n");
}

TEST_CASE("a cancelled task that never ran has no arithmetic", "[golden][explain]") {
  CHECK(explain_text(task_of_physics(TaskState::cancelled)) ==
        "job 7 task 3 of tenant physics: cancelled\n"
        "it was never granted\n");
}

TEST_CASE("why a task of an elastic job was not needed is said", "[golden][explain]") {
  Explanation explanation = task_of_physics(TaskState::cancelled);
  JobRecord& job = explanation.job;
  job.spec.tasks_min = 2;
  job.spec.tasks_max = 8;
  job.winding_down = true;
  job.tasks = {.total = 8, .succeeded = 2, .unneeded = 6};
  CHECK(explain_text(explanation) ==
        "job 7 task 3 of tenant physics: not needed\n"
        "it had not begun, and will not: a task of its job ended with success, which says that no "
        "work is left\n");
  CHECK(explain_json(explanation).at("task").at("state") == "cancelled");
  job.tasks = {.total = 8, .failed = 2, .unneeded = 6};
  CHECK_THAT(explain_text(explanation),
             Catch::EndsWith("will not: 2 of its job's tasks failed, its least is 2, and none ran "
                             "any more\n"));
}

TEST_CASE("an explanation as JSON carries obstacles and the whole deal", "[golden][explain]") {
  const Json json = explain_json(placed_task());
  CHECK(json.at("grant").at("cycle") == 812);
  CHECK(json.at("grant").at("deal").at("loans").at(0) ==
        Json({{"lender", "biology"}, {"borrower", "physics"}, {"units", 12}}));
  CHECK(json.at("grant").at("deal").at("lines").at(0).at("quota") ==
        Json({{"cpu", 8000}, {"memory", 16384}}));
  Explanation waiting = task_of_physics(TaskState::pending);
  waiting.obstacles = {{"max", "at its max"}};
  const Json other = explain_json(waiting);
  CHECK(other.at("grant").is_null());
  CHECK(json_text(other.at("obstacles")) == R"([{"code":"max","message":"at its max"}])");
}

}  // namespace fairwater
