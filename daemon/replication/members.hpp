// Who shares one ledger, and when one of them goes on for another.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/etcd/etcd.hpp"

namespace fairwater::inline daemon::inline replication {

struct ReplicaConfig {
  /// Every coordinator's name, and HOST:PORT by which clients, agents and the others reach it.
  std::map<std::string, std::string> members;
  std::vector<std::string> etcd;  ///< its members' addresses for clients
  EtcdTls tls;
  std::string prefix = "fairwater";  ///< of all keys in etcd
  /// As --quota-backend-bytes of its members; etcd's own default.
  std::uint64_t etcd_quota_bytes = std::uint64_t{2} << 30;
  /// A coordinator that leads and is not heard of for so long is followed by another.
  std::int64_t takeover_after_ms = 700;
};

/// The least that takeover_after may be: the leader beats five times in a second.
inline constexpr std::int64_t kLeastTakeoverMs = 500;
/// Half of it has room for some groups of records and what is on its way.
inline constexpr std::uint64_t kLeastEtcdQuotaBytes = std::uint64_t{64} << 20;

}  // namespace fairwater::inline daemon::inline replication
