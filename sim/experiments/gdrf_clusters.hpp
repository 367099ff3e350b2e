// Random clusters of given machine shapes, filled by GDRF and by DRFH.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/dominant/gdrf.hpp"
#include "sim/experiments/experiment.hpp"
#include "sim/experiments/gdrf_shapes.hpp"

namespace fairwater::sim::inline experiments {

/// A task's amounts: whole ones, any thousandth, or 1 and 4 alone.
enum class Demands : std::uint8_t { whole, thousandths, extremes };

/// What the paper leaves open.
struct ClusterAssumptions {
  std::string name;
  double largest_machine = 100;  ///< its cpu and memory; a task asks for 1 to 4
  Demands demands = Demands::whole;
  bool drawn_machines = false;        ///< each machine's shape drawn by percent; else apportioned
  std::uint64_t tasks_per_machine{};  ///< how many each user wants for each machine; 0: no end
};

/// GDRF first, then what it is compared with.
struct PolicyName {
  ClusterPolicy policy;
  std::string_view name;
};
inline constexpr std::array<PolicyName, 3> kClusterPolicies{
    {{ClusterPolicy::gdrf, "GDRF"},
     {ClusterPolicy::drfh_best_fit, "DRFH best fit"},
     {ClusterPolicy::drfh_first_fit, "DRFH first fit"}}};

enum Measure : std::size_t { kPlaced, kCpuUsed, kMemoryUsed, kClusterF, kMeasures };
inline constexpr std::array<std::string_view, kMeasures> kMeasureNames{"tasks placed", "cpu used",
                                                                       "memory used", "f"};

/// What came out for one number of machines.
struct ClusterSamples {
  std::uint64_t machines = 0;
  /// values[policy][measure][seed]
  std::array<std::array<std::vector<double>, kMeasures>, kClusterPolicies.size()> values;
};

struct GdrfPlan {
  std::vector<std::uint64_t> machines;
  std::uint32_t seeds = 0;
  std::vector<ClusterAssumptions> assumptions;  ///< the first are those of the claims
};

inline constexpr std::size_t kClusterUsers = 20;

/// One entry per number of machines; the same users for all of them. Reports progress from `from`
/// to `to`.
[[nodiscard]] std::vector<ClusterSamples> sample_clusters(const std::vector<MachineShape>& shapes,
                                                          const GdrfPlan& plan,
                                                          const ClusterAssumptions& assumptions,
                                                          const ExperimentOptions& options,
                                                          double from, double to);

/// The report. At least one size and set of assumptions, and two seeds.
[[nodiscard]] ExperimentReport compare_with_drfh(const std::vector<MachineShape>& shapes,
                                                 const GdrfPlan& plan,
                                                 const ExperimentOptions& options);

}  // namespace fairwater::sim::inline experiments
