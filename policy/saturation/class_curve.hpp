// A job class's curve: what its runs took at which amounts, and beyond which amount more does not
// pay, by each method (policy/saturation/saturation.hpp).
//
// - An amount *runs* when more than half of its runs completed. The others are no points of the
//   curve: the program does not run there.
// - The time of an amount is the median of its completed runs, outliers left out, and the
//   confidence of a method's point is the part of the resamples of the measured noise in which the
//   same amount is the point (policy/saturation/advice.hpp): near 1 where noise cannot move it, 1/2
//   where another amount is as likely. Runs that were never repeated tell no noise: no confidence.
//
// - A curve whose medians lie no further apart than the noise of the runs moves them by chance, or
//   within a twentieth, is *flat*: more of anything does not pay, and its point by every method is
//   the least amount that runs. (Every method scales the times it sees to their whole range, and
//   would take the noise for a curve.)
//
// A function of its input alone; the order of the samples does not matter.
// O(methods * resamples * samples).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "policy/saturation/advice.hpp"

namespace fairwater::inline policy::inline saturation {

/// One run.
struct ClassSample {
  std::vector<double> resources;  ///< amounts in one order for all samples, at least one
  double time = 0;                ///< above 0 where it completed
  bool completed = true;
};

struct CurveAmount {
  std::vector<double> resources;
  std::size_t completed = 0;
  std::size_t failed = 0;
  double time = 0;  ///< median of the completed runs that are no outliers; 0: it does not run here
  double fastest = 0;  ///< of the completed runs; 0: none
  double slowest = 0;
  [[nodiscard]] bool runs() const { return completed > failed; }
};

struct CurvePoint {
  SaturationMethod method = SaturationMethod::diagonal;
  std::size_t amount = 0;            ///< index in ClassCurve::amounts
  std::optional<double> confidence;  ///< 0 to 1; none with one amount, or without repeated runs,
                                     ///< or of a flat curve
  /// Holds the middle 90 % of the resamples, per resource of `varied`; none where no confidence is.
  std::vector<SaturationAdvice::Interval> interval;
};

struct ClassCurve {
  std::vector<CurveAmount> amounts;  ///< in ascending order of resources
  std::vector<std::size_t> varied;   ///< resources in which the amounts that run differ
  bool flat = false;
  /// By `diagonal` and `origin`, and where one resource varies by `chord`; empty where no amount
  /// runs.
  std::vector<CurvePoint> points;
};

[[nodiscard]] ClassCurve class_curve(std::span<const ClassSample> samples);

/// The amounts that run with more of `resource` than `amount` has and as much of all others, the
/// least first: where to go on when it was not enough.
[[nodiscard]] std::vector<std::size_t> amounts_above(const ClassCurve& curve, std::size_t amount,
                                                     std::size_t resource);

}  // namespace fairwater::inline policy::inline saturation
