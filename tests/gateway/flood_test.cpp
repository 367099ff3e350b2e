// Peers that call without end: others are served, and memory stays bounded.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "rpc/message_guard.hpp"
#include "tests/gateway/fake_frontend.hpp"
#include "tests/gateway/hostile_peer.hpp"
#include "tests/gateway/raw_peer.hpp"
#include "tests/gateway/samples.hpp"
#include "tests/harness/on_processor.hpp"

using namespace fairwater;
using namespace fairwater::test;
using harness::OnProcessor;

namespace {

/// A tenant's connections that keep `count` submissions each open: whatever the answer, they ask
/// again at once.
class Flood final : public kj::TaskSet::ErrorHandler {
 public:
  Flood(const FakeCoordinator& coordinator, int connections, int count) {
    for (int i = 0; i < connections; ++i) {
      peers_.push_back(std::make_unique<RpcPeer>(coordinator.address()));
      REQUIRE(peers_.back()->run([](RpcPeer& self) { return self.log_in(kTenantToken); }).empty());
      peers_.back()->run([&](RpcPeer& self) {
        tasks_.push_back(kj::heap<kj::TaskSet>(*this));
        for (int k = 0; k < count; ++k) submit(self, *tasks_.back());
      });
    }
  }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;
  ~Flood() {
    for (std::size_t i = 0; i < peers_.size(); ++i)
      peers_[i]->run([&](RpcPeer&) { tasks_[i] = nullptr; });
  }
  /// Submissions that were accepted so far.
  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }

 private:
  void submit(RpcPeer& peer, kj::TaskSet& tasks) {
    auto request = peer.session().submitJobRequest();
    encode(sample_spec(), request.initSpec());
    tasks.add(request.send().then([this, &peer, &tasks](auto&& response) {
      if (!response.hasError()) ++accepted_;
      submit(peer, tasks);
    }));
  }
  void taskFailed(kj::Exception&&) override {}

  std::vector<std::unique_ptr<RpcPeer>> peers_;
  std::vector<kj::Own<kj::TaskSet>> tasks_;
  std::atomic<std::uint64_t> accepted_{0};
};

std::chrono::microseconds timed(const std::function<void()>& what) {
  const auto start = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                               start);
}

/// What something took, time after time.
class Times {
 public:
  void take(int count, const std::function<void()>& what) {
    for (int i = 0; i < count; ++i) took_.push_back(timed(what));
  }
  /// The time that `part` of them did not exceed.
  [[nodiscard]] std::chrono::microseconds quantile(double part) {
    std::sort(took_.begin(), took_.end());
    const auto rank = static_cast<std::size_t>(part * static_cast<double>(took_.size()));
    return took_[std::min(rank, took_.size() - 1)];
  }
  [[nodiscard]] std::chrono::microseconds median() { return quantile(0.5); }
  [[nodiscard]] std::chrono::microseconds mean() const {
    return std::accumulate(took_.begin(), took_.end(), std::chrono::microseconds{}) /
           static_cast<int>(took_.size());
  }

 private:
  std::vector<std::chrono::microseconds> took_;
};

/// Prints what it took beside a flood, and without.
void print(const char* what, Times& flooded, Times& quiet) {
  std::printf(
      "%s: median %lld us, mean %lld, 99 %% %lld, worst %lld; without %lld, %lld, %lld, %lld\n",
      what, static_cast<long long>(flooded.median().count()),
      static_cast<long long>(flooded.mean().count()),
      static_cast<long long>(flooded.quantile(0.99).count()),
      static_cast<long long>(flooded.quantile(1).count()),
      static_cast<long long>(quiet.median().count()), static_cast<long long>(quiet.mean().count()),
      static_cast<long long>(quiet.quantile(0.99).count()),
      static_cast<long long>(quiet.quantile(1).count()));
}

}  // namespace

