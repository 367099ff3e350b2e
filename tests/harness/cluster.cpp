#include "tests/harness/cluster.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fairwater::harness {

namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", path.string()));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::filesystem::path programs_directory() {
  const char* given = std::getenv("FAIRWATER_PROGRAMS");
  return given != nullptr ? std::filesystem::path(given)
                          : std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

double seconds_since_1970(const nlohmann::json& time) {
  if (!time.is_string()) return 0;
  std::tm calendar{};
  const std::string text = time.get<std::string>();
  const char* fraction = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &calendar);
  if (fraction == nullptr) throw std::runtime_error("not a time: " + text);
  return static_cast<double>(timegm(&calendar)) +
         (*fraction == '.' ? std::strtod(fraction, nullptr) : 0);
}

Cluster::Cluster(ClusterSetup setup) : setup_(std::move(setup)) {
  adopt_orphans();
  write_configuration();
}

Cluster::~Cluster() {
  // First the agents, so that none reports the end of tasks that are killed here.
  agents_.clear();
  coordinator_.reset();
  kill_descendants();
  if (std::uncaught_exceptions() > 0 || std::getenv("FAIRWATER_KEEP") != nullptr) {
    std::cerr << "logs are kept in " << directory_.path() << '\n';
    directory_.keep();
  }
}

void Cluster::write_configuration() const {
  std::ofstream(coordinator_config())
      << fmt::format(
             "data: {}\nlease: {}\nlongest_lease: {}\ngrace: {}\nheartbeat_interval: {}\n"
             "mode: {}\n",
             coordinator_data().string(), setup_.lease,
             setup_.longest_lease.empty() ? setup_.lease : setup_.longest_lease, setup_.grace,
             setup_.heartbeat_interval, setup_.mode)
      << (setup_.accounting.empty() ? "" : "accounting: " + setup_.accounting + "\n")
      << setup_.coordinator_lines;
  for (const AgentSetup& agent : setup_.agents) {
    std::ofstream(directory_ / (agent.name + ".yaml")) << fmt::format(
        "name: {}\nsite: {}\nresources: {{{}}}\ndata: {}\njoin_token_file: {}\nlog_limit: {}\n{}",
        agent.name, agent.site, agent.resources,
        (agent.data.empty() ? std::filesystem::path(directory_ / agent.name) : agent.data).string(),
        (coordinator_data() / "join.token").string(), setup_.log_limit, agent.configuration);
  }
}

std::filesystem::path Cluster::coordinator_data() const {
  return setup_.data.empty() ? std::filesystem::path(directory_ / "coordinator") : setup_.data;
}

std::string Cluster::log_of(const std::string& process) const {
  return read_file(directory_ / (process + ".log"));
}

std::string Cluster::address() const {
  return setup_.addresses.empty() ? fmt::format("{}:{}", setup_.host, port_) : setup_.addresses;
}

std::string Cluster::operator_token() const {
  std::string token = read_file(coordinator_data() / "operator.token");
  token.erase(token.find_last_not_of(" \n") + 1);
  return token;
}

CommandOptions Cluster::coordinator_command(const std::vector<std::string>& flags) const {
  CommandOptions options;
  options.command = {programs_directory() / "fairwaterd",
                     "coordinator",
                     "--config",
                     coordinator_config(),
                     "--listen",
                     address()};
  options.command.insert(options.command.end(), flags.begin(), flags.end());
  const bool restores = std::find(flags.begin(), flags.end(), "--restore") != flags.end();
  if (!restores && !std::filesystem::exists(coordinator_data() / "operator.token"))
    options.command.push_back("--init");
  options.network_namespace = setup_.network_namespace;
  options.error_file = directory_ / "coordinator.log";
  return options;
}

