// What came of a replay, tenant by tenant.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/core/output.hpp"
#include "cli/replay/held_time.hpp"
#include "model/requests.hpp"

namespace fairwater::inline cli::inline replay {

struct TenantMeasures {
  std::uint64_t jobs = 0;
  std::uint64_t tasks = 0;
  std::uint64_t tasks_not_succeeded = 0;
  std::uint64_t runs = 0;  ///< attempts; more than tasks when some were lost with a node
  Wide busy_unit_us = 0;   ///< sum over tasks of running time times cost
  std::vector<std::int64_t> waits_us;  ///< a task's, from submission to the start of its process
  Units granted = 0;
  // In the ledger's currency:
  Units borrowed = 0;
  Units lent = 0;
  Units owed = 0;  ///< still, at the end
};

struct ReplayMeasures {
  std::int64_t elapsed_us = 0;  ///< from the first submission to the last end
  std::map<std::string, TenantMeasures> tenants;
  LedgerMeasure measure;  ///< of the ledger
  SettledTimes settled;   ///< where it counts time

  void add(const JobDetail& job);
  /// What was granted, and where the ledger counts units what was lent, is the difference between
  /// two listings of the tenant. Where it counts time, `settled` tells the latter.
  void add_totals(const std::string& tenant, const TenantInfo& before, const TenantInfo& after);
};

/// What the report says besides the measures.
struct ReplayFacts {
  std::string trace;
  std::string run;
  double speedup = 1;
  std::size_t skipped = 0;  ///< jobs of the log that never ran there
};

/// The error of a replay that went no further, with those of its jobs that are submitted (others
/// are 0): they run on.
[[nodiscard]] caf::error with_left_behind(const caf::error& error, const std::vector<JobId>& jobs);
/// Waits are shown live and, in parentheses, in the log's time.
[[nodiscard]] std::string replay_text(const ReplayMeasures& measures, const ReplayFacts& facts);
[[nodiscard]] Json replay_json(const ReplayMeasures& measures, const ReplayFacts& facts);

/// The smallest value that at least `percent` of the values do not exceed (nearest rank); 0 of
/// none.
[[nodiscard]] std::int64_t percentile(std::vector<std::int64_t> values, int percent);

}  // namespace fairwater::inline cli::inline replay
