// Connections from many addresses of this machine: a coordinator admits only so many from one, and
// a pair of addresses has only so many ports.
#pragma once

#include <cstdint>
#include <string>

#include <kj/async-io.h>

namespace fairwater::load {

inline constexpr std::uint32_t kConnectionsPerAddress = 500;

/// The `number`-th connection to HOST:PORT, an IPv4 address in 127.0.0.0/8.
[[nodiscard]] kj::Promise<kj::Own<kj::AsyncIoStream>> connect_numbered(kj::AsyncIoContext& io,
                                                                       const std::string& address,
                                                                       std::uint32_t number);

}  // namespace fairwater::load
