// Several coordinators: addresses in turn, redirects, and a leader that does not answer.
#include "rpc/addresses.hpp"

#include <catch2/catch.hpp>

#include "rpc/sockets.hpp"
#include "tests/gateway/fake_agent.hpp"
#include "tests/gateway/fake_frontend.hpp"

namespace fairwater::test {
namespace {

const std::string kNobody = "127.0.0.1:1";

AddressList parsed(const std::string& text) {
  const auto list = AddressList::parse(text);
  REQUIRE(list);
  return *list;
}

/// Sends a report that is not answered.
void leave_unanswered(const LinkUp& up) {
  AgentReport report;
  report.running = kUnansweredReport;
  caf::anon_send(up.link, report);
}

std::string both(const FakeCoordinator& one, const FakeCoordinator& other) {
  return one.address() + "," + other.address();
}

}  // namespace

TEST_CASE("addresses are taken in turn, and a leader that is named comes first", "[unit]") {
  AddressList list = parsed("a:1, b:2,c:3");
  CHECK(list.text() == "a:1,b:2,c:3");
  CHECK(list.current() == "a:1");
  CHECK(list.other(0) == "b:2");
  CHECK(list.other(1) == "c:3");
  CHECK(list.other(2) == "b:2");
  list.advance();
  CHECK(list.current() == "b:2");
  CHECK(list.follow("c:3"));
  CHECK(list.current() == "c:3");
  CHECK(list.other(0) == "a:1");
  CHECK(list.follow("d:4"));
  CHECK(list.current() == "d:4");
  CHECK_FALSE(list.follow("nowhere"));
  CHECK(list.current() == "d:4");
  list.advance();
  CHECK(list.current() == "a:1");
  AddressList alone = parsed("a:1");
  alone.advance();
  CHECK(alone.current() == "a:1");
  CHECK(alone.other(5) == "a:1");
}

TEST_CASE("what is no list of addresses is refused", "[unit]") {
  for (const char* text : {"", "a", "a:1,", "a:1,,b:2", "a:1,b"}) {
    INFO(text);
    const auto list = AddressList::parse(text, "coordinator");
    REQUIRE_FALSE(list);
    CHECK(details(list.error()).field == "coordinator");
  }
}

TEST_CASE("where nobody can listen it is said why, and what would be right", "[unit]") {
  FakeCoordinator taken;
  const auto why = [](const std::string& address) {
    const ErrorDetails failed = details(check_can_listen(address));
    CHECK(failed.field == "listen");
    CHECK_THAT(failed.message, Catch::StartsWith("cannot listen on " + address + ": "));
    return failed.message;
  };
  CHECK_THAT(why(taken.address()), Catch::Contains("another process listens there"));
  // An address for examples (RFC 5737).
  CHECK_THAT(why("192.0.2.1:0"), Catch::Contains("this machine has no such address"));
  CHECK_THAT(why("no.host.invalid:0"), Catch::Contains("its host is not found"));
  for (const char* free : {"127.0.0.1:0", "*:0", "0.0.0.0:0"}) CHECK_FALSE(check_can_listen(free));
  auto io = kj::setupAsyncIo();
  CHECK_THAT(details(listen_on(io, taken.address()).error()).message,
             Catch::Contains("another process listens there"));
}

TEST_CASE("a client goes to the first that answers, and where one sends it", "[gateway]") {
  FakeCoordinator leader;
  FakeCoordinator follower;
  follower.seen->leader = leader.address();
  SECTION("past one that is not there") {
    const auto client = Client::connect(kNobody + "," + leader.address(), kOperatorToken);
    REQUIRE(client);
    CHECK((*client)->addresses().current() == leader.address());
    CHECK((*client)->remembers_requests());
    CHECK((*client)->takes_weights());
  }
  SECTION("when it logs in") {
    const auto client = Client::connect(follower.address(), kOperatorToken);
    REQUIRE(client);
    CHECK((*client)->status());
    CHECK(follower.seen->redirected.take() == "login");
  }
  SECTION("when it calls") {
    follower.seen->redirects_logins = false;
    const auto client = Client::connect(both(follower, leader), kOperatorToken);
    REQUIRE(client);
    CHECK((*client)->status());
    CHECK(follower.seen->redirected.take() == "status");
    CHECK((*client)->addresses().current() == leader.address());
  }
}

TEST_CASE("a client gives up on coordinators that name each other", "[gateway]") {
  FakeCoordinator one;
  FakeCoordinator other;
  one.seen->leader = other.address();
  other.seen->leader = one.address();
  const auto client = Client::connect(both(one, other), kOperatorToken);
  REQUIRE_FALSE(client);
  CHECK(details(client.error()).code == ErrorCode::not_leader);
  CHECK(is_retryable(details(client.error()).code));
}

TEST_CASE("an agent goes to the first that answers, and where one sends it", "[gateway]") {
  FakeCoordinator leader;
  FakeCoordinator follower;
  follower.seen->leader = leader.address();
  const std::string addresses =
      GENERATE(as<std::string>{}, "nobody, then the leader", "a follower alone", "both");
  FakeAgent agent(addresses == "both"               ? both(follower, leader)
                  : addresses == "a follower alone" ? follower.address()
                                                    : kNobody + "," + leader.address());
  agent.start();
  (void)agent.seen->ups.take();
  CHECK(leader.seen->registrations.size() == 1);
  CHECK(follower.seen->registrations.size() == 0);
}

TEST_CASE("an agent leaves a leader that does not answer for another", "[gateway]") {
  FakeCoordinator silent;
  FakeCoordinator next;
  FakeCoordinator follower;
  follower.seen->leader = next.address();
  const bool is_told = GENERATE(false, true);
  FakeAgent agent(both(silent, is_told ? follower : next));
  agent.options.call_timeout_ms = 600'000;  // it is not that which makes it leave
  agent.start();
  const LinkUp first = agent.seen->ups.take();
  leave_unanswered(first);
  (void)next.seen->registrations.take();
  CHECK(agent.seen->downs.take());
  LinkUp up = agent.seen->ups.take();
  CHECK(silent.seen->ended_links.take() == caf::exit_reason::user_shutdown);
  // One that answers late is left as well.
  bool is_answered = false;
  for (int i = 0; i < 10 && !is_answered; ++i) {
    if (i > 0) up = agent.seen->ups.take();
    is_answered = agent.report(up, sample_report()).engaged();
  }
  CHECK(is_answered);
}

TEST_CASE("an agent stays with a slow leader while others name it", "[gateway]") {
  FakeCoordinator slow;
  FakeCoordinator follower;
  follower.seen->leader = slow.address();
  FakeAgent agent(both(slow, follower));
  agent.options.call_timeout_ms = 600'000;
  agent.start();
  const LinkUp up = agent.seen->ups.take();
  leave_unanswered(up);
  CHECK(follower.seen->redirected.take() == "registration");
  CHECK(follower.seen->redirected.take() == "registration");  // asked again after a while
  CHECK(agent.seen->downs.size() == 0);
  CHECK(slow.seen->registrations.size() == 1);
  REQUIRE(agent.report(up, sample_report()));
}

}  // namespace fairwater::test
