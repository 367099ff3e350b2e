// The thread that renews a ledger's high-water mark and reserve beside the commits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "model/time.hpp"
#include "storage/directory.hpp"

namespace fairwater {

/// About once a second, and when it is destroyed, the newest durable number becomes the high-water
/// mark.
class Housekeeper {
 public:
  /// Both must outlive it. `number` is durable now; its mark is written before this returns, see
  /// problem().
  Housekeeper(const LedgerDirectory& directory, const SpaceGuard& space, std::uint64_t number);
  ~Housekeeper();
  Housekeeper(const Housekeeper&) = delete;
  Housekeeper& operator=(const Housekeeper&) = delete;

  /// A number that is durable now. Does no I/O.
  void committed(std::uint64_t number);
  /// What kept the last renewal from working; none when it worked.
  [[nodiscard]] caf::error problem() const;

 private:
  void run();
  void renew(std::uint64_t number);

  const LedgerDirectory& directory_;
  const SpaceGuard& space_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::uint64_t committed_;    // guarded by mutex_
  std::uint64_t written_ = 0;  // by the thread alone, but for constructor and destructor
  bool stopping_ = false;      // guarded by mutex_
  caf::error problem_;         // guarded by mutex_
  std::thread thread_;
};

}  // namespace fairwater
