#include "actors/coordinator/profile_scan.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace fairwater::inline actors::inline coordinator {
namespace {

/// A slice takes about ten milliseconds.
constexpr std::size_t kAmountsPerSlice = 2;
/// With one set of amounts: beyond these nothing is looked for among jobs that were cancelled.
constexpr std::size_t kMostJobsRead = 64;

bool is_over(const TaskRecord& task) {
  return task.state == TaskState::succeeded || task.state == TaskState::failed;
}

}  // namespace

ProfileScan::ProfileScan(QueryProfile request) : request_(std::move(request)) {
  profile_.tenant = request_.tenant_name;
  profile_.job_class = request_.job_class;
}

std::size_t ProfileScan::read_whole(const Ledger& ledger, const JobRecord& job) {
  std::vector<TaskResult> results;
  for (auto& task : ledger.tasks(job.id, 0, job.tasks.total))
    if (is_over(task.record) && task.record.result)
      results.push_back(std::move(*task.record.result));
  const auto run = whole_run(job, results);
  if (!run) return 0;
  add_run(profile_, profiled_amounts(job.spec, job.memory_step), *run);
  return 1;
}

std::size_t ProfileScan::read_job(const Ledger& ledger, const JobRecord& job) {
  if (job.spec.measures_tasks) return read_whole(ledger, job);
  std::size_t runs = 0;
  // Each step above was taken because a task hit the limit of the one below.
  for (std::uint32_t step = 0; step < job.memory_step; ++step) {
    const ClassRun run{.job = job.id, .reason = EndReason::memory_limit};
    add_run(profile_, amounts_at(job.spec, step), run);
  }
  // Of a large job its last tasks are as good as all.
  const auto count =
      static_cast<std::uint32_t>(std::min<std::size_t>(job.tasks.total, kMaxProfiledRuns));
  for (const auto& task : ledger.tasks(job.id, job.tasks.total - count, count)) {
    if (!is_over(task.record) || !task.record.result) continue;
    const auto run = class_run(job.id, task.index, *task.record.result);
    if (!run) continue;
    add_run(profile_, amounts_at(job.spec, task.record.memory_step), *run);
    ++runs;
  }
  return runs;
}

void ProfileScan::read_amounts(const Ledger& ledger, const NamedAmounts& amounts) {
  std::size_t jobs = 0;
  std::size_t runs = 0;
  ledger.visit_class_jobs(request_.tenant, request_.job_class, amounts, [&](JobId id) {
    const auto job = ledger.job(id);
    if (!job) return true;
    if (!is_terminal(state_of(*job)))
      add_unfinished(profile_, profiled_amounts(job->spec, job->memory_step), id);
    runs += read_job(ledger, *job);
    return ++jobs < kMostJobsRead && runs < kMaxProfiledRuns;
  });
}

bool ProfileScan::read_slice(const Ledger& ledger) {
  for (std::size_t i = 0; i < kAmountsPerSlice; ++i) {
    auto next = ledger.class_amounts_before(request_.tenant, request_.job_class, last_);
    if (!next) return true;
    profile_.more = amounts_read_ == kMaxProfiledAmounts;
    if (profile_.more) return true;
    read_amounts(ledger, *next);
    ++amounts_read_;
    last_ = std::move(next);
  }
  return false;
}

}  // namespace fairwater::inline actors::inline coordinator
