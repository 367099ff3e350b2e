// Programs under limits, and what the saturation experiment makes of curves. How long a program
// takes is looked at only where the limit makes a difference of several times.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "sim/experiments/measured_programs.hpp"
#include "sim/experiments/saturation_programs.hpp"
#include "tests/sim/report_text.hpp"

namespace fairwater::sim {
namespace {

Expected<double> run_one(ProgramRunner& runner, ProgramCommand command, double cores = 1,
                         std::uint64_t data_bytes = 0) {
  const std::vector<ProgramCommand> commands{std::move(command)};
  return runner.run(commands, {.cores = cores, .data_bytes = data_bytes});
}

/// Counts until its process has had a tenth of a second of processor time. User and system time
/// together: the kernel divides them by what its ticks meet, which under a quota may be one alone.
const ProgramCommand kBusy{"perl", "-e", "1 while do { my @t = times; $t[0] + $t[1] < 0.1 }"};

MeasuredCurve hyperbola(double noise) {
  MeasuredCurve curve{
      .program = "made up", .resource = "cpu", .unit = "cores", .granule = 1, .runs = {}};
  for (int run = 0; run < 3; ++run)
    for (int cores = 1; cores <= 8; ++cores)
      curve.runs.push_back({.resources = {static_cast<double>(cores)},
                            .time = 10.0 / cores * (1 + noise * (run - 1))});
  return curve;
}

}  // namespace

TEST_CASE("a program's failure is told from its end", "[unit][experiments]") {
  ProgramRunner runner;
  CHECK(runner.processors() >= 1);
  const auto seconds = run_one(runner, {"true"});
  REQUIRE(seconds);
  CHECK(*seconds > 0);
  CHECK(details(run_one(runner, {"false"}).error()).message == "false failed with status 1");
  CHECK(details(run_one(runner, {"no-such-program-here"}).error()).message ==
        "no-such-program-here could not be started");
  CHECK(details(run_one(runner, {"perl", "-e", "kill 9, $$"}).error()).message ==
        "perl was ended by signal 9");
}

TEST_CASE("a part of a processor makes a program slower", "[unit][experiments]") {
  const bool without_quota = GENERATE(false, true);
  ProgramRunner runner(without_quota);
  INFO("cpu is enforced by " << to_string(runner.enforcement()));
  if (without_quota) CHECK(runner.enforcement() == CpuEnforcement::stop_signals);
  // A tenth of a second at a tenth of a processor takes one. Other load adds to it, but for a run
  // that was done before a late stop.
  double longest = 0;
  for (int run = 0; run < 3 && longest <= 0.5; ++run) {
    const auto tenth = run_one(runner, kBusy, 0.1);
    REQUIRE(tenth);
    longest = std::max(longest, *tenth);
  }
  CHECK(longest > 0.5);
}

TEST_CASE("who looks late stops programs for longer", "[unit][experiments]") {
  using std::chrono::milliseconds;
  const int look_ms = GENERATE(1, 7, 50);  // a period has 20
  StopSchedule schedule(0.1);
  int ran_ms = 0;
  for (int now_ms = 0; now_ms < 10'000; now_ms += look_ms)
    if (!schedule.should_stop(milliseconds(now_ms))) ran_ms += look_ms;
  CHECK(ran_ms >= 1000);
  CHECK(ran_ms <= 1000 + look_ms);
  CHECK_FALSE(StopSchedule(1).should_stop(milliseconds(19)));
}

TEST_CASE("private memory is limited", "[unit][experiments]") {
  ProgramRunner runner;
  const ProgramCommand large{"perl", "-e", "my $x = 'x' x (64 << 20)"};
  CHECK(run_one(runner, large));
  CHECK_FALSE(run_one(runner, large, 1, 16 << 20));
}

TEST_CASE("programs started together end together and leave nothing", "[unit][experiments]") {
  const std::string own = fmt::format("fairwater-measure-{}-", getpid());
  const auto groups = [&own] {
    std::size_t count = 0;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/fs/cgroup/cpu", ignored))
      count += entry.path().filename().string().starts_with(own) ? 1 : 0;
    return count;
  };
  {
    ProgramRunner runner;
    if (runner.enforcement() == CpuEnforcement::quota_v1) CHECK(groups() == 1);
    const std::vector<ProgramCommand> commands{{"sleep", "0.05"}, {"sleep", "0.2"}, {"true"}};
    const auto seconds = runner.run(commands, {.cores = 1});
    REQUIRE(seconds);
    CHECK(*seconds >= 0.2);
    // The one that fails does not leave the others behind: the runner waits for all of them.
    const std::vector<ProgramCommand> failing{{"false"}, {"sleep", "0.05"}};
    CHECK_FALSE(runner.run(failing, {.cores = 1}));
  }
  CHECK(groups() == 0);
}

TEST_CASE("small curves of the real programs are measured", "[unit][experiments]") {
  ProgramRunner runner;
  double progress = 0;
  const auto curves = measure_programs({.cores = {0.5, 1},
                                        .memory_mib = {0.5, 1},
                                        .input_bytes = 100'000,
                                        .hashed_bytes = 200'000,
                                        .most_rounds = 2,
                                        .most_seconds = 1},
                                       runner, [&](double done) { progress = done; });
  REQUIRE(curves);
  CHECK(progress == 1);
  REQUIRE(curves->size() == 4);
  for (const MeasuredCurve& curve : *curves) {
    CHECK(curve.runs.size() == 4);
    for (const MeasuredPoint& run : curve.runs) CHECK(run.time > 0);
  }
  CHECK(curves->back().resource == "memory");
  test::check_structure(report_saturation(*curves, to_string(runner.enforcement())));
}

TEST_CASE("the paper's saturation points come out", "[unit][experiments]") {
  const auto report = report_saturation({}, "nothing");
  REQUIRE(report.claims.size() == 2);
  CHECK(report.claims[0].verdict == Verdict::holds);
  CHECK_THAT(report.claims[0].measured,
             Catch::StartsWith("The point nearest to the diagonal lies at 3,"));
  CHECK(report.claims[1].verdict == Verdict::holds);
  CHECK_THAT(report.claims[1].measured,
             Catch::StartsWith("The point nearest to the diagonal lies at 20,"));
}

TEST_CASE("a measured curve is reported with its confidence", "[golden][experiments]") {
  const auto report = report_saturation({hyperbola(0.02)}, "a test");
  test::check_structure(report);
  REQUIRE(report.claims.size() == 3);
  CHECK(report.claims[2].verdict == Verdict::measured_only);
  CHECK(report.claims[2].measured ==
        "Over cores: 10.00 s at 1, 3.33 s at the saturation point 3 (3 to 3 at 90 % confidence, "
        "100 % of the votes), 1.25 s at 8.");
  CHECK(test::text_of(report) == test::text_of(report_saturation({hyperbola(0.02)}, "a test")));
}

}  // namespace fairwater::sim