TEST_CASE("more calls at once than admitted are answered overloaded", "[gateway][hostile]") {
  ServerOptions options;
  options.max_calls_per_connection = 4;
  FakeCoordinator coordinator(options);
  const auto client = coordinator.client(kTenantToken);
  std::vector<std::jthread> waiters;
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

TEST_CASE("a call keeps its place until it is answered, also when its client has gone",
          "[gateway][hostile]") {
  constexpr int kCalls = 3;
  ServerOptions options;
  options.calls.open_per_tenant = kCalls;
  options.max_connections_per_peer = 2 + kCalls;
  FakeCoordinator coordinator(options);
  const auto client = coordinator.client(kTenantToken);
  const auto others = coordinator.client(kOperatorToken);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  {
    std::vector<std::unique_ptr<RpcPeer>> peers;
    for (int i = 0; i < kCalls; ++i) {
      peers.push_back(std::make_unique<RpcPeer>(coordinator.address()));
      REQUIRE(peers.back()->run([](RpcPeer& self) { return self.log_in(kTenantToken); }).empty());
      peers.back()->run([](RpcPeer& self) {
        auto request = self.session().waitJobRequest();
        request.setId(kHeldJob.value);
        request.setTimeoutMs(60'000);
        request.send().ignoreResult().detach([](kj::Exception&&) {});
      });
      coordinator.seen->requests.take();
    }
  }
  // The server has seen all of them go when others find a place for their connections.
  std::vector<std::unique_ptr<Client>> newcomers;
  while (newcomers.size() < kCalls) {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    if (auto newcomer = Client::connect(coordinator.address(), kTenantToken))
      newcomers.push_back(std::move(*newcomer));
  }
  const auto refused = client->status();
  REQUIRE_FALSE(refused);
  CHECK(details(refused.error()).code == ErrorCode::overloaded);
  CHECK(is_retryable(details(refused.error()).code));
  CHECK_THAT(details(refused.error()).message,
             Catch::Contains("more than 3 calls at once of one tenant; try again when some"));
  check_works(*others);
  coordinator.release_waits();
  while (!client->status()) REQUIRE(std::chrono::steady_clock::now() < deadline);
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

TEST_CASE("calls that wait for their turn are not gathered", "[gateway][hostile]") {
  ServerOptions options;
  options.calls.at_work_per_tenant = 1;
  options.calls.open_per_tenant = 40;
  FakeCoordinator coordinator(options);
  RpcPeer peer(coordinator.address());
  REQUIRE(peer.run([](RpcPeer& self) { return self.log_in(kTenantToken); }).empty());
  const auto accepted = peer.run([](RpcPeer& self) {
    auto calls = kj::heapArrayBuilder<kj::Promise<bool>>(200);
    for (int i = 0; i < 200; ++i) {
      auto request = self.session().submitJobRequest();
      encode(sample_spec(), request.initSpec());
      calls.add(request.send().then([](auto&& response) { return !response.hasError(); }));
    }
    return kj::joinPromises(calls.finish());
  });
  CHECK(std::all_of(accepted.begin(), accepted.end(), [](bool good) { return good; }));
}

TEST_CASE("a flood of calls holds up neither heartbeats nor other tenants",
          "[gateway][hostile][figure]") {
  // What is promised is about the coordinator. So it and the measured clients have a processor to
  // themselves, and the flood another: it cannot take theirs by its own work.
  std::optional<OnProcessor> here(std::in_place, 0);
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
  const int connections = GENERATE(8, 2);
  // Quiet and flooded stretches in turn, so that what else the machine does disturbs both alike.
  Times quiet_beats, beats, quiet_submissions, submissions;
  std::uint64_t accepted = 0;
  for (int round = 0; round < 5; ++round) {
    quiet_beats.take(100, beat);
    quiet_submissions.take(200, submit);
    here.reset();
    std::optional<OnProcessor> there(std::in_place, 1);
    const Flood flood(coordinator, connections, 8000 / connections);
    there.reset();
    here.emplace(0);
    submissions.take(200, submit);
    beats.take(100, beat);
    accepted += flood.accepted();
  }
  std::printf("%d connections with %d submissions at once, %llu accepted\n", connections,
              8000 / connections, static_cast<unsigned long long>(accepted));
  print("  a heartbeat", beats, quiet_beats);
  print("  another's submission", submissions, quiet_submissions);
  // The promise is a fifth; the machine may be busy with other things. Without rests it is four
  // times as much and more.
  CHECK(submissions.median() < 2 * quiet_submissions.median());
  CHECK(beats.quantile(0.9) < quiet_beats.quantile(0.9) + std::chrono::milliseconds(100));
  CHECK(accepted > 100);
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
