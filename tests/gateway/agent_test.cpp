// An agent's connection: registration, reports, orders, logs, and what happens when either side
// goes.
#include <filesystem>

#include <caf/all.hpp>

#include "process/temporary_directory.hpp"
#include "rpc/agent/agent_client.hpp"
#include "rpc/tokens.hpp"
#include "schema/byte_budget.hpp"
#include "tests/gateway/fake_agent.hpp"
#include "tests/gateway/fake_frontend.hpp"
#include "tests/gateway/raw_peer.hpp"
#include "tests/gateway/samples.hpp"

using namespace fairwater;
using namespace fairwater::test;

namespace {

AgentOrders orders_numbered(std::uint64_t number) {
  AgentOrders orders = sample_orders();
  orders.launches.front().epoch = number;
  return orders;
}

}  // namespace

TEST_CASE("an agent registers with what its node is, and keeps its credential", "[gateway]") {
  FakeCoordinator coordinator;
  FakeAgent agent(coordinator.address());
  agent.start();
  const RegisterNode registration = coordinator.seen->registrations.take();
  CHECK(registration.spec == sample_node_spec());
  CHECK(registration.report == sample_report());
  CHECK(registration.joining);
  CHECK(registration.identity.memory == sample_identity().memory);
  CHECK(registration.identity.run == sample_identity().run);
  CHECK(registration.identity.moved);
  const LinkUp up = agent.seen->ups.take();
  CHECK(up.epoch == 6);
  CHECK(up.cluster_id == "cluster_7");
  CHECK(up.reply == sample_reply());
  CHECK(up.sent_boottime_ms > 0);
  const auto credential = read_secret_file(agent.options.credential_file);
  REQUIRE(credential);
  CHECK(same_hash(registration.credential_hash, hash_token(*credential)));
}

TEST_CASE("reports reach the node's actor and come back answered", "[gateway]") {
  FakeCoordinator coordinator;
  FakeAgent agent(coordinator.address());
  agent.start();
  const LinkUp up = agent.seen->ups.take();
  const auto reply = agent.report(up, sample_report());
  REQUIRE(reply);
  const AgentReport arrived = coordinator.seen->reports.take();
  AgentReport sent = sample_report();
  sent.session = kSession;
  CHECK(arrived == sent);
  CHECK(reply->acknowledged == std::vector{sent.finished.front().task, sent.finished.back().task});
  CHECK(reply->lease_ms == sample_reply().lease_ms);
}

TEST_CASE("orders arrive complete and in order", "[gateway]") {
  FakeCoordinator coordinator;
  FakeAgent agent(coordinator.address());
  agent.start();
  const AgentLink link = coordinator.seen->registrations.take().link;
  constexpr std::uint64_t kBatches = 500;
  for (std::uint64_t i = 0; i < kBatches; ++i) caf::anon_send(link, orders_numbered(i));
  for (std::uint64_t i = 0; i < kBatches; ++i)
    REQUIRE(agent.seen->orders.take() == orders_numbered(i));
}

