#include "policy/gpu/placement.hpp"

#include <algorithm>
#include <utility>

#include "policy/core/check.hpp"
#include "policy/core/splitmix64.hpp"

namespace fairwater::inline policy::inline gpu {
namespace {

constexpr std::int64_t kMicroPerGpu = 1'000'000;
constexpr std::int64_t kFgdStepMicro = kMicroPerGpu / 25;
constexpr std::int64_t kFairwaterStepMicro = kMicroPerGpu / 10;
/// Tenths of the GPU part asked for that a model of average demand costs. Between 0.2 and 0.5 the
/// results are the same within their spread.
constexpr std::int64_t kWantedTenths = 3;

std::int64_t floor_divide(std::int64_t value, std::int64_t step) {
  return value / step - (value % step < 0 ? 1 : 0);
}

}  // namespace

GpuPlacer::GpuPlacer(GpuPolicy policy, std::vector<GpuNode> nodes, GpuTaskMix mix)
    : policy_(policy), nodes_(std::move(nodes)), mix_(std::move(mix)), versions_(nodes_.size(), 1) {
  for (const auto& node : nodes_) {
    FAIRWATER_CHECK(node.model < kMaxGpuModels && node.gpus <= kMaxGpusPerNode, "no such node");
    largest_cpu_milli_ = std::max(largest_cpu_milli_, node.cpu_milli);
    largest_gpu_milli_ = std::max(largest_gpu_milli_, node.total_gpu_milli());
    losses_.push_back(loss(node));
  }
}

std::optional<GpuPlacement> GpuPlacer::place(const GpuRequest& request,
                                             std::uint64_t random_number) {
  const auto placement =
      policy_ == GpuPolicy::random ? choose_at_random(request, random_number) : choose(request);
  if (!placement) return std::nullopt;
  auto& node = nodes_[placement->node];
  node = node_after(node, request, placement->device);
  losses_[placement->node] = loss(node);
  ++versions_[placement->node];
  return placement;
}

std::optional<GpuPlacement> GpuPlacer::choose(const GpuRequest& request) {
  auto& scores = scores_[request];
  scores.resize(nodes_.size());
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (scores[i].version != versions_[i]) scores[i] = score(i, request);
    if (scores[i].fits && (!best || scores[i].value < scores[*best].value)) best = i;
  }
  if (!best) return std::nullopt;
  return GpuPlacement{*best, scores[*best].device};
}

std::optional<GpuPlacement> GpuPlacer::choose_at_random(const GpuRequest& request,
                                                        std::uint64_t random_number) const {
  std::vector<std::size_t> with_room;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (fits(nodes_[i], request)) with_room.push_back(i);
  if (with_room.empty()) return std::nullopt;
  SplitMix64 random{random_number};
  GpuPlacement placement{.node = with_room[random.below(with_room.size())], .device = {}};
  if (request.gpus != 1) return placement;
  const auto& node = nodes_[placement.node];
  std::vector<std::size_t> devices;
  for (std::size_t i = 0; i < node.gpus; ++i)
    if (node.gpu_milli[i] >= request.milli_per_gpu) devices.push_back(i);
  placement.device = devices[random.below(devices.size())];
  return placement;
}

GpuPlacer::Score GpuPlacer::score(std::size_t index, const GpuRequest& request) const {
  const auto& node = nodes_[index];
  Score result{.version = versions_[index], .fits = fits(node, request), .value = 0, .device = {}};
  if (!result.fits) return result;
  if (policy_ == GpuPolicy::best_fit) {
    result.value = slack(node_after(node, request));
    return result;
  }
  std::int64_t least = 0;
  if (request.gpus != 1 || request.milli_per_gpu == kMilliPerGpu) {
    least = loss(node_after(node, request));
  } else {
    for (std::size_t i = 0; i < node.gpus; ++i) {
      const auto begin = node.gpu_milli.begin();
      const bool alike_seen = std::find(begin, begin + i, node.gpu_milli[i]) != begin + i;
      if (node.gpu_milli[i] < request.milli_per_gpu || alike_seen) continue;
      const std::int64_t candidate = loss(node_after(node, request, i));
      if (result.device && candidate >= least) continue;
      least = candidate;
      result.device = i;
    }
  }
  std::int64_t growth = least - losses_[index];
  if (policy_ == GpuPolicy::fairwater && request.gpus > 0) {
    const std::int64_t wanted = request.gpu_milli() * mix_.wanted_micro(node.model) / kMilliPerGpu;
    growth += wanted * kWantedTenths / 10 * mix_.typical_count();
  }
  result.value = rounded(growth);
  return result;
}

std::int64_t GpuPlacer::slack(const GpuNode& rest) const {
  return rest.cpu_milli * largest_gpu_milli_ + rest.total_gpu_milli() * largest_cpu_milli_;
}

std::int64_t GpuPlacer::loss(const GpuNode& node) const {
  switch (policy_) {
    case GpuPolicy::fgd:
    case GpuPolicy::fgd_rounded:
      return mix_.fragmentation(node);
    case GpuPolicy::fairwater:
      return mix_.expected_loss(node);
    case GpuPolicy::random:
    case GpuPolicy::best_fit:
      return 0;
  }
  FAIRWATER_CHECK(false, "no such policy");
  return 0;
}

std::int64_t GpuPlacer::rounded(std::int64_t growth) const {
  const std::int64_t count = std::max<std::int64_t>(mix_.typical_count(), 1);
  if (policy_ == GpuPolicy::fgd_rounded) return floor_divide(growth, kFgdStepMicro * count);
  if (policy_ == GpuPolicy::fairwater) return floor_divide(growth, kFairwaterStepMicro * count);
  return growth;
}

}  // namespace fairwater::inline policy::inline gpu
