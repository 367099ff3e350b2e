// All coordinators of a run: one alone, or three and etcd.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tests/cluster_sim/world/etcd.hpp"
#include "tests/cluster_sim/world/lone_coordinator.hpp"
#include "tests/cluster_sim/world/replica.hpp"

namespace fairwater::cluster_sim {

class Coordinators {
 public:
  Coordinators(Stage& stage, Checker& checker);

  [[nodiscard]] std::size_t count() const { return all_.size(); }
  [[nodiscard]] Coordinator& at(std::size_t index) { return *all_[index]; }
  [[nodiscard]] const std::vector<std::unique_ptr<Coordinator>>& all() const { return all_; }
  [[nodiscard]] std::optional<std::size_t> index_of(const std::string& name) const;
  /// The newest that believes that it leads; null: none does.
  [[nodiscard]] Coordinator* leader() const;
  /// Whom somebody reaches who asks for the leader: one that was deposed may still think that it
  /// is.
  [[nodiscard]] Coordinator* asked();
  /// How often two believed that they lead when somebody asked.
  [[nodiscard]] std::uint64_t rivalries() const { return rivalries_; }
  [[nodiscard]] Checker& checker() { return checker_; }
  [[nodiscard]] bool debts_fade() const { return terms_.debts.half_life_ms > 0; }
  void keep_accounting() { terms_.may_change_accounting = false; }

  [[nodiscard]] LoneCoordinator* lone() const { return lone_; }
  /// Null where there is one coordinator.
  [[nodiscard]] EtcdCluster* etcd() const { return etcd_.get(); }
  [[nodiscard]] const std::vector<Replica*>& replicas() const { return replicas_; }
  /// Whether the others have, and can have, all that this one has.
  [[nodiscard]] bool can_lose_disk(const Replica& one) const;
  /// All run, and have what is agreed.
  [[nodiscard]] bool are_level() const;
  /// Their states, and not only their journals, are the same; at a moment when they are level.
  void compare_states() const;

 private:
  [[nodiscard]] bool follows_on(const Replica& one) const;

  Stage& stage_;
  Checker& checker_;
  CoordinatorTerms terms_;
  ReplicaConfig config_;
  std::unique_ptr<EtcdCluster> etcd_;
  std::vector<std::unique_ptr<Coordinator>> all_;
  LoneCoordinator* lone_ = nullptr;
  std::vector<Replica*> replicas_;
  std::uint64_t rivalries_ = 0;
};

}  // namespace fairwater::cluster_sim
