// The experiments' functions; sim/experiments/list.cpp names them.
#pragma once

#include "sim/experiments/experiment.hpp"
#include "sim/experiments/trace_logs.hpp"

namespace fairwater::sim::inline experiments {

[[nodiscard]] Expected<ExperimentReport> run_sequence_slots(const ExperimentOptions& options);
[[nodiscard]] Expected<ExperimentReport> run_sequence_sized(const ExperimentOptions& options);
[[nodiscard]] Expected<ExperimentReport> run_traces(const ExperimentOptions& options);
/// `traces` on some of the logs.
[[nodiscard]] Expected<ExperimentReport> compare_on_logs(const std::vector<TraceLog>& logs,
                                                         const ExperimentOptions& options);
[[nodiscard]] Expected<ExperimentReport> run_patience(const ExperimentOptions& options);
[[nodiscard]] Expected<ExperimentReport> run_predictions(const ExperimentOptions& options);
[[nodiscard]] Expected<ExperimentReport> run_starts(const ExperimentOptions& options);
[[nodiscard]] Expected<ExperimentReport> run_sequence_table1(const ExperimentOptions& options);
[[nodiscard]] Expected<ExperimentReport> run_sequence_table2(const ExperimentOptions& options);
[[nodiscard]] Expected<ExperimentReport> run_saturation(const ExperimentOptions& options);
[[nodiscard]] Expected<ExperimentReport> run_drf(const ExperimentOptions& options);
[[nodiscard]] Expected<ExperimentReport> run_gdrf(const ExperimentOptions& options);
[[nodiscard]] Expected<ExperimentReport> run_water_fill_scaling(const ExperimentOptions& options);
[[nodiscard]] Expected<ExperimentReport> run_openb(const ExperimentOptions& options);
[[nodiscard]] Expected<ExperimentReport> run_qrea_load(const ExperimentOptions& options);
[[nodiscard]] Expected<ExperimentReport> run_qrea_fairness(const ExperimentOptions& options);

}  // namespace fairwater::sim::inline experiments
