// Scenarios: what generators draw, and runs of many seeds.
#include "sim/report/scenario.hpp"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "sim/report/run_report.hpp"
#include "sim/report/run_series.hpp"

namespace fairwater::sim {
namespace {

Scenario small_scenario() {
  Scenario scenario;
  scenario.cluster.resources = {"cpu", "memory"};
  scenario.cluster.settings.granules[kCpu] = 1000;
  SimNode node;
  node.capacity[kCpu] = 8000;
  scenario.cluster.nodes = {node, node};
  scenario.cluster.tenants = {{"a", {}, 0}, {"b", {}, 0}};
  Generator generator;
  generator.duration_ms = 600'000;
  generator.demand = {{1000, 3000}};
  generator.run_ms = {5'000, 50'000};
  generator.rate_per_s = 0.3;
  scenario.generators = {generator, generator};
  scenario.generators[1].tenant = 1;
  scenario.policy.name = "sequence";
  scenario.metrics.windows_ms = {60'000};
  scenario.seeds = 4;
  return scenario;
}

}  // namespace

TEST_CASE("generators draw within their ranges, from the seed alone", "[unit][sim]") {
  const Scenario scenario = small_scenario();
  const Workload first = draw_workload(scenario, 1);
  REQUIRE(first.jobs.size() > 200);
  std::set<Amount> sizes;
  TimeMs before = 0;
  for (const auto& job : first.jobs) {
    CHECK(job.submit_ms >= before);
    CHECK(job.submit_ms < 600'000);
    CHECK((job.run_ms >= 5'000 && job.run_ms <= 50'000));
    CHECK((job.demand[kCpu] >= 1000 && job.demand[kCpu] <= 3000));
    before = job.submit_ms;
    sizes.insert(job.demand[kCpu]);
  }
  CHECK(sizes.size() > 100);
  const auto times = [&](std::uint64_t seed) {
    std::vector<TimeMs> result;
    for (const auto& job : draw_workload(scenario, seed).jobs) result.push_back(job.submit_ms);
    return result;
  };
  CHECK(times(1) == times(1));
  CHECK(times(1) != times(2));
}

TEST_CASE("arrivals begin when their generator starts", "[unit][sim]") {
  Scenario scenario = small_scenario();
  const Workload from_zero = draw_workload(scenario, 1);
  for (auto& generator : scenario.generators) generator.start_ms = 7000;
  const Workload later = draw_workload(scenario, 1);
  REQUIRE(later.jobs.size() == from_zero.jobs.size());
  for (std::size_t i = 0; i < later.jobs.size(); ++i)
    CHECK(later.jobs[i].submit_ms == from_zero.jobs[i].submit_ms + 7000);
}

TEST_CASE("run time can follow size", "[unit][sim]") {
  Scenario scenario = small_scenario();
  scenario.generators[0].run_ms_per_unit = 700;
  for (const auto& job : draw_workload(scenario, 1).jobs)
    if (job.tenant == 0) CHECK(job.run_ms == 700 * ((job.demand[kCpu] + 999) / 1000));
}

TEST_CASE("every policy does all the work of a scenario", "[unit][sim]") {
  Scenario scenario = small_scenario();
  for (auto& generator : scenario.generators) generator.demand = {{1000, 1000}};
  const std::size_t jobs = draw_workload(scenario, 1).jobs.size();
  for (const auto policy : policy_names()) {
    CAPTURE(policy);
    scenario.policy.name = policy;
    const auto run = run_once(scenario, 1);
    REQUIRE(run);
    CHECK(run->jobs.jobs == jobs);
    CHECK(run->unfinished_jobs == 0);
    CHECK(run->utilisation > 0);
    CHECK(run->utilisation <= 1);
    CHECK(run->largest_deviation <= 1);
  }
}

TEST_CASE("a run has some hundred samples, also where all work is there at once", "[unit][sim]") {
  Scenario scenario = small_scenario();
  for (auto& generator : scenario.generators) {
    generator.arrivals = ArrivalProcess::backlog;
    generator.jobs = 50;
    generator.demand = {{1000, 1000}};
    generator.run_ms = {3'600'000, 3'600'000};
  }
  for (const auto policy : {"sequence", "fifo", "qrea"}) {
    CAPTURE(policy);
    scenario.policy.name = policy;
    const auto run = run_once(scenario, 1);
    REQUIRE(run);
    CHECK(run->unfinished_jobs == 0);
    CHECK(run->samples.size() >= 300);
    CHECK(run->samples.size() <= 400);
  }
}

TEST_CASE("more seeds narrow the interval, threads change nothing", "[unit][sim]") {
  Scenario scenario = small_scenario();
  const auto one = run_all(scenario, 1, [](double) {});
  const auto three = run_all(scenario, 3, [](double) {});
  REQUIRE(one);
  REQUIRE(three);
  const auto summary = [&](const std::vector<RunMetrics>& runs) {
    return summary_json(scenario, {{"sequence", runs}}).dump();
  };
  CHECK(summary(*one) == summary(*three));
  for (std::size_t i = 0; i < one->size(); ++i)
    CHECK(series_csv(scenario.cluster, (*one)[i]) == series_csv(scenario.cluster, (*three)[i]));
  const auto figures = figures_of(*one);
  REQUIRE(figures.front().key == "utilisation");
  CHECK(figures.front().estimate.half_width > 0);
}

TEST_CASE("the series as CSV has a line for each sample and tenant", "[unit][sim]") {
  const auto run = run_once(small_scenario(), 1);
  REQUIRE(run);
  const std::string csv = series_csv(small_scenario().cluster, *run);
  const auto lines = std::count(csv.begin(), csv.end(), '\n');
  CHECK(lines == static_cast<std::ptrdiff_t>(1 + 2 * run->samples.size()));
  CHECK(
      csv.starts_with("time_s,tenant,held_units,share,cumulative_unit_s,net,credit,"
                      "waiting_tasks,held_cpu"));
}

TEST_CASE("a run's JSON has the series that its CSV has", "[unit][sim]") {
  const auto scenario = small_scenario();
  const auto run = run_once(scenario, 1);
  REQUIRE(run);
  const auto series = run_json(scenario.cluster, *run).at("series");
  REQUIRE(series.at("times_s").size() == run->samples.size());
  REQUIRE(series.at("tenants").size() == scenario.cluster.tenants.size());
  Amount most_held = 0;
  for (std::size_t tenant = 0; tenant < scenario.cluster.tenants.size(); ++tenant) {
    const auto& one = series["tenants"][tenant];
    CHECK(one.at("name") == scenario.cluster.tenants[tenant].name);
    for (const char* key : {"share", "cumulative_unit_s", "net", "credit", "waiting_tasks"})
      CHECK(one.at(key).size() == run->samples.size());
    for (std::size_t i = 0; i < run->samples.size(); ++i) {
      CHECK(one.at("held").at("cpu")[i] == run->samples[i][tenant].held[kCpu]);
      most_held = std::max(most_held, run->samples[i][tenant].held[kCpu]);
    }
  }
  CHECK(most_held > 0);
  CHECK(most_held <= total_capacity(scenario.cluster)[kCpu]);
}

TEST_CASE("estimates are printed with digits that make sense", "[unit][sim]") {
  CHECK(format_estimate({0.98765, 0.0012}) == "0.988 ± 0.001");
  CHECK(format_estimate({12345.6, 78.9}) == "12346 ± 78.9");
  CHECK(format_estimate({7, 0}) == "7");
}

}  // namespace fairwater::sim
