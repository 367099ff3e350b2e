// How many connections a coordinator takes: as its process may have file descriptors, each of which
// is one, unless its configuration says less.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/config.hpp"
#include "model/errors.hpp"

namespace fairwater::inline daemon {

struct ConnectionLimits {
  std::uint32_t connections = 0;
  std::uint32_t per_address = 0;
  std::uint32_t for_operators = 0;  ///< beside these
};

/// For the ledger's files and what else a coordinator opens.
inline constexpr std::uint64_t kOwnDescriptors = 512;
/// More are not expected, whatever the process may open.
inline constexpr std::uint32_t kMaxDefaultConnections = 131'072;

/// Allows this process as many descriptors as it may allow itself. Not for one that starts tasks:
/// they would inherit that, and select() knows only 1,024.
void raise_descriptor_limit();
/// How many it may have.
[[nodiscard]] std::uint64_t descriptor_limit();

/// `invalid_input` when the configuration asks for more than there are descriptors.
[[nodiscard]] Expected<ConnectionLimits> connection_limits(const CoordinatorConfig& config,
                                                           std::uint64_t descriptors);
/// For the log, at the start.
[[nodiscard]] std::string text_of(const ConnectionLimits& limits);

}  // namespace fairwater::inline daemon
