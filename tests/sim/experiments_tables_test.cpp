// The worked tables: their figures are the paper's, corrected where it adds wrongly.
#include <catch2/catch.hpp>

#include "sim/experiments/list.hpp"
#include "tests/sim/report_text.hpp"

namespace fairwater::sim {
namespace {

const Table& first_table(const ExperimentReport& report) {
  return std::get<Table>(report.items.at(0));
}

std::vector<std::string> column_of(const Table& table, const std::string& name) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), name);
  REQUIRE(found != table.columns.end());
  std::vector<std::string> cells;
  for (const auto& row : table.rows)
    cells.push_back(row[static_cast<std::size_t>(found - table.columns.begin())]);
  return cells;
}

using Cells = std::vector<std::string>;

}  // namespace

TEST_CASE("table 1 deals eight heartbeats of slots", "[unit][experiments]") {
  const auto report = run_sequence_table1({});
  REQUIRE(report);
  test::check_structure(*report);
  CHECK(column_of(first_table(*report), "A") == Cells{"3", "3", "3", "4", "3", "3", "3", "3"});
  CHECK(column_of(first_table(*report), "total B") ==
        Cells{"2", "4", "6", "7", "9", "11", "13", "15"});
  CHECK(column_of(first_table(*report), "position") ==
        Cells{"5", "2", "7", "4", "1", "6", "3", "0"});
  CHECK(report->claims[0].verdict == Verdict::holds);
}

TEST_CASE("the two methods mirror each other and are not equal", "[unit][experiments]") {
  ExperimentOptions options;
  options.seeds = 50;
  const auto report = run_sequence_table1(options);
  REQUIRE(report);
  const Claim& claim = report->claims[1];
  CHECK(claim.verdict == Verdict::holds_in_part);
  CHECK_THAT(claim.measured, Catch::Contains("ABAABABA and ABABAABA"));
  CHECK_THAT(claim.measured, Catch::Contains("for 50 each order is the other backwards"));
}

TEST_CASE("table 2 deals as printed and adds up otherwise", "[unit][experiments]") {
  const auto report = run_sequence_table2({});
  REQUIRE(report);
  test::check_structure(*report);
  CHECK(column_of(first_table(*report), "total A, B") ==
        Cells{"12, 14", "35, 24", "52, 35", "76, 40", "85, 47"});
  CHECK(column_of(first_table(*report), "balance A, B") ==
        Cells{"4, -4", "2, -2", "2, -2", "-3, 3", "-2, 2"});
  REQUIRE(report->claims.size() == 2);
  CHECK(report->claims[0].verdict == Verdict::holds);
  CHECK(report->claims[1].verdict == Verdict::holds_in_part);
  CHECK(report->claims[1].measured ==
        "7 of 10 totals are as printed. B after round 3: 35, not 33; B after round 4: 40, not 38; "
        "B after round 5: 47, not 45.");
}

TEST_CASE("the tables come out the same every time", "[property][experiments]") {
  CHECK(test::text_of(*run_sequence_table1({})) == test::text_of(*run_sequence_table1({})));
  CHECK(test::text_of(*run_sequence_table2({})) == test::text_of(*run_sequence_table2({})));
}

}  // namespace fairwater::sim
