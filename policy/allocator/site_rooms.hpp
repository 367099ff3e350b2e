// Which sites may have room for a task: for jobs that prefer some of their allowed sites to others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline allocator {

/// Keeps per site its nodes and, per resource, an upper bound of what any of them has free. What
/// becomes free raises the bound; a look that finds nothing lowers it to what is there.
class SiteRooms {
 public:
  /// Nodes that one look goes through. A preference is worth no more: beyond that a site counts as
  /// full.
  static constexpr std::uint32_t kMaxNodesLookedAt = 1024;

  void add(NodeId node, const std::string& site, const ResourceVector& free);
  void remove(NodeId node, const std::string& site);
  /// The node's free room has grown to `free`.
  void raise(const std::string& site, const ResourceVector& free);

  struct Room {
    ResourceVector free;
    bool may_be_used = true;  ///< by the task that looks for room
  };
  using Look = std::function<Room(NodeId)>;
  /// Whether some node of the site has room for `demand` that may be used. O(log sites) where the
  /// bound tells.
  [[nodiscard]] bool has_room(const std::string& site, const ResourceVector& demand,
                              const Look& look);

 private:
  struct Site {
    std::set<NodeId> nodes;
    ResourceVector most_free;
  };
  std::map<std::string, Site, std::less<>> sites_;
};

}  // namespace fairwater::inline policy::inline allocator
