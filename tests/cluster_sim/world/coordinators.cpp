#include "tests/cluster_sim/world/coordinators.hpp"

#include <algorithm>

namespace fairwater::cluster_sim {

Coordinators::Coordinators(Stage& stage, Checker& checker)
    : stage_(stage), checker_(checker), terms_(stage.chance) {
  if (!stage.chance.percent(40)) {
    auto lone = std::make_unique<LoneCoordinator>(stage, checker, terms_);
    lone_ = lone.get();
    all_.push_back(std::move(lone));
    return;
  }
  etcd_ = std::make_unique<EtcdCluster>(stage);
  const std::int64_t most_apart_us = stage.chance.percent(60) ? kMostApart_us : 0;
  config_.takeover_after_ms = stage.chance.between(1'500, 4'000);
  for (const char* name : {"head1", "head2", "head3"}) config_.members.emplace(name, name);
  for (const auto& [name, address] : config_.members) {
    auto replica = std::make_unique<Replica>(stage, checker, terms_, *etcd_, config_, name,
                                             stage.chance.between(-kMaxDrift_ppm, kMaxDrift_ppm),
                                             stage.chance.between(-most_apart_us, most_apart_us));
    replica->join = [this, own = replica.get()](Disk& disk, const std::string& directory) {
      return std::any_of(replicas_.begin(), replicas_.end(), [&](Replica* other) {
        return other != own && other->copy_to(disk, directory);
      });
    };
    replicas_.push_back(replica.get());
    all_.push_back(std::move(replica));
  }
  replicas_.front()->found();
  // The first to begin, so that the others have heard what it knows when they lead.
  if (stage.chance.percent(40))
    replicas_.front()->upgrade_at(stage.chance.between(60 * kSecond, 480 * kSecond));
}

std::optional<std::size_t> Coordinators::index_of(const std::string& name) const {
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i]->name() == name) return i;
  return std::nullopt;
}

Coordinator* Coordinators::leader() const {
  Coordinator* newest = nullptr;
  for (const auto& one : all_)
    if (one->leads() && (newest == nullptr || one->epoch() > newest->epoch())) newest = one.get();
  return newest;
}

Coordinator* Coordinators::asked() {
  std::vector<Coordinator*> leaders;
  for (const auto& one : all_)
    if (one->leads()) leaders.push_back(one.get());
  if (leaders.empty()) return nullptr;
  if (leaders.size() == 1) return leaders.front();
  ++rivalries_;
  return leaders[stage_.chance.below(leaders.size())];
}

bool Coordinators::follows_on(const Replica& one) const {
  if (!one.is_running()) return false;
  const std::uint64_t oldest = etcd_->oldest_record();
  const std::uint64_t needed = oldest == 0 ? etcd_->head().number : oldest - 1;
  return one.ledger().last_number() >= needed;
}

bool Coordinators::can_lose_disk(const Replica& one) const {
  return one.has_ledger() && std::all_of(replicas_.begin(), replicas_.end(), [&](const Replica* r) {
           return r == &one || (r->has_ledger() && follows_on(*r));
         });
}

bool Coordinators::are_level() const {
  return std::all_of(replicas_.begin(), replicas_.end(), [&](const Replica* one) {
    return one->is_running() && one->ledger().head() == etcd_->head();
  });
}

void Coordinators::compare_states() const {
  if (replicas_.empty()) return;
  const auto first = replicas_.front()->ledger().measure_checkpoint();
  for (const Replica* one : replicas_) {
    checker_.verify(one->ledger());
    const auto state = one->ledger().measure_checkpoint();
    if (!first || !state || state->record != first->record)
      stage_.broken("the states of {} and {} differ at record {}", replicas_.front()->name(),
                    one->name(), one->ledger().last_number());
  }
}

}  // namespace fairwater::cluster_sim
