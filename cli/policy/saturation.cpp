#include "policy/saturation/saturation.hpp"

#include <algorithm>

#include "cli/policy/commands.hpp"
#include "cli/policy/input.hpp"
#include "policy/saturation/advice.hpp"

namespace fairwater::inline cli::inline policy_cli {
namespace {

constexpr double kMaxMeasured = 1e15;
constexpr double kLeastTime = 1e-15;
/// Draws of a bootstrap: a bound keeps it within seconds.
constexpr std::size_t kMaxDraws = 20'000'000;

struct Measured {
  std::vector<std::string> resources;
  std::vector<MeasuredPoint> points;
};

/// The amounts of one point in the order of `resources`, which the first point sets.
std::vector<double> read_amounts(const Field& field, std::vector<std::string>& resources) {
  const auto entries = field.entries();
  if (entries.empty()) field.fail("must have a resource");
  if (resources.empty())
    for (const auto& [name, amount] : entries) resources.push_back(name);
  std::vector<double> amounts(resources.size());
  for (const auto& [name, amount] : entries) {
    const auto found = std::find(resources.begin(), resources.end(), name);
    if (found == resources.end()) amount.fail("is a resource that the first point does not have");
    amounts[static_cast<std::size_t>(found - resources.begin())] = amount.number(0, kMaxMeasured);
  }
  if (entries.size() < resources.size())
    field.fail("must have the same resources as the first point");
  return amounts;
}

Measured read_points(const Field& list, double least_time) {
  Measured measured;
  for (const Field& field : filled_list(list)) {
    const FieldMap point = field.object();
    std::vector<double> amounts = read_amounts(point.at("resources"), measured.resources);
    measured.points.push_back(
        {std::move(amounts), point.at("time").number(least_time, kMaxMeasured)});
    point.done();
  }
  return measured;
}

SaturationMethod read_method(const FieldMap& fields) {
  SaturationMethod method = SaturationMethod::diagonal;
  fields.read("method", method, [](const Field& field) {
    return field.choice({"diagonal", "origin", "chord"});
  });
  return method;
}

/// Whole numbers as such, as they were most likely written.
Json to_json(double amount) {
  const auto whole = static_cast<std::int64_t>(amount);
  return static_cast<double>(whole) == amount ? Json(whole) : Json(amount);
}

Json by_name(const std::vector<std::string>& resources, const std::vector<double>& amounts) {
  Json object = Json::object();
  for (std::size_t r = 0; r < resources.size(); ++r) object[resources[r]] = to_json(amounts[r]);
  return object;
}

/// Reads `granule`, the smallest step per resource; 1 where it says nothing.
std::vector<double> read_granules(const FieldMap& fields,
                                  const std::vector<std::string>& resources) {
  std::vector<double> granules(resources.size(), 1);
  if (!fields.has("granule")) return granules;
  constexpr double kLeastGranule = 1e-6;
  for (const auto& [name, granule] : fields.at("granule").entries()) {
    const auto found = std::find(resources.begin(), resources.end(), name);
    if (found == resources.end()) granule.fail("is a resource that the runs do not have");
    granules[static_cast<std::size_t>(found - resources.begin())] =
        granule.number(kLeastGranule, kMaxMeasured);
  }
  return granules;
}

AdviceSettings read_settings(const FieldMap& fields, const Measured& runs) {
  AdviceSettings settings;
  settings.method = read_method(fields);
  settings.granules = read_granules(fields, runs.resources);
  fields.read("seed", settings.seed, integer_from(0, INT64_MAX));
  fields.read("resamples", settings.resamples, integer_from(1, 1'000'000));
  if (settings.resamples * runs.points.size() > kMaxDraws)
    fields.fail("resamples times runs must be at most " + std::to_string(kMaxDraws));
  fields.read("confidence", settings.confidence, number_from(0.01, 0.999));
  fields.read("suggestions", settings.suggestions, integer_from(0, 1000));
  return settings;
}

/// Chords are drawn from the least to the largest amount.
void check_chord(const Measured& runs, const Field& field) {
  const auto differs = [&](const MeasuredPoint& run) {
    return run.resources != runs.points.front().resources;
  };
  if (runs.resources.size() != 1 || std::none_of(runs.points.begin(), runs.points.end(), differs))
    field.fail("must have one resource and two amounts of it for the chord");
}

Json to_json(const SaturationAdvice& advice, const std::vector<std::string>& resources) {
  Json output = {{"resources", by_name(resources, advice.amounts[advice.point].resources)},
                 {"interval", nullptr},
                 {"amounts", Json::array()},
                 {"measure", Json::array()}};
  if (advice.interval) {
    output["interval"] = Json::object();
    for (std::size_t r = 0; r < resources.size(); ++r)
      output["interval"][resources[r]] = {to_json((*advice.interval)[r].low),
                                          to_json((*advice.interval)[r].high)};
  }
  for (const MeasuredAmount& amount : advice.amounts)
    output["amounts"].push_back({{"resources", by_name(resources, amount.resources)},
                                 {"time", amount.time},
                                 {"runs", amount.runs},
                                 {"outliers", amount.outliers},
                                 {"votes", amount.votes}});
  for (const AmountToMeasure& amount : advice.measure)
    output["measure"].push_back({{"resources", by_name(resources, amount.resources)},
                                 {"reason", to_string(amount.reason)},
                                 {"score", amount.score}});
  return output;
}

}  // namespace

Json run_saturation(const Field& input) {
  const FieldMap fields = input.object();
  const SaturationMethod method = read_method(fields);
  const Field list = fields.at("points");
  const Measured measured = read_points(list, 0);
  fields.done();
  if (method == SaturationMethod::chord &&
      (measured.resources.size() != 1 || !chord_is_defined(measured.points)))
    list.fail("must have one resource, and a first and last point that differ, for the chord");
  const SaturationPoint point = saturation_point(method, measured.points);
  return {{"resources", by_name(measured.resources, measured.points[point.index].resources)},
          {"index", point.index},
          {"distance", point.distance}};
}

Json run_saturation_advice(const Field& input) {
  const FieldMap fields = input.object();
  const Field list = fields.at("runs");
  const Measured runs = read_points(list, kLeastTime);
  const AdviceSettings settings = read_settings(fields, runs);
  fields.done();
  if (settings.method == SaturationMethod::chord) check_chord(runs, list);
  return to_json(advise_saturation(runs.points, settings), runs.resources);
}

}  // namespace fairwater::inline cli::inline policy_cli
