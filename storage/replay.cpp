#include "storage/replay.hpp"

#include <utility>
#include <vector>

#include "storage/fold.hpp"
#include "storage/standing_state.hpp"

namespace fairwater::inline storage {
namespace {

/// So much of the journal is folded before its changes are put away.
constexpr std::size_t kBytesPerStep = std::size_t{4} << 20;

struct StoredRecord {
  Family family;
  std::string key;
  std::optional<std::string> value;
};

/// Hands changes on in pieces that memory is not felt for.
class Pieces {
 public:
  explicit Pieces(RebuiltRecords& records) : records_(records) {}
  void add(Family family, std::string key, std::optional<std::string> value) {
    bytes_ += key.size() + (value ? value->size() : 0);
    piece_.push_back({family, std::move(key), std::move(value)});
    if (bytes_ > kBytesPerStep) end();
  }
  void end() {
    records_.take([&](const ChangeSink& sink) {
      for (const StoredRecord& record : piece_) sink(record.family, record.key, record.value);
    });
    piece_.clear();
    bytes_ = 0;
  }

 private:
  RebuiltRecords& records_;
  std::vector<StoredRecord> piece_;
  std::size_t bytes_ = 0;
};

std::vector<std::string> ended_jobs(const RebuiltRecords& records) {
  std::vector<std::string> ended;
  records.scan(Family::jobs, [&](std::string_view key, std::string_view) {
    if (!records.get(Family::live, std::string(key))) ended.emplace_back(key);
  });
  return ended;
}

void erase_jobs(RebuiltRecords& records, const std::vector<std::string>& jobs) {
  Pieces pieces(records);
  for (const std::string& key : jobs) {
    const auto job = decode_stored<JobRecord>(Family::jobs, key, *records.get(Family::jobs, key));
    for (DerivedEntry& entry : entries_of(job))
      pieces.add(entry.family, std::move(entry.key), std::nullopt);
    std::vector<std::string> tasks;
    records.scan_prefix(Family::tasks, key,
                        [&](std::string_view task, std::string_view) { tasks.emplace_back(task); });
    for (std::string& task : tasks) pieces.add(Family::tasks, std::move(task), std::nullopt);
    pieces.add(Family::jobs, key, std::nullopt);
  }
  pieces.end();
}

}  // namespace

std::optional<std::string> JournalReplay::take(std::string_view key, std::string_view bytes) {
  const std::uint64_t expected = state_.meta.last_number + 1;
  const std::string place =
      "journal " + std::to_string(key.size() == 8 ? from_big_endian<std::uint64_t>(key) : 0) + ": ";
  if (key != journal_key(expected))
    return place + "record " + std::to_string(expected) + " is missing before it";
  const Expected<JournalRecord> record = from_bytes<JournalRecord>(bytes);
  if (!record) return place + details(record.error()).message;
  if (const caf::error error = apply(state_, *record)) return place + details(error).message;
  state_.meta.last_hash = hash_of(bytes);
  step_bytes_ += bytes.size();
  if (step_bytes_ > kBytesPerStep) end();
  return std::nullopt;
}

void JournalReplay::end() {
  step_bytes_ = 0;
  if (state_.meta.last_number > 0) records_.take_changes(state_);
}

void load_standing(const SegmentReader& segment, RebuiltRecords& records) {
  Pieces pieces(records);
  segment.walk(SegmentPart::standing, "", [&](std::string_view key, std::string_view value) {
    if (key.empty() || static_cast<std::size_t>(key.front()) >= kFamilyCount)
      throw StorageFault(ErrorCode::storage_damaged,
                         "the archive names a family that this version of Fairwater does not know");
    pieces.add(static_cast<Family>(key.front()), std::string(key.substr(1)), std::string(value));
    return true;
  });
  pieces.end();
}

bool visit_jobs(
    const SegmentReader& segment, const IsWanted& is_wanted,
    const std::function<bool(Family, const std::string& key, const std::string& value)>& visit) {
  bool goes_on = true;
  SegmentCursor task(segment, SegmentPart::tasks);
  segment.walk(SegmentPart::jobs, "", [&](std::string_view key, std::string_view value) {
    const auto job = decode_stored<JobRecord>(Family::jobs, key, value);
    const bool wanted = is_wanted(job);
    if (wanted) {
      for (const DerivedEntry& entry : entries_of(job))
        goes_on = goes_on && visit(entry.family, entry.key, entry.value);
      goes_on = goes_on && visit(Family::jobs, std::string(key), std::string(value));
    }
    const std::string tasks_end = task_key(JobId{job.id.value + 1}, 0);
    for (;
         goes_on && task.is_valid() && task.part() == SegmentPart::tasks && task.key() < tasks_end;
         task.next())
      if (wanted && task.key().starts_with(key))
        goes_on = visit(Family::tasks, std::string(task.key()), std::string(task.value()));
    return goes_on;
  });
  return goes_on;
}

void load_jobs(const SegmentReader& segment, RebuiltRecords& records, const IsWanted& is_wanted) {
  Pieces pieces(records);
  visit_jobs(segment, is_wanted, [&](Family family, std::string key, std::string value) {
    pieces.add(family, std::move(key), std::move(value));
    return true;
  });
  pieces.end();
}

EndedJobs cut_history(RebuiltRecords& records, const PartVisit& visit) {
  const std::vector<std::string> ended = ended_jobs(records);
  for (const std::string& key : ended)
    visit(SegmentPart::jobs, key, *records.get(Family::jobs, key));
  for (const std::string& key : ended)
    records.scan_prefix(Family::tasks, key, [&](std::string_view task, std::string_view value) {
      visit(SegmentPart::tasks, task, value);
    });
  erase_jobs(records, ended);
  visit_standing(records, [&](Family family, std::string_view key, std::string_view value) {
    std::string whole(1, static_cast<char>(family));
    visit(SegmentPart::standing, whole += key, value);
  });
  if (ended.empty()) return {};
  return {JobId{from_big_endian<std::uint64_t>(ended.front())},
          JobId{from_big_endian<std::uint64_t>(ended.back())}};
}

}  // namespace fairwater::inline storage
