#include "cli/cluster/drain_times.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "cli/cluster/usage_query.hpp"
#include "model/resources.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

/// Seconds of the day in `02:00` or `02:00:30`.
std::optional<std::int64_t> seconds_of_day(std::string_view text) {
  if (text.size() != 5 && text.size() != 8) return std::nullopt;
  constexpr std::array<unsigned, 3> kMost{23, 59, 59};
  std::int64_t seconds = 0;
  for (std::size_t part = 0; part < kMost.size(); ++part) {
    const std::size_t at = part * 3;
    unsigned number = 0;
    if (at < text.size()) {
      const char* const end = text.data() + at + 2;
      const auto read = std::from_chars(text.data() + at, end, number);
      if (read.ec != std::errc{} || read.ptr != end || number > kMost[part]) return std::nullopt;
      if (at + 2 < text.size() && text[at + 2] != ':') return std::nullopt;
    }
    seconds = seconds * 60 + number;
  }
  return seconds;
}

std::optional<WallTime> utc_moment(std::string_view text) {
  constexpr std::size_t kDate = 10;
  if (text.size() <= kDate + 1 || text[kDate] != 'T' || text.back() != 'Z') return std::nullopt;
  const auto day = day_from_date(text.substr(0, kDate));
  const auto seconds = seconds_of_day(text.substr(kDate + 1, text.size() - kDate - 2));
  if (!day || !seconds) return std::nullopt;
  return WallTime{(std::int64_t{*day} * 86'400 + *seconds) * 1'000'000};
}

}  // namespace

Expected<WallTime> drain_begins(const std::string& text, WallTime now) {
  if (const auto moment = utc_moment(text)) return *moment;
  if (const auto from_now_ms = parse_duration_ms(text))
    return WallTime{now.microseconds + *from_now_ms * 1000};
  return make_error(ErrorCode::invalid_input,
                    "'" + text +
                        "' is no moment: write it in UTC as 2026-12-01T02:00Z, or as a time from "
                        "now like 12h",
                    "at");
}

Expected<std::int64_t> drain_deadline(const std::string& text) {
  if (text.empty()) return 0;
  const auto parsed = parse_duration_ms(text);
  if (!parsed)
    return make_error(ErrorCode::invalid_input, details(parsed.error()).message, "deadline");
  if (*parsed == 0)
    return make_error(ErrorCode::invalid_input,
                      "a deadline is at least 1ms away; to stop all at once say 1ms", "deadline");
  return *parsed;
}

}  // namespace fairwater::inline cli::inline cluster
