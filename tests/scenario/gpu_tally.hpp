// What tasks that share GPUs say themselves of which they have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {

/// As JSON, a command that tells its GPUs when it starts and when it ends, also by SIGTERM: what it
/// does between is `body`.
inline std::string tallied(const std::filesystem::path& tally, const std::string& body) {
  const std::string script = fmt::format(
      "say() {{ for d in ${{FAIRWATER_DEVICES//,/ }}; do echo $d $1$FAIRWATER_GPU_SHARE >> {}; "
      "done; }}; trap 'say -; exit 143' TERM; say; {}; say -",
      tally.string(), body);
  return json({"bash", "-c", script}).dump();
}

/// What each start and end of a task said, in order, added up by GPU: the most that was ever taken
/// of one.
inline std::int64_t most_taken(const std::filesystem::path& tally) {
  std::map<std::string, std::int64_t> taken;
  std::int64_t most = 0;
  std::istringstream lines(read_file(tally));
  for (std::string name; lines >> name;) {
    std::int64_t change = 0;
    lines >> change;
    most = std::max(most, taken[name] += change);
  }
  for (const auto& [name, left] : taken) CHECK(left == 0);
  return most;
}

}  // namespace fairwater::scenario
