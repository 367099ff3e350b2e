// GDRF's experiment: the trace's shapes are read strictly, and fillings are compared by numbers.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <catch2/catch.hpp>

#include "process/temporary_directory.hpp"
#include "sim/experiments/gdrf_clusters.hpp"
#include "sim/experiments/list.hpp"
#include "tests/programs/shared_files.hpp"
#include "tests/sim/report_text.hpp"

namespace fairwater::sim {
namespace {

constexpr const char* kHeaderLine = "cpu_normalised,ram_normalised,percent_of_machines\n";

ErrorDetails shapes_refusal(const std::string& lines) {
  const auto shapes = parse_machine_shapes(kHeaderLine + lines);
  if (!shapes) return details(shapes.error());
  return {ErrorCode::internal, "was accepted", ""};
}

const std::vector<MachineShape> kTwoShapes{{.cpu = 1, .memory = 0.25, .percent = 50},
                                           {.cpu = 0.25, .memory = 1, .percent = 50}};

}  // namespace

TEST_CASE("machine shapes are read line by line", "[unit][experiments]") {
  const auto shapes = parse_machine_shapes(std::string{kHeaderLine} + "0.5,0.25,60\r\n1,1,40\n");
  REQUIRE(shapes);
  REQUIRE(shapes->size() == 2);
  CHECK((*shapes)[0].cpu == 0.5);
  CHECK((*shapes)[0].memory == 0.25);
  CHECK((*shapes)[1].percent == 40);
}

TEST_CASE("bad machine shapes are refused with the line", "[golden][experiments]") {
  CHECK(shapes_refusal("1,1,40\n0.5,1\n").message == "line 3: 2 columns instead of 3");
  CHECK(shapes_refusal("1,x,100\n").message ==
        "line 2: ram_normalised: 'x' is not a number above 0 and up to 1");
  CHECK(shapes_refusal("1,1.5,100\n").message ==
        "line 2: ram_normalised: '1.5' is not a number above 0 and up to 1");
  CHECK(shapes_refusal("nan,1,100\n").message ==
        "line 2: cpu_normalised: 'nan' is not a number above 0 and up to 1");
  CHECK(shapes_refusal("1,1, 50\n").message ==
        "line 2: percent_of_machines: ' 50' is not a number above 0 and up to 100");
  CHECK(shapes_refusal("1,1,50\n").message == "the machine shapes' percents add up to 50.00");
  CHECK(shapes_refusal("").message == "the machine shapes are empty");
  CHECK(shapes_refusal("1,1,50\n\n1,1,50\n").message == "line 3: 1 columns instead of 3");
  CHECK(shapes_refusal("1,1,50\n").field == "traces");
  CHECK(details(parse_machine_shapes("cpu,ram\n").error()).message ==
        "line 1: the header is not 'cpu_normalised,ram_normalised,percent_of_machines'");
}

TEST_CASE("machines are apportioned by percents", "[unit][experiments]") {
  const std::vector<MachineShape> shapes{
      {.percent = 53.4}, {.percent = 30.7}, {.percent = 15.4}, {.percent = 0.5}};
  CHECK(apportion_machines(shapes, 10) == std::vector<std::uint64_t>{5, 3, 2, 0});
  for (const std::uint64_t machines : {1, 7, 60, 299}) {
    const auto counts = apportion_machines(shapes, machines);
    CHECK(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == machines);
  }
}

TEST_CASE("one user fills what its shape of task can", "[unit][experiments]") {
  // Every machine takes as many tasks as its scarcer resource: with wants of one task per user and
  // machine, 2 machines of 100 x 25 and 25 x 100 hold all 40.
  const GdrfPlan plan{.machines = {2}, .seeds = 3, .assumptions = {}};
  const auto all = sample_clusters(
      kTwoShapes, plan, {.name = "few", .largest_machine = 1000, .tasks_per_machine = 1}, {}, 0, 1);
  REQUIRE(all.size() == 1);
  CHECK(all[0].machines == 2);
  for (const auto& policy : all[0].values)
    CHECK(policy[kPlaced] == std::vector<double>(3, 2 * kClusterUsers));
}

TEST_CASE("GDRF's report does not depend on the threads", "[property][experiments]") {
  const GdrfPlan plan{
      .machines = {4, 8},
      .seeds = 4,
      .assumptions = {{.name = "as assumed"},
                      {.name = "others", .demands = Demands::extremes, .drawn_machines = true}}};
  ExperimentOptions one, three;
  three.threads = 3;
  const auto report = compare_with_drfh(kTwoShapes, plan, one);
  test::check_structure(report);
  CHECK(report.claims.size() == 3);
  CHECK(report.claims[2].verdict == Verdict::measured_only);
  CHECK(std::get<Table>(report.items.front()).rows.size() == 6);
  CHECK(std::get<Table>(report.items.back()).rows.size() == 12);
  CHECK(test::text_of(report) == test::text_of(compare_with_drfh(kTwoShapes, plan, three)));
}

TEST_CASE("GDRF's experiment says what it misses", "[unit][experiments]") {
  CHECK(details(run_gdrf({}).error()).field == "traces");
  const TemporaryDirectory directory;
  ExperimentOptions options;
  options.traces = directory.path();
  CHECK_FALSE(run_gdrf(options));
  std::filesystem::create_directory(directory / "google-2011-shapes");
  std::ofstream{directory / "google-2011-shapes/machine_shapes.csv"} << kHeaderLine << "1,1,x\n";
  CHECK_THAT(details(run_gdrf(options).error()).message, Catch::StartsWith("line 2: "));
}

TEST_CASE("the published shapes are ten of all machines", "[unit][experiments]") {
  const auto path = shared_file("traces/google-2011-shapes/machine_shapes.csv");
  if (!path) return;
  std::ifstream file{*path};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  const auto shapes = parse_machine_shapes(text);
  REQUIRE(shapes);
  CHECK(shapes->size() == 10);
  const auto counts = apportion_machines(*shapes, 300);
  CHECK(counts.front() == 161);
}

}  // namespace fairwater::sim
