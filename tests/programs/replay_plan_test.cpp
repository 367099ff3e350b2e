#include <set>

#include <catch2/catch.hpp>

#include "cli/replay/plan.hpp"
#include "model/job_validation.hpp"
#include "tests/programs/shared_files.hpp"

namespace fairwater {
namespace {

SwfLog two_jobs() {
  return {.jobs = {{.number = 7,
                    .submit_s = 1000,
                    .run_s = 24,
                    .processors = 4,
                    .user = 115,
                    .group = 9,
                    .queue = -1,
                    .extra = {}},
                   {.number = 8,
                    .submit_s = 1060,
                    .run_s = 0,
                    .processors = 1,
                    .user = 3,
                    .group = 9,
                    .queue = 1,
                    .extra = {}}},
          .skipped = 0};
}

ReplayRules rules_of_run() {
  ReplayRules rules;
  rules.run = "ab12";
  return rules;
}

}  // namespace

TEST_CASE("a log's job becomes sleeping processes at its scaled time", "[unit][replay]") {
  ReplayRules rules = rules_of_run();
  rules.speedup = 1000;
  const auto plan = plan_replay(two_jobs(), rules);
  REQUIRE(plan);
  CHECK(plan->tasks == 5);
  REQUIRE(plan->jobs.size() == 2);
  CHECK(plan->jobs[0].arrival_us == 0);
  CHECK(plan->jobs[1].arrival_us == 60'000);
  CHECK(plan->jobs[0].run_us == 24'000);
  const JobSpec& spec = plan->jobs[0].spec;
  CHECK(spec.tenant == "u115");
  CHECK(spec.name == "swf-7-ab12");
  CHECK(spec.command == std::vector<std::string>{"/bin/sleep", "0.024000"});
  CHECK(spec.tasks_min == 4);
  CHECK(spec.tasks_max == 4);
  CHECK(spec.resources == NamedAmounts{{"cpu", 1000}, {"memory", 16}});
  CHECK(validate(spec));
}

TEST_CASE("users, groups or queues become tenants of weight 1", "[unit][replay]") {
  const auto names = [](TenantColumn column) {
    ReplayRules rules = rules_of_run();
    rules.tenants = column;
    const auto plan = plan_replay(two_jobs(), rules);
    REQUIRE(plan);
    std::vector<std::string> result;
    for (const auto& tenant : plan->tenants) {
      CHECK(tenant.weight == 1);
      CHECK_FALSE(validate(tenant));
      result.push_back(tenant.name);
    }
    return result;
  };
  CHECK(names(TenantColumn::user) == std::vector<std::string>{"u115", "u3"});
  CHECK(names(TenantColumn::group) == std::vector<std::string>{"g9"});
  CHECK(names(TenantColumn::queue) == std::vector<std::string>{"q-unknown", "q1"});
}

TEST_CASE("a tenant file's terms hold for the tenants that the log has", "[unit][replay]") {
  TenantSpec heavy;
  heavy.name = "u3";
  heavy.weight = 9;
  TenantSpec elsewhere;
  elsewhere.name = "u99";
  ReplayRules rules = rules_of_run();
  rules.declared = {heavy, elsewhere};
  const auto plan = plan_replay(two_jobs(), rules);
  REQUIRE(plan);
  REQUIRE(plan->tenants.size() == 2);
  CHECK(plan->tenants[0].weight == 1);
  CHECK(plan->tenants[1] == heavy);
}

TEST_CASE("tenants that a file has around the log's are there before them", "[unit][replay]") {
  TenantSpec lab;
  lab.name = "lab";
  TenantSpec group;
  group.name = "group";
  group.parent = "lab";
  TenantSpec first;
  first.name = "u115";
  first.parent = "group";
  TenantSpec second;
  second.name = "u3";
  second.parent = "known-to-the-cluster";
  ReplayRules rules = rules_of_run();
  rules.declared = {first, second, group, lab};
  const auto plan = plan_replay(two_jobs(), rules);
  REQUIRE(plan);
  CHECK(plan->tenants == std::vector<TenantSpec>{lab, group, first, second});
}

TEST_CASE("a job number that comes twice is refused: names tell jobs apart", "[unit][replay]") {
  SwfLog log = two_jobs();
  log.jobs[1].number = 7;
  const auto plan = plan_replay(log, rules_of_run());
  REQUIRE_FALSE(plan);
  CHECK(details(plan.error()).message == "job number 7 is given twice");
}

TEST_CASE("a job too wide to be one is refused", "[unit][replay]") {
  SwfLog log = two_jobs();
  log.jobs[0].processors = 1'000'001;
  CHECK_FALSE(plan_replay(log, rules_of_run()));
}

TEST_CASE("the first 1,000 jobs of KTH's busiest weeks are 7,581 processes", "[vectors][replay]") {
  const auto path = shared_file("traces/pwa-kth-sp2/KTH-SP2-cut-4weeks.swf.gz");
  if (!path) return;
  const auto text = read_maybe_gzip(*path, kMaxSwfBytes);
  REQUIRE(text);
  const auto log = parse_swf(*text, 1000);
  REQUIRE(log);
  CHECK(log->jobs.size() == 1000);
  const auto plan = plan_replay(*log, rules_of_run());
  REQUIRE(plan);
  CHECK(plan->tasks == 7581);
}

TEST_CASE("every archive's log is read to its end", "[vectors][replay]") {
  struct Log {
    const char* file;
    std::size_t jobs;
    std::size_t skipped;
  };
  const Log logs[] = {{"traces/pwa-kth-sp2/KTH-SP2-1996-2.1-cln.swf.gz", 28475, 1},
                      {"traces/pwa-lanl-cm5/LANL-CM5-1994-4.1-cln.swf.gz", 122057, 3},
                      {"traces/pwa-nasa-ipsc/NASA-iPSC-1993-3.1-cln.swf.gz", 18239, 0},
                      {"traces/metacentrum-wagap-2013/wagap-2013.swf.gz", 17898, 2}};
  for (const auto& expected : logs) {
    const auto path = shared_file(expected.file);
    if (!path) return;
    INFO(expected.file);
    const auto text = read_maybe_gzip(*path, kMaxSwfBytes);
    REQUIRE(text);
    const auto log = parse_swf(*text, 0);
    if (!log) FAIL(details(log.error()).message);
    CHECK(log->jobs.size() == expected.jobs);
    CHECK(log->skipped == expected.skipped);
  }
}

}  // namespace fairwater
