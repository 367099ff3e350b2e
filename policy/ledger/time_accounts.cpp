#include "policy/ledger/time_accounts.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "policy/core/check.hpp"
#include "policy/core/exact_share.hpp"
#include "policy/core/wide.hpp"

namespace fairwater::inline policy::inline ledger {
namespace {

constexpr Wide kExact = Wide{1} << 63;

/// floor(whole * part / all) for 0 <= part <= all. Where the product might not fit, `part` and
/// `all` are taken to 40 bits: the same share for the same part, and everything for `part == all`.
Wide share_of(Wide whole, Wide part, Wide all) {
  constexpr Wide kFewBits = Wide{1} << 40;
  if (part == all) return whole;
  if (whole >= kExact || all >= kExact) {
    while (all >= kFewBits) {
      all >>= 1;
      part >>= 1;
    }
    FAIRWATER_CHECK(whole < (Wide{1} << 86), "what is settled at once is within its arithmetic");
  }
  return whole * part / all;
}

/// Cuts `whole` into parts in proportion to amounts that make `all` together, cumulatively, so that
/// the parts add up to it. As by share_of().
class Parts {
 public:
  /// 0 <= whole, 0 < all
  Parts(Wide whole, Wide all)
      : whole_(whole),
        all_(all),
        is_exact_(whole < kExact && all < kExact),
        exact_(is_exact_ ? static_cast<Amount>(whole) : 0, is_exact_ ? all : 1) {}
  /// What falls to `amount` behind those before it.
  Wide next(Wide amount) {
    if (amount == 0) return 0;
    sum_ += amount;
    const Wide before = until_;
    until_ = until(sum_);
    return until_ - before;
  }

 private:
  [[nodiscard]] Wide until(Wide part) const {
    if (whole_ == all_) return part;
    return is_exact_ ? Wide{exact_.until(part)} : share_of(whole_, part, all_);
  }

