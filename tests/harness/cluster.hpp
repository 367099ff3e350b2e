// A cluster of real processes in a directory of its own: a coordinator, agents, and the command
// line to ask them.
#pragma once

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "process/temporary_directory.hpp"
#include "tests/harness/child_process.hpp"

namespace fairwater::harness {

/// Where fairwater and fairwaterd are: beside this program, or where FAIRWATER_PROGRAMS says.
[[nodiscard]] std::filesystem::path programs_directory();

struct AgentSetup {
  std::string name = {};
  std::string resources = "cpu: 4, memory: 4GiB";  ///< the inside of a YAML map
  std::string network_namespace = {};
  std::string site = "here";
  /// Further lines of its configuration. Tasks run as the tests do and write where those look.
  std::string configuration = "run_as_default: agent\nallow_root_tasks: true\n";
  std::filesystem::path data = {};  ///< empty: below the cluster's directory
};

/// Seconds since 1970 of a time as `--json` prints it; 0 for null.
[[nodiscard]] double seconds_since_1970(const nlohmann::json& time);

/// Durations as in a configuration file.
struct ClusterSetup {
  std::vector<AgentSetup> agents = {};
  std::string tenants = {};  ///< a tenant file's text, applied by `start`
  std::string lease = "10s";
  std::string longest_lease = {};  ///< empty: as `lease`
  std::string grace = "4s";        ///< the least that a coordinator takes
  std::string heartbeat_interval = "250ms";
  std::string mode = "sized";
  std::string accounting = {};         ///< empty: the default of a new ledger
  std::string coordinator_lines = {};  ///< more of coordinator.yaml
  std::string log_limit = "1MiB";
  std::string host = "127.0.0.1";
  std::string network_namespace = {};  ///< of the coordinator and the command line
  std::filesystem::path data = {};     ///< of the coordinator; empty: below the cluster's directory
  /// Of several coordinators that somebody else starts; empty: there is one.
  std::string addresses = {};
};

class Cluster {
 public:
  /// Writes the configuration; starts nothing.
  explicit Cluster(ClusterSetup setup);
  /// Kills whatever was started, with all that descends from it. Removes the directory, unless an
  /// exception is on its way or FAIRWATER_KEEP is set: then it says where the logs are.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Coordinator, tenants and agents; returns when every node is up.
  void start();
  void start_agents();  ///< all of them; returns when every node is up
  void apply_tenants(const std::string& tenant_file) const;
  /// With further flags, `--restore` and its backup among them.
  void start_coordinator(const std::vector<std::string>& flags = {});
  /// Sends the signal and waits for the end; returns the exit status.
  int stop_coordinator(int signal = SIGKILL);
  void start_agent(const std::string& name);
  int stop_agent(const std::string& name, int signal = SIGKILL);
  void wait_for_nodes(std::size_t count, Duration limit = Duration(60'000));

  [[nodiscard]] ChildProcess& coordinator();
  [[nodiscard]] ChildProcess& agent(const std::string& name);
  [[nodiscard]] std::string address() const;
  [[nodiscard]] std::string operator_token() const;
  [[nodiscard]] std::filesystem::path directory() const { return directory_.path(); }
  [[nodiscard]] std::filesystem::path coordinator_data() const;
  [[nodiscard]] std::filesystem::path coordinator_config() const {
    return directory_ / "coordinator.yaml";
  }
  [[nodiscard]] std::string log_of(
      const std::string& process) const;  ///< `coordinator`, or an agent's name
  /// The command that starts the coordinator, for tests that expect it to fail.
  [[nodiscard]] CommandOptions coordinator_command(
      const std::vector<std::string>& flags = {}) const;

  /// `fairwater ARGUMENTS`, as the operator unless another token is given.
  [[nodiscard]] CommandOptions fairwater_command(const std::vector<std::string>& arguments,
                                                 const std::string& token = {}) const;
  /// Runs it.
  Completed fairwater(const std::vector<std::string>& arguments, std::string_view input = {},
                      const std::string& token = {}) const;
  /// With --json; throws with what it said when the exit status is not 0.
  nlohmann::json ask(std::vector<std::string> arguments, std::string_view input = {}) const;
  /// The array that `NOUN list` prints.
  [[nodiscard]] nlohmann::json list(const std::string& noun) const;
  /// Submits a job file's text; returns the id.
  std::uint64_t submit(const std::string& job_file) const;
  /// `job wait`: its exit status.
  int wait(const std::vector<std::uint64_t>& jobs, Duration limit = Duration(60'000)) const;
  [[nodiscard]] nlohmann::json job(std::uint64_t id) const;
  [[nodiscard]] nlohmann::json tenant(const std::string& name) const;
  [[nodiscard]] nlohmann::json node(const std::string& name) const;

 private:
  void write_configuration() const;

  ClusterSetup setup_;
  TemporaryDirectory directory_;
  std::uint16_t port_ = 0;
  std::unique_ptr<ChildProcess> coordinator_;
  std::map<std::string, std::unique_ptr<ChildProcess>> agents_;
};

}  // namespace fairwater::harness
