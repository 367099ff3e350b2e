// When a coordinator that follows takes over: pure but for the moments that it is told.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <tuple>

#include "daemon/replication/members.hpp"
#include "storage/etcd/etcd_journal.hpp"

namespace fairwater::inline daemon::inline replication {

class LeaderSilence {
 public:
  using Clock = std::chrono::steady_clock;

  /// `own` is this coordinator's name. A leader that lives is heard within `heard_again_ms` of the
  /// moment in which etcd answers again.
  LeaderSilence(const ReplicaConfig& config, std::string own, std::int64_t heard_again_ms);

  /// Nothing can be said while etcd does not answer: the leader is not heard of then, either.
  void lost_sight();
  /// Since then, while the leader was not heard again.
  [[nodiscard]] bool is_blind() const { return was_blind_; }

  /// Whether it is this coordinator's turn, at `now`. The leader has been silent for
  /// `takeover_after`, or for `heard_again_ms` since sight was lost and came back, if that is
  /// less: whoever leads was as blind, and tries as often. The next in line by name comes first.
  [[nodiscard]] bool is_over(const JournalView& view, Clock::time_point now);
  /// Whether who asks for the leader is to wait here for the next one: the leader said that it
  /// goes, or has been silent for longer than beats are apart; and another is the first to take
  /// over, which closes its connections then.
  [[nodiscard]] bool may_wait_for_next(const JournalView& view, Clock::time_point now);

 private:
  void note(const JournalView& view, Clock::time_point now);
  [[nodiscard]] std::int64_t turn(const std::string& leader) const;

  const ReplicaConfig& config_;
  std::string own_;
  std::int64_t heard_again_ms_;
  bool was_blind_ = false;  ///< before `since_`, and nothing was heard from there on
  std::optional<Clock::time_point> since_;
  /// What a leader that lives changes: its epoch, its beats, the newest record.
  std::tuple<std::uint64_t, std::uint64_t, std::uint64_t> heard_;
};

}  // namespace fairwater::inline daemon::inline replication
