#include "cli/cluster/json_shapes.hpp"

#include <catch2/catch.hpp>

#include "cli/cluster/ledger_tables.hpp"
#include "cli/cluster/tables.hpp"

namespace fairwater {
namespace {

constexpr WallTime kNoon{1'795'262'400'000'000};

JobRecord render_job() {
  JobRecord job;
  job.id = {7};
  job.spec.tenant = "physics";
  job.spec.name = "render";
  job.spec.command = {"sleep", "1"};
  job.spec.resources = {{"cpu", 1000}};
  job.submitted_at = kNoon;
  job.started_at = kNoon;
  job.tasks = {.total = 4, .running = 1, .succeeded = 1, .failed = 1};
  return job;
}

TaskInfo task_in(std::uint32_t index, TaskState state, std::uint32_t attempt) {
  TaskInfo task;
  task.index = index;
  task.record.state = state;
  task.record.attempt = attempt;
  task.record.cost = 10;
  if (state != TaskState::pending) {
    task.node = "node-1";
    task.record.granted_at = kNoon;
  }
  return task;
}

TaskResult result_of(std::uint32_t attempt, std::int32_t exit_code) {
  TaskResult result;
  result.task = {JobId{7}, 0, attempt};
  result.exit_code = exit_code;
  result.started_at = {kNoon.microseconds + 1};
  result.finished_at = {kNoon.microseconds + 2};
  result.cpu_ms = 1500;
  return result;
}

}  // namespace

TEST_CASE("tenant list has the contract's shape", "[golden][json]") {
  TenantInfo tenant;
  tenant.record.spec.name = "physics";
  tenant.record.spec.weight = 5;
  tenant.record.spec.weights = {{"gpu", 20}};
  tenant.record.spec.min = {{"cpu", 4000}};
  tenant.record.granted_units_total = 120;
  tenant.request = {{"cpu", 9000}};
  tenant.runtime_quota = {{"cpu", 8000}};
  tenant.used = {{"cpu", 7000}};
  tenant.pending_tasks = 2;
  tenant.running_tasks = 7;
  tenant.net = -3;
  CHECK(
      json_text(tenants_json({tenant})) ==
      R"({"tenants":[{"name":"physics","parent":null,"weight":5,"weights":{"gpu":20},"min":{"cpu":4000},"max":{},)"
      R"("guaranteed":{"cpu":4000},)"
      R"("request":{"cpu":9000},"runtime_quota":{"cpu":8000},"used":{"cpu":7000},)"
      R"("pending_tasks":2,"running_tasks":7,"net":-3,"granted_units_total":120,"credit":0,"credit_advice":null,)"
      R"("borrowed_units_total":0,"lent_units_total":0,"forgiven_total":0,"queue":"fifo",)"
      R"("repay":1.0,"may_lend":true,"may_borrow":true,"run_as":null,"placement":null,)"
      R"("leaving":false,"lend_cap":null,"borrow_cap":null}],)"
      R"("accounting":"units","currency":"units"})");
  CHECK(json_text(tenants_json({})) == R"({"tenants":[]})");
  CHECK_THAT(tenant_table({tenant}), !Catch::Contains("leaving"));
  CHECK_THAT(tenant_table({tenant}), Catch::Contains(" (gpu 20)"));
  tenant.record.spec.leaving = true;
  CHECK(tenants_json({tenant})["tenants"][0]["leaving"] == true);
  CHECK_THAT(tenant_table({tenant}), Catch::Contains("physics (leaving)"));
  CHECK_THAT(tenant_text(tenant), Catch::Contains("physics (leaving)"));
  tenant.record.spec.lend_cap = "24h";
  tenant.record.spec.borrow_cap = "500core-h";
  CHECK(tenants_json({tenant})["tenants"][0]["lend_cap"] == "24h");
  CHECK(tenants_json({tenant})["tenants"][0]["borrow_cap"] == "500core-h");
  CHECK_THAT(tenant_text(tenant),
             Catch::Contains("24h") && Catch::Contains("500core-h") && Catch::Contains("gpu 20"));

  tenant.net = -80'000;
  tenant.measure = {Accounting::time, 100};
  CHECK(tenants_json({tenant})["currency"] == "unit_ms");
  CHECK(tenants_json({tenant})["millicores_per_unit"] == 100);
  CHECK_THAT(tenant_text(tenant), Catch::Contains("-8.0 core-s (it owes others)"));
  CHECK_THAT(tenant_text(tenant), Catch::Contains("120 granted in all"));
  tenant.net = 72'000'000;
  CHECK_THAT(tenant_table({tenant}), Catch::Contains("+2.0 core-h"));
  tenant.measure.millicores_per_unit = 0;
  CHECK_THAT(tenant_table({tenant}), Catch::Contains("+20.0 unit-h"));
}

TEST_CASE("a parent's show has the mins of its tenants", "[golden][json]") {
  TenantInfo tenant;
  tenant.record.spec.min = {{"memory", 1024}};
  // As an older coordinator tells it, or of one without tenants.
  CHECK(tenant_json(tenant)["guaranteed"] == Json({{"memory", 1024}}));
  CHECK_THAT(tenant_text(tenant), !Catch::Contains("guaranteed"));
  tenant.guaranteed = {{"cpu", 3000}, {"memory", 1024}};
  CHECK(tenant_json(tenant)["min"] == Json({{"memory", 1024}}));
  CHECK(tenant_json(tenant)["guaranteed"] == Json({{"cpu", 3000}, {"memory", 1024}}));
  CHECK_THAT(tenant_text(tenant), Catch::Contains("cpu 3, memory 1 GiB, with the mins of its"));
}

TEST_CASE("tenant list tells credits, and what they advise", "[golden][json]") {
  std::vector<TenantInfo> tenants(4);
  const char* names[] = {"large", "small", "even", "none"};
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    tenants[i].record.spec.name = names[i];
    tenants[i].measure = {Accounting::units, 100};
  }
  tenants[0].record.credit = 72'000'000;
  tenants[0].credit_advice = CreditAdvice::quota_too_large;
  tenants[1].record.credit = -36'000'000;
  tenants[1].credit_advice = CreditAdvice::quota_too_small;
  tenants[2].record.credit = -36'000'000;
  std::string rows;
  const Json listed = tenants_json(tenants);
  for (const Json& tenant : listed["tenants"])
    rows += json_text(Json{{"name", tenant["name"]},
                           {"credit", tenant["credit"]},
                           {"credit_advice", tenant["credit_advice"]}}) +
            "\n";
  CHECK(rows == R"({"name":"large","credit":72000000,"credit_advice":"quota_too_large"})"
                "\n"
                R"({"name":"small","credit":-36000000,"credit_advice":"quota_too_small"})"
                "\n"
                R"({"name":"even","credit":-36000000,"credit_advice":null})"
                "\n"
                R"({"name":"none","credit":0,"credit_advice":null})"
                "\n");
  CHECK(
      tenant_table(tenants) ==
      "NAME   WEIGHT  RUNNING  PENDING  USED  QUOTA  NET                        CREDIT  GRANTED\n"
      "large       1        0        0  -     -       +0  +2.0 core-h, quota too large        0\n"
      "small       1        0        0  -     -       +0  -1.0 core-h, quota too small        0\n"
      "even        1        0        0  -     -       +0                   -1.0 core-h        0\n"
      "none        1        0        0  -     -       +0                             -        0\n");
}

TEST_CASE("what was forgiven is told as it is counted", "[golden][json]") {
  const ForgiveDebt wanted{.caller = {}, .debtor = "physics", .reason = "a broken job"};
  DebtsForgiven forgiven{{{"biology", 30'000}, {"art", 1}}, 50'000, {Accounting::time, 100}};
  CHECK(forgiven_text(wanted, forgiven) ==
        "physics is forgiven 3.0 core-s that it owes biology\n"
        "physics is forgiven 0.0 core-s that it owes art\n"
        "physics owes 5.0 core-s then\n");
  CHECK(json_text(forgiven_json(wanted, forgiven)) ==
        R"({"debtor":"physics","amount":30001,"debts":[{"creditor":"biology","amount":30000},)"
        R"({"creditor":"art","amount":1}],"left":50000,"reason":"a broken job","dry_run":false,)"
        R"("accounting":"time","currency":"unit_ms","millicores_per_unit":100})");
  forgiven = {{{"biology", 1}}, 0, {}};
  ForgiveDebt tried = wanted;
  tried.dry_run = true;
  CHECK(forgiven_text(tried, forgiven) ==
        "physics is forgiven 1 unit that it owes biology\nphysics owes nothing then\n"
        "dry run: nothing was changed\n");
}

TEST_CASE("node list has the contract's shape", "[golden][json]") {
  NodeInfo node;
  node.record.spec.traits = {"node-1", "north", {{"ssd", ""}, {"zone", "a"}}};
  node.record.spec.limits = "cgroup_v1";
  node.record.spec.isolation = "root";
  node.record.spec.address = "10.0.0.1";
  node.state = NodeState::draining;
  node.capacity = {{"cpu", 8000}};
  node.running_tasks = 3;
  node.last_heartbeat = kNoon;
  node.record.draining = true;
  node.record.drain_deadline = kNoon;
  CHECK(
      json_text(node_json(node)) ==
      R"({"name":"node-1","site":"north","labels":{"ssd":"","zone":"a"},"state":"draining",)"
      R"("capacity":{"cpu":8000},"free":{},"running_tasks":3,)"
      R"("last_heartbeat":"2026-11-21T12:00:00.000000Z","drain_reason":"",)"
      R"("drain_begins":null,)"
      R"("drain_deadline":"2026-11-21T12:00:00.000000Z",)"
      R"("limits":"cgroup_v1","isolation":"root","address":"10.0.0.1","problem":"","devices":[],"agent_starts":0})");
}

TEST_CASE("node list shows a drain that is planned", "[json]") {
  NodeInfo node;
  node.state = NodeState::up;
  node.record.planned_drain = {kNoon, {}, "new kernel"};
  const Json shown = node_json(node);
  CHECK(shown["state"] == "up");
  CHECK(shown["drain_reason"] == "new kernel");
  CHECK(shown["drain_begins"] == "2026-11-21T12:00:00.000000Z");
  CHECK(shown["drain_deadline"].is_null());
  CHECK_THAT(node_table({node}), Catch::Contains("up until 2026-11-21T12:00:00Z"));
  CHECK_THAT(node_text(node), Catch::Contains("drain begins"));
}

TEST_CASE("a device that another tenant holds is taken, and by no task that is told", "[json]") {
  NodeInfo node;
  node.devices = {{"gpu0", "gpu", true, {JobId{7}, 2, 1}},
                  {"gpu1", "gpu", true, {}},
                  {"gpu2", "gpu_milli", true, {}, 600},
                  {"gpu3", "gpu", false, {}}};
  CHECK_THAT(node_text(node), Catch::Contains("gpu0 (task 7.2), gpu1 (another tenant's task), "
                                              "gpu2 (600 of 1000: another tenant's task), gpu3\n"));
  const Json shown = node_json(node)["devices"];
  CHECK(json_text(shown[0]) ==
        R"({"name":"gpu0","resource":"gpu","held":true,"task":{"job":7,"task":2}})");
  CHECK(json_text(shown[1]) == R"({"name":"gpu1","resource":"gpu","held":true,"task":null})");
  CHECK(shown[2]["share"] == 600);
  CHECK(shown[3]["held"] == false);
}

TEST_CASE("a job has the contract's shape", "[golden][json]") {
  CHECK(
      json_text(job_json(render_job())) ==
      R"({"id":7,"tenant":"physics","user":null,"name":"render","class":"","kind":"batch","gang":false,"placement":null,)"
      R"("state":"running",)"
      R"("submitted_at":"2026-11-21T12:00:00.000000Z",)"
      R"("started_at":"2026-11-21T12:00:00.000000Z","finished_at":null,"cancel_reason":"",)"
      R"("command":["sleep","1"],"resources":{"cpu":1000},"profiled":null,"elastic":null,)"
      R"("tasks":{"total":4,"pending":1,"running":1,"succeeded":1,"failed":1,"cancelled":0,"unneeded":0}})");
  JobRecord elastic = render_job();
  elastic.spec.tasks_max = 8;
  elastic.grown = 3;
  CHECK(json_text(job_json(elastic)["elastic"]) ==
        R"({"min":1,"max":8,"grown":3,"winding_down":false,"growth_limit":null})");
  CHECK_FALSE(job_json(render_job()).contains("task_list"));
  elastic.spec.user = "ada";
  CHECK(job_json(elastic)["user"] == "ada");
}

TEST_CASE("job show lists its tasks", "[golden][json]") {
  JobDetail detail{render_job(), {task_in(0, TaskState::failed, 2)}};
  detail.tasks[0].record.result = result_of(2, 3);
  detail.expected_start = detail.job.submitted_at;
  const Json json = job_detail_json(detail);
  CHECK(json.at("job").at("expected_start") == "2026-11-21T12:00:00.000000Z");
  CHECK(
      json_text(json.at("job").at("task_list").at(0)) ==
      R"({"index":0,"state":"failed","node":"node-1","attempts":2,"exit_code":3,)"
      R"("started_at":"2026-11-21T12:00:00.000001Z","finished_at":"2026-11-21T12:00:00.000002Z",)"
      R"("cost":10,"launch_failures":0,"losses":0,"restarts":0,"grown":false,"reclaimed":false,"devices":[],"waits_until":null,)"
      R"("last_result":{"attempt":2,"reason":"exited","exit_code":3,"signal":0,)"
      R"("cpu_seconds":1.5,"peak_memory_kib":0,"message":""}})");
}

TEST_CASE("a task that waits or runs has no exit code", "[unit][json]") {
  TaskInfo retried = task_in(0, TaskState::pending, 2);
  retried.record.result = result_of(1, 3);
  const Json waiting = task_json(retried);
  CHECK(waiting.at("attempts") == 1);
  CHECK(waiting.at("exit_code").is_null());
  CHECK(waiting.at("started_at").is_null());
  CHECK(waiting.at("node").is_null());
  CHECK(waiting.at("last_result").at("exit_code") == 3);
  const Json running = task_json(task_in(1, TaskState::running, 1));
  CHECK(running.at("attempts") == 1);
  CHECK(running.at("started_at") == "2026-11-21T12:00:00.000000Z");
  CHECK(running.at("exit_code").is_null());
}

TEST_CASE("a service's task shows how it ended last, whatever it does now", "[unit][json]") {
  TaskInfo task = task_in(0, TaskState::pending, 2);
  task.record.result = result_of(1, 3);
  task.record.restarts = 1;
  task.record.waits_until = kNoon;
  const Json waiting = task_json(task);
  CHECK(waiting.at("exit_code") == 3);
  CHECK(waiting.at("finished_at").is_null());
  CHECK(waiting.at("waits_until") == "2026-11-21T12:00:00.000000Z");
  JobDetail detail{render_job(), {task}};
  detail.job.spec.kind = JobKind::service;
  const std::string text = job_text(detail);
  CHECK_THAT(text, Catch::Contains("kind:") && Catch::Contains("service"));
  CHECK_THAT(text, Catch::Contains("last exit 3, not before 2026-11-21"));
  task.record.state = TaskState::running;
  CHECK(task_json(task).at("exit_code") == 3);
}

TEST_CASE("a job of which nothing runs any more or yet is shown to wait", "[unit][json]") {
  JobRecord job = render_job();
  job.tasks = {.total = 3, .running = 3};
  job.started_at = kNoon;
  CHECK_THAT(job_text({job, {}}), !Catch::Contains("(waits)"));
  job.tasks.running = 0;                                         // a gang that was preempted
  CHECK_THAT(job_table({job}), Catch::Contains("  running  "));  // its columns tell
  CHECK_THAT(job_text({job, {}}), Catch::Contains("running (waits)\n"));
  CHECK(job_json(job)["state"] == "running");
  job.tasks.succeeded = 3;
  CHECK_THAT(job_text({job, {}}), !Catch::Contains("(waits)"));
  job.tasks = {.total = 3};
  job.started_at = {};
  CHECK_THAT(job_text({job, {}}), Catch::Contains("pending\n"));
}

TEST_CASE("job show has the amounts to which a profiled job has gone on", "[unit][json]") {
  JobRecord job = render_job();
  job.spec.resources["memory"] = 128;
  job.spec.profiled = {.resources = {"memory"}, .runs = 8, .memory_steps = {256, 512}};
  CHECK_THAT(job_text({job, {}}), Catch::Contains("cpu 1, memory 128 MiB"));
  job.memory_step = 2;
  CHECK_THAT(job_text({job, {}}), Catch::Contains("cpu 1, memory 512 MiB"));
  CHECK(job_json(job)["resources"]["memory"] == 512);
}

TEST_CASE("no confidence of a profile's point is null", "[unit][json]") {
  JobRecord job = render_job();
  job.spec.profiled = {.resources = {"cpu"}, .runs = 8};
  CHECK(job_json(job)["profiled"]["confidence"].is_null());
  job.spec.profiled.confidence_permille = 940;
  CHECK(job_json(job)["profiled"]["confidence"] == 0.94);
}

TEST_CASE("a task cancelled before it ran was never begun", "[unit][json]") {
  TaskInfo task = task_in(0, TaskState::cancelled, 1);
  CHECK(attempts_begun(task.record) == 0);
  task.record.result = result_of(1, 143);
  CHECK(attempts_begun(task.record) == 1);
}

TEST_CASE("ledger show has the contract's shape, with names", "[golden][json]") {
  LedgerView ledger;
  ledger.cycle = 12;
  ledger.position = 5;
  TenantRecord physics;
  physics.id = {1};
  physics.spec.name = "physics";
  TenantRecord biology;
  biology.id = {2};
  biology.spec.name = "biology";
  TenantRecord idle;
  idle.id = {3};
  idle.spec.name = "idle";
  ledger.tenants = {physics, biology, idle};
  ledger.net = {{TenantId{1}, 4}, {TenantId{2}, -4}};
  ledger.ious = {{2, 1, 4, 9}};
  CHECK(json_text(ledger_json(ledger)) ==
        R"({"cycle":12,"position":5,"net":{"physics":4,"biology":-4,"idle":0},)"
        R"("ious":[{"debtor":"biology","creditor":"physics","units":4}],)"
        R"("accounting":"units","currency":"units"})");
}

TEST_CASE("a tenant that has tenants has no net of its own", "[golden][json]") {
  LedgerView ledger;
  ledger.tenants.resize(2);
  ledger.tenants[0].id = {1};
  ledger.tenants[0].spec.name = "science";
  ledger.tenants[1].id = {2};
  ledger.tenants[1].spec.name = "physics";
  ledger.tenants[1].spec.parent = "science";
  ledger.net = {{TenantId{1}, 0}, {TenantId{2}, 0}};
  ledger.measure = {Accounting::time, 100};
  CHECK_THAT(
      ledger_text(ledger),
      Catch::EndsWith("science            -\nphysics  +0.0 core-s\n\nnobody owes anything\n"));
  ledger.net = {{TenantId{1}, 40'000}, {TenantId{2}, -40'000}};  // from before it had any
  CHECK_THAT(ledger_text(ledger), Catch::Contains("science  +4.0 core-s"));
}

TEST_CASE("whom a tenant owes has a name, and no line of its own", "[golden][json]") {
  LedgerView ledger;
  TenantRecord physics;
  physics.id = {1};
  physics.spec.name = "physics";
  ledger.tenants = {physics};
  ledger.net = {{TenantId{1}, -4}};
  ledger.ious = {{1, 2, 4, 9}};
  ledger.counterparties = {{TenantId{2}, "biology"}};
  CHECK(json_text(ledger_json(ledger)) ==
        R"({"cycle":0,"position":0,"net":{"physics":-4},)"
        R"("ious":[{"debtor":"physics","creditor":"biology","units":4}],)"
        R"("accounting":"units","currency":"units"})");
  CHECK_THAT(ledger_text(ledger), Catch::EndsWith("\nphysics owes biology 4 units\n"));
  CHECK_THAT(ledger_text(ledger), Catch::Contains("NET  BORROWED  LENT"));
  ledger.measure = {Accounting::time, 100};
  ledger.ious = {{1, 2, 40'000, 9}};
  CHECK_THAT(ledger_text(ledger),
             Catch::EndsWith("NET\nphysics  0.0 core-s\n\nphysics owes biology 4.0 core-s\n"));
}

TEST_CASE("ledger verify has the contract's shape", "[golden][json]") {
  CHECK(json_text(verify_json({true, 12, 0, {}})) ==
        R"({"ok":true,"cycles":12,"net_sum":0,"differences":[]})");
  CHECK(json_text(verify_json({true, 12, 0, {}, 40})) ==
        R"({"ok":true,"cycles":12,"net_sum":0,"differences":[],"begins_after":40})");
  Hash hash{};
  hash[0] = 0xab;
  CHECK(json_text(verify_json({true, 12, 0, {}, 0, {1, 12, hash}})) ==
        R"({"ok":true,"cycles":12,"net_sum":0,"differences":[],"last_cycle":12,"last_hash":"ab)" +
            std::string(62, '0') + "\"}");
}

TEST_CASE("who waits for a ledger to grant is told what there is to do", "[unit][ledger]") {
  LedgerStanding standing;
  CHECK_THAT(standing_text(standing), !Catch::Contains("wait"));
  standing.trusted = false;
  standing.why = "what nodes may still run of the life that was lost ends with its leases";
  CHECK_THAT(standing_text(standing),
             Catch::Contains("nothing to do but wait") && !Catch::Contains("ledger trust"));
  SECTION("nodes are waited for") { standing.awaited = {"node1"}; }
  SECTION("a node has seen more") { standing.doubts.emplace_back(); }
  CHECK_THAT(standing_text(standing),
             Catch::Contains("ledger trust") && !Catch::Contains("nothing to do"));
}

}  // namespace fairwater
