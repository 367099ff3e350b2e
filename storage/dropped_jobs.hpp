// Which of the archived jobs are not in the database any more: a mark for all tenants, and one of
// its own for each tenant whose jobs went sooner or later than the others'.
//
//   "dropped jobs", in the default family := mark (tenant:u32be mark)*     tenants ascending, each
//                                                                     mark unlike the first
//   mark := segment_end:u64be job:u64be
//
// It is written with the jobs that leave, so that it is never ahead of them nor behind. A ledger
// without tenants of limits of their own has the first mark alone, as all of earlier versions.
#pragma once

#include <cstdint>
#include <map>

#include <rocksdb/write_batch.h>

#include "storage/archive.hpp"
#include "storage/database.hpp"

namespace fairwater::inline storage {

/// All jobs of segments that end before `segment_end`, and of the one that ends with it those up to
/// `job`.
struct DropMark {
  std::uint64_t segment_end = 0;
  JobId job;
  [[nodiscard]] bool all_of(const SegmentName& segment) const;
  [[nodiscard]] bool has(const SegmentName& segment, JobId id) const;
  friend auto operator<=>(const DropMark&, const DropMark&) = default;
};

struct DroppedJobs {
  DropMark common;
  std::map<TenantId, DropMark> own;

  [[nodiscard]] const DropMark& of(TenantId tenant) const;
  /// Of whatever tenants.
  [[nodiscard]] bool all_of(const SegmentName& segment) const;
  [[nodiscard]] bool has(const SegmentName& segment, const JobRecord& job) const;
  friend bool operator==(const DroppedJobs&, const DroppedJobs&) = default;
};

/// Throws StorageFault when what is noted is no such list.
[[nodiscard]] DroppedJobs read_dropped(const Snapshot& snapshot);
void note_dropped(const DroppedJobs& dropped, const Database& database, rocksdb::WriteBatch& batch);

}  // namespace fairwater::inline storage
