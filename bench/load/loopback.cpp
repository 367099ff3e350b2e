#include "bench/load/loopback.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <kj/debug.h>
#include <kj/io.h>

#include "rpc/sockets.hpp"

namespace fairwater::load {
namespace {

sockaddr_in parse(const std::string& address) {
  const auto colon = address.rfind(':');
  sockaddr_in parsed{};
  parsed.sin_family = AF_INET;
  parsed.sin_port = htons(static_cast<std::uint16_t>(std::stoul(address.substr(colon + 1))));
  KJ_REQUIRE(::inet_pton(AF_INET, address.substr(0, colon).c_str(), &parsed.sin_addr) == 1,
             "no IPv4 address", address.c_str());
  return parsed;
}

/// 127.1.0.1 and on.
sockaddr_in source_of(std::uint32_t number) {
  sockaddr_in source{};
  source.sin_family = AF_INET;
  source.sin_addr.s_addr = htonl(0x7f010001U + number / kConnectionsPerAddress);
  return source;
}

}  // namespace

kj::Promise<kj::Own<kj::AsyncIoStream>> connect_numbered(kj::AsyncIoContext& io,
                                                         const std::string& address,
                                                         std::uint32_t number) {
  int raw = -1;
  KJ_SYSCALL(raw = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  kj::AutoCloseFd socket(raw);
  // The port is picked when it connects: it has to be free for this pair of addresses only.
  const int late = 1;
  KJ_SYSCALL(::setsockopt(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &late, sizeof late));
  const auto source = source_of(number);
  KJ_SYSCALL(::bind(socket, reinterpret_cast<const sockaddr*>(&source), sizeof source));
  const auto target = parse(address);
  using Provider = kj::LowLevelAsyncIoProvider;
  return io.lowLevelProvider
      ->wrapConnectingSocketFd(kj::mv(socket), reinterpret_cast<const sockaddr*>(&target),
                               sizeof target,
                               Provider::ALREADY_CLOEXEC | Provider::ALREADY_NONBLOCK)
      .then([](kj::Own<kj::AsyncIoStream> stream) {
        set_socket_options(*stream);
        return kj::mv(stream);
      });
}

}  // namespace fairwater::load
