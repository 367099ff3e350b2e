#include "policy/allocator/site_rooms.hpp"

#include <algorithm>

namespace fairwater::inline policy::inline allocator {

void SiteRooms::add(NodeId node, const std::string& site, const ResourceVector& free) {
  sites_[site].nodes.insert(node);
  raise(site, free);
}

void SiteRooms::remove(NodeId node, const std::string& site) {
  const auto found = sites_.find(site);
  if (found == sites_.end()) return;
  found->second.nodes.erase(node);
  if (found->second.nodes.empty()) sites_.erase(found);
}

void SiteRooms::raise(const std::string& site, const ResourceVector& free) {
  ResourceVector& most = sites_[site].most_free;
  for (std::size_t r = 0; r < kMaxResources; ++r) most[r] = std::max(most[r], free[r]);
}

bool SiteRooms::has_room(const std::string& site, const ResourceVector& demand, const Look& look) {
  const auto found = sites_.find(site);
  if (found == sites_.end() || !demand.fits(found->second.most_free)) return false;
  std::uint32_t looked_at = 0;
  ResourceVector most;
  for (const NodeId node : found->second.nodes) {
    if (++looked_at > kMaxNodesLookedAt) return false;
    const Room room = look(node);
    if (room.may_be_used && demand.fits(room.free)) return true;
    for (std::size_t r = 0; r < kMaxResources; ++r) most[r] = std::max(most[r], room.free[r]);
  }
  found->second.most_free = most;
  return false;
}

}  // namespace fairwater::inline policy::inline allocator
