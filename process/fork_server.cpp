#include "process/fork_server.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <vector>

#include "process/attempt_file.hpp"
#include "process/cpu_affinity.hpp"
#include "process/guard.hpp"
#include "process/supervisor.hpp"
#include "process/task_process.hpp"

namespace fairwater::inline process {
namespace {

// -- a packet of one number and perhaps one descriptor --------------------------------------------

void send_reply(int socket, std::int32_t number, int descriptor) {
  iovec content{&number, sizeof number};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  // A host that is gone needs no answer; the next receive ends the server.
  [[maybe_unused]] const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

struct Reply {
  std::int32_t number = 0;
  FileDescriptor descriptor;
};

Expected<Reply> receive_reply(int socket) {
  Reply reply;
  iovec content{&reply.number, sizeof reply.number};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof reply.number)
    return make_error(ErrorCode::unavailable, "the fork server has ended");
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    reply.descriptor.reset(descriptor);
  }
  return reply;
}

// -- the server's process -------------------------------------------------------------------------

void detach_standard_streams() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(null, STDERR_FILENO);
  ::close(null);
}

/// A guard that cannot stay is not started again and again.
constexpr std::int64_t kGuardRestartMs = 1000;

class Server {
 public:
  Server(int socket, std::filesystem::path directory, CgroupPaths cgroup_parent)
      : socket_(socket),
        directory_(std::move(directory)),
        cgroup_parent_(std::move(cgroup_parent)) {
    sigset_t children;
    ::sigemptyset(&children);
    ::sigaddset(&children, SIGCHLD);
    signals_.reset(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  int serve();

 private:
  void keep_guard();
  void reap() const;
  void serve_request(std::string_view name);
  [[noreturn]] void become_supervisor(const TaskKey& task, FileDescriptor lock);

  FileDescriptor socket_;
  FileDescriptor signals_;
  FileDescriptor guard_;
  std::int64_t guard_started_ms_ = -kGuardRestartMs;
  std::filesystem::path directory_;
  CgroupPaths cgroup_parent_;
};

void Server::keep_guard() {
  if (guard_ || boottime_ms() < guard_started_ms_ + kGuardRestartMs) return;
  guard_started_ms_ = boottime_ms();
  // Tasks run without one as well, and the next try is a second away.
  if (auto guard = start_guard(directory_, cgroup_parent_)) guard_ = std::move(*guard);
}

[[noreturn]] void Server::become_supervisor(const TaskKey& task, FileDescriptor lock) {
  socket_.reset();
  signals_.reset();
  guard_.reset();
  ::setsid();
  ::_exit(supervise_task(directory_, task, std::move(lock)));
}

void Server::serve_request(std::string_view name) {
  const auto task = attempt_from_name(name);
  if (!task) return send_reply(socket_.get(), -EINVAL, -1);
  // Locked before the host hears of it, and inherited: from then on the attempt is seen to be
  // supervised.
  const AttemptFile file(directory_, *task);
  auto lock = file.try_lock();
  if (!lock) return send_reply(socket_.get(), -EBUSY, -1);
  if (const auto record = file.read(); !record || record->result)
    return send_reply(socket_.get(), -ESTALE, -1);  // another host has given the attempt up
  const pid_t pid = ::fork();
  if (pid < 0) return send_reply(socket_.get(), -errno, -1);
  if (pid == 0) become_supervisor(*task, std::move(lock));
  // Children are reaped by this thread only, later: the pid is still this supervisor's.
  const FileDescriptor supervisor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  send_reply(socket_.get(), supervisor ? pid : -errno, supervisor.get());
}

void Server::reap() const {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
  }
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

int Server::serve() {
  for (;;) {
    keep_guard();
    std::array<pollfd, 3> waiting{
        {{socket_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}, {guard_.get(), POLLIN, 0}}};
    const int patience_ms = guard_ ? -1 : static_cast<int>(kGuardRestartMs);
    if (::poll(waiting.data(), waiting.size(), patience_ms) < 0 && errno != EINTR) return 1;
    if (waiting[2].revents != 0) guard_.reset();  // it never sends anything
    if (waiting[1].revents != 0) reap();
    if (waiting[0].revents == 0) continue;
    std::array<char, 64> name;
    const ssize_t got = ::recv(socket_.get(), name.data(), name.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;
    serve_request({name.data(), static_cast<std::size_t>(got)});
  }
}

constexpr std::string_view kHideProcesses = "hide-processes";
constexpr std::string_view kCgroup = "cgroup:";  // CONTROLLER=PATH

/// What the host says behind the directory.
struct ForkServerOptions {
  bool hide_processes = false;
  CgroupPaths cgroup_parent;
};
ForkServerOptions read_options(const std::vector<std::string>& arguments) {
  ForkServerOptions options;
  for (const std::string_view argument : arguments) {
    if (argument == kHideProcesses) options.hide_processes = true;
    const auto equals = argument.find('=');
    if (argument.starts_with(kCgroup) && equals != std::string_view::npos)
      options.cgroup_parent[std::string(argument.substr(kCgroup.size(), equals - kCgroup.size()))] =
          argument.substr(equals + 1);
  }
  return options;
}
std::vector<std::string> to_arguments(const ForkServerOptions& options) {
  std::vector<std::string> arguments;
  if (options.hide_processes) arguments.emplace_back(kHideProcesses);
  for (const auto& [controller, path] : options.cgroup_parent)
    arguments.push_back(std::string(kCgroup) + controller + "=" + path.string());
  return arguments;
}

}  // namespace

int supervise(const std::vector<std::string>& arguments) {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    std::fprintf(stderr,
                 "supervise: is started by an agent, with a socket as its standard input\n");
    return 2;
  }
  const auto options = read_options(arguments);
  // Once for all supervisors: they and their tasks inherit the name space.
  if (options.hide_processes)
    if (const int error = hide_other_users_processes(); error != 0) {
      std::fprintf(stderr, "supervise: cannot hide processes: %s\n", std::strerror(error));
      return 1;
    }
  const int socket = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  detach_standard_streams();
  // Supervisors inherit the mask: a stop order that comes before they are ready waits for them.
  sigset_t blocked;
  ::sigfillset(&blocked);
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
  static_cast<void>(current_boot_id());  // read once, for every supervisor
  return Server(socket, arguments.front(), options.cgroup_parent).serve();
}

// -- the host's end -------------------------------------------------------------------------------

ForkServer::~ForkServer() { end(); }

void ForkServer::end() {
  socket_.reset();  // the server ends with it
  if (server_ > 0)
    while (::waitpid(server_, nullptr, 0) < 0 && errno == EINTR) {
    }
  server_ = 0;
}

caf::error ForkServer::start() {
  if (socket_) return caf::none;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("cannot make a socket pair", errno);
  FileDescriptor own(ends[0]);
  const FileDescriptor theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t all;
  ::sigfillset(&all);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
  std::string program = program_;
  std::string command = "supervise";
  std::string directory = host_directory_;
  auto options = to_arguments({hide_processes_, cgroup_parent_});
  std::vector<char*> arguments{program.data(), command.data(), directory.data()};
  for (auto& option : options) arguments.push_back(option.data());
  arguments.push_back(nullptr);
  // Symbols are looked up once, in the server, and not anew in every supervisor.
  std::string bind_now = "LD_BIND_NOW=1";
  std::vector<char*> environment{bind_now.data()};
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(nullptr);
  const int error = ::posix_spawn(&server_, program.c_str(), &actions, &attributes,
                                  arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    server_ = 0;
    return system_error("cannot execute the supervisor " + program, error);
  }
  socket_ = std::move(own);
  if (!cpus_.empty()) use_cpus(std::move(cpus_));
  return caf::none;
}

void ForkServer::use_cpus(CpuNumbers cpus) {
  cpus_ = std::move(cpus);
  // One that has died is started anew with them.
  if (server_ > 0) static_cast<void>(bind_to_cpus(server_, cpus_));
}

Expected<FileDescriptor> ForkServer::fork_supervisor(const TaskKey& task) {
  auto supervisor = request(task);
  if (supervisor || details(supervisor.error()).code != ErrorCode::unavailable) return supervisor;
  end();
  return request(task);
}

Expected<FileDescriptor> ForkServer::request(const TaskKey& task) {
  if (auto error = start()) return error;
  const std::string name = attempt_name(task);
  if (::send(socket_.get(), name.data(), name.size(), MSG_NOSIGNAL) < 0)
    return make_error(ErrorCode::unavailable, "the fork server has ended");
  auto reply = receive_reply(socket_.get());
  if (!reply) return reply.error();
  if (reply->number < 0) return system_error("cannot start a supervisor", -reply->number);
  return std::move(reply->descriptor);
}

}  // namespace fairwater::inline process