void Cluster::start_coordinator(const std::vector<std::string>& flags) {
  coordinator_ = std::make_unique<ChildProcess>(coordinator_command(flags));
  const std::string ready = coordinator_->read_line(Duration(30'000));
  const auto colon = ready.rfind(':');
  if (!ready.starts_with("listening on ") || colon == std::string::npos) {
    throw std::runtime_error("the coordinator said: " + ready);
  }
  if (port_ == 0) port_ = static_cast<std::uint16_t>(std::stoul(ready.substr(colon + 1)));
}

int Cluster::stop_coordinator(int signal) {
  coordinator_->send_signal(signal);
  const int status = coordinator_->wait(Duration(20'000));
  coordinator_.reset();
  return status;
}

void Cluster::start_agent(const std::string& name) {
  for (const AgentSetup& agent : setup_.agents) {
    if (agent.name != name) continue;
    CommandOptions options;
    options.command = {programs_directory() / "fairwaterd", "agent",         "--config",
                       directory_ / (name + ".yaml"),       "--coordinator", address()};
    options.network_namespace = agent.network_namespace;
    options.error_file = directory_ / (name + ".log");
    agents_[name] = std::make_unique<ChildProcess>(options);
    return;
  }
  throw std::runtime_error("no agent is called " + name);
}

int Cluster::stop_agent(const std::string& name, int signal) {
  agent(name).send_signal(signal);
  const int status = agent(name).wait(Duration(20'000));
  agents_.erase(name);
  return status;
}

void Cluster::start() {
  start_coordinator();
  if (!setup_.tenants.empty()) apply_tenants(setup_.tenants);
  start_agents();
}

void Cluster::start_agents() {
  for (const AgentSetup& agent : setup_.agents) start_agent(agent.name);
  wait_for_nodes(setup_.agents.size());
}

void Cluster::apply_tenants(const std::string& tenant_file) const {
  const std::filesystem::path file = directory_ / "tenants.yaml";
  std::ofstream(file) << tenant_file;
  ask({"tenant", "apply", file});
}

void Cluster::wait_for_nodes(std::size_t count, Duration limit) {
  wait_until(fmt::format("{} nodes are up", count), limit, [&] {
    std::size_t up = 0;
    for (const nlohmann::json nodes = list("node"); const auto& node : nodes)
      up += node["state"] == "up" ? 1 : 0;
    return up == count;
  });
}

ChildProcess& Cluster::coordinator() { return *coordinator_; }
ChildProcess& Cluster::agent(const std::string& name) { return *agents_.at(name); }

CommandOptions Cluster::fairwater_command(const std::vector<std::string>& arguments,
                                          const std::string& token) const {
  CommandOptions options;
  options.command = {programs_directory() / "fairwater"};
  options.command.insert(options.command.end(), arguments.begin(), arguments.end());
  options.environment = {{"FAIRWATER_ADDRESS", address()},
                         {"FAIRWATER_TOKEN", token.empty() ? operator_token() : token}};
  options.network_namespace = setup_.network_namespace;
  return options;
}

Completed Cluster::fairwater(const std::vector<std::string>& arguments, std::string_view input,
                             const std::string& token) const {
  return run(fairwater_command(arguments, token), input);
}

nlohmann::json Cluster::ask(std::vector<std::string> arguments, std::string_view input) const {
  arguments.emplace_back("--json");
  const Completed completed = fairwater(arguments, input);
  if (completed.status != 0) {
    throw std::runtime_error(fmt::format("fairwater {} ended with {}: {}{}",
                                         fmt::join(arguments, " "), completed.status,
                                         completed.output, completed.errors));
  }
  return nlohmann::json::parse(completed.output);
}

std::uint64_t Cluster::submit(const std::string& job_file) const {
  const Completed completed = fairwater({"job", "submit", "--quiet", "-"}, job_file);
  if (completed.status != 0) {
    throw std::runtime_error(fmt::format("submission ended with {}: {}{}\n{}", completed.status,
                                         completed.output, completed.errors, job_file));
  }
  return std::stoull(completed.output);
}

int Cluster::wait(const std::vector<std::uint64_t>& jobs, Duration limit) const {
  CommandOptions options;
  options.command = {programs_directory() / "fairwater", "job", "wait"};
  for (const std::uint64_t id : jobs) options.command.push_back(std::to_string(id));
  options.environment = {{"FAIRWATER_ADDRESS", address()}, {"FAIRWATER_TOKEN", operator_token()}};
  options.network_namespace = setup_.network_namespace;
  return run(options, {}, limit).status;
}

nlohmann::json Cluster::list(const std::string& noun) const {
  std::vector<std::string> arguments{noun, "list"};
  if (noun == "job") arguments.insert(arguments.end(), {"--limit", "100000"});
  nlohmann::json answer = ask(arguments);
  return std::move(answer[noun + "s"]);
}

nlohmann::json Cluster::job(std::uint64_t id) const {
  nlohmann::json answer = ask({"job", "show", std::to_string(id)});
  return std::move(answer["job"]);
}

nlohmann::json Cluster::tenant(const std::string& name) const {
  for (const nlohmann::json tenants = list("tenant"); const auto& tenant : tenants) {
    if (tenant["name"] == name) return tenant;
  }
  throw std::runtime_error("no tenant is called " + name);
}

nlohmann::json Cluster::node(const std::string& name) const {
  for (const nlohmann::json nodes = list("node"); const auto& node : nodes) {
    if (node["name"] == name) return node;
  }
  throw std::runtime_error("no node is called " + name);
}

}  // namespace fairwater::harness
