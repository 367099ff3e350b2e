#include <cmath>
#include <cstdlib>
#include <future>
#include <string>
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

/// What tenants owe is what the report says that they held beside their parts.
void check_debts(const json& replay, const json& nets) {
  REQUIRE(replay["currency"] == "unit_ms");
  const json& settled = replay["settled"];
  CHECK(settled["seconds"] > 0.0);
  REQUIRE(settled["tenants"].size() == nets.size());
  const auto number = [](const json& decimal) { return std::stod(decimal.get<std::string>()); };
  for (const json& tenant : settled["tenants"]) {
    INFO(tenant.dump());
    const double net = tenant["net_unit_ms"];
    CHECK(net == nets[tenant["name"].get<std::string>()]);
    CHECK(net == tenant["lent_unit_ms"].get<double>() - tenant["borrowed_unit_ms"].get<double>());
    const double unused = number(tenant["unused_unit_ms"]);
    CHECK(unused > -1);
    CHECK(std::abs(number(tenant["rest_unit_ms"])) < 1);
    CHECK(number(tenant["held_unit_ms"]) - number(tenant["part_unit_ms"]) ==
          Approx(-net - unused).margin(1));
  }
  // While the cluster was full nothing was unused, to the unit-millisecond.
  const json& full = replay["settled_while_full"];
  CHECK(full["seconds"] >= 1.0);
  CHECK(full["agrees"] == true);
  for (const json& tenant : full["tenants"]) {
    INFO(tenant.dump());
    CHECK(std::abs(number(tenant["unused_unit_ms"])) < 1);
  }
}

TEST_CASE(
    "60 jobs of a real log run at 15,000 times their speed through a kill -9 of the coordinator",
    "[scenario][slow]") {
  const auto trace = shared_directory() / "traces/pwa-kth-sp2/KTH-SP2-cut-4weeks.swf.gz";
  if (!std::filesystem::exists(trace)) {
    skip("no trace at " + trace.string());
    return;
  }
  Cluster cluster({.agents = {{"node1", "cpu: 8, memory: 8GiB"}, {"node2", "cpu: 8, memory: 8GiB"}},
                   .lease = "20s"});
  cluster.start();
  const std::string token = cluster.operator_token();
  auto replay = std::async(std::launch::async, [&] {
    return harness::run(
        {.command = {harness::programs_directory() / "fairwater", "replay", trace, "--jobs", "60",
                     "--speedup", "15000", "--json"},
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
  check_debts(json::parse(done.output)["replay"], cluster.ask({"ledger", "show"})["net"]);
}

}  // namespace
}  // namespace fairwater::scenario
