// The examples of a page of docs/.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fairwater::harness {

/// What stands between two fences.
struct PageBlock {
  std::string kind;  ///< what the first fence says
  std::string text;
};

/// In the order of the page. Throws when it cannot be read.
[[nodiscard]] std::vector<PageBlock> blocks_of(const std::filesystem::path& page);

/// Whether the pattern is of the whole text; `..` in it stands for anything.
[[nodiscard]] bool matches(const std::string& text, const std::string& pattern);

}  // namespace fairwater::harness
