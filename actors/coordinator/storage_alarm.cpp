#include "actors/coordinator/storage_alarm.hpp"

#include <bit>

#include <spdlog/spdlog.h>

namespace fairwater::inline actors::inline coordinator {

caf::error StorageAlarm::raise(const StorageFault& fault) {
  const std::lock_guard lock(mutex_);
  newest_ = fault.what();
  if (std::has_single_bit(++faults_))
    spdlog::error("the ledger cannot be read ({} times so far): {}", faults_, newest_);
  return make_error(fault.code(), "the ledger is damaged: " + newest_);
}

std::string StorageAlarm::text() const {
  const std::lock_guard lock(mutex_);
  if (faults_ == 0) return {};
  return "could not be read " + std::to_string(faults_) + " times, last: " + newest_;
}

}  // namespace fairwater::inline actors::inline coordinator
