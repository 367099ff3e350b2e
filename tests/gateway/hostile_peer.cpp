#include "tests/gateway/hostile_peer.hpp"

#include <fstream>
#include <thread>

#include "tests/gateway/fake_frontend.hpp"
#include "tests/gateway/raw_peer.hpp"
#include "tests/gateway/samples.hpp"

namespace fairwater::test {
namespace {

std::int64_t status_kib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(field + ":", 0) == 0) return std::stoll(line.substr(field.size() + 1));
  FAIL("/proc/self/status has no " + field);
  return 0;
}

/// Takes every order and does nothing.
class IdleControl final : public wire::AgentControl::Server {
 protected:
  kj::Promise<void> orders(OrdersContext) override { return kj::READY_NOW; }
};

}  // namespace

std::string frame_head(std::initializer_list<std::uint32_t> numbers) {
  std::string bytes;
  for (const std::uint32_t number : numbers)
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(number >> shift));
  return bytes;
}

std::string login_bytes() {
  RawListener listener;
  std::string bytes;
  std::thread recorder([&] { bytes = listener.accept().read_all(); });
  const auto client = Client::connect(listener.address(), kOperatorToken, {.timeout_ms = 3000});
  recorder.join();
  REQUIRE_FALSE(client);
  REQUIRE(bytes.size() > 100);
  return bytes;
}

MemoryPeak::MemoryPeak() {
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  before_kib_ = status_kib("VmRSS");
}

std::int64_t MemoryPeak::grown_mib() const { return (status_kib("VmHWM") - before_kib_) / 1024; }

RegisterRequest registration(RpcPeer& peer) {
  auto request = peer.gateway().registerAgentRequest();
  request.setProtocolVersion(kProtocolVersion);
  request.setCredential("credential");
  request.setJoinToken(to_text(kJoinToken));
  encode(sample_node_spec(), request.initSpec());
  request.setControl(kj::heap<IdleControl>());
  return request;
}

}  // namespace fairwater::test
