#include "policy/gpu/node.hpp"

#include <algorithm>
#include <numeric>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline gpu {

std::int64_t GpuNode::total_gpu_milli() const {
  return std::accumulate(gpu_milli.begin(), gpu_milli.begin() + gpus, std::int64_t{0});
}

bool gpus_fit(const GpuNode& node, const GpuRequest& request) {
  if (request.gpus == 0) return true;
  if ((request.models >> node.model & 1) == 0) return false;
  const auto wide_enough =
      std::count_if(node.gpu_milli.begin(), node.gpu_milli.begin() + node.gpus,
                    [&](std::int64_t milli) { return milli >= request.milli_per_gpu; });
  return wide_enough >= static_cast<std::ptrdiff_t>(request.gpus);
}

bool fits(const GpuNode& node, const GpuRequest& request) {
  return node.cpu_milli >= request.cpu_milli && node.memory_mib >= request.memory_mib &&
         gpus_fit(node, request);
}

std::int64_t most_for_one(const GpuNode& node) {
  std::int64_t empty = 0;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < node.gpus; ++i) {
    if (node.gpu_milli[i] == kMilliPerGpu) empty += kMilliPerGpu;
    most = std::max(most, node.gpu_milli[i]);
  }
  return std::max(empty, most);
}

std::int64_t shares_that_fit(const GpuNode& node, std::int64_t milli) {
  FAIRWATER_CHECK(is_gpu_share(milli), "a task takes a part of one device, or whole ones");
  std::int64_t each = 0;  // of a task's devices
  for (std::size_t i = 0; i < node.gpus; ++i)
    each += node.gpu_milli[i] / std::min(milli, kMilliPerGpu);
  return each / std::max<std::int64_t>(1, milli / kMilliPerGpu);
}

std::size_t tightest_gpu(const GpuNode& node, const GpuRequest& request) {
  std::size_t best = node.gpus;
  for (std::size_t i = 0; i < node.gpus; ++i)
    if (node.gpu_milli[i] >= request.milli_per_gpu &&
        (best == node.gpus || node.gpu_milli[i] < node.gpu_milli[best]))
      best = i;
  FAIRWATER_CHECK(best < node.gpus, "no device has room");
  return best;
}

GpuNode node_after(const GpuNode& node, const GpuRequest& request,
                   std::optional<std::size_t> device) {
  FAIRWATER_CHECK(fits(node, request), "the request must fit");
  GpuNode rest = node;
  rest.cpu_milli -= request.cpu_milli;
  rest.memory_mib -= request.memory_mib;
  if (request.gpus == 1 && device) {
    FAIRWATER_CHECK(*device < node.gpus && node.gpu_milli[*device] >= request.milli_per_gpu,
                    "the device must have room");
    rest.gpu_milli[*device] -= request.milli_per_gpu;
    return rest;
  }
  // A device serves one share of a request: who is served is out of the further search.
  GpuNode left = node;
  for (std::uint32_t i = 0; i < request.gpus; ++i) {
    const std::size_t chosen = tightest_gpu(left, request);
    rest.gpu_milli[chosen] -= request.milli_per_gpu;
    left.gpu_milli[chosen] = -1;
  }
  return rest;
}

}  // namespace fairwater::inline policy::inline gpu
