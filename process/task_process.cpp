#include "process/task_process.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "process/members_file.hpp"
#include "process/supervisor.hpp"
#include "process/task_host_impl.hpp"
#include "process/work_directory.hpp"

namespace fairwater::inline process {
namespace {

const Unrecorded kWentWithMachine{EndReason::node_lost, "its machine went down"};
constexpr int kLockTries = 10'000;  // ten seconds and more: on a busy machine starts take a while
TaskResult unknown_end(const TaskKey& task, const caf::error& error) {
  TaskResult result;
  result.task = task;
  result.reason = EndReason::supervisor_lost;
  result.finished_at = wall_time_now();
  result.message = details(error).message;
  return result;
}

bool has_ended(const FileDescriptor& process) {
  pollfd ended{process.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) > 0;
}

}  // namespace

caf::error TaskHost::Impl::watch(const TaskKey& task, LiveAttempt attempt) {
  const int supervisor = attempt.supervisor.get();
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = supervisor;
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, supervisor, &event) != 0)
    return system_error("cannot watch a supervisor", errno);
  by_descriptor_[supervisor] = task;
  running_[task] = std::move(attempt);
  return caf::none;
}

caf::error TaskHost::Impl::find_earlier_boots_attempts() {
  const auto tasks = AttemptFile::list(options_.directory);
  if (!tasks) return tasks.error();
  of_earlier_boot_.insert(tasks->begin(), tasks->end());
  return {};
}

Expected<std::vector<FoundTask>> TaskHost::Impl::scan() {
  const auto tasks = AttemptFile::list(options_.directory);
  if (!tasks) return tasks.error();
  std::vector<FoundTask> found;
  for (const TaskKey& task : *tasks) {
    if (forgotten_->contains(task)) continue;
    if (running_.contains(task)) {
      found.push_back({task, true, std::nullopt, running_.at(task).lease_ms});
      continue;
    }
    auto one = inspect(task, of_earlier_boot_.contains(task) ? kWentWithMachine : Unrecorded{});
    if (!one) return one.error();
    found.push_back(std::move(*one));
  }
  remove_left_work_directories();
  share_other_cpus();
  return found;
}

/// Those of tasks that ended while nobody could remove them: whose supervisor was killed, or the
/// machine went down.
void TaskHost::Impl::remove_left_work_directories() {
  std::error_code ignored;  // what cannot be listed now is for the next start
  for (const auto& entry : std::filesystem::directory_iterator(options_.work_directory, ignored)) {
    const auto task = attempt_from_name(entry.path().filename().string());
    if (task && !running_.contains(*task))
      removals_.add([directory = entry.path()] { remove_tree(directory); });
    if (const auto job = job_of_members_file(entry.path()); job && !runs_task_of(*job))
      std::filesystem::remove(entry.path(), ignored);
  }
}

Expected<FoundTask> TaskHost::Impl::adopt(const TaskKey& task, FileDescriptor supervisor,
                                          AttemptRecord record) {
  LiveAttempt attempt{std::move(supervisor), {}, 0, {}, false, 0};
  if (record.order) {
    attempt.lease_ms = record.order->launch.lease_ms;
    attempt.devices = std::move(record.order->devices);
    attempt.shared_milli = shared_milli_of(record.order->launch.limits);
    attempt.cpus = std::move(record.order->cpus);
    attempt.in_shared_cpuset = !record.order->shared_cpuset.empty();
  }
  const std::int64_t lease_ms = attempt.lease_ms;
  if (auto error = watch(task, std::move(attempt))) return error;
  return FoundTask{task, true, std::nullopt, lease_ms};
}

/// What became of an attempt that this host does not watch. Whoever holds its lock may say so: a
/// supervisor, or we, and then no supervisor will start it any more.
Expected<FoundTask> TaskHost::Impl::inspect(const TaskKey& task, const Unrecorded& end) {
  const auto file = file_of(task);
  for (int tries = 0; tries < kLockTries; ++tries) {
    const auto lock = file.try_lock();  // first: what is read with it in hand stays
    auto record = file.read();
    if (!record) return record.error();
    if (record->result) return FoundTask{task, false, std::move(*record->result)};
    auto supervisor =
        record->started ? open_process(record->started->supervisor) : FileDescriptor();
    // One that lives and does not hold the file has another, of which this is a copy.
    if (supervisor && (!lock || !has_ended(supervisor)))
      return adopt(task, std::move(supervisor), std::move(*record));
    if (lock) return FoundTask{task, false, clean_up(file, *record, end)};
    ::poll(nullptr, 0, 1);  // between its fork and `started`, or between its end and unlocking
  }
  return make_error(ErrorCode::storage_damaged,
                    file.path().string() + " is locked, but names no process that supervises it");
}

