// etcd as its transactions look from outside, over a network that loses requests and answers.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>

#include "storage/etcd/etcd.hpp"

namespace fairwater::test {

/// What the members agree on.
class EtcdModel {
 public:
  [[nodiscard]] nlohmann::json transact(const nlohmann::json& request);
  /// How many begin with this.
  [[nodiscard]] std::size_t keys_of(const std::string& prefix) const;
  [[nodiscard]] std::optional<std::string> value(const std::string& key) const;
  /// The first key that begins with this.
  [[nodiscard]] std::optional<std::string> first_key(const std::string& prefix) const;

 private:
  [[nodiscard]] bool holds(const nlohmann::json& compare) const;
  [[nodiscard]] nlohmann::json carry_out(const nlohmann::json& operation);

  mutable std::mutex mutex_;
  std::map<std::string, std::string> values_;
  std::int64_t revision_ = 1;
};

/// One client's way to it.
class EtcdLine final : public Etcd {
 public:
  explicit EtcdLine(EtcdModel& model, std::uint64_t seed = 1, std::uint32_t lost_in_100 = 0)
      : model_(model), random_(seed), lost_in_100_(lost_in_100) {}
  Expected<nlohmann::json> call(const std::string& path, const nlohmann::json& request,
                                std::int64_t timeout_ms) override;
  std::atomic<bool> cut = false;  ///< nothing passes, either way
  /// As etcd's --max-request-bytes.
  std::atomic<std::size_t> max_request_bytes = std::size_t{16} << 20;
  std::atomic<bool> full = false;              ///< its store has reached its quota: it takes no put
  std::atomic<std::uint64_t> store_bytes = 0;  ///< in use, as members say
  std::atomic<std::int64_t> compacted_revision = 0;  ///< by the last call of that kind
  /// How long the last call would have waited.
  std::atomic<std::int64_t> waits_ms = 0;

 private:
  EtcdModel& model_;
  std::mutex mutex_;
  std::mt19937_64 random_;  // guarded by mutex_
  std::uint32_t lost_in_100_;
};

}  // namespace fairwater::test
