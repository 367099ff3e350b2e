// `starts`: how often jobs start by when they are told to.
#include "sim/experiments/starts.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/engine/engine.hpp"
#include "sim/experiments/list.hpp"
#include "sim/experiments/trace_logs.hpp"
#include "sim/schedulers/sequence.hpp"

namespace fairwater::sim::inline experiments {
namespace {

/// After each cycle every waiting job that has a place in time is told when that is.
class Watcher final : public Observer {
 public:
  Watcher(const SequenceScheduler& scheduler, const Workload& workload)
      : scheduler_(scheduler), workload_(workload), is_started_(workload.jobs.size()) {}

  void advance(TimeMs now) override { now_ = now; }

  void started(const Start& start) override {
    const TimeMs waited_ms = now_ - workload_.jobs[start.task.job].submit_ms;
    ++result_.started;
    is_started_[start.task.job] = true;
    waited_ms_ += waited_ms;
    if (waited_ms > 0) ++result_.waited;
    const auto told = told_.find(start.task.job);
    if (told == told_.end()) return;
    ++result_.told;
    if (now_ <= told->second.first) {
      ++result_.first_held;
    } else {
      late_ms_ += now_ - told->second.first;
    }
    if (now_ <= told->second.last) ++result_.last_held;
    told_.erase(told);
  }

  void cycle_done(const Scheduler& /*scheduler*/) override {
    for (const PlannedStart& planned : scheduler_.allocator().planned_starts()) {
      const auto job = static_cast<JobIndex>(planned.job.value - 1);
      if (is_started_[job]) continue;
      const auto [told, is_first] = told_.try_emplace(job, Told{planned.at_ms, planned.at_ms});
      if (!is_first) told->second.last = planned.at_ms;
    }
  }

  [[nodiscard]] StartEstimates take() {
    const auto mean = [](Wide sum, std::uint64_t count) {
      return static_cast<TimeMs>(sum / static_cast<Wide>(std::max<std::uint64_t>(count, 1)));
    };
    result_.mean_wait_ms = mean(waited_ms_, result_.started);
    result_.mean_late_ms = mean(late_ms_, result_.told - result_.first_held);
    return result_;
  }

 private:
  struct Told {
    TimeMs first = 0;
    TimeMs last = 0;
  };
  const SequenceScheduler& scheduler_;
  const Workload& workload_;
  std::vector<bool> is_started_;   ///< by job
  std::map<JobIndex, Told> told_;  ///< who waits
  TimeMs now_ = 0;
  Wide waited_ms_ = 0;
  Wide late_ms_ = 0;  ///< behind what was told first
  StartEstimates result_;
};

std::string described(const char* by, const StartEstimates& estimates) {
  const auto percent = [&](std::uint64_t held) {
    return 100 * static_cast<double>(held) /
           static_cast<double>(std::max<std::uint64_t>(estimates.told, 1));
  };
  return fmt::format(
      "by {}: {} of {} jobs waited, {} of them were told a start; the first that was told held for "
      "{:.1f} %, the others started {:.0f} s later than it on average; the last held for {:.1f} %; "
      "mean wait {:.0f} s",
      by, estimates.waited, estimates.started, estimates.told, percent(estimates.first_held),
      static_cast<double>(estimates.mean_late_ms) / 1000, percent(estimates.last_held),
      static_cast<double>(estimates.mean_wait_ms) / 1000);
}

StartEstimates measured(const Scenario& scenario, Predict predict) {
  const PolicyOptions options{.name = "sequence",
                              .accounting = SequenceAccounting::time,
                              .order = QueuePolicy::shortest_first,
                              .predict = predict};
  return measure_starts(scenario.cluster, scenario.trace, options);
}

}  // namespace

StartEstimates measure_starts(const Cluster& cluster, const Workload& workload,
                              const PolicyOptions& options) {
  SequenceScheduler scheduler{options, cluster, workload};
  Watcher watcher(scheduler, workload);
  run_engine(cluster, workload, scheduler, watcher, {});
  return watcher.take();
}

Expected<ExperimentReport> run_starts(const ExperimentOptions& options) {
  ExperimentReport report;
  report.title = "When jobs are told to start, and when they do";
  report.assumptions = {
      "As in `traces`, but nodes are dealt only when a job came or ended, not at samples too: with "
      "several nodes waits differ a little.",
      "A job is told a start while it has a place in time. Places are given anew in every deal, so "
      "what is told changes. It holds when the job starts no later."};
  const auto measure = [&](const TraceLog& log, const LoadedLog& loaded) -> caf::error {
    report.claims.push_back(
        {.paper = "Fairwater, " + log.title,
         .statement = "how often start estimates hold, by time limits and by history",
         .measured = described("limits", measured(loaded.scenario, Predict::limits)) + ". " +
                     described("history", measured(loaded.scenario, Predict::history)),
         .verdict = Verdict::measured_only});
    return {};
  };
  if (auto failed = visit_logs(logs_by_user(), options, measure)) return failed;
  return report;
}

}  // namespace fairwater::sim::inline experiments
