// A chart's points as a page holds them.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "sim/report/page.hpp"

namespace fairwater::sim::inline report {

using Points = std::vector<std::pair<double, double>>;

/// Indices of at most `limit` points (at least 4), ascending: all when they are so few, else the
/// first, the last, and of each of equally long stretches between them the lowest and the highest.
/// O(points).
[[nodiscard]] std::vector<std::size_t> thin(const Points& points, std::size_t limit);
/// The points at `indices`, with their errors.
[[nodiscard]] Series pick(const Series& series, const std::vector<std::size_t>& indices);

/// The shortest text that reads back as the same number; JSON too.
[[nodiscard]] std::string number_text(double number);

[[nodiscard]] const char* to_string(ChartKind kind);
[[nodiscard]] const char* to_string(Scale scale);
/// One JSON object, as page.js reads it; every `<` is written \u003c, so that it may stand within a
/// script element.
[[nodiscard]] std::string chart_json(const Chart& chart);

}  // namespace fairwater::sim::inline report
