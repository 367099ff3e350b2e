// What the scaling of the water-fill is measured against, and that the report is whole. Times are
// not checked: they depend on the machine.
#include <catch2/catch.hpp>

#include "policy/core/splitmix64.hpp"
#include "policy/quota/water_fill.hpp"
#include "sim/experiments/water_fill_scaling.hpp"
#include "tests/sim/report_text.hpp"

namespace fairwater::sim {

TEST_CASE("filling by rounds stands where the water level does", "[property][experiments]") {
  SplitMix64 random(7);
  std::vector<std::uint32_t> asking;
  for (int run = 0; run < 300; ++run) {
    std::vector<PlainGroup> plain(1 + random.below(20));
    std::vector<QuotaGroup> groups;
    for (PlainGroup& group : plain) {
      group = {.weight = 1 + static_cast<Weight>(random.below(9)),
               .request = static_cast<Amount>(random.below(50))};
      groups.push_back({.weight = group.weight, .request = group.request});
    }
    const auto capacity = static_cast<Amount>(random.below(400));
    const RoundLevel level = fill_by_rounds(capacity, plain, asking);
    const WaterFillResult whole = water_fill(capacity, groups);
    REQUIRE(level.all_satisfied == !whole.level.has_value());
    if (whole.level) {
      CHECK(level.poured * whole.level->weight == whole.level->poured * level.weights);
    }
    CHECK(level.rounds <= plain.size() + 1);
  }
}

TEST_CASE("rounds end when nobody is satisfied any more", "[unit][experiments]") {
  // 1 and 2 of 10, 20, 30 with a capacity of 33: first offers of 11 satisfy A, then 11.5 none.
  const std::vector<PlainGroup> groups{{1, 10}, {1, 20}, {1, 30}};
  std::vector<std::uint32_t> asking;
  const RoundLevel level = fill_by_rounds(33, groups, asking);
  CHECK(level.rounds == 2);
  CHECK(level.poured == 23);
  CHECK(level.weights == 2);
  CHECK(fill_by_rounds(60, groups, asking).all_satisfied);
}

TEST_CASE("the report on scaling has a row per size", "[unit][experiments]") {
  double progress = 0;
  ExperimentOptions options;
  options.progress = [&](double done) {
    CHECK(done > progress);
    progress = done;
  };
  const auto report = measure_water_fill_scaling(
      {.groups = {10, 100, 1000}, .resources = {1, 3}, .most_changes = 50, .most_seconds = 1},
      options);
  test::check_structure(report);
  CHECK(progress == Approx(1));
  REQUIRE(report.claims.size() == 2);
  CHECK(report.claims[0].verdict != Verdict::measured_only);
  CHECK(report.claims[1].verdict == Verdict::holds);
  CHECK(std::get<Chart>(report.items.at(0)).series.size() == 4);
  const auto& table = std::get<Table>(report.items.at(1));
  REQUIRE(table.rows.size() == 6);
  CHECK(table.rows[5][0] == "1000");
  CHECK(table.rows[5][1] == "3");
  CHECK(table.rows[0][3] == "50");
}

}  // namespace fairwater::sim
