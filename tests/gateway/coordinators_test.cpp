// Several coordinators of which one leads: whom clients and agents ask.
#include "rpc/coordinators.hpp"

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

const std::string kNobody = "127.0.0.1:1";

}  // namespace

TEST_CASE("of several coordinators each is asked in turn, and whom they name", "[unit][gateway]") {
  auto found = Coordinators::parse("a:1,b:2,[::1]:3");
  REQUIRE(found);
  CHECK(found->count() == 3);
  CHECK(found->current() == "a:1");
  const auto gone = make_error(ErrorCode::unavailable, "gone");
  found->turn(gone);
  CHECK(found->current() == "b:2");
  // Who leads need not be among them; if it is gone, the turn goes on.
  found->turn(make_error(ErrorCode::not_leader, "another leads", "c:4"));
  CHECK(found->current() == "c:4");
  found->turn(gone);
  CHECK(found->current() == "b:2");
  found->turn(make_error(ErrorCode::not_leader, "nobody leads"));
  CHECK(found->current() == "[::1]:3");
  // It names itself, or nonsense: no place to stay at.
  found->turn(make_error(ErrorCode::not_leader, "I", "[::1]:3"));
  CHECK(found->current() == "a:1");
  found->turn(make_error(ErrorCode::not_leader, "nonsense", "nonsense"));
  CHECK(found->current() == "b:2");

  for (const char* text : {"", "a", "a:1,", ",a:1", "a:1,,b:2", "a:1, b"}) {
    INFO(text);
    const auto refused = Coordinators::parse(text, "coordinator");
    REQUIRE_FALSE(refused);
    CHECK(details(refused.error()).field == "coordinator");
  }
}

TEST_CASE("a client finds the coordinator that leads", "[gateway]") {
  FakeCoordinator leader;
  Follower follower;
  const std::string several = kNobody + "," + follower.server->address();
  // As long as nobody is known to lead it says so.
  const auto refused = Client::connect(several, kOperatorToken);
  REQUIRE_FALSE(refused);
  CHECK(details(refused.error()).code == ErrorCode::unavailable);
  CHECK_THAT(details(refused.error()).message,
             Catch::Contains("no coordinator answers at " + several));

  follower.leader->set("one", leader.address());
  for (const auto& addresses :
       {several, follower.server->address(), follower.server->address() + "," + kNobody}) {
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
  FakeAgent agent(kNobody + "," + follower.server->address());
  agent.start();
  CHECK(first->seen->registrations.take().joining);
  (void)agent.seen->ups.take();

  follower.leader->set("two", second.address());
  first.reset();
  CHECK(agent.seen->downs.take());
  CHECK_FALSE(second.seen->registrations.take().joining);
  (void)agent.seen->ups.take();
}

TEST_CASE("an agent of several leaves a coordinator that is silent", "[gateway]") {
  FakeCoordinator silent;
  FakeCoordinator second;
  FakeAgent agent(silent.address() + "," + second.address());
  agent.start();
  const LinkUp up = agent.seen->ups.take();
  AgentReport unanswered;
  unanswered.running = kUnansweredReport;
  CHECK_FALSE(agent.report(up, unanswered));
  CHECK_FALSE(second.seen->registrations.take().joining);
}
