#include "tests/harness/page.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace fairwater::harness {

std::vector<PageBlock> blocks_of(const std::filesystem::path& page) {
  std::ifstream lines(page);
  if (!lines) throw std::runtime_error("cannot read " + page.string());
  std::vector<PageBlock> blocks;
  bool is_inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      is_inside = !is_inside;
      if (is_inside) blocks.push_back({line.substr(3), ""});
    } else if (is_inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

bool matches(const std::string& text, const std::string& pattern) {
  std::size_t at = 0;
  for (std::size_t from = 0;;) {
    const std::size_t dots = std::min(pattern.find("..", from), pattern.size());
    const std::string part = pattern.substr(from, dots - from);
    if (dots == pattern.size())
      return text.size() >= at + part.size() && text.ends_with(part) && (from > 0 || text == part);
    const std::size_t found = text.find(part, at);
    if (found == std::string::npos || (from == 0 && found != 0)) return false;
    at = found + part.size();
    from = dots + 2;
  }
}

}  // namespace fairwater::harness
