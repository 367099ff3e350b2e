// Slots of tenants in ranked order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline core {

/// Ranked order: heavier first, then by id, in which a coordinator's tenants joined; the same as
/// the allocator's Sequence.
struct RankKey {
  Weight weight = 0;
  std::uint32_t id = 0;  ///< of the tenant
  std::uint32_t slot = 0;
  friend bool operator<(const RankKey& a, const RankKey& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
  }
};

/// A set of them in one piece of memory: deals walk it far more often than it changes. A change
/// moves what is behind it, 24 bytes each.
class RankedList {
 public:
  /// False: it was there.
  bool insert(const RankKey& key) {
    const auto at = std::lower_bound(keys_.begin(), keys_.end(), key);
    const bool is_new = at == keys_.end() || key < *at;
    if (is_new) keys_.insert(at, key);
    return is_new;
  }
  /// False: it was not there.
  bool erase(const RankKey& key) {
    const auto at = std::lower_bound(keys_.begin(), keys_.end(), key);
    const bool is_there = at != keys_.end() && !(key < *at);
    if (is_there) keys_.erase(at);
    return is_there;
  }
  [[nodiscard]] auto begin() const { return keys_.begin(); }
  [[nodiscard]] auto end() const { return keys_.end(); }
  [[nodiscard]] std::size_t size() const { return keys_.size(); }
  [[nodiscard]] bool empty() const { return keys_.empty(); }

 private:
  std::vector<RankKey> keys_;
};

}  // namespace fairwater::inline policy::inline core