  Wide whole_;
  Wide all_;
  bool is_exact_;
  ProportionalShare exact_;
  Wide sum_ = 0;
  Wide until_ = 0;
};

}  // namespace

UnitTime UnitTime::of(Wide micro) {
  const Wide whole = quotient(micro, kMicroUnitsPerUnit);
  FAIRWATER_CHECK(micro >= 0 && whole < kUnlimited, "a time held fits its account");
  return {static_cast<std::int64_t>(whole),
          static_cast<std::uint32_t>(micro - whole * kMicroUnitsPerUnit)};
}

std::vector<Position> positions_of(const TimeSettlement& settlement) {
  std::vector<Position> positions;
  positions.reserve(settlement.lines.size());
  for (const TimeLine& line : settlement.lines)
    if (line.position != 0) positions.push_back({line.tenant, line.position});
  return positions;
}

std::vector<TimeAccounts::Entered>::const_iterator TimeAccounts::place_of(TenantId tenant) const {
  return std::lower_bound(
      entered_.begin(), entered_.end(), tenant,
      [](const Entered& entered, TenantId id) { return entered.account.tenant < id; });
}

const TimeAccounts::Entered& TimeAccounts::entered(TenantId tenant) const {
  const auto found = place_of(tenant);
  FAIRWATER_CHECK(found != entered_.end() && found->account.tenant == tenant,
                  "the tenant has a time account");
  return *found;
}

TimeAccounts::Entered& TimeAccounts::entered(TenantId tenant) {
  return const_cast<Entered&>(std::as_const(*this).entered(tenant));
}

void TimeAccounts::bring_up(Entered& entered) const {
  const LedgerMs passed = now_ms_ - entered.since_ms;
  entered.since_ms = now_ms_;
  // Neither is negative, so that the difference fits.
  const MicroUnits excess = entered.held - entered.part;
  if (excess > 0)
    entered.account.borrowed += Wide{excess} * passed;
  else
    entered.account.spare -= Wide{excess} * passed;
  entered.account.held += Wide{entered.held} * passed;
  entered.account.part += Wide{entered.part} * passed;
}

// -- what changes ---------------------------------------------------------------------------------

void TimeAccounts::join(TenantId tenant) {
  Entered joined;
  joined.account.tenant = tenant;
  joined.since_ms = now_ms_;
  const auto place = place_of(tenant);
  FAIRWATER_CHECK(place == entered_.end() || place->account.tenant != tenant,
                  "a tenant joins once");
  entered_.insert(place, joined);
}

std::optional<TenantId> TimeAccounts::leave(TenantId tenant) {
  Entered& leaver = entered(tenant);
  bring_up(leaver);
  FAIRWATER_CHECK(leaver.held == 0, "a tenant that leaves holds nothing");
  FAIRWATER_CHECK(leaver.account.borrowed == 0 && leaver.account.spare == 0,
                  "all time is settled when a tenant leaves");
  const std::int64_t rest = leaver.account.rest;
  entered_.erase(place_of(tenant));
  FAIRWATER_CHECK(rest == 0 || !entered_.empty(), "rests sum to zero");
  if (rest == 0) return std::nullopt;
  entered_.front().account.rest += rest;
  return entered_.front().account.tenant;
}

void TimeAccounts::set_rights(TenantId tenant, bool may_lend, bool may_borrow) {
  Entered& changed = entered(tenant);
  changed.may_lend = may_lend;
  changed.may_borrow = may_borrow;
}

void TimeAccounts::set_held(TenantId tenant, MicroUnits held) {
  FAIRWATER_CHECK(held >= 0, "nobody holds less than nothing");
  Entered& holder = entered(tenant);
  if (holder.held == held) return;
  bring_up(holder);
  holder.held = held;
}

void TimeAccounts::set_part(TenantId tenant, MicroUnits part) {
  FAIRWATER_CHECK(part >= 0, "a part is not negative");
  Entered& owner = entered(tenant);
  if (owner.part == part) return;
  bring_up(owner);
  owner.part = part;
}

void TimeAccounts::pass_to(LedgerMs now_ms) {
  FAIRWATER_CHECK(now_ms >= now_ms_, "the ledger's time does not go back");
  now_ms_ = now_ms;
}

// -- settlement -----------------------------------------------------------------------------------

void TimeAccounts::Sums::add(const Entered& entered) {
  borrowed += entered.account.borrowed - entered.owed_in_groups;
  spare += entered.account.spare - entered.lent_in_groups;
  charged += entered.charged;
  lendable += entered.lendable;
  lent_in_groups += entered.lent_in_groups;
}

void TimeAccounts::find_loans(Entered& entered, const NetOf& net) {
  const TimeAccount& account = entered.account;
  entered.owed_in_groups = entered.lent_in_groups = 0;
  const auto position = [&] {
    return Wide{net(account.tenant)} * kMicroUnitsPerUnit + account.rest;
  };
  entered.lendable = account.spare;
  if (!entered.may_lend && account.spare > 0)
    entered.lendable = std::clamp<Wide>(-position(), 0, account.spare);
  entered.charged = account.borrowed;
  if (!entered.may_borrow && account.borrowed > 0)
    entered.charged = std::clamp<Wide>(position(), 0, account.borrowed);
}

void TimeAccounts::lend_in_groups(const LoanGroups& groups, const NetBeyond& beyond) {
  if (groups.size() == 0) return;
  std::vector<std::vector<Entered*>> members(groups.size());
  for (Entered& entered : entered_)
    for (auto group = groups.innermost(entered.account.tenant); group != LoanGroups::kNone;
         group = groups.around(group))
      members[group].push_back(&entered);
  for (LoanGroups::Number group = groups.size(); group-- > 0;) {
    lend_to_each_other(members[group]);
    bound_loans(members[group], groups.rights(group),
                [&](TenantId tenant) { return beyond(tenant, group); });
  }
}

void TimeAccounts::lend_to_each_other(const std::vector<Entered*>& members) {
  Wide charged = 0;
  Wide lendable = 0;
  for (const Entered* member : members) {
    charged += member->charged;
    lendable += member->lendable;
  }
  const Wide lent = std::min(charged, lendable);
  if (lent == 0) return;
  Parts borrowers(lent, charged);
  Parts lenders(lent, lendable);
  for (Entered* member : members) {
    const Wide owes = borrowers.next(member->charged);
    const Wide lends = lenders.next(member->lendable);
    member->charged -= owes;
    member->lendable -= lends;
    member->owed_in_groups += owes;
    member->lent_in_groups += lends;
  }
}

/// What pays back is not bounded: else who owes would have less for ever.
void TimeAccounts::bound_loans(const std::vector<Entered*>& members, const LoanRights& rights,
                               const NetOf& beyond) {
  std::vector<Wide> nets;
  Wide net = 0;
  MicroUnits part = 0;
  for (const Entered* member : members) {
    nets.push_back(Wide{beyond(member->account.tenant)} * kMicroUnitsPerUnit);
    net += nets.back();
    part += member->part;
  }
  const auto bound = [&](Wide Entered::*amount, bool may, const DebtCap& cap, int side) {
    const auto paid_back = [&](std::size_t i) {
      return std::clamp<Wide>(-side * nets[i], 0, members[i]->*amount);
    };
    Wide paid = 0;
    Wide more = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      paid += paid_back(i);
      more += members[i]->*amount - paid_back(i);
    }
    const Wide most = Wide{cap_of(cap, part)} * kMicroUnitsPerUnit;
    const Wide room = may ? std::max<Wide>(most - side * net - paid, 0) : 0;
    if (more <= room) return;
    Parts parts(room, more);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Wide paid_by_it = paid_back(i);
      members[i]->*amount = paid_by_it + parts.next(members[i]->*amount - paid_by_it);
    }
  };
  bound(&Entered::lendable, rights.may_lend, rights.caps.lend, 1);
  bound(&Entered::charged, rights.may_borrow, rights.caps.borrow, -1);
}

