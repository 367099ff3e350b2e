#include "process/supervisor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "process/attempt_file.hpp"
#include "process/command.hpp"
#include "process/lease.hpp"
#include "process/memory_board.hpp"
#include "process/output_file.hpp"
#include "process/work_directory.hpp"

namespace fairwater::inline process {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
// Where no cgroup bounds memory: by itself this often, or this often a look whether the guard does.
constexpr std::int64_t kMemorySampleMs = 100;
constexpr std::int64_t kMemoryLookMs = 1000;
constexpr const char* kLeaseOver = "the node lost its coordinator for longer than its lease";
// Not SIGTERM: of one signal no second is kept while the first waits, and a stop order must not be
// lost to a notice. Of a job's notices one is enough: they have one value, and the file is read
// anew.
constexpr int kNoticeSignal = SIGUSR1;
constexpr int kResultTries = 30;  // one second apart, while the disk does not take it

class Supervisor {
 public:
  Supervisor(AttemptFile file, FileDescriptor lock, Lease lease, ProcessIdentity identity)
      : file_(std::move(file)), lock_(std::move(lock)), lease_(std::move(lease)) {
    started_.supervisor = std::move(identity);
  }

  int run();

 private:
  enum class Phase { running, terminating, killing };

  [[nodiscard]] caf::error start();
  void wait_for_events();
  void arm_timer();
  void on_signals();
  void on_start_report();
  void on_timer();
  void reap();
  void on_main_end(int status);
  void stop(EndReason reason, std::string message, std::int64_t kill_at_ms);
  void stop_gracefully(EndReason reason, std::string message);
  void kill_everything();
  void signal_task(int signal) const;
  void pass_on(int signal) const;
  [[nodiscard]] std::int64_t lease_deadline_ms() const;
  [[nodiscard]] bool lease_is_over() const;
  void check_lease(std::int64_t now);
  void have_memory_watched(std::int64_t now);
  void watch_memory(std::int64_t now);
  void over_memory();
  void finish_result();
  [[nodiscard]] std::int64_t memory_limit_mib() const;
  [[nodiscard]] int record();
  void remove_work_directory();

