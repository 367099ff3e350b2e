// What the programs of fairwaterd share: logging, stopping, and a coordinator or an agent as an
// object.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include "actors/coordinator/cluster.hpp"
#include "daemon/config.hpp"
#include "daemon/connection_limits.hpp"
#include "daemon/task_isolation.hpp"
#include "gateway/server.hpp"
#include "model/patient_clock.hpp"
#include "rpc/agent/agent_client.hpp"

namespace fairwater::inline daemon {

/// Structured lines on standard error: `TIME level message`, or one JSON object each.
class DaemonLog {
 public:
  explicit DaemonLog(LogFormat format) : format_(format) {}
  void info(std::string_view message) const { write("info", message); }
  void warn(std::string_view message) const { write("warning", message); }
  void error(std::string_view message) const { write("error", message); }

 private:
  void write(std::string_view level, std::string_view message) const;
  LogFormat format_;
};

/// Sends what the actors and the gateway log to standard error in that format; standard output is
/// for results.
void use_standard_error(LogFormat format);

/// Waits for SIGTERM and SIGINT, or for a request from another thread. To be made before any thread
/// is, because every thread inherits the blocked signals.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  /// From any thread: `wait` returns.
  void request() const;
  /// Returns at the first signal or request: true; `child_fd`, when it is not -1, ends the wait as
  /// well when it becomes readable, and so does the time, when it is not negative: false.
  bool wait(int child_fd = -1, int timeout_ms = -1) const;
  /// From here on another signal ends the process at once.
  void arm_second_signal() const;

 private:
  int signals_;
  int requests_;
};

/// How many threads run the actors of a process with so many processors (0: nobody knows): half of
/// them, 1 to 4. The edge and the ledger's writer have threads of their own that are as busy, and
/// to wake a thread on another processor costs more than most messages.
[[nodiscard]] std::size_t actor_threads(std::size_t processors);

/// CAF's settings for a daemon: no command line, no configuration file, a small pool.
class DaemonActorConfig : public caf::actor_system_config {
 public:
  DaemonActorConfig();
};

/// A ledger with what its coordinator proves itself by.
struct OpenedLedger {
  std::shared_ptr<Ledger> ledger;
  std::shared_ptr<const CoordinatorKey> key;
  std::shared_ptr<PatientClock> clock;  ///< of its records
};
/// `init`: create the data directory, with its tokens. `store`: where several coordinators agree,
/// or null.
[[nodiscard]] Expected<OpenedLedger> open_ledger(const CoordinatorConfig& config, bool init,
                                                 JournalStore* store);
[[nodiscard]] ServerOptions server_options(const CoordinatorConfig& config,
                                           const ConnectionLimits& limits,
                                           const OpenedLedger& opened);

/// What a coordinator's start has to know of its ledger.
struct Standing {
  bool copied = false;    ///< as in ClusterSettings
  bool restored = false;  ///< likewise
  std::shared_ptr<const Leadership> leadership = {};
};

/// A coordinator that listens. The parts end in the reverse order of their starting.
class CoordinatorProcess {
 public:
  /// `init`: create the data directory, with its tokens. `on_fatal` is called from another thread
  /// when it cannot go on.
  [[nodiscard]] static Expected<std::unique_ptr<CoordinatorProcess>> start(
      caf::actor_system& system, const CoordinatorConfig& config, bool init,
      std::function<void(const std::string&)> on_fatal);
  /// The same on an opened ledger; it takes over by its first record. `on_fatal` hears `not_leader`
  /// when another coordinator leads.
  [[nodiscard]] static Expected<std::unique_ptr<CoordinatorProcess>> start_on(
      caf::actor_system& system, const CoordinatorConfig& config, const OpenedLedger& opened,
      const Standing& standing, std::function<void(const caf::error&)> on_fatal);
  ~CoordinatorProcess();
  [[nodiscard]] const std::string& address() const { return server_->address(); }
  [[nodiscard]] const ConnectionLimits& connections() const { return connections_; }

 private:
  CoordinatorProcess() = default;
  ConnectionLimits connections_;
  Cluster cluster_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<bool> stopping_ = std::make_shared<bool>(false);
};

/// An agent that registers for ever.
class AgentProcess {
 public:
  [[nodiscard]] static Expected<std::unique_ptr<AgentProcess>> start(
      caf::actor_system& system, const AgentConfig& config,
      std::function<void(const std::string&)> on_fatal);
  ~AgentProcess();
  /// How the machine holds tasks to their amounts.
  [[nodiscard]] const std::string& limits() const { return limits_; }
  [[nodiscard]] const TaskIsolation& isolation() const { return isolation_; }
  /// The names of those that tasks get by id; empty: none.
  [[nodiscard]] const std::string& devices() const { return devices_; }

 private:
  AgentProcess() = default;
  AgentPort agent_;
  std::unique_ptr<AgentClient> client_;
  std::string limits_;
  TaskIsolation isolation_;
  std::string devices_;
};

/// Says who tasks run as, as a warning where they are not kept apart.
void log_isolation(const DaemonLog& log, const TaskIsolation& isolation);

/// The files a coordinator keeps beside its ledger.
inline constexpr const char* kOperatorTokenFile = "operator.token";
inline constexpr const char* kJoinTokenFile = "join.token";
inline constexpr const char* kCoordinatorKeyFile = "coordinator.key";

/// `fairwaterd` without its name; returns the exit status.
[[nodiscard]] int run_fairwaterd(int argc, char** argv);

}  // namespace fairwater::inline daemon
