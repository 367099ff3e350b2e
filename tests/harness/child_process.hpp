// Real processes for scenarios, benches and the story: started, waited for with a deadline, never
// left behind.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace fairwater::harness {

using Duration = std::chrono::milliseconds;

struct CommandOptions {
  std::vector<std::string> command = {};                ///< the first is a path, or found in PATH
  std::map<std::string, std::string> environment = {};  ///< added to this process's own
  std::string network_namespace = {};  ///< as `ip netns` names it; empty: this process's
  std::filesystem::path error_file =
      {};  ///< standard error is appended there; empty: shared with ours
};

/// A running child. Killed with SIGKILL when the object goes, and by the kernel when this process
/// dies.
class ChildProcess {
 public:
  /// Throws std::runtime_error when it cannot be started.
  explicit ChildProcess(const CommandOptions& options);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void send_signal(int signal) const;
  /// The exit status, 128 + signal when a signal ended it. Throws when it still runs after `limit`.
  int wait(Duration limit);
  /// True until it has ended and `wait` or this was called.
  [[nodiscard]] bool running();
  /// The next line of its standard output, without the newline. Throws when none comes within
  /// `limit`.
  std::string read_line(Duration limit);

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  int status_ = -1;
  std::string buffered_;
};

struct Completed {
  int status = 0;  ///< 128 + signal when a signal ended it
  std::string output;
  std::string errors;
};
/// Runs a command to its end. Throws when it runs longer than `limit` (and kills it).
Completed run(const CommandOptions& options, std::string_view input = {},
              Duration limit = Duration(180'000));

/// Makes this process the parent of every orphan below it, so that `kill_descendants` finds them
/// all.
void adopt_orphans();
/// Kills everything that descends from `root` (0: from this process) but is not `root` itself. With
/// adopt_orphans that includes what daemons left behind.
void kill_descendants(pid_t root = 0);
/// Process ids of everything that descends from `root`, in no particular order.
[[nodiscard]] std::vector<pid_t> descendants(pid_t root);

/// Polls until `condition` holds. Throws naming `what` when it does not within `limit`.
void wait_until(std::string_view what, Duration limit, const std::function<bool()>& condition);

}  // namespace fairwater::harness
