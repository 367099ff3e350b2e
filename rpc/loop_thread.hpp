// A thread of its own for a KJ event loop. KJ's objects belong to the thread that made them, so
// everything that speaks Cap'n Proto lives inside such a thread; others reach it through its outbox
// or run().
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include <kj/async-io.h>

#include "rpc/outbox.hpp"

namespace fairwater::inline rpc {

/// What the thread's main function works with.
struct Loop {
  kj::AsyncIoContext& io;
  std::shared_ptr<Outbox> outbox;
  kj::Promise<void> stopped;  ///< resolves when the LoopThread is destroyed; main() returns then

  [[nodiscard]] kj::Timer& timer() { return io.provider->getTimer(); }
  /// Lets calls that were cancelled by the end of their connection unwind. For main(), after its
  /// connections and before what their calls refer to.
  void settle() {
    io.waitScope.poll();
    io.waitScope.cancelAllDetached();
  }
};

class LoopThread {
 public:
  /// Starts the thread and returns when its loop exists. `main` makes its objects on its stack and
  /// waits for `stopped`; posted tasks run only while it waits, so they may refer to those objects.
  explicit LoopThread(std::function<void(Loop&)> main);
  /// Stops the loop and joins the thread. Not from the loop's thread.
  ~LoopThread();

  [[nodiscard]] Outbox& outbox() { return *outbox_; }

  /// Runs `body` on the loop and waits for its result, also when that is a promise. Throws what it
  /// throws.
  template <class Body>
  auto run(Body&& body) {
    return executor_->executeSync(std::forward<Body>(body));
  }

 private:
  std::shared_ptr<Outbox> outbox_;
  kj::Own<const kj::Executor> executor_;
  std::function<void()> stop_;
  std::thread thread_;
};

}  // namespace fairwater::inline rpc
