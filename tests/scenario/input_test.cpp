#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

struct BadInput {
  const char* what;
  std::vector<std::string> arguments;
  std::string input;
  int status;
  std::string mentions;  ///< in the error's message or field
};

TEST_CASE("bad input of every kind is refused with its exit status and a word on what is wrong",
          "[scenario]") {
  Cluster cluster({.agents = {{"node1"}}, .tenants = tenants({{"steady", 1}})});
  cluster.start();
  const std::string sane = "tenant: steady\ncommand: [\"true\"]\n";
  const std::vector<std::string> submit{"job", "submit", "-"};
  const std::vector<std::string> apply{"tenant", "apply", "-"};
  const std::vector<BadInput> cases{
      {"no YAML", submit, "command: [true\n", 2, "line"},
      {"an unknown key", submit, sane + "taks: 3\n", 2, "taks"},
      {"a wrong type", submit, sane + "tasks: many\n", 2, "tasks"},
      {"no command", submit, "tenant: steady\n", 2, "command"},
      {"an empty command", submit, "tenant: steady\ncommand: []\n", 2, "command"},
      {"no tasks", submit, sane + "tasks: 0\n", 2, "tasks"},
      {"too many tasks", submit, sane + "tasks: 99999999\n", 2, "tasks"},
      {"a negative amount", submit, sane + "resources: {cpu: -1}\n", 2, "cpu"},
      {"an amount that is none", submit, sane + "resources: {cpu: banana}\n", 2, "banana"},
      {"an unknown resource", submit, sane + "resources: {cpu: 1, quantum: 3}\n", 2, "quantum"},
      {"more than any node has", submit, sane + "resources: {cpu: 1000}\n", 2, "cpu"},
      {"a bad duration", submit, sane + "time_limit: soon\n", 2, "time_limit"},
      {"a bad label expression", submit, sane + "labels: \"ssd && (\"\n", 2, "labels"},
      {"an unknown kind", submit, sane + "kind: magic\n", 2, "kind"},
      {"a file of binary zeros", submit, std::string(1000, '\0'), 2, ""},
      {"an unknown tenant", submit, "tenant: nobody\ncommand: [\"true\"]\n", 2, "nobody"},
      {"a file that is not there", {"job", "submit", "/no/such/file"}, "", 2, "/no/such/file"},
      {"a weight of zero", apply, "tenants: [{name: x, weight: 0}]\n", 2, "weight"},
      {"a tenant twice", apply, "tenants: [{name: x, weight: 1}, {name: x, weight: 2}]\n", 2, "x"},
      {"a tenant's name with a space", apply, "tenants: [{name: \"a b\", weight: 1}]\n", 2, "name"},
      {"max below min", apply, "tenants: [{name: x, weight: 1, min: {cpu: 4}, max: {cpu: 2}}]\n", 2,
       "max"},
      {"mu above one", apply, "tenants: [{name: x, weight: 1, repay: 1.5}]\n", 2, "repay"},
      {"an unknown tenant key", apply, "tenants: [{name: x, wieght: 1}]\n", 2, "wieght"},
      {"an unknown job", {"job", "show", "999999"}, "", 1, "999999"},
      {"a job id that is none", {"job", "show", "abc"}, "", 2, "abc"},
      {"an unknown node", {"node", "drain", "nowhere", "--reason", "x"}, "", 1, "nowhere"},
      {"no reason for a drain", {"node", "drain", "node1", "--reason", ""}, "", 2, "say why"},
      {"an unknown verb", {"job", "dance"}, "", 2, ""},
      {"an unknown flag", {"status", "--quickly"}, "", 2, "quickly"},
      {"no command to run", {"job", "run", "--tenant", "steady"}, "", 2, ""},
  };
  for (const BadInput& bad : cases) {
    std::vector<std::string> arguments = bad.arguments;
    arguments.emplace_back("--json");
    const Completed refused = cluster.fairwater(arguments, bad.input);
    INFO(bad.what << ": status " << refused.status << ", output: " << refused.output
                  << ", errors: " << refused.errors);
    CHECK(refused.status == bad.status);
    const json answer = json::parse(refused.output, nullptr, false);
    CHECK_FALSE(answer.is_discarded());
    if (answer.is_discarded()) continue;
    CHECK(answer["version"] == 1);
    CHECK(answer.contains("error"));
    CHECK(answer["error"].dump().find(bad.mentions) != std::string::npos);
  }
  CHECK(cluster.list("job").empty());
  CHECK(cluster.list("tenant").size() == 1);
  // and it still works
  CHECK(cluster.wait({cluster.submit(sane)}) == 0);
}

TEST_CASE("nobody at the address is exit status 3", "[scenario]") {
  Cluster cluster({});
  cluster.start_coordinator();
  const std::string token = cluster.operator_token();
  cluster.stop_coordinator(SIGTERM);
  const Completed refused = cluster.fairwater({"status", "--json"}, {}, token);
  CHECK(refused.status == 3);
  CHECK(json::parse(refused.output)["error"]["code"] == "unavailable");
}

