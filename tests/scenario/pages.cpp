#include "tests/scenario/pages.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include <catch2/catch.hpp>

namespace fairwater::scenario {
namespace {

/// In the order of the page.
struct Block {
  std::string kind;
  std::string text;
};
std::vector<Block> blocks_of(const std::string& page) {
  std::vector<Block> blocks;
  bool is_inside = false;
  std::istringstream lines(page);
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

/// `..` in the pattern stands for anything.
bool matches(const std::string& line, const std::string& pattern) {
  std::size_t at = 0;
  std::size_t from = 0;
  for (bool is_anchored = true; from <= pattern.size(); is_anchored = false) {
    const auto dots = std::min(pattern.find("..", from), pattern.size());
    const std::string part = pattern.substr(from, dots - from);
    const auto found = line.find(part, at);
    if (found == std::string::npos || (is_anchored && found != 0)) return false;
    at = found + part.size();
    if (dots == pattern.size()) return part.empty() || at == line.size();
    from = dots + 2;
  }
  return true;
}

/// The first line of the page's text that the output does not have, in that order; empty: none.
std::string missing_line(const std::string& output, const std::string& expected) {
  std::istringstream lines(output);
  std::istringstream wanted(expected);
  std::string line;
  for (std::string pattern; std::getline(wanted, pattern);) {
    bool found = false;
    while (!found && std::getline(lines, line)) found = matches(line, pattern);
    if (!found) return pattern;
  }
  return {};
}

}  // namespace

void check_page(const Cluster& cluster, const std::string& page) {
  check_page(
      cluster.directory(),
      {{"FAIRWATER_ADDRESS", cluster.address()}, {"FAIRWATER_TOKEN", cluster.operator_token()}},
      page);
}

void check_page(const std::filesystem::path& directory,
                std::map<std::string, std::string> environment, const std::string& page) {
  environment["PATH"] = harness::programs_directory().string() + ":/usr/bin:/bin";
  const auto blocks = blocks_of(read_file(std::string(FAIRWATER_SOURCE_DIR) + "/" + page));
  REQUIRE(blocks.size() >= 2);
  for (std::size_t i = 0; i < blocks.size(); i += 2) {
    INFO(blocks[i].text);
    REQUIRE(blocks[i].kind == "sh");
    REQUIRE(i + 1 < blocks.size());
    REQUIRE(blocks[i + 1].kind == "text");
    CommandOptions options;
    options.command = {"bash", "-ec",
                       "exec 2>&1; cd " + directory.string() + "\n" + blocks[i].text};
    options.environment = environment;
    const Completed done = harness::run(options, {}, Duration(300'000));
    INFO(done.output);
    CHECK(done.status == 0);
    CHECK(missing_line(done.output, blocks[i + 1].text).empty());
  }
}

}  // namespace fairwater::scenario
