#include "cli/sim/file_fields.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace fairwater {
namespace {

constexpr std::int64_t kMaxTime_ms = 100LL * 366 * 86'400'000;

/// One value, or the least and the largest as a list of two.
std::optional<sim::Range> parse_range(const YAML::Node& node, const ParseValue& parse,
                                      std::string& problem) {
  std::vector<std::int64_t> values;
  const auto take = [&](const YAML::Node& entry) {
    const auto value = parse(entry.IsScalar() ? entry.Scalar() : "");
    if (value)
      values.push_back(*value);
    else
      problem = details(value.error()).message;
  };
  if (!node.IsSequence()) {
    take(node);
    if (problem.empty()) return sim::Range{values[0], values[0]};
    return std::nullopt;
  }
  for (const auto& entry : node) take(entry);
  if (!problem.empty()) return std::nullopt;
  if (values.size() == 2 && values[0] <= values[1]) return sim::Range{values[0], values[1]};
  problem = "a range is a list of two values, the smaller one first";
  return std::nullopt;
}

}  // namespace

Expected<std::int64_t> parse_count(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc{} && end == text.data() + text.size() && value >= 1 &&
      value <= kMaxSimTasks)
    return value;
  return make_error(ErrorCode::invalid_input,
                    fmt::format("'{}' is not a whole number from 1 to {}", text, kMaxSimTasks));
}

void read_decimal(YamlFields& fields, const char* key, double least, double most, double& target) {
  const auto node = fields.take(key);
  if (!node) return;
  double value = 0;
  const std::string text = node->IsScalar() ? node->Scalar() : "";
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || !(value >= least) ||
      !(value <= most))
    return fields.refuse(key, *node,
                         fmt::format("'{}' is not a number from {} to {}", text, least, most));
  target = value;
}

void read_range(YamlFields& fields, const char* key, const ParseValue& parse, sim::Range& target) {
  const auto node = fields.take(key);
  if (!node) return;
  std::string problem;
  if (const auto range = parse_range(*node, parse, problem))
    target = *range;
  else
    fields.refuse(key, *node, problem);
}

void read_list(YamlDocument& document, YamlFields& fields, const char* key,
               const std::function<void(const YAML::Node&, const std::string&)>& use) {
  const auto list = fields.take(key);
  if (!list) return;
  if (!list->IsSequence()) return fields.refuse(key, *list, "must be a list");
  std::size_t index = 0;
  for (const auto& entry : *list) {
    use(entry, fields.path_of(fmt::format("{}[{}].", key, index++)));
    if (document.error()) return;
  }
}

void read_time(YamlFields& fields, const char* key, std::int64_t& target) {
  const auto node = fields.take(key);
  if (!node) return;
  fields.duration_ms(key, target);
  if (target < 1 || target > kMaxTime_ms)
    fields.refuse(key, *node, "must be from 1ms to 100 years");
}

}  // namespace fairwater
