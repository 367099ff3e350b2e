// What deploy/ says of several services that have to fit each other.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include <catch2/catch.hpp>
#include <yaml-cpp/yaml.h>

#include "daemon/config.hpp"
#include "model/errors.hpp"

namespace fairwater {
namespace {

std::filesystem::path in_source(const std::string& name) {
  return std::filesystem::path(FAIRWATER_SOURCE_DIR) / name;
}

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A key of a service, its own or that of the one it is merged with.
YAML::Node key_of(const YAML::Node& service, const std::string& key) {
  if (service[key]) return service[key];
  return service["<<"] ? service["<<"][key] : YAML::Node();
}

std::set<std::string> keys_of(const YAML::Node& map) {
  std::set<std::string> keys;
  for (const auto& entry : map) keys.insert(entry.first.as<std::string>());
  return keys;
}

std::string host_of(std::string address) {
  if (const auto scheme = address.find("://"); scheme != std::string::npos)
    address.erase(0, scheme + 3);
  return address.substr(0, address.rfind(':'));
}

/// By what is said of one that is not known: `the keys are accounting, allocation, ..`.
std::set<std::string> known_keys(const caf::error& refusal) {
  const std::string text = details(refusal).message;
  const std::string message = text.substr(0, text.find(" (line"));
  const auto begin = message.find("the keys are ");
  REQUIRE(begin != std::string::npos);
  std::set<std::string> keys;
  const std::regex word("[a-z_]+");
  const auto start = message.cbegin() + static_cast<std::ptrdiff_t>(begin) + 13;
  for (std::sregex_iterator key(start, message.cend(), word); key != std::sregex_iterator(); ++key)
    keys.insert(key->str());
  return keys;
}

/// With those that are commented out.
std::set<std::string> keys_in_sample(const char* name) {
  const std::string text = text_of_file(in_source(name));
  const std::regex key("(^|\n)#? *([a-z_]+):");
  std::set<std::string> keys;
  for (std::sregex_iterator found(text.begin(), text.end(), key); found != std::sregex_iterator();
       ++found)
    keys.insert((*found)[2]);
  return keys;
}

void check_all_are_in(const char* sample, const std::set<std::string>& known) {
  CHECK(known.size() > 3);
  const auto named = keys_in_sample(sample);
  for (const auto& key : known) {
    INFO(sample << " lacks " << key);
    CHECK(named.contains(key));
  }
}

}  // namespace

TEST_CASE("the samples name every key", "[unit]") {
  CoordinatorConfig coordinator;
  check_all_are_in("deploy/coordinator.yaml",
                   known_keys(read_config("nonsense: 1\n", "it", coordinator)));
  AgentConfig agent;
  check_all_are_in("deploy/agent.yaml", known_keys(read_config("nonsense: 1\n", "it", agent)));
  const auto replicas = read_replicas(
      "members: {a: \"h:1\"}\netcd: [\"http://h:2\"]\nnonsense: 1\n", "replicas.yaml");
  REQUIRE_FALSE(replicas);
  check_all_are_in("deploy/coordinator.yaml", known_keys(replicas.error()));
}

TEST_CASE("the services of each compose file name what is there", "[unit]") {
  for (const char* name : {"docker-compose.yml", "docker-compose.replicas.yml"}) {
    INFO(name);
    const YAML::Node file = YAML::LoadFile(in_source(name));
    const auto services = keys_of(file["services"]);
    const auto volumes = keys_of(file["volumes"]);
    std::set<std::string> built;
    std::set<std::string> used;
    std::set<std::string> mounted;
    for (const auto& entry : file["services"]) {
      INFO(entry.first.as<std::string>());
      const YAML::Node service = entry.second;
      REQUIRE(key_of(service, "command"));
      used.insert(key_of(service, "image").as<std::string>());
      if (key_of(service, "build")) built.insert(key_of(service, "image").as<std::string>());
      // A list of names, or a map of conditions; a service that is to be healthy says how.
      const YAML::Node after = key_of(service, "depends_on");
      for (const auto& other : after) {
        const auto named = after.IsMap() ? other.first.as<std::string>() : other.as<std::string>();
        INFO("depends on " << named);
        CHECK(services.contains(named));
        if (after.IsMap() && other.second["condition"].as<std::string>() == "service_healthy")
          CHECK(key_of(file["services"][named], "healthcheck"));
      }
      for (const auto& volume : key_of(service, "volumes")) {
        const auto from = volume.as<std::string>().substr(0, volume.as<std::string>().find(':'));
        INFO("mounts " << from);
        if (from.starts_with("./"))
          CHECK(std::filesystem::exists(in_source(from)));
        else
          CHECK(volumes.contains(from));
        mounted.insert(from);
      }
    }
    CHECK(used == built);
    for (const auto& volume : volumes) CHECK(mounted.contains(volume));
  }
}

TEST_CASE("the replicas of the compose file are its services, and etcd's members know each other",
          "[unit]") {
  const YAML::Node services = YAML::LoadFile(in_source("docker-compose.replicas.yml"))["services"];
  const auto config =
      read_replicas(text_of_file(in_source("deploy/docker/replicas.yaml")), "replicas.yaml");
  REQUIRE(config);
  CHECK(config->members.size() == 3);
  for (const auto& [member, address] : config->members) {
    CHECK(host_of(address) == member);
    REQUIRE(services[member]);
    CHECK(key_of(services[member], "command").as<std::string>() == "start-replica " + member);
    const auto addresses =
        key_of(services[member], "environment")["FAIRWATER_ADDRESS"].as<std::string>();
    CHECK_THAT(addresses, Catch::Contains(address));
    for (const char* agent : {"node1", "node2", "node3"})
      CHECK_THAT(key_of(services[agent], "command").as<std::string>(), Catch::Contains(address));
  }
  CHECK(config->etcd.size() == 3);
  const std::string start_etcd = text_of_file(in_source("deploy/docker/start-etcd"));
  for (const std::string& endpoint : config->etcd) {
    const std::string member = host_of(endpoint);
    REQUIRE(services[member]);
    CHECK(key_of(services[member], "command").as<std::string>() == "start-etcd " + member);
    CHECK_THAT(start_etcd, Catch::Contains(member + "=http://" + member + ":2380"));
  }
}

TEST_CASE("what the images' services run is copied into them", "[unit]") {
  const std::string dockerfile = text_of_file(in_source("Dockerfile"));
  for (const auto& entry : std::filesystem::directory_iterator(in_source("deploy/docker"))) {
    if (entry.path().extension() == ".yaml") continue;
    INFO(entry.path());
    CHECK_THAT(dockerfile, Catch::Contains("deploy/docker/" + entry.path().filename().string()));
    CHECK((entry.status().permissions() & std::filesystem::perms::owner_exec) !=
          std::filesystem::perms::none);
  }
}

}  // namespace fairwater
