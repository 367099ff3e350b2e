// Decimal numbers as people write them, read as integers: no digit is lost to floating point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/core/types.hpp"

namespace fairwater::inline model {

/// A decimal number times 10^9, so that nine digits after the point are exact.
inline constexpr Wide kNano = 1'000'000'000;

struct Number {
  Wide nano = 0;
  std::string_view suffix;  ///< what follows the digits
};

/// Splits `1.5GiB` into 1.5 and `GiB`. None without a leading digit, for a point without digits
/// after it, or for more digits than can be exact.
[[nodiscard]] std::optional<Number> read_number(std::string_view text);

/// `0.5` for 500,000 millionths.
[[nodiscard]] std::string millionths_text(std::int64_t millionths);

}  // namespace fairwater::inline model