caf::error TaskHost::Impl::stop(const TaskKey& task, EndReason reason) {
  const auto found = running_.find(task);
  if (found == running_.end())
    return make_error(ErrorCode::not_found, "attempt " + attempt_name(task) + " does not run here");
  return order_stop(found->second.supervisor, reason);
}

bool TaskHost::Impl::runs_task_of(JobId job) const {
  const auto first = running_.lower_bound(TaskKey{job, 0, 0});
  return first != running_.end() && first->first.job == job;
}

caf::error TaskHost::Impl::tell_members(const TaskKey& task, const JobMembers& members,
                                        std::uint64_t number) {
  const auto found = running_.find(task);
  if (found == running_.end()) return {};
  std::uint64_t& newest = told_members_[members.job];
  if (number > newest) {
    const auto file = members_file(options_.work_directory, members.job);
    if (auto error = replace_members_file(file, members)) return error;
    newest = number;
  }
  if (members.notify_signal == 0) return {};
  // A supervisor would take what is no signal for the order to stop.
  if (members.notify_signal < 0 || members.notify_signal >= SIGRTMAX)
    return make_error(ErrorCode::invalid_input,
                      "job " + std::to_string(members.job.value) + "'s tasks are to get signal " +
                          std::to_string(members.notify_signal) + ", which is none",
                      "notify_signal");
  return order_notice(found->second.supervisor, members.notify_signal);
}

/// With the last task of its job here.
void TaskHost::Impl::remove_members_file(JobId job) {
  if (runs_task_of(job)) return;
  told_members_.erase(job);
  std::error_code ignored;  // most jobs have none
  std::filesystem::remove(members_file(options_.work_directory, job), ignored);
}

std::vector<TaskResult> TaskHost::Impl::collect() {
  std::vector<TaskResult> results;
  std::array<epoll_event, 64> events;
  for (;;) {
    const int count = ::epoll_wait(events_.get(), events.data(), events.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    for (int i = 0; i < count; ++i) {
      const int supervisor = events[static_cast<std::size_t>(i)].data.fd;
      const auto entry = by_descriptor_.find(supervisor);
      const TaskKey task = entry->second;
      by_descriptor_.erase(entry);
      // Closing it is not enough while the fork server, which sent it, still has its own.
      ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, supervisor, nullptr);
      running_.erase(task);
      remove_members_file(task.job);
      auto found = inspect(task, {});
      if (!found) {
        end_processes(file_of(task), {});
        results.push_back(unknown_end(task, found.error()));
      }
      if (found && found->result) results.push_back(std::move(*found->result));
    }
    if (count < static_cast<int>(events.size())) break;
  }
  share_other_cpus();
  return results;
}

/// Of an attempt that nobody supervises, also when its file does not tell its cgroup any more.
void TaskHost::Impl::end_processes(const AttemptFile& file, const AttemptRecord& record) const {
  const TaskCgroup cgroup(record.order ? record.order->cgroup
                                       : cgroup_member(cgroup_parent_, attempt_name(file.task())));
  if (cgroup.empty())
    kill_until_gone([mark = "FAIRWATER_ATTEMPT=" + file.path().string()] {
      return processes_with_environment(mark);
    });
  cgroup.kill_and_wait();
  cgroup.remove();
}

/// Nobody supervises the attempt, and nobody recorded its end. The caller holds its lock.
TaskResult TaskHost::Impl::clean_up(const AttemptFile& file, const AttemptRecord& record,
                                    const Unrecorded& end) {
  TaskResult result;
  result.task = file.task();
  result.reason = end.reason;
  result.message = end.why;
  if (record.started) result.started_at = record.started->started_at;
  const bool this_boot = record.started && record.started->supervisor.boot_id == current_boot_id();
  if (record.started && !this_boot)
    result.reason = EndReason::node_lost;
  else
    end_processes(file, record);
  if (record.order && !record.order->work_directory.empty())
    removals_.add([directory = record.order->work_directory] { remove_tree(directory); });
  result.finished_at = wall_time_now();
  if (auto error = file.replace(record, result)) result.message += "; " + details(error).message;
  return result;
}

