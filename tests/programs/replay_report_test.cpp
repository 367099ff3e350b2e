#include <catch2/catch.hpp>

#include "cli/replay/report.hpp"

namespace fairwater {
namespace {

TaskInfo finished_task(std::uint32_t index, std::int64_t wait_us, std::int64_t run_us) {
  TaskInfo task;
  task.index = index;
  task.record.state = TaskState::succeeded;
  task.record.cost = 10;
  TaskResult result;
  result.task = {JobId{1}, index, 1};
  result.started_at = {1'000'000 + wait_us};
  result.finished_at = {1'000'000 + wait_us + run_us};
  task.record.result = result;
  return task;
}

JobDetail job_of(const std::string& tenant, std::vector<TaskInfo> tasks) {
  JobDetail detail;
  detail.job.spec.tenant = tenant;
  detail.job.submitted_at = {1'000'000};
  detail.tasks = std::move(tasks);
  return detail;
}

TenantInfo totals(Units granted, Units borrowed, Units lent, Units net) {
  TenantInfo info;
  info.record.granted_units_total = granted;
  info.record.borrowed_total = borrowed;
  info.record.lent_total = lent;
  info.net = net;
  return info;
}

ReplayMeasures measures_of_two() {
  ReplayMeasures measures;
  measures.elapsed_us = 12'500'000;
  measures.add(
      job_of("u1", {finished_task(0, 100'000, 3'000'000), finished_task(1, 300'000, 3'000'000)}));
  TaskInfo failed = finished_task(0, 0, 2'000'000);
  failed.record.state = TaskState::failed;
  failed.record.attempt = 2;
  measures.add(job_of("u2", {failed}));
  measures.add_totals("u1", totals(5, 1, 2, 0), totals(25, 4, 2, -3));
  measures.add_totals("u2", totals(0, 0, 0, 0), totals(20, 0, 3, 3));
  measures.add_totals("stranger", totals(0, 0, 0, 0), totals(9, 9, 9, 9));
  return measures;
}

/// As the ledger settles a second: 4,001 unit-milliseconds belong to u1 and u2 alike.
TimeSettlement second_of(std::int64_t until_ms, const UnitTime& u1_held, const UnitTime& u2_held) {
  return {.from_ms = until_ms - 1000,
          .until_ms = until_ms,
          .lines = {{{1}, -1000, -200'000, u1_held, {2000, 500'000}},
                    {{2}, 1000, 200'000, u2_held, {2000, 500'000}}}};
}

