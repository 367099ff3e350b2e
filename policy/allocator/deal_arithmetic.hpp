// What a deal's record says of the accounts, and whether it adds up.
#pragma once

#include <optional>
#include <string>

#include "policy/allocator/deal.hpp"
#include "policy/ledger/accounts.hpp"

namespace fairwater::inline policy::inline allocator {

/// Whether the deal adds up, which needs no accounts: closing equations, sums, and grants, loans
/// and repayments against the lines. A sentence that says what does not; none when all is well.
[[nodiscard]] std::optional<std::string> arithmetic_problem(const Deal& deal);

/// The deal as the accounts see it: statements and entries from its lines. Looks at the deal's
/// repayments and loans, which must stay. Takes the memory of `reuse`.
[[nodiscard]] Transaction transaction_of(const Deal& deal, Transaction&& reuse = {});

}  // namespace fairwater::inline policy::inline allocator