  AttemptFile file_;
  FileDescriptor lock_;
  Lease lease_;
  TaskOrder order_;
  TaskStarted started_;
  TaskCgroup cgroup_;
  Command command_;
  TaskResult result_;
  std::optional<EndReason> reason_;  ///< when it is not the command's own end
  Phase phase_ = Phase::running;
  pid_t main_pid_ = 0;
  bool main_ended_ = false;
  bool never_started_ = false;  ///< the child could not become the command
  bool all_ended_ = false;
  std::optional<OutputFile> output_;
  std::optional<OutputFile> error_;
  FileDescriptor start_report_;
  FileDescriptor signals_;
  FileDescriptor timer_;
  FileDescriptor memory_event_;
  std::int64_t started_boottime_ms_ = 0;
  std::int64_t time_limit_at_ = kNever;
  std::int64_t kill_at_ = kNever;
  std::int64_t lease_at_ = kNever;
  std::int64_t sample_at_ = kNever;
  std::int64_t sampled_peak_kib_ = 0;
  std::optional<MemoryBoard> board_;  ///< with a place on it, where the guard measures
  std::size_t place_ = 0;
  std::int64_t memory_watched_from_ms_ = 0;
};

int Supervisor::run() {
  started_.started_at = wall_time_now();
  started_boottime_ms_ = boottime_ms();
  if (auto error = start()) {
    reason_ = EndReason::launch_failed;  // nothing ran
    result_.exit_code = 126;
    result_.message = details(error).message;
    all_ended_ = main_ended_ = true;
  }
  while (!all_ended_) wait_for_events();
  finish_result();
  cgroup_.remove();
  const int status = record();
  remove_work_directory();
  return status;
}

caf::error Supervisor::start() {
  if (auto error = AttemptFile::append(lock_, started_)) return error;
  // Nothing runs before the attempt's name is on the disk.
  if (auto error = file_.sync_name()) return error;
  auto record = file_.read();
  if (!record) return record.error();
  if (!record->order)
    return make_error(ErrorCode::storage_damaged, file_.path().string() + " holds no whole order");
  order_ = std::move(*record->order);
  cgroup_ = TaskCgroup(order_.cgroup);
  if (auto error = cgroup_.create(order_.launch.limits, order_.denied_devices, order_.cpus))
    return error;
  if (!order_.work_directory.empty())
    if (auto error = make_work_directory(order_.work_directory, order_.user)) return error;
  if (memory_limit_mib() > 0) memory_event_ = cgroup_.memory_event();
  command_ = prepare_command(order_, file_);

  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  sigset_t wanted;
  ::sigemptyset(&wanted);
  ::sigaddset(&wanted, SIGCHLD);
  ::sigaddset(&wanted, SIGTERM);
  ::sigaddset(&wanted, kNoticeSignal);
  signals_.reset(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  timer_.reset(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!signals_ || !timer_) return system_error("cannot watch signals and time", errno);

  if (lease_is_over()) {  // the order was late: by now somebody else may run the task
    reason_ = EndReason::lease_expired;
    result_.message = kLeaseOver;
    all_ended_ = main_ended_ = true;
    return caf::none;
  }
  auto started = start_command(command_, cgroup_);
  if (!started) return started.error();
  main_pid_ = started->pid;
  start_report_ = std::move(started->start_report);
  output_.emplace(file_.log(false), order_.log_limit_bytes, std::move(started->standard_output));
  error_.emplace(file_.log(true), order_.log_limit_bytes, std::move(started->standard_error));
  const std::int64_t now = boottime_ms();
  if (order_.launch.time_limit_ms > 0) time_limit_at_ = now + order_.launch.time_limit_ms;
  if (cgroup_.empty()) have_memory_watched(now);
  check_lease(now);
  arm_timer();
  return caf::none;
}

/// Also without a limit: the guard goes by the board to find supervisors.
void Supervisor::have_memory_watched(std::int64_t now) {
  if (memory_limit_mib() > 0) sample_at_ = now + kMemorySampleMs;
  auto board = MemoryBoard::open(file_.path().parent_path().parent_path());
  if (!board) return;
  const auto place = board->enter(started_.supervisor, memory_limit_mib() * 1024);
  if (!place) return;
  place_ = *place;
  memory_watched_from_ms_ = now;
  board_.emplace(std::move(*board));
}

void Supervisor::wait_for_events() {
  // poll skips negative descriptors: closed pipes and what this task does not need.
  std::array<pollfd, 6> waiting{{{signals_.get(), POLLIN, 0},
                                 {timer_.get(), POLLIN, 0},
                                 {output_->pipe(), POLLIN, 0},
                                 {error_->pipe(), POLLIN, 0},
                                 {start_report_.get(), POLLIN, 0},
                                 {memory_event_.get(), POLLIN, 0}}};
  if (::poll(waiting.data(), waiting.size(), -1) < 0) return;  // EINTR
  if (waiting[2].revents != 0) output_->drain();
  if (waiting[3].revents != 0) error_->drain();
  if (waiting[4].revents != 0) on_start_report();
  if (waiting[5].revents != 0) {
    memory_event_.reset();
    over_memory();
  }
  if (waiting[1].revents != 0) on_timer();
  if (waiting[0].revents != 0) on_signals();
}

void Supervisor::arm_timer() {
  const std::int64_t next = std::min({time_limit_at_, kill_at_, lease_at_, sample_at_});
  itimerspec when{};
  if (next != kNever) {
    const std::int64_t at = std::max<std::int64_t>(next, 1);  // 0 would disarm
    when.it_value = {at / 1000, (at % 1000) * 1'000'000};
  }
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void Supervisor::on_signals() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    const bool is_notice = info.ssi_code == SI_QUEUE && info.ssi_int > notice_value(0) &&
                           info.ssi_int < notice_value(SIGRTMAX);
    if (is_notice) pass_on(info.ssi_int - notice_value(0));
    if (is_notice || info.ssi_signo != SIGTERM) continue;
    if (info.ssi_code == SI_QUEUE && info.ssi_int == stop_signal_value(EndReason::memory_limit))
      over_memory();
    else if (info.ssi_code == SI_QUEUE && info.ssi_int >= stop_signal_value(EndReason::exited) &&
             info.ssi_int <= stop_signal_value(kLastEndReason))
      stop_gracefully(static_cast<EndReason>(info.ssi_int - stop_signal_value(EndReason::exited)),
                      {});
    else
      stop_gracefully(EndReason::supervisor_lost,
                      "its supervisor was told to end by process " + std::to_string(info.ssi_pid));
  }
  reap();
}

void Supervisor::on_start_report() {
  StartFailure failure;
  if (::read(start_report_.get(), &failure, sizeof failure) == sizeof failure) {
    auto [reason, exit_code, message] = describe(failure, command_);
    reason_ = reason;
    result_.exit_code = exit_code;
    result_.message = std::move(message);
    never_started_ = true;
  }
  start_report_.reset();
}

void Supervisor::on_timer() {
  std::uint64_t expirations = 0;
  if (::read(timer_.get(), &expirations, sizeof expirations) < 0) return;  // re-armed meanwhile
  const std::int64_t now = boottime_ms();
  if (now >= sample_at_) watch_memory(now);
  if (now >= lease_at_) check_lease(now);
  if (now >= time_limit_at_) {
    time_limit_at_ = kNever;
    stop_gracefully(EndReason::time_limit,
                    "ran longer than its " + std::to_string(order_.launch.time_limit_ms) + " ms");
  }
  if (now >= kill_at_) {
    kill_at_ = kNever;
    kill_everything();
  }
  arm_timer();
}

std::int64_t Supervisor::lease_deadline_ms() const {
  return lease_.times().deadline_of(order_.launch.lease_ms);
}

bool Supervisor::lease_is_over() const {
  const std::int64_t deadline = lease_deadline_ms();
  return deadline > 0 && boottime_ms() >= deadline;
}

void Supervisor::check_lease(std::int64_t now) {
  const std::int64_t deadline = lease_deadline_ms();
  if (deadline == 0) {
    lease_at_ = now + kNoLeaseYetMs;
  } else if (now < deadline) {
    lease_at_ = deadline;
  } else {
    lease_at_ = kNever;
    stop(EndReason::lease_expired, kLeaseOver,
         deadline + std::clamp<std::int64_t>(order_.launch.grace_ms, 0, kLeaseGraceMs));
  }
}

void Supervisor::watch_memory(std::int64_t now) {
  // A guard that had nobody to measure takes a while to see the first: until then, by itself.
  const std::int64_t measured_at_ms = board_ ? board_->measured_at_ms() : 0;
  if (board_ && measured_at_ms >= memory_watched_from_ms_ && now - measured_at_ms < kMemoryLookMs) {
    sample_at_ = now + kMemoryLookMs;
    return;
  }
  const std::int64_t used_kib = ProcessTree().resident_kib_below(::getpid());
  sampled_peak_kib_ = std::max(sampled_peak_kib_, used_kib);
  sample_at_ = now + kMemorySampleMs;
  if (used_kib > memory_limit_mib() * 1024) over_memory();
}

void Supervisor::over_memory() {
  sample_at_ = kNever;
  if (!reason_) reason_ = EndReason::memory_limit;
  kill_everything();
}

void Supervisor::stop_gracefully(EndReason reason, std::string message) {
  stop(reason, std::move(message),
       boottime_ms() + std::max<std::int64_t>(order_.launch.grace_ms, 0));
}

void Supervisor::stop(EndReason reason, std::string message, std::int64_t kill_at_ms) {
  if (phase_ == Phase::killing) return;
  if (phase_ == Phase::running) {
    phase_ = Phase::terminating;
    reason_ = reason;
    result_.message = std::move(message);
    signal_task(SIGTERM);
  }
  kill_at_ = std::min(kill_at_, kill_at_ms);
  arm_timer();
}

void Supervisor::kill_everything() {
  phase_ = Phase::killing;
  signal_task(SIGKILL);
}

void Supervisor::pass_on(int signal) const {
  if (phase_ == Phase::running && !main_ended_ && handles_signal(main_pid_, signal))
    ::kill(main_pid_, signal);
}

void Supervisor::signal_task(int signal) const {
  // The command first, as it must not see that nobody can fork any more, and end by itself; and
  // once, as the second SIGTERM tells many programs to leave their work. It may not have entered
  // its cgroup yet.
  const pid_t told = main_ended_ ? 0 : main_pid_;
  if (told != 0) ::kill(told, signal);
  cgroup_.signal_all(signal, told);
  if (!cgroup_.empty()) return;
  for (const pid_t pid : ProcessTree().descendants_of(::getpid()))
    if (pid != told) ::kill(pid, signal);
}

/// Whoever was forked while the others were being killed becomes our child when its parent ends,
/// which wakes us: killing again at each such end reaches everybody.
void Supervisor::reap() {
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (ended < 0) {
      all_ended_ = errno == ECHILD;
      return;
    }
    if (ended == 0) {
      if (phase_ == Phase::killing) kill_everything();
      return;
    }
    if (ended == main_pid_) on_main_end(status);
  }
}

