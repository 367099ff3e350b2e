// How long a ledger's history is kept, and where.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "model/time.hpp"

namespace fairwater::inline model {

/// How long jobs that have ended are listed. Later `job show` alone finds them, in the archive.
struct JobRetention {
  std::int64_t keep_jobs_ms = std::int64_t{30} * 24 * 3'600'000;
  /// So many of a tenant are listed at most, the newest; none: any number. Counted whenever a file
  /// joins the archive: what ended since then is listed, too.
  std::optional<std::uint64_t> most_jobs;
  friend bool operator==(const JobRetention&, const JobRetention&) = default;
};

struct HistoryLimits {
  /// After so many records, or as many as the state has if that is more, comes a checkpoint, behind
  /// which history is archived. What they made is held in memory while they are folded anew.
  std::uint64_t checkpoint_every = 250'000;
  JobRetention jobs;
  /// By name: of these instead, and of the tenants within one, each for itself, that are not named
  /// themselves. Names that nobody has are for whoever gets them.
  std::map<std::string, JobRetention> tenants;
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

/// Where the history of one coordinator's ledger stands.
struct HistoryStanding {
  std::uint64_t files = 0;       ///< of the archive
  std::uint64_t bytes = 0;       ///< of those
  std::uint64_t first = 0;       ///< the oldest record that is kept in them; 0: there are none
  std::uint64_t last = 0;        ///< the newest one
  std::uint64_t checkpoint = 0;  ///< the record that is the newest checkpoint's; 0: there was none
  WallTime cut_at;               ///< when the newest file was made; not set: there is none
  std::string failure;           ///< why history was not cut when it was last tried; empty: it was
  friend bool operator==(const HistoryStanding&, const HistoryStanding&) = default;
};

}  // namespace fairwater::inline model
