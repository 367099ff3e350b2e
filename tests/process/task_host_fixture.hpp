// A task host in a directory of its own, and what the tests ask of it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "process/attempt_file.hpp"
#include "process/task_process.hpp"
#include "process/temporary_directory.hpp"

namespace fairwater {

/// Waits on `condition` until it holds, looking again every few milliseconds; false after ten
/// seconds. For what gives no event: files and processes of others.
bool eventually(const std::function<bool()>& condition);

/// Live processes, zombies left out, one of whose arguments is `marker`.
std::vector<pid_t> processes_with_argument(const std::string& marker);

class HostFixture {
 public:
  explicit HostFixture(LimitMethod method = probe_limits().method);
  ~HostFixture();

  TaskHost& host() { return *host_; }
  /// Ends this host and opens another one on the same directory, as after an agent's restart.
  void reopen();
  void close() { host_.reset(); }
  [[nodiscard]] std::filesystem::path directory() const { return directory_.path(); }
  TaskHostOptions& options() { return options_; }

  /// `sh -c script` as the next task.
  [[nodiscard]] LaunchOrder shell(const std::string& script);
  /// Launches it and waits until a supervisor holds it: until then the next host would end it.
  void launch_held(const LaunchOrder& order);
  /// Launches it and waits for its end.
  TaskResult run(const LaunchOrder& order);
  TaskResult run(const std::string& script) { return run(shell(script)); }
  /// Waits for the end of this attempt.
  TaskResult wait_for(const TaskKey& task);
  [[nodiscard]] std::string output(const TaskKey& task, bool standard_error = false);
  /// A name that no other test's processes carry.
  [[nodiscard]] std::string marker() const { return directory().filename(); }

 private:
  TemporaryDirectory directory_;
  TaskHostOptions options_;
  std::unique_ptr<TaskHost> host_;
  std::uint64_t next_job_ = 1;
  std::vector<TaskResult> results_;
};

}  // namespace fairwater
