#include "sim/experiments/predictions.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "policy/core/check.hpp"
#include "sim/engine/engine.hpp"
#include "sim/experiments/list.hpp"
#include "sim/schedulers/list.hpp"

namespace fairwater::sim::inline experiments {
namespace {

/// The first is the predictor's own; the others show what the number does.
const std::vector<std::size_t> kRecentRuns{RunTimePredictor::kRecentRuns, 1, 3, 5, 10};

class Watcher final : public Observer {
 public:
  Watcher(const Workload& workload, const std::vector<std::size_t>& recent_runs)
      : workload_(workload) {
    for (const std::size_t count : recent_runs) predictors_.emplace_back(count);
    result_.predicted.resize(recent_runs.size());
  }

  void started(const Start& start) override {
    const Job& job = workload_.jobs[start.task.job];
    if (!job.has_estimate) return;
    std::vector<std::int64_t>& expected = expected_ms_[start.task];
    for (std::size_t i = 0; i < predictors_.size(); ++i) {
      const auto prediction =
          predictors_[i].expected(class_of(job), tenant_of(job), job.estimate_ms);
      expected.push_back(prediction->expected_ms);
      if (i == 0) ++result_.by_source[static_cast<std::size_t>(prediction->source)];
    }
  }

  void ended(TaskId task, NodeIndex /*node*/, Units /*units*/, bool /*killed*/) override {
    const Job& job = workload_.jobs[task.job];
    const TimeMs run_ms = run_ms_of(job, task.index);
    for (auto& predictor : predictors_) predictor.finished(class_of(job), tenant_of(job), run_ms);
    const auto expected = expected_ms_.find(task);
    if (expected == expected_ms_.end()) return;
    for (std::size_t i = 0; i < predictors_.size(); ++i)
      result_.predicted[i].add(expected->second[i], run_ms);
    result_.limits.add(job.estimate_ms, run_ms);
    run_ms_ += run_ms;
    expected_ms_.erase(expected);
  }

  [[nodiscard]] PredictedRuns take() {
    const auto runs = static_cast<Wide>(std::max<std::uint64_t>(result_.limits.runs(), 1));
    result_.mean_run_ms = static_cast<std::int64_t>(run_ms_ / runs);
    return std::move(result_);
  }

 private:
  static TenantId tenant_of(const Job& job) { return {job.tenant + 1}; }

  const Workload& workload_;
  std::vector<RunTimePredictor> predictors_;
  std::map<TaskId, std::vector<std::int64_t>> expected_ms_;  ///< by predictor
  Wide run_ms_ = 0;
  PredictedRuns result_;
};

double seconds(std::int64_t milliseconds) { return static_cast<double>(milliseconds) / 1000; }

double exceeded_percent(const PredictionErrors& errors) {
  return 100 * static_cast<double>(errors.exceeded()) / static_cast<double>(errors.runs());
}

Claim claim_on(const std::string& title, const PredictedRuns& runs) {
  const PredictionErrors& ours = runs.predicted.front();
  std::vector<std::string> others;
  for (std::size_t i = 1; i < kRecentRuns.size(); ++i)
    others.push_back(
        fmt::format("{}: {:.0f}", kRecentRuns[i], seconds(runs.predicted[i].mean_absolute_ms())));
  return {
      .paper = "Tsafrir, Etsion, Feitelson 2007, " + title,
      .statement =
          "the mean of a user's last two runs of the kind is nearer to the truth than the "
          "user's own estimate",
      .measured = fmt::format(
          "runs of {:.0f} s on average: predictions are off by {:.0f} s and exceeded by {:.1f} % "
          "of the runs, estimates by {:.0f} s and {:.1f} %; off by the mean of other numbers of "
          "runs, s: {}",
          seconds(runs.mean_run_ms), seconds(ours.mean_absolute_ms()), exceeded_percent(ours),
          seconds(runs.limits.mean_absolute_ms()), exceeded_percent(runs.limits),
          fmt::join(others, ", ")),
      .verdict = ours.mean_absolute_ms() < runs.limits.mean_absolute_ms() ? Verdict::holds
                                                                          : Verdict::does_not_hold};
}

Table errors_table(const PredictedRuns& runs) {
  Table table;
  table.title = "Errors";
  table.columns = {"expected", "mean absolute error, s", "exceeded by % of the runs"};
  const auto add = [&](const std::string& name, const PredictionErrors& errors) {
    table.rows.push_back({name, fmt::format("{:.0f}", seconds(errors.mean_absolute_ms())),
                          fmt::format("{:.1f}", exceeded_percent(errors))});
  };
  add("the user's estimate", runs.limits);
  for (std::size_t i = 0; i < kRecentRuns.size(); ++i)
    add(fmt::format("the mean of the last {}", kRecentRuns[i]), runs.predicted[i]);
  return table;
}

}  // namespace

PredictedRuns measure_predictions(const Cluster& cluster, const Workload& workload,
                                  const std::vector<std::size_t>& recent_runs) {
  Watcher watcher(workload, recent_runs);
  const auto scheduler = make_scheduler({.name = "easy"}, cluster, workload);
  FAIRWATER_CHECK(scheduler.engaged(), "easy runs every workload");
  run_engine(cluster, workload, **scheduler, watcher, {});
  return watcher.take();
}

Expected<ExperimentReport> run_predictions(const ExperimentOptions& options) {
  ExperimentReport report;
  report.title = "Expected run times";
  report.assumptions = {
      "What a job is expected to take is what is known when it starts, while EASY runs the log: "
      "the mean of the last runs of the same user with the same demand and estimate, else of the "
      "same user, else the estimate; never more than the estimate.",
      "Compared are runs whose users gave an estimate; the history is of all."};
  const auto measure = [&](const TraceLog& log, const LoadedLog& loaded) -> caf::error {
    const Scenario& scenario = loaded.scenario;
    const auto runs = measure_predictions(scenario.cluster, scenario.trace, kRecentRuns);
    report.claims.push_back(claim_on(log.title, runs));
    report.items.push_back(Heading{log.title});
    report.items.push_back(Paragraph{fmt::format(
        "{} runs with an estimate: for {} the user had run the like before, for {} something "
        "else, for {} nothing.",
        runs.limits.runs(), runs.by_source[0], runs.by_source[1], runs.by_source[2])});
    report.items.push_back(errors_table(runs));
    return {};
  };
  if (auto failed = visit_logs(logs_by_user(), options, measure)) return failed;
  return report;
}

}  // namespace fairwater::sim::inline experiments
