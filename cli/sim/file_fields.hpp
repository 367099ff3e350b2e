// Values of a simulation file that other files do not have: ranges, choices, decimals.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "input/yaml_fields.hpp"
#include "sim/report/scenario.hpp"

namespace fairwater {

/// Reads one value as base units, or says why not.
using ParseValue = std::function<Expected<std::int64_t>(const std::string&)>;

/// The largest count of tasks, units or processors that a file may name.
inline constexpr std::int64_t kMaxSimTasks = 1'000'000;
/// A whole number from 1 to kMaxSimTasks.
[[nodiscard]] Expected<std::int64_t> parse_count(const std::string& text);

// Each leaves its target alone when the key is missing, and refuses in the document what is wrong.

/// A decimal number within bounds.
void read_decimal(YamlFields& fields, const char* key, double least, double most, double& target);
/// One value, or the least and the largest as a list of two.
void read_range(YamlFields& fields, const char* key, const ParseValue& parse, sim::Range& target);
/// A duration from 1 ms to 100 years.
void read_time(YamlFields& fields, const char* key, std::int64_t& target);
/// Calls `use` with each entry and its path, until one is refused.
void read_list(YamlDocument& document, YamlFields& fields, const char* key,
               const std::function<void(const YAML::Node&, const std::string&)>& use);

/// One of the names, for its value.
template <class Value>
void read_choice(YamlFields& fields, const char* key,
                 const std::vector<std::pair<std::string, Value>>& choices, Value& target) {
  const auto node = fields.take(key);
  if (!node) return;
  std::string text;
  fields.text(key, text);
  std::string names;
  for (const auto& [name, value] : choices) {
    if (name == text) {
      target = value;
      return;
    }
    names += (names.empty() ? "" : ", ") + name;
  }
  fields.refuse(key, *node, fmt::format("'{}' is not one of {}", text, names));
}
}  // namespace fairwater
