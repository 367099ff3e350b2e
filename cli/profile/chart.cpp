#include "cli/profile/chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include <fmt/format.h>

#include "cli/core/output.hpp"
#include "policy/core/check.hpp"

namespace fairwater::inline cli::inline profile {
namespace {

char mark_of(const CurvePoint& point) {
  switch (point.method) {
    case SaturationMethod::diagonal:
      return 'D';
    case SaturationMethod::origin:
      return 'O';
    case SaturationMethod::chord:
      break;
  }
  return 'C';
}

std::string marks_at(const ClassCurve& curve, std::size_t amount) {
  std::string marks;
  for (const CurvePoint& point : curve.points)
    if (point.amount == amount) marks += mark_of(point);
  return marks;
}

std::string confidence_of(const ClassCurve& curve) {
  std::string text;
  for (const CurvePoint& point : curve.points)
    if (point.confidence)
      text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", mark_of(point),
                          *point.confidence * 100);
  return text;
}

bool agree_but_for(const std::vector<double>& one, const std::vector<double>& other,
                   std::size_t resource) {
  for (std::size_t r = 0; r < one.size(); ++r)
    if (r != resource && one[r] != other[r]) return false;
  return true;
}

Chart chart_along(const ProfileCurve& profile, std::size_t resource) {
  const ClassCurve& curve = profile.curve;
  const std::vector<double>& through = curve.amounts[curve.points.front().amount].resources;
  Chart chart{profile.resources[resource], {}, {}, confidence_of(curve)};
  for (const std::size_t varied : curve.varied)
    if (varied != resource)
      chart.others[profile.resources[varied]] = static_cast<Amount>(through[varied]);
  for (std::size_t i = 0; i < curve.amounts.size(); ++i) {
    const CurveAmount& amount = curve.amounts[i];
    if (!agree_but_for(amount.resources, through, resource)) continue;
    chart.points.push_back({static_cast<Amount>(amount.resources[resource]), amount.time,
                            amount.fastest, amount.slowest, marks_at(curve, i)});
  }
  return chart;
}

double slowest_of(const Chart& chart) {
  double slowest = 1;
  for (const ChartPoint& point : chart.points)
    if (point.time_ms > 0) slowest = std::max(slowest, point.slowest_ms);
  return slowest;
}

std::string heading_of(const Chart& chart) {
  return "run time over " + chart.resource +
         (chart.others.empty() ? "" : ", with " + format_amounts(chart.others));
}

std::string time_text(double time_ms) {
  return format_duration_ms(static_cast<std::int64_t>(std::lround(time_ms)));
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// -- for a terminal -------------------------------------------------------------------------------

constexpr int kRows = 10;

int row_of(double time_ms, double most_ms) {
  return static_cast<int>(std::lround(time_ms / most_ms * kRows));
}

/// What stands in a column of the chart at the height `row`.
char cell(const ChartPoint& point, int row, double most_ms) {
  if (point.time_ms <= 0) return row == 0 ? 'x' : ' ';
  if (row == row_of(point.time_ms, most_ms)) return 'o';
  const bool within =
      row > row_of(point.fastest_ms, most_ms) - 1 && row <= row_of(point.slowest_ms, most_ms);
  return within ? '|' : ' ';
}

// -- SVG ------------------------------------------------------------------------------------------

constexpr double kWidth = 720, kHeight = 360, kLeft = 80, kRight = 30, kTop = 50, kBottom = 70;

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : printable(text))
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return result;
}

class SvgChart {
 public:
  SvgChart(const Chart& chart, double top)
      : chart_(chart), top_(top), most_ms_(slowest_of(chart) * 1.05) {}

  std::string str() {
    text(kLeft, top_ + 30, "start", heading_of(chart_));
    if (!chart_.confidence.empty())
      text(kWidth - kRight, top_ + 30, "end", "confidence: " + chart_.confidence);
    axes();
    curve();
    for (const ChartPoint& point : chart_.points)
      point.time_ms > 0 ? measured(point) : does_not_run(point);
    return svg_;
  }

