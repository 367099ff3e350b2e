// What a deal, or a settlement of time, writes to the journal.
#pragma once

#include "policy/allocator/deal.hpp"
#include "schema/codec.hpp"
#include "schema/fields/field.hpp"

namespace fairwater::inline schema {

template <>
struct Fields<Grant> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(task, Task);
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(cost, Cost);
    FAIRWATER_FIELD(demand, Demand);
    FAIRWATER_FIELD(step, Step);
    FAIRWATER_FIELD(beyond_quota, BeyondQuota);
    FAIRWATER_FIELD(placement, Placement);
    FAIRWATER_SPARSE_FIELD(devices, Devices);
  }
  static void take_rest(const Grant& grant, const wire::Grant::Reader&) {
    if (grant.step == GrantStep{})
      throw MalformedRecord("step", "a grant does not say which step of the deal placed it");
  }
};

template <>
struct Fields<TenantLine> {
  using Base = TenantBalance;
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(deficit_before, DeficitBefore);
    FAIRWATER_FIELD(granted, Granted);
    FAIRWATER_FIELD(passed_on, PassedOn);
    FAIRWATER_FIELD(passed_to, PassedTo);
    FAIRWATER_FIELD(paid, Paid);
    FAIRWATER_FIELD(received, Received);
    FAIRWATER_FIELD(pooled, Pooled);
    FAIRWATER_FIELD(allowance, Allowance);
    FAIRWATER_FIELD(guaranteed, Guaranteed);
    FAIRWATER_FIELD(placed, Placed);
    FAIRWATER_FIELD(rolled_back, RolledBack);
    FAIRWATER_FIELD(deficit_after, DeficitAfter);
    FAIRWATER_FIELD(quota, Quota);
    FAIRWATER_FIELD(used, Used);
    FAIRWATER_FIELD(repay_remainder_millionths, RepayRemainder);
  }
};

template <>
struct Fields<Repayment> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(debtor, Debtor);
    FAIRWATER_FIELD(creditor, Creditor);
    FAIRWATER_FIELD(units, Units);
  }
};

template <>
struct Fields<Loan> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(lender, Lender);
    FAIRWATER_FIELD(borrower, Borrower);
    FAIRWATER_FIELD(units, Units);
  }
};

template <>
struct Fields<Advance> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(lender, Lender);
    FAIRWATER_FIELD(units, Units);
  }
};

template <>
struct Fields<Reservation> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(demand, Demand);
  }
};

template <>
struct Fields<TimeLine> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(position, Position);
    FAIRWATER_FIELD(rest, Rest);
    FAIRWATER_FIELD(held.unit_ms, HeldUnitMs);
    FAIRWATER_FIELD(held.millionths, HeldMillionths);
    FAIRWATER_FIELD(part.unit_ms, PartUnitMs);
    FAIRWATER_FIELD(part.millionths, PartMillionths);
    FAIRWATER_FIELD(beyond_cap, BeyondCap);
    FAIRWATER_FIELD(decayed, Decayed);
  }
};

template <>
struct Fields<Deal> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(node, Node);
    FAIRWATER_FIELD(free_units, FreeUnits);
    FAIRWATER_FIELD(unused, Unused);
    FAIRWATER_FIELD(position_before, PositionBefore);
    FAIRWATER_FIELD(position_after, PositionAfter);
    FAIRWATER_FIELD(lines, Lines);
    FAIRWATER_FIELD(grants, Grants);
    FAIRWATER_FIELD(repayments, Repayments);
    FAIRWATER_FIELD(loans, Loans);
    FAIRWATER_FIELD(reservation, Reservation);
    FAIRWATER_FIELD(keeps_accounts, KeepsAccounts);
  }
};

}  // namespace fairwater::inline schema
