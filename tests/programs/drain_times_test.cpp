// Moments at which drains begin, as people write them.
#include "cli/cluster/drain_times.hpp"

#include <string>
#include <utility>

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

constexpr WallTime kNow{1'764'000'000'000'000};  // 2025-11-24T16:00:00Z

}  // namespace

TEST_CASE("a drain's beginning is a moment in UTC or a time from now", "[unit][cli]") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"2026-12-01T02:00Z", "2026-12-01T02:00:00Z"},
      {"2026-12-01T23:59:59Z", "2026-12-01T23:59:59Z"},
      {"2028-02-29T00:00Z", "2028-02-29T00:00:00Z"},
      {"12h", "2025-11-25T04:00:00Z"},
      {"90s", "2025-11-24T16:01:30Z"},
  }));
  const auto moment = drain_begins(text, kNow);
  REQUIRE(moment.engaged());
  CHECK(utc_text(*moment) == expected);
}

TEST_CASE("what is no moment is refused with its text", "[unit][cli]") {
  const std::string text =
      GENERATE("", "tomorrow", "2026-12-01", "2026-12-01T02:00", "2026-12-01T2:00Z",
               "2026-13-01T02:00Z", "2026-02-29T02:00Z", "2026-12-01T24:00Z", "2026-12-01T02:60Z",
               "2026-12-01T02:00:60Z", "2026-12-01T02-00Z", "2026-12-01T02:00+01:00",
               "2026-12-01t02:00z", "2026-12-01T02:0 Z", "-1h");
  const auto moment = drain_begins(text, kNow);
  REQUIRE_FALSE(moment.engaged());
  CHECK(details(moment.error()).field == "at");
  CHECK_THAT(details(moment.error()).message, Catch::StartsWith("'" + text + "' is no moment"));
}

}  // namespace fairwater
