// Peers that are broken, slow, greedy or many: each is refused, and a client beside them works on.
#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "rpc/message_guard.hpp"
#include "tests/gateway/fake_frontend.hpp"
#include "tests/gateway/raw_peer.hpp"
#include "tests/gateway/rpc_peer.hpp"
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

/// The soft limit on file descriptors, put back afterwards.
class FileLimit {
 public:
  FileLimit() { REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0); }
  ~FileLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  void set(rlim_t soft) const {
    const rlimit limit{soft, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  }
  void restore() const { REQUIRE(::setrlimit(RLIMIT_NOFILE, &before_) == 0); }

 private:
  rlimit before_{};
};

std::string frame_head(std::initializer_list<std::uint32_t> numbers) {
  std::string bytes;
  for (const std::uint32_t number : numbers)
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(number >> shift));
  return bytes;
}

/// What a client sends to log in: bytes of whole, valid messages.
std::string login_bytes() {
  RawListener listener;
  std::string bytes;
  std::thread recorder([&] { bytes = listener.accept().read_all(); });
  const auto client = Client::connect(listener.address(), kOperatorToken, 300);
  recorder.join();
  REQUIRE_FALSE(client);
  REQUIRE(bytes.size() > 100);
  return bytes;
}

std::int64_t status_kib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(field + ":", 0) == 0) return std::stoll(line.substr(field.size() + 1));
  FAIL("/proc/self/status has no " + field);
  return 0;
}

/// How much more memory than at its beginning this process had at its peak since.
class MemoryPeak {
 public:
  MemoryPeak() {
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
    before_kib_ = status_kib("VmRSS");
  }
  [[nodiscard]] std::int64_t grown_mib() const {
    return (status_kib("VmHWM") - before_kib_) / 1024;
  }

 private:
  std::int64_t before_kib_ = 0;
};

/// An agent's half that takes every order and does nothing.
class IdleControl final : public wire::AgentControl::Server {
 protected:
  kj::Promise<void> orders(OrdersContext) override { return kj::READY_NOW; }
};

using RegisterRequest =
    capnp::Request<wire::Gateway::RegisterAgentParams, wire::Gateway::RegisterAgentResults>;

RegisterRequest registration(RpcPeer& peer) {
  auto request = peer.gateway().registerAgentRequest();
  request.setProtocolVersion(kProtocolVersion);
  request.setCredential("credential");
  request.setJoinToken(to_text(kJoinToken));
  encode(sample_node_spec(), request.initSpec());
  request.setControl(kj::heap<IdleControl>());
  return request;
}

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

/// Keeps `count` submissions of one connection open: whatever the answer, it asks again at once.
class Flood final : public kj::TaskSet::ErrorHandler {
 public:
  Flood(RpcPeer& peer, int count) : peer_(peer) {
    peer_.run([&](RpcPeer&) {
      tasks_ = kj::heap<kj::TaskSet>(*this);
      for (int i = 0; i < count; ++i) submit();
    });
  }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;
  ~Flood() {
    peer_.run([this](RpcPeer&) { tasks_ = nullptr; });
  }

 private:
  void submit() {
    auto request = peer_.session().submitJobRequest();
    encode(sample_spec(), request.initSpec());
    tasks_->add(request.send().ignoreResult().then([this] { submit(); }));
  }
  void taskFailed(kj::Exception&&) override {}

  RpcPeer& peer_;
  kj::Own<kj::TaskSet> tasks_;
};

std::chrono::microseconds timed(const std::function<void()>& what) {
  const auto start = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                               start);
}

/// Medians and the worst, of `count` times.
struct Times {
  std::chrono::microseconds median{};
  std::chrono::microseconds worst{};
};
Times times_of(int count, const std::function<void()>& what) {
  std::vector<std::chrono::microseconds> took;
  for (int i = 0; i < count; ++i) took.push_back(timed(what));
  std::sort(took.begin(), took.end());
  return {took[took.size() / 2], took.back()};
}

void check_works(Client& client) { REQUIRE(client.status()); }

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

