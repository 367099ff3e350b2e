#include "tests/cluster_sim/world/threads.hpp"

#include <utility>

#include "policy/core/check.hpp"
#include "tests/cluster_sim/world/fiber.hpp"

namespace fairwater::cluster_sim {

struct Threads::Thread {
  explicit Thread(std::function<void()> body) : fiber(std::move(body)) {}
  Fiber fiber;
  std::uint64_t waits = 0;  ///< so far; by it an alarm knows whether it is still for this one
  bool is_waiting = false;
};

Threads::Threads(Stage& stage, const std::int64_t& paused_until_us)
    : stage_(stage), paused_until_us_(paused_until_us) {}

Threads::~Threads() { FAIRWATER_CHECK(threads_.empty(), "threads end before their process"); }

void Threads::run(std::function<void()> body) {
  const auto thread = std::make_shared<Thread>(std::move(body));
  threads_.push_back(thread);
  go_on(thread);
}

void Threads::go_on(const std::shared_ptr<Thread>& thread) {
  const auto before = std::exchange(running_, thread);
  thread->is_waiting = false;
  thread->fiber.resume();
  running_ = before;
  if (thread->fiber.is_over()) std::erase(threads_, thread);
}

void Threads::wait(std::int64_t us) {
  if (ending_) return;
  const auto thread = running_;
  stage_.time.in(us, alarm());
  thread->is_waiting = true;
  thread->fiber.pause();
  ++thread->waits;
}

std::function<void()> Threads::alarm() { return alarm_of(running_); }

std::function<void()> Threads::alarm_of(const std::shared_ptr<Thread>& thread) {
  return [this, weak = std::weak_ptr(thread), number = thread->waits] {
    const auto one = weak.lock();
    if (!one || !one->is_waiting || one->waits != number) return;
    if (stage_.time.now_us() < paused_until_us_)
      stage_.time.at(paused_until_us_, alarm_of(one));
    else
      go_on(one);
  };
}

void Threads::end() {
  ending_ = true;
  while (!threads_.empty()) go_on(threads_.back());
}

}  // namespace fairwater::cluster_sim
