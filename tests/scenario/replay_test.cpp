#include <cstdlib>
#include <future>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

std::filesystem::path shared_directory() {
  const char* given = std::getenv("FAIRWATER_SHARED");
  return given != nullptr
             ? std::filesystem::path(given)
             : std::filesystem::path(FAIRWATER_SOURCE_DIR) / "tests/scenario" / "../../../shared";
}

TEST_CASE(
    "60 jobs of a real log run at 20,000 times their speed through a kill -9 of the coordinator",
    "[scenario]") {
  const auto trace = shared_directory() / "traces/pwa-kth-sp2/KTH-SP2-cut-4weeks.swf.gz";
  if (!std::filesystem::exists(trace)) {
    skip("no trace at " + trace.string());
    return;
  }
  Cluster cluster(
      {.agents = {{"node1", "cpu: 50, memory: 50GiB"}, {"node2", "cpu: 50, memory: 50GiB"}},
       .lease = "20s"});
  cluster.start();
  const std::string token = cluster.operator_token();
  auto replay = std::async(std::launch::async, [&] {
    return harness::run(
        {.command = {harness::programs_directory() / "fairwater", "replay", trace, "--jobs", "60",
                     "--speedup", "20000", "--json"},
         .environment = {{"FAIRWATER_ADDRESS", cluster.address()}, {"FAIRWATER_TOKEN", token}}},
        {}, Duration(120'000));
  });
  harness::wait_until("the replay is under way", Duration(20'000), [&] {
    return cluster.ask({"status"})["cluster"]["tasks_running"] > 0 &&
           cluster.list("job").size() >= 20;
  });
  cluster.stop_coordinator();
  cluster.start_coordinator();
  const Completed done = replay.get();
  INFO(done.output << done.errors);
  REQUIRE(done.status == 0);

  std::size_t tasks = 0;
  const json jobs = cluster.list("job");
  for (const auto& job : jobs) {
    CHECK(job["state"] == "succeeded");
    tasks += job["tasks"]["total"].get<std::size_t>();
  }
  CHECK(jobs.size() == 60);
  CHECK(tasks == 363);  // the processors of the log's first 60 jobs
  CHECK(ledger_is_sound(cluster));
}

}  // namespace
}  // namespace fairwater::scenario
