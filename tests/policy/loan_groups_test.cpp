// Tenants whose loans are bounded together: who lends to whom, and what goes beyond their rights.
#include "policy/ledger/loan_groups.hpp"

#include <map>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "policy/ledger/time_accounts.hpp"

namespace fairwater::test {
namespace {

constexpr TenantId kOne{1}, kTwo{2}, kThree{3}, kFour{4};
using Positions = std::map<TenantId, Units>;

constexpr MicroUnits units(std::int64_t count) { return count * kMicroUnitsPerUnit; }

/// Four with a part of four units each.
TimeAccounts four_alike() {
  TimeAccounts accounts;
  for (const TenantId tenant : {kOne, kTwo, kThree, kFour}) {
    accounts.join(tenant);
    accounts.set_part(tenant, units(4));
  }
  return accounts;
}

/// `beyond`: what others than those in the first group owe them.
Positions positions(TimeAccounts& accounts, const LoanGroups& groups,
                    const std::map<TenantId, Units>& beyond = {}) {
  const auto settlement = accounts.settle(
      [](TenantId) { return 0; }, groups,
      [&](TenantId tenant, auto) { return beyond.contains(tenant) ? beyond.at(tenant) : 0; });
  Positions found;
  if (settlement)
    for (const TimeLine& line : settlement->lines)
      if (line.position != 0) found[line.tenant] = line.position;
  return found;
}

LoanGroups first_two(const LoanRights& rights) {
  LoanGroups groups;
  const auto group = groups.add(LoanGroups::kNone, rights);
  groups.put(kOne, group);
  groups.put(kTwo, group);
  return groups;
}

TEST_CASE("those in a group lend to each other first, the inner groups before others",
          "[unit][loan_groups]") {
  TimeAccounts accounts = four_alike();
  LoanGroups groups;
  const auto outer = groups.add(LoanGroups::kNone, {});
  const auto inner = groups.add(outer, {});
  groups.put(kOne, inner);
  groups.put(kTwo, inner);
  groups.put(kThree, outer);
  accounts.set_held(kOne, units(9));
  accounts.set_held(kTwo, units(2));
  accounts.set_held(kThree, units(2));
  accounts.pass_to(1000);
  // Of its five two each come from within its groups, and one of the four that are idle outside.
  CHECK(positions(accounts, groups) ==
        Positions{{kOne, -5000}, {kTwo, 2000}, {kThree, 2000}, {kFour, 1000}});
  // Nothing is idle outside any more.
  accounts.set_held(kFour, units(5));
  accounts.set_held(kOne, units(8));
  accounts.pass_to(2000);
  CHECK(positions(accounts, groups) == Positions{{kOne, -4000}, {kTwo, 2000}, {kThree, 2000}});
}

TEST_CASE("what one lends and borrows in a stretch is no less for others beside its group",
          "[unit][loan_groups]") {
  TimeAccounts accounts = four_alike();
  // The first borrows for half of the time what it leaves in the other half.
  accounts.set_held(kOne, units(8));
  accounts.set_held(kTwo, units(4));
  accounts.set_held(kThree, units(8));
  accounts.pass_to(500);
  accounts.set_held(kOne, 0);
  accounts.pass_to(1000);
  CHECK(positions(accounts, first_two({.caps = {.lend = {.unit_ms = 1'000'000}, .borrow = {}}})) ==
        Positions{{kThree, -4000}, {kFour, 4000}});
}

Positions beside_a_group(const LoanRights& rights, const std::vector<MicroUnits>& held,
                         const std::map<TenantId, Units>& beyond = {}) {
  TimeAccounts accounts = four_alike();
  for (std::uint32_t id = 1; id <= 4; ++id) accounts.set_held(TenantId{id}, held[id - 1]);
  accounts.pass_to(1000);
  return positions(accounts, first_two(rights), beyond);
}

TEST_CASE("what goes beyond a group's rights is no loan, what pays back is",
          "[unit][loan_groups]") {
  const LoanRights lends_nothing{.may_lend = false};
  const LoanRights borrows_nothing{.may_borrow = false};
  const std::vector<MicroUnits> lent{units(1), units(4), units(7), units(4)};
  const std::vector<MicroUnits> borrowed{units(7), units(4), units(1), units(4)};
  CHECK(beside_a_group({}, lent) == Positions{{kOne, 3000}, {kThree, -3000}});
  CHECK(beside_a_group(lends_nothing, lent) == Positions{});
  CHECK(beside_a_group(borrows_nothing, lent) == Positions{{kOne, 3000}, {kThree, -3000}});
  CHECK(beside_a_group(borrows_nothing, borrowed) == Positions{});
  CHECK(beside_a_group(lends_nothing, borrowed) == Positions{{kOne, -3000}, {kThree, 3000}});
  // Whatever others of the group are owed, or owe.
  CHECK(beside_a_group(lends_nothing, lent, {{kOne, -2000}, {kTwo, 9000}}) ==
        Positions{{kOne, 2000}, {kThree, -2000}});
  CHECK(beside_a_group(lends_nothing, lent, {{kTwo, -9000}}) == Positions{});
  CHECK(beside_a_group(borrows_nothing, borrowed, {{kOne, 2000}, {kTwo, -9000}}) ==
        Positions{{kOne, -2000}, {kThree, 2000}});
  CHECK(beside_a_group(borrows_nothing, borrowed, {{kTwo, 9000}}) == Positions{});
  // Caps are of all in it together, and what pays back counts.
  const LoanRights capped{.caps = {.lend = {.part_ms = 500}, .borrow = {.unit_ms = 1000}}};
  CHECK(beside_a_group(capped, lent) == Positions{{kOne, 3000}, {kThree, -3000}});
  CHECK(beside_a_group(capped, lent, {{kTwo, 2500}}) == Positions{{kOne, 1500}, {kThree, -1500}});
  CHECK(beside_a_group(capped, lent, {{kOne, -500}, {kTwo, 2500}}) ==
        Positions{{kOne, 2000}, {kThree, -2000}});
  CHECK(beside_a_group(capped, borrowed, {{kTwo, -400}}) == Positions{{kOne, -600}, {kThree, 600}});
}

TEST_CASE("siblings' positions become loans to each other first", "[unit][loan_groups]") {
  LoanGroups groups;
  const auto outer = groups.add(LoanGroups::kNone, {});
  const auto inner = groups.add(outer, {});
  groups.put(kTwo, outer);
  groups.put(kThree, inner);
  groups.put(kFour, inner);
  using Loans = std::vector<Loan>;
  const std::vector<Position> balances{{kOne, -4}, {kTwo, 5}, {kThree, -6}, {kFour, 5}};
  CHECK(match_loans(balances, {}) == Loans{{kTwo, kOne, 4}, {kTwo, kThree, 1}, {kFour, kThree, 5}});
  CHECK(match_loans(balances, groups) ==
        Loans{{kFour, kThree, 5}, {kTwo, kThree, 1}, {kTwo, kOne, 4}});
}

}  // namespace
}  // namespace fairwater::test
