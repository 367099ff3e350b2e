// Several coordinators of which one leads: whom clients and agents ask.

#include <chrono>
#include <thread>

#include <caf/all.hpp>
#include <catch2/catch.hpp>
#include <rocksdb/env.h>

#include "actors/coordinator/follower.hpp"
#include "gateway/server.hpp"
#include "rpc/tokens.hpp"
#include "tests/gateway/fake_agent.hpp"
#include "tests/gateway/fake_frontend.hpp"

using namespace fairwater;
using namespace fairwater::test;

namespace {

std::shared_ptr<Ledger> make_ledger(rocksdb::Env* memory) {
  LedgerOptions options;
  options.directory = "/ledger";
  options.create = true;
  options.env = memory;
  auto ledger = Ledger::open(options);
  REQUIRE(ledger);
  REQUIRE((*ledger)->append({ClusterCreated{"test", ResourceCatalog{}.kinds(), {}},
                             TokenIssued{Role::operator_role, {}, hash_token(kOperatorToken)}}));
  return std::move(*ledger);
}

/// A coordinator that follows.
struct FollowingCoordinator {
  FollowingCoordinator() {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    auto started = Server::start(system, follower->frontend(), options);
    REQUIRE(started);
    server = std::move(*started);
  }
  ~FollowingCoordinator() {
    server.reset();
    follower.reset();
  }

  std::unique_ptr<rocksdb::Env> memory{rocksdb::NewMemEnv(rocksdb::Env::Default())};
  std::shared_ptr<Following> leader = std::make_shared<Following>();
  caf::actor_system_config config;
  caf::actor_system system{config};
  std::unique_ptr<Follower> follower = std::make_unique<Follower>(
      system, make_ledger(memory.get()), leader,
      FollowerSettings{"two", "1", [] { return std::vector<ReplicaInfo>{}; }});
  std::unique_ptr<Server> server;
};

const std::string kUnusedAddress = "127.0.0.1:1";

}  // namespace

TEST_CASE("a client finds the coordinator that leads", "[gateway]") {
  FakeCoordinator leader;
  FollowingCoordinator follower;
  const std::string several = kUnusedAddress + "," + follower.server->address();
  // As long as nobody is known to lead it says so.
  for (const auto& addresses : {several, follower.server->address() + "," + kUnusedAddress}) {
    const auto refused = Client::connect(addresses, kOperatorToken);
    REQUIRE_FALSE(refused);
    CHECK(details(refused.error()).code == ErrorCode::not_leader);
    // What it knows of etcd is older than kBlindAfter where the machine is slow.
    CHECK_THAT(details(refused.error()).message, Catch::Contains("nobody leads at the moment") ||
                                                     Catch::Contains("etcd has not answered"));
  }
  // The one that leads has fallen, and nobody has noticed yet.
  follower.leader->set_leader("one", kUnusedAddress);
  const auto fallen = Client::connect(several, kOperatorToken);
  REQUIRE_FALSE(fallen);
  CHECK(details(fallen.error()).code == ErrorCode::not_leader);

  follower.leader->set_leader("one", leader.address());
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
  FollowingCoordinator follower;
  follower.leader->set_leader("one", first->address());
  FakeAgent agent(kUnusedAddress + "," + follower.server->address());
  agent.start();
  CHECK(first->seen->registrations.take().joining);
  (void)agent.seen->ups.take();

  follower.leader->set_leader("two", second.address());
  first.reset();
  CHECK(agent.seen->downs.take());
  CHECK_FALSE(second.seen->registrations.take().joining);
  (void)agent.seen->ups.take();
}

TEST_CASE("a client that asks while the leader may be gone is sent to the next one", "[gateway]") {
  FakeCoordinator next;
  FollowingCoordinator follower;
  follower.leader->set_leader("one", kUnusedAddress, /*may_be_gone=*/true);
  std::jthread takes_over([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    follower.leader->set_leader("two", next.address());
    follower.follower->heard_leader();
  });
  CHECK(Client::connect(follower.server->address() + "," + kUnusedAddress, kOperatorToken));
}