TEST_CASE(
    "fairwater without fairwater-local does what it does by itself, and names what is missing",
    "[scenario]") {
  const TemporaryDirectory alone;
  std::filesystem::copy_file(harness::programs_directory() / "fairwater", alone / "fairwater");
  const auto run = [&](const std::vector<std::string>& arguments) {
    CommandOptions options;
    options.command = {alone / "fairwater"};
    options.command.insert(options.command.end(), arguments.begin(), arguments.end());
    return harness::run(options);
  };
  CHECK(run({"version"}).status == 0);
  const Completed missing = run({"sim", "run", "x.yaml"});
  CHECK(missing.status == 1);
  CHECK(missing.output.empty());
  CHECK_THAT(missing.errors, Catch::StartsWith("fairwater: " + (alone / "fairwater-local") +
                                               " does not start: No such file"));
}

TEST_CASE("--check tells a good configuration from a bad one, by key", "[scenario]") {
  Cluster cluster({});
  const auto check = [&](const std::string& text) {
    const auto file = cluster.directory() / "candidate.yaml";
    std::ofstream(file) << text;
    return harness::run({.command = {harness::programs_directory() / "fairwaterd", "coordinator",
                                     "--config", file, "--check"}});
  };
  CHECK(check("lease: 15s\nlisten: 127.0.0.1:0\n").status == 0);
  for (const std::string key :
       {"lease: soon", "leese: 15s", "listen: 99", "mode: quick", "lease: -1s"}) {
    const Completed refused = check(key + "\n");
    INFO(key << ": " << refused.errors);
    CHECK(refused.status == 2);
    CHECK(refused.errors.find(key.substr(0, key.find(':'))) != std::string::npos);
  }
}

TEST_CASE("--check of an agent looks at its devices' files", "[scenario]") {
  const TemporaryDirectory directory;
  const auto file = directory / "agent.yaml";
  const auto check = [&](const std::string& device_files) {
    std::ofstream(file) << "resources: {cpu: 1}\ndevices: {fpga: [left]}\ndevice_files: {"
                        << device_files << "}\n";
    return harness::run({.command = {harness::programs_directory() / "fairwaterd", "agent",
                                     "--config", file, "--check"}});
  };
  CHECK(check("left: [/dev/full]").status == 0);
  for (const auto& [files, message] :
       {std::pair{"right: [/dev/full]",
                  "device_files.right: this node has no device right; its devices are left"},
        {"left: [/dev/no-such]", "device_files.left: '/dev/no-such' is not a device"}}) {
    const Completed refused = check(files);
    INFO(refused.errors);
    CHECK(refused.status == 2);
    CHECK(refused.errors.find(message) != std::string::npos);
  }
}

TEST_CASE("--check of an agent looks for the user of its tasks", "[scenario]") {
  const TemporaryDirectory directory;
  const auto file = directory / "agent.yaml";
  const auto check = [&](const std::string& user) {
    std::ofstream(file) << "resources: {cpu: 1}\nrun_as_default: " << user << "\n";
    return harness::run({.command = {harness::programs_directory() / "fairwaterd", "agent",
                                     "--config", file, "--check"}});
  };
  for (const char* known : {"per_tenant", "nobody", "4711"}) CHECK(check(known).status == 0);
  const Completed refused = check("nobody_at_all");
  INFO(refused.errors);
  CHECK(refused.status == 2);
  CHECK_THAT(refused.errors,
             Catch::Contains("run_as_default: this node has no user 'nobody_at_all'"));
}

TEST_CASE("guarantees beyond the capacity are warned of, before and at their application",
          "[scenario]") {
  Cluster cluster({.agents = {{"node1", "cpu: 4, memory: 4GiB"}},
                   .tenants = "tenants: [{name: a, weight: 1, min: {cpu: 3}}]\n"});
  cluster.start();
  const std::string more = "tenants: [{name: b, weight: 1, min: {cpu: 2}}]\n";
  for (const bool dry_run : {true, false}) {
    std::vector<std::string> arguments{"tenant", "apply", "-"};
    if (dry_run) arguments.emplace_back("--dry-run");
    const Completed applied = cluster.fairwater(arguments, more);
    CHECK(applied.status == 0);
    CHECK(
        applied.errors.find("warning: min of all tenants together is cpu 5, the nodes that are up "
                            "have 4") != std::string::npos);
  }
  const json quiet =
      cluster.ask({"tenant", "apply", "-"}, "tenants: [{name: b, weight: 1, min: {cpu: 1}}]\n");
  CHECK(quiet["warnings"].empty());
}

TEST_CASE("the sample configurations are good", "[scenario]") {
  const std::filesystem::path deploy =
      std::filesystem::path(FAIRWATER_SOURCE_DIR) / "tests/scenario" / "../../deploy";
  for (const std::string role : {"coordinator", "agent"}) {
    const Completed checked =
        harness::run({.command = {harness::programs_directory() / "fairwaterd", role, "--config",
                                  deploy / (role + ".yaml"), "--check"}});
    INFO(checked.errors);
    CHECK(checked.status == 0);
  }
}

}  // namespace
}  // namespace fairwater::scenario
