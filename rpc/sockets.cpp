#include "rpc/sockets.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <kj/io.h>

namespace fairwater::inline rpc {
namespace {

/// When the peer's machine is asked whether it lives, and when it is given up.
struct Patience {
  int idle_seconds = 0;
  int interval_seconds = 0;
  int user_timeout_ms = 0;  ///< also ends what keepalive finds dead (tcp(7))
};
/// Whoever waits for an answer of a machine without power waits for this, and asks elsewhere then.
/// A process that stands still on a machine that lives is not meant: its kernel acknowledges.
constexpr Patience kOfCaller{3, 1, 6'000};
/// Nobody waits for a client or an agent that is gone, and one that stops reading is cut off by it.
constexpr Patience kOfServer{10, 5, 30'000};

void set_option(kj::AsyncIoStream& stream, int level, int option, int value) {
  stream.setsockopt(level, option, &value, sizeof value);
}

void set_options(kj::AsyncIoStream& stream, const Patience& patience) {
  set_option(stream, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(stream, IPPROTO_TCP, TCP_KEEPIDLE, patience.idle_seconds);
  set_option(stream, IPPROTO_TCP, TCP_KEEPINTVL, patience.interval_seconds);
  set_option(stream, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(stream, IPPROTO_TCP, TCP_USER_TIMEOUT, patience.user_timeout_ms);
}

struct Found {
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> first{nullptr, &::freeaddrinfo};
  int fault = 0;  ///< of getaddrinfo, where nothing was found
};

/// HOST:PORT, with `*` for all addresses of this machine.
Found find(const std::string& address, int socket_type) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {{nullptr, &::freeaddrinfo}, EAI_NONAME};
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = socket_type;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* first = nullptr;
  const int fault = ::getaddrinfo(host == "*" ? nullptr : host.c_str(), address.c_str() + colon + 1,
                                  &hints, &first);
  return {{fault == 0 ? first : nullptr, &::freeaddrinfo}, fault};
}

kj::AutoCloseFd open_socket(const addrinfo& found) {
  return kj::AutoCloseFd(
      ::socket(found.ai_family, found.ai_socktype | SOCK_CLOEXEC, found.ai_protocol));
}

std::string why_not_bound(int fault) {
  switch (fault) {
    case EADDRINUSE:
      return "another process listens there; end it, or name another port";
    case EADDRNOTAVAIL:
      return "this machine has no such address; name one that it has, or 0.0.0.0 for all";
    case EACCES:
      return "whoever runs this may not use that port; name one above 1023";
    default:
      return std::strerror(fault);
  }
}

}  // namespace

caf::error validate_address(const std::string& address, const char* field) {
  const auto refuse = [&](const char* what) {
    return make_error(ErrorCode::invalid_input,
                      "'" + address + "' is no address: " + what + "; write HOST:PORT", field);
  };
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return refuse("the port is missing");
  const std::string host = address.substr(0, colon);
  if (host.empty()) return refuse("the host is missing");
  if (host.find(':') != std::string::npos && (host.front() != '[' || host.back() != ']'))
    return refuse("an IPv6 address stands in brackets");
  std::uint32_t port = 0;
  const char* const end = address.data() + address.size();
  const auto [stop, fault] = std::from_chars(address.data() + colon + 1, end, port);
  if (fault != std::errc{} || stop != end || port > 65535)
    return refuse("the port is not a number from 0 to 65535");
  return {};
}

std::string own_address_towards(const std::string& address) {
  const Found found = find(address, SOCK_DGRAM);
  if (!found.first) return {};
  // To connect a datagram socket chooses the way there, and no more.
  const kj::AutoCloseFd datagrams = open_socket(*found.first);
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (datagrams.get() < 0 ||
      ::connect(datagrams.get(), found.first->ai_addr, found.first->ai_addrlen) != 0 ||
      ::getsockname(datagrams.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
    return {};
  std::array<char, NI_MAXHOST> text{};
  const int failed = ::getnameinfo(reinterpret_cast<const sockaddr*>(&own), size, text.data(),
                                   text.size(), nullptr, 0, NI_NUMERICHOST);
  return failed == 0 ? text.data() : std::string{};
}

caf::error check_can_listen(const std::string& address) {
  const auto refuse = [&](const std::string& why) {
    return make_error(ErrorCode::unavailable, "cannot listen on " + address + ": " + why, "listen");
  };
  const Found found = find(address, SOCK_STREAM);
  if (!found.first)
    return refuse("its host is not found (" + std::string(::gai_strerror(found.fault)) +
                  "); name an address of this machine, or 0.0.0.0 for all");
  const kj::AutoCloseFd connections = open_socket(*found.first);
  if (connections.get() < 0) return refuse(std::strerror(errno));
  const int yes = 1;  // as whoever listens: what an earlier process has left behind is no obstacle
  if (::setsockopt(connections.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(connections.get(), found.first->ai_addr, found.first->ai_addrlen) != 0)
    return refuse(why_not_bound(errno));
  return {};
}

Expected<kj::Own<kj::ConnectionReceiver>> listen_on(kj::AsyncIoContext& io,
                                                    const std::string& address) {
  if (auto invalid = validate_address(address)) return invalid;
  try {
    auto parsed = io.provider->getNetwork().parseAddress(address.c_str()).wait(io.waitScope);
    return parsed->listen();
  } catch (const kj::Exception& fault) {
    if (auto known = check_can_listen(address)) return known;
    return make_error(ErrorCode::unavailable,
                      "cannot listen on " + address + ": " + fault.getDescription().cStr(),
                      "listen");
  }
}

kj::Promise<kj::Own<kj::AsyncIoStream>> connect_to(kj::Network& network,
                                                   const std::string& address) {
  return network.parseAddress(address.c_str())
      .then([](kj::Own<kj::NetworkAddress> parsed) {
        auto connected = parsed->connect();
        return connected.attach(kj::mv(parsed));
      })
      .then([](kj::Own<kj::AsyncIoStream> stream) {
        set_options(*stream, kOfCaller);
        return kj::mv(stream);
      });
}

void set_socket_options(kj::AsyncIoStream& stream) { set_options(stream, kOfServer); }

std::string peer_of(kj::AsyncIoStream& stream) {
  sockaddr_storage storage{};
  kj::uint length = sizeof storage;
  stream.getpeername(reinterpret_cast<sockaddr*>(&storage), &length);
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* source = nullptr;
  if (storage.ss_family == AF_INET)
    source = &reinterpret_cast<const sockaddr_in&>(storage).sin_addr;
  else if (storage.ss_family == AF_INET6)
    source = &reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr;
  if (source == nullptr ||
      ::inet_ntop(storage.ss_family, source, text.data(), text.size()) == nullptr)
    return "unknown";
  return text.data();
}

}  // namespace fairwater::inline rpc
