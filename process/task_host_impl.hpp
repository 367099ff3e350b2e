// What a host of tasks is made of; for the files of process/ that implement it (task_launch.cpp
// starts attempts, task_process.cpp has the rest).
#pragma once

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <sys/epoll.h>
#include <utility>
#include <vector>

#include "process/attempt_file.hpp"
#include "process/cpu_affinity.hpp"
#include "process/cpuset.hpp"
#include "process/forgotten_tasks.hpp"
#include "process/fork_server.hpp"
#include "process/host_cgroups.hpp"
#include "process/lease.hpp"
#include "process/removal_thread.hpp"
#include "process/task_process.hpp"

namespace fairwater::inline process {

/// What an attempt ends as of which nobody recorded the end.
struct Unrecorded {
  EndReason reason = EndReason::supervisor_lost;
  std::string why = "its supervisor vanished without recording how it ended";
};

class TaskHost::Impl {
 public:
  Impl(TaskHostOptions options, FileDescriptor work, OwnCgroups cgroups, Lease lease,
       std::unique_ptr<ForgottenTasks> forgotten)
      : options_(std::move(options)),
        work_lock_(std::move(work)),
        cgroup_parent_(std::move(cgroups.paths)),
        cgroup_claims_(std::move(cgroups.claims)),
        lease_(std::move(lease)),
        forgotten_(std::move(forgotten)),
        fork_server_(options_.supervisor, options_.directory, cgroup_parent_,
                     options_.hide_processes),
        events_(::epoll_create1(EPOLL_CLOEXEC)) {}

  ~Impl() {
    // A supervisor that is about to start its command needs them.
    if (running_.empty()) remove_cpusets(cgroup_parent_);
    TaskCgroup(cgroup_parent_).remove();
  }

  [[nodiscard]] caf::error start() {
    if (!events_) return system_error("cannot make an epoll", errno);
    return fork_server_.start();
  }

  /// The attempts that are there are of an earlier boot: this is the first host since the last one.
  [[nodiscard]] caf::error find_earlier_boots_attempts();
  Expected<std::vector<FoundTask>> scan();
  caf::error launch(const LaunchOrder& order);
  caf::error stop(const TaskKey& task, EndReason reason);
  caf::error tell_members(const TaskKey& task, const JobMembers& members, std::uint64_t number);
  [[nodiscard]] bool runs(const TaskKey& task) const { return running_.contains(task); }
  [[nodiscard]] int event_fd() const { return events_.get(); }
  std::vector<TaskResult> collect();
  void forget(const TaskKey& task);
  void extend_lease(const LeaseTimes& times) {
    lease_.extend(times);
    forgotten_->expire();
  }
  [[nodiscard]] Expected<std::string> read_log(const TaskKey& task, bool standard_error,
                                               std::uint64_t offset, std::uint32_t max_bytes) const;

 private:
  /// An attempt that lives, also when only its supervisor does, or only its host knows.
  struct LiveAttempt {
    FileDescriptor supervisor;  ///< a pidfd
    NamedDevices devices;
    Amount shared_milli = 0;  ///< HeldDevices::shared_milli
    CpuNumbers cpus;          ///< of its own
    bool in_shared_cpuset = false;
    std::int64_t lease_ms = 0;
  };

  [[nodiscard]] AttemptFile file_of(const TaskKey& task) const {
    return {options_.directory, task};
  }
  [[nodiscard]] caf::error watch(const TaskKey& task, LiveAttempt attempt);
  [[nodiscard]] Expected<NamedDevices> pick_devices_for(const LaunchOrder& order) const;
  [[nodiscard]] bool runs_task_of(JobId job) const;
  void remove_members_file(JobId job);
  [[nodiscard]] std::set<std::uint32_t> own_cpus() const;
  [[nodiscard]] Expected<CpuNumbers> pick_cpus_for(const LaunchOrder& order) const;
  void share_other_cpus();
  [[nodiscard]] Expected<FoundTask> inspect(const TaskKey& task, const Unrecorded& end);
  [[nodiscard]] Expected<FoundTask> adopt(const TaskKey& task, FileDescriptor supervisor,
                                          AttemptRecord record);
  void end_processes(const AttemptFile& file, const AttemptRecord& record) const;
  [[nodiscard]] TaskResult clean_up(const AttemptFile& file, const AttemptRecord& record,
                                    const Unrecorded& end);
  void remove_left_work_directories();

  TaskHostOptions options_;
  FileDescriptor work_lock_;
  CgroupPaths cgroup_parent_;
  CgroupClaims cgroup_claims_;
  Lease lease_;
  std::unique_ptr<ForgottenTasks> forgotten_;
  RemovalThread removals_;
  ForkServer fork_server_;
  FileDescriptor events_;
  std::vector<Cpu> machine_ = read_cpus(usable_cpus());
  CpuNumbers shared_cpus_;  ///< by all that have none of their own; empty: not looked at yet
  std::set<TaskKey> of_earlier_boot_;  ///< also those whose files say nothing any more
  std::map<TaskKey, LiveAttempt> running_;
  std::map<JobId, std::uint64_t>
      told_members_;  ///< of jobs that run here, the newest word's number
  std::map<int, TaskKey> by_descriptor_;
};

}  // namespace fairwater::inline process
