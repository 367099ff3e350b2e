// The policies that Liu et al. 2018 compare QREA (policy/elastic/qrea.hpp) with, as policies of the
// same shape. Each is known by a phrase, given first; the rest is read as follows.
//
// - BRA, strict quota: a job starts when its `min` fits both its user's quota and what is idle. It
//   never gets more, and nothing is ever taken back. Users and jobs in QREA's order.
// - CREA, by current extras: QREA with the extras of the moment in the place of credit, so nothing
//   is remembered from round to round. Extras are taken back from the user with the most of them
//   first, and idle units go to the user with the fewest first; input order on ties. The order is
//   made anew for each start that needs units, and once for growing.
// - Fair, minimum share and kill to preempt, as Hadoop's Fair Scheduler does: the quota is a
//   minimum share; jobs are not elastic, hold what they have, and used counts all of it.
//   1. Users and jobs in QREA's order start within their quota. What is not idle is won by killing
//      the newest running jobs of users that use more than their quota, the largest used / quota
//      first, as long as the user keeps its quota without them; none is killed if that does not
//      make the job start.
//   2. While a queued job of anyone fits what is idle, the user with the smallest used / quota
//      starts its next one, also beyond its quota. A job that does not fit makes its user wait.
//
// Credits stay as they are. All are exact. O(users log users + jobs) for BRA, and that per start
// for CREA and Fair.
#pragma once

#include "policy/elastic/elastic.hpp"

namespace fairwater::inline policy::inline elastic {

class Bra final : public ElasticPolicy {
 public:
  [[nodiscard]] ElasticRound round(const ElasticCluster& cluster) const override;
};

class Crea final : public ElasticPolicy {
 public:
  [[nodiscard]] ElasticRound round(const ElasticCluster& cluster) const override;
};

class Fair final : public ElasticPolicy {
 public:
  [[nodiscard]] ElasticRound round(const ElasticCluster& cluster) const override;
};

}  // namespace fairwater::inline policy::inline elastic
