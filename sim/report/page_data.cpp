#include "sim/report/page_data.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "policy/core/check.hpp"

namespace fairwater::sim::inline report {
namespace {

std::string json_string(const std::string& text) {
  using Json = nlohmann::json;
  const std::string quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string result;
  for (const char c : quoted) {
    if (c == '<')
      result += "\\u003c";
    else
      result += c;
  }
  return result;
}

template <class Items, class Write>
std::string json_array(const Items& items, const Write& write) {
  std::string result = "[";
  for (const auto& item : items) {
    if (result.size() > 1) result += ',';
    result += write(item);
  }
  return result + "]";
}

std::string series_json(const Series& series) {
  const auto point = [](const auto& xy) {
    return "[" + number_text(xy.first) + "," + number_text(xy.second) + "]";
  };
  return fmt::format(R"({{"name":{},"points":{},"error":{}}})", json_string(series.name),
                     json_array(series.points, point), json_array(series.error, number_text));
}

}  // namespace

std::vector<std::size_t> thin(const Points& points, std::size_t limit) {
  FAIRWATER_CHECK(limit >= 4, "the first, the last and the extremes of one stretch need room");
  std::vector<std::size_t> kept;
  const std::size_t size = points.size();
  if (size <= limit) {
    for (std::size_t i = 0; i < size; ++i) kept.push_back(i);
    return kept;
  }
  const std::size_t inner = size - 2;
  const std::size_t stretches = (limit - 2) / 2;
  const auto lower = [](const auto& a, const auto& b) { return a.second < b.second; };
  kept.push_back(0);
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto begin = points.begin() + 1 + static_cast<std::ptrdiff_t>(inner * i / stretches);
    const auto end = points.begin() + 1 + static_cast<std::ptrdiff_t>(inner * (i + 1) / stretches);
    const auto [lowest, highest] = std::minmax_element(begin, end, lower);
    const auto [left, right] = std::minmax(lowest, highest);
    kept.push_back(static_cast<std::size_t>(left - points.begin()));
    if (left != right) kept.push_back(static_cast<std::size_t>(right - points.begin()));
  }
  kept.push_back(size - 1);
  return kept;
}

Series pick(const Series& series, const std::vector<std::size_t>& indices) {
  Series picked{.name = series.name, .points = {}, .error = {}};
  for (const std::size_t i : indices) {
    picked.points.push_back(series.points[i]);
    if (!series.error.empty()) picked.error.push_back(series.error[i]);
  }
  return picked;
}

std::string number_text(double number) {
  FAIRWATER_CHECK(std::isfinite(number), "a page's numbers are finite");
  return fmt::format("{}", number);
}

const char* to_string(ChartKind kind) {
  switch (kind) {
    case ChartKind::line:
      return "line";
    case ChartKind::steps:
      return "steps";
    case ChartKind::points:
      return "points";
    default:
      return "bars";
  }
}

const char* to_string(Scale scale) {
  return scale == Scale::logarithmic ? "logarithmic" : "linear";
}

std::string chart_json(const Chart& chart) {
  return fmt::format(
      R"({{"title":{},"x_label":{},"y_label":{},"kind":"{}","x_scale":"{}","y_scale":"{}",)"
      R"("categories":{},"series":{}}})",
      json_string(chart.title), json_string(chart.x_label), json_string(chart.y_label),
      to_string(chart.kind), to_string(chart.x_scale), to_string(chart.y_scale),
      json_array(chart.categories, json_string), json_array(chart.series, series_json));
}

}  // namespace fairwater::sim::inline report
