// A machine's processors, and which of them a task with processors of its own gets. Pure.
//
// A processor is what the kernel counts as one: with two threads per core, half a core.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/errors.hpp"

namespace fairwater::inline process {

using CpuNumbers = std::vector<std::uint32_t>;  ///< ascending

struct Cpu {
  std::uint32_t number = 0;
  std::uint32_t memory_node = 0;  ///< NUMA
  std::uint32_t core = 0;         ///< the smallest number among those that share it
  friend bool operator==(const Cpu&, const Cpu&) = default;
};

[[nodiscard]] CpuNumbers numbers_of(const std::vector<Cpu>& cpus);

/// `0-2,5` as the kernel writes lists; `invalid_input` for anything else.
[[nodiscard]] Expected<CpuNumbers> parse_cpu_list(std::string_view text);
/// `0,1,2,5`.
[[nodiscard]] std::string to_text(const CpuNumbers& cpus);

/// So many that are not busy: of one memory node if one has them, of several as few as possible
/// otherwise. Among memory nodes that have enough, of the one with the fewest left over. Within a
/// memory node whole free cores first, then what is left of cores that others have a part of;
/// smallest numbers first. `unavailable` when there are not enough.
[[nodiscard]] Expected<CpuNumbers> pick_cpus(const std::vector<Cpu>& machine,
                                             const std::set<std::uint32_t>& busy,
                                             std::size_t count);

}  // namespace fairwater::inline process
