// Who the coordinator is: its key, and that nothing secret is shown to anybody else.
#include "rpc/identity.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "process/temporary_directory.hpp"
#include "rpc/agent/agent_client.hpp"
#include "rpc/tokens.hpp"
#include "tests/gateway/fake_agent.hpp"
#include "tests/gateway/fake_frontend.hpp"

namespace fairwater::test {
namespace {

CoordinatorKey new_key() {
  const TemporaryDirectory directory;
  auto key = CoordinatorKey::load_or_make(directory / "key");
  REQUIRE(key);
  return *key;
}

ServerOptions with_key(const CoordinatorKey& key) {
  ServerOptions options;
  options.key = std::make_shared<const CoordinatorKey>(key);
  options.cluster_id = "c-1";
  return options;
}

TEST_CASE("a coordinator's key is made once and is its owner's alone", "[unit][identity]") {
  const TemporaryDirectory directory;
  const auto first = CoordinatorKey::load_or_make(directory / "key");
  REQUIRE(first);
  struct stat status {};
  REQUIRE(::stat((directory / "key").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  CHECK(CoordinatorKey::load_or_make(directory / "key")->public_key() == first->public_key());
  CHECK(new_key().public_key() != first->public_key());
  CHECK(*parse_key(key_text(first->public_key()) + "\n") == first->public_key());
  CHECK_FALSE(parse_key("fw_ck_tooshort"));
  CHECK_FALSE(parse_key(key_text(first->public_key()) + "x"));
}

TEST_CASE("a proof holds for its nonce, cluster and key alone", "[unit][identity]") {
  const CoordinatorKey key = new_key();
  const Nonce nonce = make_nonce();
  const IdentityProof proof{"c-1", key.public_key(), key.sign(nonce, "c-1")};
  CHECK(is_genuine(proof, nonce));
  CHECK_FALSE(is_genuine(proof, make_nonce()));
  IdentityProof other = proof;
  other.cluster_id = "c-2";
  CHECK_FALSE(is_genuine(other, nonce));
  other = proof;
  other.key = new_key().public_key();
  CHECK_FALSE(is_genuine(other, nonce));
}

TEST_CASE("a join token names the coordinator", "[unit][identity]") {
  const PublicKey key = new_key().public_key();
  const auto parsed = parse_join_token(join_token_text("fw_jn_secret", key));
  REQUIRE(parsed);
  CHECK(parsed->token == "fw_jn_secret");
  CHECK(parsed->coordinator == key);
  CHECK(parse_join_token("fw_jn_secret")->coordinator == std::nullopt);
  CHECK_FALSE(parse_join_token("fw_jn_secret@nonsense"));
}

TEST_CASE("an agent shows its secrets to the coordinator of its join token alone", "[gateway]") {
  const CoordinatorKey right = new_key();
  FakeCoordinator coordinator(with_key(right));
  FakeCoordinator impostor(with_key(new_key()));
  FakeCoordinator silent;  // has no key
  for (const auto* stranger : {&impostor, &silent}) {
    FakeAgent agent(stranger->address());
    agent.options.coordinator_key = right.public_key();
    agent.start();
    CHECK_FALSE(stranger->seen->registrations.take_within(std::chrono::milliseconds(300)));
    CHECK(stranger->seen->refusals.size() == 0);
  }
  FakeAgent agent(coordinator.address());
  agent.options.coordinator_key = right.public_key();
  agent.start();
  (void)agent.seen->ups.take();

  // From its credential on, without a join token.
  agent.client.reset();
  agent.options.coordinator_key.reset();
  agent.options.coordinator = impostor.address();
  agent.start();
  CHECK_FALSE(impostor.seen->registrations.take_within(std::chrono::milliseconds(300)));
}

TEST_CASE("an agent without a pinned key pins the first coordinator that takes it", "[gateway]") {
  const CoordinatorKey key = new_key();
  FakeCoordinator coordinator(with_key(key));
  FakeAgent agent(coordinator.address());
  agent.start();
  (void)agent.seen->ups.take();
  const auto pinned = PinnedKey(agent.options.coordinator_key_file).read();
  REQUIRE(pinned);
  CHECK(*pinned == key.public_key());
}

TEST_CASE("an agent does not pin the key of a coordinator that did not take it", "[gateway]") {
  FakeCoordinator coordinator(with_key(new_key()));
  coordinator.seen->takes_nodes = false;
  FakeAgent agent(coordinator.address());
  agent.start();
  (void)coordinator.seen->refusals.take();

  // One without a key, at the same address, does.
  ServerOptions without_key;
  without_key.listen = coordinator.address();
  coordinator.server.reset();
  coordinator.seen->takes_nodes = true;
  auto other = Server::start(coordinator.system, coordinator.frontend, without_key);
  REQUIRE(other);
  coordinator.server = std::move(*other);
  (void)agent.seen->ups.take();
  const auto pinned = PinnedKey(agent.options.coordinator_key_file).read();
  REQUIRE(pinned);
  CHECK_FALSE(*pinned);
}

TEST_CASE("an older agent's join token is known with the key in it", "[gateway]") {
  const CoordinatorKey key = new_key();
  FakeCoordinator coordinator(with_key(key));
  FakeAgent agent(coordinator.address(), join_token_text(kJoinToken, key.public_key()));
  agent.start();
  CHECK(same_hash(coordinator.seen->registrations.take().join_hash, hash_token(kJoinToken)));
}

TEST_CASE("a client with a key logs in with the right coordinator alone", "[gateway]") {
  const CoordinatorKey key = new_key();
  FakeCoordinator coordinator(with_key(key));
  const auto connect = [&](const PublicKey& expected) {
    return Client::connect(coordinator.address(), kOperatorToken, {.key = expected});
  };
  CHECK(connect(key.public_key()));
  const auto refused = connect(new_key().public_key());
  REQUIRE_FALSE(refused);
  CHECK(details(refused.error()).code == ErrorCode::unauthenticated);
  CHECK(details(refused.error()).field == "coordinator_key");
}

TEST_CASE("a new join token names the key of the coordinator that made it", "[gateway]") {
  const CoordinatorKey key = new_key();
  FakeCoordinator coordinator(with_key(key));
  const auto client = coordinator.client(kOperatorToken);
  const auto made = client->create_token({Role::join, "", "", 0});
  REQUIRE(made);
  const auto parsed = parse_join_token(made->token);
  REQUIRE(parsed);
  CHECK(parsed->coordinator == key.public_key());
  CHECK(same_hash(std::get<CreateToken>(coordinator.seen->requests.take()).token_hash,
                  hash_token(parsed->token)));
}

}  // namespace
}  // namespace fairwater::test
