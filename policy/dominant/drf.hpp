// Dominant Resource Fairness by progressive filling: Ghodsi et al., "Dominant Resource Fairness:
// Fair Allocation of Multiple Resource Types" (NSDI 2011), algorithm 1 (section 4.2), with the
// weights of its section 4.3 taken alike for all resources, and a limit on each user's tasks.
//
//   The next task goes to the user with the smallest `dominant share / weight`, the first in input
//   order on a tie. A user whose task does not fit ends the run (`first_misfit`: the early stop
//   printed in Bai, Lei, Zhang 2017, second stage) or leaves it (`fill`): room only shrinks, so
//   that task never fits again.
//
// Two ways with one answer:
// - `drf_by_task`: one task at a time, O(users + tasks * log users).
// - `drf_by_level`: looks for a level of shares such that everything below it fits, places that at
//   once (O(users) per level looked at, a few dozen levels in all), and goes on one by one from
//   there; looks again whenever as many tasks as there are users went by. Never more than a
//   constant factor slower.
// Exact: shares are compared as fractions (policy/dominant/share_order.hpp), amounts are integers.
// The level itself is a floating-point number, which only decides how much is placed at once: every
// user's count is bounded from both sides, what may lie below the level must fit, and only what
// surely lies below it is placed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline dominant {

struct DrfUser {
  ResourceVector demand;  ///< of one task; amounts 0 to kUnlimited, at least one above 0
  Weight weight = 1;      ///< 1 to kMaxShareWeight
  std::optional<std::uint64_t> tasks;  ///< how many it wants; none: as many as fit
};

enum class DrfStop : std::uint8_t { fill = 0, first_misfit = 1 };

struct DrfResult {
  std::vector<std::uint64_t> tasks;  ///< placed, one per user in input order
  ResourceVector used;
  friend bool operator==(const DrfResult&, const DrfResult&) = default;
};

/// The resource with the largest `demand / capacity`, the first on a tie. A resource that is asked
/// for and not there dominates all others.
[[nodiscard]] std::size_t dominant_resource(const ResourceVector& demand,
                                            const ResourceVector& capacity);

/// `tasks * demand / capacity` of the dominant resource; 0 without tasks.
[[nodiscard]] double dominant_share(const ResourceVector& demand, std::uint64_t tasks,
                                    const ResourceVector& capacity);

/// Capacity amounts: 0 to kUnlimited.
[[nodiscard]] DrfResult drf_by_task(const ResourceVector& capacity, std::span<const DrfUser> users,
                                    DrfStop stop = DrfStop::fill);
[[nodiscard]] DrfResult drf_by_level(const ResourceVector& capacity, std::span<const DrfUser> users,
                                     DrfStop stop = DrfStop::fill);

}  // namespace fairwater::inline policy::inline dominant
