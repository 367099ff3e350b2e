#include <fstream>
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

unsigned mode_of(const std::filesystem::path& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777u : 0;
}

TEST_CASE("a wrong token is exit status 4 and learns nothing", "[scenario]") {
  Cluster cluster({.tenants = tenants({{"steady", 1}})});
  cluster.start();
  const Completed refused = cluster.fairwater({"tenant", "list", "--json"}, {}, "not-the-token");
  CHECK(refused.status == 4);
  CHECK(json::parse(refused.output)["error"]["code"] == "unauthenticated");
  CHECK(refused.output.find("steady") == std::string::npos);
}

TEST_CASE("tokens are stored hashed, in files that only their owner reads", "[scenario]") {
  Cluster cluster({});
  cluster.start();
  CHECK(mode_of(cluster.coordinator_data() / "operator.token") == 0600);
  CHECK(mode_of(cluster.coordinator_data() / "join.token") == 0600);
  const std::string token = cluster.operator_token();
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(cluster.coordinator_data())) {
    if (!entry.is_regular_file() || entry.path().extension() == ".token") continue;
    INFO(entry.path());
    CHECK(read_file(entry.path()).find(token) == std::string::npos);
  }
  CHECK(cluster.log_of("coordinator").find(token) == std::string::npos);
}

