#include "model/time.hpp"

#include "model/usage.hpp"

namespace fairwater::inline model {

std::string utc_seconds(WallTime time) {
  const auto two_digits = [](std::int64_t number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
  };
  const std::int64_t seconds = shown_time(time).microseconds / 1'000'000;
  const auto day = static_cast<DayNumber>(seconds / 86'400);
  const std::int64_t second = seconds % 86'400;
  return iso_date(day) + "T" + two_digits(second / 3600) + ":" + two_digits(second / 60 % 60) +
         ":" + two_digits(second % 60);
}

}  // namespace fairwater::inline model
