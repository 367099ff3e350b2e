// Where a task goes that wants a GPU, several, or a part of one: four rules to compare.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "policy/gpu/fragmentation.hpp"
#include "policy/gpu/node.hpp"

namespace fairwater::inline policy::inline gpu {

enum class GpuPolicy : std::uint8_t {
  random = 0,    ///< any node with room, any of its devices
  best_fit = 1,  ///< the least free cpu and GPU afterwards, each as a part of the largest node's
  /// Fragmentation gradient descent (Weng et al., algorithm 1): the node and device where
  /// `fragmentation` grows least.
  fgd = 2,
  /// The same in steps of 1/25 of a GPU. The authors' program rounds its scores, a sigmoid of the
  /// growth, to whole hundredths, and that is the step where growth is small. Nodes within one step
  /// are alike and the first of them is taken, which fills node after node.
  fgd_rounded = 3,
  /// The node and device with the cheapest `offer_of`, the first node on a tie.
  fairwater = 4,
};

struct GpuPlacement {
  std::size_t node = 0;
  /// Of a request for one GPU that chose among devices; other requests take the tightest.
  std::optional<std::size_t> device;
  friend bool operator==(const GpuPlacement&, const GpuPlacement&) = default;
};

/// Places tasks one by one and keeps count of what is free.
///
/// A node's score for a kind of request is kept until something is placed there, so a task costs
/// O(nodes) to look at them plus the scoring of nodes that changed.
class GpuPlacer {
 public:
  GpuPlacer(GpuPolicy policy, std::vector<GpuNode> nodes, GpuTaskMix mix);

  /// Takes the room, or returns nothing where no node has any. `random_number` decides for
  /// GpuPolicy::random alone.
  [[nodiscard]] std::optional<GpuPlacement> place(const GpuRequest& request,
                                                  std::uint64_t random_number);
  [[nodiscard]] const std::vector<GpuNode>& nodes() const { return nodes_; }

 private:
  struct Score {
    std::uint64_t version = 0;  ///< of the node that it is for; 0: none yet
    bool fits = false;
    std::int64_t value = 0;  ///< the least is taken
    std::optional<std::size_t> device;
  };

  [[nodiscard]] std::optional<GpuPlacement> choose(const GpuRequest& request);
  [[nodiscard]] std::optional<GpuPlacement> choose_at_random(const GpuRequest& request,
                                                             std::uint64_t random_number) const;
  [[nodiscard]] Score score(std::size_t node, const GpuRequest& request) const;
  /// Free cpu and GPU, weighted: the rule of GpuPolicy::best_fit.
  [[nodiscard]] std::int64_t slack(const GpuNode& rest) const;
  [[nodiscard]] std::int64_t loss(const GpuNode& node) const;
  [[nodiscard]] std::int64_t rounded(std::int64_t growth) const;

  GpuPolicy policy_;
  std::vector<GpuNode> nodes_;
  GpuTaskMix mix_;
  std::int64_t largest_cpu_milli_ = 1;
  std::int64_t largest_gpu_milli_ = 1;
  std::vector<std::uint64_t> versions_;  ///< grows whenever a node changes; from 1
  std::vector<std::int64_t> losses_;     ///< of the nodes as they are
  std::map<GpuRequest, std::vector<Score>> scores_;
};

}  // namespace fairwater::inline policy::inline gpu
