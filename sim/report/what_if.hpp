// What other terms of tenants would do to a cluster that is in the middle of its work: the same
// work is run twice from the same state, under the terms as they are and under those proposed, and
// both runs are measured over the same time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/initial_state.hpp"
#include "sim/engine/workload.hpp"
#include "sim/report/page.hpp"

namespace fairwater::sim::inline report {

/// New terms of a tenant, or a tenant that comes.
struct ProposedTenant {
  std::string name;
  TenantTerms terms;
  Placement placement = Placement::unset;  ///< of jobs that name none
  QueuePolicy queue = QueuePolicy::fifo;
};

struct WhatIf {
  Cluster cluster;        ///< with the tenants as they are
  Workload workload;      ///< since now; what was submitted before stands before 0
  InitialState state;     ///< with no other tree before
  TimeMs horizon_ms = 0;  ///< > 0
  /// All that run jobs; those whose terms stay change nothing. Their places are in proposed_groups.
  std::vector<ProposedTenant> proposal;
  std::vector<GroupTerms> proposed_groups;  ///< all, each behind the one that it is in
};

/// One tenant in one of the runs, from now to the horizon.
struct TenantOutlook {
  Weight weight = 0;
  double mean_share = 0;  ///< of the cluster, by the dominant resource
  /// From submission to the start of the first task, of the jobs that were submitted by the horizon
  /// and had not started by now; up to the horizon for those that have not started by then.
  double mean_wait_s = 0;
  double p95_wait_s = 0;
  std::uint64_t jobs_done = 0;
  std::uint64_t jobs_not_started = 0;  ///< that wait at the horizon
  Units net = 0;                       ///< at the horizon, see Account
  double time_in_debt_s = 0;           ///< in steps of `Outlook::sample_ms`
};

struct Outlook {
  double utilisation = 0;  ///< of the most used resource
  TimeMs sample_ms = 0;
  std::vector<TenantOutlook> tenants;
  std::vector<std::vector<double>> shares;  ///< by sample, then tenant
};

struct WhatIfReport {
  TimeMs horizon_ms = 0;
  Accounting accounting = Accounting::units;  ///< of the ledger
  std::vector<std::string> tenants;           ///< those that would come stand last
  Outlook before;                             ///< without those that would come
  Outlook after;
};

/// Deterministic. As long as two runs of the simulator take.
[[nodiscard]] WhatIfReport compare(const WhatIf& question);

/// The table and the shares over time; `summary` stands under the title.
[[nodiscard]] Page to_page(const WhatIfReport& report, const std::string& summary);

/// The report's table in words: titles, and a row per tenant. A cell tells both values where the
/// proposal changes one: `5 -> 10`.
[[nodiscard]] std::vector<std::string> what_if_columns(const WhatIfReport& report);
[[nodiscard]] std::vector<std::vector<std::string>> what_if_rows(const WhatIfReport& report);

}  // namespace fairwater::sim::inline report
