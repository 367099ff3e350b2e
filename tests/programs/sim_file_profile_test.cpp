// Simulation files: jobs that ask and grow by what runs of their class took, and exclusive
// processors.
#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "cli/sim/file.hpp"
#include "model/resources.hpp"
#include "tests/programs/sim_file_support.hpp"

namespace fairwater {
namespace {

constexpr const char* kRunLine = "      run: [20s, 30s]\n";

/// The small file, whose jobs have these keys in place of their resources, tasks and run time.
std::string measured(const std::string& keys, const std::string& tasks = "tasks: 1") {
  return changed_in(changed_in(changed("tasks: [1, 4]", tasks), kRunLine, ""),
                    "resources: {cpu: 1, memory: [512MiB, 2GiB]}", keys);
}

sim::Scenario scenario_of(const std::string& text) {
  auto scenario = parse_sim_file(text, "s.yaml");
  if (!scenario) FAIL(details(scenario.error()).message);
  return *std::move(scenario);
}

}  // namespace

TEST_CASE("a generator's jobs ask by a profile", "[unit][sim-file][profile]") {
  const sim::Scenario scenario = scenario_of(measured(R"(resources: {cpu: auto, memory: 1GiB}
      profile:
        - {cpu: 1, memory: 1GiB, run: [60s, 61s]}
        - {cpu: 2, memory: 1GiB, run: [30s, 31s]}
        - {cpu: 4, memory: 1GiB, run: [30s, 31s]}
        - {cpu: 1, memory: 2GiB, run: 5s})"));
  const ResourceCatalog catalog;
  std::set<sim::TimeMs> times;
  for (const sim::Job& job : draw_workload(scenario, 1).jobs) {
    CHECK(job.demand[*catalog.index_of("cpu")] == 2000);
    CHECK(job.demand[*catalog.index_of("memory")] == 1024);
    CHECK(job.estimate_ms == job.run_ms * 3 / 2);
    times.insert(job.run_ms);
  }
  CHECK(times == std::set<sim::TimeMs>{30'000, 31'000});
}

TEST_CASE("what failed by its memory is no amount to ask for", "[unit][sim-file][profile]") {
  const sim::Scenario scenario = scenario_of(measured(R"(resources: auto
      profile:
        - {memory: 64MiB, failed: memory_limit}
        - {memory: 128MiB, run: 10s}
        - {memory: 256MiB, run: 10s})"));
  for (const sim::Job& job : draw_workload(scenario, 1).jobs) {
    CHECK(job.demand[*ResourceCatalog{}.index_of("memory")] == 128);
    CHECK(job.demand[*ResourceCatalog{}.index_of("cpu")] == 0);
    CHECK(job.run_ms == 10'000);
  }
}

TEST_CASE("elastic jobs grow as far as it was measured to pay", "[unit][sim-file][profile]") {
  const auto most = [](const std::string& cpu) {
    const std::string keys = "resources: {cpu: " + cpu + R"(}
      run: 80s
      profile:
        - {cpu: 1, tasks: 1, run: 80s}
        - {cpu: 1, tasks: 2, run: 40s}
        - {cpu: 1, tasks: 4, run: 20s}
        - {cpu: 1, tasks: 8, run: 20s}
        - {cpu: 1, tasks: 16, run: 20s})";
    return scenario_of(measured(keys, "tasks: {min: 1, max: 16}")).generators.at(0).max_units;
  };
  CHECK(most("1") == 4);
  CHECK(most("0.5") == 16);  // of which nobody knows
}

TEST_CASE("a profile that does not fit its jobs is refused", "[unit][sim-file][profile]") {
  const std::string runs = "\n      profile: [{cpu: 1, run: 60s}, {cpu: 2, run: 30s}]";
  const auto refused = [](const std::string& keys, const std::string& tasks = "tasks: 1") {
    return refusal_of(measured(keys, tasks));
  };
  const std::string at = "workload.generators[0].";
  CHECK_THAT(refused("resources: {cpu: auto}"),
             Catch::StartsWith(at + "resources: auto goes by what runs took; say it, as in"));
  CHECK_THAT(refused("resources: {cpu: auto}\n      run: 60s" + runs),
             Catch::StartsWith(at + "run: follows the profile where an amount is auto"));
  CHECK_THAT(refused("resources: {cpu: 1}\n      run: 60s" + runs),
             Catch::StartsWith(at + "profile: is for jobs with resources: auto, or with tasks"));
  CHECK_THAT(refused("resources: {cpu: auto, memory: 1GiB}" + runs),
             Catch::StartsWith(at + "profile: has no runs that ended well and tell the amounts"));
  CHECK_THAT(refused("resources: {cpu: auto, memory: [1GiB, 2GiB]}" + runs),
             Catch::StartsWith(at + "resources.memory: is a range; beside a profile it is"));
  CHECK_THAT(refused("resources: auto\n      profile: [{cpus: 1, run: 60s}]"),
             Catch::StartsWith(at + "profile[0]: names no resource of the cluster"));
  CHECK_THAT(refused("resources: auto\n      profile: [{cpu: 1, run: 60s, core: 1}]"),
             Catch::StartsWith(at + "profile[0].core: "));
  CHECK_THAT(refused("resources: auto\n      profile: [{cpu: 1, run: 60s, failed: time_limit}]"),
             Catch::StartsWith(at + "profile[0].run: is of runs that ended well"));
  CHECK_THAT(refused("resources: auto\n      profile: [{cpu: 1, failed: badly}]"),
             Catch::StartsWith(at + "profile[0].failed: 'badly' is not one of memory_limit"));
  CHECK_THAT(refused("resources: auto\n      profile: [{cpu: 1, run: []}]"),
             Catch::StartsWith(at + "profile[0].run: are 1 to 20 runs"));
  CHECK_THAT(refusal_of(changed_in(measured("kind: service\n      resources: {cpu: auto}" + runs),
                                   "      estimate: 1.5\n", "")),
             Catch::Contains("profile: is of jobs that end, and a service never does"));
}

TEST_CASE("exclusive processors are whole ones", "[unit][sim-file]") {
  const auto with = [](const std::string& cpu) {
    return changed("resources: {cpu: 1,", "cpus: exclusive\n      resources: {cpu: " + cpu + ",");
  };
  std::set<Amount> drawn;
  for (const sim::Job& job : draw_workload(scenario_of(with("[1, 4]")), 1).jobs)
    drawn.insert(job.demand[*ResourceCatalog{}.index_of("cpu")]);
  CHECK(drawn == std::set<Amount>{1000, 2000, 3000, 4000});
  for (const char* part : {"0.5", "[1, 2.5]", "0"})
    CHECK_THAT(refusal_of(with(part)),
               Catch::StartsWith("workload.generators[0].cpus: exclusive gives whole processors"));
  CHECK_THAT(refusal_of(changed("resources: {cpu: 1,", "cpus: all\n      resources: {cpu: 1,")),
             Catch::StartsWith("workload.generators[0].cpus: 'all' is not one of shared"));
}

}  // namespace fairwater
