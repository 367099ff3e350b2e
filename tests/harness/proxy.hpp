// A TCP proxy that loses answers: what stands between a client and its coordinator in a scenario.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace fairwater::harness {

class Proxy {
 public:
  /// Passes connections on to HOST:PORT (of this machine). From when a client sends `marker`,
  /// nothing comes back to it over that connection.
  Proxy(const std::string& target, std::string marker);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] bool saw_marker() const { return saw_marker_; }
  /// Closes every connection; later ones lose nothing.
  void cut();

 private:
  void accept_for_ever();
  void pass(int client);

  std::uint16_t target_ = 0;
  std::string marker_;
  int listener_ = -1;
  std::string address_;
  std::atomic<bool> saw_marker_ = false;
  std::atomic<bool> loses_ = true;
  std::atomic<bool> ending_ = false;
  std::mutex mutex_;
  std::vector<int> open_;  ///< sockets, both sides; closed by who passes them on
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace fairwater::harness
