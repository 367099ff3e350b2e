// Amounts and durations as people write them. Exact: digits are read as integers, never as floating
// point.
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "model/resources.hpp"

namespace fairwater {
namespace {

/// A decimal number times 10^9, so that nine digits after the point are exact.
constexpr Wide kNano = 1'000'000'000;
constexpr std::size_t kMaxDigits = 18;

struct Number {
  Wide nano = 0;
  std::string_view suffix;  ///< what follows the digits
};

/// Splits `1.5GiB` into 1.5 and `GiB`. None without a leading digit, for a point without digits
/// after it, or for more digits than can be exact.
std::optional<Number> read_number(std::string_view text) {
  Number number;
  std::size_t at = 0;
  const auto is_digit = [&] { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  if (!is_digit()) return std::nullopt;
  for (; is_digit(); ++at) {
    if (at >= kMaxDigits) return std::nullopt;
    number.nano = number.nano * 10 + (text[at] - '0');
  }
  number.nano *= kNano;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!is_digit()) return std::nullopt;
    Wide place = kNano / 10;
    for (; is_digit(); ++at, place /= 10) {
      if (place == 0) return std::nullopt;
      number.nano += (text[at] - '0') * place;
    }
  }
  number.suffix = text.substr(at);
  return number;
}

caf::error bad_amount(std::string_view resource, std::string_view text, const char* expected) {
  return make_error(ErrorCode::invalid_input,
                    "'" + std::string{text} + "' is not an amount of " + std::string{resource} +
                        "; write " + expected,
                    std::string{resource});
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

}  // namespace

Expected<Amount> parse_amount(std::string_view resource, std::string_view text) {
  const bool cpu = resource == "cpu";
  const bool memory = resource == "memory";
  const char* expected = cpu      ? "cpus as in 1, 0.5 or 1500m"
                         : memory ? "512MiB, 2GiB, 1TiB or a number of MiB"
                                  : "a whole number";
  const Suffixes suffixes = cpu      ? Suffixes{kCpuSuffixes}
                            : memory ? Suffixes{kMemorySuffixes}
                                     : Suffixes{kCountSuffixes};
  const auto number = read_number(text);
  if (!number) return bad_amount(resource, text, expected);
  const auto factor = factor_of(suffixes, number->suffix);
  if (!factor) return bad_amount(resource, text, expected);
  const auto amount = scaled(*number, *factor);
  if (!amount) return bad_amount(resource, text, expected);
  return *amount;
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
    return make_error(ErrorCode::invalid_input, "'" + std::string{whole} +
                                                    "' is not a duration; write 1h30m, 90s, "
                                                    "500ms or 2d");
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
    if (!part) return bad();
    total += *part;
    text = number->suffix.substr(unit.size());
  }
  if (total > kMaxAmount) return bad();
  return static_cast<std::int64_t>(total);
}

}  // namespace fairwater
