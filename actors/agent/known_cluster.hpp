// What an agent knows of its cluster, and when that is to be kept on disk. Pure: no clock, no
// messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "model/ledger_mark.hpp"

namespace fairwater::inline actors::inline agent {

class KnownCluster {
 public:
  /// So long what changes with every report may be late on disk.
  static constexpr std::int64_t kKeepIntervalMs = 1000;

  KnownCluster() = default;
  /// As it is on disk.
  explicit KnownCluster(ClusterMemory memory) : memory_(memory), kept_(std::move(memory)) {}

  [[nodiscard]] const ClusterMemory& memory() const { return memory_; }
  /// Whether a coordinator was deposed by one that is known; an empty id: of the same cluster.
  [[nodiscard]] bool is_deposed(const std::string& cluster_id, std::uint32_t incarnation,
                                std::uint64_t epoch) const;
  /// What an older coordinator or a late answer says changes nothing.
  void learn(const std::string& cluster_id, const LedgerMark& committed, std::uint64_t epoch);
  /// What is to be written now, and counts as written from now on: a newer epoch at once, a number
  /// within kKeepIntervalMs.
  [[nodiscard]] std::optional<ClusterMemory> take_to_keep(std::int64_t now_ms);

 private:
  ClusterMemory memory_;
  ClusterMemory kept_;
  bool is_news_ = true;  ///< what changes next is written at once
  std::int64_t kept_at_ms_ = 0;
};

}  // namespace fairwater::inline actors::inline agent
