// What a handful of measured values say: means with their confidence, quantiles, fairness.
#pragma once

#include <span>
#include <vector>

namespace fairwater::sim::inline report {

/// The arithmetic mean; `values` must not be empty. O(n).
[[nodiscard]] double mean(std::span<const double> values);

/// The sample's standard deviation, with n - 1 below; 0 for a single value. O(n).
[[nodiscard]] double sample_standard_deviation(std::span<const double> values);

/// Half the width of the mean's 95 % confidence interval by Student's t with n - 1 degrees of
/// freedom: the mean of repetitions that are independent lies in `mean +- half width`. A single
/// value says nothing about its spread and gets 0. O(n).
[[nodiscard]] double confidence_half_width(std::span<const double> values);

/// A mean and its `confidence_half_width`.
struct Estimate {
  double mean = 0;
  double half_width = 0;
  [[nodiscard]] double low() const { return mean - half_width; }
  [[nodiscard]] double high() const { return mean + half_width; }
};
[[nodiscard]] Estimate estimate(std::span<const double> values);
/// Of `a[i] - b[i]`: what two methods differ by on the same inputs.
[[nodiscard]] Estimate estimate_difference(std::span<const double> a, std::span<const double> b);

/// The value below which the part `fraction` (0 to 1) of `values` lies, with straight lines between
/// the sorted values: type 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages" (1996),
/// the default of R and NumPy. `values` must not be empty. O(n) expected.
[[nodiscard]] double quantile(std::vector<double> values, double fraction);

/// Jain, Chiu, Hawe, "A Quantitative Measure of Fairness" (1984): (sum x)^2 / (n * sum x^2), from
/// 1/n when one has everything to 1 when all have the same; 1 when all are 0. Values are 0 or more,
/// and there is one at least. O(n).
[[nodiscard]] double jain_index(std::span<const double> values);

}  // namespace fairwater::sim::inline report
