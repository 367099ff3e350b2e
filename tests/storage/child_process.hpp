// Runs a hidden test case of this very executable in another process.
#pragma once

#include <string>
#include <sys/types.h>

namespace fairwater::test {

class ChildProcess {
 public:
  /// Starts `test_storage TEST_CASE` with FAIRWATER_CHILD set to `argument`. What the child writes
  /// to descriptor 3 can be read here.
  ChildProcess(const std::string& test_case, const std::string& argument);
  /// Kills it unless it ended.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Reads what is there; waits up to `timeout_ms` for the first byte. Empty at the end or timeout.
  [[nodiscard]] std::string read_some(int timeout_ms);
  /// Everything until the child closes its end.
  [[nodiscard]] std::string read_all();
  void kill();
  /// Exit status, or 128 + signal.
  int wait();

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
};

/// Within the child: the argument it was given; empty when it was not started by a ChildProcess.
[[nodiscard]] std::string child_argument();
/// Within the child: writes a line to the parent.
void tell_parent(const std::string& line);

}  // namespace fairwater::test
