// What one heartbeat's deal is and the arithmetic that explains it. Written to the journal as it
// stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/allocator/placement.hpp"
#include "policy/core/types.hpp"
#include "policy/ledger/entries.hpp"

namespace fairwater::inline policy::inline allocator {

/// Which step of a heartbeat's life (docs/architecture.md, "Life of a heartbeat") placed a task.
enum class GrantStep : std::uint8_t {
  guarantee = 1,  ///< step 3: below min(request, min); neither dealt by the sequence nor charged
  allowance = 2,  ///< step 7: within the tenant's allowance
  remainder =
      3,  ///< step 7: the node's next whole task, to whom most is due of parts too small alone
  backfill = 4,  ///< step 8: the largest task that fits what is left
  reserved = 5,  ///< step 7, first: the task that the node had kept its room for
  growth = 6,    ///< step 10: an elastic job's, into room that is idle: policy/allocator/growth.hpp
};

[[nodiscard]] constexpr std::string_view to_string(GrantStep step) {
  switch (step) {
    case GrantStep::guarantee:
      return "guarantee";
    case GrantStep::allowance:
      return "allowance";
    case GrantStep::remainder:
      return "remainder";
    case GrantStep::reserved:
      return "reserved";
    case GrantStep::growth:
      return "growth";
    case GrantStep::backfill:
      break;
  }
  return "backfill";
}

struct Grant {
  TaskKey task;
  TenantId tenant;
  Units cost = 0;
  ResourceVector demand;
  GrantStep step = GrantStep::allowance;
  /// Placed above the runtime quota on units that were owed to the tenant; does not count against
  /// the quota while it runs.
  bool beyond_quota = false;
  /// The rule that chose the node among those with room; unset: none did.
  Placement placement = Placement::unset;
  std::vector<std::string> devices = {};  ///< by name, where the node has told them
  friend bool operator==(const Grant&, const Grant&) = default;
};

/// What a deal moves for one tenant, in units. The closing equation, checked before a deal is
/// written:
///   balance = deficit_before + granted - passed_on + passed_to + received - paid - rolled_back
///             - placed
/// (`placed` without guarantees). Each column is the sum of one reason's entries
/// (policy/ledger/entries.hpp), without their signs. What a deal adds to balances sums to zero over
/// its lines (deficits sum to zero over all tenants, touched or not), and deficit_after + lent -
/// borrowed (the deal's `loans`) = balance.
struct TenantBalance {
  Units deficit_before = 0;  ///< of earlier deals: parts too small for a whole task
  Units granted = 0;         ///< the sequence's window
  Units passed_on = 0;       ///< at its runtime quota: gives its part away without a claim
  Units passed_to = 0;       ///< its part of what the others passed on
  Units paid = 0;            ///< settlement, as debtor
  Units received = 0;        ///< settlement, as creditor
  Units pooled = 0;  ///< taken from (+) or left to (-) the pool of allowances that are not needed
  Units allowance = 0;      ///< what step 7 could use
  Units guaranteed = 0;     ///< placed by step 3
  Units placed = 0;         ///< placed by steps 7 and 8, reserved tasks too
  Units rolled_back = 0;    ///< slots that nobody could use
  Units deficit_after = 0;  ///< kept for the next deal
  friend bool operator==(const TenantBalance&, const TenantBalance&) = default;
};

/// One tenant's line in a deal.
struct TenantLine : TenantBalance {
  TenantId tenant;
  ResourceVector quota;  ///< runtime quota at that moment
  ResourceVector used;   ///< held before the deal
  /// After the deal: what rounding down left of its repayments, see policy/ledger/accounts.hpp.
  std::uint32_t repay_remainder_millionths = 0;
  friend bool operator==(const TenantLine&, const TenantLine&) = default;
};

/// One node's free capacity, dealt out. Applied to the accounts in this order: repayments, then
/// loans.
struct Deal {
  NodeId node;
  Units free_units = 0;  ///< slots dealt by the sequence
  Units unused = 0;      ///< slots rolled back
  std::uint64_t position_before = 0;
  std::uint64_t position_after = 0;
  std::vector<TenantLine> lines;  ///< tenants that the deal touched, by rank
  std::vector<Grant> grants;      ///< in the order of placing
  std::vector<Repayment> repayments;
  std::vector<Loan> loans;
  /// Room that the node keeps from now on. A deal that changes nothing but that has neither lines
  /// nor grants.
  std::optional<Reservation> reservation;
  /// False: it grants, and says nothing of units. So do the deals of a policy without accounts, and
  /// those by which elastic jobs grow.
  bool keeps_accounts = true;
  /// What the deal's record grows with.
  [[nodiscard]] std::size_t entries() const {
    return lines.size() + grants.size() + repayments.size() + loans.size();
  }
  friend bool operator==(const Deal&, const Deal&) = default;
};

/// A task that is to end so that others get its room: it waits again, and that is no failure.
struct Reclaim {
  NodeId node;
  TaskKey task;
  TenantId tenant;
  TenantId claimant;  ///< for whom; none: its own tenant may not hold as much
  JobId claimant_job;
  bool preempted = false;  ///< it has not grown: it ran beyond its tenant's quota
  friend bool operator==(const Reclaim&, const Reclaim&) = default;
};

}  // namespace fairwater::inline policy::inline allocator
