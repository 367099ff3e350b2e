#include "model/text.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace fairwater::inline model {
namespace {

constexpr std::size_t kMostShownBytes = 100;

unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

/// How many bytes a character takes that begins so; 0: none does.
std::size_t length_of(unsigned first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

/// None where what begins there is not UTF-8.
std::optional<Character> character_at(std::string_view text, std::size_t at) {
  constexpr std::array<std::uint32_t, 5> kLeastOfLength{0, 0, 0x80, 0x800, 0x10000};
  constexpr std::array<unsigned, 5> kFirstBits{0, 0x7f, 0x1f, 0x0f, 0x07};
  const std::size_t bytes = length_of(byte_at(text, at));
  if (bytes == 0 || at + bytes > text.size()) return std::nullopt;
  std::uint32_t code = byte_at(text, at) & kFirstBits.at(bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const unsigned next = byte_at(text, at + i);
    if ((next & 0xc0U) != 0x80) return std::nullopt;
    code = code << 6U | (next & 0x3fU);
  }
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeastOfLength.at(bytes) || is_surrogate || code > 0x10ffff) return std::nullopt;
  return Character{code, bytes};
}

bool is_control(std::uint32_t code) { return code < 0x20 || (code >= 0x7f && code <= 0x9f); }

/// Appends what stands there as it can be shown; how many bytes of the text that was.
std::size_t show_next(std::string_view text, std::size_t at, std::string& shown) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto character = character_at(text, at);
  const std::size_t bytes = character ? character->bytes : 1;
  if (character && !is_control(character->code)) {
    shown += text.substr(at, bytes);
    return bytes;
  }
  for (const char c : text.substr(at, bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    shown += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
  }
  return bytes;
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string shown = "'";
  std::size_t at = 0;
  while (at < text.size() && at < kMostShownBytes) at += show_next(text, at, shown);
  return shown + (at < text.size() ? "..'" : "'");
}

std::string one_line(std::string_view text, std::size_t max_bytes) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t fitting = shown.size();
    at += show_next(text, at, shown);
    if (shown.size() <= max_bytes) continue;
    shown.resize(fitting);
    break;
  }
  return shown;
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto character = character_at(text, at);
    if (!character) return false;
    at += character->bytes;
  }
  return true;
}

std::string fault_of_text(std::string_view text) {
  if (!is_utf8(text)) return quoted(text) + " is not UTF-8; write it in UTF-8";
  for (std::size_t at = 0; at < text.size(); at += length_of(byte_at(text, at)))
    if (is_control(character_at(text, at)->code))
      return quoted(text) + " has control characters; leave them out";
  return {};
}

}  // namespace fairwater::inline model
