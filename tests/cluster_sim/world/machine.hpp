// A machine of the cluster as far as it outlives its agent: the agent's data directory, and the
// tasks' processes with their supervisors, which know the lease.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/node.hpp"
#include "process/cpus.hpp"
#include "process/devices.hpp"
#include "process/lease.hpp"
#include "process/task_process.hpp"
#include "tests/cluster_sim/world/actor_process.hpp"
#include "tests/cluster_sim/world/checker.hpp"

namespace fairwater::cluster_sim {

/// In the environment of services' tasks: they run for longer than others.
inline constexpr const char* kServiceMark = "SERVICE";
/// MiB without which a task hits its memory limit.
inline constexpr const char* kMemoryMark = "NEEDS_MIB";

/// Which coordinator speaks: of the later life of the ledger, then of the higher epoch.
struct Term {
  std::uint32_t incarnation = 0;
  std::uint64_t epoch = 0;
  friend auto operator<=>(const Term&, const Term&) = default;
};

class Machine {
 public:
  /// `is_fixed`: it is where every placement rule of a run allows, and stays so.
  Machine(Stage& stage, Checker& checker, std::string name, Amount cpu, bool is_fixed);

  // -- the agent's data directory -----------------------------------------------------------------
  NodeSpec spec;
  ClusterMemory memory;
  /// Becomes durable. What is known of epochs only rises.
  void keep(const ClusterMemory& newer);
  std::uint64_t starts = 0;
  Hash credential{};
  bool has_joined = false;  ///< its credential was accepted
  /// Its labels and its site become others, unless they are fixed.
  void move();
  /// Its operator gives the agent a new one. Nothing runs.
  void empty_directory();

  // -- time ---------------------------------------------------------------------------------------
  [[nodiscard]] const DriftingClock& clock() const { return clock_; }
  [[nodiscard]] std::int64_t boottime_ms() const;

  // -- what the task host does --------------------------------------------------------------------
  /// As TaskHost::scan.
  [[nodiscard]] std::vector<FoundTask> scan();
  /// As TaskHost::launch.
  [[nodiscard]] caf::error launch(const LaunchOrder& order);
  void stop(const TaskKey& task, EndReason reason);
  void forget(const TaskKey& task);
  /// Somebody must have offered it, and nobody whom the agent knows to be deposed.
  void extend_lease(const LeaseTimes& times);
  /// An answer on its way to the agent, to a report that left then, carries this lease.
  void offer_lease(Term term, std::int64_t sent_ms, const ReportReply& reply);
  /// The newest coordinator whose lease was taken, by any run of the agent.
  [[nodiscard]] Term newest_term() const { return newest_term_; }
  /// Told of every attempt that ends, while an agent runs.
  std::function<void(const TaskResult&)> on_end;
  /// Attempts with a live process.
  [[nodiscard]] std::vector<TaskKey> alive() const;
  /// Of those, the ones that did not start at this very moment.
  [[nodiscard]] std::vector<TaskKey> alive_before_now() const;

  bool hurries = false;  ///< tasks are short from now on

  // -- faults -------------------------------------------------------------------------------------
  bool refuses_launches = false;
  /// The power goes: every process is gone, and nobody knows how it ended.
  void reboot();
  /// The supervisor of one task vanishes, and its processes with it.
  void lose_supervisor();

 private:
  enum class Phase : std::uint8_t { alive, ended, vanished };
  struct Attempt {
    LaunchOrder order;
    NamedDevices devices;
    Amount shared_milli = 0;  ///< HeldDevices::shared_milli
    CpuNumbers cpus;          ///< of its own
    Phase phase = Phase::alive;
    std::optional<TaskResult> result;
    std::optional<EndReason> stop_reason;
    bool is_forgotten = false;
    WallTime started_at;
    bool is_lost_with_machine = false;
  };
  /// Picks what the task gets by id; a coordinator that counts right leaves enough.
  void hand_out(const LaunchOrder& order, Attempt& attempt);
  [[nodiscard]] static bool has_too_little_memory(const LaunchOrder& order);
  void run(const TaskKey& task, std::int64_t for_us);
  void end(const TaskKey& task, EndReason reason, std::int32_t exit_code);
  void vanish(const TaskKey& task);
  [[nodiscard]] TaskResult result_of(const TaskKey& task, EndReason reason,
                                     std::int32_t exit_code) const;
  [[nodiscard]] bool is_lease_over(const LaunchOrder& order) const;
  void watch_lease();
  void at_boottime(std::int64_t moment_ms, std::function<void()> what);
  void end_or_watch(const TaskKey& task);

  Stage& stage_;
  Checker& checker_;
  const bool is_fixed_;
  DriftingClock clock_;
  std::uint8_t directories_ = 0;  ///< that the agent has had
  std::map<TaskKey, Attempt> attempts_;
  LeaseTimes lease_;
  /// By when the report left that it answers, by whom it may be, and until when it lets tasks run.
  struct Offer {
    Term term;
    LeaseTimes times;
  };
  std::map<std::int64_t, Offer> offered_leases_;
  LeaseTimes newest_offer_;  ///< of all that the agent may have taken
  Term newest_term_;
};

}  // namespace fairwater::cluster_sim
