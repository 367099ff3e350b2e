// Machines with GPUs that several tasks may share, and what a task asks of one.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace fairwater::inline policy::inline gpu {

inline constexpr std::int64_t kMilliPerGpu = 1000;
/// The resource of a cluster whose amounts are thousandths of GPUs that tasks may share.
inline constexpr std::string_view kSharedGpus = "gpu_milli";
inline constexpr std::size_t kMaxGpusPerNode = 16;
/// Bits of `GpuRequest::models`.
inline constexpr std::size_t kMaxGpuModels = 64;
inline constexpr std::uint64_t kAnyGpuModel = std::numeric_limits<std::uint64_t>::max();

struct GpuRequest {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::uint32_t gpus = 0;               ///< different devices of one node; 0: runs anywhere
  std::int64_t milli_per_gpu = 0;       ///< 1 to 1000 when `gpus` > 0, else 0
  std::uint64_t models = kAnyGpuModel;  ///< bit i: devices of model i will do

  [[nodiscard]] std::int64_t gpu_milli() const { return gpus * milli_per_gpu; }
  friend auto operator<=>(const GpuRequest&, const GpuRequest&) = default;
};

/// A task takes a part of one GPU or whole ones: 1 to 999 thousandths, or thousands of them.
[[nodiscard]] constexpr bool is_gpu_share(std::int64_t milli) {
  return milli > 0 && (milli < kMilliPerGpu || milli % kMilliPerGpu == 0);
}
/// What a task that takes so many thousandths, more than none, asks of a node's GPUs.
[[nodiscard]] constexpr GpuRequest shared_gpus(std::int64_t milli) {
  GpuRequest request;
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::int64_t gpus = milli / kMilliPerGpu + (milli % kMilliPerGpu == 0 ? 0 : 1);
  request.gpus = static_cast<std::uint32_t>(gpus < kMost ? gpus : kMost);
  request.milli_per_gpu = milli < kMilliPerGpu ? milli : kMilliPerGpu;
  return request;
}

/// What is free on a node.
struct GpuNode {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::uint32_t model = 0;                                ///< of its devices; below kMaxGpuModels
  std::uint32_t gpus = 0;                                 ///< at most kMaxGpusPerNode
  std::array<std::int64_t, kMaxGpusPerNode> gpu_milli{};  ///< free of each device

  [[nodiscard]] std::int64_t total_gpu_milli() const;
  friend bool operator==(const GpuNode&, const GpuNode&) = default;
};

/// Whether enough devices each have `milli_per_gpu` free, and cpu, memory and model will do.
[[nodiscard]] bool fits(const GpuNode& node, const GpuRequest& request);
/// Whether the node's devices would do, whatever its processors and memory.
[[nodiscard]] bool gpus_fit(const GpuNode& node, const GpuRequest& request);

/// The most thousandths that one task may take of the node's devices (is_gpu_share): all of those
/// that are empty, or a part of the one with most room. It fits what asks for no more, whatever the
/// processors, memory and model.
[[nodiscard]] std::int64_t most_for_one(const GpuNode& node);

/// How many tasks that each take so many thousandths (is_gpu_share) the devices hold at once,
/// whichever each of them gets, and whatever the processors and memory.
[[nodiscard]] std::int64_t shares_that_fit(const GpuNode& node, std::int64_t milli);

/// The device with the least room in which one share of the request fits, the first on a tie.
[[nodiscard]] std::size_t tightest_gpu(const GpuNode& node, const GpuRequest& request);

/// The node without what the request takes; it must fit. `device` is for requests for one GPU;
/// others, and those without one, take the devices with the least room. O(gpus^2).
[[nodiscard]] GpuNode node_after(const GpuNode& node, const GpuRequest& request,
                                 std::optional<std::size_t> device = std::nullopt);

}  // namespace fairwater::inline policy::inline gpu
