// The parts of a simulation file. Each reads its keys into the draft, and throws InputError.
#pragma once

#include <map>
#include <set>
#include <string>

#include "input/field.hpp"
#include "model/resources.hpp"
#include "sim/report/scenario.hpp"

namespace fairwater::inline cli::inline sim_cli {

/// A simulation file that is being read.
struct SimFileDraft {
  std::string path;  ///< of the file: traces lie beside it
  ResourceCatalog catalog{};
  sim::Scenario scenario{};
  std::map<std::string, sim::TenantIndex> tenants{};  ///< by name, those that run jobs
  std::set<std::string> groups{};                     ///< names of those that have tenants
  bool may_leave_out = false;                         ///< jobs of the trace that fit no node
  bool names_devices = false;                         ///< jobs of a generator do
};

/// True when the trace is in the openb format, which brings nodes and resources with it.
[[nodiscard]] bool is_openb_trace(const FieldMap& trace);

/// `resources`, `mode` and `nodes`.
void read_sim_cluster(SimFileDraft& draft, const FieldMap& file);
/// `tenants`.
void read_sim_tenants(SimFileDraft& draft, const FieldMap& file);
/// `workload`, and the trace that it names: its tenants that the file does not name have weight 1,
/// and its nodes, if it has any, join the cluster. What is wrong with a trace is returned.
[[nodiscard]] caf::error read_sim_workload(SimFileDraft& draft, const FieldMap& file);

}  // namespace fairwater::inline cli::inline sim_cli
