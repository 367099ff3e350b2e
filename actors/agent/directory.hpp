// An agent's data directory: who it is, and what it must not forget. One agent at a time owns it.
//
// The owner locks (flock) the directory, before it looks or makes anything there, and `agent`, the
// only lock that earlier versions know.
//
//   agent       "fairwater-agent 1" NL "instance " 32 hex digits NL; made once, as the first file:
//               beside `agent.new`, which a start that was killed leaves, nothing is there before
//   starts      how often an agent was started here, decimal, NL; counted up before it says
//               anything
//   high-water  cycle [SP hash SP incarnation SP cluster] NL ["epoch" SP epoch NL]: the newest
//               committed cycle that the agent was told of, its record's hash (64 hex digits, or
//               "-"), and the ledger's incarnation, in decimal; the cluster's id; the highest epoch
//               of a coordinator of that incarnation. Older agents kept the cycle alone, or no
//               epoch
//   place       tells the directory from a copy: process/directory_place.hpp
//   tasks/, logs/, lease.*   process/attempt_file.hpp
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "model/node.hpp"
#include "process/file_descriptor.hpp"

namespace fairwater::inline actors::inline agent {

enum class IfEmpty : bool { refuse, create };

class AgentDirectory {
 public:
  /// Loads the instance id; makes it, once, where the directory is empty (or a first start was
  /// killed there) or absent and `if_empty` says so: an agent that lost its directory must not
  /// quietly pass for the old one. Errors: `not_found` (empty, and not to be made),
  /// `storage_locked`, `storage_damaged`, `invalid_input` (somebody else's directory).
  [[nodiscard]] static Expected<AgentDirectory> open(const std::filesystem::path& path,
                                                     IfEmpty if_empty);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// 32 hex digits, different for every directory ever made.
  [[nodiscard]] const std::string& instance() const { return instance_; }
  /// What it remembers, and which start this is: counted when it was opened.
  [[nodiscard]] const AgentIdentity& identity() const { return identity_; }
  /// Durable when it returns. One fsync and a rename.
  [[nodiscard]] caf::error keep_memory(const ClusterMemory& memory) const;
  /// The coordinator has let this run in: from now on the agent is at home here.
  [[nodiscard]] caf::error settle() const;

 private:
  AgentDirectory() = default;
  std::filesystem::path path_;
  FileDescriptor lock_;       ///< of the directory
  FileDescriptor file_lock_;  ///< of `agent`
  std::string instance_;
  AgentIdentity identity_;
};

}  // namespace fairwater::inline actors::inline agent
