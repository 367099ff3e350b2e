#include "daemon/replication/leader_silence.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fairwater::inline daemon::inline replication {
namespace {

/// The others let the next in line try for so long before they do.
constexpr std::int64_t kTurnMs = 150;
/// A beat is heard within so long of the one before, but for a slow moment.
constexpr std::int64_t kSuspectMs = 350;

}  // namespace

LeaderSilence::LeaderSilence(const ReplicaConfig& config, std::string own,
                             std::int64_t heard_again_ms)
    : config_(config), own_(std::move(own)), heard_again_ms_(heard_again_ms) {}

void LeaderSilence::lost_sight() {
  since_.reset();
  was_blind_ = true;
}

void LeaderSilence::note(const JournalView& view, Clock::time_point now) {
  const std::tuple heard{view.leader.epoch, view.beat, view.head ? view.head->number : 0};
  if (!since_) {
    since_ = now;
    heard_ = heard;
  } else if (heard != heard_) {
    since_ = now;
    heard_ = heard;
    was_blind_ = false;
  }
}

bool LeaderSilence::may_wait_for_next(const JournalView& view, Clock::time_point now) {
  note(view, now);
  if (turn(view.leader.name) == 0) return false;
  return view.leader_left || now - *since_ >= std::chrono::milliseconds(kSuspectMs);
}

bool LeaderSilence::is_over(const JournalView& view, Clock::time_point now) {
  note(view, now);
  const std::int64_t silent_ms =
      was_blind_ ? std::min(heard_again_ms_, config_.takeover_after_ms) : config_.takeover_after_ms;
  const std::int64_t patience_ms = view.leader_left ? 0 : silent_ms;
  return now - *since_ >= std::chrono::milliseconds(patience_ms + turn(view.leader.name) * kTurnMs);
}

/// How many others come before, by name from the leader's on.
std::int64_t LeaderSilence::turn(const std::string& leader) const {
  const auto place = [&](const std::string& name) {
    return std::distance(config_.members.begin(), config_.members.lower_bound(name));
  };
  const auto count = static_cast<std::int64_t>(config_.members.size());
  return (place(own_) - place(leader) - (leader.empty() ? 0 : 1) + 2 * count) % count;
}

}  // namespace fairwater::inline daemon::inline replication
