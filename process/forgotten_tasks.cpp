#include "process/forgotten_tasks.hpp"

#include <algorithm>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <utility>
#include <vector>

#include "process/process_identity.hpp"

namespace fairwater::inline process {
namespace {

/// What the attempt takes on the disk, a block at least: it bounds the number of small ones too.
std::uint64_t bytes_on_disk(const AttemptFile& file) {
  constexpr std::int64_t kStatBlock = 512;
  constexpr std::int64_t kLeastBytes = 4096;
  std::int64_t bytes = 0;
  for (const auto& path : {file.path(), file.log(false), file.log(true)}) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0)
      bytes += std::max(
          {kLeastBytes, std::int64_t{status.st_blocks} * kStatBlock, std::int64_t{status.st_size}});
  }
  return static_cast<std::uint64_t>(bytes);
}

WallTime last_written(const AttemptFile& file) {
  struct stat status {};
  if (::stat(file.path().c_str(), &status) != 0) return {};
  return {status.st_mtim.tv_sec * 1'000'000 + status.st_mtim.tv_nsec / 1000};
}

/// 0 where the attempt was given up by a host that did not know its tenant.
TenantId tenant_of(const AttemptRecord& record) {
  return record.order ? record.order->launch.tenant : TenantId{};
}

}  // namespace

Expected<std::unique_ptr<ForgottenTasks>> ForgottenTasks::open(std::filesystem::path host_directory,
                                                               LogRetention retention,
                                                               std::function<WallTime()> wall) {
  const auto tasks = AttemptFile::list(host_directory);
  if (!tasks) return tasks.error();
  std::vector<std::pair<TenantId, Entry>> found;
  for (const TaskKey& task : *tasks) {
    const AttemptFile file(host_directory, task);
    const auto record = file.read();
    if (!record) return record.error();
    if (record->forgotten)
      found.emplace_back(tenant_of(*record), Entry{task, bytes_on_disk(file), last_written(file)});
  }
  std::ranges::sort(found, {},
                    [](const auto& one) { return one.second.forgotten_at.microseconds; });
  const WallTime newest = found.empty() ? WallTime{} : found.back().second.forgotten_at;
  auto forgotten = std::make_unique<ForgottenTasks>(std::move(host_directory), retention,
                                                    std::move(wall), newest);
  for (const auto& [tenant, entry] : found) forgotten->keep(tenant, entry);
  forgotten->expire();
  return forgotten;
}

ForgottenTasks::ForgottenTasks(std::filesystem::path host_directory, LogRetention retention,
                               std::function<WallTime()> wall, WallTime newest)
    : host_directory_(std::move(host_directory)),
      retention_(retention),
      clock_({std::move(wall), boottime_ms}, kRemovalPatience, newest) {}

void ForgottenTasks::add(const AttemptFile& file) {
  if (contains(file.task())) return;
  // What cannot be marked is reported again after the next start, and forgotten then; what has no
  // file was removed before.
  const auto record = file.read();
  if (!record || file.append_forgotten()) return;
  keep(tenant_of(*record), {file.task(), bytes_on_disk(file), clock_.now()});
  expire();
}

void ForgottenTasks::keep(TenantId tenant, const Entry& entry) {
  TenantLogs& logs = tenants_[tenant];
  logs.bytes += entry.bytes;
  logs.oldest_first.push_back(entry);
  known_.insert(entry.task);
  while (logs.bytes > retention_.bytes) drop_oldest(logs);
}

void ForgottenTasks::expire() {
  const std::int64_t too_old_us = clock_.now().microseconds - retention_.age_ms * 1000;
  for (auto& [tenant, logs] : tenants_)
    while (!logs.oldest_first.empty() &&
           logs.oldest_first.front().forgotten_at.microseconds < too_old_us)
      drop_oldest(logs);
  make_room();
  std::erase_if(tenants_, [](const auto& one) { return one.second.oldest_first.empty(); });
}

/// What is on its way out counts as free already.
void ForgottenTasks::make_room() {
  struct statvfs disk {};
  if (::statvfs(host_directory_.c_str(), &disk) != 0) return;  // then nothing is known to be short
  const std::uint64_t all = disk.f_blocks * disk.f_frsize;
  const std::uint64_t wanted = std::min(retention_.keep_free_bytes, all / 20);
  const auto is_short = [&] { return disk.f_bavail * disk.f_frsize + bytes_in_removal_ < wanted; };
  while (is_short()) {
    const auto most =
        std::ranges::max_element(tenants_, {}, [](const auto& one) { return one.second.bytes; });
    if (most == tenants_.end() || most->second.oldest_first.empty()) return;
    drop_oldest(most->second);
  }
}

void ForgottenTasks::drop_oldest(TenantLogs& logs) {
  const Entry oldest = logs.oldest_first.front();
  logs.oldest_first.pop_front();
  logs.bytes -= oldest.bytes;
  known_.erase(oldest.task);
  bytes_in_removal_ += oldest.bytes;
  removals_.add([this, oldest] {
    AttemptFile(host_directory_, oldest.task).remove();
    bytes_in_removal_ -= oldest.bytes;
  });
}

}  // namespace fairwater::inline process