/// Of what was borrowed as much is lent as was spare, by each in proportion. What those lent that
/// may not, or borrowed that may not, is no loan. Whole unit-milliseconds are taken out of the
/// rests, and they are cut cumulatively, too.
std::vector<TimeLine> TimeAccounts::lay_out(const Sums& sums) {
  const Wide lent = std::min(sums.borrowed, sums.spare);
  const Wide loans =
      lent == 0 ? 0
                : share_of(share_of(lent, sums.lendable, sums.spare), sums.charged, sums.borrowed);
  Parts lenders(loans, std::max<Wide>(sums.lendable, 1));
  Parts borrowers(loans, std::max<Wide>(sums.charged, 1));
  std::vector<TimeLine> lines;
  lines.reserve(entered_.size());
  Wide sum = 0;
  Wide whole_before = 0;
  for (Entered& entered : entered_) {
    TimeAccount& account = entered.account;
    const Wide due = account.rest + entered.lent_in_groups - entered.owed_in_groups +
                     lenders.next(entered.lendable) - borrowers.next(entered.charged);
    sum += due;
    const Wide whole_after = floor_quotient(sum, kMicroUnitsPerUnit);
    const Wide whole = whole_after - whole_before;
    whole_before = whole_after;
    FAIRWATER_CHECK(whole < kUnlimited && -whole < kUnlimited, "a position fits its account");
    account.rest = static_cast<std::int64_t>(due - whole * kMicroUnitsPerUnit);
    if (account.held == 0 && account.part == 0 && whole == 0) continue;
    account.held_total += account.held;
    account.part_total += account.part;
    lines.push_back({.tenant = account.tenant,
                     .position = static_cast<Units>(whole),
                     .rest = account.rest,
                     .held = UnitTime::of(account.held),
                     .part = UnitTime::of(account.part)});
  }
  FAIRWATER_CHECK(sum == 0, "what is lent is what is borrowed");
  return lines;
}

