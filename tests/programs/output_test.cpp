#include "cli/core/output.hpp"

#include <limits>

#include <catch2/catch.hpp>

namespace fairwater {

TEST_CASE("a table aligns its columns, also with accents", "[golden][output]") {
  Table table{{{"NAME"}, {"TASKS", Align::right}, {"STATE"}}};
  table.add_row({"physics", "5", "up"});
  table.add_row({"biologi\xc3\xa9", "12000", "down"});
  CHECK(table.str() ==
        "NAME      TASKS  STATE\n"
        "physics       5  up\n"
        "biologi\xc3\xa9  12000  down\n");
}

TEST_CASE("a table keeps a terminal's commands out of its cells", "[unit][output]") {
  Table table{{{"NAME"}}};
  table.add_row({"a\x1b[2J\nb"});
  CHECK(table.str() == "NAME\na?[2J?b\n");
}

TEST_CASE("times are ISO 8601 in UTC", "[unit][output]") {
  const WallTime time{1'795'224'413'000'042};
  CHECK(iso_time(time) == "2026-11-21T01:26:53.000042Z");
  CHECK(table_time(time) == "2026-11-21T01:26:53Z");
  CHECK(json_time(time) == "2026-11-21T01:26:53.000042Z");
  CHECK(table_time({}) == "-");
  CHECK(json_time({}).is_null());
  CHECK(iso_time({-1}) == "1970-01-01T00:00:00.000000Z");
  CHECK(iso_time({std::numeric_limits<std::int64_t>::max()}) == "9999-12-31T23:59:59.999999Z");
}

TEST_CASE("durations show the two largest units that matter", "[unit][output]") {
  CHECK(format_duration_ms(0) == "0ms");
  CHECK(format_duration_ms(999) == "999ms");
  CHECK(format_duration_ms(1500) == "1.5s");
  CHECK(format_duration_ms(1000) == "1s");
  CHECK(format_duration_ms(12'345) == "12s");
  CHECK(format_duration_ms(125'000) == "2m5s");
  CHECK(format_duration_ms(120'000) == "2m");
  CHECK(format_duration_ms(5'400'000) == "1h30m");
  CHECK(format_duration_ms(2 * 86'400'000 + 3'600'000) == "2d1h");
  CHECK(format_duration_ms(-1500) == "-1.5s");
}

TEST_CASE("amounts are words for people and numbers in JSON", "[unit][output]") {
  const NamedAmounts amounts{{"cpu", 1500}, {"gpu", 2}, {"memory", 2048}};
  CHECK(format_amounts(amounts) == "cpu 1.5, gpu 2, memory 2 GiB");
  CHECK(format_amounts({}) == "-");
  CHECK(json_text(json_amounts(amounts)) == R"({"cpu":1500,"gpu":2,"memory":2048})");
  CHECK(json_text(json_amounts({})) == "{}");
}

TEST_CASE("JSON of bytes that are not UTF-8 is still JSON", "[unit][output]") {
  const std::string text = json_text(Json{{"data", "a\xff"}});
  CHECK(Json::parse(text).at("data") == "a\xef\xbf\xbd");
}

}  // namespace fairwater
