// The logs of real clusters that experiments run, as scenarios without a policy.
#pragma once

#include <string>
#include <vector>

#include "sim/report/scenario.hpp"

namespace fairwater::sim {

struct TraceLog {
  std::string title;
  std::string file;  ///< below the folder of traces
  TraceOptions trace;
  std::int64_t processors = 0;  ///< of the one node; 0: the nodes of `wagap`
  Amount granule = 1000;
};
/// KTH and LANL by user and by group, CERIT-SC by user: there all are of one group.
[[nodiscard]] const std::vector<TraceLog>& trace_logs();

struct LoadedLog {
  Scenario scenario;
  std::size_t impossible = 0;  ///< jobs that fit no node and are left out
};
[[nodiscard]] Expected<LoadedLog> load_log(const TraceLog& log, const std::string& folder);

}  // namespace fairwater::sim
