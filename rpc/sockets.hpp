// TCP: addresses and options, the same for both ends.
#pragma once

#include <string>

#include <kj/async-io.h>

#include "model/errors.hpp"

namespace fairwater::inline rpc {

/// HOST:PORT with both parts given; an IPv6 address stands in brackets. `invalid_input` of `field`
/// otherwise.
[[nodiscard]] caf::error validate_address(const std::string& address,
                                          const char* field = "address");

/// Whether this process could listen there now; `unavailable` with the reason. Blocks for the
/// host's name.
[[nodiscard]] caf::error check_can_listen(const std::string& address);
/// Listens. `invalid_input` for no address, `unavailable` for one that is taken or not here. Blocks
/// for the host's name: for the start of a loop only.
[[nodiscard]] Expected<kj::Own<kj::ConnectionReceiver>> listen_on(kj::AsyncIoContext& io,
                                                                  const std::string& address);
/// Connects, with the socket options below; gives a machine up that is silent for six seconds.
[[nodiscard]] kj::Promise<kj::Own<kj::AsyncIoStream>> connect_to(kj::Network& network,
                                                                 const std::string& address);

/// Of a connection that was accepted: keepalive, no delay, and an end when the peer's machine is
/// silent for half a minute.
void set_socket_options(kj::AsyncIoStream& stream);
/// The IP address of this machine that connections to HOST:PORT come from; empty where that is not
/// known. Sends nothing. Blocks for the host's name.
[[nodiscard]] std::string own_address_towards(const std::string& address);
/// The peer's IP address, or `unknown`.
[[nodiscard]] std::string peer_of(kj::AsyncIoStream& stream);

}  // namespace fairwater::inline rpc
