// The accounts' debts: forgiven, converted, and what time makes of them; credits for growth.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "policy/core/check.hpp"
#include "policy/ledger/accounts.hpp"
#include "policy/ledger/decay.hpp"

namespace fairwater::inline policy::inline ledger {

// -- debts
// -----------------------------------------------------------------------------------------

Accounts::Refusal Accounts::forgive(TenantId debtor, std::span<const ForgivenDebt> debts) {
  if (!has(debtor)) return name(debtor) + " does not exist";
  for (const auto& [creditor, units] : debts) {
    if (units <= 0 || !book_.repay(debtor.value, creditor.value, units))
      return name(debtor) + " is forgiven more than it owes " + name(creditor);
    entered(debtor).account.forgiven_total -= units;
    entered(creditor).account.forgiven_total += units;
    changes_.tenants.push_back(creditor);
  }
  if (!debts.empty()) changes_.tenants.push_back(debtor);
  return std::nullopt;
}

Accounts::Refusal Accounts::convert(Units times) {
  if (times < 0) return "balances become " + std::to_string(times) + " times as large";
  Wide largest = 0;
  for (const IouBook::Iou& iou : book_.ious()) largest += iou.units;
  for (const Entered& entered : entered_)
    largest = std::max<Wide>(largest, std::abs(entered.account.forgiven_total));
  if (largest * times > kUnlimited)
    return "balances are too large to become " + std::to_string(times) + " times as large";
  book_.multiply(times);
  for (Entered& entered : entered_) {
    if (!entered.account.tenant) continue;
    entered.account.forgiven_total *= times;
    entered.account.repay_remainder_millionths = 0;
    changes_.tenants.push_back(entered.account.tenant);
  }
  return std::nullopt;
}

// -- time
// ------------------------------------------------------------------------------------------

std::optional<TimeSettlement> Accounts::settle_time(const DebtTerms& debts,
                                                    std::uint32_t resource) {
  TimeSettlement settlement{.from_ms = time_.settled_ms(), .until_ms = time_.now_ms()};
  settlement.half_life_ms = debts.half_life_ms;
  settlement.decay_ms = due_decay_ms(debts);
  const std::map<TenantId, Units> decayed = decay(settlement);
  std::optional<TimeSettlement> lent =
      time_.settle([&](TenantId tenant) { return book_.net(tenant.value); }, groups_,
                   [&](TenantId tenant, auto group) { return net_beyond(tenant, group); });
  if (lent) settlement.lines = std::move(lent->lines);
  const bool counts_another = resource != time_.resource();
  settlement.resource = resource;
  write_decay(decayed, settlement);
  cap_loans(
      settlement, [&](TenantId tenant) { return loan_room(debts, tenant); }, groups_);
  enter(settlement);
  if (!lent && !counts_another && settlement.decay_ms == 0) return std::nullopt;
  return settlement;
}

LoanRoom Accounts::loan_room(const DebtTerms& debts, TenantId tenant) {
  const LoanCaps& caps = entered(tenant).caps;
  const MicroUnits part = time_.part(tenant);
  const Wide net = book_.net(tenant.value);
  const auto within = [](Wide room) {
    return static_cast<Units>(std::clamp<Wide>(room, 0, kUnlimited));
  };
  return {.lend = within(cap_of(caps.lend, part) - net),
          .borrow = within(std::min(cap_of(debts, part), cap_of(caps.borrow, part)) + net)};
}

bool Accounts::has_bounded_loans() const {
  return groups_.size() > 0 ||
         time_.is_bounded([&](TenantId tenant) { return book_.net(tenant.value); });
}

Units Accounts::net_beyond(TenantId tenant, LoanGroups::Number group) const {
  Units net = 0;
  for (const IouBook::Iou& iou : book_.claims_of(tenant.value))
    if (!groups_.is_in(TenantId{iou.debtor}, group)) net += iou.units;
  for (const IouBook::Iou& iou : book_.debts_of(tenant.value))
    if (!groups_.is_in(TenantId{iou.creditor}, group)) net -= iou.units;
  return net;
}

void Accounts::set_caps(TenantId tenant, const LoanCaps& caps) { entered(tenant).caps = caps; }

LedgerMs Accounts::due_decay_ms(const DebtTerms& debts) const {
  const LedgerMs passed_ms = time_.now_ms() - time_.decayed_ms();
  const bool is_due =
      debts.half_life_ms > 0 && !book_.empty() && passed_ms >= decay_period_ms(debts);
  return is_due ? passed_ms : 0;
}

std::map<TenantId, Units> Accounts::decay(const TimeSettlement& settlement) {
  std::map<TenantId, Units> decayed;
  if (settlement.decay_ms == 0) return decayed;
  for (const IouBook::Iou& less :
       book_.decay(DecayFactor(settlement.decay_ms, settlement.half_life_ms))) {
    decayed[TenantId{less.creditor}] += less.units;
    decayed[TenantId{less.debtor}] -= less.units;
  }
  return decayed;
}

void Accounts::write_decay(std::map<TenantId, Units> decayed, TimeSettlement& settlement) {
  if (decayed.empty()) return;
  for (TimeLine& line : settlement.lines) {
    const auto found = decayed.find(line.tenant);
    if (found == decayed.end()) continue;
    line.decayed = found->second;
    decayed.erase(found);
  }
  for (const auto& [tenant, units] : decayed) {
    const std::int64_t rest = time_.account(tenant).rest;
    settlement.lines.push_back({.tenant = tenant, .rest = rest, .decayed = units});
  }
  std::sort(settlement.lines.begin(), settlement.lines.end(),
            [](const TimeLine& a, const TimeLine& b) { return a.tenant < b.tenant; });
}

Accounts::Refusal Accounts::apply(const TimeSettlement& settlement) {
  if (Refusal refusal = time_.apply(settlement)) return refusal;
  if (settlement.decay_ms < 0 || (settlement.decay_ms > 0 && settlement.half_life_ms <= 0))
    return "debts shrink for " + std::to_string(settlement.decay_ms) + " ms with a half-life of " +
           std::to_string(settlement.half_life_ms) + " ms";
  std::map<TenantId, Units> decayed = decay(settlement);
  Units beyond_cap = 0;
  for (const TimeLine& line : settlement.lines) {
    beyond_cap += line.beyond_cap;
    const auto found = decayed.find(line.tenant);
    const Units units = found == decayed.end() ? 0 : found->second;
    if (line.decayed != units)
      return "of " + name(line.tenant) + " decay " + std::to_string(units) +
             " unit-milliseconds, not " + std::to_string(line.decayed);
    if (found != decayed.end()) decayed.erase(found);
  }
  if (!decayed.empty())
    return "debts of " + name(decayed.begin()->first) + " shrink without a line";
  if (beyond_cap != 0) return "what is not lent is not what is not borrowed";
  enter(settlement);
  return std::nullopt;
}

void Accounts::enter(const TimeSettlement& settlement) {
  const bool nothing_waits =
      settlement.half_life_ms == 0 || settlement.decay_ms > 0 || book_.empty();
  if (nothing_waits) time_.note_decay();
  time_.count(settlement.resource);
  visit_loans(positions_of(settlement), [&](const Loan& loan) {
    book_.lend(loan.lender.value, loan.borrower.value, loan.units);
  });
  for (const TimeLine& line : settlement.lines) {
    entered(line.tenant).account.forgiven_total += line.beyond_cap + line.decayed;
    changes_.tenants.push_back(line.tenant);
  }
}

// -- credits for growth
// ----------------------------------------------------------------------------

Accounts::Refusal Accounts::apply(const CreditSettlement& settlement) {
  if (settlement.period_ms < 1 || settlement.period_ms > kMaxCreditPeriod_ms)
    return "a period of credits of " + std::to_string(settlement.period_ms) + " ms";
  TenantId last;
  for (const CreditLine& line : settlement.lines) {
    if (!has(line.tenant)) return name(line.tenant) + " does not exist";
    if (line.tenant <= last) return name(line.tenant) + " stands out of order";
    if (line.extras < 0 || line.extras > kMaxCreditExtras || line.unused < 0)
      return name(line.tenant) + " has extras or unused units beyond bounds";
    last = line.tenant;
  }
  CreditSettlement again = settlement;
  settle_credits(again);
  for (std::size_t i = 0; i < again.lines.size(); ++i)
    if (const Units due = again.lines[i].change; due != settlement.lines[i].change)
      return "the credit of " + name(again.lines[i].tenant) + " changes by " + std::to_string(due) +
             ", not " + std::to_string(settlement.lines[i].change);
  for (const CreditLine& line : settlement.lines) {
    entered(line.tenant).account.credit += line.change;
    changes_.tenants.push_back(line.tenant);
  }
  return std::nullopt;
}

void Accounts::spread_credit(Entered& leaver, const std::vector<IouBook::MemberWeight>& heirs) {
  const Units credit = std::exchange(leaver.account.credit, 0);
  FAIRWATER_CHECK(credit == 0 || !heirs.empty(), "credits sum to zero");
  if (credit == 0) return;
  std::vector<Weight> weights;
  for (const IouBook::MemberWeight& heir : heirs) weights.push_back(heir.weight);
  const std::vector<Units> parts = credit_parts(credit, weights);
  for (std::size_t i = 0; i < heirs.size(); ++i) {
    const TenantId heir{heirs[i].member};
    entered(heir).account.credit += parts[i];
    changes_.tenants.push_back(heir);
  }
}

}  // namespace fairwater::inline policy::inline ledger
