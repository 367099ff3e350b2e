// Peers that do not speak the protocol: plain sockets, blocking, with the test's patience.
#pragma once

#include <string>
#include <string_view>

namespace fairwater::test {

class RawPeer {
 public:
  /// Takes over a connected socket.
  explicit RawPeer(int fd);
  /// Connects to HOST:PORT on IPv4 with numbers.
  explicit RawPeer(const std::string& address);
  RawPeer(RawPeer&& other) noexcept;
  RawPeer& operator=(RawPeer&& other) noexcept;
  ~RawPeer();

  /// False when the other side has closed already.
  bool send(std::string_view bytes) const;
  void end_sending() const;
  /// Reads and drops what comes until the other side closes; fails the test when it does not.
  void wait_until_closed() const;
  /// Waits for at least one byte; fails the test when none comes.
  void wait_for_bytes() const;
  /// What has arrived so far.
  [[nodiscard]] std::string read_available() const;
  /// Everything until the other side closes.
  [[nodiscard]] std::string read_all() const;

 private:
  int fd_;
};

/// A socket that is made first and connected later.
[[nodiscard]] int unconnected_socket();
void connect_socket(int fd, const std::string& address);

class RawListener {
 public:
  RawListener();
  RawListener(const RawListener&) = delete;
  RawListener& operator=(const RawListener&) = delete;
  ~RawListener();
  [[nodiscard]] std::string address() const;
  /// The next connection; fails the test when none comes.
  [[nodiscard]] RawPeer accept() const;

 private:
  int fd_;
};

}  // namespace fairwater::test
