// The machine shapes of a trace: what a machine has relative to the largest one, and how many of
// all machines are such.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/errors.hpp"

namespace fairwater::sim::inline experiments {

struct MachineShape {
  double cpu = 0;      ///< of the largest machine's, in (0, 1]
  double memory = 0;   ///< likewise
  double percent = 0;  ///< of all machines, in (0, 100]
};

/// Reads `cpu_normalised,ram_normalised,percent_of_machines` lines under that header; the percents
/// add up to 100, give or take 1. `invalid_input` names the line and the column.
[[nodiscard]] Expected<std::vector<MachineShape>> parse_machine_shapes(std::string_view text);

/// How many of `machines` have each shape: by percents, the largest remainders rounded up, the
/// first on a tie. Adds up to `machines`.
[[nodiscard]] std::vector<std::uint64_t> apportion_machines(const std::vector<MachineShape>& shapes,
                                                            std::uint64_t machines);

}  // namespace fairwater::sim::inline experiments
