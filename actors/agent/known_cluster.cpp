#include "actors/agent/known_cluster.hpp"

#include <algorithm>

namespace fairwater::inline actors::inline agent {

bool KnownCluster::is_deposed(const std::string& cluster_id, std::uint32_t incarnation,
                              std::uint64_t epoch) const {
  if (!cluster_id.empty() && cluster_id != memory_.cluster_id) return false;  // it joins another
  return fairwater::is_deposed(memory_, incarnation, epoch);
}

void KnownCluster::learn(const std::string& cluster_id, const LedgerMark& committed,
                         std::uint64_t epoch) {
  const bool joined = cluster_id != memory_.cluster_id;
  // A ledger that was taken back counts its epochs from there.
  const bool new_life = joined || committed.incarnation > memory_.seen.incarnation;
  const std::uint64_t newest = new_life ? epoch : std::max(memory_.epoch, epoch);
  is_news_ = is_news_ || new_life || newest != memory_.epoch;
  if (joined || !is_older(committed, memory_.seen)) memory_ = {cluster_id, committed, newest};
  memory_.epoch = newest;
}

std::optional<ClusterMemory> KnownCluster::take_to_keep(std::int64_t now_ms) {
  if (memory_ == kept_ || (!is_news_ && now_ms < kept_at_ms_ + kKeepIntervalMs)) return {};
  is_news_ = false;
  kept_ = memory_;
  kept_at_ms_ = now_ms;
  return memory_;
}

}  // namespace fairwater::inline actors::inline agent
