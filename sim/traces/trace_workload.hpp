// From a log of a real cluster to a workload.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/errors.hpp"
#include "sim/engine/workload.hpp"
#include "sim/traces/swf.hpp"

namespace fairwater::sim::inline traces {

/// What becomes of a job that ran on several processors.
enum class JobShape : std::uint8_t {
  whole = 0,  ///< one task that needs all of them on one node: it starts whole or not at all
  split = 1,  ///< independent tasks of TraceOptions::processors_per_task
  nodes = 2,  ///< one task for each node of the `NODES[:ppn=..]` at the end of an extended log
  gang = 3,   ///< a gang of tasks of TraceOptions::processors_per_task
};

struct TraceOptions {
  TenantColumn tenants = TenantColumn::user;
  JobShape shape = JobShape::whole;
  std::int64_t processors_per_task = 1;  ///< of `split` and `gang`; jobs are multiples of it
  Amount processor_amount = 1000;        ///< of resource `cpu` for one processor
  /// Takes the requested memory as bytes per node (the wagap log) for resource `memory` in MiB.
  bool memory_in_bytes_per_node = false;
  /// `cl_NAME` in an extended log's last column asks for nodes of site NAME.
  bool clusters_as_sites = false;
};

struct TraceWorkload {
  std::vector<std::string> tenants;  ///< by first arrival; Job::tenant is an index here
  Workload workload;                 ///< times since the first arrival
  std::size_t skipped = 0;           ///< jobs without a runtime or a processor
};

/// The jobs of a log: their estimate is the requested time where the log has one, and their
/// runtime, which no policy sees, what the log says. `invalid_input` names the job. O(jobs).
[[nodiscard]] Expected<TraceWorkload> workload_from(const SwfLog& log, const TraceOptions& options);

/// Takes out the jobs of which no task fits any node of the cluster, and gangs that do not fit all
/// nodes together, and says how many these were. O(jobs * nodes) at worst.
std::size_t remove_impossible_jobs(const Cluster& cluster, Workload& workload);

}  // namespace fairwater::sim::inline traces
