// Who used how much of a cluster, from the times of its tasks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/harness/cluster.hpp"

namespace fairwater::story {

/// One run of a task on the cluster, in seconds since 1970.
struct Occupation {
  std::string tenant;
  double from = 0;
  double until = 0;  ///< now, while it runs
};

/// Every task of these jobs that has started.
[[nodiscard]] std::vector<Occupation> occupations(const harness::Cluster& cluster,
                                                  const std::vector<std::uint64_t>& jobs);

/// Seconds that tasks ran, per tenant, between two moments.
[[nodiscard]] std::map<std::string, double> seconds_run(const std::vector<Occupation>& occupations,
                                                        double from, double until);

[[nodiscard]] double wall_clock();  ///< seconds since 1970

}  // namespace fairwater::story
