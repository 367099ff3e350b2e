// Peers that are slow, many or gone, and those that guess: a client beside them works on.
#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <memory>
#include <thread>
#include <unistd.h>
#include <vector>

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "tests/gateway/fake_agent.hpp"
#include "tests/gateway/fake_frontend.hpp"
#include "tests/gateway/hostile_peer.hpp"
#include "tests/gateway/raw_peer.hpp"
#include "tests/gateway/samples.hpp"

using namespace fairwater;
using namespace fairwater::test;

namespace {

/// While it lives, log lines that contain `text` are events. To be made before anything that logs
/// from a thread of its own: the default logger is not to be changed under those that use it.
class LogWatch {
 public:
  explicit LogWatch(std::string text) : previous_(spdlog::default_logger()) {
    sink_ = std::make_shared<Sink>(std::move(text));
    auto logger = std::make_shared<spdlog::logger>("watch", sink_);
    logger->set_level(spdlog::level::trace);
    spdlog::set_default_logger(logger);
  }
  ~LogWatch() { spdlog::set_default_logger(previous_); }
  void wait() { sink_->seen.take(); }

 private:
  struct Sink final : spdlog::sinks::base_sink<std::mutex> {
    explicit Sink(std::string what) : text(std::move(what)) {}
    void sink_it_(const spdlog::details::log_msg& message) override {
      const std::string line(message.payload.data(), message.payload.size());
      if (line.find(text) != std::string::npos) seen.put(true);
    }
    void flush_() override {}
    std::string text;
    Channel<bool> seen;
  };

  std::shared_ptr<spdlog::logger> previous_;
  std::shared_ptr<Sink> sink_;
};

/// The server learns of a free place when it reads the end of the connection that had it.
void check_place_is_given_again(FakeCoordinator& coordinator) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  auto again = Client::connect(coordinator.address(), kTenantToken);
  while (!again && std::chrono::steady_clock::now() < deadline)
    again = Client::connect(coordinator.address(), kTenantToken);
  CHECK(again);
}

/// A client that has logged in and sends most of a message of 128 KiB.
std::unique_ptr<RpcPeer> half_message(const FakeCoordinator& coordinator,
                                      const std::string& token) {
  auto peer = std::make_unique<RpcPeer>(coordinator.address());
  CHECK(peer->run([&](RpcPeer& self) { return self.log_in(token); }).empty());
  peer->run([](RpcPeer& self) {
    return self.send_raw(frame_head({0, (128u << 10) / 8}) + std::string(100'000, '\0'));
  });
  return peer;
}

}  // namespace

TEST_CASE("a connection that does not log in in time is closed", "[gateway][hostile]") {
  ServerOptions options;
  options.login_timeout_ms = 3000;
  FakeCoordinator coordinator(options);
  const auto client = coordinator.client(kTenantToken);
  const RawPeer silent(coordinator.address());
  const RawPeer dribbling(coordinator.address());
  REQUIRE(dribbling.send(std::string(1, '\0')));
  const RawPeer within_a_body(coordinator.address());
  REQUIRE(within_a_body.send(frame_head({0, 100}) + "body"));
  silent.wait_until_closed();
  dribbling.wait_until_closed();
  within_a_body.wait_until_closed();
  check_works(*client);  // who has logged in stays
}

TEST_CASE("what the coordinator takes to let an agent in is not its time", "[gateway]") {
  ServerOptions options;
  options.login_timeout_ms = 500;
  FakeCoordinator busy(options);
  busy.seen->holds_nodes = true;
  FakeAgent agent(busy.address());
  agent.options.call_timeout_ms = 100;  // there is nobody else to ask: it waits on
  agent.start();
  busy.seen->registrations.take();
  const RawPeer later(busy.address());
  later.wait_until_closed();
  busy.release_waits();
  (void)agent.seen->ups.take();
  CHECK(busy.seen->registrations.size() == 0);
  CHECK(agent.seen->downs.size() == 0);
}

TEST_CASE("a peer that is refused is closed when its time is over", "[gateway][hostile]") {
  ServerOptions options;
  options.login_timeout_ms = 50;  // within the first answer's delay
  FakeCoordinator coordinator(options);
  RpcPeer peer(coordinator.address());
  CHECK(peer.run([](RpcPeer& self) { return self.log_in("fw_op_wrong"); }) == "unauthenticated");
  peer.run([](RpcPeer& self) { return self.closed(); });
}

TEST_CASE("a client works beside 1,000 idle connections", "[gateway][hostile]") {
  const FileLimit limit;
  limit.set(4096);
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  std::vector<RawPeer> idle;
  for (int i = 0; i < 1000; ++i) {
    idle.emplace_back(coordinator.address());
    if (i % 2 == 0) REQUIRE(idle.back().send(frame_head({0, 8})));
  }
  std::vector<std::chrono::steady_clock::duration> took;
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    check_works(*client);
    took.push_back(std::chrono::steady_clock::now() - start);
  }
  std::sort(took.begin(), took.end());
  CHECK(took[took.size() / 2] < std::chrono::milliseconds(200));
  CHECK(coordinator.client(kTenantToken)->status());  // newcomers too
}