void TaskHost::Impl::forget(const TaskKey& task) {
  if (!running_.contains(task)) forgotten_->add(file_of(task));
}

Expected<std::string> TaskHost::Impl::read_log(const TaskKey& task, bool standard_error,
                                               std::uint64_t offset,
                                               std::uint32_t max_bytes) const {
  const auto file = file_of(task);
  const auto& path = file.log(standard_error);
  const FileDescriptor log(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (log) {
    // No file is as long, and the system would refuse to read there.
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
    if (offset > kMost - max_bytes) return std::string();
    std::string piece(max_bytes, '\0');
    const ssize_t got = ::pread(log.get(), piece.data(), max_bytes, static_cast<off_t>(offset));
    if (got < 0) return system_error("cannot read " + path.string(), errno);
    piece.resize(static_cast<std::size_t>(got));
    return piece;
  }
  if (errno != ENOENT) return system_error("cannot open " + path.string(), errno);
  if (::access(file.path().c_str(), F_OK) == 0) return std::string();  // nothing was written
  return make_error(ErrorCode::not_found,
                    "the logs of " + attempt_name(task) + " are not kept here");
}

Expected<std::unique_ptr<TaskHost>> TaskHost::open(TaskHostOptions options) {
  std::error_code error;
  options.directory = std::filesystem::absolute(options.directory, error);
  if (auto failed = AttemptFile::make_directories(options.directory)) return failed;
  if (options.work_directory.empty()) options.work_directory = options.directory / "work";
  options.work_directory = std::filesystem::absolute(options.work_directory, error);
  // Only the default user is sure to be needed; a tenant's run_as may be, where the host is root.
  if (auto failed = make_work_parent(options.work_directory, ::geteuid() == 0,
                                     options.users.fallback != DefaultUser::own))
    return failed;
  auto work = lock_work_parent(options.work_directory);
  if (!work) return work.error();
  auto cgroups = own_cgroups(options);
  if (!cgroups) return cgroups.error();
  const bool is_first_of_boot = !Lease::exists(options.directory);
  auto lease = Lease::open(options.directory);
  if (!lease) return lease.error();
  auto forgotten =
      ForgottenTasks::open(options.directory, options.log_retention, options.wall_clock);
  if (!forgotten) return forgotten.error();
  auto impl = std::make_unique<Impl>(std::move(options), std::move(*work), std::move(*cgroups),
                                     std::move(*lease), std::move(*forgotten));
  if (is_first_of_boot)
    if (auto failed = impl->find_earlier_boots_attempts()) return failed;
  if (auto failed = impl->start()) return failed;
  return std::unique_ptr<TaskHost>(new TaskHost(std::move(impl)));
}

TaskHost::TaskHost(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TaskHost::~TaskHost() = default;

Expected<std::vector<FoundTask>> TaskHost::scan() { return impl_->scan(); }
caf::error TaskHost::launch(const LaunchOrder& order) { return impl_->launch(order); }
caf::error TaskHost::tell_members(const TaskKey& task, const JobMembers& members,
                                  std::uint64_t number) {
  return impl_->tell_members(task, members, number);
}
caf::error TaskHost::stop(const TaskKey& task, EndReason reason) {
  return impl_->stop(task, reason);
}
bool TaskHost::runs(const TaskKey& task) const { return impl_->runs(task); }
int TaskHost::event_fd() const { return impl_->event_fd(); }
std::vector<TaskResult> TaskHost::collect() { return impl_->collect(); }
void TaskHost::forget(const TaskKey& task) { impl_->forget(task); }
void TaskHost::extend_lease(const LeaseTimes& times) { impl_->extend_lease(times); }
Expected<std::string> TaskHost::read_log(const TaskKey& task, bool standard_error,
                                         std::uint64_t offset, std::uint32_t max_bytes) const {
  return impl_->read_log(task, standard_error, offset, max_bytes);
}

}  // namespace fairwater::inline process
