// Values of a simulation file that other files do not have.
#pragma once

#include <functional>

#include "input/field.hpp"
#include "sim/report/scenario.hpp"

namespace fairwater::inline cli::inline sim_cli {

/// The largest count of tasks, units or processors that a file may name.
inline constexpr std::int64_t kMaxSimTasks = 1'000'000;

/// One value, or the least and the largest as a list of two.
[[nodiscard]] sim::Range read_range(const Field& field,
                                    const std::function<std::int64_t(const Field&)>& read);
/// A range of whole numbers from 1 to kMaxSimTasks.
[[nodiscard]] sim::Range read_counts(const Field& field);
/// A duration from 1 ms to 100 years.
[[nodiscard]] sim::TimeMs read_time(const Field& field);

}  // namespace fairwater::inline cli::inline sim_cli
