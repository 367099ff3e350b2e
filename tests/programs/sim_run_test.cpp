// `fairwater sim run` and `compare`: files, determinism, bad usage.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "process/temporary_directory.hpp"

namespace fairwater {
namespace {

constexpr const char* kScenarioFile = R"(
nodes: [{count: 3, resources: {cpu: 4}}]
tenants: [{name: a, weight: 2}, {name: b}]
workload:
  generators:
    - {tenant: a, arrivals: backlog, jobs: 60, resources: {cpu: 1}, run: [5s, 20s]}
    - {tenant: b, rate: 0.4, duration: 2m, resources: {cpu: [1, 2]}, run: [5s, 20s]}
policy: {name: sequence}
metrics: {windows: [30s]}
seeds: 3
)";

struct SimOutcome {
  int status = 0;
  std::string out;
  std::string err;
};

SimOutcome run_sim(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "sim");
  std::ostringstream out, err;
  const int status = run_fairwater(arguments, out, err);
  return {status, out.str(), err.str()};
}

/// Every file below the folder, by its path there.
std::map<std::string, std::string> files_below(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{folder}) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file{entry.path()};
    files[std::filesystem::relative(entry.path(), folder).string()] = {
        std::istreambuf_iterator<char>{file}, {}};
  }
  return files;
}

}  // namespace

TEST_CASE("a simulation writes the same bytes whatever the threads", "[unit][sim-run]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "s.yaml";
  std::ofstream{file} << kScenarioFile;
  const std::string one = directory / "one", two = directory / "two", again = directory / "again";
  CHECK(run_sim({"run", file, "--threads", "1", "--out", one}).status == 0);
  CHECK(run_sim({"run", file, "--threads", "1", "--out", again}).status == 0);
  CHECK(run_sim({"run", file, "--threads", "3", "--out", two}).status == 0);
  const auto files = files_below(one);
  CHECK(files.size() == 8);
  CHECK(files.contains("index.html"));
  CHECK(files.contains("summary.json"));
  CHECK(files.contains("seed-3.csv"));
  CHECK(files.at("seed-1.csv") != files.at("seed-2.csv"));
  CHECK(files == files_below(two));
  CHECK(files == files_below(again));
}

TEST_CASE("policies are compared on one workload", "[unit][sim-run]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "s.yaml";
  std::ofstream{file} << kScenarioFile;
  const auto compared = run_sim(
      {"compare", file, "--policies", "sequence,fifo,qrea", "--json", "--out", directory / "out"});
  REQUIRE(compared.status == 0);
  const auto json = nlohmann::json::parse(compared.out);
  CHECK(json.at("version") == 1);
  REQUIRE(json.at("policies").size() == 3);
  CHECK(json.at("policies")[1].at("policy") == "fifo");
  CHECK(json.at("policies")[0].at("jobs") == json.at("policies")[2].at("jobs"));
  CHECK(json.at("policies")[0].at("jain_30s").at("mean") <= 1);
  const auto files = files_below(directory / "out");
  CHECK(files.contains("index.html"));
  CHECK(files.contains("fifo/seed-2.json"));
  const auto table = run_sim({"compare", file, "--policies", "sequence,fifo"});
  CHECK_THAT(table.out, Catch::Contains("bounded slowdown") && Catch::Contains("fifo"));
}

TEST_CASE("a comparison says which policies do not know which terms, and what all used",
          "[unit][sim-run]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "s.yaml";
  std::ofstream{file} << R"(
nodes: [{resources: {cpu: 4}}]
tenants: [{name: a, max: {cpu: 1}}, {name: b, min: {cpu: 1}}]
workload:
  generators:
    - {tenant: a, arrivals: backlog, jobs: 4, resources: {cpu: 1}, run: 10s}
    - {tenant: b, arrivals: backlog, jobs: 4, resources: {cpu: 1}, run: 10s}
metrics: {sample: 1s}
)";
  const auto compared = run_sim({"compare", file, "--policies", "sequence,easy,drf", "--json"});
  REQUIRE(compared.status == 0);
  const auto json = nlohmann::json::parse(compared.out);
  REQUIRE(json.at("notes").size() == 2);
  CHECK_THAT(json.at("notes")[0], Catch::StartsWith("a tenant's max is not known to easy, drf:"));
  CHECK_THAT(json.at("notes")[1], Catch::StartsWith("a tenant's min is not known to easy, drf:"));
  // All work is there at once: what is used counts up to the run's end.
  CHECK(json.at("policies")[1].at("utilisation").at("mean") == 1);
  // Only who keeps to max stays at the entitled shares.
  CHECK(json.at("policies")[0].at("largest_deviation").at("mean") == 0);
  CHECK(json.at("policies")[1].at("largest_deviation").at("mean") > 0.2);
  const auto table = run_sim({"compare", file, "--policies", "sequence,easy"});
  CHECK_THAT(table.out, Catch::Contains("\nnote: a tenant's max is not known to easy: "));
  CHECK(nlohmann::json::parse(run_sim({"run", file, "--json"}).out).at("notes").empty());
}

TEST_CASE("in the sample simulation both tenants hold their weights' parts", "[unit][sim-run]") {
  const auto sample =
      run_sim({"run", std::string{FAIRWATER_SOURCE_DIR} + "/examples/sim/two-tenants.yaml",
               "--seeds", "2", "--json"});
  REQUIRE(sample.status == 0);
  const auto figures = nlohmann::json::parse(sample.out).at("policies")[0];
  // The lighter tenant's tasks are larger than the gaps that the heavier one's leave.
  CHECK(figures.at("jain_1m").at("mean") > 0.99);
  CHECK(figures.at("mean_deviation").at("mean") < 0.05);
  CHECK(figures.at("utilisation").at("mean") > 0.85);
}

TEST_CASE("bad simulations end with 2 and a word", "[unit][sim-run]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "s.yaml";
  std::ofstream{file} << kScenarioFile;
  const auto unknown = run_sim({"compare", file, "--policies", "sequence,lottery"});
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.err, Catch::Contains("'lottery' is not one of"));
  CHECK(unknown.out.empty());
  CHECK(run_sim({"run", directory / "none.yaml"}).status == 2);
  std::ofstream{directory / "taken"} << "a file";
  const auto taken = run_sim({"run", file, "--out", directory / "taken"});
  CHECK(taken.status == 1);
  CHECK_THAT(taken.err, Catch::Contains("taken"));
}

}  // namespace fairwater
