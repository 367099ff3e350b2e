#include "cli/cluster/journal_lines.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

NameTable some_names() {
  return {.tenants = {{TenantId{1}, "physics"}, {TenantId{2}, "biology"}},
          .nodes = {{NodeId{1}, "node-1"}},
          .resources = {"cpu", "memory"}};
}

JournalRecord record_of(JournalBody body) {
  return {.number = 12, .time = {1'795'262'400'000'000}, .previous = {}, .body = std::move(body)};
}

Deal one_deal() {
  Grant grant;
  grant.task = {JobId{7}, 3, 1};
  grant.tenant = {1};
  grant.cost = 10;
  Deal deal;
  deal.node = {1};
  deal.free_units = 40;
  deal.grants = {grant};
  deal.repayments = {{{1}, {2}, 5}};
  deal.loans = {{{2}, {1}, 12}};
  return deal;
}

TaskResult one_result() {
  TaskResult result;
  result.task = {JobId{7}, 3, 1};
  result.exit_code = 2;
  return result;
}

}  // namespace

TEST_CASE("a journal record is a line of JSON", "[golden][journal]") {
  JobSubmitted submitted;
  submitted.id = {7};
  submitted.tenant = {1};
  submitted.spec.name = "render";
  submitted.spec.tasks_max = 4;
  CHECK(json_text(journal_json(record_of(submitted), some_names())) ==
        R"({"cycle":12,"time":"2026-11-21T12:00:00.000000Z","kind":"job_submitted","job":7,)"
        R"("tenant":"physics","name":"render","tasks":4})");
  submitted.request.id = "r1";
  CHECK(journal_json(record_of(submitted), some_names()).at("request_id") == "r1");
  submitted.spec.user = "ada";
  CHECK(journal_json(record_of(submitted), some_names()).at("user") == "ada");
}

TEST_CASE("a cycle's line carries its deals", "[golden][journal]") {
  const Json json = journal_json(record_of(Cycle{{one_deal()}}), some_names());
  CHECK(json_text(json.at("deals").at(0)) ==
        R"({"node":"node-1","free_units":40,"unused":0,"position_before":0,"position_after":0,)"
        R"("lines":[],"grants":[{"job":7,"task":3,"attempt":1,"tenant":"physics","cost":10,)"
        R"("step":"allowance","beyond_quota":false}],)"
        R"("repayments":[{"debtor":"physics","creditor":"biology","units":5}],)"
        R"("loans":[{"lender":"biology","borrower":"physics","units":12}]})");
}

TEST_CASE("every kind of record has a line for people and for programs", "[unit][journal]") {
  const JournalBody bodies[] = {ClusterCreated{},
                                CoordinatorStarted{},
                                TenantsChanged{},
                                TenantRemoved{},
                                TokenIssued{},
                                JobSubmitted{},
                                JobCancelled{},
                                NodeChanged{},
                                TasksFinished{},
                                TasksRequeued{},
                                Cycle{},
                                LaunchesFailed{},
                                LedgerTrusted{},
                                TokenRevoked{},
                                NodeRemoved{},
                                NodeAdmitted{},
                                NodeDrained{},
                                NodeLost{},
                                NodeReturned{},
                                NodeSuperseded{},
                                TimeSettled{},
                                DebtForgiven{},
                                AccountingChanged{},
                                JobWindsDown{},
                                TasksReclaimed{},
                                CreditsSettled{},
                                TasksDisowned{},
                                Checkpointed{},
                                GrowthLimited{},
                                TenantLeaves{}};
  static_assert(std::size(bodies) == std::variant_size_v<JournalBody>);
  for (const auto& body : bodies) {
    const JournalRecord record = record_of(body);
    const std::string kind{kind_of(body)};
    CHECK(journal_json(record, some_names()).at("kind") == kind);
    const std::string text = journal_text(record, some_names());
    CHECK_THAT(text, Catch::StartsWith("      12  2026-11-21T12:00:00Z  " + kind));
    CHECK(text.find('\n') == std::string::npos);
  }
}

TEST_CASE("the line of a start says how debts are bounded", "[golden][journal]") {
  CoordinatorStarted body{3, "1.0", {15'000, 5'000, {}}, {}};
  CHECK(journal_json(record_of(body), some_names()).at("debts").is_null());
  body.debts = {.cap_part_ms = 86'400'000, .half_life_ms = 500};
  CHECK(json_text(journal_json(record_of(body), some_names()).at("debts")) ==
        R"({"cap_of_own_part":86400.0,"cap_unit_ms":null,"half_life":0.5})");
}

TEST_CASE("a line tells tenants' numbers, by which they go once they are removed",
          "[golden][journal]") {
  TenantRecord optics;
  optics.id = TenantId{9};
  optics.spec.name = "optics";
  optics.spec.parent = "physics";
  optics.spec.weights = {{"memory", 3}};
  const Json json = journal_json(record_of(TenantsChanged{{optics}}), some_names());
  CHECK(json_text(json.at("tenants")) ==
        R"([{"id":9,"name":"optics","parent":"physics","weight":1,"weights":{"memory":3},)"
        R"("min":{},"max":{}}])");
  CHECK(journal_json(record_of(TenantRemoved{optics.id}), some_names()).at("tenant") == "tenant-9");
}

TEST_CASE("a forgiven debt is a line with its reason", "[golden][journal]") {
  const JournalRecord record =
      record_of(DebtForgiven{TenantId{1}, {{TenantId{2}, 5}, {TenantId{3}, 2}}, "a broken job"});
  CHECK(json_text(journal_json(record, some_names())) ==
        R"({"cycle":12,"time":"2026-11-21T12:00:00.000000Z","kind":"debt_forgiven",)"
        R"("debtor":"physics","amount":7,"debts":[{"creditor":"biology","amount":5},)"
        R"({"creditor":"tenant-3","amount":2}],"reason":"a broken job"})");
  CHECK(events_json(record, some_names()) == std::vector{journal_json(record, some_names())});
}

TEST_CASE("secrets' hashes stay out of the journal's lines", "[unit][journal]") {
  TokenIssued issued;
  issued.tenant = {1};
  issued.token_hash.fill(0xAB);
  CHECK(json_text(journal_json(record_of(issued), some_names())) ==
        R"({"cycle":12,"time":"2026-11-21T12:00:00.000000Z","kind":"token_issued",)"
        R"("role":"tenant","tenant":"physics"})");
  issued.user = "ada";
  CHECK(journal_json(record_of(issued), some_names()).at("user") == "ada");
}

TEST_CASE("a cycle is several events, in the order in which they take effect",
          "[golden][journal]") {
  const auto events = events_json(record_of(Cycle{{one_deal()}}), some_names());
  REQUIRE(events.size() == 3);
  CHECK(event_text(events[0]) ==
        "      12  2026-11-21T12:00:00.000000Z  repayment           debtor physics creditor "
        "biology units 5");
  CHECK(events[1].at("kind") == "loan");
  CHECK(json_text(events[2]) ==
        R"({"cycle":12,"time":"2026-11-21T12:00:00.000000Z","kind":"task_granted","job":7,)"
        R"("task":3,"attempt":1,"tenant":"physics","cost":10,"step":"allowance",)"
        R"("beyond_quota":false,"node":"node-1"})");
}

TEST_CASE("each task that makes room is an event", "[golden][journal]") {
  const Reclaim grown{{1}, {JobId{7}, 3, 1}, {1}, {2}, JobId{9}};
  Reclaim preempted = grown;
  preempted.task.index = 4;
  preempted.preempted = true;
  const auto events = events_json(record_of(TasksReclaimed{{grown, preempted}}), some_names());
  REQUIRE(events.size() == 2);
  CHECK(event_text(events[0]) ==
        "      12  2026-11-21T12:00:00.000000Z  task_reclaimed      job 7 task 3 attempt 1 tenant "
        "physics node node-1 claimant biology claimant_job 9");
  CHECK(json_text(events[1]) ==
        R"({"cycle":12,"time":"2026-11-21T12:00:00.000000Z","kind":"task_reclaimed","job":7,)"
        R"("task":4,"attempt":1,"tenant":"physics","node":"node-1","claimant":"biology",)"
        R"("claimant_job":9,"preempted":true,"for_drain":false})");
}

TEST_CASE("each result and each requeued task is an event", "[unit][journal]") {
  const auto finished =
      events_json(record_of(TasksFinished{{1}, {one_result(), one_result()}}), some_names());
  REQUIRE(finished.size() == 2);
  CHECK(finished[0].at("kind") == "task_finished");
  CHECK(finished[0].at("exit_code") == 2);
  CHECK(finished[0].at("node") == "node-1");
  const auto requeued =
      events_json(record_of(TasksRequeued{{1}, {{JobId{7}, 1, 1}}, "node lost"}), some_names());
  REQUIRE(requeued.size() == 1);
  CHECK(requeued[0].at("reason") == "node lost");
  const auto disowned =
      events_json(record_of(TasksDisowned{{1}, {one_result(), one_result()}}), some_names());
  REQUIRE(disowned.size() == 2);
  CHECK(disowned[0].at("kind") == "task_disowned");
  CHECK(disowned[0].at("node") == "node-1");
  CHECK(events_json(record_of(CoordinatorStarted{}), some_names()).size() == 1);
}

TEST_CASE("the journal says why and when a service is started again", "[unit][journal]") {
  const TaskKey over{JobId{7}, 3, 1};
  const auto finished = record_of(TasksFinished{{1}, {one_result()}, {{over, 4000}}});
  CHECK_THAT(journal_text(finished, some_names()),
             Catch::EndsWith("; service 7.3.1 exited with status 2, starts again in 4s"));
  CHECK(json_text(journal_json(finished, some_names()).at("restarts")) ==
        R"([{"job":7,"task":3,"attempt":1,"in":4.0}])");
  CHECK(events_json(finished, some_names())[0].at("restarts_in") == 4.0);
  const auto requeued = record_of(TasksRequeued{{1}, {over}, "node lost", true, {{over, 1000}}});
  CHECK(events_json(requeued, some_names())[0].at("restarts_in") == 1.0);
}

TEST_CASE("ids without a name get one", "[unit][journal]") {
  CHECK(tenant_name({}, {7}) == "tenant-7");
  CHECK(node_name({}, {8}) == "node-8");
}

}  // namespace fairwater
