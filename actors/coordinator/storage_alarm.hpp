// What of the ledger could not be read since the start. Shared by the actors that read; any thread
// may call it.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include <caf/make_message.hpp>  // the result type needs it and does not say so
#include <caf/result.hpp>

#include "storage/state.hpp"

namespace fairwater::inline actors::inline coordinator {

class StorageAlarm {
 public:
  /// Keeps the fault for `status` and logs it, at 1, 2, 4, 8, .. faults: whoever asks again and
  /// again is not to fill the log. Returns the error to answer with.
  caf::error raise(const StorageFault& fault);
  /// For people; empty while everything could be read.
  [[nodiscard]] std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t faults_ = 0;  // guarded by mutex_
  std::string newest_;        // guarded by mutex_
};

/// Answers with what `read()` returns, or with what keeps it from being read.
template <class Answer, class Read>
caf::result<Answer> read_or_raise(StorageAlarm& alarm, Read read) {
  try {
    return read();
  } catch (const StorageFault& fault) {
    return alarm.raise(fault);
  }
}

}  // namespace fairwater::inline actors::inline coordinator