ReplayMeasures measures_in_time() {
  ReplayMeasures measures = measures_of_two();
  NameTable names;
  names.tenants = {{TenantId{1}, "u1"}, {TenantId{2}, "u2"}};
  measures.settled.add(second_of(1000, {3000, 700'000}, {1000, 300'000}), names);  // full
  measures.settled.add(second_of(2000, {3000, 500'000}, {0, 0}), names);
  for (const auto& [name, net] : {std::pair{"u1", Units{-2000}}, std::pair{"u2", Units{2000}}}) {
    TenantInfo after = totals(5, 0, 0, net);
    after.measure = {Accounting::time, 100};
    measures.add_totals(name, totals(5, 0, 0, 0), after);
  }
  return measures;
}

}  // namespace

TEST_CASE("a replay that is refused in the middle says what it leaves behind", "[unit][replay]") {
  const caf::error refusal = make_error(ErrorCode::invalid_input, "too much", "resources");
  CHECK(with_left_behind(refusal, {JobId{}, JobId{}}) == refusal);
  const ErrorDetails told =
      details(with_left_behind(refusal, {JobId{7}, JobId{9}, JobId{8}, JobId{}, JobId{12}}));
  CHECK(told.code == ErrorCode::invalid_input);
  CHECK(told.field == "resources");
  CHECK(told.message ==
        "too much; 4 of the replay's jobs are submitted and run on (stop them with: fairwater job "
        "cancel 7-9,12)");
}

TEST_CASE("a full cluster's debts that are no loans are told by their reason", "[unit][replay]") {
  ReplayMeasures measures = measures_in_time();
  TimeSettlement capped = second_of(3000, {3000, 700'000}, {1000, 300'000});
  capped.lines[0].position = -400;
  capped.lines[1].position = 400;
  NameTable names;
  names.tenants = {{TenantId{1}, "u1"}, {TenantId{2}, "u2"}};
  measures.settled.add(capped, names);
  CHECK_FALSE(measures.settled.full.agrees());
  CHECK_THAT(replay_text(measures, {.trace = "log.swf", .run = "ab", .speedup = 600}),
             Catch::Contains("held - part = -net, but for what is UNUSED: caps on debts"));
}

TEST_CASE("where time is counted debts are shown beside what was held", "[golden][replay]") {
  const std::string text = replay_text(
      measures_in_time(), {.trace = "log.swf", .run = "ab", .speedup = 600, .skipped = 2});
  CHECK(text ==
        "replay ab of log.swf: 2 jobs, 3 tasks in 12.5 s at 600 times their speed; 2 skipped\n"
        "runs 4, tasks that did not succeed 1\n"
        "waits: live (in the log's time)\n"
        "\n"
        "TENANT  JOBS  TASKS  UNITS    BUSY      MEAN WAIT     95% WAIT    BORROWED        LENT"
        "        OWED\n"
        "u1         1      2      0   75.0%     0.20s (2m)   0.30s (3m)  0.2 core-s  0.0 core-s"
        "  0.2 core-s\n"
        "u2         1      1      0   25.0%    0.00s (0ms)  0.00s (0ms)  0.0 core-s  0.2 core-s"
        "  0.0 core-s\n"
        "all        2      3      0  100.0%  0.13s (1m20s)   0.30s (3m)  0.2 core-s  0.2 core-s"
        "  0.2 core-s\n"
        "\n"
        "core-seconds of what was held beside each part, in the 2.000 s in which somebody borrowed:"
        "\n"
        "held - part = -net - unused; unused is what nobody borrowed of a part not held\n"
        "\n"
        "TENANT    HELD    PART  HELD - PART      NET  UNUSED\n"
        "u1      0.6001  0.4001       0.2000  -0.2000  0.0000\n"
        "u2      0.1000  0.4001      -0.3001   0.2000  0.1001\n"
        "\n"
        "the same in the 1.000 s of it while the cluster was full: held - part = -net, to the "
        "unit-millisecond for everybody\n"
        "\n"
        "TENANT    HELD    PART  HELD - PART      NET  UNUSED\n"
        "u1      0.3001  0.2001       0.1000  -0.1000  0.0000\n"
        "u2      0.1000  0.2000      -0.1000   0.1000  0.0000\n"
        "\n"
        "The ledger's time stands still while no coordinator runs: what was held then is in "
        "nobody's account.\n");
}

TEST_CASE("sums of settlements as JSON are exact", "[golden][replay]") {
  const Json json = replay_json(measures_in_time(), {.trace = "t", .run = "r"}).at("replay");
  CHECK(json.at("currency") == "unit_ms");
  CHECK(json.at("tenants").at(0).at("borrowed_unit_ms") == 2000);
  CHECK(json_text(json.at("settled")) ==
        R"({"seconds":2.0,"agrees":false,"tenants":[)"
        R"({"name":"u1","held_unit_ms":"6001.200000","part_unit_ms":"4001.000000",)"
        R"("lent_unit_ms":0,"borrowed_unit_ms":2000,"net_unit_ms":-2000,)"
        R"("rest_unit_ms":"-0.200000","unused_unit_ms":"0.000000"},)"
        R"({"name":"u2","held_unit_ms":"1000.300000","part_unit_ms":"4001.000000",)"
        R"("lent_unit_ms":2000,"borrowed_unit_ms":0,"net_unit_ms":2000,)"
        R"("rest_unit_ms":"0.200000","unused_unit_ms":"1000.500000"}]})");
  CHECK(json.at("settled_while_full").at("agrees") == true);
}

TEST_CASE("the percentile is the nearest rank", "[unit][replay]") {
  CHECK(percentile({}, 95) == 0);
  CHECK(percentile({7}, 95) == 7);
  std::vector<std::int64_t> hundred;
  for (int i = 100; i >= 1; --i) hundred.push_back(i);
  CHECK(percentile(hundred, 95) == 95);
  CHECK(percentile(hundred, 50) == 50);
  CHECK(percentile({1, 2, 3}, 95) == 3);
}

TEST_CASE("a replay is measured tenant by tenant", "[unit][replay]") {
  const ReplayMeasures measures = measures_of_two();
  REQUIRE(measures.tenants.size() == 2);
  const TenantMeasures& first = measures.tenants.at("u1");
  CHECK(first.jobs == 1);
  CHECK(first.tasks == 2);
  CHECK(first.runs == 2);
  CHECK(first.busy_unit_us == Wide{60'000'000});
  CHECK(first.granted == 20);
  CHECK(first.borrowed == 3);
  CHECK(first.lent == 0);
  CHECK(first.owed == 3);
  const TenantMeasures& second = measures.tenants.at("u2");
  CHECK(second.tasks_not_succeeded == 1);
  CHECK(second.runs == 2);
  CHECK(second.owed == 0);
}

TEST_CASE("the report is a table with live and log time", "[golden][replay]") {
  const std::string text = replay_text(
      measures_of_two(), {.trace = "log.swf", .run = "ab", .speedup = 600, .skipped = 2});
  CHECK(text ==
        "replay ab of log.swf: 2 jobs, 3 tasks in 12.5 s at 600 times their speed; 2 skipped\n"
        "runs 4, tasks that did not succeed 1\n"
        "waits: live (in the log's time)\n"
        "\n"
        "TENANT  JOBS  TASKS  UNITS    BUSY      MEAN WAIT     95% WAIT  BORROWED  LENT  OWED\n"
        "u1         1      2     20   75.0%     0.20s (2m)   0.30s (3m)         3     0     3\n"
        "u2         1      1     20   25.0%    0.00s (0ms)  0.00s (0ms)         0     3     0\n"
        "all        2      3     40  100.0%  0.13s (1m20s)   0.30s (3m)         3     3     3\n");
}

TEST_CASE("the report as JSON carries the same numbers", "[golden][replay]") {
  const Json json = replay_json(measures_of_two(),
                                {.trace = "log.swf", .run = "ab", .speedup = 600, .skipped = 2});
  const Json& tenant = json.at("replay").at("tenants").at(0);
  CHECK(tenant.at("name") == "u1");
  CHECK(tenant.at("busy_share").get<double>() == Approx(0.75));
  CHECK(tenant.at("wait_mean_seconds").get<double>() == Approx(0.2));
  CHECK(tenant.at("trace_wait_p95_seconds").get<double>() == Approx(180));
  CHECK(tenant.at("owed_units") == 3);
  CHECK(json.at("replay").at("currency") == "units");
  CHECK_FALSE(json.at("replay").contains("settled"));
  CHECK(json.at("replay").at("total").at("runs") == 4);
  CHECK(json.at("replay").at("skipped_jobs") == 2);
}

}  // namespace fairwater
