#include "policy/gpu/fragmentation.hpp"

#include <algorithm>
#include <map>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline gpu {
namespace {

using WideGpu = __int128;

constexpr std::int64_t kTypicalPercent = 95;
constexpr std::int64_t kMicroPerMilli = 1000;
constexpr std::int64_t kMicro = 1'000'000;
constexpr std::int64_t kMaxWantedMicro = 1000 * kMicro;
/// One in so many draws ends a device's filling. From 100 to 3000 placement is about as good; with
/// 50, tasks that are rare are counted on too little and shares are mixed badly.
constexpr std::int64_t kDrawsToEnd = 125;

/// The most frequent kinds, memory left aside, until they make up kTypicalPercent of all.
std::vector<GpuTaskKind> typical_kinds(const std::vector<GpuTaskKind>& kinds) {
  std::map<GpuRequest, std::int64_t> counts;
  std::int64_t total = 0;
  for (const auto& kind : kinds) {
    FAIRWATER_CHECK(kind.count > 0 && kind.count <= kMaxGpuTasks - total, "too many tasks");
    GpuRequest request = kind.request;
    request.memory_mib = 0;
    counts[request] += kind.count;
    total += kind.count;
  }
  std::vector<GpuTaskKind> sorted;
  sorted.reserve(counts.size());
  for (const auto& [request, count] : counts) sorted.push_back({request, count});
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  std::int64_t taken = 0;
  std::size_t size = 0;
  for (; size < sorted.size() && taken * 100 < total * kTypicalPercent; ++size)
    taken += sorted[size].count;
  sorted.resize(size);
  return sorted;
}

/// Free milli of devices that have less than `milli`.
std::int64_t too_narrow(const GpuNode& node, std::int64_t milli) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < node.gpus; ++i)
    if (node.gpu_milli[i] < milli) sum += node.gpu_milli[i];
  return sum;
}

/// Typical tasks that ask for a GPU and find it: only then the node's GPUs are of use.
bool can_use(const GpuNode& node, const GpuRequest& request) {
  return request.gpus > 0 && node.cpu_milli >= request.cpu_milli && gpus_fit(node, request);
}

}  // namespace

GpuTaskMix::GpuTaskMix(const std::vector<GpuTaskKind>& kinds, const std::vector<GpuNode>& nodes)
    : typical_(typical_kinds(kinds)) {
  for (const auto& kind : typical_) typical_count_ += kind.count;
  set_leftovers();
  set_wanted(kinds, nodes);
}

void GpuTaskMix::set_leftovers() {
  std::map<std::int64_t, std::int64_t> shares;  // devices asked for, by milli
  std::int64_t total = 0;
  for (const auto& kind : typical_)
    if (kind.request.gpus > 0) {
      shares[kind.request.milli_per_gpu] += kind.count * kind.request.gpus;
      total += kind.count * kind.request.gpus;
    }
  const std::int64_t ends = std::max<std::int64_t>(total / kDrawsToEnd, 1);
  for (std::int64_t free = 1; free <= kMilliPerGpu; ++free) {
    WideGpu sum = WideGpu{ends} * free * kMicroPerMilli;
    std::int64_t draws = ends;
    for (const auto& [milli, count] : shares) {
      if (milli > free) break;
      sum += WideGpu{count} * leftover_[static_cast<std::size_t>(free - milli)];
      draws += count;
    }
    leftover_[static_cast<std::size_t>(free)] = static_cast<std::int64_t>(sum / draws);
  }
}

void GpuTaskMix::set_wanted(const std::vector<GpuTaskKind>& kinds,
                            const std::vector<GpuNode>& nodes) {
  std::array<std::int64_t, kMaxGpuModels> capacity{};
  std::int64_t all = 0;
  for (const auto& node : nodes) {
    FAIRWATER_CHECK(node.model < kMaxGpuModels && node.gpus <= kMaxGpusPerNode, "no such node");
    capacity[node.model] += node.total_gpu_milli();
    all += node.total_gpu_milli();
  }
  std::map<std::uint64_t, WideGpu> demands;  // GPU milli, by the set of models that will do
  for (const auto& kind : kinds)
    demands[kind.request.models] += WideGpu{kind.count} * kind.request.gpu_milli();
  WideGpu total = 0;
  std::array<WideGpu, kMaxGpuModels> wanted{};
  for (const auto& [models, demand] : demands) {
    std::int64_t room = 0;
    for (std::size_t i = 0; i < kMaxGpuModels; ++i)
      if ((models >> i & 1) != 0) room += capacity[i];
    if (room == 0) continue;
    total += demand;
    for (std::size_t i = 0; i < kMaxGpuModels; ++i)
      if ((models >> i & 1) != 0 && capacity[i] > 0) wanted[i] += demand * all / room;
  }
  for (std::size_t i = 0; i < kMaxGpuModels && total > 0; ++i)
    wanted_[i] =
        static_cast<std::int64_t>(std::min<WideGpu>(wanted[i] * kMicro / total, kMaxWantedMicro));
}

std::int64_t GpuTaskMix::fragmentation(const GpuNode& node) const {
  const std::int64_t free = node.total_gpu_milli();
  if (free == 0) return 0;
  std::int64_t sum = 0;
  for (const auto& [request, count] : typical_)
    sum += count * (can_use(node, request) ? too_narrow(node, request.milli_per_gpu) : free);
  return sum * kMicroPerMilli;
}

std::int64_t GpuTaskMix::expected_loss(const GpuNode& node) const {
  const std::int64_t free = node.total_gpu_milli();
  if (free == 0) return 0;
  std::int64_t leftover = 0;
  for (std::size_t i = 0; i < node.gpus; ++i) leftover += leftover_micro(node.gpu_milli[i]);
  std::int64_t sum = 0;
  for (const auto& [request, count] : typical_)
    sum += count * (can_use(node, request) ? leftover : free * kMicroPerMilli);
  return sum;
}

std::int64_t GpuTaskMix::leftover_micro(std::int64_t free_milli) const {
  FAIRWATER_CHECK(free_milli >= 0 && free_milli <= kMilliPerGpu, "a part of one device");
  return leftover_[static_cast<std::size_t>(free_milli)];
}

}  // namespace fairwater::inline policy::inline gpu
