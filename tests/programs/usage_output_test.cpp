// `fairwater usage`: what its options ask for, and what it prints.
#include "cli/cluster/usage_output.hpp"

#include <catch2/catch.hpp>

#include "cli/cluster/usage_query.hpp"
#include "cli/core/output.hpp"

namespace fairwater {
namespace {

/// 2026-11-23, noon.
constexpr WallTime kUsageNow{20'780LL * 86'400'000'000 + 43'200'000'000};

UsageQuery asked(const UsageOptions& options) {
  const auto query = usage_query(options, kUsageNow);
  if (!query) FAIL(details(query.error()).message);
  return *query;
}

ErrorDetails not_asked(const UsageOptions& options) {
  const auto query = usage_query(options, kUsageNow);
  REQUIRE_FALSE(query);
  CHECK(details(query.error()).code == ErrorCode::invalid_input);
  return details(query.error());
}

UsageRow physics_row() {
  UsageRow row{{20'758, TenantId{1}, "ada"}, "physics", {}};
  add_used(row.usage, "cpu", AmountMs{4000} * 3'600'000);
  add_used(row.usage, "memory", AmountMs{512} * 3'600'000);
  row.usage.submitted = 2;
  row.usage.succeeded = 7;
  row.usage.lost = 1;
  row.usage.first_starts = 4;
  row.usage.waited_ms = 6'000;
  return row;
}

/// Of a tenant that was removed.
UsageRow gone_row() {
  UsageRow row{{20'758, TenantId{9}, {}}, {}, {}};
  add_used(row.usage, "gpu", AmountMs{2} * 1'800'000);
  row.usage.failed = 3;
  row.usage.cancelled = 2;
  return row;
}

UsageQuery by_month_and_user() {
  UsageQuery query;
  query.first_day = 20'758;
  query.last_day = 20'780;
  query.period = UsagePeriod::month;
  query.by_tenant = query.by_user = true;
  return query;
}

}  // namespace

TEST_CASE("usage is asked for by dates, or by a time ago", "[unit][usage]") {
  UsageQuery query = asked({});
  CHECK(iso_date(query.first_day) == "2026-10-24");
  CHECK(iso_date(query.last_day) == "2026-11-23");
  CHECK(query.by_tenant);
  CHECK_FALSE(query.by_user);
  CHECK(query.period == UsagePeriod::whole);
  CHECK(iso_date(asked({.since = "7d"}).first_day) == "2026-11-16");
  CHECK(iso_date(asked({.since = "13h"}).first_day) == "2026-11-22");
  query = asked({.since = "2024-02-29", .until = "2024-03-01", .tenant = "physics", .user = "ada"});
  CHECK(iso_date(query.first_day) == "2024-02-29");
  CHECK(iso_date(query.last_day) == "2024-03-01");
  CHECK(query.tenant == "physics");
  CHECK(query.user == "ada");
  CHECK(asked({.since = "30000d"}).first_day == 0);

  query = asked({.by = {"month", "user"}});
  CHECK(query.period == UsagePeriod::month);
  CHECK(query.by_tenant);  // users are a tenant's
  CHECK(query.by_user);
  query = asked({.by = {"total"}});
  CHECK_FALSE(query.by_tenant);
  query = asked({.by = {"day"}});
  CHECK(query.period == UsagePeriod::day);
  CHECK_FALSE(query.by_tenant);
}

TEST_CASE("what is no date is named with its option", "[unit][usage]") {
  CHECK(not_asked({.since = "2026-13-01"}).message ==
        "'2026-13-01' is no date: write it as 2026-11-23, or as a time ago like 7d");
  CHECK(not_asked({.since = "2026-13-01"}).field == "since");
  for (const char* wrong : {"2026-02-29", "1969-12-31", "2026-1-1", "26-11-23", "yesterday", "-1d",
                            "2026/11/23", "2026-11-2x", "+026-11-23"})
    CHECK(not_asked({.since = wrong}).field == "since");
  CHECK(not_asked({.until = "7d"}).message ==
        "'7d' is no date: write it as 2026-11-23; that day is included");
  CHECK(not_asked({.since = "2026-11-02", .until = "2026-11-01"}).message ==
        "2026-11-01 is before --since, which is 2026-11-02");
  CHECK(not_asked({.by = {"week"}}).message ==
        "'week' is none of day, month, tenant, user and total");
  CHECK(not_asked({.by = {"day", "month"}}).message == "day and month exclude each other");
}

TEST_CASE("usage is a table of hours and counts", "[golden][usage]") {
  CHECK(usage_text(by_month_and_user(), {physics_row(), gone_row()}) ==
        R"(2026-11-01 to 2026-11-23, UTC; what runs counts once it has ended
MONTH    TENANT    USER  CORE-HOURS  GIB-HOURS  GPU-HOURS  JOBS  OK  FAILED  CANCELLED  LOST  MEAN WAIT
2026-11  physics   ada        4.000      0.500      0.000     2   7       0          0     1       1.5s
2026-11  tenant-9  -          0.000      0.000      1.000     0   0       3          2     0          -
all                           4.000      0.500      1.000     2   7       3          2     1       1.5s
)");
  UsageQuery total;
  total.last_day = 1;
  CHECK(usage_text(total, {physics_row()}) ==
        R"(1970-01-01 to 1970-01-02, UTC; what runs counts once it has ended
CORE-HOURS  GIB-HOURS  JOBS  OK  FAILED  CANCELLED  LOST  MEAN WAIT
     4.000      0.500     2   7       0          0     1       1.5s
)");
  CHECK_THAT(usage_text(by_month_and_user(), {}), Catch::Contains("\nall "));
}

TEST_CASE("usage has a shape that programs rely on", "[golden][json]") {
  CHECK(json_text(usage_json(by_month_and_user(), {physics_row(), gone_row()})) ==
        R"({"since":"2026-11-01","until":"2026-11-23","by":["month","tenant","user"],"usage":[)"
        R"({"day":null,"month":"2026-11","tenant":"physics","user":"ada",)"
        R"("used_ms":{"cpu":14400000000,"memory":1843200000},"jobs_submitted":2,)"
        R"("attempts":{"succeeded":7,"failed":0,"cancelled":0,"lost":1},)"
        R"("first_starts":4,"waited":6.0,"mean_wait":1.5},)"
        R"({"day":null,"month":"2026-11","tenant":"tenant-9","user":null,)"
        R"("used_ms":{"gpu":3600000},"jobs_submitted":0,)"
        R"("attempts":{"succeeded":0,"failed":3,"cancelled":2,"lost":0},)"
        R"("first_starts":0,"waited":0.0,"mean_wait":null}]})");
  UsageQuery by_day;
  by_day.period = UsagePeriod::day;
  UsageRow huge;
  huge.group.day = 20'780;
  add_used(huge.usage, "cpu", AmountMs{1} << 64);
  const Json row = usage_json(by_day, {huge})["usage"][0];
  CHECK(row["day"] == "2026-11-23");
  CHECK(row["tenant"] == nullptr);
  CHECK(row["used_ms"]["cpu"] == 18446744073709551616.0);
}

}  // namespace fairwater