std::optional<TimeSettlement> TimeAccounts::settle(const NetOf& net, const LoanGroups& groups,
                                                   const NetBeyond& beyond) {
  for (Entered& entered : entered_) {
    bring_up(entered);
    find_loans(entered, net);
  }
  lend_in_groups(groups, beyond);
  Sums stretch;
  for (const Entered& entered : entered_) stretch.add(entered);
  TimeSettlement settlement{.from_ms = settled_ms_, .until_ms = now_ms_};
  settled_ms_ = now_ms_;
  const bool is_lent = stretch.lent_in_groups > 0 || (stretch.charged > 0 && stretch.lendable > 0);
  if (is_lent) settlement.lines = lay_out(stretch);
  for (Entered& entered : entered_) {
    TimeAccount& account = entered.account;
    if (!is_lent) {
      entered.unlent.held += account.held;
      entered.unlent.part += account.part;
    }
    account.borrowed = account.spare = account.held = account.part = 0;
  }
  if (!is_lent) return std::nullopt;
  return settlement;
}

bool TimeAccounts::is_bounded(const NetOf& net) const {
  return std::any_of(entered_.begin(), entered_.end(), [&](const Entered& entered) {
    return (!entered.may_lend && net(entered.account.tenant) < 0) ||
           (!entered.may_borrow && net(entered.account.tenant) > 0);
  });
}

std::optional<std::string> TimeAccounts::apply(const TimeSettlement& settlement) {
  if (settlement.from_ms < settled_ms_ || settlement.until_ms < settlement.from_ms)
    return "a settlement from " + std::to_string(settlement.from_ms) + " to " +
           std::to_string(settlement.until_ms) + " ms does not follow on " +
           std::to_string(settled_ms_) + " ms";
  Wide positions = 0;
  for (const TimeLine& line : settlement.lines) {
    const auto place = place_of(line.tenant);
    if (place == entered_.end() || place->account.tenant != line.tenant)
      return "tenant " + std::to_string(line.tenant.value) + " does not exist";
    positions += line.position;
    TimeAccount& account = entered(line.tenant).account;
    account.rest = line.rest;
    account.held_total += line.held.micro();
    account.part_total += line.part.micro();
  }
  Wide rests = 0;
  for (const Entered& entered : entered_) rests += entered.account.rest;
  if (positions != 0 || rests != 0) return "what is lent is not what is borrowed";
  settled_ms_ = now_ms_ = settlement.until_ms;
  return std::nullopt;
}

// -- restoring and views --------------------------------------------------------------------------

void TimeAccounts::restore(const TimeSnapshot& snapshot) {
  FAIRWATER_CHECK(now_ms_ == 0, "time accounts are restored before time passes");
  FAIRWATER_CHECK(
      snapshot.decayed_ms <= snapshot.settled_ms && snapshot.settled_ms <= snapshot.now_ms,
      "what is settled is past");
  resource_ = snapshot.resource;
  now_ms_ = snapshot.now_ms;
  settled_ms_ = snapshot.settled_ms;
  decayed_ms_ = snapshot.decayed_ms;
  Wide rests = 0;
  for (Entered& entered : entered_) entered.since_ms = now_ms_;
  for (const TimeAccount& account : snapshot.accounts) {
    entered(account.tenant).account = account;
    rests += account.rest;
  }
  FAIRWATER_CHECK(rests == 0, "rests sum to zero");
}

TimeAccounts::Integrals TimeAccounts::integrals(TenantId tenant) const {
  Entered copy = entered(tenant);
  bring_up(copy);
  return {copy.account.held_total + copy.account.held + copy.unlent.held,
          copy.account.part_total + copy.account.part + copy.unlent.part};
}

TimeAccount TimeAccounts::account(TenantId tenant) const {
  Entered copy = entered(tenant);
  bring_up(copy);
  return copy.account;
}

TimeSnapshot TimeAccounts::snapshot() const {
  TimeSnapshot snapshot{.resource = resource_,
                        .now_ms = now_ms_,
                        .settled_ms = settled_ms_,
                        .decayed_ms = decayed_ms_,
                        .accounts = {}};
  for (const Entered& entered : entered_)
    snapshot.accounts.push_back(account(entered.account.tenant));
  return snapshot;
}

}  // namespace fairwater::inline policy::inline ledger
