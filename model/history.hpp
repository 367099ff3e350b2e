// How long a ledger's history is kept, and where.
#pragma once

#include <cstdint>

namespace fairwater::inline model {

struct HistoryLimits {
  /// After so many records, or as many as the state has if that is more, comes a checkpoint, behind
  /// which history is archived. What they made is held in memory while they are folded anew.
  std::uint64_t checkpoint_every = 250'000;
  /// For so long after its end a job is listed. Later `job show` alone finds it, in the archive.
  std::int64_t keep_jobs_ms = std::int64_t{30} * 24 * 3'600'000;
  /// The archive's files go once all in them is older; 0: never.
  std::int64_t keep_archive_ms = 0;
  /// The oldest of the archive's files go while it is larger; 0: never.
  std::uint64_t max_archive_bytes = 0;
  friend bool operator==(const HistoryLimits&, const HistoryLimits&) = default;
};

/// What cutting history did.
struct HistoryReport {
  std::uint64_t archived_records = 0;
  std::uint64_t archived_jobs = 0;
  std::uint64_t archived_bytes = 0;  ///< on disk
  std::uint64_t dropped_jobs = 0;    ///< from the database: they are not listed any more
  std::uint64_t removed_files = 0;   ///< of the archive
  [[nodiscard]] bool is_empty() const { return *this == HistoryReport{}; }
  friend bool operator==(const HistoryReport&, const HistoryReport&) = default;
};

}  // namespace fairwater::inline model
