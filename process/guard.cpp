#include "process/guard.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <limits>
#include <linux/close_range.h>
#include <map>
#include <optional>
#include <poll.h>
#include <set>
#include <signal.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "process/attempt_file.hpp"
#include "process/lease.hpp"
#include "process/memory_board.hpp"
#include "process/process_identity.hpp"

namespace fairwater::inline process {
namespace {

constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSampleMs = 100;
constexpr int kKernelPatienceMs = 5000;  // until a killed process is gone
constexpr std::int64_t kPatienceMs = kLeaseGraceMs + kGuardDelayMs;
/// How soon a first lease, an extended one or one more process to kill is noticed.
constexpr std::int64_t kLookAgainMs = 1000;
/// A supervisor that was forked right before its fork server ended has written `started` by then.
constexpr std::chrono::minutes kStartPatience{1};

class Guard {
 public:
  Guard(std::filesystem::path host_directory, CgroupPaths cgroup_parent, FileDescriptor fork_server)
      : directory_(std::move(host_directory)),
        cgroup_parent_(std::move(cgroup_parent)),
        fork_server_(std::move(fork_server)),
        timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {}

  int run();

 private:
  void take_over() const;
  void wait_until(std::int64_t at_ms);
  [[nodiscard]] std::int64_t next_look_ms(std::int64_t now_ms) const;
  void look(std::int64_t now_ms);

  [[nodiscard]] std::set<TaskKey> cgroups_with_members() const;
  [[nodiscard]] std::vector<pid_t> processes_of_tasks() const;
  [[nodiscard]] bool anything_runs() const;
  [[nodiscard]] bool anything_may_start() const;
  [[nodiscard]] std::int64_t lease_of(const TaskKey& task);
  [[nodiscard]] bool may_run_on(const TaskKey& task, std::int64_t now_ms);
  [[nodiscard]] std::set<pid_t> processes_that_run_on(std::int64_t now_ms);
  [[nodiscard]] bool end_tasks(std::int64_t now_ms);
  [[nodiscard]] bool end_cgroups(std::int64_t now_ms);
  [[nodiscard]] bool end_processes(std::int64_t now_ms);
  void end_stopped_supervisors(const std::set<TaskKey>& tasks) const;

