#include "tests/cluster_sim/world/faults.hpp"

#include <utility>

namespace fairwater::cluster_sim {

void Faults::begin() {
  std::vector<std::pair<std::int64_t, void (Faults::*)()>> kinds = {
      {60 * kSecond, &Faults::kill_coordinator},
      {90 * kSecond, &Faults::break_disk},
      {90 * kSecond, &Faults::fill_disk},
      {60 * kSecond, &Faults::slow_disk},
      {90 * kSecond, &Faults::stop_coordinator_for_a_while},
      {90 * kSecond, &Faults::lose_ledger},
      {50 * kSecond, &Faults::kill_agent},
      {90 * kSecond, &Faults::reboot_machine},
      {40 * kSecond, &Faults::cut_network},
      {40 * kSecond, &Faults::slow_network},
      {60 * kSecond, &Faults::confuse_network},
      {60 * kSecond, &Faults::refuse_launches},
      {60 * kSecond, &Faults::freeze_agent},
  };
  if (coordinators_.etcd())
    kinds.insert(kinds.end(), {
                                  {60 * kSecond, &Faults::change_leader_of_etcd},
                                  {90 * kSecond, &Faults::lose_quorum},
                                  {60 * kSecond, &Faults::slow_etcd},
                                  {60 * kSecond, &Faults::confuse_etcd},
                                  {40 * kSecond, &Faults::cut_from_etcd},
                                  {40 * kSecond, &Faults::partition},
                              });
  for (const auto& [mean_us, strike] : kinds)
    if (stage_.chance.percent(50))
      every(stage_.chance.spread(mean_us / 2, 4 * mean_us), [this, strike] { (this->*strike)(); });
  if (stage_.chance.percent(50))
    every(40 * kSecond, [this] { some_agent().machine.lose_supervisor(); });
}

void Faults::every(std::int64_t mean_pause_us, std::function<void()> strike) {
  stage_.time.in(stage_.chance.between(0, 2 * mean_pause_us),
                 [this, mean_pause_us, strike = std::move(strike)] {
                   if (stopped_) return;
                   strike();
                   every(mean_pause_us, strike);
                 });
}

void Faults::stop() {
  stopped_ = true;
  stage_.log.line("faults stop");
  for (const auto& coordinator : coordinators_.all()) {
    coordinator->disk().full = false;
    coordinator->disk().fail_after(0);
    coordinator->max_sync_us = 20 * kMs;
    coordinator->dies_after_messages = 0;
    coordinator->paused_until_us = 0;
  }
  for (Replica* replica : coordinators_.replicas())
    replica->line().up_cut_until_us = replica->line().down_cut_until_us = 0;
  if (coordinators_.etcd()) coordinators_.etcd()->mend();
  for (const auto& agent : agents_) {
    agent->network = {};
    for (CutPath& path : agent->paths) path = {};
    agent->machine.refuses_launches = false;
    agent->machine.hurries = true;
    if (agent->is_up()) agent->process().paused_until_us = 0;
    agent->start();
  }
}

Agent& Faults::some_agent() { return *agents_[stage_.chance.below(agents_.size())]; }

void Faults::for_a_while(std::int64_t low_us, std::int64_t high_us, std::function<void()> end) {
  stage_.time.in(stage_.chance.spread(low_us, high_us), [this, end = std::move(end)] {
    if (!stopped_) end();
  });
}

// -- coordinators ---------------------------------------------------------------------------------

Coordinator& Faults::some_coordinator() {
  Coordinator* leader = coordinators_.leader();
  if (leader != nullptr && stage_.chance.percent(70)) return *leader;
  return coordinators_.at(stage_.chance.below(coordinators_.count()));
}

Replica& Faults::some_replica() {
  const auto leader = coordinators_.leader();
  if (leader != nullptr && stage_.chance.percent(60))
    return *coordinators_.replicas()[*coordinators_.index_of(leader->name())];
  return *coordinators_.replicas()[stage_.chance.below(coordinators_.replicas().size())];
}

void Faults::kill_coordinator() {
  Coordinator& coordinator = some_coordinator();
  if (LoneCoordinator* lone = coordinators_.lone())
    lone->loses_end = stage_.chance.percent(20) && coordinators_.checker().records() > 0;
  if (!coordinator.leads()) return coordinator.kill(stage_.chance.percent(50));
  // In the middle of what it does.
  coordinator.dies_after_messages = 1 + stage_.chance.below(200);
}

void Faults::break_disk() {
  some_coordinator().disk().fail_after(static_cast<std::int64_t>(1 + stage_.chance.below(30)));
}

/// Of one, or of all.
void Faults::fill_disk() {
  stage_.log.line("the disk is full");
  Coordinator& one = some_coordinator();
  const bool of_all = stage_.chance.percent(30);
  for (const auto& each : coordinators_.all())
    if (of_all || each.get() == &one) each->disk().full = true;
  for_a_while(kSecond, 40 * kSecond, [this] {
    for (const auto& each : coordinators_.all()) each->disk().full = false;
  });
}

void Faults::slow_disk() {
  Coordinator& coordinator = some_coordinator();
  coordinator.max_sync_us = stage_.chance.spread(100 * kMs, 4 * kSecond);
  for_a_while(5 * kSecond, 30 * kSecond, [&coordinator] { coordinator.max_sync_us = 20 * kMs; });
}

void Faults::stop_coordinator_for_a_while() {
  Coordinator& coordinator = some_coordinator();
  if (!coordinator.is_running()) return;
  stage_.log.line("{} stands still", coordinator.name());
  coordinator.paused_until_us =
      stage_.time.now_us() + stage_.chance.spread(500 * kMs, 25 * kSecond);
}

/// Some time after the newest backup, or where others have it.
void Faults::lose_ledger() {
  if (LoneCoordinator* lone = coordinators_.lone()) {
    lone->back_up();
    return for_a_while(kSecond, 60 * kSecond, [lone] { lone->lose_ledger(); });
  }
  Replica& replica = some_replica();
  if (coordinators_.can_lose_disk(replica)) replica.lose_disk();
}

// -- etcd -----------------------------------------------------------------------------------------

void Faults::change_leader_of_etcd() {
  stage_.log.line("etcd changes its leader");
  coordinators_.etcd()->electing_until_us =
      stage_.time.now_us() + stage_.chance.spread(500 * kMs, 4 * kSecond);
}

void Faults::lose_quorum() {
  stage_.log.line("etcd has no quorum");
  coordinators_.etcd()->no_quorum_until_us =
      stage_.time.now_us() + stage_.chance.spread(2 * kSecond, 60 * kSecond);
}

void Faults::slow_etcd() {
  EtcdCluster& etcd = *coordinators_.etcd();
  etcd.max_delay_us = stage_.chance.spread(50 * kMs, 3 * kSecond);
  for_a_while(5 * kSecond, 30 * kSecond, [&etcd] { etcd.max_delay_us = 4 * kMs; });
}

void Faults::confuse_etcd() {
  EtcdCluster& etcd = *coordinators_.etcd();
  etcd.loses_permille = stage_.chance.below(300);
  etcd.repeats_permille = stage_.chance.below(300);
  for_a_while(10 * kSecond, 60 * kSecond,
              [&etcd] { etcd.loses_permille = etcd.repeats_permille = 2; });
}

void Faults::cut_from_etcd() {
  Replica& replica = some_replica();
  const auto until_us = stage_.time.now_us() + stage_.chance.spread(500 * kMs, 40 * kSecond);
  const auto ways = stage_.chance.below(3);
  stage_.log.line("cut {} off from etcd, {}", replica.name(), ways);
  if (ways != 1) replica.line().up_cut_until_us = until_us;
  if (ways != 2) replica.line().down_cut_until_us = until_us;
}

/// Each way of each pair of those that talk to each other is cut, or it is not.
void Faults::partition() {
  const auto until_us = stage_.time.now_us() + stage_.chance.spread(kSecond, 60 * kSecond);
  const std::uint64_t share = 20 + stage_.chance.below(60);
  stage_.log.line("a partition, of {} percent of all ways", share);
  const auto cut = [&](std::int64_t& way_until_us) {
    if (stage_.chance.percent(share)) way_until_us = until_us;
  };
  for (Replica* replica : coordinators_.replicas()) {
    cut(replica->line().up_cut_until_us);
    cut(replica->line().down_cut_until_us);
  }
  for (const auto& agent : agents_)
    for (CutPath& path : agent->paths) {
      cut(path.up_until_us);
      cut(path.down_until_us);
    }
}

// -- machines -------------------------------------------------------------------------------------

void Faults::kill_agent() {
  auto& agent = some_agent();
  agent.kill();
  change_traits(agent);
  for_a_while(50 * kMs, 30 * kSecond, [&agent] { agent.start(); });
}

/// A machine may come back with less or more, and with other labels.
void Faults::change_traits(Agent& agent) {
  if (stage_.chance.percent(20)) agent.machine.move();
  if (!stage_.chance.percent(20)) return;
  const auto cpu = 1'000 * stage_.chance.between(2, 8);
  agent.machine.spec.capacity["cpu"] = agent.machine.spec.capacity["memory"] = cpu;
}

void Faults::reboot_machine() {
  auto& agent = some_agent();
  agent.kill();
  agent.machine.reboot();
  for_a_while(kSecond, 60 * kSecond, [&agent] { agent.start(); });
}

void Faults::refuse_launches() {
  auto& machine = some_agent().machine;
  machine.refuses_launches = true;
  for_a_while(kSecond, 30 * kSecond, [&machine] { machine.refuses_launches = false; });
}

void Faults::freeze_agent() {
  auto& agent = some_agent();
  if (!agent.is_up()) return;
  agent.process().paused_until_us =
      stage_.time.now_us() + stage_.chance.spread(500 * kMs, 30 * kSecond);
}

// -- the network ----------------------------------------------------------------------------------

void Faults::cut_network() {
  auto& agent = some_agent();
  const auto until_us = stage_.time.now_us() + stage_.chance.spread(500 * kMs, 60 * kSecond);
  const auto ways = stage_.chance.below(3);
  stage_.log.line("cut {} off, {}", agent.name(), ways);
  if (ways != 1) agent.network.up_cut_until_us = until_us;
  if (ways != 2) agent.network.down_cut_until_us = until_us;
}

void Faults::slow_network() {
  auto& agent = some_agent();
  agent.network.max_delay_us = stage_.chance.spread(100 * kMs, 7 * kSecond);
  for_a_while(5 * kSecond, 40 * kSecond, [&agent] { agent.network.max_delay_us = 3 * kMs; });
}

void Faults::confuse_network() {
  auto& agent = some_agent();
  agent.network.loses_permille = stage_.chance.below(50);
  agent.network.doubles_permille = stage_.chance.below(100);
  agent.network.reorders_permille = stage_.chance.below(200);
  for_a_while(10 * kSecond, 60 * kSecond, [&agent] {
    agent.network.loses_permille = agent.network.doubles_permille = 0;
    agent.network.reorders_permille = 0;
  });
}

}  // namespace fairwater::cluster_sim