TEST_CASE("one peer cannot take all connections", "[gateway][hostile]") {
  ServerOptions options;
  options.max_connections_per_peer = 3;
  FakeCoordinator coordinator(options);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(coordinator.client(kTenantToken));
  const RawPeer fourth(coordinator.address());
  fourth.wait_until_closed();
  check_works(*clients.front());
  clients.pop_back();
  check_place_is_given_again(coordinator);
}

TEST_CASE("an operator gets in when all places are taken, others hear why not", "[gateway]") {
  ServerOptions options;
  options.max_connections = 2;
  options.operator_connections = 2;
  FakeCoordinator coordinator(options);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 2; ++i) clients.push_back(coordinator.client(kTenantToken));
  const auto refused = [&] {
    const auto client = Client::connect(coordinator.address(), kTenantToken);
    REQUIRE_FALSE(client);
    return details(client.error());
  };
  CHECK(refused().code == ErrorCode::overloaded);
  CHECK(refused().message ==
        "the coordinator serves 2 connections, as many as it may; try again later");
  const auto first = coordinator.client(kOperatorToken);
  const auto second = coordinator.client(kOperatorToken);
  check_works(*first);
  const RawPeer one_more(coordinator.address());
  one_more.wait_until_closed();
  check_works(*second);
  clients.pop_back();
  check_place_is_given_again(coordinator);
}

TEST_CASE("the server outlives a shortage of file descriptors", "[gateway][hostile]") {
  LogWatch refused("cannot accept a connection");
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  const std::string login = login_bytes();
  const FileLimit limit;
  const int waiting = unconnected_socket();
  // All numbers below `waiting` are taken, so none is left for the server's end.
  std::vector<int> holes;
  for (int fd = ::dup(0); fd < waiting; fd = ::dup(0)) holes.push_back(fd);
  limit.set(static_cast<rlim_t>(waiting) + 1);
  connect_socket(waiting, coordinator.address());
  refused.wait();
  check_works(*client);
  limit.restore();
  const RawPeer peer(waiting);
  REQUIRE(peer.send(login));
  peer.wait_for_bytes();
  for (const int fd : holes) ::close(fd);
  CHECK(coordinator.client(kTenantToken)->status());
}

