// The way from actors back to KJ's thread: actors post, the event loop runs what gathered. However
// much is posted while the loop is busy, it is woken once.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include <kj/async-unix.h>

namespace fairwater::inline rpc {

class Outbox {
 public:
  /// Runs on the loop's thread. Holds values only: it may be destroyed on any thread without having
  /// run.
  using Task = std::function<void()>;

  Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;
  ~Outbox();

  /// Callable from any thread; tasks of one thread run in the order of its calls. Dropped after
  /// close(). Unbounded: everything posted answers an admitted call or is an order for a bounded
  /// node.
  void post(Task task);
  /// Drops what has not run and everything that comes later.
  void close();

  /// Runs what is posted, for ever. For the loop's thread; the outbox must outlive the promise.
  [[nodiscard]] kj::Promise<void> drain(kj::UnixEventPort& port);
  /// Times that the loop was woken: what batching saves is tasks minus this.
  [[nodiscard]] std::uint64_t wake_ups() const;

 private:
  kj::Promise<void> drain_on(kj::UnixEventPort::FdObserver& observer);
  void run_gathered();

  int wake_fd_;
  mutable std::mutex mutex_;
  std::vector<Task> gathered_;
  bool woken_ = false;
  bool closed_ = false;
  std::uint64_t wake_ups_ = 0;
};

}  // namespace fairwater::inline rpc
