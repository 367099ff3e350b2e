// Several coordinators of which one leads: whom clients and agents ask.

#include <caf/all.hpp>
#include <catch2/catch.hpp>

#include "actors/coordinator/follower.hpp"
#include "gateway/server.hpp"
#include "tests/gateway/fake_agent.hpp"
#include "tests/gateway/fake_frontend.hpp"

using namespace fairwater;
using namespace fairwater::test;

namespace {

/// A coordinator that follows.
struct Follower {
  Follower() {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    auto started = Server::start(system, spawn_follower(system, leader), options);
    REQUIRE(started);
    server = std::move(*started);
  }
  ~Follower() { server.reset(); }

  caf::actor_system_config config;
  caf::actor_system system{config};
  std::shared_ptr<KnownLeader> leader = std::make_shared<KnownLeader>();
  std::unique_ptr<Server> server;
};

const std::string kUnusedAddress = "127.0.0.1:1";

}  // namespace

TEST_CASE("a client finds the coordinator that leads", "[gateway]") {
  FakeCoordinator leader;
  Follower follower;
  const std::string several = kUnusedAddress + "," + follower.server->address();
  // As long as nobody is known to lead it says so.
  for (const auto& addresses : {several, follower.server->address() + "," + kUnusedAddress}) {
    const auto refused = Client::connect(addresses, kOperatorToken);
    REQUIRE_FALSE(refused);
    CHECK(details(refused.error()).code == ErrorCode::not_leader);
    CHECK_THAT(details(refused.error()).message, Catch::Contains("nobody leads at the moment"));
  }
  // The one that leads has fallen, and nobody has noticed yet.
  follower.leader->set("one", kUnusedAddress);
  const auto fallen = Client::connect(several, kOperatorToken);
  REQUIRE_FALSE(fallen);
  CHECK(details(fallen.error()).code == ErrorCode::not_leader);

  follower.leader->set("one", leader.address());
  for (const auto& addresses :
       {several, follower.server->address(), follower.server->address() + "," + kUnusedAddress}) {
    INFO(addresses);
    const auto client = Client::connect(addresses, kOperatorToken);
    REQUIRE(client);
    CHECK((*client)->caller().role == Role::operator_role);
  }
  // A wrong token is wrong with the one that leads, too.
  const auto wrong = Client::connect(several, "fw_op_wrong");
  REQUIRE_FALSE(wrong);
  CHECK(details(wrong.error()).code == ErrorCode::unauthenticated);
}

TEST_CASE("an agent finds the coordinator that leads, and the next one", "[gateway]") {
  auto first = std::make_unique<FakeCoordinator>();
  FakeCoordinator second;
  Follower follower;
  follower.leader->set("one", first->address());
  FakeAgent agent(kUnusedAddress + "," + follower.server->address());
  agent.start();
  CHECK(first->seen->registrations.take().joining);
  (void)agent.seen->ups.take();

  follower.leader->set("two", second.address());
  first.reset();
  CHECK(agent.seen->downs.take());
  CHECK_FALSE(second.seen->registrations.take().joining);
  (void)agent.seen->ups.take();
}