TEST_CASE("half messages of one tenant keep no others out", "[gateway][hostile]") {
  ServerOptions options;
  options.max_tenant_bytes = 1u << 20;
  FakeCoordinator coordinator{options};
  const auto submit_large = [&](const std::string& token) {
    JobSpec spec = sample_spec();
    spec.command = {std::string(200'000, 'x')};
    return coordinator.client(token)->submit(spec);
  };
  // Bytes arrive, and connections are seen to be gone, a moment later.
  const auto submit_until = [&](bool taken) {
    auto submitted = submit_large(kTenantToken);
    for (int tries = 0; static_cast<bool>(submitted) != taken && tries < 1000; ++tries)
      submitted = submit_large(kTenantToken);
    REQUIRE(static_cast<bool>(submitted) == taken);
    return submitted;
  };
  {
    // One more than there is room for.
    std::vector<std::unique_ptr<RpcPeer>> holders;
    for (int i = 0; i < 9; ++i) holders.push_back(half_message(coordinator, kTenantToken));
    CHECK(details(submit_until(false).error()).code == ErrorCode::unavailable);
    CHECK(submit_large(kOperatorToken));
  }
  CHECK(submit_until(true));
}

TEST_CASE("a message that does not arrive in time ends its connection", "[gateway][hostile]") {
  ServerOptions options;
  options.message_timeout_ms = 200;
  FakeCoordinator coordinator{options};
  half_message(coordinator, kTenantToken)->run([](RpcPeer& self) { return self.closed(); });
  CHECK(coordinator.client(kTenantToken)->status());
}

TEST_CASE("a peer that goes within a call harms nobody", "[gateway][hostile]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  RpcPeer peer(coordinator.address());
  CHECK(peer.run([](RpcPeer& self) { return self.log_in(kTenantToken); }).empty());
  peer.run([](RpcPeer& self) {
    auto request = self.session().waitJobRequest();
    request.setId(kHeldJob.value);
    request.setTimeoutMs(60'000);
    // Detached: the connection goes while it waits.
    request.send().ignoreResult().detach([](kj::Exception&&) {});
  });
  coordinator.seen->requests.take();
  peer.disconnect();
  check_works(*client);
  coordinator.release_waits();
  check_works(*client);
}

TEST_CASE("a server stops with calls in flight", "[gateway][hostile]") {
  FakeCoordinator coordinator;
  const auto client = coordinator.client(kTenantToken);
  Expected<JobRecord> waited = JobRecord{};
  std::jthread waiter([&] { waited = client->wait_job(kHeldJob, 60'000); });
  coordinator.seen->requests.take();
  coordinator.server.reset();
  waiter.join();
  REQUIRE_FALSE(waited);
  CHECK(details(waited.error()).code == ErrorCode::unavailable);
}

TEST_CASE("a peer that guesses tokens is slowed down, then thrown out", "[gateway][hostile]") {
  FakeCoordinator coordinator;
  RpcPeer peer(coordinator.address());
  const auto start = std::chrono::steady_clock::now();
  const auto guess = [&](const std::string& token) {
    return peer.run([&](RpcPeer& self) { return self.log_in(token); });
  };
  for (int i = 0; i < 5; ++i) CHECK(guess("fw_op_wrong") == "unauthenticated");
  CHECK(std::chrono::steady_clock::now() - start > std::chrono::seconds(3));
  // Even the right one comes too late now: it is refused or lost with the connection, and then
  // nothing works.
  const auto outcome = [&]() -> std::string {
    try {
      return guess(kOperatorToken);
    } catch (const kj::Exception& fault) {
      return fault.getType() == kj::Exception::Type::DISCONNECTED ? "disconnected" : "failed";
    }
  };
  const std::string sixth = outcome();
  CHECK((sixth == "unauthenticated" || sixth == "disconnected"));
  CHECK(outcome() == "disconnected");
}

TEST_CASE("guesses do not go in parallel, and a session is not changed", "[gateway][hostile]") {
  FakeCoordinator coordinator;
  RpcPeer peer(coordinator.address());
  const auto second = peer.run([](RpcPeer& self) {
    auto first = self.log_in("fw_op_wrong");
    return self.log_in(kOperatorToken).attach(kj::mv(first));
  });
  CHECK(second == "wrong_state");
  RpcPeer tenant(coordinator.address());
  CHECK(tenant.run([](RpcPeer& self) { return self.log_in(kTenantToken); }).empty());
  CHECK(tenant.run([](RpcPeer& self) { return self.log_in(kOperatorToken); }) == "wrong_state");
}

TEST_CASE("a peer that does not read its answers is closed", "[gateway][hostile]") {
  LogWatch closed("it does not read its answers");
  ServerOptions options;
  options.max_message_bytes = 1u << 20;
  FakeCoordinator coordinator(options);
  const auto client = coordinator.client(kTenantToken);
  RpcPeer peer(coordinator.address());
  CHECK(peer.run([](RpcPeer& self) { return self.log_in(kTenantToken); }).empty());
  peer.run([](RpcPeer& self) {
    self.stall();
    // Enough to fill both sockets' buffers and then the queue.
    for (int i = 0; i < 200; ++i) {
      auto request = self.session().readLogRequest();
      request.setOffset(kLargeLogOffset);
      request.send().ignoreResult().detach([](kj::Exception&&) {});
    }
  });
  closed.wait();
  check_works(*client);
}
