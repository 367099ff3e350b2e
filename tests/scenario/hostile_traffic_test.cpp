#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <random>
#include <sys/resource.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

/// A TCP connection to the cluster's port that speaks no protocol.
class RawConnection {
 public:
  explicit RawConnection(const std::string& address)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    REQUIRE(socket_ >= 0);
    const auto colon = address.rfind(':');
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(static_cast<std::uint16_t>(std::stoul(address.substr(colon + 1))));
    inet_pton(AF_INET, address.substr(0, colon).c_str(), &where.sin_addr);
    connected_ = connect(socket_, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
  }
  ~RawConnection() { close(socket_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;
  [[nodiscard]] bool connected() const { return connected_; }
  /// False when the other end has hung up.
  bool send_bytes(std::string_view bytes) const {
    return send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
  }

 private:
  int socket_;
  bool connected_ = false;
};

std::string random_bytes(std::mt19937& random, std::size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

/// A Cap'n Proto frame header: segment count minus one, then the first segment's words; little
/// endian.
std::string frame_header(std::uint32_t segments_minus_one, std::uint32_t words) {
  std::string header(8, '\0');
  std::memcpy(header.data(), &segments_minus_one, 4);
  std::memcpy(header.data() + 4, &words, 4);
  return header;
}

TEST_CASE("garbage, truncated and slow connections and 1,000 idle ones disturb no work",
          "[scenario]") {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 4096);
  setrlimit(RLIMIT_NOFILE, &files);
  std::mt19937 random(7);

  Cluster cluster({.agents = {{"node1"}, {"node2"}}, .tenants = tenants({{"steady", 1}})});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const auto id = cluster.submit(job_file("steady", 80, log.command_line("sleep 0.4")));

  std::vector<std::unique_ptr<RawConnection>> idle;
  for (int i = 0; i < 1000; ++i) {
    idle.push_back(std::make_unique<RawConnection>(cluster.address()));
    REQUIRE(idle.back()->connected());
  }
  for (int i = 0; i < 200; ++i) {
    const RawConnection garbage(cluster.address());
    garbage.send_bytes(random_bytes(random, 1 + random() % 4096));
  }
  const std::vector<std::string> headers{
      frame_header(0xFFFFFFFFu, 1),  // overflows a reader that adds one
      frame_header(0, 0xFFFFFFFFu),  // announces 32 GiB
      frame_header(511, 1), frame_header(0, 0), frame_header(0, 100)};
  std::vector<std::unique_ptr<RawConnection>> stalled;
  for (const std::string& header : headers) {
    for (int i = 0; i < 10; ++i) {
      stalled.push_back(std::make_unique<RawConnection>(cluster.address()));
      stalled.back()->send_bytes(header);
      if (i % 2 == 0) stalled.back()->send_bytes(random_bytes(random, 64));
    }
  }
  const RawConnection slow(cluster.address());
  const std::string trickle = frame_header(0, 64);
  int slow_answers = 0;
  for (int i = 0; i < 20; ++i) {
    slow.send_bytes(std::string_view(trickle).substr(static_cast<std::size_t>(i) % 8, 1));
    const auto asked = std::chrono::steady_clock::now();
    const json status = cluster.ask({"status"});
    slow_answers += std::chrono::steady_clock::now() - asked < Duration(2'000) ? 0 : 1;
  }
  CHECK(slow_answers <= 10);  // a busy machine has some of its own
  CHECK(cluster.wait({id}) == 0);
  CHECK(each_ran_once(log, {{id, 80}}));
  CHECK(cluster.coordinator().running());
  CHECK(ledger_is_sound(cluster));
}

}  // namespace
}  // namespace fairwater::scenario
