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

#include "policy/elastic.hpp"

namespace fairwater {

class Qrea final : public ElasticPolicy {
 public:
  [[nodiscard]] ElasticRound round(const ElasticCluster& cluster) const override;
};

}  // namespace fairwater
