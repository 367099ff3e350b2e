// The load of bench/load, small: that it measures what it says. A row fails by itself when its
// counts are wrong; what took how long is not looked at.
#include <map>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/harness/replicas.hpp"
#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

/// The figures by name. These rows are slower than is good, and no other fails.
std::map<std::string, double> measure(std::vector<std::string> arguments,
                                      const char* program = "fairwater_load",
                                      const std::set<std::string>& too_slow = {}) {
  arguments.insert(arguments.begin(), harness::programs_directory() / program);
  // For one that hangs: how long all rows take is the machine's, a minute or two of a quiet one.
  const Completed done = harness::run({.command = arguments}, {}, Duration(600'000));
  INFO(done.errors);
  REQUIRE(done.status == (too_slow.empty() ? 0 : 1));
  for (const auto& row : too_slow)
    CHECK_THAT(done.errors, Catch::Contains("load: " + row + ": beside a flood"));
  std::map<std::string, double> figures;
  std::istringstream lines(done.output);
  std::string figure, name, unit;
  double value = 0;
  while (lines >> figure >> name >> value >> unit) figures[name] = value;
  return figures;
}

TEST_CASE("every row of the load counts what it must", "[scenario][load][long][slow]") {
  std::set<std::string> too_slow{"scale_flood/30"};
  if (harness::has_etcd()) too_slow.insert("scale_agreed_flood/30");
  // Nothing takes no time at all: the bound is exceeded.
  auto figures =
      measure({"--nodes",   "30",   "--tenants",     "3",    "--tasks",   "300",  "--jobs",    "60",
               "--waiting", "2000", "--followers",   "2",    "--pollers", "5",    "--seconds", "2",
               "--real",    "40",   "--most-slower", "-100", "--ended",   "12000"},
              "fairwater_load", too_slow);
  for (const char* name : {"scale_idle/30.heartbeats",
                           "scale_idle/30.coordinator_memory",
                           "scale_full/30.busy",
                           "scale_full/30.ends",
                           "scale_durable_arrays/1.tasks",
                           "scale_durable_arrays/3.tasks",
                           "scale_durable_jobs/1.tasks",
                           "scale_journal/3.written",
                           "scale_journal/3.kept",
                           "scale_durable_jobs/3.tasks",
                           "scale_waiting/2000.tasks",
                           "scale_restart/30.granting",
                           "scale_restart/30.all_heard",
                           "scale_followers/30/2.submit_to_done",
                           "scale_followers/30/2.pages",
                           "scale_mixed/30.jobs",
                           "scale_mixed/30.tasks",
                           "scale_real/1.tasks",
                           "scale_real/1.jobs_one_by_one",
                           "scale_pollers/30/5.answers",
                           "scale_flood/30.submission_mean_alone",
                           "scale_flood/30.submission_mean",
                           "scale_flood/30.heartbeat_p99",
                           "scale_flood/30.accepted_of_flood",
                           "scale_scans/60.scans"}) {
    INFO(name);
    CHECK(figures[name] > 0);
  }
  for (const char* name : {"scale_replicated/3.tasks", "scale_replicated/3.jobs_one_by_one",
                           "scale_agreed_arrays/1.tasks", "scale_agreed_jobs/1.tasks",
                           "scale_agreed_jobs/3.tasks", "scale_agreed_flood/30.submission_mean"}) {
    INFO(name);
    CHECK((figures[name] > 0) == harness::has_etcd());
  }
  CHECK(figures["scale_full/30.busy"] <= 100);
  CHECK(figures["scale_restart/30.leases_ended"] == 0);
  CHECK(figures["scale_idle/30.lost_connections"] == 0);
}

TEST_CASE("a comparison fails where three coordinators have not 5 times what Slurm has",
          "[scenario][load]") {
  const harness::Cluster place({});  // its directory
  const auto ratios = [&](double array, double single) {
    const auto file = place.directory() / "figures";
    std::ofstream(file) << "figure slurm_real/1.tasks 20 1/s\n"
                        << "figure slurm_real/1.cpu_per_task 600 us\n"
                        << "figure slurm_real/1.jobs_one_by_one 10 1/s\n"
                        << "figure scale_real/1.tasks 30 1/s\n"
                        << "figure scale_replicated/3.tasks " << array << " 1/s\n"
                        << "figure scale_replicated/3.cpu_per_task 700 us\n"
                        << "figure scale_replicated/3.jobs_one_by_one " << single << " 1/s\n";
    return harness::run(
        {.command = {FAIRWATER_SOURCE_DIR "/bench/compare-slurm", "--ratios", file}});
  };
  const Completed enough = ratios(100, 50);
  CHECK(enough.status == 0);
  CHECK_THAT(enough.output,
             Catch::Contains("figure scale_replicated/3.tasks_beside_slurm 5 times"));
  CHECK_THAT(enough.output, Catch::Contains("figure scale_real/1.tasks_beside_slurm 1.5 times"));
  CHECK_THAT(enough.output,
             Catch::Contains("figure scale_replicated/3.tasks_beside_one 3.33 times"));
  CHECK(ratios(99, 50).status == 1);
  CHECK(ratios(100, 49).status == 1);
}

TEST_CASE("the measure of a start ends when all that waits has been read", "[scenario][load]") {
  const auto figures =
      measure({"--ended", "12000", "--waiting", "300", "--nodes", "20"}, "fairwater_restart");
  CHECK(figures.size() == 5);
  for (const auto& [name, value] : figures) {
    INFO(name);
    CHECK(value > 0);
  }
  CHECK(figures.at("restart_ready") >= figures.at("restart_open") + figures.at("restart_read"));
}

TEST_CASE("the load says what it cannot do", "[scenario][load]") {
  const auto load = harness::programs_directory() / "fairwater_load";
  const Completed unknown = harness::run({.command = {load, "nonsense"}});
  CHECK(unknown.status == 1);
  CHECK_THAT(unknown.errors, Catch::Contains("there is no row nonsense"));
  const Completed too_many = harness::run({.command = {load, "idle", "--nodes", "10000000"}});
  CHECK(too_many.status == 1);
  CHECK_THAT(too_many.errors, Catch::Contains("descriptors"));
  const Completed too_few =
      harness::run({.command = {load, "restart", "--nodes", "20", "--waiting", "19"}});
  CHECK(too_few.status == 1);
  CHECK_THAT(too_few.errors, Catch::Contains("--waiting 19 is less than --nodes 20"));
}

TEST_CASE("a measurement refuses a size that is none", "[scenario][load]") {
  const auto refuses = [](const char* program, const std::vector<std::string>& arguments) {
    CommandOptions options;
    options.command = {harness::programs_directory() / program};
    options.command.insert(options.command.end(), arguments.begin(), arguments.end());
    const Completed refused = harness::run(options);
    CHECK(refused.status > 0);
    INFO(refused.errors);
    CHECK(refused.errors.find(arguments.front()) != std::string::npos);
  };
  refuses("fairwater_restart", {"--ended", "-3"});
  refuses("fairwater_restart", {"--nodes", "0"});
  refuses("fairwater_failovers", {"--kinds", "nonsense"});
  refuses("fairwater_soak", {"--real", "600", "--rate", "500"});
}

}  // namespace
}  // namespace fairwater::scenario
