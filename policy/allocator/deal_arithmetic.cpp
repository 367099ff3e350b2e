#include "policy/allocator/deal_arithmetic.hpp"

#include <algorithm>
#include <utility>

#include "policy/allocator/deal_steps.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

std::string name_of(TenantId tenant) { return "tenant " + std::to_string(tenant.value); }

/// What grants, repayments and loans say of one tenant.
struct Movements {
  TenantId tenant;
  Units cost = 0;
  Units paid = 0;
  Units received = 0;
  Units lent = 0;
  Units borrowed = 0;
};

/// Of the tenants with a line, by tenant.
class MovementTable {
 public:
  explicit MovementTable(const Deal& deal) {
    movements_.reserve(deal.lines.size());
    for (const TenantLine& line : deal.lines) movements_.push_back({.tenant = line.tenant});
    std::sort(movements_.begin(), movements_.end(),
              [](const Movements& a, const Movements& b) { return a.tenant < b.tenant; });
  }
  /// Null for a tenant without a line.
  [[nodiscard]] Movements* find(TenantId tenant) {
    const auto found =
        std::lower_bound(movements_.begin(), movements_.end(), tenant,
                         [](const Movements& a, TenantId b) { return a.tenant < b; });
    return found != movements_.end() && found->tenant == tenant ? &*found : nullptr;
  }
  [[nodiscard]] bool has_repeated_line() const {
    return std::adjacent_find(movements_.begin(), movements_.end(),
                              [](const Movements& a, const Movements& b) {
                                return a.tenant == b.tenant;
                              }) != movements_.end();
  }
  /// Adds to what is known of the tenant, or remembers that it has no line.
  void add(TenantId tenant, Units Movements::*what, Units units) {
    if (Movements* found = find(tenant))
      found->*what += units;
    else if (!without_line_ || tenant < *without_line_)
      without_line_ = tenant;
  }
  [[nodiscard]] std::optional<TenantId> without_line() const { return without_line_; }

 private:
  std::vector<Movements> movements_;
  std::optional<TenantId> without_line_;
};

std::optional<std::string> add_movements(const Deal& deal, MovementTable& table) {
  for (const Repayment& repayment : deal.repayments) {
    if (repayment.units <= 0 || repayment.debtor == repayment.creditor)
      return name_of(repayment.debtor) + " repays " + std::to_string(repayment.units) +
             " units to " + name_of(repayment.creditor);
    table.add(repayment.debtor, &Movements::paid, repayment.units);
    table.add(repayment.creditor, &Movements::received, repayment.units);
  }
  for (const Loan& loan : deal.loans) {
    if (loan.units <= 0 || loan.lender == loan.borrower)
      return name_of(loan.lender) + " lends " + std::to_string(loan.units) + " units to " +
             name_of(loan.borrower);
    table.add(loan.lender, &Movements::lent, loan.units);
    table.add(loan.borrower, &Movements::borrowed, loan.units);
  }
  for (const Grant& grant : deal.grants) table.add(grant.tenant, &Movements::cost, grant.cost);
  return std::nullopt;
}

std::optional<std::string> line_problem(const TenantLine& line, const Movements& moved) {
  if (moved.paid != line.paid || moved.received != line.received)
    return "the repayments of " + name_of(line.tenant) + " do not add up to its line";
  const Units balance = closing_balance(line);
  if (line.deficit_after + moved.lent - moved.borrowed != balance)
    return "the closing equation of " + name_of(line.tenant) + " does not hold: deficit " +
           std::to_string(line.deficit_after) + " + lent " + std::to_string(moved.lent) +
           " - borrowed " + std::to_string(moved.borrowed) + " is not " + std::to_string(balance);
  if (moved.cost != line.guaranteed + line.placed)
    return "the grants of " + name_of(line.tenant) + " cost " + std::to_string(moved.cost) +
           " units, its line says " + std::to_string(line.guaranteed + line.placed);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> arithmetic_problem(const Deal& deal) {
  if (!deal.keeps_accounts) {
    Deal bare;
    bare.node = deal.node;
    bare.grants = deal.grants;
    bare.keeps_accounts = false;
    return deal == bare ? std::nullopt
                        : std::optional<std::string>("a deal without accounts moves units");
  }
  MovementTable table(deal);
  if (table.has_repeated_line()) return "a tenant has two lines in one deal";
  if (auto problem = add_movements(deal, table)) return problem;
  Units added = 0;
  for (const TenantLine& line : deal.lines) {
    if (auto problem = line_problem(line, *table.find(line.tenant))) return problem;
    added += closing_balance(line) - line.deficit_before;
  }
  if (const auto tenant = table.without_line())
    return name_of(*tenant) + " takes part without a line";
  if (added != 0)
    return "the deal adds " + std::to_string(added) + " units to the balances instead of none";
  return std::nullopt;
}

Transaction transaction_of(const Deal& deal, Transaction&& reuse) {
  Transaction transaction = std::move(reuse);
  transaction.node = deal.node;
  transaction.position_before = deal.position_before;
  transaction.position_after = deal.position_after;
  transaction.repayments = deal.repayments;
  transaction.loans = deal.loans;
  transaction.reservation = deal.reservation;
  transaction.statements.clear();
  transaction.entries.clear();
  for (const TenantLine& line : deal.lines) {
    transaction.statements.push_back(
        {line.tenant, line.deficit_before, line.deficit_after, line.repay_remainder_millionths});
    const auto enter = [&](EntryReason reason, Units units) {
      if (units != 0) transaction.entries.push_back({line.tenant, reason, units});
    };
    enter(EntryReason::granted, line.granted);
    enter(EntryReason::passed_on, -line.passed_on);
    enter(EntryReason::passed_to, line.passed_to);
    enter(EntryReason::placed, -line.placed);
    enter(EntryReason::rolled_back, -line.rolled_back);
  }
  return transaction;
}

}  // namespace fairwater::inline policy::inline allocator
