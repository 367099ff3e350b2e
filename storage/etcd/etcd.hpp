// etcd's JSON gateway as Fairwater uses it: transactions of puts, ranges and deletions, compaction,
// and what a member says of its state. Nothing else of etcd: no lease, no lock, no read outside of
// a transaction.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/errors.hpp"

namespace fairwater::inline storage::inline etcd {

class Etcd {
 public:
  virtual ~Etcd() = default;
  /// One request, and the first answer of a member. It may be carried out more than once, and
  /// later: what is asked must bear that. `unavailable`: no answer came within the time, or the
  /// members have no leader; whether the request was carried out is not known. `invalid_input`:
  /// etcd refuses it, nothing was done. `disk_full`: the members' store has reached its quota, and
  /// takes nothing more. From any thread; blocks.
  [[nodiscard]] virtual Expected<nlohmann::json> call(const std::string& path,
                                                      const nlohmann::json& request,
                                                      std::int64_t timeout_ms) = 0;
  /// Whether to ask the one of several members that leads them: every other one hands a
  /// transaction on to it, and hears of its outcome later. Many who only look are better spread
  /// over the members. From any thread.
  virtual void prefer_leader(bool /*prefers*/) {}
};

/// Certificates as PEM files; all empty where members speak plain HTTP.
struct EtcdTls {
  std::string ca_file;    ///< who signs the members' certificates
  std::string cert_file;  ///< to show them, with its key; or both empty
  std::string key_file;
};

struct EtcdOptions {
  std::vector<std::string> endpoints;  ///< http://HOST:PORT or https://HOST:PORT
  EtcdTls tls;
};

/// `invalid_input` of `field` unless it is http:// or https:// with HOST:PORT.
[[nodiscard]] caf::error validate_endpoint(const std::string& endpoint, const std::string& field);

/// What connect_etcd() finds wrong before it asks anybody: `invalid_input` of `etcd` or `tls`.
[[nodiscard]] caf::error check_etcd(const EtcdOptions& options);

/// A client with a thread of its own. It asks the member that is preferred, or answered last; the
/// next one as well when that one fails, or has not answered in two fifths of the time.
/// `invalid_input` for what is wrong with the options, or files that cannot be read.
[[nodiscard]] Expected<std::unique_ptr<Etcd>> connect_etcd(const EtcdOptions& options);

}  // namespace fairwater::inline storage::inline etcd