TEST_CASE("a connection that does not log in in time is closed", "[gateway][hostile]") {
  ServerOptions options;
  options.login_timeout_ms = 200;
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
  // The server learns of the free place when it reads the end of that connection.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  auto again = Client::connect(coordinator.address(), kTenantToken);
  while (!again && std::chrono::steady_clock::now() < deadline)
    again = Client::connect(coordinator.address(), kTenantToken);
  CHECK(again);
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
  std::thread waiter([&] { waited = client->wait_job(kHeldJob, 60'000); });
  coordinator.seen->requests.take();
  coordinator.server.reset();
  waiter.join();
  REQUIRE_FALSE(waited);
  CHECK(details(waited.error()).code == ErrorCode::unavailable);
}

TEST_CASE("more calls at once than admitted are answered overloaded", "[gateway][hostile]") {
  ServerOptions options;
  options.max_calls_per_connection = 4;
  FakeCoordinator coordinator(options);
  const auto client = coordinator.client(kTenantToken);
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i)
    waiters.emplace_back([&] { (void)client->wait_job(kHeldJob, 60'000); });
  for (int i = 0; i < 4; ++i) coordinator.seen->requests.take();
  const auto status = client->status();
  coordinator.release_waits();
  for (auto& waiter : waiters) waiter.join();
  REQUIRE_FALSE(status);
  CHECK(details(status.error()).code == ErrorCode::overloaded);
  check_works(*client);
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

TEST_CASE("calls on a session that is not there yet are not gathered", "[gateway][hostile]") {
  FakeCoordinator coordinator;
  RpcPeer peer(coordinator.address());
  // All pipelined on the login's answer: read when it has come, and answered.
  const auto answered = peer.run([](RpcPeer& self) {
    auto login = self.gateway().loginRequest();
    login.setToken(to_text(kTenantToken));
    login.setProtocolVersion(kProtocolVersion);
    auto logged_in = login.send();
    auto calls = kj::heapArrayBuilder<kj::Promise<bool>>(200);
    for (int i = 0; i < 200; ++i)
      calls.add(logged_in.getSession().getStatusRequest().send().then(
          [](auto&& response) { return !response.hasError(); }));
    return kj::joinPromises(calls.finish()).attach(kj::mv(logged_in));
  });
  CHECK(std::all_of(answered.begin(), answered.end(), [](bool good) { return good; }));
}

TEST_CASE("a flood of calls holds up neither heartbeats nor other tenants",
          "[gateway][hostile][figure]") {
  FakeCoordinator coordinator;
  const auto other = coordinator.client(kOperatorToken);
  RpcPeer agent(coordinator.address());
  kj::Maybe<wire::NodeSession::Client> session;
  agent.run([&](RpcPeer& self) {
    return registration(self).send().then(
        [&](auto&& registered) { session = registered.getSession(); });
  });
  const auto beat = [&] {
    agent.run([&](RpcPeer&) {
      auto request = KJ_ASSERT_NONNULL(session).heartbeatRequest();
      encode(sample_report(), request.initReport());
      return request.send().ignoreResult();
    });
  };
  const auto submit = [&] { REQUIRE(other->submit(sample_spec())); };
  const auto quiet_beats = times_of(100, beat);
  const auto quiet_submissions = times_of(100, submit);

  std::vector<std::unique_ptr<RpcPeer>> peers;
  std::vector<std::unique_ptr<Flood>> floods;
  for (int i = 0; i < 8; ++i) {
    peers.push_back(std::make_unique<RpcPeer>(coordinator.address()));
    REQUIRE(peers.back()->run([](RpcPeer& self) { return self.log_in(kTenantToken); }).empty());
    floods.push_back(std::make_unique<Flood>(*peers.back(), 1000));
  }
  const auto beats = times_of(200, beat);
  const auto submissions = times_of(100, submit);
  std::cout << "8 connections with 1,000 submissions each: a heartbeat " << beats.median.count()
            << " us (worst " << beats.worst.count() << "), without " << quiet_beats.median.count()
            << "; another's submission " << submissions.median.count() << " us, without "
            << quiet_submissions.median.count() << "\n";
  // A lease is at least ten times this, and the machine may be busy with other things.
  CHECK(beats.worst < std::chrono::seconds(2));
  CHECK(submissions.worst < std::chrono::seconds(2));
  floods.clear();
  agent.run([&](RpcPeer&) { session = nullptr; });
}

TEST_CASE("many connections with many open calls hold bounded memory",
          "[gateway][hostile][figure]") {
  const FileLimit limit;
  limit.set(4096);
  // What one of them sends: it logs in and makes 250 calls that wait, without reading an answer.
  std::string bytes;
  {
    RawListener listener;
    RpcPeer recorded(listener.address());
    const RawPeer sink = listener.accept();
    recorded.run([](RpcPeer& self) {
      auto login = self.gateway().loginRequest();
      login.setToken(to_text(kTenantToken));
      login.setProtocolVersion(kProtocolVersion);
      auto logged_in = login.send();
      for (int i = 0; i < 250; ++i) {
        auto wait = logged_in.getSession().waitJobRequest();
        wait.setId(kHeldJob.value);
        wait.setTimeoutMs(60'000);
        wait.send().ignoreResult().detach([](kj::Exception&&) {});
      }
      logged_in.ignoreResult().detach([](kj::Exception&&) {});
      return kj::evalLast([] {});
    });
    bytes = sink.read_available();
  }
  REQUIRE(bytes.size() > 250 * 50);

  FakeCoordinator coordinator;
  const auto other = coordinator.client(kOperatorToken);
  const MemoryPeak peak;
  std::vector<RawPeer> peers;
  for (int i = 0; i < 1000; ++i) {
    peers.emplace_back(coordinator.address());
    REQUIRE(peers.back().send(bytes));
  }
  const CallLimits limits;
  for (std::uint32_t i = 0; i < limits.open_per_tenant; ++i) coordinator.seen->requests.take();
  const auto answer = timed([&] { check_works(*other); });
  std::cout << "1,000 connections with 250 calls each: " << peak.grown_mib() << " MiB, "
            << coordinator.seen->requests.size() << " beyond the tenant's bound, another's call "
            << answer.count() << " us\n";
  CHECK(coordinator.seen->requests.size() == 0);
  CHECK(peak.grown_mib() < 400);
}
