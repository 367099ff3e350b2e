#include "storage/housekeeper.hpp"

#include "model/time.hpp"

namespace fairwater::inline storage {

namespace {
constexpr Milliseconds kRenewalInterval{1000};
}

Housekeeper::Housekeeper(const SpaceGuard& space) : space_(space), thread_([this] { run(); }) {}

Housekeeper::~Housekeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Housekeeper::run() {
  space_.renew_reserve();
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kRenewalInterval, [this] { return stopping_; })) {
    lock.unlock();
    space_.renew_reserve();
    lock.lock();
  }
}

}  // namespace fairwater::inline storage
