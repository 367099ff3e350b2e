// How fairwaterd is configured: YAML files (deploy/ has samples), which flags override.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/replica_config.hpp"
#include "model/balances.hpp"
#include "model/errors.hpp"
#include "model/history.hpp"
#include "model/journal.hpp"
#include "model/resources.hpp"
#include "model/tenant.hpp"
#include "policy/allocator/allocator.hpp"
#include "process/device_access.hpp"
#include "process/devices.hpp"
#include "process/forgotten_tasks.hpp"
#include "process/task_user.hpp"

namespace fairwater::inline daemon {

enum class LogFormat : std::uint8_t { text, json };

struct CoordinatorConfig {
  std::optional<std::string> listen;  ///< none: listens_at()
  std::string data = "/var/lib/fairwater/coordinator";
  LogFormat log_format = LogFormat::text;
  std::int64_t lease_ms = 15'000;
  /// That a job may ask for. None: five minutes, or `lease` where that is longer.
  std::optional<std::int64_t> longest_lease_ms;
  /// By class: of its jobs that ask for none.
  std::map<std::string, std::int64_t> class_leases_ms;
  std::int64_t grace_ms = 5'000;
  std::int64_t heartbeat_interval_ms = 1'000;
  /// 0: as many as there are file descriptors for (daemon/connection_limits.hpp).
  std::uint32_t connections = 0;
  std::uint32_t connections_per_address = 0;  ///< 0: half of them
  /// Of the join token that --init writes; 0: it never expires.
  std::int64_t join_token_lifetime_ms = 24 * 3'600'000;
  /// What a ledger is created with, and for good; none: the default, or what the ledger has.
  std::optional<DealMode> mode;
  std::optional<Accounting> accounting;
  std::optional<std::vector<ResourceKind>> resources;
  /// What becomes of the balances of a ledger that counted units so far, with `accounting: time`.
  std::optional<BalanceConversion> convert_balances;
  /// Of a ledger that counts time; may change from start to start.
  DebtSettings debts;
  std::optional<Predict> predict;
  AllocationRule allocation = AllocationRule::sequence;  ///< may change from start to start
  /// By which elastic jobs grow and give back; may change from start to start.
  GrowthRule elastic = GrowthRule::qrea;
  std::int64_t preempt_after_ms = 30'000;
  bool preempts_for_min = true;
  HistoryLimits history;
  std::optional<ReplicaConfig> replicas;  ///< none: this coordinator is alone
  std::string member;                     ///< which of them it is
};

struct AgentConfig {
  std::string coordinator = "127.0.0.1:7400";  ///< or several, with commas between them
  std::string name;                            ///< default: the host's name
  std::string site = "default";
  /// Where tasks on other nodes reach those here. Default: by which it reaches the coordinator.
  std::string address;
  std::map<std::string, std::string> labels;
  NamedAmounts resources;             ///< default: all processors, memory and gpus of the machine
  NamedDevices devices;               ///< by id; of gpus the default is what is found
  bool gpus_as_found = false;         ///< `gpu: auto`
  bool shared_gpus_as_found = false;  ///< `gpu_milli: auto`
  DeviceFiles device_files;           ///< of those that are no gpus with a number
  std::string data = "/var/lib/fairwater/agent";
  std::string join_token_file;
  std::uint64_t log_limit_mib = 16;
  LogRetention log_retention;
  std::string work_directory;  ///< default: beside `data` for root, else in it
  /// Whom tasks run as whose tenant names nobody: `per_tenant`, `agent`, or a user. Default:
  /// per_tenant for root, else agent.
  std::string run_as_default;
  std::uint32_t first_run_as_id = kFirstTenantUserId;
  std::uint32_t last_run_as_id = kLastTenantUserId;
  bool allow_root_tasks = false;
  LogFormat log_format = LogFormat::text;
};

/// Reads a file's content over what `config` holds; `name` is how errors call it. Errors name key
/// and line.
[[nodiscard]] caf::error read_config(std::string_view text, const std::string& name,
                                     CoordinatorConfig& config);
[[nodiscard]] caf::error read_config(std::string_view text, const std::string& name,
                                     AgentConfig& config);

[[nodiscard]] std::int64_t longest_lease_ms(const CoordinatorConfig& config);

/// Where it is to be reached unless it says otherwise: one of several at its member's address.
[[nodiscard]] std::string listens_at(const CoordinatorConfig& config);

/// What one field says against another, after flags were added: lease above heartbeat interval,
/// resource kinds that make a catalogue, HOST:PORT addresses.
[[nodiscard]] caf::error validate(const CoordinatorConfig& config);
[[nodiscard]] caf::error validate(const AgentConfig& config);

/// What a ledger is created with: by default it counts time, but for slots.
[[nodiscard]] ClusterCreated new_cluster(std::string id, const CoordinatorConfig& config);
/// Refuses a mode or resource kinds other than those that the ledger was created with; time on a
/// ledger of units without a word about its balances, and units on one that counts time; bounds of
/// debts where units are counted, and tenants' weights of single resources where units are dealt by
/// the sequence.
[[nodiscard]] caf::error check_against(const ClusterCreated& cluster,
                                       const std::vector<TenantRecord>& tenants,
                                       const CoordinatorConfig& config);

[[nodiscard]] Expected<LogFormat> parse_log_format(std::string_view text);
/// The host's name, and what it has of cpu and memory.
[[nodiscard]] std::string default_node_name();
[[nodiscard]] NamedAmounts machine_resources();

/// What a node gives to the cluster.
struct NodeResources {
  NamedAmounts capacity;
  NamedDevices devices;
};
/// As configured, on a machine with these gpus. An amount that is not given follows from the ids. A
/// number of gpus without ids means the first that were found or, where there are not as many,
/// those from 0 on: the files may be elsewhere.
[[nodiscard]] Expected<NodeResources> node_resources(const AgentConfig& config,
                                                     const std::vector<std::string>& gpus);

}  // namespace fairwater::inline daemon
