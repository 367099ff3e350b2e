// How long tasks are taken to run in a look ahead, by what the ledger knows of runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/workload.hpp"
#include "storage/families.hpp"
#include "storage/fold.hpp"

namespace fairwater::inline cli::inline sim_cli {

class WhatIfRuns {
 public:
  struct Outlook {
    WallTime now;
    std::int64_t horizon_ms = 0;  ///< services run on to it
  };
  using Jobs = std::map<std::string, JobRecord>;

  /// Borrows `jobs`, all that are known; `live` are those that have not ended.
  WhatIfRuns(const State& state, const Jobs& jobs, const std::map<std::string, LiveJob>& live,
             const Outlook& outlook);

  /// What a task of the job that has not ended is expected to take in all: as others of the job
  /// took, else of its class, else of its tenant.
  [[nodiscard]] std::int64_t expected(const JobRecord& job) const;
  [[nodiscard]] std::int64_t expected_rest(const JobRecord& job, const TaskRecord& task) const;
  /// What its tasks took, or are expected to: empty where it was cancelled before any of them ran.
  /// Of an elastic job of those that have begun, and of its least at least.
  [[nodiscard]] std::vector<sim::TimeMs> of_past(const JobRecord& job) const;

  /// Every task by index; null for those without a record.
  template <class Visit>
  void visit_tasks(const JobRecord& job, Visit visit) const {
    auto stored = tasks_.lower_bound(task_key(job.id, 0));
    for (std::uint32_t index = 0; index < job.tasks.total; ++index) {
      const bool has_record = stored != tasks_.end() && stored->first == task_key(job.id, index);
      visit(index, has_record ? &stored->second : nullptr);
      if (has_record) ++stored;
    }
  }

 private:
  struct MeanRun {
    std::int64_t sum_ms = 0;
    std::int64_t count = 0;
    void add(const MeanRun& more) {
      sum_ms += more.sum_ms;
      count += more.count;
    }
  };

  void learn(const JobRecord& job, bool is_live);

  const Outlook outlook_;
  const std::map<std::string, TaskRecord> tasks_;
  std::map<JobId, MeanRun> of_job_;  ///< of those that have not ended
  std::map<std::pair<TenantId, std::string>, MeanRun> of_class_;
  std::map<TenantId, MeanRun> of_tenant_;
};

[[nodiscard]] std::int64_t since_ms(WallTime earlier, WallTime later);

}  // namespace fairwater::inline cli::inline sim_cli
