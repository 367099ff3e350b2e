#include "model/profile.hpp"

#include <catch2/catch.hpp>

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
}

}  // namespace fairwater