TEST_CASE("orders of any size arrive, in messages that fit", "[gateway]") {
  FakeCoordinator coordinator;
  FakeAgent agent(coordinator.address());
  agent.start();
  const AgentLink link = coordinator.seen->registrations.take().link;
  // What a job of 150 tasks with an environment of 100 KB is to a node that comes back.
  AgentOrders orders = orders_numbered(1);
  orders.launches.front().environment.change()["LARGE"].assign(100'000, 'x');
  orders.launches.assign(150, LaunchOrder(orders.launches.front()));
  for (std::uint32_t i = 0; i < 150; ++i) orders.launches[i].task.index = i;
  orders.stops.resize(100'000, orders.stops.front());
  orders.members.resize(10'000, orders.members.front());
  caf::scoped_actor self{coordinator.system};
  auto taken = self->request(link, kPatience, orders);
  AgentOrders arrived;
  while (arrived.stops.size() < orders.stops.size() ||
         arrived.members.size() < orders.members.size()) {
    const AgentOrders part = agent.seen->orders.take();
    if (!part.launches.empty()) CHECK(arrived.stops.empty());  // launches before stops
    CHECK(part.launches.size() <= kMessageBudgetBytes / 100'000);
    arrived.launches.insert(arrived.launches.end(), part.launches.begin(), part.launches.end());
    arrived.stops.insert(arrived.stops.end(), part.stops.begin(), part.stops.end());
    if (!part.members.empty()) CHECK(arrived.stops.size() == orders.stops.size());
    arrived.members.insert(arrived.members.end(), part.members.begin(), part.members.end());
  }
  CHECK(arrived == orders);
  taken.receive([](const OrdersTaken&) {},
                [](const caf::error& error) { FAIL(details(error).message); });
  REQUIRE(agent.report(agent.seen->ups.take(), sample_report()));  // on the same connection
}

TEST_CASE("an agent that leaves its coordinator shows itself again later", "[gateway]") {
  FakeCoordinator coordinator;
  FakeAgent agent(coordinator.address());
  agent.start();
  CHECK(coordinator.seen->registrations.take().identity == agent.seen->identity);
  const LinkUp up = agent.seen->ups.take();
  caf::anon_send_exit(up.link, caf::exit_reason::user_shutdown);
  CHECK(coordinator.seen->ended_links.take() == caf::exit_reason::user_shutdown);
  CHECK(agent.seen->downs.take());
  (void)coordinator.seen->registrations.take();
  CHECK(agent.seen->ups.take().link != up.link);
}

TEST_CASE("orders that the agent did not take fail with its connection", "[gateway]") {
  FakeCoordinator coordinator;
  FakeAgent agent(coordinator.address());
  agent.start();
  const AgentLink link = coordinator.seen->registrations.take().link;
  agent.seen->ups.take();
  agent.client.reset();
  caf::scoped_actor self{coordinator.system};
  self->request(link, kPatience, orders_numbered(1))
      .receive([](const OrdersTaken&) { FAIL("nobody can have taken them"); },
               [](const caf::error&) {});
}

TEST_CASE("results of an agent that knows no bound are cut", "[gateway]") {
  FakeCoordinator coordinator;
  FakeAgent agent(coordinator.address());
  agent.start();
  AgentReport report = sample_report();
  report.finished.resize(1);
  report.finished.front().message.assign(90'000, 'p');
  REQUIRE(agent.report(agent.seen->ups.take(), report));
  CHECK(coordinator.seen->reports.take().finished.front().message.size() == kMaxResultMessageBytes);
}

TEST_CASE("a log is read from the agent, with its errors", "[gateway]") {
  FakeCoordinator coordinator;
  FakeAgent agent(coordinator.address());
  agent.start();
  const AgentLink link = coordinator.seen->registrations.take().link;
  agent.seen->ups.take();
  caf::scoped_actor self{coordinator.system};
  const auto fail = [](const caf::error& error) { FAIL(details(error).message); };
  self->request(link, kPatience, ReadAgentLog{{JobId{1}, 2, 3}, true, 55})
      .receive(
          [](const LogChunk& chunk) {
            CHECK(chunk.data == "from 55");
            CHECK(chunk.end);
          },
          fail);
  self->request(link, kPatience, ReadAgentLog{{kMissingJob, 0, 1}, false, 0})
      .receive([](const LogChunk&) { FAIL("a log that does not exist was read"); },
               [](const caf::error& error) { CHECK(details(error).code == ErrorCode::not_found); });
}

TEST_CASE("when the agent goes, its link ends and open requests fail", "[gateway]") {
  FakeCoordinator coordinator;
  FakeAgent agent(coordinator.address());
  agent.start();
  agent.seen->ups.take();
  agent.client.reset();
  CHECK(coordinator.seen->ended_links.take() == caf::exit_reason::user_shutdown);
  CHECK(agent.seen->downs.take());
}

TEST_CASE("an agent comes back to a restarted coordinator with its credential alone", "[gateway]") {
  FakeCoordinator coordinator;
  FakeAgent agent(coordinator.address());
  agent.start();
  const RegisterNode first = coordinator.seen->registrations.take();
  const LinkUp lost = agent.seen->ups.take();

  ServerOptions options;
  options.listen = coordinator.address();
  coordinator.server.reset();
  CHECK(agent.seen->downs.take());
  const auto refused = agent.report(lost, sample_report());
  REQUIRE_FALSE(refused);
  auto restarted = Server::start(coordinator.system, coordinator.frontend, options);
  REQUIRE(restarted);
  coordinator.server = std::move(*restarted);

  const RegisterNode second = coordinator.seen->registrations.take();
  CHECK_FALSE(second.joining);
  CHECK(same_hash(second.credential_hash, first.credential_hash));
  REQUIRE(agent.report(agent.seen->ups.take(), sample_report()));
}

TEST_CASE("an agent that is refused keeps asking and stores nothing as accepted", "[gateway]") {
  FakeCoordinator coordinator;
  FakeAgent agent(coordinator.address(), "fw_jn_wrong");
  agent.start();
  const AgentCredential first = coordinator.seen->refusals.take();
  const AgentCredential second = coordinator.seen->refusals.take();
  CHECK(same_hash(first.credential_hash, second.credential_hash));
  CHECK_FALSE(std::filesystem::exists(agent.options.credential_file));
  CHECK(agent.seen->ups.size() == 0);
}

TEST_CASE("when a node's actor ends, its agent registers again", "[gateway]") {
  FakeCoordinator coordinator;
  FakeAgent agent(coordinator.address());
  agent.start();
  agent.seen->ups.take();
  caf::anon_send_exit(coordinator.node, caf::exit_reason::kill);
  CHECK(agent.seen->downs.take());
  coordinator.seen->registrations.take();
  coordinator.seen->registrations.take();
}

TEST_CASE("a report without an answer ends the connection, and the agent reconnects", "[gateway]") {
  FakeCoordinator coordinator;
  FakeAgent agent(coordinator.address());
  agent.options.call_timeout_ms = 300;
  agent.start();
  AgentReport unanswered = sample_report();
  unanswered.running = kUnansweredReport;
  const auto reply = agent.report(agent.seen->ups.take(), unanswered);
  REQUIRE_FALSE(reply);
  CHECK(details(reply.error()).code == ErrorCode::unavailable);
  CHECK(agent.seen->downs.take());
  bool is_answered = false;  // in time, of several tries
  for (int i = 0; i < 10 && !is_answered; ++i)
    is_answered = agent.report(agent.seen->ups.take(), sample_report()).engaged();
  CHECK(is_answered);
}

TEST_CASE("an agent that is refused as a duplicate is told so, and asks on", "[gateway]") {
  FakeCoordinator coordinator;
  FakeAgent agent(coordinator.address());
  agent.seen->identity.run = kDuplicateRun;
  agent.start();
  CHECK(agent.seen->duplicates.take() == "duplicate agent");
  CHECK(agent.seen->duplicates.take() == "duplicate agent");
  CHECK(agent.seen->ups.size() == 0);
}

TEST_CASE("when a node's actor ends an agent's link, the connection closes", "[gateway]") {
  FakeCoordinator coordinator;
  FakeAgent agent(coordinator.address());
  agent.start();
  const AgentLink link = coordinator.seen->registrations.take().link;
  agent.seen->ups.take();
  caf::anon_send_exit(link, caf::exit_reason::user_shutdown);
  CHECK(agent.seen->downs.take());
}

TEST_CASE("a coordinator that accepts and says nothing is given up", "[gateway]") {
  RawListener silent;
  FakeAgent agent(silent.address());
  agent.options.lone_timeout_ms = 100;
  agent.start();
  const RawPeer first = silent.accept();
  const RawPeer second = silent.accept();
  CHECK(agent.seen->ups.size() == 0);
}

TEST_CASE("an agent without a place for what it keeps is told at once", "[gateway]") {
  FakeAgent agent("127.0.0.1:1");
  const auto field_refused = [&](std::string AgentClientOptions::*file) {
    AgentClientOptions options = agent.options;
    (options.*file).clear();
    return details(AgentClient::start(agent.system, agent.agent, options).error()).field;
  };
  CHECK(field_refused(&AgentClientOptions::credential_file) == "credential_file");
  CHECK(field_refused(&AgentClientOptions::coordinator_key_file) == "coordinator_key_file");
}

TEST_CASE("an agent without credential and join token is told at once", "[gateway]") {
  FakeAgent agent("127.0.0.1:1", "");
  const auto started = AgentClient::start(agent.system, agent.agent, agent.options);
  REQUIRE_FALSE(started);
  CHECK(details(started.error()).code == ErrorCode::invalid_input);
  CHECK(details(started.error()).field == "join_token");
}
