// From a journal to a simulation of what other terms would do, and how it is told.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/core/context.hpp"
#include "cli/sim/what_if.hpp"
#include "cli/sim/what_if_report.hpp"
#include "process/temporary_directory.hpp"
#include "tests/programs/small_journal.hpp"

namespace fairwater {
namespace {

struct WhatIfOutcome {
  int status = 0;
  std::string out;
  std::string err;
};

WhatIfOutcome run_what_if(const std::string& tenant_file, std::vector<std::string> arguments) {
  const TemporaryDirectory directory;
  const std::string path = directory / "tenants.yaml";
  std::ofstream{path} << tenant_file;
  std::vector<std::string> all{"--address", "127.0.0.1:1", "--token",       "t",
                               "sim",       "what-if",     "--tenant-file", path};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::ostringstream out, err;
  const int status = run_fairwater(all, out, err);
  return {status, out.str(), err.str()};
}

constexpr const char* kTenants = "tenants: [{name: art, weight: 2}]\n";

}  // namespace

TEST_CASE("a journal becomes what runs, what waits and what comes again", "[unit][what-if]") {
  SmallJournal journal;
  fill(journal);
  const auto question = question_of(journal, 1070, 100);
  CHECK(jobs_of(question) == std::vector<std::string>{"-20s art: 5s 5s 5s 5s 25s 25s",
                                                      "-10s botany: 40s 40s", "40s art: 30s 20s",
                                                      "80s art: 25s 25s 25s 25s 25s 25s",
                                                      "90s botany: 40s 40s"});
  CHECK(running_of(question) ==
        std::vector<std::string>{"0.0 on 0: 5s", "0.1 on 0: 5s", "0.2 on 0: 5s", "0.3 on 0: 5s"});
  CHECK(question.facts.running_tasks == 4);
  CHECK(question.facts.waiting_tasks == 4);
  CHECK(question.facts.waiting_jobs == 2);
  CHECK(question.facts.arriving_jobs == 3);
  CHECK(question.facts.notes.empty());
}

TEST_CASE("from a ledger that counts time debts of time go on", "[unit][what-if]") {
  // Art holds all four processors, of which a third is its own, for 60 s and then works on.
  SmallJournal journal(Accounting::time);
  journal.submit(1000, JobId{1}, kArt, 1000, 5'000);
  journal.deal(1000);
  journal.pass(1060);
  const Allocator& live = journal.allocator();
  const Units owed = live.tenant(kBotany).net;
  REQUIRE(std::abs(owed - 1'600'000) <= 1);
  journal.submit(1060, JobId{2}, kBotany, 1000, 5'000);

  const auto question = question_of(journal, 1060, 600, false);
  CHECK(question.what_if.cluster.settings.accounting == Accounting::time);
  CHECK(question.what_if.state.accounts == live.accounts().snapshot());
  const sim::WhatIfReport report = sim::compare(question.what_if);
  CHECK(report.accounting == Accounting::time);
  // Botany gets its two thirds and, as far as tasks of 5 s go, all of the debt.
  const auto& botany = report.before.tenants[1];
  CHECK(std::abs(botany.net) < 2 * 5'000 * 10);
  const double returned = static_cast<double>(owed - botany.net) / (600'000 * 40);
  CHECK(botany.mean_share == Approx(2.0 / 3 + returned).margin(0.02));
}

TEST_CASE("a look ahead fades debts as the coordinator does", "[unit][what-if]") {
  const auto net_after = [](LedgerMs half_life_ms) {
    SmallJournal journal(Accounting::time);
    CoordinatorStarted started{2, "test"};
    started.debts.half_life_ms = half_life_ms;
    journal.add(1000, started);
    journal.submit(1000, JobId{1}, kArt, 1000, 5'000);
    journal.deal(1000);
    journal.pass(1060);
    return sim::compare(question_of(journal, 1060, 100, false).what_if).before.tenants[1].net;
  };
  // Art goes on alone: 60 s of a debt that grows, and 100 s more.
  const Units kept = net_after(0);
  CHECK(kept >= 160 * 26'000);
  CHECK(net_after(20'000) < kept / 3);
}

TEST_CASE("only jobs of the last horizon come again, or none", "[unit][what-if]") {
  SmallJournal journal;
  fill(journal);
  CHECK(jobs_of(question_of(journal, 1070, 15)) ==
        std::vector<std::string>{"-20s art: 5s 5s 5s 5s 25s 25s", "-10s botany: 40s 40s",
                                 "5s botany: 40s 40s"});
  CHECK(jobs_of(question_of(journal, 1070, 100, false)).size() == 2);
}

TEST_CASE("the ledger's state is the coordinator's", "[unit][what-if]") {
  SmallJournal journal;
  fill(journal);
  const auto question = question_of(journal, 1070, 100);
  const auto& state = question.what_if.state;
  const Allocator& live = journal.allocator();
  REQUIRE(live.tenant(kBotany).net > 0);
  CHECK(state.accounts == live.accounts().snapshot());
  CHECK(question.what_if.cluster.tenants[1].terms.weight == 2);
  CHECK(question.what_if.cluster.nodes[0].capacity[kCpu] == 4000);
}

TEST_CASE("a task that has outlived what is usual runs as long again", "[unit][what-if]") {
  SmallJournal journal;
  fill(journal);
  CHECK(running_of(question_of(journal, 1090, 10))[0] == "0.0 on 0: 40s");
}

TEST_CASE("what is known of a job itself, then of its class, tells how long its tasks take",
          "[unit][what-if]") {
  SmallJournal journal;
  fill(journal);  // art's tasks took 25 s on average
  journal.finish(JobId{2}, 0, 1050, 1054);
  // Job 2's own task took 4 s: its others have outlived that and run as long again.
  CHECK(jobs_of(question_of(journal, 1070, 10, false)).front() == "-20s art: 20s 20s 20s 4s 4s");
  journal.submit(1065, JobId{4}, kArt, 1, 0, "sums");
  CHECK(jobs_of(question_of(journal, 1070, 10, false)).back() == "-5s art: 18s");
  for (const std::uint32_t index : {1U, 2U}) journal.finish(JobId{2}, index, 1050, 1066);
  journal.submit(1066, JobId{5}, kArt, 1, 0, "sums");
  journal.deal(1066);  // of three free processors two for botany, one for art
  journal.finish(JobId{5}, 0, 1066, 1069);
  CHECK(jobs_of(question_of(journal, 1070, 10, false)).back() == "-5s art: 3s");
}

TEST_CASE("a cancelled job comes again with what ran of it", "[unit][what-if]") {
  SmallJournal journal;
  fill(journal);
  journal.finish(JobId{2}, 0, 1050, 1060);
  journal.add(1060, JobCancelled{JobId{2}, "enough"});
  journal.add(1060, JobCancelled{JobId{3}, "enough"});
  const auto question = question_of(journal, 1070, 40);
  CHECK(jobs_of(question) == std::vector<std::string>{"-20s art: 0s 0s 0s", "20s art: 10s"});
}

TEST_CASE("a node that is not up counts with what it runs", "[unit][what-if]") {
  SmallJournal journal;
  fill(journal);
  const auto question = what_if_question(journal.state.state(), node_that_is(NodeState::draining),
                                         {}, {at_s(1070), 100'000, false, DealingRules{}});
  REQUIRE(question);
  CHECK(question->what_if.state.closed == std::vector<sim::NodeIndex>{0});
  CHECK(question->what_if.cluster.nodes[0].capacity[kCpu] == 4000);
  CHECK(question->what_if.cluster.nodes[0].capacity[kMemory] == 0);
  CHECK(question->facts.notes ==
        std::vector<std::string>{"nodes that are not up take no task until the horizon: 1"});
}

TEST_CASE("a node whose drain is planned takes nothing from then on", "[unit][what-if]") {
  SmallJournal journal;
  fill(journal);
  NodeDrained plan{.node = kNode, .reason = "new kernel"};
  plan.begins = at_s(1100);
  journal.add(1060, plan);
  const auto asked = [&](std::int64_t horizon_ms) {
    const auto question = what_if_question(journal.state.state(), node_that_is(NodeState::up), {},
                                           {at_s(1070), horizon_ms, false, DealingRules{}});
    REQUIRE(question);
    return *question;
  };
  const auto question = asked(100'000);
  CHECK(question.what_if.state.closed.empty());
  REQUIRE(question.what_if.cluster.nodes[0].drain);
  CHECK(question.what_if.cluster.nodes[0].drain->at_ms == 30'000);
  CHECK_FALSE(question.what_if.cluster.nodes[0].drain->until_ms);
  CHECK(question.facts.notes ==
        std::vector<std::string>{
            "nodes whose drain is planned take no task from then until the horizon: 1"});
  CHECK(asked(20'000).facts.notes.empty());
}

TEST_CASE("a proposal names resources that the cluster has", "[unit][what-if]") {
  SmallJournal journal;
  TenantSpec spec;
  spec.name = "art";
  spec.max = {{"tapes", 3}};
  const auto refused =
      what_if_question(journal.state.state(), {}, {spec}, {at_s(1070), 1000, true, DealingRules{}});
  REQUIRE_FALSE(refused);
  CHECK(details(refused.error()).field == "tenants[0].max.tapes");
}

TEST_CASE("queues and users go on as they were", "[unit][what-if]") {
  SmallJournal journal;
  TenantsChanged changed;
  for (const auto& [key, tenant] : journal.state.state().tenants.all())
    if (tenant.id == kArt) changed.tenants = {tenant};
  REQUIRE(changed.tenants.size() == 1);
  changed.tenants[0].spec.queue = QueuePolicy::fair;
  journal.add(1005, changed);
  JobSpec spec;
  spec.user = "ann";
  journal.submit(1010, JobId{1}, kArt, 1, spec);
  journal.deal(1010);
  spec.user = "bob";
  journal.submit(1020, JobId{2}, kArt, 2, spec);
  TenantSpec proposed = changed.tenants[0].spec;
  proposed.queue = QueuePolicy::priority;
  const auto question = what_if_question(journal.state.state(), node_that_is(NodeState::up),
                                         {proposed}, {at_s(1070), 20'000, false, DealingRules{}});
  REQUIRE(question);
  const sim::WhatIf& asked = question->what_if;
  CHECK(question->facts.notes.empty());
  CHECK(asked.cluster.tenants.at(0).queue == QueuePolicy::fair);
  CHECK(asked.cluster.tenants.at(1).queue == QueuePolicy::fifo);
  CHECK(asked.proposal.at(0).queue == QueuePolicy::priority);
  CHECK(asked.workload.jobs.at(0).user == "ann");
  CHECK(asked.workload.jobs.at(1).user == "bob");
  const auto& served = asked.state.served.at(0);
  CHECK(served.at("ann") > 0);
  CHECK(served.at("bob") == 0);
}

TEST_CASE("nobody has a turn in a tenant that has tenants now", "[unit][what-if]") {
  SmallJournal journal(Accounting::time);
  JobSpec spec;
  spec.user = "ann";
  journal.submit(1010, JobId{1}, kArt, 1, spec);
  journal.deal(1010);
  journal.finish(JobId{1}, 0, 1010, 1040);
  TenantRecord studio;
  studio.id = TenantId{3};
  studio.spec.name = "studio";
  studio.spec.parent = "art";
  CHECK(question_of(journal, 1070, 100).what_if.state.served.at(0).contains("ann"));
  journal.add(1050, TenantsChanged{{studio}});
  const auto question = question_of(journal, 1070, 100);
  CHECK(question.what_if.state.served.empty());
  CHECK(question.what_if.workload.jobs.empty());
}

TEST_CASE("a proposal changes the tree", "[unit][what-if]") {
  SmallJournal journal;
  TenantsChanged tree;
  const auto spec_of = [](const char* name, const char* parent, Weight weight) {
    TenantSpec spec;
    spec.name = name;
    spec.parent = parent;
    spec.weight = weight;
    return spec;
  };
  const TenantSpec eng = spec_of("eng", "", 2), web = spec_of("web", "eng", 2);
  for (const auto& [id, spec] : {std::pair{3U, eng}, {4U, web}}) {
    TenantRecord record;
    record.id = TenantId{id};
    record.spec = spec;
    tree.tenants.push_back(record);
  }
  journal.add(1000, tree);
  const auto asked = [&](const std::vector<TenantSpec>& proposal) {
    return what_if_question(journal.state.state(), {}, proposal,
                            {at_s(1070), 1000, true, DealingRules{}});
  };
  SECTION("whoever is in it") {
    TenantSpec capped = spec_of("eng", "all", 4);
    capped.max = {{"cpu", 2000}};
    const auto question = asked({capped, spec_of("all", "", 7), spec_of("botany", "eng", 1)});
    REQUIRE(question);
    const auto& groups = question->what_if.proposed_groups;
    REQUIRE(groups.size() == 2);
    CHECK(groups[0].place == QuotaPlace{.group = {}, .weight = 7});
    CHECK(groups[1].place == QuotaPlace{.group = {1}, .weight = 4});
    CHECK(groups[1].max[kCpu] == 2000);
    std::map<std::string, QuotaPlace> places;
    for (const auto& tenant : question->what_if.proposal) places[tenant.name] = *tenant.terms.place;
    CHECK(places == std::map<std::string, QuotaPlace>{{"art", {.group = {}, .weight = 1}},
                                                      {"botany", {.group = {2}, .weight = 1}},
                                                      {"web", {.group = {2}, .weight = 2}}});
  }
  SECTION("but for who runs jobs, and who has tenants") {
    const auto refusal = [&](const std::vector<TenantSpec>& proposal) {
      const auto question = asked(proposal);
      return question ? ErrorDetails{} : details(question.error());
    };
    CHECK(refusal({eng, web}).message.empty());
    CHECK(refusal({spec_of("new", "eng", 1)}).message.empty());
    CHECK(refusal({spec_of("web", "", 2)}).field == "tenants[0].parent");
    CHECK_THAT(refusal({spec_of("web", "", 2)}).message,
               Catch::Contains("leaves eng without tenants"));
    CHECK(refusal({spec_of("new", "art", 1)}).field == "tenants[0].parent");
    CHECK_THAT(refusal({spec_of("new", "art", 1)}).message, Catch::StartsWith("'art' runs jobs"));
    CHECK_THAT(refusal({spec_of("eng", "art", 1)}).message, Catch::StartsWith("'art' runs jobs"));
  }
}

TEST_CASE("a journal whose beginning is not kept is refused", "[unit][what-if]") {
  JournalState state;
  const ErrorDetails error = details(state.add({500, at_s(1001), {}, CoordinatorStarted{2, ""}}));
  CHECK(error.code == ErrorCode::wrong_state);
  CHECK_THAT(error.message, Catch::Contains("from record 500 on"));
}

TEST_CASE("a journal that contradicts itself is refused", "[unit][what-if]") {
  SmallJournal journal;
  const auto error =
      journal.state.add({journal.state.records() + 2, at_s(1001), {}, CoordinatorStarted{2, ""}});
  CHECK(details(error).code == ErrorCode::internal);
}

TEST_CASE("the comparison is told as a table and as JSON", "[unit][what-if]") {
  SmallJournal journal;
  fill(journal);
  TenantSpec art;
  art.name = "art";
  art.weight = 8;
  TenantSpec chemistry;
  chemistry.name = "chemistry";
  const auto question =
      what_if_question(journal.state.state(), node_that_is(NodeState::up), {art, chemistry},
                       {at_s(1070), 100'000, true, DealingRules{}});
  REQUIRE(question);
  const auto report = sim::compare(question->what_if);
  const WhatIfSource source{"new.yaml", journal.state.records(), at_s(1070)};

  const std::string text = what_if_text(report, question->facts, source);
  CHECK(text.find("What new.yaml would do in 1m40s from cycle 11 (1970-01-01T00:17:50Z): 4 tasks "
                  "run and 4 wait in 2 jobs; the 3 jobs of the last 1m40s come again, each 1m40s "
                  "later.") == 0);
  CHECK(text.find("\nart ") != std::string::npos);
  CHECK(text.find(" 1 -> 8 ") != std::string::npos);
  CHECK(text.find(" - -> 1 ") != std::string::npos);

  const Json json = what_if_json(report, question->facts, source);
  CHECK(json["cycle"] == 11);
  CHECK(json["horizon_seconds"] == 100.0);
  CHECK(json["tenants"].size() == 3);
  CHECK(json["tenants"][0]["before"]["weight"] == 1);
  CHECK(json["tenants"][0]["after"]["weight"] == 8);
  CHECK(json["tenants"][1]["name"] == "botany");
  CHECK(json["tenants"][2]["before"] == nullptr);
  CHECK(json["tenants"][2]["after"]["jobs_done"] == 0);
}

TEST_CASE("bad input is refused before anybody is asked", "[unit][what-if]") {
  const auto unknown = run_what_if("tenants: [{name: art, wieght: 2}]\n", {});
  CHECK(unknown.status == kExitUsage);
  CHECK(unknown.err.find("wieght") != std::string::npos);
  for (const char* horizon : {"0s", "91d", "soon", "-1h"}) {
    const auto refused = run_what_if(kTenants, {"--json", "--horizon", horizon});
    INFO(horizon);
    CHECK(refused.status == kExitUsage);
    CHECK(Json::parse(refused.out)["error"]["field"] == "horizon");
  }
  CHECK(run_what_if(kTenants, {"--json"}).status == kExitNotReached);
}

}  // namespace fairwater
