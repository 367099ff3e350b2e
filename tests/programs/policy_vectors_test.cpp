// Every worked example of the policy commands, where they are at hand: FAIRWATER_SHARED, or
// `../shared` beside the source tree.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cli/policy/commands.hpp"

namespace fairwater {
namespace {

std::vector<std::filesystem::path> vector_files() {
  const char* shared = std::getenv("FAIRWATER_SHARED");
  const std::filesystem::path folder =
      (shared != nullptr ? std::filesystem::path(shared)
                         : std::filesystem::path(FAIRWATER_SOURCE_DIR) / "tests/programs" / ".." /
                               ".." / ".." / "shared") /
      "vectors";
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(folder)) {
    std::cout << "skipped: no vectors in " << folder << '\n';
    return files;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// The path of the first difference, or nothing. Numbers compare within 1e-9.
std::string difference(const Json& expected, const Json& actual, const std::string& path) {
  if (expected.is_number() && actual.is_number()) {
    const auto e = expected.get<double>();
    const auto a = actual.get<double>();
    return std::fabs(e - a) <= 1e-9 * std::max(1.0, std::fabs(e)) ? "" : path;
  }
  if (expected.type() != actual.type()) return path;
  if (!expected.is_structured()) return expected == actual ? "" : path;
  if (expected.size() != actual.size()) return path;
  if (expected.is_array()) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      std::string found = difference(expected[i], actual[i], path + "[" + std::to_string(i) + "]");
      if (!found.empty()) return found;
    }
    return "";
  }
  for (const auto& [name, value] : expected.items()) {
    if (!actual.contains(name)) return path + "." + name;
    std::string found = difference(value, actual.at(name), path + "." + name);
    if (!found.empty()) return found;
  }
  return "";
}

TEST_CASE("Every vector comes out", "[vector][programs]") {
  for (const std::filesystem::path& file : vector_files()) DYNAMIC_SECTION(file.filename()) {
      std::ifstream stream(file);
      std::ostringstream text;
      text << stream.rdbuf();
      for (const Json& vector : Json::parse(text.str())) {
        INFO(file.filename() << ": " << vector.at("name"));
        std::ostringstream out;
        std::ostringstream err;
        const auto policy = vector.at("policy").get<std::string>();
        const int status = policy_command(policy, vector.at("input").dump(), false, out, err);
        INFO(err.str());
        REQUIRE(status == 0);
        const Json actual = Json::parse(out.str());
        INFO("expected " << vector.at("output").dump() << "\nactual   " << actual.dump());
        CHECK(difference(vector.at("output"), actual, "output").empty());
      }
    }
}

}  // namespace
}  // namespace fairwater
