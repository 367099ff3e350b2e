#include "model/usage.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

TEST_CASE("what is used adds up, by name, beyond 64 bits", "[unit][usage]") {
  UsageRecord usage;
  const AmountMs much = ~std::uint64_t{0};
  add_used(usage, "memory", 5);
  add_used(usage, "cpu", much);
  add_used(usage, "cpu", 3);
  CHECK(usage.used == std::vector<UsedResource>{{"cpu", 2, 1}, {"memory", 5, 0}});
  CHECK(usage.used[0].total() == much + 3);

  usage.succeeded = 1;
  UsageRecord more;
  add_used(more, "cpu", much);
  add_used(more, "gpu", 7);
  more.succeeded = 1;
  more.failed = 2;
  more.cancelled = 3;
  more.lost = 4;
  more.submitted = 5;
  more.first_starts = 6;
  more.waited_ms = 7;
  add(usage, more);
  UsageRecord sum = more;
  sum.succeeded = 2;
  sum.used = {{"cpu", 1, 2}, {"gpu", 7, 0}, {"memory", 5, 0}};
  CHECK(usage == sum);
}

TEST_CASE("days are written as dates, and belong to months", "[unit][usage]") {
  CHECK(iso_date(0) == "1970-01-01");
  CHECK(iso_date(20'780) == "2026-11-23");
  CHECK(iso_date(kLastDay) == "9999-12-31");
  CHECK(iso_date(~DayNumber{0}) == "9999-12-31");
  CHECK(iso_date(month_of(20'780)) == "2026-11-01");
  CHECK(month_of(month_of(20'780)) == month_of(20'780));
  CHECK(iso_date(month_of(19'782)) == "2024-02-01");  // from the 29th
}

TEST_CASE("sums are counted in the group that a query asks for", "[unit][usage]") {
  const UsageGroup sums{20'780, TenantId{3}, "ada"};
  UsageQuery query;
  CHECK(group_of(sums, query) == UsageGroup{});
  query.period = UsagePeriod::day;
  query.by_tenant = true;
  CHECK(group_of(sums, query) == UsageGroup{20'780, TenantId{3}, {}});
  query.period = UsagePeriod::month;
  query.by_user = true;
  CHECK(group_of(sums, query) == UsageGroup{20'758, TenantId{3}, "ada"});
}

}  // namespace
}  // namespace fairwater
