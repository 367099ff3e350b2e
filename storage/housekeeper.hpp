// The thread that renews a ledger's reserve beside the commits.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "storage/directory.hpp"

namespace fairwater::inline storage {

/// Makes the reserve again about a second after there is room for it.
class Housekeeper {
 public:
  /// `space` must outlive it.
  explicit Housekeeper(const SpaceGuard& space);
  ~Housekeeper();
  Housekeeper(const Housekeeper&) = delete;
  Housekeeper& operator=(const Housekeeper&) = delete;

 private:
  void run();

  const SpaceGuard& space_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace fairwater::inline storage
