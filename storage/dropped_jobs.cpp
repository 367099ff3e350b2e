#include "storage/dropped_jobs.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "policy/core/check.hpp"

namespace fairwater::inline storage {
namespace {

constexpr const char* kDroppedKey = "dropped jobs";
constexpr std::size_t kMarkBytes = 16;
constexpr std::size_t kOwnMarkBytes = 4 + kMarkBytes;

std::string bytes_of(const DropMark& mark) {
  return big_endian(mark.segment_end) + big_endian(mark.job.value);
}

DropMark mark_of(std::string_view bytes) {
  return {from_big_endian<std::uint64_t>(bytes),
          JobId{from_big_endian<std::uint64_t>(bytes.substr(8))}};
}

}  // namespace

bool DropMark::all_of(const SegmentName& segment) const { return has(segment, segment.highest); }

bool DropMark::has(const SegmentName& segment, JobId id) const {
  return segment.last < segment_end || (segment.last == segment_end && id <= job);
}

const DropMark& DroppedJobs::of(TenantId tenant) const {
  const auto found = own.find(tenant);
  return found == own.end() ? common : found->second;
}

bool DroppedJobs::all_of(const SegmentName& segment) const {
  return common.all_of(segment) && std::all_of(own.begin(), own.end(), [&](const auto& tenant) {
           return tenant.second.all_of(segment);
         });
}

bool DroppedJobs::has(const SegmentName& segment, const JobRecord& job) const {
  return of(job.tenant).has(segment, job.id);
}

DroppedJobs read_dropped(const Snapshot& snapshot) {
  const auto bytes = snapshot.note(kDroppedKey);
  if (!bytes) return {};
  if (bytes->size() % kOwnMarkBytes != kMarkBytes)
    throw StorageFault(ErrorCode::storage_damaged,
                       "the note of dropped jobs cannot be read: it has " +
                           std::to_string(bytes->size()) + " bytes");
  std::string_view rest = *bytes;
  DroppedJobs dropped;
  dropped.common = mark_of(rest);
  for (rest.remove_prefix(kMarkBytes); !rest.empty(); rest.remove_prefix(kOwnMarkBytes))
    dropped.own[TenantId{from_big_endian<std::uint32_t>(rest)}] = mark_of(rest.substr(4));
  return dropped;
}

void note_dropped(const DroppedJobs& dropped, const Database& database,
                  rocksdb::WriteBatch& batch) {
  std::string bytes = bytes_of(dropped.common);
  for (const auto& [tenant, mark] : dropped.own)
    if (mark != dropped.common) bytes += key_of(tenant) + bytes_of(mark);
  const rocksdb::Status staged =
      batch.Put(database.rocks().DefaultColumnFamily(), kDroppedKey, bytes);
  FAIRWATER_CHECK(staged.ok(), "a batch takes every change");
}

}  // namespace fairwater::inline storage
