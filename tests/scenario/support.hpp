// What the scenarios share.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "tests/harness/cluster.hpp"
#include "tests/harness/small_disk.hpp"
#include "tests/harness/work_log.hpp"

namespace fairwater::scenario {

using harness::Cluster;
using harness::ClusterSetup;
using harness::CommandOptions;
using harness::Completed;
using harness::Duration;
using harness::SmallDisk;
using harness::WorkLog;
using nlohmann::json;

/// `./dev test` counts these lines.
inline void skip(const std::string& why) { std::cout << "skipped: " << why << std::endl; }

/// True when this runs as root; else says that the test is skipped.
inline bool is_root_or_skips(const std::string& what) {
  if (geteuid() == 0) return true;
  skip(what + " needs root");
  return false;
}

/// Tenants of equal standing but for their weights: `{{"a", 1}, {"b", 3}}`.
inline std::string tenants(std::initializer_list<std::pair<const char*, int>> weights) {
  std::string text = "tenants:\n";
  for (const auto& [name, weight] : weights) {
    text += fmt::format("  - {{name: {}, weight: {}}}\n", name, weight);
  }
  return text;
}

/// A job file of one-processor tasks.
inline std::string job_file(const std::string& tenant, int tasks, const std::string& command_line) {
  return fmt::format("tenant: {}\ntasks: {}\nresources: {{cpu: 1, memory: 64MiB}}\n{}", tenant,
                     tasks, command_line);
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Every task of every job ran exactly once, by its own account.
inline bool each_ran_once(const WorkLog& log,
                          const std::map<std::uint64_t, std::uint32_t>& tasks_of_job) {
  std::size_t expected = 0;
  const auto starts = log.starts();
  for (const auto& [job, tasks] : tasks_of_job) {
    for (std::uint32_t index = 0; index < tasks; ++index, ++expected) {
      const auto found = starts.find({job, index});
      const int count = found == starts.end() ? 0 : found->second;
      if (count != 1) {
        std::cerr << fmt::format("task {}.{} ran {} times\n", job, index, count);
        return false;
      }
    }
  }
  return starts.size() == expected;
}

/// Its records from that one on.
inline std::vector<json> journal_of(const Cluster& cluster, std::uint64_t since = 1) {
  const Completed done =
      cluster.fairwater({"ledger", "journal", "--json", "--since", std::to_string(since)});
  if (done.status != 0) throw std::runtime_error("ledger journal said: " + done.errors);
  std::vector<json> records;
  std::istringstream lines(done.output);
  for (std::string line; std::getline(lines, line);) records.push_back(json::parse(line));
  return records;
}

/// The journal rebuilds to what is stored, and all nets sum to zero.
inline bool ledger_is_sound(const Cluster& cluster) {
  const json verified = cluster.ask({"ledger", "verify"});
  return verified["ok"] == true && verified["net_sum"] == 0 && verified["differences"].empty();
}

}  // namespace fairwater::scenario
