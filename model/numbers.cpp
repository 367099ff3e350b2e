#include "model/numbers.hpp"

namespace fairwater::inline model {
namespace {

constexpr std::size_t kMaxDigits = 18;

}  // namespace

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

std::string millionths_text(std::int64_t millionths) {
  constexpr std::int64_t kMillion = 1'000'000;
  std::string text = std::to_string(millionths / kMillion);
  std::string fraction = std::to_string(kMillion + millionths % kMillion).substr(1);
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  return fraction.empty() ? text : text + "." + fraction;
}

}  // namespace fairwater::inline model
