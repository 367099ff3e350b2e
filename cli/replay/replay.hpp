// Drives a replay against a live cluster and measures it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/core/context.hpp"
#include "cli/core/progress.hpp"
#include "cli/core/session.hpp"
#include "cli/replay/plan.hpp"
#include "cli/replay/report.hpp"

namespace fairwater::inline cli::inline replay {

/// One replay: applies the tenants, submits every job at its time, waits for the end. Goes on
/// through restarts of the coordinator without submitting a job twice: a job whose answer was lost
/// is looked for by its name.
class Replay {
 public:
  Replay(const Context& context, ReplayPlan plan);

  /// Returns when every job has ended. Errors: whatever the coordinator refused, or `unavailable`
  /// when it stayed away.
  [[nodiscard]] caf::error run();
  /// What the cluster says of it afterwards.
  [[nodiscard]] Expected<ReplayMeasures> measure();

 private:
  using TenantTotals = std::map<std::string, TenantInfo>;

  [[nodiscard]] Expected<TenantTotals> read_totals();
  [[nodiscard]] caf::error submit_all_at_their_times();
  [[nodiscard]] caf::error submit_batch(std::size_t first, std::size_t end);
  [[nodiscard]] caf::error find_submitted(std::vector<std::size_t>& open);
  [[nodiscard]] caf::error wait_for_all();
  /// The settlements since the replay began, the one of its last second too.
  [[nodiscard]] caf::error read_settlements(SettledTimes& settled);

  ReplayPlan plan_;
  Session session_;
  ProgressLine progress_;
  std::vector<JobId> ids_;  ///< by index in the plan; 0 until submitted
  JobId newest_before_;     ///< jobs up to this one are not of this replay
  TenantTotals before_;
  std::uint64_t cycle_before_ = 0;  ///< the journal's last record
  std::int64_t elapsed_us_ = 0;
};

}  // namespace fairwater::inline cli::inline replay
