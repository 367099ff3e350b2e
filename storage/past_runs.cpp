#include "storage/past_runs.hpp"

#include <algorithm>
#include <limits>

#include "storage/state.hpp"

namespace fairwater::inline storage {
namespace {

constexpr std::uint32_t kLastTasksOfJob = 100;

void add_run(const JobSpec& spec, const TaskRecord& task, std::vector<PastRun>& runs) {
  if (!task.result) return;
  if (auto run = past_run(spec, *task.result)) runs.push_back(*std::move(run));
}

}  // namespace

void add_runs(const UnfinishedJob& job, std::vector<PastRun>& runs) {
  for (const auto& [index, task] : job.tasks) add_run(job.record.spec, task, runs);
}

std::optional<std::string> add_past_runs(const Ledger& ledger, TenantId tenant,
                                         std::size_t max_tasks, std::vector<PastRun>& runs) try {
  constexpr JobId kNewest{std::numeric_limits<JobId::rep>::max()};
  std::size_t left = max_tasks;
  ledger.visit_tenant_jobs(tenant, kNewest, [&](JobId id, JobState state) {
    if (!is_terminal(state)) return true;
    const auto job = ledger.job(id);
    if (!job) return true;
    const auto count = static_cast<std::uint32_t>(
        std::min<std::size_t>({job->tasks.total, kLastTasksOfJob, left}));
    for (const auto& task : ledger.tasks(id, job->tasks.total - count, count))
      add_run(job->spec, task.record, runs);
    left -= count;
    return left > 0;
  });
  return std::nullopt;
} catch (const StorageFault& fault) {
  return fault.what();
}

}  // namespace fairwater::inline storage
