// Messages that are broken, too long or too old: each is refused, and a client beside them works
// on.
#include <random>

#include "tests/gateway/fake_frontend.hpp"
#include "tests/gateway/hostile_peer.hpp"
#include "tests/gateway/raw_peer.hpp"
#include "tests/gateway/samples.hpp"

using namespace fairwater;
using namespace fairwater::test;

namespace {

/// Makes one of the struct's pointers a list of this many elements of so many words.
template <class Builder>
void claim_list(Builder builder, unsigned elements, unsigned pointer = 0, std::uint16_t words = 0) {
  capnp::AnyStruct::Builder any(kj::mv(builder));
  any.getPointerSection()[pointer].initAsListOfAnyStruct(words, 0, elements);
}

template <class Request>
kj::Promise<std::string> error_code_of(Request request) {
  return request.send().then(
      [](auto&& response) { return to_std_string(response.getError().getCode()); },
      [](kj::Exception&& fault) { return std::string(fault.getDescription().cStr()); });
}

}  // namespace

TEST_CASE("random bytes are refused and harm nobody", "[gateway][hostile]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  std::mt19937 random(20);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(std::uniform_int_distribution<std::size_t>(0, 2000)(random), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const RawPeer peer(coordinator.address());
    peer.send(bytes);
    peer.end_sending();
    peer.wait_until_closed();
    if (round % 20 == 0) check_works(*client);
  }
  check_works(*client);
}

TEST_CASE("a valid message cut off anywhere is refused", "[gateway][hostile]") {
  const std::string valid = login_bytes();
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  for (std::size_t size = 0; size < valid.size(); ++size) {
    const RawPeer peer(coordinator.address());
    peer.send(valid.substr(0, size));
    peer.end_sending();
    peer.wait_until_closed();
  }
  check_works(*client);
}

TEST_CASE("a valid message with any one byte changed harms nobody", "[gateway][hostile]") {
  const std::string valid = login_bytes();
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  for (std::size_t at = 0; at < valid.size(); ++at) {
    std::string changed = valid;
    changed[at] = static_cast<char>(~changed[at]);
    const RawPeer peer(coordinator.address());
    peer.send(changed);
    peer.end_sending();
    peer.wait_until_closed();
  }
  check_works(*client);
}

TEST_CASE("a frame that announces too much is refused before its body comes",
          "[gateway][hostile]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  const std::string segments_past_32_bits = frame_head({0xFFFFFFFF, 1});
  const std::string too_many_segments = frame_head({kMaxSegments, 1});
  const std::string body_of_32_gib = frame_head({0, 0xFFFFFFFF});
  const std::string above_the_anonymous_limit = frame_head({0, (2u << 20) / 8 + 1});
  const std::string sum_past_32_bits = frame_head({2, 0xFFFFFFFF, 0xFFFFFFFF, 3});
  for (const auto& head : {segments_past_32_bits, too_many_segments, body_of_32_gib,
                           above_the_anonymous_limit, sum_past_32_bits}) {
    const RawPeer peer(coordinator.address());
    REQUIRE(peer.send(head));
    peer.wait_until_closed();  // although the peer keeps its side open
  }
  check_works(*client);
}

TEST_CASE("a protocol version that is too old is refused by name", "[gateway][hostile]") {
  FakeCoordinator coordinator;
  RpcPeer peer(coordinator.address());
  const auto code = peer.run([](RpcPeer& self) {
    auto request = self.gateway().loginRequest();
    request.setToken(to_text(kOperatorToken));
    request.setProtocolVersion(0);
    return request.send().then(
        [](auto&& response) { return to_std_string(response.getError().getCode()); });
  });
  CHECK(code == "not_supported");
}

TEST_CASE("a list that is long for nothing is refused", "[gateway][hostile]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  constexpr unsigned kElements = 1'000'000;

  RpcPeer stranger(coordinator.address());
  const MemoryPeak peak;
  CHECK(stranger.run([&](RpcPeer& self) {
    auto request = registration(self);
    claim_list(request.initReport(), kElements);
    return error_code_of(kj::mv(request));
  }) == "invalid_input");
  CHECK(peak.grown_mib() < 16);
  check_works(*client);
  // Two hundred thousand results of a word each, where a result has eight.
  RpcPeer thin(coordinator.address());
  CHECK(thin.run([&](RpcPeer& self) {
    auto request = registration(self);
    claim_list(request.initReport(), 200'000, 1, 1);
    return error_code_of(kj::mv(request));
  }) == "invalid_input");
  CHECK(peak.grown_mib() < 32);  // the message, here and there

  // A stranger's is not even looked at.
  RpcPeer unknown(coordinator.address());
  CHECK(unknown.run([&](RpcPeer& self) {
    auto request = registration(self);
    request.setJoinToken("fw_jn_wrong");
    claim_list(request.initReport(), kElements);
    return error_code_of(kj::mv(request));
  }) == "unauthenticated");

  RpcPeer agent(coordinator.address());
  CHECK(agent.run([&](RpcPeer& self) {
    return registration(self).send().then([&](auto&& registered) {
      auto request = registered.getSession().heartbeatRequest();
      claim_list(request.initReport(), kElements);
      return error_code_of(kj::mv(request)).attach(kj::mv(registered));
    });
  }) == "invalid_input");

  RpcPeer user(coordinator.address());
  CHECK(user.run([](RpcPeer& self) { return self.log_in(kOperatorToken); }).empty());
  CHECK(user.run([&](RpcPeer& self) {
    auto request = self.session().castAs<wire::OperatorSession>().applyTenantsRequest();
    claim_list(wire::OperatorSession::ApplyTenantsParams::Builder(request), kElements);
    return error_code_of(kj::mv(request));
  }) == "invalid_input");
  // Also where the message is large enough for as many words.
  CHECK(user.run([&](RpcPeer& self) {
    auto request = self.session().castAs<wire::OperatorSession>().applyTenantsRequest();
    claim_list(wire::OperatorSession::ApplyTenantsParams::Builder(request), 100'000);
    capnp::Orphanage::getForMessageContaining(
        wire::OperatorSession::ApplyTenantsParams::Builder(request))
        .newOrphan<capnp::Data>(1u << 20);
    return error_code_of(kj::mv(request));
  }) == "invalid_input");
  check_works(*client);
}
