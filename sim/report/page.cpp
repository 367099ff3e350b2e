#include "sim/report/page.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "policy/core/check.hpp"
#include "sim/report/page_assets.hpp"
#include "sim/report/page_data.hpp"

namespace fairwater::sim::inline report {
namespace {

constexpr std::size_t kMaxDrawnPoints = 2000;   ///< per series: more than a screen has columns
constexpr std::size_t kMaxListedPoints = 1000;  ///< per chart, in the table under it
constexpr std::size_t kMinListedPoints = 4;     ///< per series
constexpr std::size_t kPhraseLength = 15;       ///< cells of more bytes are several words
constexpr std::size_t kProseLength = 40;        ///< cells of more bytes are sentences
constexpr std::size_t kUnitLength = 5;

std::string html(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

/// `-1,234.5`, `3e-5`, `12 %`, `1.5 ± 0.2`, `20 ms`: digits first, no words but a unit at the end.
bool is_number(std::string_view cell) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!cell.empty() && (cell.front() == '-' || cell.front() == '+')) cell.remove_prefix(1);
  if (cell.empty() || !is_digit(cell.front())) return false;
  const auto last_digit = std::find_if(cell.rbegin(), cell.rend(), is_digit).base();
  if (static_cast<std::size_t>(cell.end() - last_digit) > kUnitLength) return false;
  return std::none_of(cell.begin(), last_digit, [&](char c) { return is_letter(c) && c != 'e'; });
}

/// The class of a column's cells: numbers stand at the right, sentences get room.
std::string_view column_class(const Table& table, std::size_t column) {
  bool any_number = false;
  bool all_numbers = true;
  std::size_t longest = 0;
  for (const auto& row : table.rows) {
    const std::string& cell = row[column];
    if (cell.empty() || cell == "-") continue;
    const bool number = is_number(cell);
    any_number = any_number || number;
    all_numbers = all_numbers && number;
    longest = std::max(longest, cell.size());
  }
  if (any_number && all_numbers) return R"( class="number")";
  if (longest > kProseLength) return R"( class="prose")";
  return longest > kPhraseLength ? R"( class="phrase")" : "";
}

std::string table_html(const Table& table) {
  FAIRWATER_CHECK(table.links.empty() || table.links.size() == table.rows.size(),
                  "a table has no links or one per row");
  std::vector<std::string_view> classes;
  for (const auto& row : table.rows)
    FAIRWATER_CHECK(row.size() == table.columns.size(), "a row has one cell per column");
  for (std::size_t i = 0; i < table.columns.size(); ++i) classes.push_back(column_class(table, i));
  // A region that scrolls must be reachable by keyboard.
  std::string result = R"(<div class="scroll" tabindex="0"><table><thead><tr>)";
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    result += fmt::format(R"(<th scope="col"{}>{}</th>)", classes[i], html(table.columns[i]));
  result += "</tr></thead><tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    result += "<tr>";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      std::string cell = html(table.rows[r][i]);
      if (i == 0 && !table.links.empty() && !table.links[r].empty())
        cell = fmt::format(R"(<a href="{}">{}</a>)", html(table.links[r]), cell);
      result += fmt::format("<td{}>{}</td>", classes[i], cell);
    }
    result += "</tr>\n";
  }
  return result + "</tbody></table></div>\n";
}

/// A chart of few enough points, and what was left out.
struct Thinned {
  Chart chart;
  std::string note;
};

Thinned thin_chart(const Chart& chart, std::size_t limit) {
  Thinned thinned{chart, ""};
  for (Series& series : thinned.chart.series) {
    const std::size_t before = series.points.size();
    series = pick(series, thin(series.points, limit));
    if (series.points.size() < before)
      thinned.note +=
          fmt::format("{}{}{} of {} points", thinned.note.empty() ? "" : "; ",
                      series.name.empty() ? "" : series.name + ": ", series.points.size(), before);
  }
  if (!thinned.note.empty())
    thinned.note += ": the first, the last, and the lowest and highest of each stretch";
  return thinned;
}

std::string x_text(const Chart& chart, double x) {
  return chart.kind == ChartKind::bars ? chart.categories[static_cast<std::size_t>(x)]
                                       : number_text(x);
}

std::string y_text(const Series& series, std::size_t i) {
  const std::string y = number_text(series.points[i].second);
  return series.error.empty() ? y : y + " ± " + number_text(series.error[i]);
}

bool same_places(const Chart& chart) {
  const auto same_x = [](const auto& a, const auto& b) { return a.first == b.first; };
  const Points& first = chart.series.front().points;
  return std::all_of(chart.series.begin(), chart.series.end(), [&](const Series& series) {
    return std::equal(first.begin(), first.end(), series.points.begin(), series.points.end(),
                      same_x);
  });
}

