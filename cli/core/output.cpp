#include "cli/core/output.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "policy/core/check.hpp"

namespace fairwater::inline cli::inline core {
namespace {

/// Code points, which is what columns of names need; bytes would misalign accents.
std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<std::string> cells) {
  FAIRWATER_CHECK(cells.size() == columns_.size(), "a row has one cell per column");
  for (auto& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::str() const {
  std::vector<std::size_t> widths;
  for (const auto& column : columns_) widths.push_back(display_width(column.title));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  std::string result;
  const auto append_line = [&](const auto& cell_at) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_at(i);
      const std::string padding(widths[i] - display_width(cell), ' ');
      if (i > 0) line += "  ";
      line += columns_[i].align == Align::left ? cell + padding : padding + cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  };
  append_line([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_)
    append_line([&](std::size_t i) -> const std::string& { return row[i]; });
  return result;
}

std::string iso_time(WallTime time) {
  return fmt::format("{}.{:06}Z", utc_seconds(time), shown_time(time).microseconds % 1'000'000);
}

std::string table_time(WallTime time) { return time ? utc_text(time) : "-"; }

Json json_time(WallTime time) { return time ? Json(iso_time(time)) : Json(nullptr); }

std::string format_duration_ms(std::int64_t duration_ms) {
  if (duration_ms < 0) return "-" + format_duration_ms(-duration_ms);
  if (duration_ms < 1000) return fmt::format("{}ms", duration_ms);
  const std::int64_t seconds = duration_ms / 1000;
  if (seconds < 10 && duration_ms % 1000 >= 100)
    return fmt::format("{}.{}s", seconds, duration_ms % 1000 / 100);
  const auto two = [](std::int64_t large, const char* large_unit, std::int64_t small,
                      const char* small_unit) {
    return small == 0 ? fmt::format("{}{}", large, large_unit)
                      : fmt::format("{}{}{}{}", large, large_unit, small, small_unit);
  };
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return two(seconds / 60, "m", seconds % 60, "s");
  if (seconds < 86'400) return two(seconds / 3600, "h", seconds % 3600 / 60, "m");
  return two(seconds / 86'400, "d", seconds % 86'400 / 3600, "h");
}

std::string format_amounts(const NamedAmounts& amounts) {
  std::string result;
  for (const auto& [name, amount] : amounts)
    result += (result.empty() ? "" : ", ") + name + " " + format_amount(name, amount);
  return result.empty() ? "-" : result;
}

Json json_amounts(const NamedAmounts& amounts) {
  Json result = Json::object();
  for (const auto& [name, amount] : amounts) result[name] = amount;
  return result;
}

std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string printable(std::string_view text) {
  std::string result{text};
  std::replace_if(
      result.begin(), result.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return result;
}

std::string paragraph(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::size_t width = 0;
  for (const auto& [name, value] : rows) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, value] : rows)
    if (!value.empty())
      text += fmt::format("{:<{}}  {}\n", name + ":", width + 1, printable(value));
  return text;
}

std::string counted(std::uint64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace fairwater::inline cli::inline core
