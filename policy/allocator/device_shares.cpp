#include "policy/allocator/device_shares.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "policy/gpu/offer.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

using Picked = std::set<std::size_t>;  ///< of the node's GPUs, by number

struct Choice {
  Picked picked;
  std::int64_t cost = 0;
};

std::optional<Choice> by_offer(const GpuTaskMix& mix, const GpuNode& room,
                               const GpuRequest& request) {
  const auto offer = offer_of(mix, room, request, mix.expected_loss(room));
  if (!offer) return std::nullopt;
  const GpuNode rest = node_after(room, request, offer->device);
  Choice choice{{}, offer->cost};
  for (std::size_t i = 0; i < room.gpus; ++i)
    if (rest.gpu_milli[i] != room.gpu_milli[i]) choice.picked.insert(i);
  return choice;
}

/// Of those that are named, all; beyond them by offer.
std::optional<Choice> with_named(const GpuTaskMix& mix, GpuNode room, GpuRequest request,
                                 const Picked& named) {
  if (named.size() > request.gpus) return std::nullopt;
  for (const std::size_t i : named) {
    if (room.gpu_milli[i] < request.milli_per_gpu) return std::nullopt;
    room.gpu_milli[i] = 0;
  }
  request.gpus -= static_cast<std::uint32_t>(named.size());
  if (request.gpus == 0) return Choice{named, 0};
  auto choice = by_offer(mix, room, request);
  if (choice) choice->picked.insert(named.begin(), named.end());
  return choice;
}

}  // namespace

bool ShareMix::note(const ResourceVector& demand, std::size_t resource, bool is_held) {
  GpuRequest request = shared_gpus(demand[resource]);
  request.cpu_milli = demand[kCpu];
  const auto kind = running_.try_emplace(request).first;
  const std::uint64_t before = kind->second;
  kind->second += is_held ? 1 : -1;
  const bool is_as_before = std::bit_floor(kind->second) == std::bit_floor(before);
  if (kind->second == 0) running_.erase(kind);
  if (is_as_before) return false;
  std::vector<GpuTaskKind> kinds;
  kinds.reserve(running_.size());
  for (const auto& [asked, count] : running_)
    kinds.push_back({asked, static_cast<std::int64_t>(std::bit_floor(count))});
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  if (kinds.size() > kMostKinds) kinds.resize(kMostKinds);
  mix_ = GpuTaskMix(kinds, {});
  return true;
}

std::optional<GpuNode> shared_room(const NodeDevices& kind, std::size_t resource,
                                   const DeviceUses& held) {
  GpuNode room;
  room.gpus = static_cast<std::uint32_t>(std::min(kind.names.size(), kMaxGpusPerNode));
  std::fill_n(room.gpu_milli.begin(), room.gpus, kMilliPerGpu);
  for (const auto& [task, use] : held) {
    const Amount amount = use.demand[resource];
    if (amount <= 0) continue;
    if (use.names.empty()) return std::nullopt;
    for (std::size_t i = 0; i < room.gpus; ++i)
      if (is_among(use.names, kind.names[i]))
        room.gpu_milli[i] = std::max<Amount>(room.gpu_milli[i] - std::min(amount, kMilliPerGpu), 0);
  }
  return room;
}

void give_shares(GpuNode& room, const NodeDevices& kind, const std::vector<std::string>& names,
                 Amount milli_of_each) {
  for (std::size_t i = 0; i < room.gpus; ++i)
    if (is_among(names, kind.names[i])) room.gpu_milli[i] += milli_of_each;
}

GpuNode without_gpus(GpuNode room, const NodeDevices& kind, const std::set<std::string>& names) {
  for (std::size_t i = 0; i < room.gpus && !names.empty(); ++i)
    if (names.contains(kind.names[i])) room.gpu_milli[i] = 0;
  return room;
}

std::optional<ChosenShares> choose_shares(const NodeDevices& kind, std::size_t resource,
                                          GpuNode room, const ResourceVector& free,
                                          const GpuTaskMix& mix, const WantedShares& wanted) {
  // Whether the rest of the node has room is not asked here.
  GpuRequest request = shared_gpus(wanted.demand[resource]);
  request.cpu_milli = wanted.demand[kCpu];
  request.memory_mib = wanted.demand[kMemory];
  room.cpu_milli = std::max(free[kCpu], request.cpu_milli);
  room.memory_mib = std::max(free[kMemory], request.memory_mib);
  room = without_gpus(room, kind, wanted.kept_for_others);
  Picked named;
  GpuNode not_asked_for = room;
  for (std::size_t i = 0; i < room.gpus; ++i) {
    if (is_among(wanted.names, kind.names[i]))
      named.insert(i);
    else if (wanted.left_for_last.contains(kind.names[i]))
      not_asked_for.gpu_milli[i] = 0;
  }
  auto choice = with_named(mix, not_asked_for, request, named);
  if (!choice) choice = with_named(mix, room, request, named);
  if (!choice) return std::nullopt;
  ChosenShares chosen{{}, choice->cost};
  for (const std::size_t i : choice->picked) chosen.names.push_back(kind.names[i]);
  return chosen;
}

}  // namespace fairwater::inline policy::inline allocator