/// One column per series where all have the same x, else one row per point of each.
Table data_table(const Chart& chart) {
  Table table;
  if (chart.series.empty()) return table;
  if (same_places(chart)) {
    table.columns.push_back(chart.x_label);
    for (const Series& series : chart.series)
      table.columns.push_back(series.name.empty() ? chart.y_label : series.name);
    for (std::size_t i = 0; i < chart.series.front().points.size(); ++i) {
      auto& row = table.rows.emplace_back();
      row.push_back(x_text(chart, chart.series.front().points[i].first));
      for (const Series& series : chart.series) row.push_back(y_text(series, i));
    }
    return table;
  }
  table.columns = {"", chart.x_label, chart.y_label};
  for (const Series& series : chart.series)
    for (std::size_t i = 0; i < series.points.size(); ++i)
      table.rows.push_back({series.name, x_text(chart, series.points[i].first), y_text(series, i)});
  return table;
}

void check_chart(const Chart& chart) {
  for (const Series& series : chart.series) {
    FAIRWATER_CHECK(series.error.empty() || series.error.size() == series.points.size(),
                    "a series has no errors or one per point");
    for (const auto& [x, y] : series.points) {
      FAIRWATER_CHECK(chart.x_scale == Scale::linear || x > 0, "a logarithmic axis starts above 0");
      FAIRWATER_CHECK(chart.y_scale == Scale::linear || y > 0, "a logarithmic axis starts above 0");
      FAIRWATER_CHECK(chart.kind != ChartKind::bars ||
                          (x >= 0 && x < static_cast<double>(chart.categories.size())),
                      "a bar stands at a category");
    }
  }
}

std::string quiet(std::string_view extra_class, const std::string& text) {
  return text.empty() ? "" : fmt::format("<p class=\"quiet{}\">{}</p>\n", extra_class, html(text));
}

std::string item_html(const Heading& heading) {
  return fmt::format("<h2>{}</h2>\n", html(heading.text));
}

std::string item_html(const Paragraph& paragraph) {
  return fmt::format("<p>{}</p>\n", html(paragraph.text));
}

std::string item_html(const Table& table) {
  return fmt::format("<figure>\n<figcaption>{}</figcaption>\n{}</figure>\n", html(table.title),
                     table_html(table));
}

std::string item_html(const Chart& chart) {
  check_chart(chart);
  const Thinned drawn = thin_chart(chart, kMaxDrawnPoints);
  const std::size_t per_series = kMaxListedPoints / std::max<std::size_t>(chart.series.size(), 1);
  const Thinned listed = thin_chart(chart, std::max(per_series, kMinListedPoints));
  const std::string title = html(chart.title);
  std::string result = "<figure class=\"chart\">\n";
  result += fmt::format("<figcaption>{}</figcaption>\n<div class=\"legend\"></div>\n", title);
  result += quiet("", chart.y_label);
  result += fmt::format(
      "<div class=\"plot\"><canvas role=\"img\" aria-label=\"{}\"></canvas></div>\n", title);
  result += quiet(" x-label", chart.x_label);
  result += quiet("", drawn.note.empty() ? "" : "Drawn: " + drawn.note + ".");
  result += "<details><summary>Data</summary>\n";
  result += quiet("", listed.note.empty() ? "" : "Listed: " + listed.note + ".");
  result += table_html(data_table(listed.chart)) + "</details>\n";
  result += R"(<script type="application/json">)" + chart_json(drawn.chart) + "</script>\n";
  return result + "</figure>\n";
}

/// Nothing may be fetched: what a page needs is in it.
constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
)";

}  // namespace

std::string render_page(const Page& page) {
  const bool has_chart = std::any_of(page.items.begin(), page.items.end(), [](const auto& item) {
    return std::holds_alternative<Chart>(item);
  });
  std::string result{kHead};
  result += fmt::format("<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
                        html(page.title), page_style());
  result += fmt::format("<h1>{}</h1>\n", html(page.title));
  if (!page.summary.empty()) result += item_html(Paragraph{page.summary});
  if (has_chart)
    result += "<noscript><p>The charts need JavaScript; their data is in tables.</p></noscript>\n";
  for (const PageItem& item : page.items)
    result += std::visit([](const auto& kind) { return item_html(kind); }, item);
  if (has_chart)
    result += fmt::format("<script>\n{}</script>\n<script>\n{}</script>\n", chart_library(),
                          page_script());
  return result + "</body>\n</html>\n";
}

}  // namespace fairwater::sim::inline report
