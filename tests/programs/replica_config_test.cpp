// The file of --replicas: what is wrong with it is refused by name and line.
#include <catch2/catch.hpp>

#include "daemon/config.hpp"

namespace fairwater {
namespace {

const std::string kGood =
    "members: {one: 'head1:7400', two: 'head2:7400', three: 'head3:7400'}\n"
    "etcd: ['http://head1:2379', 'https://head2:2379']\n"
    "tls: {ca: ca.pem, cert: cert.pem, key: key.pem}\n"
    "prefix: physics\n"
    "etcd_quota: 8GiB\n"
    "takeover_after: 2s\n";

ErrorDetails refusal(const std::string& text) {
  const auto config = read_replicas(text, "replicas.yaml");
  REQUIRE_FALSE(config);
  CHECK(details(config.error()).code == ErrorCode::invalid_input);
  return details(config.error());
}

TEST_CASE("a file says who the coordinators are", "[unit][daemon_config]") {
  const auto config = read_replicas(kGood, "replicas.yaml");
  REQUIRE(config);
  CHECK(config->members.at("two") == "head2:7400");
  CHECK(config->etcd.size() == 2);
  CHECK(config->tls.ca_file == "ca.pem");
  CHECK(config->tls.key_file == "key.pem");
  CHECK(config->prefix == "physics");
  CHECK(config->takeover_after_ms == 2000);
  CHECK(config->etcd_quota_bytes == std::uint64_t{8} << 30);
  CHECK(!check_member(*config, "one"));
  CHECK(details(check_member(*config, "four")).message == "'four' is none of one, three, two");
  CHECK(details(check_member(*config, "")).message ==
        "say which of one, three, two this coordinator is");
  const auto least =
      read_replicas("members: {one: 'head1:7400'}\netcd: ['http://head1:2379']\n", "f");
  REQUIRE(least);
  CHECK(least->prefix == "fairwater");
  CHECK(least->takeover_after_ms == 700);
  CHECK(least->etcd_quota_bytes == std::uint64_t{2} << 30);
}

TEST_CASE("what is wrong with the coordinators' file is named", "[unit][daemon_config]") {
  const std::string etcd = "etcd: ['http://head1:2379']\n";
  CHECK(refusal(etcd).field == "members");
  CHECK(refusal("members: {}\n" + etcd).field == "members");
  CHECK(refusal("members: {one: head1}\n" + etcd).field == "members.one");
  CHECK(refusal("members: {'a b': 'head1:7400'}\n" + etcd).field == "members.a b");
  CHECK_THAT(refusal("members: {one: 'h:0'}\n" + etcd).message,
             Catch::StartsWith("'h:0' is where agents, clients and the others reach it"));
  CHECK_THAT(refusal("members: {one: 'h:1', two: 'h:1'}\n" + etcd).message,
             Catch::StartsWith("h:1 is another coordinator's address already"));
  const std::string members = "members: {one: 'head1:7400'}\n";
  CHECK(refusal(members).field == "etcd");
  CHECK(refusal(members + "etcd: []\n").field == "etcd");
  CHECK_THAT(refusal(members + "etcd: ['head1:2379']\n").message,
             Catch::Contains("'head1:2379' is no http://HOST:PORT or https://HOST:PORT") &&
                 Catch::EndsWith("(line 2 of replicas.yaml)"));
  CHECK(refusal(members + etcd + "prefix: a/b\n").field == "prefix");
  CHECK(refusal(members + etcd + "takeover_after: 100ms\n").field == "takeover_after");
  CHECK(refusal(members + etcd + "etcd_quota: 8MiB\n").field == "etcd_quota");
  CHECK(refusal(members + etcd + "etcd_quota: much\n").field == "etcd_quota");
  CHECK(refusal(members + etcd + "tls: {cert: a}\n").field == "tls.ca");
  CHECK(refusal(members + etcd + "quorum: 2\n").field == "quorum");
}

TEST_CASE("a leader is followed before leases end", "[unit][daemon_config]") {
  CoordinatorConfig config;
  REQUIRE_FALSE(
      read_config("data: d\nlease: 15s\nmember: one\nreplicas:\n  members: {one: 'head1:7400'}\n"
                  "  etcd: ['http://head1:2379']\n  takeover_after: 14s\n",
                  "coordinator.yaml", config));
  CHECK(!validate(config));
  config.lease_ms = config.replicas->takeover_after_ms;
  const auto wrong = details(validate(config));
  CHECK(wrong.field == "replicas.takeover_after");
  CHECK_THAT(wrong.message, Catch::StartsWith("14000 ms is not less than lease, 14000 ms"));
}

TEST_CASE("one of several listens where the others look for it", "[unit][daemon_config]") {
  CoordinatorConfig config;
  CHECK(listens_at(config) == "127.0.0.1:7400");
  config.replicas = *read_replicas(
      "members: {one: 'head1:7400', two: 'head2:7500'}\netcd: ['http://head1:2379']\n", "f");
  config.member = "two";
  CHECK(listens_at(config) == "head2:7500");
  config.listen = "0.0.0.0:7500";
  CHECK(listens_at(config) == "0.0.0.0:7500");
}

TEST_CASE("files that are named and cannot be used are wrong, too", "[unit][daemon_config]") {
  auto config = read_replicas(kGood, "replicas.yaml");
  REQUIRE(config);
  CHECK(details(check_files(*config, "replicas.")).field == "replicas.tls.ca");
  config->etcd = {"http://head1:2379"};
  config->tls = {};
  CHECK(!check_files(*config, ""));
}

TEST_CASE("coordinator.yaml may hold the coordinators, too", "[unit][daemon_config]") {
  CoordinatorConfig config;
  REQUIRE_FALSE(
      read_config("member: one\nreplicas:\n  members: {one: 'head1:7400'}\n"
                  "  etcd: ['http://head1:2379']\n",
                  "coordinator.yaml", config));
  CHECK(config.member == "one");
  REQUIRE(config.replicas);
  CHECK(config.replicas->members.size() == 1);
  const auto wrong =
      read_config("replicas:\n  members: {one: here}\n  etcd: ['http://head1:2379']\n",
                  "coordinator.yaml", config);
  CHECK(details(wrong).field == "replicas.members.one");
  CHECK_THAT(details(wrong).message, Catch::EndsWith("(line 2 of coordinator.yaml)"));

  AgentConfig agent;
  REQUIRE_FALSE(read_config("coordinator: ['head1:7400', 'head2:7400']\n", "agent.yaml", agent));
  CHECK(agent.coordinator == "head1:7400,head2:7400");
  CHECK(details(read_config("coordinator: ['head1:7400', here]\n", "agent.yaml", agent)).field ==
        "coordinator");
}

}  // namespace
}  // namespace fairwater
