// The papers' sized mode: worked examples and what holds for any input.
#include "policy/allocator/sized.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace fairwater {
namespace {

using nlohmann::ordered_json;

std::filesystem::path shared_directory() {
  const char* given = std::getenv("FAIRWATER_SHARED");
  if (given != nullptr) return given;
  return std::filesystem::path(FAIRWATER_SOURCE_DIR) / "tests/policy" / "../../../shared";
}

std::vector<SizedTenant> tenants_of(const ordered_json& input, std::vector<std::string>& names) {
  std::vector<SizedTenant> tenants;
  for (const ordered_json& tenant : input.at("tenants")) {
    names.push_back(tenant.at("name"));
    tenants.push_back({tenant.at("weight"), tenant.at("tasks").get<std::vector<Amount>>()});
  }
  return tenants;
}

ordered_json printed(const SizedHeartbeat& heartbeat, const std::vector<std::string>& names) {
  ordered_json result = {{"units", heartbeat.units}};
  const auto column = [&](const char* name, auto field) {
    for (std::size_t i = 0; i < names.size(); ++i)
      result[name][names[i]] = heartbeat.lines[i].*field;
  };
  column("granted", &SizedLine::granted);
  column("allowance", &SizedLine::allowance);
  column("placed", &SizedLine::placed);
  result["unused"] = heartbeat.unused;
  column("entitled", &SizedLine::entitled);
  column("balance", &SizedLine::balance);
  result["position"] = heartbeat.position;
  column("total", &SizedLine::total);
  return result;
}

ordered_json run(const ordered_json& input) {
  std::vector<std::string> names;
  const std::vector<SizedTenant> tenants = tenants_of(input, names);
  SizedSettings settings;
  settings.granule = input.at("granule");
  settings.repay_millionths =
      static_cast<std::uint32_t>(input.at("mu").get<double>() * 1'000'000 + 0.5);
  settings.backups = input.at("backups");
  SizedDeal deal(settings, tenants);
  ordered_json output;
  for (const ordered_json& units : input.at("heartbeats"))
    output["heartbeats"].push_back(printed(deal.heartbeat(units), names));
  output["ious"] = ordered_json::array();
  for (const IouBook::Iou& iou : deal.book().ious())
    output["ious"].push_back(
        {{"debtor", names[iou.debtor]}, {"creditor", names[iou.creditor]}, {"units", iou.units}});
  return output;
}

TEST_CASE("sized mode gives the worked examples to the unit", "[unit][sized]") {
  const std::filesystem::path path = shared_directory() / "vectors/sized.json";
  std::ifstream file(path);
  if (!file) {
    std::cout << "skipped: " << path << " is not there\n";
    return;
  }
  for (const ordered_json& vector : ordered_json::parse(file)) {
    INFO(vector.at("name"));
    CHECK(run(vector.at("input")) == vector.at("output"));
  }
}

TEST_CASE("sized mode deals every placed unit and lends only what is somebody's",
          "[property][sized]") {
  std::mt19937_64 random(42);
  const auto pick = [&](std::uint64_t from, std::uint64_t to) {
    return static_cast<Amount>(from + random() % (to - from + 1));
  };
  for (int round = 0; round < 2'000; ++round) {
    std::vector<SizedTenant> tenants(static_cast<std::size_t>(pick(1, 7)));
    for (SizedTenant& tenant : tenants) {
      tenant.weight = pick(1, 50);
      tenant.tasks.resize(static_cast<std::size_t>(pick(0, 12)));
      for (Amount& size : tenant.tasks) size = pick(1, 20);
    }
    SizedDeal deal({.granule = pick(1, 4),
                    .repay_millionths = static_cast<std::uint32_t>(pick(1, 1'000'000)),
                    .backups = static_cast<std::uint32_t>(pick(1, 3))},
                   tenants);
    std::vector<Units> net(tenants.size(), 0);
    for (int i = 0; i < 6; ++i) {
      const SizedHeartbeat heartbeat = deal.heartbeat(pick(0, 60));
      Units granted = 0;
      Units placed = 0;
      Units balance = 0;
      for (std::size_t t = 0; t < tenants.size(); ++t) {
        const SizedLine& line = heartbeat.lines[t];
        const Units own = std::accumulate(line.placed.begin(), line.placed.end(), Units{0});
        REQUIRE(line.balance == line.entitled - own);
        REQUIRE(deal.book().net(static_cast<std::uint32_t>(t)) - net[t] ==
                line.balance - (line.allowance - line.granted));
        net[t] = deal.book().net(static_cast<std::uint32_t>(t));
        granted += line.granted;
        placed += own;
        balance += line.balance;
      }
      REQUIRE(granted == heartbeat.units);
      REQUIRE(placed == heartbeat.units - heartbeat.unused);
      REQUIRE(balance == 0);
    }
  }
}

TEST_CASE("a long window moves the position by what was used", "[unit][sized]") {
  SizedDeal deal({}, {{.weight = 3, .tasks = {5}}, {.weight = 1, .tasks = {}}});
  const SizedHeartbeat heartbeat = deal.heartbeat(1'000'000'000'000);
  CHECK(heartbeat.unused == 999'999'999'995);
  CHECK(heartbeat.position == 1);
  CHECK(heartbeat.lines[0].granted == 750'000'000'000);
  CHECK(deal.book().owed(0, 1) == 1);
}

}  // namespace
}  // namespace fairwater
