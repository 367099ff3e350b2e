#include "process/removal_thread.hpp"

#include <utility>

namespace fairwater::inline process {

RemovalThread::~RemovalThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void RemovalThread::add(std::function<void()> removal) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(removal));
  }
  changed_.notify_one();
}

void RemovalThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (ending_) return;
    const auto removal = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    removal();
    lock.lock();
  }
}

}  // namespace fairwater::inline process
