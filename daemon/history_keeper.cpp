#include "daemon/history_keeper.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "actors/coordinator/historian.hpp"

namespace fairwater::inline daemon {

HistoryKeeper::HistoryKeeper(std::shared_ptr<Ledger> ledger, const HistoryLimits& limits,
                             const DaemonLog& log)
    : ledger_(std::move(ledger)), limits_(limits), log_(log), thread_([this] { run(); }) {}

HistoryKeeper::~HistoryKeeper() {
  ledger_->rest_history(true);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void HistoryKeeper::follows(bool follows) {
  ledger_->rest_history(false);
  const std::lock_guard lock(mutex_);
  follows_ = follows;
}

void HistoryKeeper::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kHistoryPause, [this] { return stopping_; })) {
    if (!follows_) continue;
    lock.unlock();
    const bool goes_on = cut();
    lock.lock();
    if (!goes_on) wake_.wait(lock, [this] { return stopping_; });
  }
}

bool HistoryKeeper::cut() {
  const auto report = ledger_->cut_history(limits_);
  if (report) {
    if (report->archived_records > 0)
      log_.info("history was cut: " + std::to_string(report->archived_records) +
                " records archived");
    told_of_failure_ = false;
    return true;
  }
  const ErrorDetails error = details(report.error());
  if (error.code == ErrorCode::storage_damaged) {
    log_.error(error.message + "; history stays where it is");
    return false;
  }
  if (!std::exchange(told_of_failure_, true)) log_.warn("history was not cut: " + error.message);
  return true;
}

}  // namespace fairwater::inline daemon
