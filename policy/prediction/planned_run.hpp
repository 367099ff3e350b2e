// How long a task is planned to run: what places in time go by (policy/allocator/by_time.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "policy/prediction/run_time.hpp"

namespace fairwater::inline policy::inline prediction {

/// What plans go by.
enum class Predict : std::uint8_t {
  limits = 0,   ///< by each task's own limit
  history = 1,  ///< by what its class took before; by its limit where nothing is known
};

[[nodiscard]] constexpr std::string_view to_string(Predict predict) {
  return predict == Predict::history ? "history" : "limits";
}

/// What is known of how long a task runs.
struct PlannedRun {
  std::int64_t limit_ms = 0;     ///< it holds its room at most so long; 0: for ever
  std::int64_t expected_ms = 0;  ///< by its class's history, or by its limit; 0: not known
  std::int64_t ran_ms = 0;       ///< so far
  bool is_service = false;       ///< ends when it is cancelled: nobody counts on its room
};

/// How long the task is planned to run in all, once it has run for `ran_ms`: longer than that. 0:
/// for ever.
[[nodiscard]] inline std::int64_t planned_run_ms(Predict predict, const PlannedRun& run,
                                                 std::int64_t ran_ms) {
  const auto limit_ms = run.limit_ms > 0 ? std::optional(run.limit_ms) : std::nullopt;
  if (predict == Predict::history && run.expected_ms > 0)
    return expected_total_ms({run.expected_ms, PredictionSource::task_class}, ran_ms, limit_ms);
  return limit_ms ? std::max(*limit_ms, ran_ms + 1) : 0;
}

}  // namespace fairwater::inline policy::inline prediction
