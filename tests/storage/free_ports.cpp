#include "tests/storage/free_ports.hpp"

#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace fairwater::test {

std::vector<std::uint16_t> free_ports(std::size_t count) {
  std::vector<int> sockets;  // open together, so that no two are the same
  std::vector<std::uint16_t> ports;
  while (ports.size() < count) {
    const int opened = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (opened < 0 || ::bind(opened, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        ::getsockname(opened, reinterpret_cast<sockaddr*>(&address), &length) != 0)
      throw std::runtime_error("no free port");
    sockets.push_back(opened);
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int opened : sockets) ::close(opened);
  return ports;
}

}  // namespace fairwater::test
