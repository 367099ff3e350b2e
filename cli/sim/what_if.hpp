// From a coordinator's journal to the question that the simulator answers: what would other terms
// of tenants do to this cluster? Pure: who reads the journal, and from where, is the command's
// business.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/journal.hpp"
#include "model/requests.hpp"
#include "sim/report/what_if.hpp"
#include "storage/state.hpp"

namespace fairwater::inline cli::inline sim_cli {

inline constexpr std::int64_t kMinWhatIfHorizon_ms = 1000;
inline constexpr std::int64_t kMaxWhatIfHorizon_ms = 90LL * 86'400'000;

/// The state that follows from a journal, as the coordinator has it. Memory follows the journal.
class JournalState {
 public:
  JournalState() : state_(nothing_) {}
  JournalState(const JournalState&) = delete;
  JournalState& operator=(const JournalState&) = delete;

  /// Takes the next record; the first is number 1. `internal` when it contradicts those before.
  [[nodiscard]] caf::error add(const JournalRecord& record);
  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] std::uint64_t records() const { return state_.meta.last_number; }
  [[nodiscard]] WallTime newest() const { return newest_; }

 private:
  EmptyView nothing_;
  State state_;
  WallTime newest_;
};

struct WhatIfRules {
  WallTime now;  ///< not before the newest record
  std::int64_t horizon_ms = 0;
  bool arrivals = true;                 ///< false: what runs and waits now is all the work
  std::optional<DealingRules> dealing;  ///< of the coordinator; none: it does not say
};

/// What was found, for whoever reads the result.
struct WhatIfFacts {
  std::uint64_t running_tasks = 0;
  std::uint64_t waiting_tasks = 0;
  std::uint64_t waiting_jobs = 0;   ///< with a task that waits
  std::uint64_t arriving_jobs = 0;  ///< of the past, that come again
  std::vector<std::string> notes;   ///< where the simulation differs from what the cluster would do
};

struct WhatIfQuestion {
  sim::WhatIf what_if;
  WhatIfFacts facts;
};

/// The work is what runs and waits now and then, with `arrivals`, the jobs that were submitted
/// within the last horizon, each a horizon later. Run times are what the tasks took; for tasks that
/// have not ended, the mean of those of its job that have; else of its class, else of its tenant,
/// or a minute. A task that has outlived that runs as long again as it has. No task outlives its
/// time limit. `nodes` tells who takes tasks; `proposal` is a tenant file's content.
/// `invalid_input` names `tenants[I].FIELD` for a resource that the cluster does not have. O(jobs
/// and tasks in the state).
[[nodiscard]] Expected<WhatIfQuestion> what_if_question(const State& state,
                                                        const std::vector<NodeInfo>& nodes,
                                                        const std::vector<TenantSpec>& proposal,
                                                        const WhatIfRules& rules);

}  // namespace fairwater::inline cli::inline sim_cli
