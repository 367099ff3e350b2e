#include "actors/agent/task_host.hpp"

#include <array>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <thread>
#include <utility>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

#include "policy/core/check.hpp"

namespace fairwater::inline actors::inline agent {

/// From the waiting thread: some supervisor has ended.
struct CollectEnded {};

}  // namespace fairwater::inline actors::inline agent

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::CollectEnded)

namespace fairwater::inline actors::inline agent {
namespace {

using HostBase = TaskHostActor::extend<caf::reacts_to<CollectEnded>>;

/// Sends CollectEnded whenever the descriptor becomes readable anew: edge-triggered, so that an end
/// that waits to be collected wakes the thread once.
class EndWatcher {
 public:
  void start(int event_fd, HostBase actor) {
    stop_.reset(::eventfd(0, EFD_CLOEXEC));
    events_.reset(::epoll_create1(EPOLL_CLOEXEC));
    FAIRWATER_CHECK(stop_ && events_, "no descriptors left to watch tasks with");
    watch(event_fd, EPOLLIN | EPOLLET);
    watch(stop_.get(), EPOLLIN);
    thread_ = std::thread([this, actor = std::move(actor)] { wait(actor); });
  }
  ~EndWatcher() {
    if (!thread_.joinable()) return;
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }

 private:
  void watch(int descriptor, std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.fd = descriptor;
    const int done = ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event);
    FAIRWATER_CHECK(done == 0, "cannot watch tasks");
  }
  void wait(const HostBase& actor) const {
    for (;;) {
      std::array<epoll_event, 2> ready;
      const int count = ::epoll_wait(events_.get(), ready.data(), ready.size(), -1);
      for (int i = 0; i < count; ++i) {
        if (ready[static_cast<std::size_t>(i)].data.fd == stop_.get()) return;
        caf::anon_send<caf::message_priority::high>(actor, CollectEnded{});
      }
    }
  }

  FileDescriptor stop_;
  FileDescriptor events_;
  std::thread thread_;
};

struct TaskHostState {
  static inline const char* name = "task_host";
  std::shared_ptr<TaskHost> host;  ///< shared only with the spawn arguments, which must be copyable
  std::shared_ptr<AgentDirectory> directory;
  AttemptEndSink sink;
  EndWatcher watcher;  ///< goes first: its thread wakes this actor over `host`'s descriptor
};

Expected<LogChunk> read_chunk(const TaskHost& host, const ReadAgentLog& request) {
  // Asked before reading: what a task writes in between is still to be read when it says "runs".
  const bool ended = !host.runs(request.task);
  auto data = host.read_log(request.task, request.standard_error, request.offset, kLogChunkBytes);
  if (!data) return data.error();
  const bool last = data->size() < kLogChunkBytes;
  return LogChunk{std::move(*data), ended && last};
}

HostBase::behavior_type task_host_behavior(HostBase::stateful_pointer<TaskHostState> self,
                                           std::shared_ptr<TaskHost> host,
                                           std::shared_ptr<AgentDirectory> directory) {
  auto& state = self->state;
  state.host = std::move(host);
  state.directory = std::move(directory);
  return {
      [self, &state](const WatchHost& watch) -> caf::result<HostInventory> {
        auto found = state.host->scan();
        if (!found) return found.error();
        state.sink = watch.sink;
        state.watcher.start(state.host->event_fd(), self);
        return HostInventory{std::move(*found)};
      },
      [&state](const LaunchAttempt& launch) -> caf::result<AttemptLaunched> {
        if (auto error = state.host->launch(launch.order)) return error;
        return AttemptLaunched{};
      },
      [&state](const StopAttempt& stop) {
        const auto error = state.host->stop(stop.task, stop.reason);
        // A task that ended meanwhile needs no stopping.
        if (error && details(error).code != ErrorCode::not_found)
          spdlog::error("stopping a task: {}", details(error).message);
      },
      [&state](const ForgetAttempts& forget) {
        for (const TaskKey& task : forget.tasks) state.host->forget(task);
      },
      [&state](const ExtendHostLease& lease) { state.host->extend_lease(lease.times); },
      [&state](const KeepMemory& keep) {
        if (const auto error = state.directory->keep_memory(keep.memory))
          spdlog::error("keeping the high-water mark: {}", details(error).message);
      },
      [&state](const SettleDirectory&) {
        if (const auto error = state.directory->settle())
          spdlog::error("marking the data directory's place: {}", details(error).message);
      },
      [&state](const TellAttempt& told) {
        if (const auto error = state.host->tell_members(told.task, *told.members, told.number))
          spdlog::error("telling tasks of each other: {}", details(error).message);
      },
      [&state](const ReadAgentLog& request) -> caf::result<LogChunk> {
        auto chunk = read_chunk(*state.host, request);
        if (!chunk) return chunk.error();
        return std::move(*chunk);
      },
      [self, &state](CollectEnded) {
        auto results = state.host->collect();
        if (!results.empty()) self->send(state.sink, AttemptsEnded{std::move(results)});
      },
  };
}

}  // namespace

TaskHostActor spawn_task_host(caf::actor_system& system, std::unique_ptr<TaskHost> host,
                              AgentDirectory directory) {
  return system.spawn<caf::detached>(task_host_behavior, std::shared_ptr<TaskHost>(std::move(host)),
                                     std::make_shared<AgentDirectory>(std::move(directory)));
}

}  // namespace fairwater::inline actors::inline agent
