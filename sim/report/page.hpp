// A page of results: text, tables and charts, as one HTML file that needs nothing but itself.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fairwater::sim::inline report {

struct Heading {
  std::string text;
};
/// One paragraph of plain text.
struct Paragraph {
  std::string text;
};
struct Table {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  ///< each as long as `columns`
  std::vector<std::string>
      links{};  ///< files beside the page, for the first cells; none or one per row
};

enum class Scale : std::uint8_t { linear = 0, logarithmic = 1 };
enum class ChartKind : std::uint8_t {
  line = 0,
  steps = 1,   ///< a value holds until the next point
  points = 2,  ///< a scatter plot
  bars = 3,    ///< x counts `categories` from 0
};
struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< (x, y); finite, above 0 on a logarithmic axis
  std::vector<double> error{};  ///< half widths of y's confidence intervals; empty or one per point
};
struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  ChartKind kind = ChartKind::line;
  Scale x_scale = Scale::linear;
  Scale y_scale = Scale::linear;
  std::vector<std::string> categories{};  ///< of bars
  std::vector<Series> series{};
};

using PageItem = std::variant<Heading, Paragraph, Table, Chart>;
struct Page {
  std::string title;
  std::string summary;  ///< one paragraph under the title
  std::vector<PageItem> items;
};

/// The page as HTML: the charting library, styles and data are inside; readable on a phone and in
/// dark mode; the same bytes for the same page. O(points).
[[nodiscard]] std::string render_page(const Page& page);

}  // namespace fairwater::sim::inline report
