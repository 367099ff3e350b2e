// The cluster of Liu et al. 2018: 4 users share 200 units by quotas of 50; jobs run with 1 or 2
// units and take 10 unit-seconds; self-similar arrivals.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/elastic/rebalance.hpp"
#include "sim/engine/workload.hpp"
#include "sim/experiments/experiment.hpp"
#include "sim/report/statistics.hpp"

namespace fairwater::sim::inline experiments {

inline constexpr std::size_t kElasticUsers = 4;
inline constexpr Units kElasticPool = 200;

/// What the paper leaves open, but for `hurst`.
struct ElasticAssumptions {
  std::string name;
  double hurst = 0.89;
  double variation = 0.4;  ///< of a second's arrivals, see SelfSimilarArrivals
  TimeMs duration_ms = 100'000;
  TimeMs cycle_ms = 0;             ///< between two rounds; 0: one whenever something happens
  TimeMs credit_period_ms = 1000;  ///< see ElasticOptions
  Units max_units = 2;             ///< of a job
};

struct ElasticRule {
  std::string_view name;
  std::string_view policy;
  RebalanceOptions rebalance = {};
};

using ElasticRates = std::array<double, kElasticUsers>;  ///< jobs per second of each user

/// One user's account in unit-seconds, while jobs arrive.
struct ExtrasAccount {
  double extras = 0;  ///< held above the jobs' `min`s
  double earned = 0;  ///< its part by unused quota of everybody's extras
  double unused = 0;  ///< quota not used by `min`s
};
using ExtrasAccounts = std::array<ExtrasAccount, kElasticUsers>;

struct ElasticRun {
  double utilisation = 0;        ///< while jobs arrive
  double mean_completion_s = 0;  ///< of all jobs, which are run to their ends
  double failed_jobs = 0;        ///< that were killed at least once
  double resizes_per_job = 0;
  ExtrasAccounts accounts{};
  /// Of the moments in which nothing was idle and some job could have grown.
  ExtrasAccounts contended{};
  double mean_credit_deviation = 0;  ///< over time: root mean square of earned - extras so far
  double mean_moment_deviation = 0;  ///< over time: units that those beyond their part hold beyond
};

/// One sample: a run of its own. The same seed gives every rule the same jobs.
[[nodiscard]] Expected<ElasticRun> run_elastic(const ElasticRule& rule, const ElasticRates& rates,
                                               const ElasticAssumptions& assumptions,
                                               std::uint64_t seed);

/// What "phi" may be: the paper's definition is not known, so this is what measures who got how
/// much of what others left. 0 is fair in all of them.
struct FairnessReading {
  std::string_view name;
  std::string_view definition;
  double (*phi)(const ElasticRun& run);
};
/// The first is the one that claims are judged by.
[[nodiscard]] std::span<const FairnessReading> fairness_readings();

/// `rules` times `rates` times `samples` runs, over `options.threads`.
struct ElasticSamples {
  std::size_t rates = 0, samples = 0;
  std::vector<ElasticRun> runs;
  [[nodiscard]] const ElasticRun& at(std::size_t rule, std::size_t rate, std::size_t sample) const {
    return runs[(rule * rates + rate) * samples + sample];
  }
  /// One value per sample.
  template <class Measure>
  [[nodiscard]] std::vector<double> values(std::size_t rule, std::size_t rate,
                                           const Measure& measure) const {
    std::vector<double> result;
    for (std::size_t s = 0; s < samples; ++s) result.push_back(measure(at(rule, rate, s)));
    return result;
  }
  /// One value per sample: the mean over all rates.
  template <class Measure>
  [[nodiscard]] std::vector<double> mean_over_rates(std::size_t rule,
                                                    const Measure& measure) const {
    std::vector<double> result;
    for (std::size_t s = 0; s < samples; ++s) {
      result.push_back(0);
      for (std::size_t r = 0; r < rates; ++r)
        result.back() += measure(at(rule, r, s)) / static_cast<double>(rates);
    }
    return result;
  }
};
[[nodiscard]] Expected<ElasticSamples> sample_elastic(std::span<const ElasticRule> rules,
                                                      const std::vector<ElasticRates>& rates,
                                                      const ElasticAssumptions& assumptions,
                                                      std::size_t samples,
                                                      const ExperimentOptions& options, double from,
                                                      double to);

/// How much less than `base` the values are, as a part of its mean; pairs of samples.
[[nodiscard]] Estimate relative_decrease(std::span<const double> base,
                                         std::span<const double> values);

}  // namespace fairwater::sim::inline experiments
