// How fast a call crosses from TCP to an actor and back. Hidden: run with "[figure]".
#include <chrono>
#include <cstdio>

#include "tests/gateway/fake_frontend.hpp"
#include "tests/gateway/rpc_peer.hpp"

using namespace fairwater;
using namespace fairwater::test;

namespace {

/// Calls until `left` are used up, one at a time.
kj::Promise<void> call_in_turn(RpcPeer& peer, int& left) {
  if (left == 0) return kj::READY_NOW;
  --left;
  return peer.session().getStatusRequest().send().ignoreResult().then(
      [&peer, &left] { return call_in_turn(peer, left); });
}

double calls_per_second(const std::string& address, int in_flight, int calls) {
  RpcPeer peer(address);
  REQUIRE(peer.run([](RpcPeer& self) { return self.log_in(kTenantToken); }).empty());
  const auto start = std::chrono::steady_clock::now();
  int left = calls;
  peer.run([&](RpcPeer& self) {
    auto lanes = kj::heapArrayBuilder<kj::Promise<void>>(static_cast<std::size_t>(in_flight));
    for (int i = 0; i < in_flight; ++i) lanes.add(call_in_turn(self, left));
    return kj::joinPromises(lanes.finish());
  });
  return calls / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("round trips per second from TCP to an actor and back", "[.][figure]") {
  const FakeCoordinator coordinator;
  for (const int in_flight : {1, 64}) {
    const double rate = calls_per_second(coordinator.address(), in_flight, 20'000);
    CHECK(rate > 0);
    std::printf("figure gateway_round_trips_%d_in_flight %.0f calls/s\n", in_flight, rate);
  }
}
