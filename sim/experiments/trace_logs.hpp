// The logs of real clusters that experiments run, as scenarios without a policy.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/experiments/experiment.hpp"
#include "sim/report/scenario.hpp"

namespace fairwater::sim::inline experiments {

struct TraceLog {
  std::string title;
  std::string file;  ///< below the folder of traces
  TraceOptions trace;
  std::int64_t processors = 0;  ///< of each node; 0: the nodes of `wagap`
  Amount granule = 1000;
  int nodes = 1;
};
/// KTH and LANL by user and by group, CERIT-SC by user: there all are of one group. And KTH's jobs
/// as gangs over its nodes.
[[nodiscard]] const std::vector<TraceLog>& trace_logs();
/// Those by user, jobs as single tasks.
[[nodiscard]] std::vector<TraceLog> logs_by_user();

struct LoadedLog {
  Scenario scenario;
  std::size_t impossible = 0;  ///< jobs that fit no node and are left out
};
[[nodiscard]] Expected<LoadedLog> load_log(const TraceLog& log, const std::string& folder);
/// Goes on with each of the logs, in order, and tells the progress; the first error ends it.
/// `not_found` where the options name no folder of traces.
[[nodiscard]] caf::error visit_logs(
    const std::vector<TraceLog>& logs, const ExperimentOptions& options,
    const std::function<caf::error(const TraceLog&, const LoadedLog&)>& visit);

}  // namespace fairwater::sim::inline experiments
