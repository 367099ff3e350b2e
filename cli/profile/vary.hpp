// `--vary RESOURCE=RANGE`: the amounts at which a class is run.
//
//   vary   := resource "=" part ("," part)*
//   part   := amount | amount ".." amount [":" step]
//   step   := amount        added each time; 1 (one processor, one piece) unless given
//           | "x" number    multiplied each time, 2 or more; memory is doubled unless given
//
// `tasks=1..8` varies how many tasks run at once. `cpu=1..8`, `cpu=1..8:2` (1, 3, 5, 7),
// `memory=512MiB..4GiB:x2`, `cpu=0.5,1,2,4`. A range ends with the last amount that is not above
// its end.
#pragma once

#include <string>
#include <vector>

#include "model/resources.hpp"

namespace fairwater::inline cli::inline profile {

struct Variation {
  std::string resource;
  std::vector<Amount> amounts;  ///< ascending, each once
};

/// `invalid_input` naming the word and what would be right.
[[nodiscard]] Expected<Variation> parse_variation(std::string_view text);

/// Every combination of the variations, each with what `base` has of other resources; in ascending
/// order. `invalid_input` when a resource is varied twice, or there are more combinations than a
/// profile holds.
[[nodiscard]] Expected<std::vector<NamedAmounts>> combinations(
    const NamedAmounts& base, const std::vector<Variation>& variations);

}  // namespace fairwater::inline cli::inline profile
