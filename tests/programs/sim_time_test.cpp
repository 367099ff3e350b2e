// The three worked cases of a ledger that counts time, as simulation files: sim_time/*.yaml, their
// series in sim_time/*.csv. Set FAIRWATER_BLESS to write these anew.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

#include "cli/sim/file.hpp"
#include "sim/report/run_report.hpp"
#include "sim/report/run_series.hpp"

namespace fairwater {
namespace {

constexpr sim::TimeMs kSecond_ms = 1000;

std::filesystem::path beside(const std::string& name) {
  return std::filesystem::path(FAIRWATER_SOURCE_DIR) / "tests/programs/sim_time" / name;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Case {
  sim::Scenario scenario;
  sim::RunMetrics run;

  explicit Case(const std::string& name) {
    const auto path = beside(name + ".yaml");
    auto read = parse_sim_file(content_of(path), path.string());
    REQUIRE(read);
    scenario = std::move(*read);
    auto made = sim::run_once(scenario, 1);
    REQUIRE(made);
    run = std::move(*made);
    const std::string csv = sim::series_csv(scenario.cluster, run);
    const auto golden = beside(name + ".csv");
    if (std::getenv("FAIRWATER_BLESS") != nullptr) std::ofstream(golden) << csv;
    CHECK(csv == content_of(golden));
  }

  [[nodiscard]] double held(sim::TimeMs at, std::size_t tenant) const {
    return sample(at).at(tenant).held_units;
  }
  [[nodiscard]] Units net(sim::TimeMs at, std::size_t tenant) const {
    return sample(at).at(tenant).net;
  }
  [[nodiscard]] const sim::Account& account(std::size_t tenant) const {
    return run.tenants.at(tenant).account;
  }

 private:
  [[nodiscard]] const std::vector<sim::TenantSample>& sample(sim::TimeMs at) const {
    return run.samples.at(static_cast<std::size_t>(at / run.sample_ms - 1));
  }
};

}  // namespace

TEST_CASE("a debt of half a second is one of 4 unit-seconds", "[golden][sim]") {
  const Case half("half_a_second");
  for (sim::TimeMs at = 10 * kSecond_ms; at <= 120 * kSecond_ms; at += 10 * kSecond_ms) {
    INFO(at << " ms");
    CHECK(half.held(at, 0) == 8);
    CHECK(half.held(at, 1) == 8);
    CHECK(half.net(at, 0) == -8 * kSecond_ms);
    CHECK(half.net(at, 1) == 8 * kSecond_ms);
  }
  CHECK(half.account(0).held == 968 * kSecond_ms);
  CHECK(half.account(1).held == 952 * kSecond_ms);
  CHECK(half.account(0).borrowed == 8 * kSecond_ms);
  CHECK(half.account(0).repaid == 0);
}

TEST_CASE("a hundred seconds that were lent come back", "[golden][sim]") {
  const Case hundred("hundred_seconds");
  CHECK(hundred.net(100 * kSecond_ms, 1) == 800 * kSecond_ms);
  CHECK(hundred.held(125 * kSecond_ms, 0) == 4);
  CHECK(hundred.held(125 * kSecond_ms, 1) == 12);
  CHECK(hundred.held(900 * kSecond_ms, 0) == 8);
  CHECK(hundred.held(900 * kSecond_ms, 1) == 8);
  CHECK(std::abs(hundred.account(0).net) <= 45 * kSecond_ms);
  CHECK(hundred.account(0).borrowed - hundred.account(0).repaid ==
        std::max<Units>(0, -hundred.account(0).net));
  CHECK(hundred.account(0).repaid >= 755 * kSecond_ms);
  for (const std::size_t tenant : {0U, 1U}) {
    const sim::Account& account = hundred.account(tenant);
    CHECK(account.part == 7200 * kSecond_ms);
    CHECK(account.held - account.part == -account.net);
  }
}

TEST_CASE("after an idle minute all come back to their parts", "[golden][sim]") {
  const Case minute("idle_minute");
  CHECK(minute.net(60 * kSecond_ms, 2) == 480 * kSecond_ms);
  for (const std::size_t tenant : {0U, 1U, 2U}) {
    INFO("tenant " << tenant);
    CHECK(std::abs(minute.net(360 * kSecond_ms, tenant)) <= 120 * kSecond_ms);
    const double part = 40.0 * std::vector{5, 3, 2}.at(tenant) / 10;
    for (sim::TimeMs at = 400 * kSecond_ms; at <= 660 * kSecond_ms; at += 20 * kSecond_ms) {
      INFO(at << " ms");
      CHECK(std::abs(minute.held(at, tenant) - part) <= 1);
    }
  }
}

TEST_CASE("reports say what balances are counted in", "[unit][sim]") {
  const Case half("half_a_second");
  const auto json = sim::run_json(half.scenario.cluster, half.run);
  CHECK(json.at("lent_unit_s") == 8.0);
  CHECK_FALSE(json.contains("lent_units"));
  const auto& early = json.at("tenants").at(0);
  CHECK(early.at("net_unit_s") == -8.0);
  CHECK(early.at("borrowed_unit_s") == 8.0);
  CHECK(early.at("held_unit_s") == 968.0);
  CHECK(early.at("part_unit_s") == 960.0);
  CHECK_FALSE(early.contains("net"));
  CHECK(json.at("series").at("tenants").at(1).at("net_unit_s").at(0) == 8.0);
  const auto page = sim::run_page("case", half.scenario, {"sequence", {half.run}});
  const auto& tenants = std::get<sim::Table>(page.items.back());
  CHECK(tenants.columns.at(6) == "lent, unit-s");
  CHECK(tenants.columns.back() == "held less part, unit-s");
  CHECK(tenants.rows.at(0).back() == "8");
}

}  // namespace fairwater
