// A coordinator of this build on a ledger of its own, with tenants, clients and a fleet of nodes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bench/load/crowd.hpp"
#include "bench/load/fleet.hpp"
#include "bench/measure.hpp"
#include "bench/value_of.hpp"
#include "rpc/client.hpp"
#include "tests/harness/cluster.hpp"
#include "tests/harness/replicas.hpp"

namespace fairwater::load {

using bench::value_of;

/// How large a load is; what each row makes of it is told in the README.
struct Sizes {
  std::uint32_t nodes = 1000;
  std::uint32_t tenants = 100;
  std::uint32_t tasks = 20'000;
  std::uint32_t jobs = 5'000;
  std::uint32_t waiting = 10'000;
  std::uint64_t ended = 0;  ///< tasks of a history
  std::uint32_t real = 2'000;
  std::uint32_t followers = 10;
  std::uint32_t pollers = 200;
  double seconds = 5;
  /// Beside a flood a mean submission may take that many percent longer.
  double most_slower = 20;
  std::string accounting;  ///< of the ledger; empty: the default
};

[[nodiscard]] inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Fails, naming `what`, unless it was counted so often.
void require_count(const std::string& what, std::uint64_t counted, std::uint64_t expected);

/// Fails with what the first one met when a turn failed.
void require_no_failure(const CrowdSeen& seen);

/// Three share a ledger over three members of etcd, all on this machine.
enum class Coordinators : bool { one, three };

/// False, and says that the row is left out, where there is no etcd.
[[nodiscard]] bool has_etcd_for(const char* row);

class Setting {
 public:
  Setting(const Sizes& sizes, std::uint32_t tenants, Coordinators coordinators = Coordinators::one);

  [[nodiscard]] Client& client() { return *client_; }
  /// The one that leads.
  [[nodiscard]] pid_t coordinator() {
    return replicas_ ? replicas_->coordinator(leader_).pid() : cluster_.coordinator().pid();
  }
  [[nodiscard]] std::string address() const {
    return replicas_ ? replicas_->address(leader_) : cluster_.address();
  }
  /// Of the ledger.
  [[nodiscard]] std::string data() const { return cluster_.coordinator_data().string(); }
  [[nodiscard]] std::string operator_token() const { return cluster_.operator_token(); }
  [[nodiscard]] std::vector<std::string> operator_tokens(std::uint32_t count) const {
    return {count, operator_token()};
  }
  /// One for each tenant.
  [[nodiscard]] const std::vector<std::string>& tenant_tokens() const { return tenant_tokens_; }

  /// Returns when all are registered.
  Fleet& start_nodes(FleetOptions options);
  [[nodiscard]] Fleet& fleet() { return *fleet_; }
  void wait_for(const std::string& what, std::function<bool(const FleetSeen&)> reached);
  /// No node was told more than it has room for, or anything twice.
  void require_sound_orders();
  /// Kills the coordinator and starts it anew on its ledger, after `meanwhile`.
  void restart_coordinator(const std::function<void()>& meanwhile = [] {});
  /// Of the ledger's directory, after what was in its log has become part of its tables: restarts
  /// the coordinator twice, and returns when every node is back.
  [[nodiscard]] double settled_data_bytes();

 private:
  std::unique_ptr<harness::Replicas> replicas_;  // null: one alone
  std::string leader_;                           // of these
  harness::Cluster cluster_;
  std::unique_ptr<Client> client_;
  std::vector<std::string> tenant_tokens_;
  std::unique_ptr<Fleet> fleet_;
};

/// What the coordinator and the load's own threads use from here on; prints it under NAME.
class Watch {
 public:
  Watch(std::string name, pid_t coordinator);
  [[nodiscard]] double seconds() const { return seconds_since(start_); }
  [[nodiscard]] double coordinator_cpu_seconds() const { return coordinator_.cpu_seconds(); }
  [[nodiscard]] double disk_bytes_written() const { return coordinator_.disk_bytes_written(); }
  /// NAME.coordinator_cores, NAME.load_cores, NAME.coordinator_memory
  void print() const;
  void print(const std::string& what, double value, const std::string& unit) const;

 private:
  std::string name_;
  pid_t pid_;
  Clock::time_point start_ = Clock::now();
  bench::Usage coordinator_;
  bench::Usage load_;
};

}  // namespace fairwater::load
