#include "rpc/outbox.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include "policy/core/check.hpp"

namespace fairwater::inline rpc {

Outbox::Outbox() : wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  FAIRWATER_CHECK(wake_fd_ >= 0, "no file descriptor left for an event loop");
}

Outbox::~Outbox() { ::close(wake_fd_); }

void Outbox::post(Task task) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  gathered_.push_back(std::move(task));
  if (woken_) return;
  woken_ = true;
  ++wake_ups_;
  const std::uint64_t one = 1;
  const ssize_t written = ::write(wake_fd_, &one, sizeof one);
  FAIRWATER_CHECK(written == sizeof one, "an eventfd refused a write");
}

void Outbox::close() {
  std::vector<Task> dropped;  // declared before the lock: destroyed after its release
  const std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(gathered_);
}

std::uint64_t Outbox::wake_ups() const {
  const std::lock_guard lock(mutex_);
  return wake_ups_;
}

kj::Promise<void> Outbox::drain(kj::UnixEventPort& port) {
  auto observer = kj::heap<kj::UnixEventPort::FdObserver>(
      port, wake_fd_, kj::UnixEventPort::FdObserver::OBSERVE_READ);
  auto& borrowed = *observer;
  return drain_on(borrowed).attach(kj::mv(observer));
}

kj::Promise<void> Outbox::drain_on(kj::UnixEventPort::FdObserver& observer) {
  // Armed before draining, so that a post in between is not missed.
  auto readable = observer.whenBecomesReadable();
  run_gathered();
  return readable.then([this, &observer] { return drain_on(observer); });
}

void Outbox::run_gathered() {
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    std::uint64_t count = 0;
    if (woken_) {
      const ssize_t size = ::read(wake_fd_, &count, sizeof count);
      FAIRWATER_CHECK(size == sizeof count, "an eventfd that was written to had nothing to read");
    }
    woken_ = false;
    tasks.swap(gathered_);
  }
  for (auto& task : tasks) {
    KJ_IF_MAYBE (fault, kj::runCatchingExceptions([&] { task(); }))
      spdlog::error("gateway: a task of the event loop failed: {}", fault->getDescription().cStr());
  }
}

}  // namespace fairwater::inline rpc
