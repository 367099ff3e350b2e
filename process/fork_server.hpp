// Starts supervisors. One `fairwater-supervisor supervise DIRECTORY` per host is executed once,
// stays small and has one thread, and forks a supervisor for each attempt that its host names: a
// fork of it costs a tenth of executing the program anew, and never copies an agent with its
// threads and locks.
//
//   host                               fork server                      supervisor
//    | -- "12.0.1" (one packet) ------>  |  -- fork -------------------->  |  (reparented when
//    | <- pid or -errno, and a pidfd --  |                                 |   the server ends)
//    closes the socket, or dies          |  ends                           |  goes on
//
// It also starts the host's guard (process/guard.hpp), and another one when that has died.
#pragma once

#include <filesystem>
#include <sys/types.h>

#include "policy/core/types.hpp"
#include "process/cpus.hpp"
#include "process/file_descriptor.hpp"
#include "process/limits.hpp"

namespace fairwater::inline process {

/// The host's end.
class ForkServer {
 public:
  ForkServer(std::filesystem::path program, std::filesystem::path host_directory,
             CgroupPaths cgroup_parent, bool hide_processes)
      : program_(std::move(program)),
        host_directory_(std::move(host_directory)),
        cgroup_parent_(std::move(cgroup_parent)),
        hide_processes_(hide_processes) {}
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;
  ~ForkServer();

  /// Starts the server unless it runs.
  [[nodiscard]] caf::error start();
  /// A pidfd of the attempt's new supervisor. Starts the server anew, once, when it has died; the
  /// attempt itself is safe from being started twice by its lock.
  [[nodiscard]] Expected<FileDescriptor> fork_supervisor(const TaskKey& task);
  /// From now on it, whom it forks and whoever they start run on these processors, but for tasks
  /// that have some of their own.
  void use_cpus(CpuNumbers cpus);

 private:
  [[nodiscard]] Expected<FileDescriptor> request(const TaskKey& task);
  void end();

  std::filesystem::path program_;
  std::filesystem::path host_directory_;
  CgroupPaths cgroup_parent_;
  bool hide_processes_ = false;
  CpuNumbers cpus_;  ///< empty: wherever the host runs
  FileDescriptor socket_;
  pid_t server_ = 0;
};

}  // namespace fairwater::inline process