TEST_CASE("a client that accepts it is answered by a coordinator that follows", "[gateway]") {
  FakeCoordinator leader;
  FollowingCoordinator follower;
  follower.leader->set_leader("one", leader.address());
  const auto connect = [&](const std::string& address) {
    auto client = Client::connect(address, kOperatorToken, {.reads = Reads::of_any});
    REQUIRE(client);
    return std::move(*client);
  };
  const auto client = connect(follower.server->address());
  const auto freshness = client->freshness();
  REQUIRE(freshness);
  CHECK(freshness->follower == "two");
  const auto status = client->status();
  REQUIRE(status);
  CHECK(status->leader == "one");
  CHECK_FALSE(status->granting);
  // What it may not do it does where that is done.
  CHECK(client->drain_node("node1", "maintenance") == caf::error{});
  CHECK(client->freshness()->follower.empty());
  CHECK(connect(leader.address())->freshness()->follower.empty());
}

TEST_CASE("a call whose leader falls is made again with the next one", "[gateway]") {
  auto first = std::make_unique<FakeCoordinator>();
  FakeCoordinator next;
  const std::string both = first->address() + "," + next.address();
  const auto client =
      Client::connect(both, kOperatorToken, {.patience = {.unanswered_ms = 10'000}});
  REQUIRE(client);
  // The first falls while it has the call, and has not answered; it has answered `before`.
  const auto falls_within = [&](int before = 0) {
    return std::jthread([&, before] {
      for (int i = 0; i <= before; ++i) (void)first->seen->requests.take();
      first.reset();
    });
  };

  SECTION("one that may be repeated") {
    const auto falls = falls_within();
    FrontendRequest asked;
    std::jthread answers([&] {
      asked = next.seen->requests.take();
      next.release_waits();
    });
    CHECK((*client)->wait_job(kHeldJob, 60'000));
    answers.join();
    CHECK(std::holds_alternative<WaitJob>(asked));
    CHECK((*client)->addresses().current() == next.address());
  }
  SECTION("one that may not") {
    first->seen->holds_samples = true;
    const auto falls = falls_within();
    const auto made = (*client)->create_token({Role::join, "", "", 0});
    REQUIRE_FALSE(made);
    CHECK(details(made.error()).code == ErrorCode::unavailable);
    CHECK(next.seen->requests.size() == 0);
  }
  SECTION("a revocation, which was not done before") {
    first->seen->holds_samples = true;
    const auto falls = falls_within(1);
    CHECK((*client)->revoke_token(sample_token().name));
    CHECK(std::holds_alternative<ListTokens>(next.seen->requests.take()));
    CHECK(std::holds_alternative<RevokeToken>(next.seen->requests.take()));
    CHECK(next.seen->requests.size() == 0);
  }
  SECTION("a revocation, which was done before the answer was lost") {
    first->seen->holds_samples = true;
    next.seen->has_removed = true;
    const auto falls = falls_within(1);
    const auto revoked = (*client)->revoke_token(sample_token().id);
    REQUIRE(revoked);
    CHECK(*revoked == sample_token());
    CHECK(std::holds_alternative<ListTokens>(next.seen->requests.take()));
    CHECK(next.seen->requests.size() == 0);
  }
  SECTION("forgiving, which was not done before") {
    first->seen->holds_samples = true;
    const auto falls = falls_within();
    CHECK((*client)->forgive_debt({{}, "physics", "", "", "a broken job", false}));
    for (FrontendRequest asked = next.seen->requests.take();
         !std::holds_alternative<ForgiveDebt>(asked); asked = next.seen->requests.take())
      CHECK(std::holds_alternative<ReadJournal>(asked));
    CHECK(next.seen->requests.size() == 0);
  }
  SECTION("forgiving, by what the journal tells") {
    first->seen->holds_samples = true;
    const DebtForgiven other{TenantId{3}, {{TenantId{4}, 1}}, "another reason"};
    const DebtForgiven done{TenantId{3}, {{TenantId{4}, 8}}, "a broken job"};
    const std::uint64_t before = sample_status().cycle;
    next.seen->journal = {
        .records = {{.number = before, .time = {}, .previous = {}, .body = done},
                    {.number = before + 1, .time = {}, .previous = {}, .body = other}},
        .names = {.tenants = {{TenantId{3}, "physics"}, {TenantId{4}, "biology"}},
                  .nodes = {},
                  .resources = {}}};
    const ForgiveDebt wanted{{}, "physics", "biology", "", "a broken job", false};
    SECTION("it was") {
      next.seen->journal.records.push_back(
          {.number = before + 2, .time = {}, .previous = {}, .body = done});
      const auto falls = falls_within();
      const auto forgiven = (*client)->forgive_debt(wanted);
      REQUIRE(forgiven);
      CHECK(forgiven->shares == std::vector<ForgivenShare>{{"biology", 8}});
      CHECK(forgiven->left == 6);
      CHECK(std::holds_alternative<ReadJournal>(next.seen->requests.take()));
      CHECK(std::holds_alternative<ShowLedger>(next.seen->requests.take()));
    }
    SECTION("it was, but earlier, and then for another reason") {
      const auto falls = falls_within();
      CHECK((*client)->forgive_debt(wanted)->shares == sample_forgiven().shares);
    }
  }
  SECTION("a removal, which was not done before") {
    first->seen->holds_samples = true;
    const std::string name = sample_node_info().record.spec.traits.name;
    const auto falls = falls_within();
    CHECK_FALSE((*client)->remove_node(name));
    CHECK(std::holds_alternative<ListNodes>(next.seen->requests.take()));
    CHECK(std::holds_alternative<RemoveNode>(next.seen->requests.take()));
    CHECK(next.seen->requests.size() == 0);
  }
  SECTION("a removal, which was done before the answer was lost") {
    first->seen->holds_samples = true;
    next.seen->has_removed = true;
    const auto falls = falls_within();
    CHECK_FALSE((*client)->remove_node(sample_node_info().record.spec.traits.name));
    CHECK(std::holds_alternative<ListNodes>(next.seen->requests.take()));
    CHECK(next.seen->requests.size() == 0);
  }
  SECTION("trust, which was not said before") {
    first->seen->holds_samples = true;
    const auto falls = falls_within();
    CHECK_FALSE((*client)->trust_ledger("seen"));
    CHECK(std::holds_alternative<ShowStanding>(next.seen->requests.take()));
    CHECK(std::holds_alternative<TrustLedger>(next.seen->requests.take()));
  }
  SECTION("cancelling, which was not done before") {
    next.seen->is_cancelled = false;
    const auto falls = falls_within();
    FrontendRequest looked;
    FrontendRequest asked;
    std::jthread answers([&] {
      looked = next.seen->requests.take();
      asked = next.seen->requests.take();
      next.release_waits();
    });
    CHECK((*client)->cancel_jobs({kHeldJob}, "no need") == std::vector<caf::error>{caf::error{}});
    answers.join();
    CHECK(std::holds_alternative<ShowJob>(looked));
    CHECK(std::holds_alternative<CancelJob>(asked));
  }
  SECTION("cancelling, which was done before the answer was lost") {
    const auto falls = falls_within();
    CHECK((*client)->cancel_jobs({kHeldJob}, "no need") == std::vector<caf::error>{caf::error{}});
    CHECK(std::holds_alternative<ShowJob>(next.seen->requests.take()));
    CHECK(next.seen->requests.size() == 0);
  }
}

TEST_CASE("a client without patience says that its connection broke", "[gateway]") {
  auto first = std::make_unique<FakeCoordinator>();
  FakeCoordinator next;
  const auto client = Client::connect(first->address() + "," + next.address(), kOperatorToken);
  REQUIRE(client);
  first.reset();
  for (int time = 0; time < 2; ++time) {
    const auto status = (*client)->status();
    REQUIRE_FALSE(status);
    CHECK(details(status.error()).code == ErrorCode::unavailable);
  }
}

TEST_CASE("a client whose patience is over says so of every call", "[gateway]") {
  auto coordinator = std::make_unique<FakeCoordinator>();
  const auto client = Client::connect(coordinator->address() + "," + kUnusedAddress, kOperatorToken,
                                      {.patience = {.unanswered_ms = 200}});
  REQUIRE(client);
  const std::string address = coordinator->address();
  coordinator.reset();
  for (int time = 0; time < 2; ++time) {
    const auto status = (*client)->status();
    REQUIRE_FALSE(status);
    CHECK(details(status.error()).code == ErrorCode::unavailable);
    CHECK_THAT(details(status.error()).message, Catch::Contains(address));
  }
  for (const auto& error : (*client)->cancel_jobs({JobId{1}, JobId{2}}, "no need"))
    CHECK(details(error).code == ErrorCode::unavailable);
}
