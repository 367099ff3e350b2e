// From a log to live jobs: which tenants there are, and what is submitted when. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/job.hpp"
#include "model/tenant.hpp"
#include "sim/traces/swf.hpp"

namespace fairwater::inline cli::inline replay {

struct ReplayRules {
  double speedup = 1;  ///< > 0: the log's time runs so much faster
  TenantColumn tenants = TenantColumn::user;
  Amount task_memory = 16;           ///< MiB; small, so that cpu decides
  std::vector<TenantSpec> declared;  ///< from a tenant file: these keep their terms
  std::string run;                   ///< makes the jobs' names unique to this replay
};

struct PlannedJob {
  std::int64_t arrival_us = 0;  ///< after the replay's start
  std::int64_t run_us = 0;      ///< of each of its processes
  JobSpec spec;                 ///< its name is unique within the cluster
};

struct ReplayPlan {
  std::vector<TenantSpec> tenants;  ///< those that the log has, by first arrival, each behind those
                                    ///< declared around it; weight 1 unless declared
  std::vector<PlannedJob> jobs;     ///< by arrival
  std::uint64_t tasks = 0;
};

/// Every job becomes as many one-cpu processes as it had processors, each sleeping its runtime
/// divided by the speed-up. `invalid_input` when a job has more processors than a job may have
/// tasks. O(jobs).
[[nodiscard]] Expected<ReplayPlan> plan_replay(const SwfLog& log, const ReplayRules& rules);

}  // namespace fairwater::inline cli::inline replay
