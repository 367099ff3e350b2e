// What decides when a tenant's user comes next: policy/allocator/user_turns.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline allocator {

struct UserShare {
  Units held = 0;            ///< by its tasks that run, but those by which elastic jobs have grown
  std::uint64_t served = 0;  ///< grows with each grant; 0: it has had none
  /// Smaller comes first.
  friend constexpr auto operator<=>(const UserShare&, const UserShare&) = default;
};

/// By name; the empty one's are the jobs without a user.
using UserShares = std::map<std::string, UserShare>;

/// Of grants that have no number in the journal yet: later than all that have, in their order.
inline constexpr std::uint64_t kServedSince = std::uint64_t{1} << 63;

}  // namespace fairwater::inline policy::inline allocator
