// What an agent makes of a coordinator that answers nonsense.
#include <capnp/rpc-twoparty.h>

#include "model/lease.hpp"
#include "rpc/loop_thread.hpp"
#include "rpc/wire.hpp"
#include "tests/gateway/fake_agent.hpp"

using namespace fairwater;
using namespace fairwater::test;

namespace {

/// What it says to every registration and report.
struct Nonsense {
  std::string cluster_id = "cluster_7";
  std::int64_t span_ms = 1000;
  std::size_t hash_bytes = 0;
};

void answer(const Nonsense& nonsense, wire::ReportReply::Builder reply) {
  reply.setLeaseMs(nonsense.span_ms);
  reply.setHeartbeatIntervalMs(nonsense.span_ms);
  reply.setLongestLeaseMs(nonsense.span_ms);
  reply.initCommittedHash(static_cast<capnp::uint>(nonsense.hash_bytes));
}

class BrokenSession final : public wire::NodeSession::Server {
 public:
  explicit BrokenSession(const Nonsense& nonsense) : nonsense_(nonsense) {}

 protected:
  kj::Promise<void> heartbeat(HeartbeatContext context) override {
    answer(nonsense_, context.getResults().initReply());
    return kj::READY_NOW;
  }

 private:
  const Nonsense& nonsense_;
};

class BrokenGateway final : public wire::Gateway::Server {
 public:
  BrokenGateway(const Nonsense& nonsense, Channel<bool>& registrations)
      : nonsense_(nonsense), registrations_(registrations) {}

 protected:
  kj::Promise<void> registerAgent(RegisterAgentContext context) override {
    auto results = context.getResults();
    results.setClusterId(to_text(nonsense_.cluster_id));
    results.setSession(kj::heap<BrokenSession>(nonsense_));
    answer(nonsense_, results.initReply());
    registrations_.put(true);
    return kj::READY_NOW;
  }

 private:
  const Nonsense& nonsense_;
  Channel<bool>& registrations_;
};

class BrokenCoordinator {
 public:
  explicit BrokenCoordinator(Nonsense nonsense)
      : nonsense_(std::move(nonsense)), thread_([this](Loop& loop) {
          auto address =
              loop.io.provider->getNetwork().parseAddress("127.0.0.1").wait(loop.io.waitScope);
          auto listener = address->listen();
          capnp::TwoPartyServer server(kj::heap<BrokenGateway>(nonsense_, registrations));
          port_.put(listener->getPort());
          server.listen(*listener).exclusiveJoin(kj::mv(loop.stopped)).wait(loop.io.waitScope);
        }) {}

  [[nodiscard]] std::string address() { return "127.0.0.1:" + std::to_string(port_.take()); }

  Channel<bool> registrations;

 private:
  const Nonsense nonsense_;
  Channel<unsigned> port_;
  LoopThread thread_;
};

}  // namespace

TEST_CASE("times of a coordinator that no moment can be added to are cut", "[gateway][hostile]") {
  BrokenCoordinator coordinator({.span_ms = INT64_MAX});
  FakeAgent agent(coordinator.address());
  agent.start();
  const LinkUp up = agent.seen->ups.take();
  CHECK(up.reply.heartbeat_interval_ms == kMaxLease_ms);
  CHECK(up.reply.lease_ms == kMaxLease_ms);
  CHECK(up.reply.longest_lease_ms == kMaxLease_ms);
  const auto reply = agent.report(up, sample_report());
  REQUIRE(reply);
  CHECK(reply->heartbeat_interval_ms == kMaxLease_ms);
}

TEST_CASE("a cluster whose id an agent cannot keep is not joined", "[gateway][hostile]") {
  const std::string id = GENERATE(as<std::string>(), "a\nb", "a b", std::string(100'000, 'x'));
  BrokenCoordinator coordinator({.cluster_id = id});
  FakeAgent agent(coordinator.address());
  agent.start();
  coordinator.registrations.take();
  coordinator.registrations.take();  // it has judged the first answer
  CHECK(agent.seen->ups.size() == 0);
  CHECK_FALSE(std::filesystem::exists(agent.options.credential_file));
}

TEST_CASE("an agent whose sessions all break off comes back ever later", "[gateway][hostile]") {
  BrokenCoordinator coordinator({.hash_bytes = 5});
  FakeAgent agent(coordinator.address());
  agent.options.reconnect_max_ms = 100'000;
  agent.start();
  coordinator.registrations.take();
  std::size_t registrations = 1;
  while (registrations < 40 &&
         coordinator.registrations.take_within(std::chrono::milliseconds(300)))
    ++registrations;
  CHECK(registrations < 40);
}
