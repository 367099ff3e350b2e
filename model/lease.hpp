// For how long a node's tasks may run without word from a coordinator.
//
// A task has the cluster's ordinary lease, or a longer one that its job asks for. Both ends bound
// the latter by what the coordinator that answers says is the longest, so neither relies on what an
// earlier coordinator was configured with.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/time.hpp"

namespace fairwater::inline model {

/// The longest that a job, or a cluster, may ask for.
inline constexpr std::int64_t kMaxLease_ms = 24LL * 3'600'000;

/// Clocks of machines may differ by a hundredth. The grace has room for that within the ordinary
/// lease; what goes on for longer is waited for as much longer.
[[nodiscard]] constexpr std::int64_t with_drift(std::int64_t lease_ms, std::int64_t ordinary_ms) {
  return lease_ms + (lease_ms - ordinary_ms + 99) / 100;
}

/// What a coordinator gives.
struct LeaseBounds {
  std::int64_t ordinary_ms = 0;
  std::int64_t longest_ms = 0;  ///< not below `ordinary_ms`
  /// Of a task whose job asks for `own_ms`; 0: for none.
  [[nodiscard]] constexpr std::int64_t lease_of(std::int64_t own_ms) const {
    return std::clamp(own_ms, ordinary_ms, longest_ms);
  }
  /// After so long without a word from its node that lease is over by the node's clock, too, as far
  /// as the ordinary one would be. The grace does not count in.
  [[nodiscard]] constexpr std::int64_t silence_of(std::int64_t own_ms) const {
    return with_drift(lease_of(own_ms), ordinary_ms);
  }
};

/// For how long agents may run tasks without word from a coordinator, as it notes when it starts.
struct LeaseTerms {
  /// The longest. 0: not noted by an older version.
  std::int64_t lease_ms = 0;
  std::int64_t grace_ms = 0;
  /// No lease that earlier coordinators gave outlasts this moment, grace included.
  WallTime older_until;
  /// Of tasks without a lease of their own. 0: all leases are as long.
  std::int64_t ordinary_ms = 0;
  WallTime ordinary_older_until = {};  ///< likewise, of those tasks
  friend bool operator==(const LeaseTerms&, const LeaseTerms&) = default;
};

/// For so long after its successor's start a deposed coordinator may still answer reports: before
/// it answers, it makes sure that it led a second ago.
inline constexpr std::int64_t kDeposedAnswersMs = 1000;

/// How long agents may still run tasks by the leases of earlier coordinators, grace included.
struct OlderLeases {
  std::int64_t ordinary_ms = 0;  ///< tasks without a lease of their own
  std::int64_t longest_ms = 0;   ///< any task
  friend bool operator==(const OlderLeases&, const OlderLeases&) = default;
};
/// Of a coordinator with these terms, which has just ended or been deposed, and of those before it.
/// A wall clock that was set in between cannot make it shorter than the last one's own terms.
[[nodiscard]] OlderLeases older_leases(const LeaseTerms& previous, WallTime now);

/// What a coordinator notes that starts now.
[[nodiscard]] LeaseTerms lease_terms(const LeaseBounds& bounds, std::int64_t grace_ms,
                                     const OlderLeases& older, WallTime now);

}  // namespace fairwater::inline model
