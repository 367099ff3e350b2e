// QREA, quota-based elastic allocation by credit: Liu et al. 2018. One round:
//
// 1. Start: users by used / quota, smallest first, where used is the sum of the `min`s of what they
//    run; input order on ties; computed once. A user's queued jobs in their order, those with used
//    + min <= quota: a job starts with `min` units when they are idle; else extras (units above
//    `min`) are taken back, from the user with the smallest credit first, its newest job first, if
//    that makes the job start. A job that cannot start is skipped, and the user's next is looked
//    at.
// 2. Grow: what is idle then goes to the users with the largest credit first, their oldest job
//    first, each up to `max`.
// 3. Credit: `credit += theta * all extras - own extras`, theta being the user's unused quota over
//    everybody's (nothing changes when no quota is unused). Who leaves quota unused earns what
//    those pay who run extras; the sum over all users stays.
//
// Two slips of the paper, read as its text means: formula 3 adds where the text says difference,
// and algorithm 3, line 14, must subtract.
//
// Exact: ratios are compared as fractions; credits are whole numbers of 10^-12 units, shared out by
// cumulative rounding in input order, so that each is off by less than one of them and their sum by
// none. O(users log users + jobs).
#pragma once

#include "policy/elastic/round.hpp"

namespace fairwater::inline policy::inline elastic {

class Qrea final : public ElasticPolicy {
 public:
  [[nodiscard]] ElasticRound round(const ElasticCluster& cluster) const override;
};

// The steps, for policies that add to them.

enum class CreditOrder : std::uint8_t { smallest_first = 0, largest_first = 1 };
/// Users by credit as the round began, input order on ties.
[[nodiscard]] std::vector<std::size_t> users_by_credit(const ElasticCluster& cluster,
                                                       CreditOrder order);
/// What the user may still start within its quota.
[[nodiscard]] Units unused_quota(const RoundInProgress::User& user);
/// Step 1.
void start_by_credit(const ElasticCluster& cluster, RoundInProgress& round);
/// Step 3.
[[nodiscard]] std::vector<Credit> settle_credits(const ElasticCluster& cluster,
                                                 const RoundInProgress& round);

}  // namespace fairwater::inline policy::inline elastic
