// Means over seeds with their 95 % confidence intervals.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/statistics.hpp"

namespace fairwater::sim {

struct Mean {
  double value = 0;
  double half_width = 0;  ///< of the 95 % confidence interval; 0 when it is not known
  [[nodiscard]] double low() const { return value - half_width; }
  [[nodiscard]] double high() const { return value + half_width; }
};

/// Of independent samples, at least one; a single one has no known interval. O(samples).
[[nodiscard]] inline Mean mean_of(std::span<const double> samples) {
  const Estimate estimated = estimate(samples);
  return {estimated.mean, estimated.half_width};
}

/// The mean of `a[i] - b[i]`: what two methods differ by on the same inputs.
[[nodiscard]] inline Mean mean_difference(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences(a.begin(), a.end());
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= b[i];
  return mean_of(differences);
}

}  // namespace fairwater::sim
