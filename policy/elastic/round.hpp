// What the elastic policies share: the cluster as a round changes it, and the moves of a round.
#pragma once

#include <optional>
#include <vector>

#include "policy/elastic/elastic.hpp"

namespace fairwater::inline policy::inline elastic {

/// `left.used / left.quota < right.used / right.quota`, exactly; a quota of 0 is used up already.
[[nodiscard]] bool uses_less_of_quota(Units left_used, Units left_quota, Units right_used,
                                      Units right_quota);

class RoundInProgress {
 public:
  struct Job {
    JobId id;
    Units min = 1;
    Units max = 1;
    Units now = 1;
    bool was_running = false;
    bool killed = false;
    Units given_up = 0;
  };
  struct User {
    Units quota = 0;
    Units used = 0;         ///< sum of the `min`s of its jobs
    Units extras = 0;       ///< sum of what its jobs hold above `min`
    std::vector<Job> jobs;  ///< oldest first; those started in this round come last
  };

  /// Checks the bounds that policy/elastic/elastic.hpp states.
  explicit RoundInProgress(const ElasticCluster& cluster);

  [[nodiscard]] const std::vector<User>& users() const { return users_; }
  [[nodiscard]] Units idle() const { return idle_; }
  /// Everything above `min` that could be taken back.
  [[nodiscard]] Units extras() const { return extras_; }

  /// Users by used / quota as it is now, input order on ties.
  [[nodiscard]] std::vector<std::size_t> by_use_of_quota() const;

  /// Takes extras of `user` back, newest job first, until `wanted` units are idle or none is left.
  void limit(std::size_t user, Units wanted);
  /// Starts a queued job with its `min`, which must be idle.
  void start(std::size_t user, const QueuedJob& job);
  /// Gives idle units, `at_most` so many, to the user's jobs up to `max`, oldest first.
  void grow(std::size_t user, Units at_most = kMaxElasticUnits);
  /// Stops a job that was running.
  void kill(std::size_t user, std::size_t job);

  [[nodiscard]] ElasticRound finish(std::vector<Credit> credit) &&;

 private:
  std::vector<User> users_;
  Units idle_ = 0;
  Units extras_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> limited_;  ///< (user, job) in order of limiting
  ElasticRound result_;
};

/// The credits as they are: for policies without.
[[nodiscard]] std::vector<Credit> credits_of(const ElasticCluster& cluster);

}  // namespace fairwater::inline policy::inline elastic
