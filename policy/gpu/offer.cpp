#include "policy/gpu/offer.hpp"

namespace fairwater::inline policy::inline gpu {
namespace {

constexpr std::int64_t kStepMicro = 1'000'000 / 10;
/// Tenths of the GPU part asked for that a model of average demand costs. Between 0.2 and 0.5 the
/// results are the same within their spread.
constexpr std::int64_t kWantedTenths = 3;

/// The tightest device, or for several devices those that `node_after` takes.
GpuOffer tightest_fit(const GpuNode& node, const GpuRequest& request) {
  if (request.gpus == 0) return {};
  const GpuNode rest = node_after(node, request);
  GpuOffer offer;
  for (std::size_t i = 0; i < node.gpus; ++i)
    if (rest.gpu_milli[i] != node.gpu_milli[i]) offer.cost += rest.gpu_milli[i];
  if (request.gpus == 1 && request.milli_per_gpu < kMilliPerGpu)
    offer.device = tightest_gpu(node, request);
  return offer;
}

}  // namespace

std::optional<GpuOffer> offer_of(const GpuTaskMix& mix, const GpuNode& node,
                                 const GpuRequest& request, std::int64_t loss) {
  if (!fits(node, request)) return std::nullopt;
  const std::int64_t count = mix.typical_count();
  if (count == 0) return tightest_fit(node, request);
  GpuOffer offer =
      least_loss(node, request, [&](const GpuNode& rest) { return mix.expected_loss(rest); });
  std::int64_t growth = offer.cost - loss;
  const std::int64_t wanted = request.gpu_milli() * mix.wanted_micro(node.model) / kMilliPerGpu;
  growth += wanted * kWantedTenths / 10 * count;
  offer.cost = whole_steps(growth, kStepMicro * count);
  return offer;
}

}  // namespace fairwater::inline policy::inline gpu
