// One of several coordinators: follows, takes over, leads, follows again, as daemon/replica.cpp
// does, by the same steps. The process has threads, which wait on virtual time: one that follows or
// waits while it leads, one that beats, and the ledger's, which blocks until etcd has answered.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "daemon/replication/members.hpp"
#include "daemon/replication/replica_steps.hpp"
#include "tests/cluster_sim/world/coordinator.hpp"
#include "tests/cluster_sim/world/etcd.hpp"

namespace fairwater::cluster_sim {

class Replica final : public Coordinator {
 public:
  Replica(Stage& stage, Checker& checker, const CoordinatorTerms& terms, EtcdCluster& etcd,
          const ReplicaConfig& config, std::string name, std::int64_t clock_gain_ppm,
          std::int64_t date_ahead_us);
  ~Replica() override;

  /// Founds the journal in etcd; before anything is simulated.
  void found();
  bool start() override;
  void kill(bool keeps_unsynced) override;
  void run_one() override;
  [[nodiscard]] std::string leader_name() const override { return saw_leader_; }

  /// Before it is of the previous version, which knows but the first format of the journal; then it
  /// is started anew.
  void upgrade_at(std::int64_t us);
  /// Puts a backup of another's ledger on the disk, at this path; false when nobody can.
  std::function<bool(Disk& disk, const std::string& directory)> join;
  /// The same, of this one's on another's disk.
  [[nodiscard]] bool copy_to(Disk& other, const std::string& directory);
  [[nodiscard]] bool has_ledger() const { return has_ledger_; }
  /// Its disk burns; the next start joins anew.
  void lose_disk();
  [[nodiscard]] EtcdLine& line() { return line_; }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] Clock::time_point now() const;
  [[nodiscard]] bool open();
  /// Begins with a copy of another's ledger; false when there is none, for now.
  [[nodiscard]] bool make_copy();
  void run();
  /// False when the process ends.
  [[nodiscard]] bool follow();
  [[nodiscard]] bool lead();
  void wait_while_leading(const Leadership& leadership);
  void beat();
  void wait_for_others();
  [[nodiscard]] bool ended(const caf::error& error);
  /// What its ledger has is agreed, and not another.
  void check_ledger();
  [[nodiscard]] bool may_fail() const { return disk_->has_failed() || threads_->are_ending(); }
  void check_lease(std::int64_t sent_at_us) override;

  EtcdCluster& etcd_;
  const ReplicaConfig& config_;
  EtcdLine line_;
  std::unique_ptr<EtcdJournal> journal_;
  std::unique_ptr<Threads> threads_;
  bool has_ledger_ = false;
  bool has_lost_disk_ = false;
  std::int64_t upgraded_at_us_ = 0;
  std::uint64_t copies_ = 0;
  std::string saw_leader_;
  std::int64_t cut_history_at_us_ = 0;
  // While it leads.
  bool is_overtaken_ = false;
  bool hands_over_ = false;
  bool stops_beating_ = false;
  bool is_ending_ = false;
};

}  // namespace fairwater::cluster_sim
