#include "tests/scenario/pages.hpp"

#include <sstream>

#include <catch2/catch.hpp>

#include "tests/harness/page.hpp"

namespace fairwater::scenario {
namespace {

/// The first line of the page's text that the output does not have, in that order; empty: none.
std::string missing_line(const std::string& output, const std::string& expected) {
  std::istringstream lines(output);
  std::istringstream wanted(expected);
  std::string line;
  for (std::string pattern; std::getline(wanted, pattern);) {
    bool found = false;
    while (!found && std::getline(lines, line)) found = harness::matches(line, pattern);
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
  const auto blocks = harness::blocks_of(std::string(FAIRWATER_SOURCE_DIR) + "/" + page);
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
