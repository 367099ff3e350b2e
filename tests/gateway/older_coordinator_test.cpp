// What a client does not send to a coordinator that would leave it out.
#include <capnp/rpc-twoparty.h>
#include <catch2/catch.hpp>

#include "rpc/client.hpp"
#include "rpc/loop_thread.hpp"
#include "rpc/wire.hpp"
#include "tests/gateway/channel.hpp"

using namespace fairwater;
using namespace fairwater::test;

namespace {

class OlderSession final : public wire::OperatorSession::Server {
 public:
  explicit OlderSession(Channel<unsigned>& applied) : applied_(applied) {}

 protected:
  kj::Promise<void> applyTenants(ApplyTenantsContext context) override {
    applied_.put(context.getParams().getSpecs().size());
    return kj::READY_NOW;
  }

 private:
  Channel<unsigned>& applied_;
};

/// Says at the login what there was from the beginning.
class OlderGateway final : public wire::Gateway::Server {
 public:
  explicit OlderGateway(Channel<unsigned>& applied) : applied_(applied) {}

 protected:
  kj::Promise<void> login(LoginContext context) override {
    context.getResults().setSession(kj::heap<OlderSession>(applied_));
    return kj::READY_NOW;
  }

 private:
  Channel<unsigned>& applied_;
};

class OlderCoordinator {
 public:
  OlderCoordinator()
      : thread_([this](Loop& loop) {
          auto address =
              loop.io.provider->getNetwork().parseAddress("127.0.0.1").wait(loop.io.waitScope);
          auto listener = address->listen();
          capnp::TwoPartyServer server(kj::heap<OlderGateway>(applied));
          port_.put(listener->getPort());
          server.listen(*listener).exclusiveJoin(kj::mv(loop.stopped)).wait(loop.io.waitScope);
        }) {}

  [[nodiscard]] std::string address() { return "127.0.0.1:" + std::to_string(port_.take()); }

  Channel<unsigned> applied;  ///< how many tenants each call names

 private:
  Channel<unsigned> port_;
  LoopThread thread_;
};

}  // namespace

TEST_CASE("an older coordinator is not sent weights that it would leave out", "[gateway]") {
  OlderCoordinator coordinator;
  const auto client = Client::connect(coordinator.address(), "fw_op_operator");
  REQUIRE(client);
  std::vector<TenantSpec> specs(2);
  specs[0].name = "physics";
  specs[1].name = "biology";
  CHECK((*client)->apply_tenants(specs, false));
  CHECK(coordinator.applied.take() == 2);
  specs[1].weights = {{"memory", 6}};
  const auto refused = (*client)->apply_tenants(specs, false);
  REQUIRE_FALSE(refused);
  CHECK(details(refused.error()).code == ErrorCode::not_supported);
  CHECK(details(refused.error()).field == "tenants[1].weights");
  CHECK(coordinator.applied.size() == 0);
}
