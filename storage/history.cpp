#include "storage/history.hpp"

#include "storage/dropped_jobs.hpp"
#include "storage/erasure.hpp"
#include "storage/fold.hpp"
#include "storage/replay.hpp"
#include "storage/standing_state.hpp"

namespace fairwater::inline storage {
namespace {

/// Throws storage_damaged where records of neither are between the archive and the journal.
void check_joined(const Archive& archive, std::uint64_t archived, std::uint64_t first) {
  if (first <= archived + 1) return;
  throw StorageFault(
      ErrorCode::storage_damaged,
      "the archive in " + archive.path() + " ends with record " + std::to_string(archived) +
          ", and the journal begins with record " + std::to_string(first) +
          ": files of the archive are missing. Put them back, from a backup or another "
          "coordinator's archive.");
}

WallTime time_of_record(std::string_view key, std::string_view bytes) {
  return decode_stored<JournalRecord>(Family::journal, key, bytes).time;
}

}  // namespace

std::uint64_t journal_begin(const Snapshot& snapshot) {
  std::uint64_t number = 1;
  snapshot.walk(Family::journal, "", false, [&](std::string_view key, std::string_view) {
    number = from_big_endian<std::uint64_t>(key);
    return false;
  });
  return number;
}

HistoryReport HistoryCutter::cut(const Checkpointed& checkpoint, const HistoryLimits& limits,
                                 WallTime now) {
  const std::lock_guard lock(one_at_a_time_);
  HistoryReport report;
  if (checkpoint.number > archive_.end() && !rests_) write_segment(checkpoint, report);
  const std::uint64_t end = archive_.end();
  if (end > 0 && journal_begin(Snapshot(database_)) <= end) drop_records(end);
  report.dropped_jobs = jobs_.drop(limits, now, rests_);
  expire(limits, now, report);
  if (!report.is_empty()) look();
  if (!rests_) {
    const caf::error missing = archive_.hole();
    failed(missing ? details(missing).message : "");
  }
  return report;
}

HistoryStanding HistoryCutter::standing() const {
  const std::lock_guard lock(standing_mutex_);
  return standing_;
}

void HistoryCutter::failed(const std::string& why) {
  const std::lock_guard lock(standing_mutex_);
  standing_.failure = why;
}

void HistoryCutter::look() {
  const auto segments = archive_.segments();
  const std::uint64_t bytes = archive_.bytes();
  const caf::error missing = archive_.hole();
  const WallTime cut_at = segments.empty() ? WallTime{} : archive_.made_at(segments.back());
  const std::lock_guard lock(standing_mutex_);
  standing_.files = segments.size();
  standing_.bytes = bytes;
  standing_.first = segments.empty() ? 0 : segments.front().first;
  standing_.last = segments.empty() ? 0 : segments.back().last;
  standing_.cut_at = cut_at;
  if (missing) standing_.failure = details(missing).message;
}

void HistoryCutter::write_segment(const Checkpointed& checkpoint, HistoryReport& report) {
  const auto older = archive_.segments();
  SegmentName name;
  name.first = archive_.end() + 1;
  name.last = checkpoint.number;
  const std::string begin = journal_key(name.first);
  const std::string end = journal_key(name.last + 1);
  // A segment takes less than its records do in the database.
  if (const caf::error full = space_.admit(bytes_between(database_, Family::journal, begin, end)))
    throw StorageFault(details(full).code, details(full).message);
  RebuiltRecords records;
  if (!older.empty()) load_standing(*archive_.open(older.back()), records);
  SegmentWriter writer(archive_.path(), database_.rocks().GetEnv());
  {
    JournalReplay replay(records);
    const Snapshot snapshot(database_);
    check_joined(archive_, name.first - 1, journal_begin(snapshot));
    std::optional<std::string> wrong;
    bool was_stopped = false;
    snapshot.walk(Family::journal, begin, false, [&](std::string_view key, std::string_view bytes) {
      was_stopped = rests_;
      if (key >= end || was_stopped) return false;
      wrong = replay.take(key, bytes);
      if (wrong) return false;
      writer.add(SegmentPart::journal, key, bytes);
      if (replay.last_number() == name.last)
        name.until_s = time_of_record(key, bytes).microseconds / 1'000'000;
      return true;
    });
    if (was_stopped) return;
    replay.end();
    if (!wrong && replay.last_number() != name.last)
      wrong = "it ends with record " + std::to_string(replay.last_number());
    if (!wrong && hash_standing(records).hash != checkpoint.state_hash)
      wrong = "its records come to another state than the checkpoint of record " +
              std::to_string(name.last) + " says";
    if (wrong)
      throw StorageFault(ErrorCode::storage_damaged, "the journal in " + database_.directory() +
                                                         " cannot be archived: " + *wrong);
  }
  std::uint64_t jobs = 0;
  const EndedJobs ended =
      cut_history(records, [&](SegmentPart part, std::string_view key, std::string_view value) {
        if (part == SegmentPart::jobs) ++jobs;
        writer.add(part, key, value);
      });
  name.lowest = ended.lowest;
  name.highest = ended.highest;
  report.archived_bytes = writer.publish(name);
  report.archived_records = name.last - name.first + 1;
  report.archived_jobs = jobs;
}

void HistoryCutter::drop_records(std::uint64_t last) {
  const std::string begin = journal_key(1);
  const std::string end = journal_key(last + 1);
  rocksdb::WriteBatch batch{0, 0, /*protection_bytes_per_key=*/8, 0};
  erase_range(database_, batch, Family::journal, begin, end);
  write_erasure(database_, batch, sync_);
  compact(database_, Family::journal, begin, end);
}

bool HistoryCutter::has_listed(const SegmentName& segment, const DroppedJobs& dropped) const {
  if (dropped.all_of(segment)) return false;
  bool found = false;
  archive_.open(segment)->walk(
      SegmentPart::jobs, "", [&](std::string_view key, std::string_view value) {
        found = !dropped.has(segment, decode_stored<JobRecord>(Family::jobs, key, value));
        return !found;
      });
  return found;
}

void HistoryCutter::expire(const HistoryLimits& limits, WallTime now, HistoryReport& report) {
  auto segments = archive_.segments();
  const DroppedJobs dropped = read_dropped(Snapshot(database_));
  std::uint64_t bytes = limits.max_archive_bytes > 0 ? archive_.bytes() : 0;
  // The newest stays: from what stands after it, the journal goes on.
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    const std::int64_t age_ms = now.microseconds / 1000 - segments[i].until_s * 1000;
    const bool is_old = limits.keep_archive_ms > 0 && age_ms >= limits.keep_archive_ms;
    const bool is_large = limits.max_archive_bytes > 0 && bytes > limits.max_archive_bytes;
    // Jobs that are listed stay shown, and can be verified.
    if ((!is_old && !is_large) || has_listed(segments[i], dropped)) return;
    bytes -= archive_.remove(segments[i]);
    ++report.removed_files;
  }
}

}  // namespace fairwater::inline storage
