// What moves between tenants' accounts, and what a deal, as a transaction, does to all of them
// (policy/ledger/accounts.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline ledger {

/// A moment of the ledger: milliseconds that counted so far. They pass only under a coordinator's
/// eyes, so it is no time of day.
using LedgerMs = std::int64_t;

/// Why units come into a tenant's account (+) or go out of it (-).
enum class EntryReason : std::uint8_t {
  granted,      ///< + slots of the sequence's window
  passed_on,    ///< - given away without a claim
  passed_to,    ///< + its part of what others passed on
  paid,         ///< - repayment, as debtor
  received,     ///< + repayment, as creditor
  placed,       ///< - cost of its tasks; guarantees cost nothing
  rolled_back,  ///< - slots that nobody could use
  lent,         ///< - for a claim in the book of IOUs
  borrowed,     ///< + for a debt in it
};
inline constexpr std::size_t kEntryReasons = 9;

/// One side of a double entry. Those of a deal sum to zero: what the sequence granted was placed or
/// rolled back, and every other unit came out of another account.
struct Entry {
  TenantId tenant;
  EntryReason reason = EntryReason::granted;
  Units units = 0;
  friend bool operator==(const Entry&, const Entry&) = default;
};

struct Repayment {
  TenantId debtor;
  TenantId creditor;
  Units units = 0;
  friend bool operator==(const Repayment&, const Repayment&) = default;
};

struct Loan {
  TenantId lender;
  TenantId borrower;
  Units units = 0;
  friend bool operator==(const Loan&, const Loan&) = default;
};

/// Units of another tenant's slots that a grant used, see policy/allocator/advances.hpp.
struct Advance {
  TenantId lender;
  Units units = 0;
  friend bool operator==(const Advance&, const Advance&) = default;
};

/// Room that a node keeps for a task of the tenant that is due and larger than what is free there
/// (policy/allocator/reserve.hpp).
struct Reservation {
  TenantId tenant;
  ResourceVector demand;
  friend bool operator==(const Reservation&, const Reservation&) = default;
};

/// What a transaction says of one tenant's account before and after it.
struct Statement {
  TenantId tenant;
  Units opening = 0;
  Units closing = 0;
  /// Afterwards: what rounding down left of its repayments, in millionths of a unit.
  std::uint32_t repay_remainder_millionths = 0;
};

/// A deal as the accounts see it.
struct Transaction {
  NodeId node;
  std::uint64_t position_before = 0;
  std::uint64_t position_after = 0;
  std::vector<Statement> statements;       ///< of every tenant that takes part
  std::vector<Entry> entries;              ///< but those that repayments and loans make
  std::span<const Repayment> repayments;   ///< first
  std::span<const Loan> loans;             ///< then
  std::optional<Reservation> reservation;  ///< that the node has afterwards
};

}  // namespace fairwater::inline policy::inline ledger
