// The names of tenants and nodes, and where nodes are, for all who refer to them by number. The
// coordinator writes it when one comes or goes; whoever shows takes the few that it needs, from any
// thread, and without a message to the coordinator.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "model/node.hpp"
#include "model/requests.hpp"
#include "state/gang.hpp"

namespace fairwater::inline actors::inline coordinator {

class NameDirectory {
 public:
  explicit NameDirectory(std::vector<std::string> resources) {
    all_.resources = std::move(resources);
  }

  void put(TenantId tenant, const std::string& name);
  void put(NodeId node, const std::string& name, const std::string& address);
  void remove(TenantId tenant);
  void remove(NodeId node);

  /// Those that `shown` refers to: journal records or an explanation. O(what is shown).
  template <class Shown>
  [[nodiscard]] NameTable names_in(const Shown& shown) const {
    const std::lock_guard lock(mutex_);
    return fairwater::names_in(shown, all_);
  }
  /// Empty when it is not known.
  [[nodiscard]] std::string name_of(NodeId node) const;
  /// Where a gang's tasks are, by their indices.
  [[nodiscard]] std::vector<GangHost> hosts_of(const std::vector<GangPart>& gang) const;

 private:
  mutable std::mutex mutex_;
  NameTable all_;                            // guarded by mutex_
  std::map<NodeId, std::string> addresses_;  // guarded by mutex_; of those that say
};

}  // namespace fairwater::inline actors::inline coordinator
