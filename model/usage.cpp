#include "model/usage.hpp"

#include <algorithm>
#include <chrono>

namespace fairwater::inline model {
namespace {

std::chrono::year_month_day date_of(DayNumber day) {
  return std::chrono::sys_days{std::chrono::days{std::min(day, kLastDay)}};
}

}  // namespace

void add_used(UsageRecord& usage, const std::string& resource, AmountMs used) {
  auto place = std::lower_bound(
      usage.used.begin(), usage.used.end(), resource,
      [](const UsedResource& one, const std::string& name) { return one.name < name; });
  if (place == usage.used.end() || place->name != resource)
    place = usage.used.insert(place, {resource, 0, 0});
  const AmountMs total = place->total() + used;
  place->low = static_cast<std::uint64_t>(total);
  place->high = static_cast<std::uint64_t>(total >> 64);
}

void add(UsageRecord& usage, const UsageRecord& more) {
  for (const UsedResource& resource : more.used) add_used(usage, resource.name, resource.total());
  usage.succeeded += more.succeeded;
  usage.failed += more.failed;
  usage.cancelled += more.cancelled;
  usage.lost += more.lost;
  usage.submitted += more.submitted;
  usage.first_starts += more.first_starts;
  usage.waited_ms += more.waited_ms;
}

std::string iso_date(DayNumber day) {
  const auto date = date_of(day);
  const auto padded = [](std::string digits, std::size_t width) {
    return digits.insert(0, width - std::min(width, digits.size()), '0');
  };
  return padded(std::to_string(static_cast<int>(date.year())), 4) + "-" +
         padded(std::to_string(static_cast<unsigned>(date.month())), 2) + "-" +
         padded(std::to_string(static_cast<unsigned>(date.day())), 2);
}

DayNumber month_of(DayNumber day) {
  const auto date = date_of(day);
  const std::chrono::sys_days first{date.year() / date.month() / 1};
  return static_cast<DayNumber>(first.time_since_epoch().count());
}

UsageGroup group_of(const UsageGroup& sums, const UsageQuery& query) {
  UsageGroup group;
  if (query.period == UsagePeriod::day) group.day = sums.day;
  if (query.period == UsagePeriod::month) group.day = month_of(sums.day);
  if (query.by_tenant) group.tenant = sums.tenant;
  if (query.by_user) group.user = sums.user;
  return group;
}

}  // namespace fairwater::inline model
