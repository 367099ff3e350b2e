// Takes jobs that ended long ago out of the database, once the archive has them: so long after
// their end, and so many of a tenant, as HistoryLimits says.
//
//   for each segment, the oldest first:
//     who may go on: all without limits of their own together, and each other tenant by itself,
//     whose mark is not behind the segment, and
//       all in it are old enough, or the tenant has more ended jobs listed than it may
//     their jobs leave, and the marks follow, a batch at a time
//
// A tenant whose limits are new begins at the common mark; one that lost its own goes by the common
// limits from where its mark is, and has none of its own once the two have met.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "model/history.hpp"
#include "storage/archive.hpp"
#include "storage/database.hpp"
#include "storage/dropped_jobs.hpp"

namespace fairwater::inline storage {

class JobDropper {
 public:
  /// `database` and `archive` outlive it.
  JobDropper(Database& database, const Archive& archive, bool sync)
      : database_(database), archive_(archive), sync_(sync) {}

  /// How many left. Beside the database's writer; one at a time. Ends soon, with what is whole,
  /// once `rests` is set. Throws StorageFault. What was broken off goes on with the next call.
  std::uint64_t drop(const HistoryLimits& limits, WallTime now, const std::atomic<bool>& rests);

 private:
  struct Group;
  /// Those who go on by themselves, and under no id all others.
  using Groups = std::map<TenantId, Group>;

  [[nodiscard]] Groups groups(const HistoryLimits& limits, bool counts) const;
  std::uint64_t drop_from(const SegmentName& segment, Groups& groups);
  [[nodiscard]] static std::string first_wanted(const SegmentName& segment, const Groups& groups);
  /// What left, and the marks that say so.
  void write(rocksdb::WriteBatch& batch, const SegmentName& segment, JobId up_to, Groups& groups);

  Database& database_;
  const Archive& archive_;
  bool sync_;
  /// Up to where jobs were counted, and by which limits: nothing more can go before that changes.
  std::uint64_t counted_end_ = 0;
  std::optional<HistoryLimits> counted_by_;
};

}  // namespace fairwater::inline storage
