// What `fairwater usage` asks for, as its options say it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/errors.hpp"
#include "model/time.hpp"
#include "model/usage.hpp"

namespace fairwater::inline cli::inline cluster {

struct UsageOptions {
  std::string since = {};  ///< a date, or how long ago; empty: kDefaultUsageSince
  std::string until = {};  ///< a date; empty: today
  std::string tenant = {};
  std::string user = {};
  std::vector<std::string> by = {};  ///< what is told apart; empty: tenants
};

inline constexpr const char* kDefaultUsageSince = "30d";

/// `invalid_input` naming the option.
[[nodiscard]] Expected<UsageQuery> usage_query(const UsageOptions& options, WallTime now);

/// A date as `2026-11-23`, from 1970 to 9999; none for anything else.
[[nodiscard]] std::optional<DayNumber> day_from_date(std::string_view text);

}  // namespace fairwater::inline cli::inline cluster
