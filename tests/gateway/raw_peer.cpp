#include "tests/gateway/raw_peer.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "tests/gateway/channel.hpp"

namespace fairwater::test {
namespace {

void wait_readable(int fd) {
  pollfd poll{fd, POLLIN, 0};
  const int patience_ms = static_cast<int>(std::chrono::milliseconds(kPatience).count());
  if (::poll(&poll, 1, patience_ms) != 1) FAIL("a socket stayed silent");
}

}  // namespace

int unconnected_socket() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(fd >= 0);
  return fd;
}

void connect_socket(int fd, const std::string& address) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  REQUIRE(::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) == 1);
  REQUIRE(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
}

RawPeer::RawPeer(int fd) : fd_(fd) {}
RawPeer::RawPeer(const std::string& address) : fd_(unconnected_socket()) {
  connect_socket(fd_, address);
}
RawPeer::RawPeer(RawPeer&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
RawPeer& RawPeer::operator=(RawPeer&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
RawPeer::~RawPeer() {
  if (fd_ >= 0) ::close(fd_);
}

bool RawPeer::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void RawPeer::end_sending() const { ::shutdown(fd_, SHUT_WR); }

void RawPeer::wait_until_closed() const { (void)read_all(); }

void RawPeer::wait_for_bytes() const {
  wait_readable(fd_);
  char byte = 0;
  REQUIRE(::recv(fd_, &byte, 1, 0) == 1);
}

std::string RawPeer::read_available() const {
  std::string bytes;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t size = ::recv(fd_, piece.data(), piece.size(), MSG_DONTWAIT);
    if (size <= 0) return bytes;
    bytes.append(piece.data(), static_cast<std::size_t>(size));
  }
}

std::string RawPeer::read_all() const {
  std::string all;
  std::array<char, 4096> piece{};
  for (;;) {
    wait_readable(fd_);
    const ssize_t size = ::recv(fd_, piece.data(), piece.size(), 0);
    if (size == 0 || (size < 0 && errno == ECONNRESET)) return all;
    REQUIRE(size > 0);
    all.append(piece.data(), static_cast<std::size_t>(size));
  }
}

RawListener::RawListener() : fd_(unconnected_socket()) {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::bind(fd_, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0);
  REQUIRE(::listen(fd_, 16) == 0);
}

RawListener::~RawListener() { ::close(fd_); }

std::string RawListener::address() const {
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  REQUIRE(::getsockname(fd_, reinterpret_cast<sockaddr*>(&bound), &size) == 0);
  return "127.0.0.1:" + std::to_string(ntohs(bound.sin_port));
}

RawPeer RawListener::accept() const {
  wait_readable(fd_);
  const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  REQUIRE(fd >= 0);
  return RawPeer(fd);
}

}  // namespace fairwater::test
