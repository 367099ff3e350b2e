// The archive: the journal of long ago, and the jobs that ended in it, in files that do not change
// any more. What the database keeps begins where the newest of them ends.
//
//   DIR/history/FIRST-LAST.jobs-LOWEST-HIGHEST.until-SECONDS.sst       a segment; its name says
//   which records and jobs are in it, and the time of its last record
//
//   A segment is a sorted table in RocksDB's format, compressed, with checksums. Keys and values:
//     0x01 number:u64be            JournalRecord   each from FIRST to LAST
//     0x02 job:u64be               JobRecord       each job that ended in them
//     0x03 job:u64be index:u32be   TaskRecord      and its tasks
//     0x04 family:u8 key           a record        what stands after LAST
//                                                  (storage/standing_state.hpp)
//
// Keeps no state but on disk, so any thread may read. One at a time writes and removes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/env.h>

#include "storage/state.hpp"

namespace rocksdb {
class Iterator;
class SstFileReader;
class SstFileWriter;
}  // namespace rocksdb

namespace fairwater::inline storage {

struct SegmentName {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  JobId lowest;   ///< of its jobs; 0: it has none
  JobId highest;  ///< likewise
  std::int64_t until_s = 0;

  [[nodiscard]] std::string text() const;
  /// None for the name of something else.
  [[nodiscard]] static std::optional<SegmentName> parse(std::string_view text);
  friend bool operator==(const SegmentName&, const SegmentName&) = default;
};

enum class SegmentPart : char { journal = 1, jobs = 2, tasks = 3, standing = 4 };

class SegmentReader;

/// Goes through a segment record by record, in the order of its keys. Throws as its reader does.
class SegmentCursor {
 public:
  /// At the first record of `part`, or of those that follow. `reader` outlives it.
  SegmentCursor(const SegmentReader& reader, SegmentPart part, const std::string& first = {});
  ~SegmentCursor();
  SegmentCursor(const SegmentCursor&) = delete;
  SegmentCursor& operator=(const SegmentCursor&) = delete;

  /// False behind the last record.
  [[nodiscard]] bool is_valid() const;
  void next();
  [[nodiscard]] SegmentPart part() const;
  [[nodiscard]] std::string_view key() const;  ///< until next(), like the value
  [[nodiscard]] std::string_view value() const;

 private:
  void check() const;

  const SegmentReader& reader_;
  std::unique_ptr<rocksdb::Iterator> it_;
};

/// One file of the archive, open. What cannot be read is thrown as StorageFault.
class SegmentReader {
 public:
  SegmentReader(const std::string& path, rocksdb::Env* env);
  ~SegmentReader();
  SegmentReader(const SegmentReader&) = delete;
  SegmentReader& operator=(const SegmentReader&) = delete;

  /// Of one part, from the key `first` on, until `visit` returns false.
  void walk(SegmentPart part, const std::string& first,
            const std::function<bool(std::string_view key, std::string_view value)>& visit) const;
  [[nodiscard]] std::optional<std::string> find(SegmentPart part, const std::string& key) const;

 private:
  friend class SegmentCursor;
  std::string path_;
  std::unique_ptr<rocksdb::SstFileReader> reader_;
};

/// Writes one. Nothing of it is there before publish().
class SegmentWriter {
 public:
  /// `directory` is the archive's; what an earlier writer left unfinished is replaced.
  SegmentWriter(const std::string& directory, rocksdb::Env* env);
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  /// Parts and keys ascending. Throws StorageFault, like publish(): disk_full, storage_failed.
  void add(SegmentPart part, std::string_view key, std::string_view value);
  /// Durable, under its name, when it returns. The file's bytes.
  std::uint64_t publish(const SegmentName& name);

 private:
  std::string directory_;
  rocksdb::Env* env_;
  std::string path_;
  std::unique_ptr<rocksdb::SstFileWriter> writer_;
};

/// `storage_damaged`, in words: files that had records up to `last` are gone, and not as the
/// oldest.
[[nodiscard]] caf::error records_missing(const std::string& archive, std::uint64_t first,
                                         std::uint64_t last);

class Archive {
 public:
  /// `ledger` is the ledger's directory. It need not have an archive.
  Archive(const std::string& ledger, rocksdb::Env* env);

  [[nodiscard]] static std::string path_in(const std::string& ledger) {
    return ledger + "/history";
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// By their records. O(files).
  [[nodiscard]] std::vector<SegmentName> segments() const;
  /// Those with nothing that is newer than that record.
  [[nodiscard]] std::vector<SegmentName> segments_up_to(std::uint64_t newest) const;
  /// records_missing() where one that should follow on another is not there, or, where that is
  /// told, before the first record of the journal beside it; else none. O(files).
  [[nodiscard]] caf::error hole(std::uint64_t journal_begins = 0) const;
  /// The newest one's last record; 0 when there is none.
  [[nodiscard]] std::uint64_t end() const;
  /// Null when it was removed meanwhile.
  [[nodiscard]] std::unique_ptr<SegmentReader> open(const SegmentName& segment) const;
  /// Of all its files.
  [[nodiscard]] std::uint64_t bytes() const;
  /// When the file was made, or copied to where it is. Not set where that cannot be told.
  [[nodiscard]] WallTime made_at(const SegmentName& segment) const;
  /// The bytes that it had.
  std::uint64_t remove(const SegmentName& segment) const;

  /// None that is not there, or not kept any more; so of those that follow.
  [[nodiscard]] std::optional<std::string> record(std::uint64_t number) const;
  /// Records `first` to `last`, as far as they are kept, until `visit` returns false.
  void walk_journal(
      std::uint64_t first, std::uint64_t last,
      const std::function<bool(std::string_view key, std::string_view value)>& visit) const;
  [[nodiscard]] std::optional<JobRecord> job(JobId id) const;
  /// Of an archived job, from `first` on, by index, until `visit` returns false.
  void walk_tasks(JobId id, std::uint32_t first,
                  const std::function<bool(std::uint32_t index, const TaskRecord&)>& visit) const;

 private:
  [[nodiscard]] caf::error hole_as_listed(std::uint64_t journal_begins) const;
  /// The one that has the job, or null.
  [[nodiscard]] std::unique_ptr<SegmentReader> segment_of(JobId id) const;

  std::string path_;
  rocksdb::Env* env_;
};

}  // namespace fairwater::inline storage
