// How much of a node's free GPUs the tasks to come cannot use, measured in two ways.
//
// Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
// Gradient Descent" (USENIX ATC 2023), section 3: the GPU milli that a task drawn from the typical
// ones would find but could not use, in expectation.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "policy/gpu/node.hpp"

namespace fairwater::inline policy::inline gpu {

/// Tasks of one kind; how many of them stands for how often they come.
struct GpuTaskKind {
  GpuRequest request;
  std::int64_t count = 0;
};

/// Bound on the sum of counts: amounts below stay in 64 bits.
inline constexpr std::int64_t kMaxGpuTasks = 100'000'000;

/// What is known of the tasks to come.
class GpuTaskMix {
 public:
  /// `kinds` may repeat requests. The typical ones are the most frequent that together make up 95 %
  /// of all, memory left aside, as in the authors' experiments. `nodes` are those of the cluster,
  /// empty. O(kinds * (models + log kinds)).
  GpuTaskMix(const std::vector<GpuTaskKind>& kinds, const std::vector<GpuNode>& nodes);

  /// The paper's measure F in millionths of a GPU times typical_count(). A task that the node
  /// cannot run makes all that is free a fragment; one that it can, the devices with too little
  /// room. O(typical kinds * GPUs).
  [[nodiscard]] std::int64_t fragmentation(const GpuNode& node) const;

  /// As `fragmentation`, but for a task that can run counts what is likely to stay free of every
  /// device in the end: 190 milli are nearly lost where few tasks are that small, 530 are not where
  /// many ask for 470. The same unit and cost.
  [[nodiscard]] std::int64_t expected_loss(const GpuNode& node) const;

  /// What stays free of a device with `free_milli` when tasks drawn by frequency among those that
  /// still fit fill it, in millionths of a GPU. One draw in 125 ends it: a task that is
  /// one in a thousand will not come in time.
  [[nodiscard]] std::int64_t leftover_micro(std::int64_t free_milli) const;

  /// Millionths: the demand for a model per device of it, 10^6 on average and at most 10^9, when
  /// tasks spread evenly over all devices that will do for them.
  [[nodiscard]] std::int64_t wanted_micro(std::uint32_t model) const { return wanted_[model]; }
  /// Sum of counts over the typical kinds.
  [[nodiscard]] std::int64_t typical_count() const { return typical_count_; }

 private:
  void set_leftovers();
  void set_wanted(const std::vector<GpuTaskKind>& kinds, const std::vector<GpuNode>& nodes);

  std::vector<GpuTaskKind> typical_;
  std::int64_t typical_count_ = 0;
  std::array<std::int64_t, kMilliPerGpu + 1> leftover_{};
  std::array<std::int64_t, kMaxGpuModels> wanted_{};
};

}  // namespace fairwater::inline policy::inline gpu
