#include "storage/job_dropper.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "model/tenant_nesting.hpp"
#include "policy/core/check.hpp"
#include "storage/erasure.hpp"
#include "storage/standing_state.hpp"

namespace fairwater::inline storage {
namespace {

/// Of jobs that leave the database in one batch: some hundred kilobytes.
constexpr std::size_t kJobsPerDrop = 1024;
/// Of no tenant: all that have no limits and no mark of their own.
constexpr TenantId kAllOthers{};

/// By tenant: those that the limits name, or that are in one that they name; and all, where all are
/// bounded by number.
std::map<TenantId, JobRetention> own_retentions(const HistoryLimits& limits,
                                                const Snapshot& snapshot) {
  std::map<TenantId, JobRetention> own;
  if (limits.tenants.empty() && !limits.jobs.most_jobs) return own;
  TenantNesting::Specs specs;
  snapshot.scan(Family::tenants, [&](std::string_view key, std::string_view bytes) {
    auto tenant = decode_stored<TenantRecord>(Family::tenants, key, bytes);
    specs.emplace(tenant.id, std::move(tenant.spec));
  });
  const TenantNesting nesting(specs);
  for (const auto& [tenant, spec] : specs) {
    if (limits.jobs.most_jobs) own[tenant] = limits.jobs;
    std::vector<TenantId> innermost_last = nesting.around(tenant);
    std::reverse(innermost_last.begin(), innermost_last.end());
    innermost_last.push_back(tenant);
    for (const TenantId id : innermost_last)
      if (const auto named = limits.tenants.find(specs.at(id).name); named != limits.tenants.end())
        own[tenant] = named->second;
  }
  return own;
}

std::uint64_t count_ended(const Snapshot& snapshot, TenantId tenant) {
  std::uint64_t ended = 0;
  snapshot.scan_prefix(Family::tenant_jobs, key_of(tenant),
                       [&](std::string_view key, std::string_view bytes) {
                         const auto job = decode_stored<TenantJob>(Family::tenant_jobs, key, bytes);
                         ended += is_terminal(job.state) ? 1 : 0;
                       });
  return ended;
}

}  // namespace

struct JobDropper::Group {
  JobRetention retention;
  DropMark mark;
  std::uint64_t excess = 0;  ///< so many more are listed than may be
  bool takes_all = false;    ///< of the segment at hand
  bool stays = false;        ///< where it is, for now

  void come_to(const SegmentName& segment, WallTime now) {
    const std::int64_t age_ms = now.microseconds / 1000 - segment.until_s * 1000;
    takes_all = age_ms >= retention.keep_jobs_ms;
    stays = stays || (!goes_on() && !mark.all_of(segment));
  }
  [[nodiscard]] bool goes_on() const { return !stays && (takes_all || excess > 0); }
  [[nodiscard]] bool wants(const SegmentName& segment, JobId id) const {
    return goes_on() && !mark.has(segment, id);
  }
  void took(const SegmentName& segment, JobId id) {
    mark = {segment.last, id};
    if (excess > 0) --excess;
  }
  /// Has seen all up to that job, unless it did not want more before.
  void pass(const SegmentName& segment, JobId up_to) {
    if (goes_on()) mark = std::max(mark, DropMark{segment.last, up_to});
  }
};

JobDropper::Groups JobDropper::groups(const HistoryLimits& limits, bool counts) const {
  const Snapshot snapshot(database_);
  const DroppedJobs dropped = read_dropped(snapshot);
  Groups groups{{kAllOthers, {{limits.jobs.keep_jobs_ms, std::nullopt}, dropped.common}}};
  for (const auto& [tenant, mark] : dropped.own) groups[tenant] = {limits.jobs, mark};
  for (const auto& [tenant, retention] : own_retentions(limits, snapshot))
    groups[tenant] = {retention, dropped.of(tenant)};
  for (auto& [tenant, group] : groups)
    if (const auto most = group.retention.most_jobs; most && counts) {
      const std::uint64_t ended = count_ended(snapshot, tenant);
      group.excess = ended - std::min(ended, *most);
    }
  return groups;
}

std::uint64_t JobDropper::drop(const HistoryLimits& limits, WallTime now,
                               const std::atomic<bool>& rests) {
  const auto segments = archive_.segments();
  const std::uint64_t end = segments.empty() ? 0 : segments.back().last;
  Groups groups = this->groups(limits, end != counted_end_ || counted_by_ != limits);
  std::uint64_t jobs = 0;
  for (const SegmentName& segment : segments) {
    if (rests) return jobs;
    bool has_more = false;
    for (auto& [tenant, group] : groups) {
      group.come_to(segment, now);
      has_more = has_more || group.wants(segment, segment.highest);
    }
    if (has_more) jobs += drop_from(segment, groups);
  }
  counted_end_ = end;
  counted_by_ = limits;
  return jobs;
}

std::uint64_t JobDropper::drop_from(const SegmentName& segment, Groups& groups) {
  const auto reader = archive_.open(segment);
  rocksdb::WriteBatch batch{0, 0, /*protection_bytes_per_key=*/8, 0};
  std::uint64_t jobs = 0;
  reader->walk(SegmentPart::jobs, first_wanted(segment, groups),
               [&](std::string_view key, std::string_view value) {
                 const auto job = decode_stored<JobRecord>(Family::jobs, key, value);
                 const auto own = groups.find(job.tenant);
                 Group& group = own == groups.end() ? groups.at(kAllOthers) : own->second;
                 if (!group.wants(segment, job.id)) return true;
                 erase_key(database_, batch, Family::jobs, std::string(key));
                 erase_range(database_, batch, Family::tasks, task_key(job.id, 0),
                             task_key(JobId{job.id.value + 1}, 0));
                 for (const DerivedEntry& entry : entries_of(job))
                   erase_key(database_, batch, entry.family, entry.key);
                 group.took(segment, job.id);
                 if (++jobs % kJobsPerDrop == 0) write(batch, segment, job.id, groups);
                 return true;
               });
  write(batch, segment, segment.highest, groups);
  const std::string begin = key_of(segment.lowest);
  const std::string end = key_of(JobId{segment.highest.value + 1});
  compact(database_, Family::jobs, begin, end);
  compact(database_, Family::tasks, begin, end);
  return jobs;
}

std::string JobDropper::first_wanted(const SegmentName& segment, const Groups& groups) {
  JobId first = segment.highest;
  for (const auto& [tenant, group] : groups)
    if (group.wants(segment, segment.highest))
      first =
          std::min(first, group.mark.segment_end == segment.last ? JobId{group.mark.job.value + 1}
                                                                 : segment.lowest);
  return key_of(first);
}

void JobDropper::write(rocksdb::WriteBatch& batch, const SegmentName& segment, JobId up_to,
                       Groups& groups) {
  DroppedJobs dropped;
  for (auto& [tenant, group] : groups) {
    group.pass(segment, up_to);
    (tenant == kAllOthers ? dropped.common : dropped.own[tenant]) = group.mark;
  }
  note_dropped(dropped, database_, batch);
  write_erasure(database_, batch, sync_);
  batch.Clear();
}

}  // namespace fairwater::inline storage
