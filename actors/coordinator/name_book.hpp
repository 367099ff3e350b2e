// The names of tenants and nodes, for all who show records that refer to them by number. The
// coordinator writes it when one comes or goes; whoever shows takes the few that it needs, from any
// thread, and without a message to the coordinator.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "model/requests.hpp"

namespace fairwater {

class NameBook {
 public:
  explicit NameBook(std::vector<std::string> resources) { all_.resources = std::move(resources); }

  void put(TenantId tenant, const std::string& name);
  void put(NodeId node, const std::string& name);
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

 private:
  mutable std::mutex mutex_;
  NameTable all_;  // guarded by mutex_
};

}  // namespace fairwater
