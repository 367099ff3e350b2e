// What goes wrong, and how often: each run has its own kinds of trouble.
#pragma once

#include <functional>

#include "tests/cluster_sim/world/clients.hpp"

namespace fairwater::cluster_sim {

class Faults {
 public:
  Faults(Stage& stage, Coordinators& coordinators, const Agents& agents)
      : stage_(stage), coordinators_(coordinators), agents_(agents) {}

  void begin();
  /// Everything is mended, and whatever is down comes back.
  void stop();

 private:
  /// Again and again, about that often.
  void every(std::int64_t mean_pause_us, std::function<void()> strike);
  [[nodiscard]] Agent& some_agent();
  /// `end` comes after the time, or when faults stop.
  void for_a_while(std::int64_t low_us, std::int64_t high_us, std::function<void()> end);

  /// Mostly the one that leads.
  [[nodiscard]] Coordinator& some_coordinator();
  [[nodiscard]] Replica& some_replica();

  void kill_coordinator();
  void break_disk();
  void fill_disk();
  void slow_disk();
  void stop_coordinator_for_a_while();
  void lose_ledger();
  void change_leader_of_etcd();
  void lose_quorum();
  void slow_etcd();
  void confuse_etcd();
  void cut_from_etcd();
  void partition();
  void kill_agent();
  void reboot_machine();
  void cut_network();
  void slow_network();
  void confuse_network();
  void refuse_launches();
  void freeze_agent();
  void change_traits(Agent& agent);

  Stage& stage_;
  Coordinators& coordinators_;
  const Agents& agents_;
  bool stopped_ = false;
};

}  // namespace fairwater::cluster_sim
