#include "policy/gpu/placement.hpp"

#include <algorithm>
#include <utility>

#include "policy/core/check.hpp"
#include "policy/core/splitmix64.hpp"
#include "policy/gpu/offer.hpp"

namespace fairwater::inline policy::inline gpu {
namespace {

/// Of a GPU, in millionths.
constexpr std::int64_t kFgdStepMicro = 1'000'000 / 25;

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
  const GpuOffer offer =
      policy_ == GpuPolicy::fairwater
          ? *offer_of(mix_, node, request, losses_[index])
          : least_loss(node, request, [&](const GpuNode& rest) { return loss(rest); });
  result.device = offer.device;
  result.value =
      policy_ == GpuPolicy::fairwater ? offer.cost : rounded(offer.cost - losses_[index]);
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
  if (policy_ == GpuPolicy::fgd_rounded) return whole_steps(growth, kFgdStepMicro * count);
  return growth;
}

}  // namespace fairwater::inline policy::inline gpu
