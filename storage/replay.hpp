// The journal folded anew, record by record, in memory: by verify, and by the archive before it
// takes anything over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "storage/archive.hpp"
#include "storage/rebuilt_records.hpp"
#include "storage/state.hpp"

namespace fairwater::inline storage {

class JournalReplay {
 public:
  /// Goes on from what `records` holds: nothing, or what stood after some record.
  explicit JournalReplay(RebuiltRecords& records) : records_(records), state_(records) {}

  /// The next record. What is wrong with it, if something is; then nothing can follow.
  [[nodiscard]] std::optional<std::string> take(std::string_view key, std::string_view bytes);
  /// All that was folded is in the records.
  void end();
  [[nodiscard]] std::uint64_t last_number() const { return state_.meta.last_number; }
  [[nodiscard]] const LedgerMeta& meta() const { return state_.meta; }

 private:
  RebuiltRecords& records_;
  State state_;
  std::size_t step_bytes_ = 0;  ///< of the journal, since changes were put away
};

/// Puts into `records` what stood after the segment's last record.
void load_standing(const SegmentReader& segment, RebuiltRecords& records);

using IsWanted = std::function<bool(const JobRecord&)>;

/// Those jobs of the segment that `is_wanted` says, with their tasks and their entries in lists,
/// one record at a time until `visit` returns false; then that is returned.
bool visit_jobs(
    const SegmentReader& segment, const IsWanted& is_wanted,
    const std::function<bool(Family, const std::string& key, const std::string& value)>& visit);

/// Puts those jobs of the segment into `records` that `is_wanted` says, as visit_jobs() has them.
void load_jobs(const SegmentReader& segment, RebuiltRecords& records, const IsWanted& is_wanted);

using PartVisit =
    std::function<void(SegmentPart part, std::string_view key, std::string_view value)>;

/// The jobs that a segment has, as `records` holds them after its last record.
struct EndedJobs {
  JobId lowest;  ///< 0: there are none
  JobId highest;
};
/// Hands over all of a segment but its journal, in the order of its keys; `records` is left with
/// what stands.
EndedJobs cut_history(RebuiltRecords& records, const PartVisit& visit);

}  // namespace fairwater::inline storage
