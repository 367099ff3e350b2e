// What tasks print, read on as it comes: for job logs, --attach and what is said of a failure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/core/context.hpp"
#include "cli/core/session.hpp"
#include "model/requests.hpp"

namespace fairwater::inline cli::inline cluster {

/// How long a follower waits for a job's end before it looks for more output.
inline constexpr std::int64_t kOutputInterval_ms = 200;

/// One of a task's two streams, from its beginning.
class TaskOutput {
 public:
  TaskOutput(JobId job, std::uint32_t task, bool standard_error)
      : job_(job), task_(task), standard_error_(standard_error) {}

  /// Hands what came since the last call to `use`. True when that was the last: the attempt has
  /// ended. `wrong_state` as long as the task has not started, `unavailable` as long as its node is
  /// away.
  [[nodiscard]] Expected<bool> read_on(Client& client,
                                       const std::function<void(const std::string&)>& use);
  /// From the beginning again: the task is tried once more.
  void restart() { offset_ = 0; }

 private:
  JobId job_;
  std::uint32_t task_;
  bool standard_error_;
  std::uint64_t offset_ = 0;
};

/// The end of a stream.
struct OutputTail {
  bool standard_error = true;
  std::string text;  ///< empty: the task printed nothing
};
/// The last lines of what the task wrote to standard error, or to standard output when that is
/// nothing.
[[nodiscard]] Expected<OutputTail> tail_of(Session& session, JobId job, std::uint32_t task);
/// The last lines of `text`, as many as a person reads; bytes before them are left out.
[[nodiscard]] std::string last_lines(const std::string& text);

/// Each task costs two calls per look.
inline constexpr std::uint32_t kMaxTasksAttached = 16;

/// Prints what the job's tasks print until it has ended: standard output to standard output,
/// standard error to standard error. Of a job with several tasks every line begins with the task's
/// index in brackets. At most kMaxTasksAttached tasks.
[[nodiscard]] caf::error stream_output(const Context& context, Session& session, JobId job);

}  // namespace fairwater::inline cli::inline cluster