 private:
  [[nodiscard]] double x(Amount amount) const {
    const auto low = static_cast<double>(chart_.points.front().amount);
    const auto high = static_cast<double>(chart_.points.back().amount);
    const double part = high > low ? (static_cast<double>(amount) - low) / (high - low) : 0.5;
    return kLeft + 20 + part * (kWidth - kLeft - kRight - 40);
  }
  [[nodiscard]] double y(double time_ms) const {
    return top_ + kHeight - kBottom - time_ms / most_ms_ * (kHeight - kTop - kBottom);
  }
  void line(double x1, double y1, double x2, double y2, const char* style) {
    svg_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1,
                        y1, x2, y2, style);
  }
  void text(double at_x, double at_y, const char* anchor, const std::string& words) {
    svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", at_x,
                        at_y, anchor, escaped(words));
  }
  void axes() {
    line(kLeft, y(0), kWidth - kRight, y(0), "stroke=\"#444\"");
    line(kLeft, y(0), kLeft, top_ + kTop, "stroke=\"#444\"");
    constexpr int kTicks = 4;
    for (int tick = 0; tick <= kTicks; ++tick) {
      const double time_ms = most_ms_ * tick / kTicks;
      text(kLeft - 8, y(time_ms) + 4, "end", time_text(time_ms));
      if (tick > 0) line(kLeft, y(time_ms), kWidth - kRight, y(time_ms), "stroke=\"#ddd\"");
    }
  }
  void curve() {
    std::string places;
    for (const ChartPoint& point : chart_.points)
      if (point.time_ms > 0)
        places += fmt::format("{:.1f},{:.1f} ", x(point.amount), y(point.time_ms));
    svg_ += "<polyline points=\"" + places +
            "\" fill=\"none\" stroke=\"#1f6fb2\" stroke-width=\"2\"/>\n";
  }
  void measured(const ChartPoint& point) {
    const double at = x(point.amount);
    line(at, y(point.fastest_ms), at, y(point.slowest_ms), "stroke=\"#1f6fb2\"");
    svg_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#1f6fb2\"/>\n", at,
                        y(point.time_ms));
    text(at, y(0) + 18, "middle", format_amount(chart_.resource, point.amount));
    if (point.marks.empty()) return;
    svg_ += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"9\" fill=\"none\" stroke=\"#c0392b\" "
        "stroke-width=\"2\"/>\n",
        at, y(point.time_ms));
    text(at, y(point.slowest_ms) - 14, "middle", point.marks);
  }
  void does_not_run(const ChartPoint& point) {
    text(x(point.amount), y(0) - 6, "middle", "x");
    text(x(point.amount), y(0) + 18, "middle", format_amount(chart_.resource, point.amount));
  }

  const Chart& chart_;
  const double top_;
  const double most_ms_;
  std::string svg_;
};

}  // namespace

std::vector<Chart> charts_of(const ProfileCurve& profile) {
  std::vector<Chart> charts;
  const ClassCurve& curve = profile.curve;
  if (curve.points.empty()) return charts;
  for (std::size_t r = 0; r < profile.resources.size(); ++r) {
    Chart chart = chart_along(profile, r);
    if (chart.points.size() > 1) charts.push_back(std::move(chart));
  }
  return charts;
}

std::string chart_text(const Chart& chart) {
  const double most_ms = slowest_of(chart);
  constexpr std::size_t kTimeWidth = 8, kPlotWidth = 70;
  std::size_t width = 4;
  for (const ChartPoint& point : chart.points)
    width = std::max(width, format_amount(chart.resource, point.amount).size() + 2);
  const std::size_t shown = std::max<std::size_t>(1, kPlotWidth / width);
  std::string text;
  for (std::size_t first = 0; first < chart.points.size(); first += shown) {
    const auto begin = chart.points.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end =
        begin + static_cast<std::ptrdiff_t>(std::min(shown, chart.points.size() - first));
    text += heading_of(chart) + "\n";
    for (int row = kRows; row >= 0; --row) {
      std::string line = row % 5 == 0
                             ? fmt::format("{:>{}} |", time_text(most_ms * row / kRows), kTimeWidth)
                             : std::string(kTimeWidth + 1, ' ') + "|";
      for (auto point = begin; point != end; ++point)
        line += fmt::format("{:^{}}", std::string(1, cell(*point, row, most_ms)), width);
      text += without_trailing_spaces(line);
    }
    const auto row_of_words = [&](const std::function<std::string(const ChartPoint&)>& words) {
      std::string line(kTimeWidth + 2, ' ');
      for (auto point = begin; point != end; ++point)
        line += fmt::format("{:^{}}", words(*point), width);
      return without_trailing_spaces(line);
    };
    text += row_of_words(
        [&](const ChartPoint& point) { return format_amount(chart.resource, point.amount); });
    text += row_of_words([](const ChartPoint& point) { return point.marks; });
  }
  return text;
}

std::string charts_svg(const std::string& title, const std::vector<Chart>& charts) {
  constexpr double kTitle = 40, kLegend = 30;
  const double height = kTitle + kHeight * static_cast<double>(charts.size()) + kLegend;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2:.0f}\" y=\"28\" font-size=\"17\">{3}</text>\n",
      kWidth, height, kLeft, escaped(title));
  double top = kTitle;
  for (const Chart& chart : charts) {
    svg += SvgChart(chart, top).str();
    top += kHeight;
  }
  svg += fmt::format(
      "<text x=\"{:.0f}\" y=\"{:.0f}\">D diagonal, O origin, C chord; lines reach from the fastest "
      "to the slowest run; x: it does not run here</text>\n</svg>\n",
      kLeft, height - 12);
  return svg;
}

}  // namespace fairwater::inline cli::inline profile
