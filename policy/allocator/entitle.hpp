// The first stage of a deal: to whom the free units belong. Internal to policy/allocator.
#pragma once

#include <vector>

#include "policy/allocator/deal_progress.hpp"
#include "policy/allocator/deal_steps.hpp"

namespace fairwater::inline policy::inline allocator {

/// What the first stage hands on, beside credits and allowances of the claimants.
struct Entitlement {
  std::vector<Repayment> repayments;
  std::vector<ClaimantIndex> receivers;  ///< who shares what is passed on, ranked
};

class EntitleStage {
 public:
  explicit EntitleStage(DealProgress& deal) : deal_(deal) {}

  /// Deals `units` by the sequence (step 4), settles debts of units (5), passes on what falls to
  /// those at their quota, and pools what they cannot use (6).
  [[nodiscard]] Entitlement run(Units units);
  /// What was passed on in all, shared by the receivers' weights. Of an earlier sharing the
  /// difference is posted.
  void share_passed_on(const Entitlement& entitlement);

 private:
  void settle_debts(Entitlement& entitlement);
  /// Those with work that others owe units, in ranked order.
  [[nodiscard]] std::vector<TenantId> creditors_with_work() const;
  void pass_on_at_quota(Entitlement& entitlement);
  void pool();
  /// Whether somebody leaves some of it to the others.
  bool give_allowances();
  [[nodiscard]] bool is_to_run_out(const TenantState& tenant);

  DealProgress& deal_;
  std::vector<PoolMember> members_;
  bool somebody_leaves_ = false;
  WaterFiller filler_;
};

}  // namespace fairwater::inline policy::inline allocator
