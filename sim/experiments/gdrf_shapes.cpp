#include "sim/experiments/gdrf_shapes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace fairwater::sim::inline experiments {
namespace {

constexpr std::string_view kShapesHeader = "cpu_normalised,ram_normalised,percent_of_machines";

struct ShapeColumn {
  std::string_view name;
  double most = 1;
};
constexpr std::array<ShapeColumn, 3> kShapeColumns{
    {{"cpu_normalised", 1}, {"ram_normalised", 1}, {"percent_of_machines", 100}}};

caf::error shapes_error(std::size_t line, const std::string& message) {
  return make_error(ErrorCode::invalid_input, fmt::format("line {}: {}", line, message), "traces");
}

/// The text up to `separator`, which is taken off `rest` too.
std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

/// A number above 0 and up to `most`.
std::optional<double> parse_part(std::string_view cell, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size()) return std::nullopt;
  if (!(value > 0 && value <= most)) return std::nullopt;
  return value;
}

Expected<MachineShape> parse_shape(std::string_view line, std::size_t number) {
  const auto columns = static_cast<std::size_t>(1 + std::count(line.begin(), line.end(), ','));
  if (columns != kShapeColumns.size())
    return shapes_error(number,
                        fmt::format("{} columns instead of {}", columns, kShapeColumns.size()));
  std::array<double, kShapeColumns.size()> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string_view cell = take_until(line, ',');
    const auto value = parse_part(cell, kShapeColumns[i].most);
    if (!value)
      return shapes_error(number, fmt::format("{}: '{}' is not a number above 0 and up to {}",
                                              kShapeColumns[i].name, cell, kShapeColumns[i].most));
    values[i] = *value;
  }
  return MachineShape{.cpu = values[0], .memory = values[1], .percent = values[2]};
}

}  // namespace

Expected<std::vector<MachineShape>> parse_machine_shapes(std::string_view text) {
  std::vector<MachineShape> shapes;
  double percents = 0;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = take_until(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (number == 1) {
      if (line != kShapesHeader)
        return shapes_error(1, fmt::format("the header is not '{}'", kShapesHeader));
      continue;
    }
    auto shape = parse_shape(line, number);
    if (!shape) return shape.error();
    percents += shape->percent;
    shapes.push_back(*shape);
  }
  if (shapes.empty())
    return make_error(ErrorCode::invalid_input, "the machine shapes are empty", "traces");
  if (std::abs(percents - 100) > 1)
    return make_error(ErrorCode::invalid_input,
                      fmt::format("the machine shapes' percents add up to {:.2f}", percents),
                      "traces");
  return shapes;
}

std::vector<std::uint64_t> apportion_machines(const std::vector<MachineShape>& shapes,
                                              std::uint64_t machines) {
  double percents = 0;
  for (const MachineShape& shape : shapes) percents += shape.percent;
  std::vector<std::uint64_t> counts;
  std::vector<double> remainders;
  for (const MachineShape& shape : shapes) {
    const double part = shape.percent / percents * static_cast<double>(machines);
    counts.push_back(static_cast<std::uint64_t>(part));
    remainders.push_back(part - std::floor(part));
  }
  std::vector<std::size_t> order(shapes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  const std::uint64_t given = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  for (std::uint64_t i = given; i < machines; ++i) ++counts[order[(i - given) % order.size()]];
  return counts;
}

}  // namespace fairwater::sim::inline experiments
