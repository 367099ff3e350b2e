// What `fairwater sim run` and `compare` hand out: figures with confidence intervals over seeds,
// JSON, CSV and a page.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sim/report/page.hpp"
#include "sim/report/scenario.hpp"
#include "sim/report/statistics.hpp"

namespace fairwater::sim::inline report {

/// All seeds of a scenario under one policy.
struct PolicyRuns {
  std::string policy;
  std::vector<RunMetrics> runs;  ///< by seed; not empty
};

struct Figure {
  std::string key;    ///< in JSON, with its unit
  std::string title;  ///< in tables
  Estimate estimate;  ///< over the seeds
};
/// The figures of a run, in a fixed order; those of Jain's index depend on the windows asked for.
[[nodiscard]] std::vector<Figure> figures_of(const std::vector<RunMetrics>& runs);
/// `12.3 ± 0.4`, with as many digits as make sense; without the interval for a single seed.
[[nodiscard]] std::string format_estimate(const Estimate& estimate);

/// One run: figures, tenants, and the series of samples (sim/report/run_series.hpp).
[[nodiscard]] nlohmann::ordered_json run_json(const Cluster& cluster, const RunMetrics& run);
/// The figures over all seeds, and what was run.
[[nodiscard]] nlohmann::ordered_json summary_json(const Scenario& scenario,
                                                  const std::vector<PolicyRuns>& policies);

/// What a reader of the figures should know: which policies do not know which terms of the tenants.
[[nodiscard]] std::vector<std::string> notes_on(const Scenario& scenario,
                                                const std::vector<PolicyRuns>& policies);

[[nodiscard]] Table figures_table(const std::vector<PolicyRuns>& policies);
/// Charts of one run's series: shares, cumulative units, queues, and balances and credits where
/// there are any. Of many tenants those that used most.
[[nodiscard]] std::vector<PageItem> series_charts(const Cluster& cluster, const RunMetrics& run);
[[nodiscard]] Page run_page(const std::string& title, const Scenario& scenario,
                            const PolicyRuns& runs);
[[nodiscard]] Page compare_page(const std::string& title, const Scenario& scenario,
                                const std::vector<PolicyRuns>& policies);

}  // namespace fairwater::sim::inline report
