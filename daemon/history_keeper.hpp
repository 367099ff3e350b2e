// Cuts the history of a ledger that follows another coordinator's: where this coordinator leads,
// its historian does (actors/coordinator/historian.hpp).
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "daemon/daemon.hpp"
#include "model/history.hpp"
#include "storage/ledger.hpp"

namespace fairwater::inline daemon {

/// A thread that cuts every 10 s while follows(true) was said. A cut that is at work ends before
/// the keeper does, and goes on beside a takeover.
class HistoryKeeper {
 public:
  HistoryKeeper(std::shared_ptr<Ledger> ledger, const HistoryLimits& limits, const DaemonLog& log);
  ~HistoryKeeper();
  HistoryKeeper(const HistoryKeeper&) = delete;
  HistoryKeeper& operator=(const HistoryKeeper&) = delete;

  void follows(bool follows);

 private:
  void run();
  /// False when there is no sense in another try.
  bool cut();

  const std::shared_ptr<Ledger> ledger_;
  const HistoryLimits limits_;
  const DaemonLog& log_;
  bool told_of_failure_ = false;  // the thread's
  std::mutex mutex_;
  std::condition_variable wake_;
  bool follows_ = false;   // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace fairwater::inline daemon
