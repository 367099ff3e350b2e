#include "tests/cluster_sim/world/faults.hpp"

#include <utility>

namespace fairwater::cluster_sim {

void Faults::begin() {
  const std::vector<std::pair<std::int64_t, void (Faults::*)()>> kinds = {
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
  coordinator_.mend_disks();
  coordinator_.max_sync_us = 20 * kMs;
  coordinator_.dies_after_messages = 0;
  if (coordinator_.is_up()) coordinator_.process().paused_until_us = 0;
  for (const auto& agent : agents_) {
    agent->network = {};
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

// -- the coordinator ------------------------------------------------------------------------------

void Faults::kill_coordinator() {
  // In the middle of what it does.
  coordinator_.dies_after_messages = 1 + stage_.chance.below(200);
  coordinator_.loses_end = stage_.chance.percent(20) && coordinator_.checker().records() > 0;
}

void Faults::break_disk() {
  coordinator_.disk().fail_after(static_cast<std::int64_t>(1 + stage_.chance.below(30)));
}

void Faults::fill_disk() {
  stage_.log.line("the disk is full");
  coordinator_.fill_disks(true);
  for_a_while(kSecond, 40 * kSecond, [this] { coordinator_.fill_disks(false); });
}

void Faults::slow_disk() {
  coordinator_.max_sync_us = stage_.chance.spread(100 * kMs, 4 * kSecond);
  for_a_while(5 * kSecond, 30 * kSecond, [this] { coordinator_.max_sync_us = 20 * kMs; });
}

void Faults::stop_coordinator_for_a_while() {
  if (!coordinator_.is_up()) return;
  coordinator_.process().paused_until_us =
      stage_.time.now_us() + stage_.chance.spread(kSecond, 25 * kSecond);
}

/// Some time after the newest backup.
void Faults::lose_ledger() {
  coordinator_.back_up();
  for_a_while(kSecond, 60 * kSecond, [this] { coordinator_.lose_ledger(); });
}

// -- machines -------------------------------------------------------------------------------------

void Faults::kill_agent() {
  auto& agent = some_agent();
  agent.kill();
  change_capacity(agent);
  for_a_while(50 * kMs, 30 * kSecond, [&agent] { agent.start(); });
}

/// A machine may come back with less or more.
void Faults::change_capacity(Agent& agent) {
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