void Supervisor::on_main_end(int status) {
  main_ended_ = true;
  if (start_report_) on_start_report();
  if (!never_started_) {
    if (WIFEXITED(status)) {
      result_.exit_code = WEXITSTATUS(status);
    } else {
      result_.signal = WTERMSIG(status);
      result_.exit_code = 128 + result_.signal;
    }
  }
  // Its supervisor was stopped until after the lease: by now somebody else may run the task.
  if (!reason_ && lease_is_over()) {
    reason_ = EndReason::lease_expired;
    result_.message = kLeaseOver;
  }
  if (!reason_) reason_ = WIFEXITED(status) ? EndReason::exited : EndReason::signalled;
  phase_ = Phase::killing;
}

void Supervisor::finish_result() {
  if (output_) output_->drain();
  if (error_) error_->drain();
  result_.task = file_.task();
  result_.reason = reason_.value_or(EndReason::could_not_start);
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  result_.cpu_ms = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
                   (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
  result_.peak_memory_kib = cgroup_.peak_memory_kib();
  if (cgroup_.empty())
    result_.peak_memory_kib = std::max<std::int64_t>(used.ru_maxrss, sampled_peak_kib_);
  if (board_) {
    result_.peak_memory_kib = std::max(result_.peak_memory_kib, board_->peak_kib(place_));
    board_->leave(place_);
  }
  const bool own_end =
      result_.reason == EndReason::exited || result_.reason == EndReason::signalled;
  if (own_end && cgroup_.memory_limit_hit()) result_.reason = EndReason::memory_limit;
  if (result_.reason == EndReason::memory_limit) {
    // The kernel may have picked a child, and the command ended in peace before we heard of it.
    if (result_.exit_code == 0) result_.exit_code = 128 + (result_.signal = SIGKILL);
    result_.message = "used more than its " + std::to_string(memory_limit_mib()) +
                      " MiB of memory (peak " +
                      std::to_string((result_.peak_memory_kib + 1023) / 1024) + " MiB)";
  }
  for (const auto& file : {&output_, &error_}) {
    if (!*file || (*file)->trouble().empty()) continue;
    if (!result_.message.empty()) result_.message += "; ";
    result_.message += (*file)->trouble();
  }
  // The wall clock may have been set meanwhile; the length of the run must not depend on it.
  result_.started_at = started_.started_at;
  result_.finished_at.microseconds =
      started_.started_at.microseconds + (boottime_ms() - started_boottime_ms_) * 1000;
}

std::int64_t Supervisor::memory_limit_mib() const {
  const auto found = order_.launch.limits.find("memory");
  return found == order_.launch.limits.end() ? 0 : found->second;
}

int Supervisor::record() {
  for (int tries = 1;; ++tries) {
    const auto error = AttemptFile::append(lock_, result_);
    if (!error) return 0;
    // What could not be synced was cut off again: the next try writes and syncs all of it anew.
    if (tries == kResultTries) return 1;
    ::poll(nullptr, 0, 1000);  // nothing tells when a disk is well again
  }
}

/// The host waits for this process's end to hear of the result: what the task left is for another
/// one to remove. Whatever keeps that from its work, the host's next start makes up for.
void Supervisor::remove_work_directory() {
  if (order_.work_directory.empty() || give_back_work_directory(order_.work_directory, order_.user))
    return;
  if (::fork() != 0) return;
  lock_.reset();
  ::setpriority(PRIO_PROCESS, 0, 10);  // whoever still runs goes first
  ::_exit(remove_tree(order_.work_directory) ? 0 : 1);
}

caf::error send_value(const FileDescriptor& supervisor, int signal, int value) {
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_value.sival_int = value;
  if (::syscall(SYS_pidfd_send_signal, supervisor.get(), signal, &info, 0) != 0 && errno != ESRCH)
    return system_error("cannot signal a supervisor", errno);
  return caf::none;
}

}  // namespace

caf::error order_stop(const FileDescriptor& supervisor, EndReason reason) {
  return send_value(supervisor, SIGTERM, stop_signal_value(reason));
}

caf::error order_notice(const FileDescriptor& supervisor, int signal) {
  return send_value(supervisor, kNoticeSignal, notice_value(signal));
}

int supervise_task(const std::filesystem::path& host_directory, const TaskKey& task,
                   FileDescriptor lock) {
  auto lease = Lease::open(host_directory);
  if (!lease) {
    TaskResult result;
    result.task = task;
    result.reason = EndReason::launch_failed;
    result.exit_code = 126;
    result.finished_at = wall_time_now();
    result.message = details(lease.error()).message;
    return AttemptFile::append(lock, result) ? 1 : 0;
  }
  return Supervisor(AttemptFile(host_directory, task), std::move(lock), std::move(*lease),
                    own_identity())
      .run();
}

}  // namespace fairwater::inline process
