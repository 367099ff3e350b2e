// Whether a node that could not start what it was given is given more. Pure: no clock, no messages.
//
//             launches failed                the failures are durable
//   giving ───────────────────> paused ──────────────────────────────> paused until that pause ends
//     ^                                                                        │
//     └──────────── the newest pause ended, mended, agent started anew ────────┘
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "model/job.hpp"
#include "model/time.hpp"

namespace fairwater::inline actors::inline coordinator {

/// So many launches that fail in a row are the node's own fault and will not mend by themselves:
/// one may be a moment's full disk, two the end of it.
inline constexpr std::uint32_t kMaxLaunchFailuresInRow = 3;

class LaunchPauses {
 public:
  struct Pause {
    std::uint64_t number = 0;
    std::int64_t length_ms = 0;
  };

  /// Launches failed: the node is given nothing until a pause from count() on is over.
  void begin(const std::vector<TaskResult>& failed);
  /// The failures are durable. The pause that follows is twice as long as the tasks' own, of which
  /// `longest_backoff_ms` is the longest: by then they have been tried elsewhere.
  [[nodiscard]] Pause count(const std::vector<TaskResult>& failed, std::int64_t longest_backoff_ms,
                            WallTime now);
  /// False for a pause that a later one replaced, or that was cut short.
  [[nodiscard]] bool end(std::uint64_t number);
  /// Attempts ended there. One whose command ran shows that the node can start something, but not
  /// a task that was stopped because its gang had failed launches here.
  void ended(const std::vector<TaskResult>& results, const std::vector<TaskResult>& failed);
  /// An agent that was started anew may be in order.
  void agent_started() { is_paused_ = false; }
  /// An operator, or the node itself, decided what is to become of it.
  void decided();

  [[nodiscard]] bool is_paused() const { return is_paused_; }
  [[nodiscard]] std::uint32_t failures_in_row() const { return failures_in_row_; }
  /// For listings: until when it is given nothing, and why. Empty while it is not paused.
  [[nodiscard]] std::string problem() const { return is_paused_ ? problem_ : std::string{}; }
  /// It should take nothing any more until somebody has mended it.
  [[nodiscard]] bool must_drain() const { return failures_in_row_ >= kMaxLaunchFailuresInRow; }

 private:
  std::uint32_t failures_in_row_ = 0;
  std::uint64_t number_ = 0;  ///< of the newest pause
  bool is_paused_ = false;
  std::string problem_;               ///< of the newest pause
  std::set<JobId> jobs_that_failed_;  ///< of the failures in a row
};

}  // namespace fairwater::inline actors::inline coordinator
