// Advice on a job class from its noisy history: where the saturation point lies, how sure that is,
// and what to measure next.
//
// 1. Runs with the same resources are one amount; its time is the median of its runs. With three
//    runs or more, runs are left out whose logarithm is further from the median's than 3.5 standard
//    deviations, the deviation estimated from the median deviation of all runs (Iglewicz, Hoaglin
//    1993).
// 2. The point is the saturation point (policy/saturation/saturation.hpp) of the medians.
// 3. Bootstrap: noise is taken as a factor that is spread alike at all amounts. Each resample
//    draws, for an amount of n runs, n factors from those seen anywhere, takes their median, and
//    finds the point again. Votes say how often each amount was the point; the interval holds the
//    middle `confidence` of them on each resource. Without two runs of any amount the noise is
//    unknown, and there is no interval.
// 4. To measure next, best first: amounts whose votes are split (`repeat`), the middle of gaps
//    beside amounts with votes (`gap`), and what lies beyond the measured range where its end has
//    votes (`edge`).
//
// A function of its input alone: the random numbers follow from `seed`.
// O(resamples * (runs log runs + points * axes)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "policy/saturation/saturation.hpp"

namespace fairwater::inline policy::inline saturation {

struct AdviceSettings {
  SaturationMethod method = SaturationMethod::diagonal;
  std::uint64_t seed = 1;
  std::uint32_t resamples = 1000;  ///< at least 1
  double confidence = 0.9;         ///< in (0, 1)
  std::size_t suggestions = 3;     ///< at most so many amounts to measure next
  std::vector<double>
      granules;  ///< smallest step per resource, > 0; as many as there are resources
};

struct MeasuredAmount {
  std::vector<double> resources;
  double time = 0;           ///< median of the runs kept
  std::size_t runs = 0;      ///< kept
  std::size_t outliers = 0;  ///< left out
  double votes = 0;          ///< the part of the resamples in which this was the point, 0 to 1
};

enum class MeasureReason : std::uint8_t { repeat = 0, gap = 1, edge = 2 };
[[nodiscard]] std::string_view to_string(MeasureReason reason);

struct AmountToMeasure {
  std::vector<double> resources;
  MeasureReason reason = MeasureReason::repeat;
  double score = 0;  ///< relative use of measuring it
};

struct SaturationAdvice {
  std::vector<MeasuredAmount> amounts;  ///< in ascending order of resources
  std::size_t point = 0;                ///< index in `amounts`
  struct Interval {
    double low = 0;
    double high = 0;
  };
  std::optional<std::vector<Interval>> interval;  ///< one per resource
  std::vector<AmountToMeasure> measure;
};

/// Needs at least one run; times above 0. For `chord` the first and last amount must differ.
[[nodiscard]] SaturationAdvice advise_saturation(std::span<const MeasuredPoint> runs,
                                                 const AdviceSettings& settings);

}  // namespace fairwater::inline policy::inline saturation