  std::filesystem::path directory_;
  CgroupPaths cgroup_parent_;
  FileDescriptor fork_server_;  ///< empty once that has ended
  FileDescriptor timer_;
  std::optional<Lease> lease_;
  std::int64_t ended_deadline_ms_ = 0;      ///< of the lease whose tasks are all gone
  std::int64_t next_end_ms_ = kNoEnd;       ///< of a task whose own lease goes on
  std::map<TaskKey, std::int64_t> leases_;  ///< of tasks' own, as far as they were asked for
  std::optional<MemoryBoard> board_;        ///< only where no cgroup bounds memory
};

// -- waiting --------------------------------------------------------------------------------------

int Guard::run() {
  auto lease = Lease::open(directory_);
  if (!timer_ || !lease) return 1;
  take_over();
  lease_.emplace(std::move(*lease));
  if (cgroup_parent_.empty())
    if (auto board = MemoryBoard::open(directory_)) board_.emplace(std::move(*board));
  for (;;) {
    wait_until(next_look_ms(boottime_ms()));
    look(boottime_ms());
    if (!fork_server_ && !anything_runs() && !anything_may_start()) return 0;
  }
}

/// One guard per host: the newest.
void Guard::take_over() const {
  const auto path = directory_ / "guard";
  if (const auto content = read_file(path)) {
    ProcessIdentity earlier;
    std::istringstream(*content) >> earlier.pid >> earlier.start_ticks >> earlier.boot_id;
    if (const FileDescriptor process = open_process(earlier)) {
      ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
      pollfd ended{process.get(), POLLIN, 0};
      while (::poll(&ended, 1, kKernelPatienceMs) < 0 && errno == EINTR) {
      }
    }
  }
  const ProcessIdentity own = own_identity();
  std::ostringstream content;
  content << own.pid << ' ' << own.start_ticks << ' ' << own.boot_id << '\n';
  // On a full disk the next guard does not hear of this one: two of them do no harm.
  static_cast<void>(replace_file(path, content.str(), Durability::process_crash));
}

void Guard::wait_until(std::int64_t at_ms) {
  itimerspec when{};
  when.it_value = {at_ms / 1000, (at_ms % 1000) * 1'000'000};
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
  std::array<pollfd, 2> waiting{{{timer_.get(), POLLIN, 0}, {fork_server_.get(), POLLIN, 0}}};
  if (::poll(waiting.data(), waiting.size(), -1) < 0) return;
  if (waiting[1].revents != 0) fork_server_.reset();  // it never sends anything
}

std::int64_t Guard::next_look_ms(std::int64_t now_ms) const {
  if (board_ && board_->in_use()) return now_ms + kSampleMs;
  const std::int64_t deadline = lease_->times().deadline_ms;
  const std::int64_t over = deadline + kPatienceMs;
  // Nobody says that a lease was given, a supervisor has entered its name, or the last one ended.
  if (deadline == 0 || now_ms >= over || board_ || !fork_server_)
    return std::min(now_ms + kLookAgainMs, next_end_ms_);
  return over;
}

void Guard::look(std::int64_t now_ms) {
  if (board_ && board_->in_use()) board_->measure(now_ms);
  const std::int64_t deadline = lease_->times().deadline_ms;
  const bool over = deadline > 0 && now_ms >= deadline + kPatienceMs;
  next_end_ms_ = kNoEnd;
  // What is seen next time is killed next time. Once nothing is seen, nothing comes any more: who
  // starts a task looks at the lease itself.
  if (over && deadline != ended_deadline_ms_ && !end_tasks(now_ms)) {
    ended_deadline_ms_ = deadline;
    leases_.clear();
  }
}

// -- what runs ------------------------------------------------------------------------------------

std::set<TaskKey> Guard::cgroups_with_members() const {
  std::set<TaskKey> found;
  if (cgroup_parent_.empty()) return found;
  std::error_code ignored;  // without tasks there may be no parent
  for (const auto& entry :
       std::filesystem::directory_iterator(cgroup_parent_.begin()->second, ignored)) {
    const std::string name = entry.path().filename();
    const auto task = attempt_from_name(name);
    if (task && TaskCgroup(cgroup_member(cgroup_parent_, name)).populated()) found.insert(*task);
  }
  return found;
}

/// Without cgroups: whoever has a task's environment, or descends from a supervisor.
std::vector<pid_t> Guard::processes_of_tasks() const {
  auto found =
      processes_with_environment_from("FAIRWATER_ATTEMPT=" + (directory_ / "tasks/").string());
  const ProcessTree tree;
  for (const ProcessIdentity& supervisor : board_->supervisors())
    for (const pid_t pid : tree.descendants_of(supervisor.pid)) found.push_back(pid);
  return found;
}

bool Guard::anything_runs() const {
  return board_ ? board_->in_use() || !processes_of_tasks().empty()
                : !cgroups_with_members().empty();
}

/// Asked when the fork server is gone and nothing seems to run: whether a supervisor is alive that
/// has not come to its task yet, or is done with it and records the result. O(attempts).
bool Guard::anything_may_start() const {
  const auto tasks = AttemptFile::list(directory_);
  if (!tasks) return false;  // the directory is gone
  for (const TaskKey& task : *tasks) {
    const AttemptFile file(directory_, task);
    const auto record = file.read();
    if (!record || record->result) continue;
    if (record->started) {
      if (open_process(record->started->supervisor)) return true;
      continue;
    }
    std::error_code error;
    const auto written = std::filesystem::last_write_time(file.path(), error);
    if (!error && std::filesystem::file_time_type::clock::now() - written < kStartPatience)
      return true;
  }
  return false;
}

// -- ending ---------------------------------------------------------------------------------------

/// Its order does not change. One that cannot be read yet has not started.
std::int64_t Guard::lease_of(const TaskKey& task) {
  if (const auto known = leases_.find(task); known != leases_.end()) return known->second;
  const auto record = AttemptFile(directory_, task).read();
  if (!record || !record->order) return 0;
  return leases_[task] = record->order->launch.lease_ms;
}

bool Guard::may_run_on(const TaskKey& task, std::int64_t now_ms) {
  const std::int64_t over = lease_->times().deadline_of(lease_of(task)) + kPatienceMs;
  if (now_ms >= over) return false;
  next_end_ms_ = std::min(next_end_ms_, over);
  return true;
}

/// Without cgroups: of tasks whose own leases go on. O(attempts + processes on the machine for each
/// of them).
std::set<pid_t> Guard::processes_that_run_on(std::int64_t now_ms) {
  std::set<pid_t> found;
  const auto tasks = AttemptFile::list(directory_);
  if (!tasks) return found;
  for (const TaskKey& task : *tasks) {
    if (!may_run_on(task, now_ms)) continue;
    const AttemptFile file(directory_, task);
    const auto record = file.read();
    if (!record || record->result) continue;
    for (const pid_t pid : processes_with_environment("FAIRWATER_ATTEMPT=" + file.path().string()))
      found.insert(pid);
    if (!record->started || !open_process(record->started->supervisor)) continue;
    found.insert(record->started->supervisor.pid);
    const auto below = ProcessTree().descendants_of(record->started->supervisor.pid);
    found.insert(below.begin(), below.end());
  }
  return found;
}

/// False when nothing runs.
bool Guard::end_tasks(std::int64_t now_ms) {
  return board_ ? end_processes(now_ms) : end_cgroups(now_ms);
}

bool Guard::end_cgroups(std::int64_t now_ms) {
  const auto running = cgroups_with_members();
  std::set<TaskKey> over;
  for (const TaskKey& task : running)
    if (!may_run_on(task, now_ms)) over.insert(task);
  for (const TaskKey& task : over)
    TaskCgroup(cgroup_member(cgroup_parent_, attempt_name(task))).signal_all(SIGKILL);
  end_stopped_supervisors(over);
  return !running.empty();
}

bool Guard::end_processes(std::int64_t now_ms) {
  const auto running = processes_of_tasks();
  // Looked for after them: whoever is among them and runs on is found here, too.
  const auto spared = processes_that_run_on(now_ms);
  std::vector<pid_t> over;
  for (const pid_t pid : running)
    if (!spared.contains(pid)) over.push_back(pid);
  kill_processes_and_wait(over);
  for (const ProcessIdentity& supervisor : board_->supervisors())
    if (!spared.contains(supervisor.pid)) kill_if_stopped(supervisor);
  return !running.empty();
}

/// A stopped supervisor holds its attempt for as long as it is stopped, and its agent the room.
void Guard::end_stopped_supervisors(const std::set<TaskKey>& tasks) const {
  for (const TaskKey& task : tasks)
    if (const auto record = AttemptFile(directory_, task).read(); record && record->started)
      kill_if_stopped(record->started->supervisor);
}

[[noreturn]] void become_guard(const std::filesystem::path& host_directory,
                               const CgroupPaths& cgroup_parent, int fork_server) {
  // Nothing else of the fork server's: its host would take that for its being alive.
  constexpr int kOwnEnd = 3;
  ::dup2(fork_server, kOwnEnd);
  ::syscall(SYS_close_range, kOwnEnd + 1, ~0U, 0U);
  ::setsid();
  ::prctl(PR_SET_NAME, "fairwater-guard", 0, 0, 0);
  ::_exit(Guard(host_directory, cgroup_parent, FileDescriptor(kOwnEnd)).run());
}

}  // namespace

Expected<FileDescriptor> start_guard(const std::filesystem::path& host_directory,
                                     const CgroupPaths& cgroup_parent) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("cannot make a socket pair", errno);
  FileDescriptor own(ends[0]);
  const FileDescriptor theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return system_error("cannot fork a guard", errno);
  if (child == 0) {
    // The parent between ends at once: whoever kills by family misses the guard.
    if (::fork() != 0) ::_exit(0);
    become_guard(host_directory, cgroup_parent, theirs.get());
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return own;
}

}  // namespace fairwater::inline process
