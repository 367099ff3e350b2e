// How a ledger that counts time arrives at a tenant's mark, and whether the tenant's credit covers
// its next task: the arithmetic of policy/allocator/time_marks.hpp, laid open. Values only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "policy/core/types.hpp"
#include "policy/prediction/run_time.hpp"

namespace fairwater::inline policy::inline allocator {

/// By how much one tenant's debt to another moves both their marks:
///   due = min(repay * debtor_part, debtor_part - kept_for_min) * owed / debtor_owes.
struct MarkMove {
  TenantId other;
  Units owed = 0;         ///< unit-milliseconds, between these two
  Units debtor_owes = 0;  ///< in all
  MicroUnits debtor_part = 0;
  std::uint32_t repay_millionths = 0;  ///< the debtor's
  MicroUnits kept_for_min = 0;         ///< of its part: its min, or its share of a group's
  MicroUnits due = 0;
  MicroUnits moved = 0;  ///< less than `due` where the creditor's credit covers less
  friend bool operator==(const MarkMove&, const MarkMove&) = default;
};

/// The first task that a tenant would run. Beyond its part it has a claim only where
///   (held + cost - part) * expected_ms <= credit.
struct NextTask {
  JobId job;
  std::uint32_t index = 0;
  MicroUnits cost = 0;           ///< of the resource of which time is counted
  std::int64_t expected_ms = 0;  ///< 0: nobody knows
  PredictionSource expected_from = PredictionSource::limit;
  bool is_covered = false;  ///< or within its part or quota, where it needs no credit
  friend bool operator==(const NextTask&, const NextTask&) = default;
};

struct ExplainedMark {
  std::uint32_t resource = 0;  ///< of which time is counted: the scarcest at the last settlement
  MicroUnits held = 0;
  MicroUnits part = 0;
  MicroUnits base = 0;  ///< its quota, or its part where that is more
  MicroUnits mark = 0;  ///< base, plus what its debtors give way, less what it gives way itself
  Units net = 0;        ///< unit-milliseconds; positive: its credit
  std::vector<MarkMove> moves;   ///< by its debtors, or towards its creditors; the largest first
  std::optional<NextTask> next;  ///< none while it waits for nothing that may run
  friend bool operator==(const ExplainedMark&, const ExplainedMark&) = default;
};

}  // namespace fairwater::inline policy::inline allocator
