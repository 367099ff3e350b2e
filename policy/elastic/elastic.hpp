// Elastic jobs: a job runs with any number of units from `min` to `max`. A policy looks at
// everybody's quota, credit, running and waiting jobs and says which jobs give up units, start, and
// grow in one round.
//
// All policies here are of one shape, so that they can be compared on the same input: ElasticPolicy
// takes an ElasticCluster and returns an ElasticRound. What a round does is applied in the order
// limit, kill, start, grow.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline elastic {

/// An amount of credit in 10^-12 units. Whole numbers, so that the sum over users stays what it was
/// to the last digit.
struct Credit {
  Wide picounits = 0;
  friend constexpr auto operator<=>(Credit, Credit) = default;
};
inline constexpr Wide kPicounitsPerUnit = 1'000'000'000'000;
/// Bounds of what a policy takes: units, quotas and credits (in units) up to this, either sign for
/// credits.
inline constexpr Units kMaxElasticUnits = 1'000'000'000'000'000;
/// Bound of the users of one cluster: with it, a sum of quotas times all extras fits 128 bits.
inline constexpr std::size_t kMaxElasticUsers = 1 << 24;

struct RunningJob {
  JobId id;
  Units min = 1;  ///< 1 <= min <= now <= max
  Units max = 1;
  Units now = 1;
};
struct QueuedJob {
  JobId id;
  Units min = 1;  ///< 1 <= min <= max
  Units max = 1;
};

struct ElasticUser {
  Units quota = 0;  ///< what the user may use of `min`s, 0 or more
  Credit credit;
  std::vector<RunningJob> running;  ///< oldest first
  std::vector<QueuedJob> queued;    ///< first come first
};

struct ElasticCluster {
  Units units = 0;  ///< all there are; at least what runs now
  std::vector<ElasticUser> users;
};

struct JobUnits {
  JobId id;
  Units units = 0;
  friend bool operator==(const JobUnits&, const JobUnits&) = default;
};

struct ElasticRound {
  std::vector<JobUnits> limit;  ///< running jobs that give up units, each once
  std::vector<JobId> kill;  ///< running jobs that are stopped to make room; they would queue again
  std::vector<JobUnits> start;  ///< queued jobs and what they start with
  std::vector<JobUnits> grow;   ///< jobs that get units on top, also among those just started
  std::vector<Credit> credit;   ///< one per user, afterwards
  Units idle = 0;               ///< units that nobody uses afterwards
};

class ElasticPolicy {
 public:
  virtual ~ElasticPolicy() = default;
  [[nodiscard]] virtual ElasticRound round(const ElasticCluster& cluster) const = 0;
};

/// `qrea`, `qrea-rebalance`, `bra`, `crea` or `fair` (see policy/elastic/qrea.hpp,
/// policy/elastic/rebalance.hpp and policy/elastic/baselines.hpp); null for others.
[[nodiscard]] std::unique_ptr<ElasticPolicy> make_elastic_policy(std::string_view name);

}  // namespace fairwater::inline policy::inline elastic
