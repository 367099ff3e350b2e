#include "sim/traces/generators.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <kissfft/kissfft.hh>
#include <numbers>

#include "policy/core/check.hpp"

namespace fairwater::sim::inline traces {
namespace {

/// Two independent numbers of the standard normal distribution (Box and Muller 1958), as one
/// complex number.
std::complex<double> draw_normal_pair(SplitMix64& random) {
  const double radius = std::sqrt(-2 * std::log(draw_uniform(random)));
  return std::polar(radius, 2 * std::numbers::pi * draw_uniform(random));
}

std::vector<std::complex<double>> fourier_transform(const std::vector<std::complex<double>>& in) {
  std::vector<std::complex<double>> out(in.size());
  kissfft<double>(in.size(), false).transform(in.data(), out.data());
  return out;
}

}  // namespace

double draw_uniform(SplitMix64& random) {
  return static_cast<double>((random.next() >> 11) + 1) * 0x1p-53;
}

double draw_exponential(double mean, SplitMix64& random) {
  return -mean * std::log(draw_uniform(random));
}

std::vector<std::int64_t> poisson_arrivals_ms(double rate_per_s, std::int64_t duration_ms,
                                              SplitMix64& random) {
  FAIRWATER_CHECK(rate_per_s >= 0, "a rate is not negative");
  std::vector<std::int64_t> times;
  if (rate_per_s == 0) return times;
  const double mean_gap_ms = 1000 / rate_per_s, end_ms = static_cast<double>(duration_ms);
  for (double at = draw_exponential(mean_gap_ms, random); at < end_ms;
       at += draw_exponential(mean_gap_ms, random))
    times.push_back(static_cast<std::int64_t>(at));
  return times;
}

double noise_autocovariance(std::size_t lag, double hurst) {
  const auto k = static_cast<double>(lag);
  const auto power = [hurst](double x) { return std::pow(std::abs(x), 2 * hurst); };
  return (power(k + 1) - 2 * power(k) + power(k - 1)) / 2;
}

FractionalGaussianNoise::FractionalGaussianNoise(std::size_t count, double hurst) : count_(count) {
  FAIRWATER_CHECK(count > 0, "no values");
  FAIRWATER_CHECK(0 < hurst && hurst < 1, "a Hurst parameter lies between 0 and 1");
  const std::size_t half = std::bit_ceil(count);
  std::vector<std::complex<double>> first_row(2 * half);
  for (std::size_t k = 0; k <= half; ++k) first_row[k] = noise_autocovariance(k, hurst);
  for (std::size_t k = half + 1; k < 2 * half; ++k) first_row[k] = first_row[2 * half - k];
  for (const std::complex<double>& eigenvalue : fourier_transform(first_row))
    root_eigenvalues_.push_back(
        std::sqrt(std::max(0.0, eigenvalue.real()) / static_cast<double>(2 * half)));
}

std::vector<double> FractionalGaussianNoise::draw(SplitMix64& random) const {
  std::vector<std::complex<double>> spectrum;
  spectrum.reserve(root_eigenvalues_.size());
  for (const double root : root_eigenvalues_) spectrum.push_back(root * draw_normal_pair(random));
  // The imaginary parts are a second path, independent of the first.
  std::vector<double> path;
  path.reserve(count_);
  for (const std::complex<double>& value : fourier_transform(spectrum)) {
    if (path.size() == count_) break;
    path.push_back(value.real());
  }
  return path;
}

std::vector<std::int64_t> self_similar_arrivals_ms(const SelfSimilarArrivals& arrivals,
                                                   const std::vector<double>& noise,
                                                   SplitMix64& random) {
  FAIRWATER_CHECK(arrivals.rate_per_s >= 0 && arrivals.variation >= 0, "a rate is not negative");
  FAIRWATER_CHECK(arrivals.period_ms > 0, "a period takes time");
  const double mean = arrivals.rate_per_s * static_cast<double>(arrivals.period_ms) / 1000;
  std::vector<std::int64_t> times;
  double due = 0;
  std::int64_t start_ms = 0;
  for (const double value : noise) {
    due += mean * std::max(0.0, 1 + arrivals.variation * value);
    const auto first = static_cast<std::ptrdiff_t>(times.size());
    for (; due >= 1; --due)
      times.push_back(start_ms + static_cast<std::int64_t>(
                                     random.below(static_cast<std::uint64_t>(arrivals.period_ms))));
    std::sort(times.begin() + first, times.end());
    start_ms += arrivals.period_ms;
  }
  return times;
}

}  // namespace fairwater::sim::inline traces