TEST_CASE("tokens are made, listed without their secrets, and revoked", "[scenario]") {
  Cluster cluster({.tenants = tenants({{"physics", 1}})});
  cluster.start();
  CHECK(mode_of(cluster.coordinator_data()) == 0700);
  CHECK(mode_of(cluster.coordinator_data() / "coordinator.key") == 0600);
  const json made =
      cluster.ask({"token", "create", "--tenant", "physics", "--name", "ci", "--expires", "12h"});
  const std::string secret = made["token"];
  CHECK(made["role"] == "tenant");
  CHECK(made["tenant"] == "physics");
  CHECK(harness::seconds_since_1970(made["expires_at"]) -
            harness::seconds_since_1970(made["created_at"]) ==
        12 * 3600);
  CHECK(cluster.fairwater({"status"}, {}, secret).status == 0);
  const json listed = cluster.list("token");
  REQUIRE(listed.size() == 3);
  CHECK(listed[0]["name"] == "operator");
  CHECK(listed[0]["expires_at"].is_null());
  CHECK(listed[1]["name"] == "join");
  CHECK_FALSE(listed[1]["expires_at"].is_null());
  CHECK(listed[2]["id"] == made["id"]);
  CHECK(listed.dump().find(secret) == std::string::npos);

  CHECK(cluster.ask({"token", "revoke", "ci"})["revoked"]["id"] == made["id"]);
  CHECK(cluster.fairwater({"status"}, {}, secret).status == 4);
  CHECK(cluster.fairwater({"token", "revoke", "operator"}).status == 1);
  CHECK(cluster.fairwater({"token", "create", "--name", "whose"}).status == 2);
  cluster.stop_coordinator();
  cluster.start_coordinator();
  CHECK(cluster.fairwater({"status"}, {}, secret).status == 4);
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("a node joins with a new token, is removed, and has to join anew", "[scenario]") {
  Cluster cluster({.agents = {{"node1"}}});
  cluster.start();
  const auto join = cluster.directory() / "later.token";
  cluster.ask({"token", "create", "--join", "--file", join});
  const auto tokens = cluster.ask({"token", "list"})["tokens"].size();
  CHECK(cluster.fairwater({"token", "create", "--join", "--file", join}).status == 1);
  CHECK(cluster.fairwater({"tenant", "token", "physics", "--file", join}).status == 1);
  CHECK(cluster.ask({"token", "list"})["tokens"].size() == tokens);  // none was made for nobody
  CHECK(mode_of(join) == 0600);
  const auto configuration = cluster.directory() / "later.yaml";
  std::ofstream(configuration) << harness::AgentSetup{}.configuration;
  const auto agent = [&](const std::string& address) {
    return CommandOptions{
        .command = {harness::programs_directory() / "fairwaterd", "agent", "--config",
                    configuration, "--coordinator", address, "--name", "later", "--data",
                    cluster.directory() / "later", "--join-token-file", join},
        .error_file = cluster.directory() / "later.log"};
  };
  {
    harness::ChildProcess later(agent(cluster.address()));
    cluster.wait_for_nodes(2);
    CHECK(cluster.fairwater({"node", "remove", "later"}).status == 1);
    cluster.ask({"node", "drain", "later", "--reason", "sold"});
    CHECK(cluster.ask({"node", "remove", "later"})["removed"] == "later");
  }
  CHECK(cluster.list("node").size() == 1);
  CHECK(read_file(cluster.directory() / "later/coordinator.pub").starts_with("fw_ck_"));
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("a tenant sees and touches its own jobs only", "[scenario]") {
  Cluster cluster({.agents = {{"node1"}}, .tenants = tenants({{"mine", 1}, {"theirs", 1}})});
  cluster.start();
  const std::string token = cluster.ask({"tenant", "token", "mine"})["token"];
  const std::string theirs = std::to_string(
      cluster.submit(job_file("theirs", 1, "command: [bash, -c, \"echo secret; sleep 30\"]\n")));
  const auto as_mine = [&](std::vector<std::string> arguments, std::string_view input = {}) {
    arguments.emplace_back("--json");
    return cluster.fairwater(arguments, input, token);
  };
  // The same answer as for a job that does not exist: not even its existence leaks.
  for (const std::vector<std::string>& touch :
       std::vector<std::vector<std::string>>{{"job", "show", theirs},
                                             {"job", "logs", theirs},
                                             {"job", "cancel", theirs},
                                             {"job", "explain", theirs}}) {
    const Completed refused = as_mine(touch);
    INFO(touch[1] << ": " << refused.output << refused.errors);
    CHECK((refused.status == 1 || refused.status == 4));
    CHECK(refused.output.find("secret") == std::string::npos);
  }
  CHECK(json::parse(as_mine({"job", "list"}).output)["jobs"].empty());
  CHECK(as_mine({"job", "submit", "-"}, "tenant: theirs\ncommand: [\"true\"]\n").status == 4);
  CHECK(as_mine({"tenant", "apply", "-"}, "tenants: [{name: mine, weight: 100}]\n").status == 4);
  CHECK(as_mine({"node", "drain", "node1", "--reason", "x"}).status == 4);
  // Its own, without naming itself.
  const Completed own = as_mine({"job", "submit", "--wait", "-"}, "command: [\"true\"]\n");
  INFO(own.output << own.errors);
  CHECK(own.status == 0);
  CHECK(json::parse(as_mine({"job", "list"}).output)["jobs"].size() == 1);
  CHECK(cluster.job(std::stoull(theirs))["state"] == "running");
}

TEST_CASE("an agent without the join token is refused and gets no work", "[scenario]") {
  Cluster cluster({.agents = {{"node1"}}, .tenants = tenants({{"steady", 1}})});
  cluster.start_coordinator();
  // Tasks of other users would come through to their directories.
  std::filesystem::permissions(cluster.directory(), std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  const auto forged = cluster.directory() / "forged.token";
  std::ofstream(forged) << "forged\n";
  const Completed refused =
      harness::run({.command = {harness::programs_directory() / "fairwaterd", "agent",
                                "--coordinator", cluster.address(), "--name", "intruder", "--data",
                                cluster.directory() / "intruder", "--join-token-file", forged}},
                   {}, Duration(20'000));
  INFO(refused.errors);
  CHECK(refused.status != 0);
  CHECK(refused.errors.find("token") != std::string::npos);
  CHECK(cluster.list("node").empty());
}

}  // namespace
}  // namespace fairwater::scenario
