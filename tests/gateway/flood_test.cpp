// Peers that call without end: others are served, and memory stays bounded.
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <vector>

#include "rpc/message_guard.hpp"
#include "tests/gateway/fake_frontend.hpp"
#include "tests/gateway/hostile_peer.hpp"
#include "tests/gateway/raw_peer.hpp"
#include "tests/gateway/samples.hpp"

using namespace fairwater;
using namespace fairwater::test;

namespace {

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

}  // namespace

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
