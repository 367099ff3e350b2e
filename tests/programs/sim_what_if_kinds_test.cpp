// What jobs of each kind become in a simulation of what other terms would do.
#include "tests/programs/small_journal.hpp"

namespace fairwater {

TEST_CASE("services hold their room to the horizon, and do not come again", "[unit][what-if]") {
  SmallJournal journal;
  journal.submit(1010, JobId{1}, kArt, 1, 0, "server", JobKind::service);
  journal.deal(1010);
  journal.finish(JobId{1}, 0, 1010, 1020);
  journal.submit(1050, JobId{2}, kArt, 2, 0, "server", JobKind::service);
  journal.deal(1050);
  const auto question = question_of(journal, 1070, 100);
  CHECK(jobs_of(question) == std::vector<std::string>{"-60s art: 100s", "-20s art: 100s 100s"});
  CHECK(running_of(question) == std::vector<std::string>{"1.0 on 0: 100s", "1.1 on 0: 100s"});
  CHECK(question.facts.arriving_jobs == 0);
  for (const auto& job : question.what_if.workload.jobs) CHECK(job.is_service);
}

TEST_CASE("what preempts does so there, and what is spared is", "[unit][what-if][preemption]") {
  SmallJournal journal;
  JobSpec urgent;
  urgent.priority = 7;
  urgent.preempt = true;
  urgent.grace_ms = 2000;
  journal.submit(1010, JobId{1}, kArt, 1, urgent);
  JobSpec spared;
  spared.preemptible = false;
  journal.submit(1020, JobId{2}, kArt, 1, spared);
  const auto question = question_of(journal, 1070, 30);
  const auto& jobs = question.what_if.workload.jobs;
  REQUIRE(jobs.size() == 2);
  CHECK(jobs[0].preemption ==
        PreemptionTerms{.priority = 7, .preempts = true, .is_preemptible = true});
  CHECK(jobs[0].grace_ms == 2000);
  CHECK(jobs[1].preemption == PreemptionTerms{});
  CHECK(question.facts.notes.empty());
}

TEST_CASE("a look ahead deals by the rules of the coordinator", "[unit][what-if][preemption]") {
  SmallJournal journal;
  const WhatIfRules as_it_is{.now = at_s(1070),
                             .horizon_ms = 30'000,
                             .arrivals = false,
                             .dealing = DealingRules{.allocation = AllocationRule::drf,
                                                     .elastic = GrowthRule::bra,
                                                     .preempt_after_ms = 7000,
                                                     .preempts_for_min = false}};
  const auto asked = [&](const WhatIfRules& rules) {
    auto question = what_if_question(journal.state.state(), node_that_is(NodeState::up), {}, rules);
    REQUIRE(question);
    return *std::move(question);
  };
  const WhatIfQuestion question = asked(as_it_is);
  const AllocatorSettings& settings = question.what_if.cluster.settings;
  CHECK(settings.allocation == AllocationRule::drf);
  CHECK(settings.growth == GrowthRule::bra);
  CHECK(settings.preempt_after_ms == 7000);
  CHECK_FALSE(settings.preempts_for_min);
  CHECK(question.facts.notes.empty());
  WhatIfRules of_an_older_one = as_it_is;
  of_an_older_one.dealing.reset();
  const auto notes = asked(of_an_older_one).facts.notes;
  REQUIRE(notes.size() == 1);
  CHECK(notes.front().starts_with("the coordinator is of an older version"));
}

TEST_CASE("preempt_after and elastic of the coordinator count ahead", "[unit][what-if]") {
  // All processors are art's, for a thousand seconds as its last job.
  SmallJournal journal;
  JobSpec urgent;
  urgent.priority = 7;
  urgent.preempt = true;
  journal.submit(1000, JobId{1}, kArt, 1);
  journal.deal(1000);
  journal.finish(JobId{1}, 0, 1000, 2000);
  journal.submit(2000, JobId{2}, kArt, 4);
  journal.deal(2000);
  journal.submit(2001, JobId{3}, kBotany, 1, urgent);
  const auto wait_s = [&](std::int64_t preempt_after_ms) {
    const auto question = what_if_question(
        journal.state.state(), node_that_is(NodeState::up), {},
        {at_s(2002), 500'000, false, DealingRules{.preempt_after_ms = preempt_after_ms}});
    REQUIRE(question);
    return sim::compare(question->what_if).before.tenants.at(1).mean_wait_s;
  };
  CHECK(wait_s(60'000) - wait_s(20'000) == 40);
}

TEST_CASE("gangs that wait and that come again are gangs there", "[unit][what-if][gang]") {
  SmallJournal journal;
  journal.submit(1010, JobId{1}, kArt, 50, 0, "ring", JobKind::batch, true);
  const auto question = question_of(journal, 1070, 100);
  CHECK(question.facts.notes.empty());
  const auto& jobs = question.what_if.workload.jobs;
  REQUIRE(jobs.size() == 2);
  for (const auto& job : jobs) {
    CHECK(job.is_gang);
    CHECK(job.tasks == 50);
  }
}

TEST_CASE("a gang that breaks waits as a whole there", "[unit][what-if][gang]") {
  SmallJournal journal;
  journal.submit(1010, JobId{1}, kArt, 3, 0, "ring", JobKind::batch, true);
  journal.deal(1010);
  journal.finish(JobId{1}, 0, 1010, 1020);
  const TaskKey second{JobId{1}, 1, 1};
  journal.add(1030, TasksReclaimed{{{kNode, second, kArt, kBotany, JobId{2}, true}}});
  TaskResult stopped;
  stopped.task = second;
  stopped.reason = EndReason::cancelled;
  journal.add(1040, TasksFinished{kNode, {stopped}});
  const auto question = question_of(journal, 1070, 100);
  CHECK(question.facts.running_tasks == 1);  // the third has not ended yet
  CHECK(running_of(question).empty());
  REQUIRE_FALSE(question.what_if.workload.jobs.empty());
  const sim::Job& gang = question.what_if.workload.jobs.front();
  CHECK(gang.is_gang);
  CHECK(gang.tasks == 3);
}

TEST_CASE("elastic jobs claim their least and share their work out", "[unit][what-if][elastic]") {
  SmallJournal journal;
  JobSpec elastic;
  elastic.tasks_min = 2;
  elastic.tasks_max = 50;
  journal.submit(1010, JobId{1}, kArt, 2, elastic);
  journal.deal(1010);
  journal.finish(JobId{1}, 0, 1010, 1030);
  journal.finish(JobId{1}, 1, 1010, 1040);
  journal.add(1040, JobWindsDown{JobId{1}});
  journal.submit(1050, JobId{2}, kArt, 2, elastic);
  journal.deal(1050);
  journal.submit(1060, JobId{3}, kArt, 2, elastic);
  journal.add(1060, GrowthLimited{JobId{3}, {.tasks = 4}});
  WhatIfRules rules{at_s(1070), 100'000, true, DealingRules{}};
  const auto question =
      what_if_question(journal.state.state(), node_that_is(NodeState::up), {}, rules);
  REQUIRE(question);
  CHECK(question->facts.running_tasks == 2);
  CHECK(question->facts.waiting_tasks == 2);
  CHECK(question->facts.notes.empty());
  CHECK(running_of(*question) == std::vector<std::string>{"0.0 on 0: 5s", "0.1 on 0: 5s"});
  const auto described = [](const WhatIfQuestion& asked) {
    std::vector<std::string> lines;
    for (const auto& job : asked.what_if.workload.jobs)
      lines.push_back(fmt::format("{}s: {} to {}, {}s{}", job.submit_ms / 1000, job.least_tasks,
                                  job.tasks, job.run_ms / 1000, job.is_gang ? ", gang" : ""));
    return lines;
  };
  CHECK(described(*question) == std::vector<std::string>{"-20s: 2 to 50, 5s", "-10s: 2 to 4, 25s",
                                                         "40s: 2 to 50, 25s", "80s: 2 to 50, 25s",
                                                         "90s: 2 to 4, 25s"});
  rules.dealing->allocation = AllocationRule::drf;
  const auto by_share =
      what_if_question(journal.state.state(), node_that_is(NodeState::up), {}, rules);
  REQUIRE(by_share);
  CHECK(by_share->facts.notes.empty());
  CHECK(described(*by_share) ==
        std::vector<std::string>{"-20s: 0 to 2, 5s", "-10s: 0 to 2, 25s, gang",
                                 "40s: 0 to 2, 25s, gang", "80s: 0 to 2, 25s, gang",
                                 "90s: 0 to 2, 25s, gang"});
}

TEST_CASE("tasks have the devices there that they have, and ask for those that they name",
          "[unit][what-if]") {
  SmallJournal journal;
  JobSpec spec;
  spec.devices = {"gpu0"};
  journal.submit(1010, JobId{1}, kArt, 1, spec);
  journal.deal(1010, {"gpu0"});
  journal.submit(1020, JobId{2}, kArt, 1, spec);
  const auto ask = [&](NodeState state) {
    const auto asked = what_if_question(journal.state.state(), node_that_is(state), {},
                                        {at_s(1070), 30'000, false, DealingRules{}});
    REQUIRE(asked);
    return *asked;
  };
  const auto question = ask(NodeState::up);
  CHECK(question.facts.notes.empty());
  REQUIRE(question.what_if.workload.jobs.at(1).rule);
  CHECK(question.what_if.workload.jobs[1].rule->devices == spec.devices);
  CHECK(question.what_if.state.running.at(0).devices == spec.devices);
  CHECK(ask(NodeState::down).what_if.state.running.at(0).devices.empty());
}

}  // namespace fairwater
