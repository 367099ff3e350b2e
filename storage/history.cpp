#include "storage/history.hpp"

#include <algorithm>

#include <rocksdb/options.h>

#include "policy/core/check.hpp"
#include "storage/fold.hpp"
#include "storage/replay.hpp"
#include "storage/standing_state.hpp"

namespace fairwater::inline storage {
namespace {

/// In the default family: DroppedJobs, as two u64be.
constexpr const char* kDroppedKey = "dropped jobs";
/// Of jobs that leave the database in one batch: some hundred kilobytes.
constexpr std::size_t kJobsPerDrop = 1024;
/// Less than this is left to RocksDB's own compactions.
constexpr std::uint64_t kWorthCompacting = 8 << 20;

[[noreturn]] void fail_cut(const rocksdb::Status& status, const Database& database) {
  const caf::error error =
      storage_error(status, "cannot cut the history of the ledger in " + database.directory());
  throw StorageFault(details(error).code, details(error).message);
}

std::uint64_t bytes_between(const Database& database, Family family, const std::string& first,
                            const std::string& end) {
  const rocksdb::Range range(first, end);
  std::uint64_t bytes = 0;
  database.rocks()
      .GetApproximateSizes(database.handle(family), &range, 1, &bytes)
      .PermitUncheckedError();  // an estimate
  return bytes;
}

/// Gives the space of deleted keys back. What is not given back now, later compactions give.
void compact(const Database& database, Family family, const std::string& first,
             const std::string& end) {
  if (bytes_between(database, family, first, end) < kWorthCompacting) return;
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  const rocksdb::Slice from(first);
  const rocksdb::Slice to(end);
  database.rocks()
      .CompactRange(options, database.handle(family), &from, &to)
      .PermitUncheckedError();
}

void erase_range(const Database& database, rocksdb::WriteBatch& batch, Family family,
                 const std::string& first, const std::string& end) {
  const rocksdb::Status staged = batch.DeleteRange(database.handle(family), first, end);
  FAIRWATER_CHECK(staged.ok(), "a batch takes every change");
}

void erase_key(const Database& database, rocksdb::WriteBatch& batch, Family family,
               const std::string& key) {
  const rocksdb::Status staged = batch.Delete(database.handle(family), key);
  FAIRWATER_CHECK(staged.ok(), "a batch takes every change");
}

WallTime time_of_record(std::string_view key, std::string_view bytes) {
  return decode_stored<JournalRecord>(Family::journal, key, bytes).time;
}

}  // namespace

bool DroppedJobs::all_of(const SegmentName& segment) const {
  return segment.last < segment_end || (segment.last == segment_end && segment.highest <= job);
}

bool DroppedJobs::has(const SegmentName& segment, JobId id) const {
  return segment.last < segment_end || (segment.last == segment_end && id <= job);
}

DroppedJobs read_dropped(const Snapshot& snapshot) {
  const auto bytes = snapshot.note(kDroppedKey);
  if (!bytes || bytes->size() != 16) return {};
  return {from_big_endian<std::uint64_t>(*bytes),
          JobId{from_big_endian<std::uint64_t>(std::string_view(*bytes).substr(8))}};
}

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
  DroppedJobs dropped = read_dropped(Snapshot(database_));
  for (const SegmentName& segment : archive_.segments()) {
    if (rests_ || now.microseconds / 1000 - segment.until_s * 1000 < limits.keep_jobs_ms) break;
    if (dropped.all_of(segment)) continue;
    report.dropped_jobs += drop_jobs(segment, dropped);
    dropped = {segment.last, segment.highest};
  }
  expire(limits, now, report);
  return report;
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
  if (const rocksdb::Status written = database_.write(batch, sync_); !written.ok())
    fail_cut(written, database_);
  compact(database_, Family::journal, begin, end);
}

std::uint64_t HistoryCutter::drop_jobs(const SegmentName& segment, const DroppedJobs& dropped) {
  const auto reader = archive_.open(segment);
  rocksdb::WriteBatch batch{0, 0, /*protection_bytes_per_key=*/8, 0};
  std::uint64_t jobs = 0;
  const auto write = [&](JobId up_to) {
    const rocksdb::Status staged = batch.Put(database_.rocks().DefaultColumnFamily(), kDroppedKey,
                                             big_endian(segment.last) + big_endian(up_to.value));
    FAIRWATER_CHECK(staged.ok(), "a batch takes every change");
    if (const rocksdb::Status written = database_.write(batch, sync_); !written.ok())
      fail_cut(written, database_);
    batch.Clear();
  };
  const JobId after = dropped.segment_end == segment.last ? dropped.job : JobId{};
  reader->walk(SegmentPart::jobs, key_of(JobId{after.value + 1}),
               [&](std::string_view key, std::string_view value) {
                 const auto job = decode_stored<JobRecord>(Family::jobs, key, value);
                 erase_key(database_, batch, Family::jobs, std::string(key));
                 erase_range(database_, batch, Family::tasks, task_key(job.id, 0),
                             task_key(JobId{job.id.value + 1}, 0));
                 for (const DerivedEntry& entry : entries_of(job))
                   erase_key(database_, batch, entry.family, entry.key);
                 if (++jobs % kJobsPerDrop == 0) write(job.id);
                 return true;
               });
  write(segment.highest);
  const std::string begin = key_of(segment.lowest);
  const std::string end = key_of(JobId{segment.highest.value + 1});
  compact(database_, Family::jobs, begin, end);
  compact(database_, Family::tasks, begin, end);
  return jobs;
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
    if ((!is_old && !is_large) || !dropped.all_of(segments[i])) return;
    bytes -= archive_.remove(segments[i]);
    ++report.removed_files;
  }
}

}  // namespace fairwater::inline storage
