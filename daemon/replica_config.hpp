// How several coordinators share one ledger: the file of --replicas, the same for all of them, or
// `replicas` in coordinator.yaml.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/errors.hpp"
#include "storage/etcd/etcd.hpp"

namespace fairwater {

struct ReplicaConfig {
  /// Every coordinator's name, and HOST:PORT by which clients, agents and the others reach it.
  std::map<std::string, std::string> members;
  std::vector<std::string> etcd;  ///< its members' addresses for clients
  EtcdTls tls;
  std::string prefix = "fairwater";  ///< of all keys in etcd
  /// A coordinator that leads and is not heard of for so long is followed by another.
  std::int64_t takeover_after_ms = 700;
};

/// The least that takeover_after may be: the leader beats five times in a second.
inline constexpr std::int64_t kLeastTakeoverMs = 500;

/// Of a file's content; `name` is how errors call it.
[[nodiscard]] Expected<ReplicaConfig> read_replicas(std::string_view text, const std::string& name);
/// Errors name fields below `path`, such as `replicas.`.
[[nodiscard]] caf::error validate(const ReplicaConfig& config, const std::string& path);
/// `member` is this coordinator's name in it.
[[nodiscard]] caf::error check_member(const ReplicaConfig& config, const std::string& member);

}  // namespace fairwater
