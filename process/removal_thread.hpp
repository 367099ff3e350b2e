// Removes files on a thread of its own: on a disk that is told of every freed block, removing one
// takes milliseconds, and a task's tree may be large; launches must not wait for that.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace fairwater::inline process {

/// The queue needs no bound: each entry stands for files that are on the disk anyway.
class RemovalThread {
 public:
  RemovalThread() : thread_([this] { run(); }) {}
  RemovalThread(const RemovalThread&) = delete;
  RemovalThread& operator=(const RemovalThread&) = delete;
  /// Waits for the removal that is under way. What is left is found again by the next host.
  ~RemovalThread();

  void add(std::function<void()> removal);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;  ///< with `ending_`, under the mutex
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace fairwater::inline process
