// QREA with a debt line: QREA (policy/elastic/qrea.hpp) with one step more between starting and
// growing.
//
// Why: in QREA a user that always has work goes on taking what the others leave idle, however much
// it owes; credits then drift apart without bound, and no order in which extras are handed out
// changes that, as nobody else asks for them. The line bounds it, at the price of units that stay
// idle.
//
// 1. Start: as QREA.
// 2. Debt line: a user whose credit is below -(line * quota) keeps at most the extras that it
//    earns, its part (unused quota over everybody's) of all extras there are then, rounded down; it
//    gives up the rest, newest job first, and does not grow beyond. So its credit falls no further,
//    but for what others' starts and ends change between two rounds.
// 3. Grow: idle units go to the users with the largest credit first, as in QREA.
// 4. Level (only if asked for): while nothing is idle and a user could still grow, extras move to
//    it from the user with the smallest credit. At most half the difference of their credits moves,
//    which one round's settling then makes up for: two users do not pass the same unit to and fro.
// 5. Credit: as QREA, so the sum stays.
//
// Exact. O(users log users + jobs).
#pragma once

#include <optional>

#include "policy/elastic/elastic.hpp"

namespace fairwater::inline policy::inline elastic {

/// In rounds: how often a user may owe its whole quota. Bound: 10^9.
inline constexpr Units kDebtLineRounds = 10;

struct RebalanceOptions {
  std::optional<Units> debt_line = kDebtLineRounds;  ///< 0 or more; none: no line
  bool level = false;
};

class QreaRebalance final : public ElasticPolicy {
 public:
  explicit QreaRebalance(RebalanceOptions options = {});
  [[nodiscard]] ElasticRound round(const ElasticCluster& cluster) const override;

 private:
  RebalanceOptions options_;
};

}  // namespace fairwater::inline policy::inline elastic
