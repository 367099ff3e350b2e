#include "cli/cluster/usage_query.hpp"

#include <charconv>
#include <chrono>

#include "model/resources.hpp"
#include "state/usage.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

constexpr const char* kDateForm = "write it as 2026-11-23";

/// The whole of `text` as a number; none for anything else.
std::optional<unsigned> digits(std::string_view text) {
  unsigned number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

caf::error no_date(const std::string& option, const std::string& text, const std::string& right) {
  return make_error(ErrorCode::invalid_input, "'" + text + "' is no date: " + right, option);
}

Expected<DayNumber> first_day(const std::string& text, WallTime now) {
  if (const auto day = day_from_date(text)) return *day;
  const auto ago_ms = parse_duration_ms(text);
  if (!ago_ms) return no_date("since", text, std::string(kDateForm) + ", or as a time ago like 7d");
  return day_of({now.microseconds - *ago_ms * 1000});
}

Expected<DayNumber> last_day(const std::string& text, WallTime now) {
  if (text.empty()) return day_of(now);
  if (const auto day = day_from_date(text)) return *day;
  return no_date("until", text, std::string(kDateForm) + "; that day is included");
}

caf::error tell_apart(UsageQuery& query, const std::string& word) {
  const auto by_period = [&](UsagePeriod period) -> caf::error {
    if (query.period != UsagePeriod::whole && query.period != period)
      return make_error(ErrorCode::invalid_input, "day and month exclude each other", "by");
    query.period = period;
    return {};
  };
  if (word == "day") return by_period(UsagePeriod::day);
  if (word == "month") return by_period(UsagePeriod::month);
  if (word == "tenant" || word == "user") query.by_tenant = true;
  if (word == "user") query.by_user = true;
  if (word == "tenant" || word == "user" || word == "total") return {};
  return make_error(ErrorCode::invalid_input,
                    "'" + word + "' is none of day, month, tenant, user and total", "by");
}

}  // namespace

std::optional<DayNumber> day_from_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = digits(text.substr(0, 4));
  const auto month = digits(text.substr(5, 2));
  const auto day = digits(text.substr(8, 2));
  if (!year || !month || !day || *year < 1970) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(*year)},
                                         std::chrono::month{*month}, std::chrono::day{*day}};
  if (!date.ok()) return std::nullopt;
  return static_cast<DayNumber>(std::chrono::sys_days{date}.time_since_epoch().count());
}

Expected<UsageQuery> usage_query(const UsageOptions& options, WallTime now) {
  UsageQuery query;
  const auto first = first_day(options.since.empty() ? kDefaultUsageSince : options.since, now);
  if (!first) return first.error();
  const auto last = last_day(options.until, now);
  if (!last) return last.error();
  if (*last < *first)
    return make_error(ErrorCode::invalid_input,
                      iso_date(*last) + " is before --since, which is " + iso_date(*first),
                      "until");
  query.first_day = *first;
  query.last_day = *last;
  query.tenant = options.tenant;
  query.user = options.user;
  query.by_tenant = options.by.empty();
  for (const std::string& word : options.by)
    if (auto wrong = tell_apart(query, word)) return wrong;
  return query;
}

}  // namespace fairwater::inline cli::inline cluster
