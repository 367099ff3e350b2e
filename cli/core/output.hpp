// What every command prints with: tables that align, times, durations, and one value of JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/core/json.hpp"
#include "model/resources.hpp"
#include "model/time.hpp"

namespace fairwater::inline cli::inline core {

enum class Align : std::uint8_t { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
};

/// Rows of text under titles; every column as wide as its widest cell, two spaces apart.
class Table {
 public:
  explicit Table(std::vector<Column> columns);
  /// One cell per column.
  void add_row(std::vector<std::string> cells);
  /// With a line for the titles; no spaces at line ends.
  [[nodiscard]] std::string str() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// `2026-11-21T01:26:53.123456Z`, as JSON has it.
[[nodiscard]] std::string iso_time(WallTime time);
/// `2026-11-21T01:26:53Z`, or `-` for "not yet", as tables have it.
[[nodiscard]] std::string table_time(WallTime time);
/// `iso_time`, or null for "not yet".
[[nodiscard]] Json json_time(WallTime time);
/// `1h30m`, `2m5s`, `1.5s`, `20ms`: the two largest units that matter.
[[nodiscard]] std::string format_duration_ms(std::int64_t duration_ms);
/// `cpu 1.5, memory 2 GiB`, or `-` when there is nothing.
[[nodiscard]] std::string format_amounts(const NamedAmounts& amounts);
/// Like an object of plain numbers in base units; always an object.
[[nodiscard]] Json json_amounts(const NamedAmounts& amounts);
/// One line of JSON. Bytes that are not UTF-8 become the replacement character.
[[nodiscard]] std::string json_text(const Json& value);
/// What a terminal would take for a command becomes `?`: text from tenants, nodes and programs.
[[nodiscard]] std::string printable(std::string_view text);
/// `name: value` with the values under each other; rows without a value are left out.
[[nodiscard]] std::string paragraph(const std::vector<std::pair<std::string, std::string>>& rows);
/// `1 task`, `2 tasks`.
[[nodiscard]] std::string counted(std::uint64_t count, const char* noun);

}  // namespace fairwater::inline cli::inline core
