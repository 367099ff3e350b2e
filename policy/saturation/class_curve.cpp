#include "policy/saturation/class_curve.hpp"

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <tuple>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline saturation {
namespace {

std::vector<CurveAmount> amounts_of(std::span<const ClassSample> samples) {
  std::map<std::vector<double>, CurveAmount> by_resources;
  for (const ClassSample& sample : samples) {
    FAIRWATER_CHECK(sample.resources.size() == samples.front().resources.size(),
                    "samples differ in their resources");
    CurveAmount& amount = by_resources[sample.resources];
    if (!sample.completed) {
      ++amount.failed;
      continue;
    }
    amount.fastest = amount.completed == 0 ? sample.time : std::min(amount.fastest, sample.time);
    amount.slowest = std::max(amount.slowest, sample.time);
    ++amount.completed;
  }
  std::vector<CurveAmount> amounts;
  for (auto& [resources, amount] : by_resources) {
    amount.resources = resources;
    amounts.push_back(std::move(amount));
  }
  return amounts;
}

std::vector<std::size_t> varied_among(const std::vector<CurveAmount>& amounts) {
  std::vector<std::size_t> varied;
  const auto first = std::find_if(amounts.begin(), amounts.end(),
                                  [](const CurveAmount& amount) { return amount.runs(); });
  if (first == amounts.end()) return varied;
  for (std::size_t r = 0; r < first->resources.size(); ++r)
    if (std::any_of(first, amounts.end(), [&](const CurveAmount& amount) {
          return amount.runs() && amount.resources[r] != first->resources[r];
        }))
      varied.push_back(r);
  return varied;
}

/// The amounts of the resources that make a difference; of the first alone where none does.
std::vector<double> axes_of(const std::vector<double>& resources,
                            const std::vector<std::size_t>& varied) {
  if (varied.empty()) return {resources.front()};
  std::vector<double> axes;
  for (const std::size_t r : varied) axes.push_back(resources[r]);
  return axes;
}

/// Completed runs of the amounts that run, along the axes that make a difference.
std::vector<MeasuredPoint> runs_of(std::span<const ClassSample> samples, const ClassCurve& curve) {
  std::map<std::vector<double>, bool> runs;
  for (const CurveAmount& amount : curve.amounts) runs[amount.resources] = amount.runs();
  std::vector<MeasuredPoint> points;
  for (const ClassSample& sample : samples)
    if (sample.completed && runs.at(sample.resources))
      points.push_back({axes_of(sample.resources, curve.varied), sample.time});
  return points;
}

/// How many of an amount's runs tell of noise: those that are no outliers, and of few all. Of three
/// runs one that is far off is as likely the truth.
std::size_t telling_runs(std::size_t runs, const MeasuredAmount& amount) {
  constexpr std::size_t kFew = 5;
  return runs < kFew ? runs : amount.runs;
}

/// Of the logarithms of the factors between the runs of one amount and their median; outliers are
/// those farthest off.
double squares_of(const std::vector<double>& times, const MeasuredAmount& amount) {
  std::vector<double> squares;
  for (const double time : times) squares.push_back(std::pow(std::log(time / amount.time), 2));
  std::sort(squares.begin(), squares.end());
  const auto telling = static_cast<std::ptrdiff_t>(telling_runs(times.size(), amount));
  return std::accumulate(squares.begin(), squares.begin() + telling, 0.0);
}

/// Whether all medians are within a twentieth: whoever gains less by more of a resource wastes it,
/// however sure the gain is. What else the machine does moves runs that follow on each other alike,
/// and so by more than their noise tells.
bool is_hardly_moved(const std::vector<MeasuredAmount>& amounts) {
  constexpr double kWorthIt = 1.05;
  const auto [least, most] =
      std::minmax_element(amounts.begin(), amounts.end(),
                          [](const auto& one, const auto& other) { return one.time < other.time; });
  return amounts.size() > 1 && most->time < kWorthIt * least->time;
}

/// Whether chance could have put the medians as far apart as they are, which it does in one of a
/// hundred curves of a program that gains nothing: the analysis of variance of one factor, of the
/// logarithms of times. The variance of a median is pi / 2 of that of a mean.
bool is_by_chance(const std::vector<MeasuredPoint>& runs,
                  const std::vector<MeasuredAmount>& amounts) {
  std::map<std::vector<double>, std::vector<double>> times;
  for (const MeasuredPoint& run : runs) times[run.resources].push_back(run.time);
  double within = 0;
  std::size_t freedom = 0;
  double runs_told = 0;
  double sum = 0;
  double sum_of_squares = 0;
  for (const MeasuredAmount& amount : amounts) {
    const std::vector<double>& of_amount = times.at(amount.resources);
    const std::size_t telling = telling_runs(of_amount.size(), amount);
    within += squares_of(of_amount, amount);
    freedom += telling - 1;
    const auto weight = static_cast<double>(telling);
    const double median = std::log(amount.time / amounts.front().time);
    runs_told += weight;
    sum += weight * median;
    sum_of_squares += weight * median * median;
  }
  if (freedom == 0 || amounts.size() < 2) return false;
  const double between = std::max(0.0, sum_of_squares - sum * sum / runs_told);
  const auto more_amounts = static_cast<double>(amounts.size() - 1);
  const auto more_runs = static_cast<double>(freedom);
  constexpr double kHardlyEver = 0.01;
  const boost::math::fisher_f by_chance(more_amounts, more_runs);
  const double most = boost::math::quantile(boost::math::complement(by_chance, kHardlyEver));
  return between / more_amounts <= most * std::numbers::pi / 2 * within / more_runs;
}

/// Of the amounts that run.
std::size_t least_of(const std::vector<MeasuredAmount>& amounts) {
  std::vector<MeasuredPoint> alike;
  for (const MeasuredAmount& amount : amounts) alike.push_back({amount.resources, 1});
  return saturation_point(SaturationMethod::diagonal, alike).index;
}

AdviceSettings settings_for(SaturationMethod method, std::size_t axes) {
  AdviceSettings settings;
  settings.method = method;
  settings.suggestions = 0;
  settings.granules.assign(axes, 1);
  return settings;
}

}  // namespace

ClassCurve class_curve(std::span<const ClassSample> samples) {
  ClassCurve curve;
  curve.amounts = amounts_of(samples);
  curve.varied = varied_among(curve.amounts);
  std::vector<MeasuredPoint> runs = runs_of(samples, curve);
  if (runs.empty()) return curve;
  // Resamples draw from the runs' noise in their order.
  std::sort(runs.begin(), runs.end(), [](const MeasuredPoint& a, const MeasuredPoint& b) {
    return std::tie(a.resources, a.time) < std::tie(b.resources, b.time);
  });
  std::vector<std::size_t> measured;  // advice speaks of the amounts that run, in the same order
  for (std::size_t i = 0; i < curve.amounts.size(); ++i)
    if (curve.amounts[i].runs()) measured.push_back(i);
  for (const auto method :
       {SaturationMethod::diagonal, SaturationMethod::origin, SaturationMethod::chord}) {
    if (method == SaturationMethod::chord && curve.varied.size() != 1) continue;
    SaturationAdvice advice = advise_saturation(
        runs, settings_for(method, std::max<std::size_t>(curve.varied.size(), 1)));
    curve.flat = is_hardly_moved(advice.amounts) || is_by_chance(runs, advice.amounts);
    CurvePoint point{
        method, measured[curve.flat ? least_of(advice.amounts) : advice.point], std::nullopt, {}};
    if (advice.interval && measured.size() > 1 && !curve.flat) {
      point.confidence = advice.amounts[advice.point].votes;
      point.interval = std::move(*advice.interval);
    }
    curve.points.push_back(std::move(point));
    for (std::size_t i = 0; i < measured.size(); ++i)
      curve.amounts[measured[i]].time = advice.amounts[i].time;
  }
  return curve;
}

std::vector<std::size_t> amounts_above(const ClassCurve& curve, std::size_t amount,
                                       std::size_t resource) {
  const std::vector<double>& from = curve.amounts[amount].resources;
  std::vector<std::size_t> above;
  for (std::size_t i = 0; i < curve.amounts.size(); ++i) {
    const CurveAmount& other = curve.amounts[i];
    std::vector<double> others = other.resources;
    others[resource] = from[resource];
    if (other.runs() && others == from && other.resources[resource] > from[resource])
      above.push_back(i);
  }
  return above;
}

}  // namespace fairwater::inline policy::inline saturation
