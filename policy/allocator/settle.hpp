// The last stage of a deal: whose units came to nothing, what stays as deficits and what becomes
// IOUs. Internal to policy/allocator.
#pragma once

#include <cstddef>
#include <vector>

#include "policy/allocator/deal_progress.hpp"
#include "policy/allocator/entitle.hpp"

namespace fairwater::inline policy::inline allocator {

class SettleStage {
 public:
  SettleStage(DealProgress& deal, EntitleStage& entitle) : deal_(deal), entitle_(entitle) {}

  /// Rolls back the slots that nobody could use (step 9) and closes every account. Something was
  /// placed. Afterwards the claimants' entries sum to zero and their credits are what they carry
  /// on. Fills in `deal` but for its node, positions and reservation.
  void run(Entitlement& entitlement, Deal& deal);

 private:
  /// What a claimant's credit is split into.
  struct Split {
    Units kept = 0;        ///< stays as its deficit
    Units settled = 0;     ///< becomes loans, or is passed on
    std::size_t line = 0;  ///< in the deal, where it has one
  };

  void roll_back(const Entitlement& entitlement, Deal& deal);
  [[nodiscard]] std::vector<Position> positions_to_settle();
  static void move(Split& split, Units& sum);
  void split();
  /// Of those who take part, or could: out of the deficits of those who hold their share, or of the
  /// others, until `sum` is zero.
  void top_up(Units& sum, bool holding);
  /// It waits and has a task that fits, but its deficit was not needed so far.
  [[nodiscard]] bool could_take_part(std::uint32_t slot);
  /// It waits for more, but its next task would go beyond its quota, and nobody owes it.
  [[nodiscard]] bool holds_its_share(const Claimant& claimant);
  [[nodiscard]] bool is_beyond_its_share(TenantState& tenant);
  /// Where the ledger counts time, no deal makes any.
  [[nodiscard]] bool makes_iou(const Claimant& lender, const Claimant& borrower);
  void record_loans(const std::vector<Position>& positions, Deal& deal);
  void write_lines(Deal& deal);

  DealProgress& deal_;
  EntitleStage& entitle_;
  std::vector<Split> splits_;  ///< by claimant
};

}  // namespace fairwater::inline policy::inline allocator
