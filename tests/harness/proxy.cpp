#include "tests/harness/proxy.hpp"

#include <algorithm>
#include <array>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

namespace fairwater::harness {
namespace {

sockaddr_in on_loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

bool send_all(int to, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(to, data, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

}  // namespace

Proxy::Proxy(const std::string& target, std::string marker)
    : target_(static_cast<std::uint16_t>(std::stoul(target.substr(target.rfind(':') + 1)))),
      marker_(std::move(marker)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  auto own = on_loopback(0);
  socklen_t size = sizeof own;
  auto* const address = reinterpret_cast<sockaddr*>(&own);
  if (::bind(listener_, address, size) != 0 || ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, address, &size) != 0)
    throw std::runtime_error("the proxy cannot listen");
  address_ = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
  acceptor_ = std::thread([this] { accept_for_ever(); });
}

Proxy::~Proxy() {
  ending_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  cut();
  for (auto& thread : threads_) thread.join();
}

void Proxy::cut() {
  loses_ = false;
  const std::lock_guard lock(mutex_);
  for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
}

void Proxy::accept_for_ever() {
  while (!ending_) {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) threads_.emplace_back([this, client] { pass(client); });
  }
}

void Proxy::pass(int client) {
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto target = on_loopback(target_);
  bool goes_on = ::connect(server, reinterpret_cast<const sockaddr*>(&target), sizeof target) == 0;
  {
    const std::lock_guard lock(mutex_);
    open_.insert(open_.end(), {client, server});
  }
  bool is_marked = false;
  std::string sent;  // the last bytes that the client sent, where the marker is looked for
  std::array<char, 65536> buffer{};
  while (goes_on) {
    std::array<pollfd, 2> ready{{{client, POLLIN, 0}, {server, POLLIN, 0}}};
    goes_on = ::poll(ready.data(), ready.size(), -1) > 0;
    for (std::size_t side = 0; goes_on && side < ready.size(); ++side) {
      if (ready[side].revents == 0) continue;
      const ssize_t got = ::recv(ready[side].fd, buffer.data(), buffer.size(), 0);
      if (got <= 0) goes_on = false;
      if (got <= 0) continue;
      const bool from_client = side == 0;
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
      if (from_client) {
        sent =
            sent.substr(sent.size() - std::min(sent.size(), marker_.size())) + std::string(bytes);
        if (loses_ && sent.find(marker_) != std::string::npos) is_marked = true;
      }
      if (from_client || !is_marked)
        goes_on = send_all(from_client ? server : client, bytes.data(), bytes.size());
      if (is_marked) saw_marker_ = true;
    }
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [&](int socket) { return socket == client || socket == server; });
  ::close(client);
  ::close(server);
}

}  // namespace fairwater::harness
