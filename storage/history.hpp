// Cuts history: what lies behind a checkpoint goes from the database into the archive. Before
// anything is taken over it is proved: the records are folded anew from where the archive ends, and
// must come to the hash that the checkpoint holds.
//
//   Checkpointed{number, hash} in the journal
//        │ fold records after the archive's end, up to `number`; compare the hash
//        v
//   segment written, durable under its name
//        │
//        v
//   its records go from the database; its jobs, too, once they ended long enough ago, or their
//   tenant has more of them listed than it may (storage/job_dropper.hpp)
//        │
//        v
//   the oldest segments go, when the archive is older or larger than it may be
//
// Each step can be repeated: what was broken off goes on with the next call.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "model/history.hpp"
#include "storage/archive.hpp"
#include "storage/database.hpp"
#include "storage/directory.hpp"
#include "storage/job_dropper.hpp"

namespace fairwater::inline storage {

/// Number of the oldest journal record in the database; 1 when there is none.
[[nodiscard]] std::uint64_t journal_begin(const Snapshot& snapshot);

class HistoryCutter {
 public:
  /// `database` outlives it.
  HistoryCutter(Database& database, const SpaceGuard& space, Archive archive, bool sync)
      : database_(database),
        space_(space),
        archive_(std::move(archive)),
        jobs_(database, archive_, sync),
        sync_(sync) {
    look();
  }

  /// Does all that is due at `now`, of a ledger with this newest checkpoint. Beside the database's
  /// writer, from any thread; one at a time, others wait. Throws StorageFault: disk_full,
  /// storage_damaged (the journal comes to something else than the checkpoint says; nothing was
  /// taken over), storage_failed. O(records since the archive's end).
  /// Ends soon with what is whole when it is told to rest.
  HistoryReport cut(const Checkpointed& checkpoint, const HistoryLimits& limits, WallTime now);

  /// From any thread, as what follows.
  void rest(bool rests) { rests_ = rests; }
  /// All but the checkpoint.
  [[nodiscard]] HistoryStanding standing() const;
  /// History was not cut, and why; until the next cut() that ends.
  void failed(const std::string& why);

 private:
  void write_segment(const Checkpointed& checkpoint, HistoryReport& report);
  void drop_records(std::uint64_t last);
  /// Whether a job in it is in the database, too. O(its jobs) at most.
  [[nodiscard]] bool has_listed(const SegmentName& segment, const DroppedJobs& dropped) const;
  void expire(const HistoryLimits& limits, WallTime now, HistoryReport& report);
  /// What the archive has.
  void look();

  Database& database_;
  const SpaceGuard& space_;
  Archive archive_;
  JobDropper jobs_;
  bool sync_;
  std::mutex one_at_a_time_;
  std::atomic<bool> rests_ = false;
  mutable std::mutex standing_mutex_;
  HistoryStanding standing_;  // guarded by standing_mutex_: it is asked for during a cut
};

}  // namespace fairwater::inline storage
