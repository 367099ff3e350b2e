#include "sim/report/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "policy/core/check.hpp"

namespace fairwater::sim::inline report {

double mean(std::span<const double> values) {
  FAIRWATER_CHECK(!values.empty(), "no values");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double sample_standard_deviation(std::span<const double> values) {
  const double center = mean(values);
  if (values.size() < 2) return 0;
  double squares = 0;
  for (const double value : values) squares += (value - center) * (value - center);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double confidence_half_width(std::span<const double> values) {
  const double deviation = sample_standard_deviation(values);
  if (values.size() < 2) return 0;
  const auto count = static_cast<double>(values.size());
  const boost::math::students_t distribution(count - 1);
  return boost::math::quantile(distribution, 0.975) * deviation / std::sqrt(count);
}

Estimate estimate(std::span<const double> values) {
  return {mean(values), confidence_half_width(values)};
}

Estimate estimate_difference(std::span<const double> a, std::span<const double> b) {
  FAIRWATER_CHECK(a.size() == b.size(), "the same inputs");
  std::vector<double> differences(a.begin(), a.end());
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= b[i];
  return estimate(differences);
}

double quantile(std::vector<double> values, double fraction) {
  FAIRWATER_CHECK(!values.empty(), "no values");
  FAIRWATER_CHECK(0 <= fraction && fraction <= 1, "a fraction is from 0 to 1");
  const double place = static_cast<double>(values.size() - 1) * fraction;
  const auto below = static_cast<std::size_t>(place);
  const auto lower = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), lower, values.end());
  if (below + 1 == values.size()) return *lower;
  const double upper = *std::min_element(lower + 1, values.end());
  return *lower + (place - static_cast<double>(below)) * (upper - *lower);
}

double jain_index(std::span<const double> values) {
  FAIRWATER_CHECK(!values.empty(), "no values");
  double sum = 0, squares = 0;
  for (const double value : values) {
    FAIRWATER_CHECK(value >= 0, "a share is not negative");
    sum += value;
    squares += value * value;
  }
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(values.size()) * squares);
}

}  // namespace fairwater::sim::inline report
