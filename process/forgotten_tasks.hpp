// Attempts whose results are durable elsewhere: only their logs are of use, and stay for as long as
// their tenant's retention says. Each tenant has its own: a flood of one's logs pushes out nobody
// else's. When the disk runs short, the tenant that keeps most gives way first.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "model/patient_clock.hpp"
#include "process/attempt_file.hpp"
#include "process/removal_thread.hpp"

namespace fairwater::inline process {

/// Of each tenant, on one node.
struct LogRetention {
  std::int64_t age_ms = 7LL * 24 * 3'600'000;  ///< from when the result was durable elsewhere
  std::uint64_t bytes = 4ull << 30;            ///< on the disk; the oldest go first
  /// Of the whole file system: while less than this is free (or less than a twentieth of it, if
  /// that is smaller), logs go before their time.
  std::uint64_t keep_free_bytes = 1ull << 30;
};

class ForgottenTasks {
 public:
  /// Takes over what an earlier host forgot, oldest first by the time it was forgotten.
  /// O(attempts log attempts).
  [[nodiscard]] static Expected<std::unique_ptr<ForgottenTasks>> open(
      std::filesystem::path host_directory, LogRetention retention, std::function<WallTime()> wall);
  /// `newest`: when the last of those was forgotten that it is to keep.
  ForgottenTasks(std::filesystem::path host_directory, LogRetention retention,
                 std::function<WallTime()> wall, WallTime newest);

  /// O(log n). True until its removal is due.
  [[nodiscard]] bool contains(const TaskKey& task) const { return known_.contains(task); }
  /// Marks it on disk, and has removed what is beyond the retention. Twice is once.
  void add(const AttemptFile& file);
  /// Has removed what is too old by now, or in the disk's way. O(tenants), and cheap: to be called
  /// with every heartbeat.
  void expire();

 private:
  struct Entry {
    TaskKey task;
    std::uint64_t bytes = 0;
    WallTime forgotten_at;
  };
  struct TenantLogs {
    std::deque<Entry> oldest_first;
    std::uint64_t bytes = 0;
  };
  void keep(TenantId tenant, const Entry& entry);
  void drop_oldest(TenantLogs& logs);
  void make_room();

  std::filesystem::path host_directory_;
  LogRetention retention_;
  PatientClock clock_;
  std::map<TenantId, TenantLogs> tenants_;
  std::set<TaskKey> known_;
  std::atomic<std::uint64_t> bytes_in_removal_ = 0;
  RemovalThread removals_;  ///< goes first: it counts down `bytes_in_removal_`
};

}  // namespace fairwater::inline process
