#include "tests/harness/replicas.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/harness/cluster.hpp"
#include "tests/storage/free_ports.hpp"

namespace fairwater::harness {
namespace {

/// Of transactions, while some are under way and the members are asked one after another.
constexpr std::uint64_t kMostUnapplied = 100;

}  // namespace

bool has_etcd() {
  return std::system("etcd --version >/dev/null 2>&1") == 0;  // NOLINT(concurrency-mt-unsafe)
}

Replicas::Replicas(ReplicasSetup setup) : setup_(std::move(setup)) {
  adopt_orphans();
  const auto ports = test::free_ports(3 * names_.size());
  for (std::size_t i = 0; i < names_.size(); ++i)
    ports_[names_[i]] = {ports[3 * i], ports[3 * i + 1], ports[3 * i + 2]};
  if (setup_.authority != nullptr) {
    member_keys_ = setup_.authority->issue("member", "localhost");
    client_keys_ = setup_.authority->issue("coordinator", "coordinator");
  }
  std::string members;
  std::string etcd;
  for (const auto& name : names_) {
    members += fmt::format("  {}: {}\n", name, address(name));
    etcd += fmt::format("  - {}\n", url(name, ports_[name].etcd_clients));
  }
  std::ofstream file(directory_ / "replicas.yaml");
  file << "members:\n" << members << "etcd:\n" << etcd;
  if (setup_.authority != nullptr)
    file << fmt::format("tls: {{ca: {}, cert: {}, key: {}}}\n", setup_.authority->file(),
                        client_keys_.certificate, client_keys_.key);
  std::ofstream(directory_ / "coordinator.yaml") << setup_.configuration;
}

Replicas::~Replicas() {
  coordinators_.clear();
  etcd_.clear();
  if (std::uncaught_exceptions() > 0 || std::getenv("FAIRWATER_KEEP") != nullptr) {
    std::cerr << "logs are kept in " << directory_.path() << '\n';
    directory_.keep();
  }
}

std::string Replicas::address(const std::string& name) const {
  return fmt::format("{}:{}", host(name), ports_.at(name).coordinator);
}

std::string Replicas::host(const std::string& name) const {
  return setup_.network == nullptr ? "127.0.0.1" : setup_.network->address(name);
}

std::string Replicas::network_namespace(const std::string& host) const {
  return setup_.network == nullptr ? std::string{} : Network::name(host);
}

std::string Replicas::url(const std::string& name, std::uint16_t port) const {
  // Certificates are for names.
  return setup_.authority != nullptr ? fmt::format("https://localhost:{}", port)
                                     : listening_url(name, port);
}

std::string Replicas::listening_url(const std::string& name, std::uint16_t port) const {
  return fmt::format("{}://{}:{}", setup_.authority != nullptr ? "https" : "http", host(name),
                     port);
}

std::string Replicas::data(const std::string& name) const {
  const auto given = setup_.data.find(name);
  return given == setup_.data.end() ? directory_ / name : given->second.string();
}

std::string Replicas::addresses() const {
  std::string all;
  for (const auto& name : names_) all += (all.empty() ? "" : ",") + address(name);
  return all;
}

std::string Replicas::log_of(const std::string& name) const {
  std::ifstream file(directory_ / (name + ".log"));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void Replicas::start_etcd(const std::string& name) {
  std::string cluster;
  for (const auto& [member, ports] : ports_)
    cluster +=
        fmt::format("{}{}={}", cluster.empty() ? "" : ",", member, url(member, ports.etcd_peers));
  const Ports& own = ports_.at(name);
  CommandOptions options;
  options.command = {"etcd",
                     "--name",
                     name,
                     "--data-dir",
                     directory_ / ("etcd-" + name),
                     "--listen-client-urls",
                     listening_url(name, own.etcd_clients),
                     "--advertise-client-urls",
                     url(name, own.etcd_clients),
                     "--listen-peer-urls",
                     listening_url(name, own.etcd_peers),
                     "--initial-advertise-peer-urls",
                     url(name, own.etcd_peers),
                     "--initial-cluster",
                     cluster,
                     "--heartbeat-interval",
                     std::to_string(setup_.etcd_election_ms / 10),
                     "--election-timeout",
                     std::to_string(setup_.etcd_election_ms),
                     "--pre-vote",
                     "--max-request-bytes",
                     "16777216"};
  if (setup_.authority != nullptr)
    for (const std::string line : {"", "peer-"})
      options.command.insert(
          options.command.end(),
          {"--" + line + "cert-file", member_keys_.certificate, "--" + line + "key-file",
           member_keys_.key, "--" + line + "trusted-ca-file", setup_.authority->file(),
           "--" + line + "client-cert-auth"});
  options.network_namespace = network_namespace(name);
  options.error_file = directory_ / ("etcd-" + name + ".log");
  etcd_[name] = std::make_unique<ChildProcess>(options);
}

CommandOptions Replicas::command(const std::string& name,
                                 const std::vector<std::string>& flags) const {
  CommandOptions options;
  options.command = {programs_directory() / "fairwaterd",
                     "coordinator",
                     "--config",
                     directory_ / "coordinator.yaml",
                     "--replicas",
                     directory_ / "replicas.yaml",
                     "--member",
                     name,
                     "--data",
                     data(name),
                     "--listen",
                     address(name)};
  options.command.insert(options.command.end(), flags.begin(), flags.end());
  options.network_namespace = network_namespace(name);
  options.error_file = directory_ / (name + ".log");
  return options;
}

void Replicas::start_coordinator(const std::string& name, const std::vector<std::string>& flags) {
  coordinators_[name] = std::make_unique<ChildProcess>(command(name, flags));
  const std::string ready = coordinators_[name]->read_line(Duration(30'000));
  if (!ready.starts_with("listening on "))
    throw std::runtime_error("coordinator " + name + " said: " + ready);
}

void Replicas::start() {
  for (const auto& name : names_) start_etcd(name);
  start_coordinator("one", {"--init", "--found"});
  (void)wait_for_leader();
  const std::string backup = directory_ / "backup";
  const auto made = fairwater({"ledger", "backup", backup});
  if (made.status != 0) throw std::runtime_error("no backup: " + made.errors);
  for (const char* name : {"two", "three"}) start_coordinator(name, {"--join", backup});
}

int Replicas::stop_coordinator(const std::string& name, int signal) {
  coordinators_.at(name)->send_signal(signal);
  const int status = coordinators_.at(name)->wait(Duration(20'000));
  coordinators_.erase(name);
  return status;
}

int Replicas::stop_etcd(const std::string& name, int signal) {
  etcd_.at(name)->send_signal(signal);
  const int status = etcd_.at(name)->wait(Duration(20'000));
  etcd_.erase(name);
  return status;
}

Completed Replicas::fairwater(std::vector<std::string> arguments,
                              const std::string& addresses) const {
  CommandOptions options;
  arguments.insert(arguments.begin(), programs_directory() / "fairwater");
  options.command = std::move(arguments);
  options.environment = {{"FAIRWATER_ADDRESS", addresses.empty() ? this->addresses() : addresses}};
  std::ifstream file(data("one") + "/operator.token");
  std::getline(file, options.environment["FAIRWATER_TOKEN"]);
  options.network_namespace = network_namespace("desk");
  return run(options);
}

std::string Replicas::etcd_url(const std::string& name) const {
  return url(name, ports_.at(name).etcd_clients);
}

Completed Replicas::ask_etcd(const std::string& name, const std::string& path,
                             const nlohmann::json& request) const {
  CommandOptions options;
  options.command = {"curl", "-s", "--max-time", "1", etcd_url(name) + path, "-d", request.dump()};
  if (setup_.authority != nullptr)
    options.command.insert(options.command.end(),
                           {"--cacert", setup_.authority->file(), "--cert",
                            client_keys_.certificate, "--key", client_keys_.key});
  options.network_namespace = network_namespace("desk");
  return run(options);
}

nlohmann::json Replicas::etcd_status(const std::string& name) const {
  const Completed status = ask_etcd(name, "/v3/maintenance/status", nlohmann::json::object());
  auto answer = nlohmann::json::parse(status.output, nullptr, false);
  return answer.is_object() && answer.contains("leader") ? answer : nlohmann::json{};
}

std::string Replicas::etcd_leader() const {
  for (const auto& [name, process] : etcd_) {
    const auto answer = etcd_status(name);
    if (!answer.is_null() && answer["leader"] == answer["header"]["member_id"]) return name;
  }
  return {};
}

void Replicas::lead_etcd(const std::string& name, Duration limit) const {
  wait_until(name + " leads etcd", limit, [&] {
    const std::string leader = etcd_leader();
    if (leader == name) return true;
    const auto next = etcd_status(name);
    if (leader.empty() || next.is_null()) return false;
    const nlohmann::json request = {{"targetID", next["header"]["member_id"]}};
    (void)ask_etcd(leader, "/v3/maintenance/transfer-leadership", request);
    return false;
  });
}

void Replicas::wait_for_etcd(Duration limit) const {
  wait_until("all members of etcd follow one leader, and are up to date", limit, [&] {
    std::set<std::string> leaders;
    std::vector<std::uint64_t> applied;
    for (const auto& [name, process] : etcd_) {
      const auto answer = etcd_status(name);
      if (answer.is_null()) return false;
      leaders.insert(answer["leader"].get<std::string>());
      applied.push_back(std::stoull(answer["raftAppliedIndex"].get<std::string>()));
    }
    const auto [least, most] = std::minmax_element(applied.begin(), applied.end());
    return leaders.size() == 1 && *most - *least <= kMostUnapplied;
  });
}

nlohmann::json Replicas::cluster() const {
  const auto status = fairwater({"status", "--json"});
  if (status.status != 0) return {};
  auto cluster = nlohmann::json::parse(status.output)["cluster"];
  return cluster["granting"] == true ? cluster : nlohmann::json{};
}

std::string Replicas::leader() const {
  const auto status = cluster();
  return status.is_null() ? std::string{} : status["leader"].get<std::string>();
}

std::string Replicas::wait_for_leader(const std::string& other, Duration limit) const {
  std::string found;
  wait_until("somebody leads", limit, [&] {
    found = leader();
    return !found.empty() && found != other;
  });
  return found;
}

void Replicas::wait_for_all(std::uint64_t most_behind, Duration limit) const {
  wait_until("all hold the ledger", limit, [&] {
    const auto status = cluster();
    if (status.is_null()) return false;
    const auto& all = status["replicas"];
    return all.size() == names_.size() &&
           std::all_of(all.begin(), all.end(), [&](const nlohmann::json& replica) {
             return replica["behind"].get<std::uint64_t>() <= most_behind;
           });
  });
}

}  // namespace fairwater::harness
