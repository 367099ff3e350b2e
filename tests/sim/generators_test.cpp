#include "sim/traces/generators.hpp"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "sim/report/statistics.hpp"

namespace fairwater::sim {
namespace {

/// Mean of value times value `lag` later: the covariance, as the noise's mean is known to be 0.
double measured_covariance(const std::vector<std::vector<double>>& paths, std::size_t lag) {
  double sum = 0;
  std::size_t count = 0;
  for (const std::vector<double>& path : paths)
    for (std::size_t i = 0; i + lag < path.size(); ++i, ++count) sum += path[i] * path[i + lag];
  return sum / static_cast<double>(count);
}

/// Aggregated variance: means over m values have the variance m^(2H - 2), so the slope over
/// log m tells H. Taken around the known mean 0: around a path's own it would be biased.
double hurst_of(const std::vector<std::vector<double>>& paths) {
  std::vector<double> x, y;
  for (std::size_t block = 1; block <= 256; block *= 2) {
    double squares = 0;
    std::size_t count = 0;
    for (const std::vector<double>& path : paths) {
      for (std::size_t start = 0; start + block <= path.size(); start += block, ++count) {
        const double value = mean(std::span(path).subspan(start, block));
        squares += value * value;
      }
    }
    x.push_back(std::log(static_cast<double>(block)));
    y.push_back(std::log(squares / static_cast<double>(count)));
  }
  double above = 0, below = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    above += (x[i] - mean(x)) * (y[i] - mean(y));
    below += (x[i] - mean(x)) * (x[i] - mean(x));
  }
  return 1 + above / below / 2;
}

std::vector<std::vector<double>> noise_paths(double hurst, std::size_t paths, std::size_t count) {
  const FractionalGaussianNoise noise(count, hurst);
  SplitMix64 random(2018);
  std::vector<std::vector<double>> drawn;
  for (std::size_t i = 0; i < paths; ++i) drawn.push_back(noise.draw(random));
  return drawn;
}

}  // namespace

TEST_CASE("the noise has the Hurst parameter that was asked for", "[unit][generators]") {
  for (const double hurst : {0.6, 0.75, 0.89}) {
    CAPTURE(hurst);
    CHECK(hurst_of(noise_paths(hurst, 64, 1 << 14)) == Approx(hurst).margin(0.03));
  }
}

TEST_CASE("the noise's covariances are those of theory", "[unit][generators]") {
  CHECK(noise_autocovariance(0, 0.89) == 1);
  CHECK(noise_autocovariance(1, 0.75) == Approx(std::sqrt(2.0) - 1));  // (2^1.5 - 2) / 2
  for (const double hurst : {0.3, 0.6, 0.89}) {
    const auto paths = noise_paths(hurst, 2000, 500);
    for (const std::size_t lag : {0, 1, 2, 5, 20}) {
      CAPTURE(hurst, lag);
      CHECK(measured_covariance(paths, lag) ==
            Approx(noise_autocovariance(lag, hurst)).margin(0.02));
    }
  }
}

TEST_CASE("noise without memory is white", "[unit][generators]") {
  const auto paths = noise_paths(0.5, 100, 1000);
  CHECK(measured_covariance(paths, 0) == Approx(1).margin(0.02));
  CHECK(measured_covariance(paths, 1) == Approx(0).margin(0.01));
  double beyond_one = 0;
  for (const auto& path : paths)
    for (const double value : path) beyond_one += std::abs(value) > 1 ? 1e-5 : 0;
  CHECK(beyond_one == Approx(0.3173).margin(0.006));  // the normal distribution's
}

TEST_CASE("a Poisson process has its rate and exponential gaps", "[unit][generators]") {
  SplitMix64 random(1);
  const auto times = poisson_arrivals_ms(4, 10'000'000, random);
  CHECK(static_cast<double>(times.size()) == Approx(40'000).margin(800));  // 4 deviations
  CHECK(std::is_sorted(times.begin(), times.end()));
  CHECK(times.front() >= 0);
  CHECK(times.back() < 10'000'000);
  std::vector<double> gaps;
  for (std::size_t i = 1; i < times.size(); ++i)
    gaps.push_back(static_cast<double>(times[i] - times[i - 1]));
  CHECK(mean(gaps) == Approx(250).epsilon(0.02));
  CHECK(sample_standard_deviation(gaps) == Approx(250).epsilon(0.03));
  CHECK(poisson_arrivals_ms(0, 1000, random).empty());
}

TEST_CASE("arrivals follow the noise and carry fractions over", "[unit][generators]") {
  SplitMix64 random(1);
  const SelfSimilarArrivals arrivals{.rate_per_s = 2.5, .variation = 1, .period_ms = 1000};
  // 2.5, 0 (cut off), 5, 2.5: 2 now and a half carried to the third period, another to the fourth
  const auto times = self_similar_arrivals_ms(arrivals, {0, -3, 1, 0}, random);
  std::vector<std::size_t> per_period(4);
  for (const std::int64_t time : times) ++per_period.at(static_cast<std::size_t>(time / 1000));
  CHECK(per_period == std::vector<std::size_t>{2, 0, 5, 3});
  CHECK(std::is_sorted(times.begin(), times.end()));
}

TEST_CASE("self-similar arrivals have about the rate asked for", "[unit][generators]") {
  SplitMix64 random(5);
  const SelfSimilarArrivals arrivals{.rate_per_s = 4, .variation = 0.4, .period_ms = 1000};
  double count = 0;
  const FractionalGaussianNoise noise(1000, 0.6);
  for (int i = 0; i < 100; ++i)
    count +=
        static_cast<double>(self_similar_arrivals_ms(arrivals, noise.draw(random), random).size());
  CHECK(count / 100'000 == Approx(4).epsilon(0.01));
}

TEST_CASE("the same seed gives the same arrivals", "[unit][generators]") {
  const FractionalGaussianNoise noise(100, 0.89);
  SplitMix64 one(7), same(7), other(8);
  const auto path = noise.draw(one);
  CHECK(path.size() == 100);
  CHECK(path == noise.draw(same));
  CHECK(path != noise.draw(other));
  CHECK(self_similar_arrivals_ms({}, path, one) == self_similar_arrivals_ms({}, path, same));
  CHECK(poisson_arrivals_ms(3, 9000, one) == poisson_arrivals_ms(3, 9000, same));
}

}  // namespace fairwater::sim
