// What bounds the loans of a settlement by the caps of tenants.
#pragma once

#include <functional>

#include "policy/ledger/loan_groups.hpp"
#include "policy/ledger/time_accounts.hpp"

namespace fairwater::inline policy::inline ledger {

/// The most that a tenant may lend and borrow in a settlement; not negative.
struct LoanRoom {
  Units lend = kUnlimited;
  Units borrow = kUnlimited;
};

/// Nobody lends or borrows more than `room` says: what goes beyond it is taken off its position.
/// Then it is taken off others' that positions sum to zero, and that no group lends or borrows more
/// than before: the inner groups first, each time off the side of which more is left, in
/// proportion. It stands in TimeLine::beyond_cap. As much is lent as these bounds allow. O(lines +
/// groups).
void cap_loans(TimeSettlement& settlement, const std::function<LoanRoom(TenantId)>& room,
               const LoanGroups& groups = {});

}  // namespace fairwater::inline policy::inline ledger
