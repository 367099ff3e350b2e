#include "actors/agent/refused_orders.hpp"

#include <spdlog/spdlog.h>

namespace fairwater::inline actors::inline agent {

void RefusedOrders::note(const TaskKey& task, std::uint64_t epoch, std::uint64_t coordinators) {
  ++count_;
  newest_ = task;
  epoch_ = epoch;
  coordinators_ = coordinators;
}

void RefusedOrders::tell(std::int64_t now_ms) {
  if (count_ == 0 || now_ms < told_at_ms_ + kTellIntervalMs) return;
  spdlog::warn(
      "refused {} orders, the newest for task {}.{}.{} of epoch {}: the coordinator's was {}",
      count_, newest_.job.value, newest_.index, newest_.attempt, epoch_, coordinators_);
  count_ = 0;
  told_at_ms_ = now_ms;
}

}  // namespace fairwater::inline actors::inline agent
