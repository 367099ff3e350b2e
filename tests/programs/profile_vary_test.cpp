#include <catch2/catch.hpp>

#include "cli/profile/measure.hpp"
#include "cli/profile/vary.hpp"

namespace fairwater {
namespace {

std::vector<Amount> varied(const char* text) {
  const auto variation = parse_variation(text);
  if (!variation) FAIL(details(variation.error()).message);
  return variation->amounts;
}

std::string vary_refusal(const char* text) {
  const auto variation = parse_variation(text);
  REQUIRE_FALSE(variation);
  CHECK(details(variation.error()).field == "vary");
  return details(variation.error()).message;
}

}  // namespace

TEST_CASE("ranges are written with their usual steps, others, or as lists", "[unit][profile]") {
  CHECK(parse_variation("cpu=1..4")->resource == "cpu");
  CHECK(varied("cpu=1..4") == std::vector<Amount>{1000, 2000, 3000, 4000});
  CHECK(varied("cpu=1..8:3") == std::vector<Amount>{1000, 4000, 7000});
  CHECK(varied("cpu=0.5..2:x2") == std::vector<Amount>{500, 1000, 2000});
  CHECK(varied("cpu=4,1,2,1") == std::vector<Amount>{1000, 2000, 4000});
  CHECK(varied("cpu=0.5,1..3") == std::vector<Amount>{500, 1000, 2000, 3000});
  CHECK(varied("memory=512MiB..4GiB") == std::vector<Amount>{512, 1024, 2048, 4096});
  CHECK(varied("memory=64MiB..200MiB:64MiB") == std::vector<Amount>{64, 128, 192});
  CHECK(varied("gpu=1..3") == std::vector<Amount>{1, 2, 3});
  CHECK(varied("cpu=2") == std::vector<Amount>{2000});
}

TEST_CASE("a range that is none is refused with what would be right", "[unit][profile]") {
  CHECK(vary_refusal("cpu") ==
        "'cpu' is not RESOURCE=RANGE; write cpu=1..8, memory=512MiB..4GiB:x2 or cpu=1,2,4");
  CHECK(vary_refusal("=1..8").starts_with("'=1..8' is not RESOURCE=RANGE"));
  CHECK(vary_refusal("cpu=").starts_with("'cpu=' is not RESOURCE=RANGE"));
  CHECK(vary_refusal("memory=512M..1G") == "'512M' is not an amount of memory; write 512MiB");
  CHECK(vary_refusal("cpu=8..1") == "'8..1' ends before it begins; write the smaller first");
  CHECK(vary_refusal("cpu=0..4") == "'0' of cpu is not above 0");
  CHECK(vary_refusal("cpu=1..8:x1") ==
        "'x1' is not a step; write x2 to double, or an amount to add each time");
  CHECK(vary_refusal("memory=1..100000:1").ends_with("give it a larger step, as in 1..64:x2"));
}

TEST_CASE("variations combine, and leave the rest of a job alone", "[unit][profile]") {
  const NamedAmounts base{{"cpu", 1000}, {"gpu", 1}, {"memory", 512}};
  const auto all = combinations(base, {{"cpu", {1000, 2000}}, {"memory", {64, 128}}});
  REQUIRE(all);
  CHECK(*all == std::vector<NamedAmounts>{{{"cpu", 1000}, {"gpu", 1}, {"memory", 64}},
                                          {{"cpu", 1000}, {"gpu", 1}, {"memory", 128}},
                                          {{"cpu", 2000}, {"gpu", 1}, {"memory", 64}},
                                          {{"cpu", 2000}, {"gpu", 1}, {"memory", 128}}});
  const auto twice = combinations(base, {{"cpu", {1000}}, {"cpu", {2000}}});
  REQUIRE_FALSE(twice);
  CHECK(details(twice.error()).message ==
        "varies cpu twice; write its amounts in one list, as in cpu=1,2,4..8");
  const std::vector<Amount> many(20, 1);
  CHECK_FALSE(combinations(base, {{"cpu", many}, {"memory", many}}));
}

TEST_CASE("what is left to run follows from what has run", "[unit][profile]") {
  Measurement wanted;
  wanted.amounts = {{{"cpu", 1000}}, {{"cpu", 2000}}, {{"cpu", 3000}}, {{"cpu", 4000}}};
  wanted.repeat = 3;
  const auto run_at = [&](std::size_t amount, JobId job = {}) {
    return RunLeft{wanted.amounts[amount], job};
  };
  std::vector<RunLeft> rounds;
  for (int round = 0; round < 3; ++round)
    for (std::size_t i = 0; i < 4; ++i) rounds.push_back(run_at(i));
  CHECK(runs_left({}, wanted) == rounds);

  ClassProfile profile;
  for (int i = 0; i < 3; ++i) add_run(profile, wanted.amounts[0], {.run_ms = 10});
  add_run(profile, wanted.amounts[1], {.exit_code = 1, .run_ms = 10});  // told nothing
  add_unfinished(profile, wanted.amounts[1], JobId{7});
  add_run(profile, wanted.amounts[2], {.reason = EndReason::memory_limit});
  add_run(profile, wanted.amounts[3], {.reason = EndReason::memory_limit});
  add_run(profile, wanted.amounts[3], {.run_ms = 10});
  add_run(profile, {{"cpu", 9000}}, {.run_ms = 10});
  CHECK(runs_left(profile, wanted) ==
        std::vector<RunLeft>{run_at(1, JobId{7}), run_at(1), run_at(3), run_at(1)});
}

TEST_CASE("amounts that were refused alike are told in one line", "[unit][profile]") {
  std::vector<RefusedAmounts> refused;
  for (const Amount cpu : {7, 5, 6})
    refused.push_back({{{"cpu", cpu * 1000}},
                       "no node could ever give cpu " + std::to_string(cpu) + " to one task"});
  refused.push_back({{{"cpu", 99'000}}, "more than the tenant's max cpu 8"});
  CHECK(refusals_text(refused) ==
        std::vector<std::string>{"cpu 99: more than the tenant's max cpu 8",
                                 "3 different amounts, from cpu 5 to cpu 7: the first: no node "
                                 "could ever give cpu 5 to one task"});
  CHECK(refusals_text({}).empty());
}

TEST_CASE("a run with so many tasks is a gang of them", "[unit][profile]") {
  const auto tasks = parse_variation("tasks=1..8:x2");
  REQUIRE(tasks.engaged());
  CHECK(tasks->amounts == std::vector<Amount>{1, 2, 4, 8});
  const auto all = combinations({{"cpu", 1000}}, {*tasks});
  REQUIRE(all.engaged());
  JobSpec spec;
  spec.job_class = "queue";
  const JobSpec run = run_of(spec, all->back());
  CHECK(run.resources == NamedAmounts{{"cpu", 1000}});
  CHECK(run.tasks_min == 8);
  CHECK(run.tasks_max == 8);
  CHECK(run.gang);
  CHECK(run.measures_tasks);
  CHECK(profiled_amounts(run, 0) == all->back());
  CHECK_FALSE(run_of(spec, {{"cpu", 1000}}).gang);
  // What is too large to be told is refused as too many, not taken for something else.
  CHECK(run_of(spec, {{"cpu", 1000}, {"tasks", Amount{1} << 40}}).tasks_max > kMaxTasksPerJob);
}

}  // namespace fairwater
