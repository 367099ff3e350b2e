// The openb trace of Alibaba's GPU cluster (Weng et al., USENIX ATC 2023; alibaba/clusterdata,
// cluster-trace-gpu-v2023) and its authors' experiment: pods arrive in random order and never
// leave, until the cluster is full.
//
// Grammar of the lists: a head line, then one line per node or pod; columns are separated by commas
// and never quoted; lines end in `\n` or `\r\n`.
//
//   nodes:    sn,cpu_milli,memory_mib,gpu,model
//   pods:     name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,
//             creation_time,deletion_time,scheduled_time        (gpu_spec: models joined by `|`)
//   results:  workload,sc_policy,tune,seed,total_gpus,0,1,..,130  (GPU allocation in percent)
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/errors.hpp"
#include "policy/gpu/placement.hpp"

namespace fairwater::sim::inline traces {

struct OpenbCluster {
  std::vector<GpuNode> nodes;       ///< as in the list, all free
  std::vector<std::string> names;   ///< of the nodes
  std::vector<std::string> models;  ///< names of GpuNode::model
};

/// `invalid_input` names the line and the column. O(text).
[[nodiscard]] Expected<OpenbCluster> parse_openb_nodes(std::string_view text);

/// A pod and its life, in seconds of the trace: what the list leaves empty is none.
struct OpenbPod {
  GpuRequest request;
  std::string qos;
  std::optional<std::int64_t> creation_s;
  std::optional<std::int64_t> scheduled_s;
  std::optional<std::int64_t> deletion_s;
};
/// The pods in the list's order. A pod may want models that the cluster does not have, but one of
/// them at least it must have. Errors and cost as above.
[[nodiscard]] Expected<std::vector<OpenbPod>> parse_openb_pods(
    std::string_view text, const std::vector<std::string>& models);

/// Loads are whole percents of the cluster's GPUs, from 0 to this.
inline constexpr std::size_t kMaxOpenbLoad = 130;
/// GPU allocation in percent, by the load that had arrived.
using OpenbAllocation = std::array<double, kMaxOpenbLoad + 1>;

/// One run of the authors' experiment.
struct OpenbResult {
  std::string workload;
  std::string policy;
  OpenbAllocation allocation{};
};
/// Errors and cost as above.
[[nodiscard]] Expected<std::vector<OpenbResult>> parse_openb_results(std::string_view text);

/// The authors' order of arrival: all pods shuffled, then copies of random ones, the last being the
/// one before the requests would go beyond kMaxOpenbLoad percent of `capacity_milli`; of more
/// requests than that from the start, the first ones. The same seed gives the same order.
/// `pods` must hold one that wants a GPU. O(result).
[[nodiscard]] std::vector<GpuRequest> openb_arrivals(const std::vector<GpuRequest>& pods,
                                                     std::int64_t capacity_milli,
                                                     std::uint64_t seed);

/// Packs one order of arrival into the nodes, which are shuffled by the seed; a pod that fits
/// nowhere is dropped. The allocation at a load is the mean over the arrivals after which it
/// rounds to that percent, or that of the load before if there are none. `pods` must hold one that
/// wants a GPU, `nodes` a GPU.
[[nodiscard]] OpenbAllocation pack_openb(const std::vector<GpuNode>& nodes,
                                         const std::vector<GpuRequest>& pods, GpuPolicy policy,
                                         std::uint64_t seed);

}  // namespace fairwater::sim::inline traces
