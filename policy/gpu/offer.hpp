// Which devices of one node a request takes, and what that costs the tasks to come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "policy/gpu/fragmentation.hpp"
#include "policy/gpu/node.hpp"

namespace fairwater::inline policy::inline gpu {

struct GpuOffer {
  std::int64_t cost = 0;  ///< of nodes to choose from, the least is taken
  /// Of a request for a part of one device: where. Others take the tightest (`node_after`).
  std::optional<std::size_t> device;
  friend bool operator==(const GpuOffer&, const GpuOffer&) = default;
};

/// `value / step`, rounded down. Costs within one step are alike.
[[nodiscard]] constexpr std::int64_t whole_steps(std::int64_t value, std::int64_t step) {
  return value / step - (value % step < 0 ? 1 : 0);
}

/// The device on which the request, which must fit, leaves the least `loss(node)`, the first on a
/// tie; the cost is that loss. Devices with as much free are alike. O(devices) losses.
template <class Loss>
[[nodiscard]] GpuOffer least_loss(const GpuNode& node, const GpuRequest& request,
                                  const Loss& loss) {
  if (request.gpus != 1 || request.milli_per_gpu == kMilliPerGpu)
    return {loss(node_after(node, request)), std::nullopt};
  GpuOffer best;
  for (std::size_t i = 0; i < node.gpus; ++i) {
    const auto begin = node.gpu_milli.begin();
    const auto here = begin + static_cast<std::ptrdiff_t>(i);
    if (*here < request.milli_per_gpu || std::find(begin, here, *here) != here) continue;
    const std::int64_t candidate = loss(node_after(node, request, i));
    if (best.device && candidate >= best.cost) continue;
    best = {candidate, i};
  }
  return best;
}

/// Fairwater's rule, for one node: where `expected_loss` grows least, plus 0.3 of the GPU part
/// asked for times how wanted the node's model is, in steps of a tenth of a GPU. Where nothing is
/// known of the tasks to come, the tightest fit: the cost is what stays free, in thousandths, of
/// the devices that are taken. None: it does not fit. `loss` is the node's `expected_loss`, which
/// the caller may keep. O(devices) expected losses.
[[nodiscard]] std::optional<GpuOffer> offer_of(const GpuTaskMix& mix, const GpuNode& node,
                                               const GpuRequest& request, std::int64_t loss);

}  // namespace fairwater::inline policy::inline gpu
