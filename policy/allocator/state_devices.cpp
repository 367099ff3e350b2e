// Of AllocatorState: which devices a task gets on a node, and what is kept of shared GPUs.
#include <algorithm>
#include <utility>

#include "policy/allocator/expected_room.hpp"
#include "policy/allocator/state.hpp"
#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

const std::vector<std::string>& named_by(const PlacementRule* rule) {
  static const std::vector<std::string> kNone;
  return rule == nullptr ? kNone : rule->devices;
}

}  // namespace

std::set<std::string> AllocatorState::left_for_last() const {
  std::set<std::string> names;
  for (const std::uint32_t slot : naming_devices_)
    names.insert(tenants_[slot].named_devices.begin(), tenants_[slot].named_devices.end());
  return names;
}

std::optional<std::vector<std::string>> AllocatorState::devices_for(
    const NodeRoom& node, const WaitingRange& task, const std::vector<std::string>* among) const {
  std::optional<ChosenShares> shares;
  if (takes_shares(task.demand)) {
    const auto kept = among == nullptr ? kept_from(node, task) : others_than(*among, node);
    shares = shares_for(node, task.demand, task.rule.get(), kept);
    if (!shares) return std::nullopt;
  }
  if (node.traits.devices.empty()) return std::vector<std::string>{};
  auto devices = choose_devices(node.traits, settings.resources, node.device_uses,
                                {task.demand, named_by(task.rule.get()), left_for_last()});
  if (devices && shares)
    devices->insert(devices->end(), shares->names.begin(), shares->names.end());
  return devices;
}

std::vector<std::string> AllocatorState::devices_of_placed(
    const NodeRoom& node, const WaitingRange& task, const std::vector<std::string>* among) const {
  auto devices = devices_for(node, task, among);
  FAIRWATER_CHECK(devices || !takes_shares(task.demand), "a GPU has room for what is placed there");
  return devices ? std::move(*devices) : std::vector<std::string>{};
}

// -- shared GPUs
// -----------------------------------------------------------------------------------

const NodeDevices* AllocatorState::shared_devices(const NodeRoom& node) const {
  for (const NodeDevices& kind : node.traits.devices)
    if (kind.resource == kSharedGpus) return &kind;
  return nullptr;
}

std::optional<ChosenShares> AllocatorState::shares_for(
    const NodeRoom& node, const ResourceVector& demand, const PlacementRule* rule,
    const std::set<std::string>& kept_for_others) const {
  if (!node.gpu_room) return std::nullopt;
  return shares_of(node, *node.gpu_room, demand, rule, kept_for_others);
}

std::optional<ChosenShares> AllocatorState::shares_of(
    const NodeRoom& node, const GpuNode& room, const ResourceVector& demand,
    const PlacementRule* rule, const std::set<std::string>& kept_for_others) const {
  const NodeDevices* kind = shared_devices(node);
  if (kind == nullptr) return std::nullopt;
  return choose_shares(*kind, shared_resource_, room, node.free(), share_mix_.mix(),
                       {demand, named_by(rule), left_for_last(), kept_for_others});
}

std::optional<ChosenShares> AllocatorState::shares_beside(
    const NodeRoom& node, const ResourceVector& demand, const PlacementRule* rule,
    const DeviceUses& held, const std::set<std::string>& kept_for_others) const {
  const NodeDevices* kind = shared_devices(node);
  const auto room = kind == nullptr ? std::nullopt : shared_room(*kind, shared_resource_, held);
  if (!room) return std::nullopt;
  return shares_of(node, *room, demand, rule, kept_for_others);
}

std::set<std::string> AllocatorState::others_than(const std::vector<std::string>& names,
                                                  const NodeRoom& node) const {
  std::set<std::string> others;
  if (const NodeDevices* kind = shared_devices(node))
    for (const std::string& name : kind->names)
      if (!is_among(names, name)) others.insert(name);
  return others;
}

void AllocatorState::look_at_gpus(NodeRoom& node) const {
  const NodeDevices* kind = shared_devices(node);
  node.gpu_room = kind == nullptr || shared_resource_ == kMaxResources
                      ? std::nullopt
                      : shared_room(*kind, shared_resource_, node.device_uses);
}

ResourceVector AllocatorState::room_for_one(const NodeRoom& node) const {
  ResourceVector room = node.free();
  if (shared_resource_ == kMaxResources) return room;
  Amount& milli = room[shared_resource_];
  milli = std::min<Amount>(milli, node.gpu_room ? most_for_one(*node.gpu_room) : 0);
  return room;
}

std::optional<GpuNode> AllocatorState::gpus_beside_services(const NodeRoom& node) const {
  const NodeDevices* kind = shared_devices(node);
  if (kind == nullptr || shared_resource_ == kMaxResources) return std::nullopt;
  DeviceUses services;
  for (const auto& [key, use] : node.device_uses)
    if (use.is_service) services.emplace(key, use);
  return shared_room(*kind, shared_resource_, services);
}

std::optional<GpuNode> AllocatorState::gpus_when_empty(const NodeRoom& node) const {
  const NodeDevices* kind = shared_devices(node);
  if (kind == nullptr || shared_resource_ == kMaxResources) return std::nullopt;
  return shared_room(*kind, shared_resource_, {});
}

bool AllocatorState::has_shares_one_day(const NodeRoom& node, const WaitingRange& task) const {
  if (!takes_shares(task.demand)) return true;
  const auto room = gpus_beside_services(node);
  return room && shares_of(node, *room, task.demand, task.rule.get(), {});
}

std::set<std::string> AllocatorState::kept_from(const NodeRoom& node, const WaitingRange& task,
                                                const KeptFor& whose) const {
  std::set<std::string> names;
  const auto is_in_time = [&](LedgerMs from_ms, Predict predict) {
    return moment_in(now_ms(), duration_of(task, predict)) <= from_ms;
  };
  for (const NodeRoom::KeptDevices& kept : node.kept_devices) {
    if (kept.job == task.job) continue;
    // Nobody has the place any more, or has it elsewhere.
    const std::vector<KeptPlace>& places = tenants_[kept.tenant_slot].kept;
    const bool is_kept = std::any_of(places.begin(), places.end(), [&](const KeptPlace& place) {
      return place.job == kept.job && place.node == node.id &&
             place.late_from_ms <= whose.late_by_ms;
    });
    if (is_kept && !is_in_time(kept.from_ms, kept.predict))
      names.insert(kept.names.begin(), kept.names.end());
  }
  visit_gangs_gpus(node, task.job, whose, [&](const GangPlan& plan, const GangShare& share) {
    if (!is_in_time(plan.from_ms, plan.predict)) names.insert(share.gpus.begin(), share.gpus.end());
  });
  return names;
}

void AllocatorState::count_shares(NodeRoom& node, const ResourceVector& demand, bool is_held) {
  if (!takes_shares(demand)) return;
  look_at_gpus(node);
  if (share_mix_.note(demand, shared_resource_, is_held)) choices_.forget_shares();
}

}  // namespace fairwater::inline policy::inline allocator
