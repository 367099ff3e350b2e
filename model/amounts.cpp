// Amounts and durations as people write them. Exact: digits are read as integers, never as floating
// point.
#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "model/numbers.hpp"
#include "model/resources.hpp"
#include "policy/gpu/node.hpp"

namespace fairwater::inline model {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Without spaces and in small letters.
std::string folded(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (c != ' ') result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

/// What somebody meant who writes memory as other tools do: `512MiB` for `512M`, `512mb` or
/// `512 MiB`, `4GiB` for `4g`. Empty when that is not clear.
std::string meant_memory(std::string_view text) {
  const auto number = read_number(text);
  if (!number || number->suffix.empty()) return {};
  const std::string unit = folded(number->suffix);
  const std::string digits{text.substr(0, text.size() - number->suffix.size())};
  for (const auto& [first, written] : {std::pair{"m", "MiB"}, {"g", "GiB"}, {"t", "TiB"}})
    if (unit == first || unit == std::string{first} + "b" || unit == std::string{first} + "ib")
      return digits + written;
  return {};
}

/// `0` parts and leading zeros left out: `1m` for 00:01:00.
void add_part(std::string& duration, std::string_view digits, char unit) {
  const auto first = digits.find_first_not_of('0');
  if (first != std::string_view::npos) duration += std::string{digits.substr(first)} + unit;
}

/// `12m30s` for `12:30`, `1d2h` for Slurm's `1-02:00:00`. Empty when it is no clock's time.
std::string meant_clock(std::string_view text) {
  const auto dash = text.find('-');
  const bool has_days = dash != std::string_view::npos;
  const std::string_view days = has_days ? text.substr(0, dash) : "0";
  std::string_view rest = has_days ? text.substr(dash + 1) : text;
  std::vector<std::string_view> parts;
  for (auto colon = rest.find(':'); colon != std::string_view::npos; colon = rest.find(':')) {
    parts.push_back(rest.substr(0, colon));
    rest.remove_prefix(colon + 1);
  }
  parts.push_back(rest);
  constexpr std::string_view kUnits{"hms"};
  const bool is_clock = (has_days || parts.size() > 1) && parts.size() <= kUnits.size();
  if (!is_clock || !is_digits(days) || !std::all_of(parts.begin(), parts.end(), is_digits))
    return {};
  std::string meant;
  add_part(meant, days, 'd');
  // Behind days the first part is hours, as in Slurm; without them the last is seconds.
  const std::size_t first_unit = has_days ? 0 : kUnits.size() - parts.size();
  for (std::size_t i = 0; i < parts.size(); ++i) add_part(meant, parts[i], kUnits[first_unit + i]);
  return meant.empty() ? "0s" : meant;
}

/// `10m` for `10min` and `10 minutes`. Empty for other words.
std::string meant_word(std::string_view text) {
  const auto number = read_number(text);
  if (!number) return {};
  std::string_view unit = number->suffix;
  if (unit == "ms") return {};  // no plural of m
  if (unit.size() > 1 && unit.back() == 's') unit.remove_suffix(1);
  for (const std::string_view word : {"second", "minute", "hour", "day"})
    if (unit == word || unit == word.substr(0, 3) || unit == word.substr(0, 1) ||
        (word == "hour" && unit == "hr"))
      return std::string{text.substr(0, text.size() - number->suffix.size())} + word.front();
  return {};
}

/// What somebody meant who writes a duration as other tools do; of a bare number both units that
/// it may stand for. Empty when that is not clear.
std::string meant_duration(std::string_view text) {
  const std::string whole = folded(text);
  if (is_digits(whole)) return whole + "s for seconds or " + whole + "m for minutes";
  const std::string clock = meant_clock(whole);
  return clock.empty() ? meant_word(whole) : clock;
}

caf::error bad_amount(std::string_view resource, std::string_view text,
                      const std::string& expected) {
  return make_error(ErrorCode::invalid_input,
                    "'" + std::string{text} + "' is not an amount of " + std::string{resource} +
                        "; write " + expected,
                    std::string{resource});
}

/// `1 to 999` or, for `0.5`, `500`.
std::string meant_share(std::string_view text) {
  const auto number = read_number(text);
  constexpr Wide kNanoPerMilli = kNano / kMilliPerGpu;
  if (number && number->suffix.empty() && number->nano > 0 && number->nano < kNano &&
      number->nano % kNanoPerMilli == 0)
    return std::to_string(static_cast<Amount>(number->nano / kNanoPerMilli));
  return "1 to 999";
}

/// What to write for an amount of something that is counted.
std::string counted_amount(std::string_view resource, std::string_view text) {
  if (resource == "gpu")
    return "a whole number, or gpu_milli: " + meant_share(text) +
           " for a part of one that tasks share";
  if (resource == kSharedGpus)
    return "thousandths: " + meant_share(text) +
           " for a part of one gpu, or 1000, 2000, .. for "
           "whole ones";
  return "a whole number";
}

/// The number times `factor` if that is whole and not too large.
std::optional<Amount> scaled(const Number& number, Amount factor) {
  const Wide product = number.nano * factor;
  if (product % kNano != 0 || product / kNano > kMaxAmount) return std::nullopt;
  return static_cast<Amount>(product / kNano);
}

using Suffixes = std::span<const std::pair<std::string_view, Amount>>;

constexpr std::array<std::pair<std::string_view, Amount>, 2> kCpuSuffixes{{{"", 1000}, {"m", 1}}};
constexpr std::array<std::pair<std::string_view, Amount>, 4> kMemorySuffixes{
    {{"", 1}, {"MiB", 1}, {"GiB", 1024}, {"TiB", 1024 * 1024}}};
constexpr std::array<std::pair<std::string_view, Amount>, 1> kCountSuffixes{{{"", 1}}};
constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kDurationSuffixes{
    {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};

std::optional<Amount> factor_of(Suffixes suffixes, std::string_view suffix) {
  for (const auto& [name, factor] : suffixes)
    if (name == suffix) return factor;
  return std::nullopt;
}

/// At most three digits after the point, none of them a trailing zero: `1.5` for 1500.
std::string thousandths(Amount amount) {
  std::string text = std::to_string(amount / 1000);
  const Amount rest = amount % 1000;
  if (rest == 0) return text;
  std::string digits = std::to_string(1000 + rest).substr(1);
  while (digits.back() == '0') digits.pop_back();
  return text + "." + digits;
}

/// As it is written.
std::string largest_amount(bool is_cpu, bool is_memory) {
  return std::to_string(kMaxAmount) + (is_cpu ? "m" : is_memory ? "MiB" : "");
}

}  // namespace

Expected<Amount> parse_amount(std::string_view resource, std::string_view text) {
  const bool cpu = resource == "cpu";
  const bool memory = resource == "memory";
  const std::string expected = cpu      ? "cpus as in 1, 0.5 or 1500m"
                               : memory ? "512MiB, 2GiB, 1TiB or a number of MiB"
                                        : counted_amount(resource, text);
  const Suffixes suffixes = cpu      ? Suffixes{kCpuSuffixes}
                            : memory ? Suffixes{kMemorySuffixes}
                                     : Suffixes{kCountSuffixes};
  const auto number = read_number(text);
  if (!number) return bad_amount(resource, text, expected);
  const auto factor = factor_of(suffixes, number->suffix);
  if (!factor) {
    const std::string meant = memory ? meant_memory(text) : "";
    return bad_amount(resource, text, meant.empty() ? expected : meant);
  }
  if (const auto amount = scaled(*number, *factor)) return *amount;
  if (number->nano * *factor / kNano <= kMaxAmount) return bad_amount(resource, text, expected);
  return make_error(
      ErrorCode::invalid_input,
      "'" + std::string{text} + "' is too much; write at most " + largest_amount(cpu, memory),
      std::string{resource});
}

Expected<NamedAmounts> parse_amounts(std::string_view text) {
  NamedAmounts result;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const auto equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return make_error(ErrorCode::invalid_input,
                        "'" + std::string{part} + "' is not NAME=AMOUNT, as in cpu=8,memory=16GiB");
    const std::string name{part.substr(0, equals)};
    const auto amount = parse_amount(name, part.substr(equals + 1));
    if (!amount) return amount.error();
    if (!result.emplace(name, *amount).second)
      return make_error(ErrorCode::invalid_input, "given twice", name);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return make_error(ErrorCode::invalid_input, "nothing follows the last comma");
  }
  return result;
}

std::string format_amount(std::string_view resource, Amount amount) {
  if (amount >= kUnlimited) return "unlimited";
  if (amount < 0) return "-" + format_amount(resource, -amount);
  if (resource == "cpu") return thousandths(amount);
  if (resource != "memory") return std::to_string(amount);
  constexpr Amount gibibyte = 1024;
  constexpr Amount tebibyte = gibibyte * 1024;
  if (amount != 0 && amount % tebibyte == 0) return std::to_string(amount / tebibyte) + " TiB";
  if (amount != 0 && amount % gibibyte == 0) return std::to_string(amount / gibibyte) + " GiB";
  return std::to_string(amount) + " MiB";
}

Expected<std::int64_t> parse_duration_ms(std::string_view text) {
  const auto bad = [whole = text] {
    const std::string meant = meant_duration(whole);
    return make_error(ErrorCode::invalid_input,
                      "'" + std::string{whole} + "' is not a duration; write " +
                          (meant.empty() ? "1h30m, 90s, 500ms or 2d" : meant));
  };
  const auto too_long = [whole = text] {
    return make_error(ErrorCode::invalid_input, "'" + std::string{whole} +
                                                    "' is too long; write at most " +
                                                    std::to_string(kMaxAmount / 86'400'000) + "d");
  };
  if (text.empty()) return bad();
  Wide total = 0;
  std::int64_t previous = std::numeric_limits<std::int64_t>::max();
  while (!text.empty()) {
    const auto number = read_number(text);
    if (!number) return bad();
    const auto unit = number->suffix.substr(0, number->suffix.find_first_of("0123456789."));
    const auto factor = factor_of(kDurationSuffixes, unit);
    if (!factor || *factor >= previous) return bad();
    previous = *factor;
    const auto part = scaled(*number, *factor);
    if (!part) return number->nano * *factor / kNano > kMaxAmount ? too_long() : bad();
    total += *part;
    text = number->suffix.substr(unit.size());
  }
  if (total > kMaxAmount) return too_long();
  return static_cast<std::int64_t>(total);
}

Expected<std::int64_t> parse_lifetime_ms(std::string_view text) {
  if (text == "never") return std::int64_t{0};
  // So that the moment of its end is one that a wall clock can show.
  constexpr std::int64_t kMost_ms = 36'525LL * 24 * 60 * 60 * 1'000;
  auto lifetime = parse_duration_ms(text);
  if (lifetime && *lifetime > 0 && *lifetime <= kMost_ms) return lifetime;
  return make_error(
      ErrorCode::invalid_input,
      "'" + std::string(text) +
          "' is neither a duration such as 12h or 30m, of at most 100 years, nor never");
}

}  // namespace fairwater::inline model
