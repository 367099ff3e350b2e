#include "process/fork_server.hpp"

#include <algorithm>
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
#include "process/supervisor.hpp"
#include "process/task_process.hpp"

namespace fairwater {
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

[[noreturn]] void become_supervisor(int socket, int signals, const std::filesystem::path& directory,
                                    const TaskKey& task, FileDescriptor lock) {
  ::close(socket);
  ::close(signals);
  ::setsid();
  ::_exit(supervise_task(directory, task, std::move(lock)));
}

void serve_request(int socket, int signals, const std::filesystem::path& directory,
                   std::string_view name) {
  const auto task = attempt_from_name(name);
  if (!task) return send_reply(socket, -EINVAL, -1);
  // Locked before the host hears of it, and inherited: from then on the attempt is seen to be
  // supervised.
  const AttemptFile file(directory, *task);
  auto lock = file.try_lock();
  if (!lock) return send_reply(socket, -EBUSY, -1);
  if (const auto record = file.read(); !record || record->result)
    return send_reply(socket, -ESTALE, -1);  // another host has given the attempt up
  const pid_t pid = ::fork();
  if (pid < 0) return send_reply(socket, -errno, -1);
  if (pid == 0) become_supervisor(socket, signals, directory, *task, std::move(lock));
  // Children are reaped by this thread only, later: the pid is still this supervisor's.
  const FileDescriptor supervisor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  send_reply(socket, supervisor ? pid : -errno, supervisor.get());
}

int serve(int socket, int signals, const std::filesystem::path& directory) {
  for (;;) {
    std::array<pollfd, 2> waiting{{{socket, POLLIN, 0}, {signals, POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return 1;
    if (waiting[1].revents != 0) {
      signalfd_siginfo info;
      while (::read(signals, &info, sizeof info) == sizeof info) {
      }
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
    }
    if (waiting[0].revents == 0) continue;
    std::array<char, 64> name;
    const ssize_t got = ::recv(socket, name.data(), name.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;
    serve_request(socket, signals, directory, {name.data(), static_cast<std::size_t>(got)});
  }
}

}  // namespace

constexpr const char* kHideProcesses = "hide-processes";

int supervise(const std::vector<std::string>& arguments) {
  const std::filesystem::path directory = arguments.front();
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    std::fprintf(stderr,
                 "supervise: is started by an agent, with a socket as its standard input\n");
    return 2;
  }
  // Once for all supervisors: they and their tasks inherit the name space.
  if (std::ranges::count(arguments, kHideProcesses) > 0)
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
  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  static_cast<void>(current_boot_id());  // read once, for every supervisor
  const int signals = ::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  return serve(socket, signals, directory);
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
  std::string hide = kHideProcesses;
  const std::array<char*, 5> arguments{program.data(), command.data(), directory.data(),
                                       hide_processes_ ? hide.data() : nullptr, nullptr};
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
  return caf::none;
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

}  // namespace fairwater
