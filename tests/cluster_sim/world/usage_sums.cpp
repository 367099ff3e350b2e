#include "tests/cluster_sim/world/usage_sums.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace fairwater::cluster_sim {
namespace {

std::uint64_t ms_between(WallTime from, WallTime until) {
  const std::int64_t ms = until.microseconds / 1000 - from.microseconds / 1000;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, ms));
}

std::uint64_t& outcome_in(UsageRecord& sums, const TaskResult* result) {
  static const std::set<EndReason> kNotItsDoing{EndReason::lease_expired, EndReason::node_lost,
                                                EndReason::launch_failed,
                                                EndReason::supervisor_lost};
  if (result == nullptr || kNotItsDoing.contains(result->reason)) return sums.lost;
  if (result->reason == EndReason::cancelled) return sums.cancelled;
  const bool is_well = result->reason == EndReason::exited && result->exit_code == 0;
  return is_well ? sums.succeeded : sums.failed;
}

std::string text_of(const UsageRecord& sums) {
  std::string text;
  for (const UsedResource& used : sums.used)
    text += fmt::format("{} {}+{}*2^64, ", used.name, used.low, used.high);
  return text +
         fmt::format("{} ok, {} failed, {} cancelled, {} lost, {} jobs, {} starts after {} ms",
                     sums.succeeded, sums.failed, sums.cancelled, sums.lost, sums.submitted,
                     sums.first_starts, sums.waited_ms);
}

}  // namespace

void UsageSums::take(const JournalRecord& record) {
  now_ = record.time;
  if (const auto* job = std::get_if<JobSubmitted>(&record.body)) {
    const Whose whose{job->tenant, job->spec.user};
    jobs_[job->id] = {whose, record.time};
    ++sums_[whose].submitted;
  }
  if (const auto* cycle = std::get_if<Cycle>(&record.body))
    for (const Deal& deal : cycle->deals)
      for (const Grant& one : deal.grants) grant(deal.node, one);
  if (const auto* finished = std::get_if<TasksFinished>(&record.body))
    for (const TaskResult& result : finished->results) end(finished->node, result.task, &result);
  if (const auto* failed = std::get_if<LaunchesFailed>(&record.body))
    for (const FailedLaunch& launch : failed->launches)
      end(failed->node, launch.result.task, &launch.result);
  if (const auto* requeued = std::get_if<TasksRequeued>(&record.body))
    for (const TaskKey& task : requeued->tasks) end(requeued->node, task, nullptr);
}

void UsageSums::grant(NodeId node, const Grant& grant) {
  const Job& job = jobs_[grant.task.job];
  running_[grant.task] = {node, job.whose, now_, grant.demand};
  const bool is_first = begun_.insert({grant.task.job, grant.task.index}).second;
  if (!is_first || grant.step == GrantStep::growth) return;
  UsageRecord& sums = sums_[job.whose];
  ++sums.first_starts;
  sums.waited_ms += ms_between(job.submitted_at, now_);
}

void UsageSums::end(NodeId node, const TaskKey& task, const TaskResult* result) {
  const auto found = running_.find(task);
  if (found == running_.end() || found->second.node != node) return;
  const Attempt& attempt = found->second;
  UsageRecord& sums = sums_[attempt.whose];
  ++outcome_in(sums, result);
  const bool says_when =
      result != nullptr && result->finished_at >= attempt.granted_at && result->finished_at <= now_;
  const std::uint64_t ms = ms_between(attempt.granted_at, says_when ? result->finished_at : now_);
  for (std::size_t i = 0; i < resources_.size(); ++i)
    if (attempt.demand[i] > 0 && ms > 0)
      add_used(sums, resources_[i], AmountMs{static_cast<std::uint64_t>(attempt.demand[i])} * ms);
  running_.erase(found);
}

std::string UsageSums::difference(const Ledger& ledger) const {
  std::map<Whose, UsageRecord> stored;
  ledger.visit_usage({}, [&](const UsageGroup& group, const UsageRecord& usage) {
    add(stored[{group.tenant, group.user}], usage);
    return true;
  });
  std::map<Whose, UsageRecord> both = stored;
  both.insert(sums_.begin(), sums_.end());
  for (const auto& [whose, any] : both) {
    const auto known = sums_.find(whose);
    const std::string counted = text_of(known == sums_.end() ? UsageRecord{} : known->second);
    const std::string kept = text_of(stored[whose]);
    if (kept != counted)
      return fmt::format("tenant {} user '{}': {} is stored, the journal has {}", whose.first.value,
                         whose.second, kept, counted);
  }
  return {};
}

}  // namespace fairwater::cluster_sim
