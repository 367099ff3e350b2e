#include "model/profile.hpp"

#include <catch2/catch.hpp>

#include "model/job_validation.hpp"

namespace fairwater {
namespace {

NamedAmounts of(Amount cpu, Amount memory) { return {{"cpu", cpu}, {"memory", memory}}; }

ClassRun took(std::int64_t run_ms) { return {.run_ms = run_ms}; }
ClassRun too_little() { return {.reason = EndReason::memory_limit, .exit_code = 137}; }

/// With one processor and 64 MiB it does not run; more than 128 MiB, or two processors, do not pay.
ClassProfile measured() {
  ClassProfile profile{"physics", "render", {}, false};
  for (const std::int64_t off_ms : {-1, 0, 1}) {
    add_run(profile, of(1000, 64), too_little());
    for (const Amount memory : {128, 256, 512}) {
      add_run(profile, of(1000, memory), took(1000 + off_ms));
      add_run(profile, of(2000, memory), took(500 + off_ms));
      add_run(profile, of(4000, memory), took(490 + off_ms));
    }
  }
  return profile;
}

JobSpec leaves(std::vector<std::string> resources, NamedAmounts given) {
  JobSpec spec;
  spec.job_class = "render";
  spec.resources = std::move(given);
  spec.profiled.resources = std::move(resources);
  return spec;
}

}  // namespace

TEST_CASE("only what a task did by itself tells of its class", "[unit][profile]") {
  TaskResult result;
  result.started_at = {1'000'000};
  result.finished_at = {3'500'000};
  result.cpu_ms = 7;
  result.peak_memory_kib = 8;
  const auto run = class_run(JobId{4}, 2, result);
  CHECK(run == ClassRun{JobId{4}, 2, EndReason::exited, 0, 2500, 7, 8});
  CHECK(completed(*run));
  result.exit_code = 1;
  CHECK_FALSE(completed(class_run(JobId{4}, 2, result).value()));
  for (const auto reason : {EndReason::memory_limit, EndReason::time_limit}) {
    result.reason = reason;
    CHECK(hit_limit(class_run(JobId{4}, 2, result).value()));
  }
  for (const auto reason : {EndReason::cancelled, EndReason::lease_expired, EndReason::node_lost,
                            EndReason::launch_failed, EndReason::could_not_start}) {
    result.reason = reason;
    CHECK_FALSE(class_run(JobId{4}, 2, result));
  }
}

TEST_CASE("a profile keeps the newest runs of each amounts", "[unit][profile]") {
  ClassProfile profile;
  for (std::size_t i = 0; i < kMaxProfiledRuns + 5; ++i) {
    // Whichever comes first: what a step of memory tells is found among other amounts' jobs.
    ClassRun run = took(static_cast<std::int64_t>(i));
    run.job = JobId{i * 7 % (kMaxProfiledRuns + 5)};
    add_run(profile, of(1000, 64), run);
  }
  add_run(profile, of(500, 64), took(9));
  add_unfinished(profile, of(2000, 64), JobId{3});
  REQUIRE(profile.amounts.size() == 3);
  CHECK(profile.amounts[0].resources == of(500, 64));
  CHECK(profile.amounts[1].runs.size() == kMaxProfiledRuns);
  for (std::size_t i = 0; i < kMaxProfiledRuns; ++i)
    CHECK(profile.amounts[1].runs[i].job == JobId{kMaxProfiledRuns + 4 - i});
  CHECK(profile.amounts[2].unfinished == std::vector{JobId{3}});
  const ProfileCurve curve = curve_of(profile);
  CHECK(curve.curve.amounts.size() == 2);  // nothing is known of the third
  CHECK(curve.amounts(0) == of(500, 64));
}

TEST_CASE("a job takes the point of its class, and steps of memory above it", "[unit][profile]") {
  JobSpec all = leaves({}, {});
  all.profiled.all = true;
  const auto taken = with_profiled_amounts(all, measured());
  REQUIRE(taken);
  CHECK(taken->resources == of(2000, 128));
  CHECK(taken->profiled.resources == std::vector<std::string>{"cpu", "memory"});
  CHECK_FALSE(taken->profiled.all);
  CHECK(taken->profiled.memory_steps == std::vector<Amount>{256, 512});
  CHECK(taken->profiled.runs == 30);
  CHECK(taken->profiled.confidence_permille > 900);
  CHECK(amounts_at(*taken, 0) == of(2000, 128));
  CHECK(amounts_at(*taken, 1) == of(2000, 256));
  CHECK(amounts_at(*taken, 2) == of(2000, 512));
  CHECK(amounts_at(*taken, 9) == of(2000, 512));
}

TEST_CASE("what a job names itself stays, and bounds the runs that are looked at",
          "[unit][profile]") {
  const auto memory = with_profiled_amounts(leaves({"memory"}, {{"cpu", 1000}}), measured());
  REQUIRE(memory);
  CHECK(memory->resources == of(1000, 128));
  CHECK(memory->profiled.runs == 12);
  CHECK(memory->profiled.resources == std::vector<std::string>{"memory"});
  const auto cpu = with_profiled_amounts(leaves({"cpu"}, {{"memory", 512}}), measured());
  REQUIRE(cpu);
  CHECK(cpu->resources == of(2000, 512));
  CHECK(cpu->profiled.memory_steps.empty());  // its memory is the job's own word
}

TEST_CASE("a job gets nothing by its profile that it does not ask for", "[unit][profile]") {
  ClassProfile profile = measured();
  for (const Amount gpus : {1, 2})
    for (int run = 0; run < 3; ++run) {
      NamedAmounts with_gpus = of(1000, 64);
      with_gpus["gpu"] = gpus;
      add_run(profile, with_gpus, took(100));
    }
  const auto memory = with_profiled_amounts(leaves({"memory"}, {{"cpu", 1000}}), profile);
  REQUIRE(memory);
  CHECK(memory->resources == of(1000, 128));
  CHECK(memory->profiled.resources == std::vector<std::string>{"memory"});
  const auto without =
      with_profiled_amounts(leaves({"memory"}, {{"cpu", 1000}, {"gpu", 0}}), profile);
  REQUIRE(without);
  CHECK(without->resources.at("memory") == 128);
  const auto with_one =
      with_profiled_amounts(leaves({"memory"}, {{"cpu", 1000}, {"gpu", 1}}), profile);
  REQUIRE(with_one);
  CHECK(with_one->resources.at("memory") == 64);
}

TEST_CASE("without a run that tells, the command that makes one is named", "[unit][profile]") {
  const auto refused = [](const JobSpec& spec, const ClassProfile& profile) {
    const auto taken = with_profiled_amounts(spec, profile);
    REQUIRE_FALSE(taken);
    const ErrorDetails why = details(taken.error());
    CHECK(why.code == ErrorCode::invalid_input);
    CHECK(why.field == "resources");
    return why.message;
  };
  CHECK(
      refused(leaves({"cpu"}, {{"memory", 512}}), {}) ==
      "auto takes what the profile of class render tells, and no run of it with memory 512 MiB has "
      "succeeded; make one with: fairwater profile run FILE --vary cpu=1..4");
  CHECK_THAT(refused(leaves({"memory"}, {{"cpu", 8000}}), measured()),
             Catch::Contains("with cpu 8") && Catch::Contains("--vary memory=256MiB..2GiB:x2"));
  CHECK_THAT(refused(leaves({"gpu"}, of(1000, 128)), measured()),
             Catch::Contains("--vary gpu=1..4"));
  ClassProfile failing;
  add_run(failing, of(1000, 64), too_little());
  JobSpec all = leaves({}, {});
  all.profiled.all = true;
  CHECK_THAT(refused(all, failing), Catch::Contains("no run of it has succeeded"));
  ClassProfile with_gpus;
  NamedAmounts amounts = of(1000, 64);
  amounts["gpu"] = 1;
  add_run(with_gpus, amounts, took(100));
  CHECK_THAT(refused(leaves({"memory"}, {{"cpu", 1000}}), with_gpus),
             Catch::Contains("no run of it with cpu 1 and without gpu has succeeded"));
  CHECK_THAT(refused(leaves({"cpu", "memory"}, {}), with_gpus),
             Catch::Contains("no run of it without gpu has succeeded"));
  CHECK_THAT(refused(leaves({"memory"}, {{"cpu", 2000}}), with_gpus),
             Catch::Contains("no run of it with cpu 2 has succeeded"));
}

TEST_CASE("a whole job takes from its first task's start to its last one's end",
          "[unit][profile]") {
  JobRecord job;
  job.id = JobId{4};
  job.spec.job_class = "queue";
  job.spec.gang = job.spec.measures_tasks = true;
  job.spec.tasks_min = job.spec.tasks_max = 2;
  job.tasks.total = job.tasks.succeeded = 2;
  job.started_at = {1};
  const auto result = [](std::uint32_t index, std::int64_t from_ms, std::int64_t to_ms) {
    TaskResult result;
    result.task = {JobId{4}, index, 1};
    result.started_at = {from_ms * 1000};
    result.finished_at = {to_ms * 1000};
    result.cpu_ms = 5;
    result.peak_memory_kib = 100 + index;
    return result;
  };
  std::vector<TaskResult> results{result(0, 2000, 3000), result(1, 1500, 2600)};
  CHECK(whole_run(job, results) == ClassRun{JobId{4}, 0, EndReason::exited, 0, 1500, 10, 101});
  job.tasks.succeeded = 1;
  job.tasks.running = 1;
  CHECK_FALSE(whole_run(job, results));  // one runs on
  // One that failed tells why; what ended with it does not.
  job.tasks = {.total = 2, .failed = 1, .cancelled = 1};
  results[0].reason = EndReason::cancelled;
  results[1].reason = EndReason::memory_limit;
  const auto failed = whole_run(job, results);
  REQUIRE(failed);
  CHECK(hit_limit(*failed));
  CHECK(failed->run_ms == 1100);
  results[1].reason = EndReason::node_lost;
  CHECK_FALSE(whole_run(job, results));
  CHECK_FALSE(whole_run(job, {}));
}

TEST_CASE("beyond the point of its class an elastic job is not worth growing", "[unit][profile]") {
  ClassProfile profile{"physics", "queue", {}, false};
  const auto with = [](Amount tasks, Amount cpu) {
    return NamedAmounts{{"cpu", cpu}, {"tasks", tasks}};
  };
  const auto measure = [&](Amount tasks, Amount cpu, std::int64_t run_ms) {
    for (const std::int64_t off_ms : {-1, 0, 1})
      add_run(profile, with(tasks, cpu), took(run_ms + off_ms));
  };
  add_run(profile, {{"cpu", 1000}}, took(9));  // of one task
  CHECK(growth_limit(profile, {{"cpu", 1000}}) == GrowthLimit{});
  measure(1, 1000, 8000);
  measure(2, 1000, 4000);
  CHECK(growth_limit(profile, {{"cpu", 1000}}) == GrowthLimit{});  // two make no curve
  measure(3, 1000, 2700);
  measure(4, 1000, 2650);
  measure(8, 1000, 2640);
  const GrowthLimit limit = growth_limit(profile, {{"cpu", 1000}});
  CHECK(limit.tasks == 3);
  CHECK(limit.runs == 15);
  CHECK(limit.confidence_permille > 900);
  // With other amounts the class may take other times.
  CHECK(growth_limit(profile, {{"cpu", 2000}}) == GrowthLimit{});
  CHECK(growth_limit(profile, {{"cpu", 1000}, {"gpu", 1}}) == GrowthLimit{});
  for (const Amount tasks : {1, 2, 4}) measure(tasks, 2000, 500);
  CHECK(growth_limit(profile, {{"cpu", 2000}}).tasks == 1);  // a flat curve
  // Single tasks have a curve of their own, and whole jobs theirs.
  CHECK(curve_of(profile).resources == std::vector<std::string>{"cpu"});
  CHECK(curve_of(profile).curve.amounts.size() == 1);
  CHECK(whole_curve_of(profile).resources == std::vector<std::string>{"cpu", "tasks"});
  CHECK(whole_curve_of(profile).curve.amounts.size() == 8);
}

TEST_CASE("what is measured by tasks is a class of gangs", "[unit][profile]") {
  JobSpec spec = leaves({}, {{"cpu", 1000}});
  spec.tenant = "physics";
  spec.command = {"true"};
  spec.tasks_min = spec.tasks_max = 4;
  spec.gang = spec.measures_tasks = true;
  CHECK(validate(spec).engaged());
  CHECK(profiled_amounts(spec, 0) == NamedAmounts{{"cpu", 1000}, {"tasks", 4}});
  const auto refused = [](JobSpec wrong) { return details(validate(std::move(wrong)).error()); };
  JobSpec wrong = spec;
  wrong.job_class.clear();
  CHECK(refused(wrong).field == "class");
  wrong = spec;
  wrong.gang = false;
  CHECK(refused(wrong).field == "gang");
  wrong = spec;
  wrong.tasks_min = wrong.tasks_max = kMaxMeasuredTasks + 1;
  CHECK(refused(wrong).field == "tasks");
  wrong = spec;
  wrong.measures_tasks = false;
  wrong.resources["tasks"] = 1;
  CHECK(refused(wrong).field == "resources.tasks");
  wrong.job_class.clear();
  CHECK(validate(wrong).engaged());
}

}  // namespace fairwater
