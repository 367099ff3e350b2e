// An agent's data directory: who it is, and what it must not forget. One agent at a time owns it.
//
//   agent       "fairwater-agent 1" NL "instance " 32 hex digits NL; made once, locked (flock) by
//   the owner high-water  the highest committed cycle that the agent was ever told of, decimal, NL
//   tasks/, logs/, lease.*   process/attempt_file.hpp
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "model/errors.hpp"
#include "process/file_descriptor.hpp"

namespace fairwater {

enum class IfEmpty : bool { refuse, create };

class AgentDirectory {
 public:
  /// Loads the instance id; makes it, once, where the directory is empty or absent and `if_empty`
  /// says so: an agent that lost its directory must not quietly pass for the old one. Errors:
  /// `not_found` (empty, and not to be made), `storage_locked`, `storage_damaged`, `invalid_input`
  /// (somebody else's directory).
  [[nodiscard]] static Expected<AgentDirectory> open(const std::filesystem::path& path,
                                                     IfEmpty if_empty);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// 32 hex digits, different for every directory ever made.
  [[nodiscard]] const std::string& instance() const { return instance_; }
  /// As found when it was opened.
  [[nodiscard]] std::uint64_t high_water_cycle() const { return high_water_cycle_; }
  /// Durable when it returns. One fsync and a rename.
  [[nodiscard]] caf::error keep_high_water(std::uint64_t cycle) const;

 private:
  AgentDirectory() = default;
  std::filesystem::path path_;
  FileDescriptor lock_;
  std::string instance_;
  std::uint64_t high_water_cycle_ = 0;
};

}  // namespace fairwater
