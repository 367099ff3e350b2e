#include "policy/saturation/advice.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "policy/core/check.hpp"
#include "policy/core/splitmix64.hpp"

namespace fairwater::inline policy::inline saturation {
namespace {

/// Logarithms of the times of the runs with these resources.
using History = std::map<std::vector<double>, std::vector<double>>;

/// The lower and upper middle's mean; sorts `values`.
double median(std::vector<double>& values) {
  FAIRWATER_CHECK(!values.empty(), "nothing has no middle");
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// How far a logarithm may be from its amount's median. The spread is estimated from all amounts
/// with three runs or more, and taken as 1 % at least, so that runs that agree too well do not make
/// outliers.
double outlier_distance(const History& history) {
  std::vector<double> deviations;
  for (const auto& [resources, logs] : history) {
    if (logs.size() < 3) continue;
    std::vector<double> sorted = logs;
    const double middle = median(sorted);
    for (const double log : logs) deviations.push_back(std::abs(log - middle));
  }
  constexpr double kMedianDeviationOfNormal = 0.6745, kDeviations = 3.5, kLeastSpread = 0.01;
  const double spread = deviations.empty() ? 0 : median(deviations) / kMedianDeviationOfNormal;
  return kDeviations * std::max(spread, kLeastSpread);
}

/// Leaves outliers out of `history`; returns how many per amount. Of an amount most of whose runs
/// are far from their median, as where they fall into two halves, none is one.
std::vector<std::size_t> drop_outliers(History& history) {
  const double limit = outlier_distance(history);
  std::vector<std::size_t> dropped;
  for (auto& [resources, logs] : history) {
    const std::size_t before = logs.size();
    if (before >= 3) {
      const double middle = median(logs);
      const auto is_far = [&](double log) { return std::abs(log - middle) > limit; };
      const auto far = std::count_if(logs.begin(), logs.end(), is_far);
      if (2 * static_cast<std::size_t>(far) <= before) std::erase_if(logs, is_far);
    }
    dropped.push_back(before - logs.size());
  }
  return dropped;
}

/// Logarithms of the factors between runs and their amount's median, over all amounts with two runs
/// or more, widened because a median of n runs takes part of their spread with it.
std::vector<double> noise_of(const History& history) {
  std::vector<double> noise;
  for (const auto& [resources, logs] : history) {
    if (logs.size() < 2) continue;
    std::vector<double> sorted = logs;
    const double middle = median(sorted);
    const auto runs = static_cast<double>(logs.size());
    for (const double log : sorted) noise.push_back((log - middle) * std::sqrt(runs / (runs - 1)));
  }
  return noise;
}

class Bootstrap {
 public:
  Bootstrap(const std::vector<MeasuredAmount>& amounts, std::vector<double> noise,
            const AdviceSettings& settings)
      : amounts_(amounts), noise_(std::move(noise)), settings_(settings), random_(settings.seed) {
    for (const MeasuredAmount& amount : amounts) points_.push_back({amount.resources, amount.time});
  }

  /// The point of every resample, as indices of amounts.
  std::vector<std::size_t> run() {
    std::vector<std::size_t> chosen;
    for (std::uint32_t i = 0; i < settings_.resamples; ++i) chosen.push_back(resample());
    return chosen;
  }

 private:
  std::size_t resample() {
    for (std::size_t i = 0; i < amounts_.size(); ++i) {
      drawn_.resize(amounts_[i].runs);
      for (double& log : drawn_) log = noise_[random_.below(noise_.size())];
      points_[i].time = amounts_[i].time * std::exp(median(drawn_));
    }
    return saturation_point(settings_.method, points_).index;
  }

  const std::vector<MeasuredAmount>& amounts_;
  std::vector<double> noise_;
  const AdviceSettings& settings_;
  SplitMix64 random_;
  std::vector<MeasuredPoint> points_;
  std::vector<double> drawn_;
};

std::vector<SaturationAdvice::Interval> middle_part(const std::vector<MeasuredAmount>& amounts,
                                                    const std::vector<std::size_t>& chosen,
                                                    double confidence) {
  std::vector<SaturationAdvice::Interval> intervals;
  const auto last = static_cast<double>(chosen.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor((1 - confidence) / 2 * last));
  const auto high = static_cast<std::size_t>(std::ceil((1 + confidence) / 2 * last));
  for (std::size_t r = 0; r < amounts.front().resources.size(); ++r) {
    std::vector<double> values;
    values.reserve(chosen.size());
    for (const std::size_t index : chosen) values.push_back(amounts[index].resources[r]);
    std::sort(values.begin(), values.end());
    intervals.push_back({values[low], values[high]});
  }
  return intervals;
}

/// Gathers what could be measured next; an amount that is proposed twice keeps its best reason.
class Proposals {
 public:
  Proposals(const std::vector<MeasuredAmount>& amounts, const std::vector<double>& granules)
      : amounts_(amounts), granules_(granules) {}

  std::vector<AmountToMeasure> best(std::size_t count) {
    for (const MeasuredAmount& amount : amounts_) {
      const double doubt = amount.votes * (1 - amount.votes);
      propose(amount.resources, MeasureReason::repeat,
              doubt / static_cast<double>(amount.runs + 1));
    }
    for (std::size_t r = 0; r < granules_.size(); ++r) along(r);
    std::vector<AmountToMeasure> result;
    for (const auto& [resources, proposal] : proposals_) result.push_back(proposal);
    std::stable_sort(result.begin(), result.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    if (result.size() > count) result.resize(count);
    return result;
  }

 private:
  /// Looks at the amounts that differ in resource `r` alone, one such line after another.
  void along(std::size_t r) {
    std::map<std::vector<double>, std::map<double, const MeasuredAmount*>> lines;
    double low = amounts_.front().resources[r], high = low;
    for (const MeasuredAmount& amount : amounts_) {
      std::vector<double> others = amount.resources;
      const double own = others[r];
      others[r] = 0;
      lines[others][own] = &amount;
      low = std::min(low, own);
      high = std::max(high, own);
    }
    for (const auto& [others, line] : lines) {
      for (auto right = std::next(line.begin()); right != line.end(); ++right)
        gap(r, *std::prev(right)->second, *right->second, high - low);
      edge(r, line, high - low);
    }
  }

  void gap(std::size_t r, const MeasuredAmount& left, const MeasuredAmount& right, double range) {
    const double width = right.resources[r] - left.resources[r];
    const double steps = std::floor(width / granules_[r] / 2);
    std::vector<double> middle = left.resources;
    middle[r] += steps * granules_[r];
    if (steps >= 1 && middle[r] < right.resources[r])
      propose(std::move(middle), MeasureReason::gap,
              (left.votes + right.votes) / 2 * width / range);
  }

  void edge(std::size_t r, const std::map<double, const MeasuredAmount*>& line, double range) {
    const auto [low, least] = *line.begin();
    const auto [high, most] = *line.rbegin();
    const double first_step = line.size() > 1 ? std::next(line.begin())->first - low : low / 2;
    const double last_step = line.size() > 1 ? high - std::next(line.rbegin())->first : high;
    const auto beyond = [&](const MeasuredAmount& end, double step, double sign) {
      const double granule = granules_[r];
      std::vector<double> resources = end.resources;
      resources[r] += sign * std::max(granule, std::floor(step / granule) * granule);
      if (resources[r] > 0)
        propose(std::move(resources), MeasureReason::edge,
                end.votes * (range > 0 ? step / range : 1));
    };
    beyond(*least, first_step, -1);
    beyond(*most, last_step, 1);
  }

  void propose(std::vector<double> resources, MeasureReason reason, double score) {
    if (score <= 0) return;
    AmountToMeasure& proposal = proposals_[resources];
    if (score > proposal.score) proposal = {std::move(resources), reason, score};
  }

  const std::vector<MeasuredAmount>& amounts_;
  const std::vector<double>& granules_;
  std::map<std::vector<double>, AmountToMeasure> proposals_;
};

}  // namespace

std::string_view to_string(MeasureReason reason) {
  switch (reason) {
    case MeasureReason::repeat:
      return "repeat";
    case MeasureReason::gap:
      return "gap";
    case MeasureReason::edge:
      return "edge";
  }
  FAIRWATER_CHECK(false, "no such reason");
}

SaturationAdvice advise_saturation(std::span<const MeasuredPoint> runs,
                                   const AdviceSettings& settings) {
  FAIRWATER_CHECK(!runs.empty(), "no runs");
  FAIRWATER_CHECK(settings.granules.size() == runs.front().resources.size(),
                  "one granule per resource");
  FAIRWATER_CHECK(settings.resamples > 0, "no resamples");
  History history;
  for (const MeasuredPoint& run : runs) {
    FAIRWATER_CHECK(run.time > 0, "times are above 0");
    history[run.resources].push_back(std::log(run.time));
  }
  const std::vector<std::size_t> outliers = drop_outliers(history);
  std::vector<double> noise = noise_of(history);

  SaturationAdvice advice;
  std::vector<MeasuredPoint> points;
  for (auto& [resources, logs] : history) {
    const double time = std::exp(median(logs));
    points.push_back({resources, time});
    advice.amounts.push_back({resources, time, logs.size(), outliers[points.size() - 1], 0});
  }
  advice.point = saturation_point(settings.method, points).index;
  std::vector<std::size_t> chosen{advice.point};
  if (!noise.empty()) {
    chosen = Bootstrap(advice.amounts, std::move(noise), settings).run();
    advice.interval = middle_part(advice.amounts, chosen, settings.confidence);
  }
  for (const std::size_t index : chosen) advice.amounts[index].votes += 1;
  for (MeasuredAmount& amount : advice.amounts) amount.votes /= static_cast<double>(chosen.size());
  advice.measure = Proposals(advice.amounts, settings.granules).best(settings.suggestions);
  return advice;
}

}  // namespace fairwater::inline policy::inline saturation
