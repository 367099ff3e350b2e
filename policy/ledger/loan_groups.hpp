// Tenants whose loans are bounded together. What those of a group lend to each other is their own
// matter; what they lend to others, or borrow from them, is the group's.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "policy/ledger/debts.hpp"
#include "policy/ledger/loans.hpp"

namespace fairwater::inline policy::inline ledger {

/// What the tenants of a group may do beside those who are not in it. Each pays back what it owes
/// them, and takes back what they owe it, whatever this says; what it owes its siblings may come to
/// be owed by them (IouBook::lend), so that nobody's net is less for it.
struct LoanRights {
  bool may_lend = true;
  bool may_borrow = true;
  LoanCaps caps{};  ///< of what its tenants are owed, or owe, together
  friend bool operator==(const LoanRights&, const LoanRights&) = default;
};

class LoanGroups {
 public:
  /// From 0 on in the order in which they are added.
  using Number = std::size_t;
  static constexpr Number kNone = static_cast<Number>(-1);

  /// After the one that it is in.
  Number add(Number around, const LoanRights& rights);
  /// The innermost of those that it is in.
  void put(TenantId tenant, Number innermost) { innermost_[tenant] = innermost; }

  [[nodiscard]] std::size_t size() const { return groups_.size(); }
  [[nodiscard]] Number around(Number group) const { return groups_[group].around; }
  [[nodiscard]] const LoanRights& rights(Number group) const { return groups_[group].rights; }
  /// kNone: it is in none. O(log tenants)
  [[nodiscard]] Number innermost(TenantId tenant) const;
  /// Itself, or in a group in it. O(depth + log tenants)
  [[nodiscard]] bool is_in(TenantId tenant, Number group) const;

 private:
  struct Group {
    Number around;
    LoanRights rights;
  };
  std::vector<Group> groups_;
  std::map<TenantId, Number> innermost_;
};

/// All loans that make positions, as match_loans(), and of those in a group to each other first,
/// the inner groups before those around them. O(positions * depth).
[[nodiscard]] std::vector<Loan> match_loans(std::vector<Position> positions,
                                            const LoanGroups& groups);

}  // namespace fairwater::inline policy::inline ledger
