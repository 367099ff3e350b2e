// A simulation file, and how it is changed.
#pragma once

#include <string>

#include <catch2/catch.hpp>

#include "cli/sim/file.hpp"

namespace fairwater {

inline constexpr const char* kSmallFile = R"(
nodes:
  - {name: rack, count: 2, site: north, resources: {cpu: 8, memory: 16GiB}}
tenants:
  - {name: a, weight: 3, quota: 7}
  - {name: b, max: {cpu: 4}}
workload:
  generators:
    - tenant: b
      arrivals: self-similar
      hurst: 0.8
      rate: 2.5
      variation: 0.7
      period: 10s
      duration: 1h
      tasks: [1, 4]
      resources: {cpu: 1, memory: [512MiB, 2GiB]}
      run: [20s, 30s]
      estimate: 1.5
policy: {name: easy, cycle: 1s}
metrics: {sample: 5s, windows: [1m, 1h], horizon: 30m}
end: 2h
seeds: 3
)";

inline std::string refusal_of(const std::string& text) {
  const auto scenario = parse_sim_file(text, "s.yaml");
  REQUIRE_FALSE(scenario);
  const ErrorDetails said = details(scenario.error());
  return said.field + ": " + said.message;
}

inline std::string changed_in(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

inline std::string changed(const std::string& from, const std::string& to) {
  return changed_in(kSmallFile, from, to);
}

}  // namespace fairwater
