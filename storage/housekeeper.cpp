#include "storage/housekeeper.hpp"

namespace fairwater {

namespace {
constexpr Milliseconds kRenewalInterval{1000};
}

Housekeeper::Housekeeper(const LedgerDirectory& directory, const SpaceGuard& space,
                         std::uint64_t number)
    : directory_(directory), space_(space), committed_(number) {
  renew(number);
  thread_ = std::thread([this] { run(); });
}

Housekeeper::~Housekeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Housekeeper::committed(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  committed_ = number;
}

caf::error Housekeeper::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void Housekeeper::run() {
  bool stopping = false;
  while (!stopping) {
    std::uint64_t number = 0;
    {
      std::unique_lock lock(mutex_);
      stopping = wake_.wait_for(lock, kRenewalInterval, [this] { return stopping_; });
      number = committed_;
    }
    renew(number);
  }
}

void Housekeeper::renew(std::uint64_t number) {
  caf::error problem;
  if (number > written_) problem = directory_.write_high_water(number);
  if (!problem) written_ = number;
  space_.renew_reserve();
  const std::lock_guard lock(mutex_);
  problem_ = std::move(problem);
}

}  // namespace fairwater
