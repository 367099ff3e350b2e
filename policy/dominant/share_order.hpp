// Who is next in progressive filling: the user with the smallest `tasks * demand / (total *
// weight)`, the first in input order on a tie. Ghodsi et al., Dominant Resource Fairness (NSDI
// 2011), section 4.2, picks the "user i with lowest dominant share"; dividing by a weight is its
// section 4.3.
//
// Exact. A share is held as floor(share * 2^95) and the remainder of that division. Floors of
// different size order their shares; equal floors belong to equal shares when all denominators are
// below 2^47, because different fractions then differ by more than 2^-94; otherwise the remainders
// decide, in 256 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline dominant {

/// What one more task adds to a user's share: `demand / (total * weight)`.
struct ShareStep {
  Amount demand = 0;  ///< of the dominant resource, 0 to kUnlimited
  Amount total = 0;   ///< of that resource, 0 to kUnlimited
  Weight weight = 1;  ///< 1 to kMaxShareWeight
};
inline constexpr Weight kMaxShareWeight = 0xFFFF'FFFF;

/// A winner tree over the users' shares. Changing one share costs O(log users).
class ShareOrder {
 public:
  /// All users at 0 tasks. Fewer than 2^32 users. O(users).
  explicit ShareOrder(std::span<const ShareStep> steps);

  /// The next user, or none when all retired. O(1).
  [[nodiscard]] std::optional<std::size_t> first() const {
    if (nodes_[1] == kNever) return std::nullopt;
    return static_cast<std::uint32_t>(nodes_[1]);
  }
  /// The user got one more task. Its tasks must fit the total: share at most 1 / weight.
  void advance(std::size_t user);
  /// The user asks for nothing more.
  void retire(std::size_t user) { play(user, kNever); }
  /// Sets the shares of all users at once; `asks[user]` is false for those who retired. O(users).
  void restart(std::span<const std::uint64_t> tasks, const std::vector<bool>& asks);

 private:
  using Bits = unsigned __int128;
  struct Share {
    Bits floor = 0;  ///< of share * 2^95
    Bits rest = 0;   ///< what that division left, below `denominator`
  };
  struct User {
    Share share;
    Share step;
    Bits denominator = 1;
    Amount demand = 0;
    bool can_advance = false;
  };
  static constexpr Bits kNever = ~Bits{0};

  [[nodiscard]] static Share divide(Bits numerator, Bits denominator);
  [[nodiscard]] static Bits key(const Share& share, std::size_t user) {
    return share.floor << 32 | user;
  }
  [[nodiscard]] Bits smaller(Bits a, Bits b) const {
    if (!floors_decide_ && a >> 32 == b >> 32 && a != b) return smaller_by_rest(a, b);
    return a < b ? a : b;
  }
  [[nodiscard]] Bits smaller_by_rest(Bits a, Bits b) const;
  void play(std::size_t user, Bits key);
  void play_all();

  std::vector<User> users_;
  bool floors_decide_ = true;
  std::size_t leaves_ = 1;
  std::vector<Bits> nodes_;  ///< 1 is the root, the children of i are 2i and 2i + 1
};

}  // namespace fairwater::inline policy::inline dominant
