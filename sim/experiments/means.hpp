// Means over seeds with their 95 % confidence intervals.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace fairwater::sim {

struct Mean {
  double value = 0;
  double half_width = 0;  ///< of the 95 % confidence interval; 0 when it is not known
  [[nodiscard]] double low() const { return value - half_width; }
  [[nodiscard]] double high() const { return value + half_width; }
};

/// Student's t that 97.5 % lie below; `freedom` >= 1. Within 0.005: Abramowitz, Stegun, 26.7.5.
[[nodiscard]] inline double student_t(std::size_t freedom) {
  constexpr std::array<double, 4> kSmall{12.706, 4.303, 3.182, 2.776};
  if (freedom <= kSmall.size()) return kSmall[freedom - 1];
  constexpr double z = 1.959964, z2 = z * z;
  const double n = static_cast<double>(freedom);
  return z * (1 + (z2 + 1) / (4 * n) + ((5 * z2 + 16) * z2 + 3) / (96 * n * n) +
              (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * n * n * n));
}

/// Of independent samples, at least one; a single one has no known interval. O(samples).
[[nodiscard]] inline Mean mean_of(std::span<const double> samples) {
  const double count = static_cast<double>(samples.size());
  double sum = 0, squares = 0;
  for (const double sample : samples) sum += sample;
  const double mean = sum / count;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  if (samples.size() < 2) return {mean, 0};
  return {mean, student_t(samples.size() - 1) * std::sqrt(squares / (count - 1) / count)};
}

/// The mean of `a[i] - b[i]`: what two methods differ by on the same inputs.
[[nodiscard]] inline Mean mean_difference(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences(a.begin(), a.end());
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= b[i];
  return mean_of(differences);
}

}  // namespace fairwater::sim
