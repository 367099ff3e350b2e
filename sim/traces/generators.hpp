// Arrivals by chance: a Poisson process, and self-similar ones from fractional Gaussian noise. The
// same state of the random numbers gives the same arrivals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policy/core/splitmix64.hpp"

namespace fairwater::sim::inline traces {

/// Uniform in (0, 1], in steps of 2^-53: its logarithm is finite.
[[nodiscard]] double draw_uniform(SplitMix64& random);
/// Exponentially distributed, by inversion.
[[nodiscard]] double draw_exponential(double mean, SplitMix64& random);

/// A Poisson process of `rate_per_s` (0 or more) on [0, duration_ms): times in whole milliseconds,
/// rounded down, sorted; several may be equal. O(arrivals).
[[nodiscard]] std::vector<std::int64_t> poisson_arrivals_ms(double rate_per_s,
                                                            std::int64_t duration_ms,
                                                            SplitMix64& random);

/// Covariance of two values of fractional Gaussian noise of variance 1 that are `lag` apart:
/// (|k + 1|^2H - 2 |k|^2H + |k - 1|^2H) / 2. Above H = 0.5 it falls so slowly that its sum is
/// infinite.
[[nodiscard]] double noise_autocovariance(std::size_t lag, double hurst);

/// Fractional Gaussian noise of mean 0 and variance 1, exactly distributed: Davies and Harte,
/// "Tests for Hurst effect" (1987). The covariance matrix is embedded in a circulant one, whose
/// eigenvalues the Fourier transform tells (none is negative: Craigmile 2003); they are found once.
class FractionalGaussianNoise {
 public:
  /// For `count` > 0 values in a row; 0 < `hurst` < 1. O(count log count).
  FractionalGaussianNoise(std::size_t count, double hurst);
  /// One sample path. O(count log count).
  [[nodiscard]] std::vector<double> draw(SplitMix64& random) const;

 private:
  std::size_t count_;
  std::vector<double> root_eigenvalues_;  ///< of the circulant matrix, divided by its size
};

/// Arrivals whose number per period is self-similar. In a period there are
/// `rate_per_s * period * max(0, 1 + variation * noise)`; fractions are carried over to the next,
/// and each arrival falls anywhere in its period. Where periods are cut off at 0 the mean rate is
/// higher than `rate_per_s`: by 8 % at a variation of 1, by 0.1 % at 0.4.
struct SelfSimilarArrivals {
  double rate_per_s = 1;
  double variation = 0.5;  ///< standard deviation of a period's arrivals over their mean
  std::int64_t period_ms = 1000;
};
/// The arrivals of one period for each value of `noise`: times in whole milliseconds, sorted.
/// O(arrivals log arrivals of a period).
[[nodiscard]] std::vector<std::int64_t> self_similar_arrivals_ms(
    const SelfSimilarArrivals& arrivals, const std::vector<double>& noise, SplitMix64& random);

}  // namespace fairwater::sim::inline traces
