// A report as text, so that two can be compared and a figure looked for.
#pragma once

#include <cmath>
#include <string>
#include <variant>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/experiments/experiment.hpp"

namespace fairwater::sim::test {

inline std::string text_of(const Heading& heading) { return heading.text + "\n"; }
inline std::string text_of(const Paragraph& paragraph) { return paragraph.text + "\n"; }

inline std::string text_of(const Table& table) {
  std::string text = fmt::format("{}\n{}\n", table.title, fmt::join(table.columns, " | "));
  for (const auto& row : table.rows) text += fmt::format("{}\n", fmt::join(row, " | "));
  return text;
}

inline std::string text_of(const Chart& chart) {
  std::string text = fmt::format("{} ({}, {}; {})\n", chart.title, chart.x_label, chart.y_label,
                                 fmt::join(chart.categories, ", "));
  for (const Series& series : chart.series) {
    text += series.name + ":";
    for (const auto& [x, y] : series.points) text += fmt::format(" ({}, {})", x, y);
    text += fmt::format(" {}\n", fmt::join(series.error, ", "));
  }
  return text;
}

inline std::string text_of(const ExperimentReport& report) {
  std::string text = report.title + "\n";
  for (const Claim& claim : report.claims)
    text += fmt::format("{}: {} {} [{}]\n", claim.paper, claim.statement, claim.measured,
                        static_cast<int>(claim.verdict));
  for (const std::string& assumption : report.assumptions) text += assumption + "\n";
  for (const PageItem& item : report.items)
    text += std::visit([](const auto& one) { return text_of(one); }, item);
  return text;
}

/// What every page needs: rows as long as the columns, errors one per point, finite figures that a
/// logarithmic axis can show.
inline void check_structure(const ExperimentReport& report) {
  CHECK_FALSE(report.title.empty());
  CHECK_FALSE(report.claims.empty());
  CHECK_FALSE(report.assumptions.empty());
  for (const Claim& claim : report.claims) {
    CHECK_FALSE(claim.statement.empty());
    CHECK_FALSE(claim.measured.empty());
  }
  for (const PageItem& item : report.items) {
    if (const auto* table = std::get_if<Table>(&item)) {
      CHECK_FALSE(table->rows.empty());
      for (const auto& row : table->rows) CHECK(row.size() == table->columns.size());
    }
    if (const auto* chart = std::get_if<Chart>(&item)) {
      CHECK_FALSE(chart->series.empty());
      for (const Series& series : chart->series) {
        INFO(chart->title << ": " << series.name);
        CHECK_FALSE(series.points.empty());
        CHECK((series.error.empty() || series.error.size() == series.points.size()));
        for (const auto& [x, y] : series.points) {
          CHECK(std::isfinite(x));
          CHECK(std::isfinite(y));
          if (chart->x_scale == Scale::logarithmic) CHECK(x > 0);
          if (chart->y_scale == Scale::logarithmic) CHECK(y > 0);
        }
      }
    }
  }
}

}  // namespace fairwater::sim::test
