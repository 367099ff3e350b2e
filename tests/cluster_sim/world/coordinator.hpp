// A coordinator's process: the real actors on a ledger whose disk is simulated.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/coordinator/cluster.hpp"
#include "tests/cluster_sim/world/actor_process.hpp"
#include "tests/cluster_sim/world/checker.hpp"
#include "tests/cluster_sim/world/disk.hpp"

namespace fairwater::cluster_sim {

class Connection;

inline constexpr std::int64_t kLease_ms = 12'000;
inline constexpr std::int64_t kLongestLease_ms = 45'000;
inline constexpr std::int64_t kGrace_ms = 5'000;
inline constexpr std::int64_t kHeartbeat_ms = 2'000;
inline constexpr const char* kLedgerDirectory = "/ledger";
[[nodiscard]] Hash join_hash();

/// What a coordinator is configured with, and may be another at its next start.
struct DealingRules {
  explicit DealingRules(Chance& chance);
  AllocationRule allocation = AllocationRule::sequence;
  GrowthRule growth = GrowthRule::qrea;
  Predict predict = Predict::limits;
  std::int64_t preempt_after_ms = 30'000;
  bool preempts_for_min = true;
};

/// What the coordinators of a run are told, all the same.
struct CoordinatorTerms {
  explicit CoordinatorTerms(Chance& chance);
  DealingRules rules;
  bool may_change_rules = false;
  DebtTerms debts;
  HistoryLimits history;
  Accounting accounting = Accounting::units;
  DealMode mode = DealMode::sized;
  bool may_change_accounting = true;  ///< a ledger that counts units may begin to count time
};

class Coordinator {
 public:
  Coordinator(Stage& stage, Checker& checker, const CoordinatorTerms& terms, std::string name,
              std::int64_t clock_gain_ppm, std::int64_t date_ahead_us);
  virtual ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Disk& disk() { return *disk_; }
  /// A sync takes up to this long.
  std::int64_t max_sync_us = 20 * kMs;
  /// It is killed after so many messages; 0: it is not.
  std::uint64_t dies_after_messages = 0;
  /// The process is slow, or stopped: it does nothing before.
  std::int64_t paused_until_us = 0;

  /// The process lives.
  [[nodiscard]] bool is_running() const { return ledger_ != nullptr; }
  /// It believes that it leads: its actors live.
  [[nodiscard]] bool leads() const { return cluster_.has_value(); }
  /// In which it leads.
  [[nodiscard]] std::uint64_t epoch() const { return cluster_->context->epoch; }
  [[nodiscard]] ActorProcess& process() { return *process_; }
  [[nodiscard]] const Ledger& ledger() const { return *ledger_; }
  [[nodiscard]] Checker& checker() { return checker_; }
  /// False when its disk does not let it, for now.
  virtual bool start() = 0;
  virtual void kill(bool keeps_unsynced) = 0;
  /// When somebody else has to kill it: from within an actor.
  void kill_soon();

  /// Asks the frontend. `answer` is called from within an actor, or never.
  template <class Result, class Request>
  void ask(Request request, std::function<void(Expected<Result>)> answer) {
    ++open_calls_;
    process_->ask<Result>(cluster_->frontend, std::move(request),
                          [this, answer = std::move(answer)](Expected<Result> result) {
                            --open_calls_;
                            answer(std::move(result));
                          });
  }
  /// Calls that it has not answered.
  [[nodiscard]] std::size_t open_calls() const { return open_calls_; }
  /// What the coordinator actor knows by itself, nothing of it read from the ledger.
  void describe_tenants(std::function<void(Expected<TenantViews>)> answer);
  /// What it tells an agent must be durable, and a lease its own to give; the report was sent then.
  void check_reply(const std::string& node, const ReportReply& reply, std::int64_t sent_at_us);
  /// Connections hear of its death, or that it leads no more.
  void remember(const std::shared_ptr<Connection>& connection);
  /// Whom one that follows names, as far as it knows.
  [[nodiscard]] virtual std::string leader_name() const { return {}; }

  [[nodiscard]] bool has_work() const;
  virtual void run_one() = 0;
  /// When it may go on, if somebody has work.
  [[nodiscard]] std::int64_t next_work_us() const;
  /// When the next timeout of its actors is due.
  [[nodiscard]] std::optional<std::int64_t> next_timeout_us() const;
  void catch_up();

 protected:
  [[nodiscard]] LedgerOptions ledger_options();
  /// By the date that its machine shows.
  [[nodiscard]] WallTime wall_time() const;
  /// The first records of a new ledger.
  [[nodiscard]] caf::error found_cluster(Ledger& ledger) const;
  [[nodiscard]] ClusterSettings settings() const;
  /// Now and then a ledger of units begins to count time.
  [[nodiscard]] caf::error change_accounting();
  /// Takes over with `process_`, which lives.
  [[nodiscard]] caf::error begin_cluster(ClusterSettings settings,
                                         std::function<void(const caf::error&)> on_fatal);
  /// Its actors end, and all connections.
  void end_cluster();
  /// Lets an actor take a message.
  void take_message();
  void count_message();
  /// Whether it may extend a lease from then on.
  virtual void check_lease(std::int64_t /*sent_at_us*/) {}

  Stage& stage_;
  Checker& checker_;
  const CoordinatorTerms& terms_;
  const std::string name_;
  const DriftingClock clock_;
  /// What its date is before, or behind, the others'.
  const std::int64_t date_ahead_us_;
  std::unique_ptr<Disk> disk_;
  std::unique_ptr<ActorProcess> process_;
  std::shared_ptr<Ledger> ledger_;
  std::optional<Cluster> cluster_;
  std::size_t open_calls_ = 0;
  bool ended_by_disk_ = false;  ///< the last life: its last commit may have no mark
  std::int64_t synced_at_us_ = 0;

 private:
  [[nodiscard]] const caf::resumable* held_back() const;

  const caf::resumable* writer_ = nullptr;
  std::vector<std::weak_ptr<Connection>> connections_;
};

}  // namespace fairwater::cluster_sim
