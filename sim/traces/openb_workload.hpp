// The openb trace as a cluster and a workload in virtual time (sim/traces/openb.hpp reads its
// lists).
//
// A node's GPUs are one amount, `gpu_milli`, 1000 for each: a part of a GPU is exact, but which
// device it sits on is not simulated, so a whole GPU may be made of free parts of several. Packing
// into devices is what pack_openb does. A node's model is its label `gpu_model`.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "sim/traces/openb.hpp"
#include "sim/traces/trace_workload.hpp"

namespace fairwater::sim::inline traces {

inline constexpr std::string_view kGpuMilliResource = "gpu_milli";
inline constexpr std::string_view kGpuModelLabel = "gpu_model";

/// The nodes, in the list's order; GPUs are resource `gpu`.
[[nodiscard]] std::vector<SimNode> openb_nodes(const OpenbCluster& cluster, std::size_t gpu);

/// The pods that ran, by creation, one task each, for as long as they were scheduled; the list has
/// no estimates, so policies are told this time. Its `qos` is the tenant,
/// `none` where it is empty. A pod that wants models
/// has a rule on the label. Pods without all three times, and those that were scheduled before
/// their creation or deleted before they were scheduled, are skipped. At most `max_jobs`, 0: all.
/// `invalid_input` when no pod ran, or a model is no label's value. O(pods log pods).
[[nodiscard]] Expected<TraceWorkload> openb_workload(const std::vector<OpenbPod>& pods,
                                                     const std::vector<std::string>& models,
                                                     std::size_t gpu, std::size_t max_jobs);

}  // namespace fairwater::sim::inline traces
