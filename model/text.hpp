// Texts that come from outside and that people are shown later.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fairwater::inline model {

/// As a message quotes it: bytes that are not UTF-8 and control characters as \xHH, and no more
/// than the beginning.
[[nodiscard]] std::string quoted(std::string_view text);
/// One line that can be shown, with the same bytes as \xHH: as much of the text as fits.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t max_bytes);
[[nodiscard]] bool is_utf8(std::string_view text);
/// What keeps the text from being shown as it is, to follow its field in a message: bytes that are
/// not UTF-8, or control characters. Empty: nothing does.
[[nodiscard]] std::string fault_of_text(std::string_view text);

}  // namespace fairwater::inline model
