// The coordinator's process: the real actors on a ledger whose disk is simulated.
#pragma once

#include <memory>
#include <vector>

#include "actors/coordinator/cluster.hpp"
#include "tests/cluster_sim/world/actor_process.hpp"
#include "tests/cluster_sim/world/agreed_journal.hpp"
#include "tests/cluster_sim/world/checker.hpp"
#include "tests/cluster_sim/world/disk.hpp"
#include "tests/cluster_sim/world/machine.hpp"

namespace fairwater::cluster_sim {

class Connection;

inline constexpr std::int64_t kLease_ms = 12'000;
inline constexpr std::int64_t kGrace_ms = 5'000;
inline constexpr std::int64_t kHeartbeat_ms = 2'000;
[[nodiscard]] Hash join_hash();

class Coordinator {
 public:
  Coordinator(Stage& stage, Checker& checker);
  ~Coordinator();

  /// Of the one that leads, where there are several.
  [[nodiscard]] Disk& disk() { return *disks_[leads_]; }
  /// Of all coordinators.
  void fill_disks(bool full);
  void mend_disks();
  /// A sync takes up to this long.
  std::int64_t max_sync_us = 20 * kMs;
  /// It is killed after so many messages; 0: it is not.
  std::uint64_t dies_after_messages = 0;

  /// A ledger that counts units may begin to count time at a start.
  bool may_change_accounting = true;

  /// The next start finds the end of its write-ahead log gone, and gets it back when it says so.
  bool loses_end = false;

  [[nodiscard]] bool is_up() const { return process_ != nullptr; }
  /// When the newest one took over, and as which.
  [[nodiscard]] std::int64_t started_at_us() const { return started_at_us_; }
  [[nodiscard]] Term newest_term() const { return newest_term_; }
  [[nodiscard]] bool debts_fade() const { return debts_.half_life_ms > 0; }
  [[nodiscard]] ActorProcess& process() { return *process_; }
  [[nodiscard]] const Ledger& ledger() const { return *ledger_; }
  [[nodiscard]] Checker& checker() { return checker_; }
  /// False when its disk does not let it, for now.
  bool start();
  /// Makes a backup of the ledger, in place of the one before.
  void back_up();
  /// Nothing is left of the ledger: the next start goes on from the backup, if there is one.
  void lose_ledger();
  void kill(bool keeps_unsynced);
  /// When somebody else has to kill it: from within an actor.
  void kill_soon();

  /// Asks the frontend. `answer` is called from within an actor, or never.
  template <class Result, class Request>
  void ask(Request request, std::function<void(Expected<Result>)> answer) {
    process_->ask<Result>(cluster_->frontend, std::move(request), std::move(answer));
  }
  /// What the coordinator actor knows by itself, nothing of it read from the ledger.
  void describe_tenants(std::function<void(Expected<TenantViews>)> answer);
  /// What it tells an agent must be durable.
  void check_reply(const std::string& node, const ReportReply& reply);
  /// Connections hear of its death.
  void remember(const std::shared_ptr<Connection>& connection);

  [[nodiscard]] bool has_work() const;
  void run_one();
  /// When the disk has synced, if somebody waits for it.
  [[nodiscard]] std::int64_t next_work_us() const;

 private:
  [[nodiscard]] Expected<std::shared_ptr<Ledger>> open_ledger();
  /// A log without its end must be refused.
  void try_without_end();
  /// False when its disk does not let it, for now.
  bool restore();
  [[nodiscard]] const caf::resumable* held_back() const;
  bool failed_to_start(const caf::error& error);
  /// Of the one that leads, where others have the ledger.
  void replace_disk();

  /// Another of several takes over, with what it has on its own disk and reads of the journal.
  [[nodiscard]] caf::error take_over(Ledger& ledger) const;

  Stage& stage_;
  Checker& checker_;
  DebtTerms debts_;
  HistoryLimits history_;
  std::vector<std::unique_ptr<Disk>> disks_;  ///< one for each coordinator
  std::vector<bool> has_ledger_;              ///< likewise; false while it is made
  std::size_t leads_ = 0;
  std::unique_ptr<AgreedJournal> journal_;  ///< null: there is one coordinator
  std::unique_ptr<ActorProcess> process_;
  std::shared_ptr<Ledger> ledger_;
  std::optional<Cluster> cluster_;
  const caf::resumable* writer_ = nullptr;
  std::int64_t started_at_us_ = 0;
  Term newest_term_;
  std::int64_t synced_at_us_ = 0;
  bool ended_by_disk_ = false;  ///< the last life: its last commit may have no mark
  struct Backup {
    std::string directory;
    Checker known;  ///< what was known of the ledger then
  };
  std::optional<Backup> backup_;
  std::uint64_t backups_ = 0;
  bool is_lost_ = false;  ///< the ledger
  std::int64_t lost_at_us_ = 0;
  bool is_restored_ = false;  ///< from a backup, and nothing was granted since
  std::vector<std::weak_ptr<Connection>> connections_;
};

}  // namespace fairwater::cluster_sim
