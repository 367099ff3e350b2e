// Ports for programs that a test starts.
#pragma once

#include <cstdint>
#include <vector>

namespace fairwater::test {

/// Of this machine, that nobody listened on a moment ago, no two the same.
[[nodiscard]] std::vector<std::uint16_t> free_ports(std::size_t count);

}  // namespace fairwater::test
