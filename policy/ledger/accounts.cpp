#include "policy/ledger/accounts.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline ledger {
namespace {

/// The part of a deficit that can make up for one of `units` on the other side.
Units opposite_part(Units units, Units deficit) {
  return units > 0 ? std::max(-units, std::min<Units>(deficit, 0))
                   : std::min(-units, std::max<Units>(deficit, 0));
}

}  // namespace

// -- tenants and nodes
// -----------------------------------------------------------------------------

std::string Accounts::name(TenantId tenant) { return "tenant " + std::to_string(tenant.value); }

Accounts::Entered* Accounts::find(TenantId tenant) {
  const std::uint32_t slot = slot_of_.find(tenant.value);
  return slot == SlotIndex::kNone ? nullptr : &entered_[slot];
}

Accounts::Entered& Accounts::entered(TenantId tenant) {
  Entered* found = find(tenant);
  FAIRWATER_CHECK(found != nullptr, "the tenant has an account");
  return *found;
}

const Account& Accounts::account(TenantId tenant) const {
  return const_cast<Accounts*>(this)->entered(tenant).account;
}

void Accounts::join(TenantId tenant, Weight weight) {
  FAIRWATER_CHECK(!has(tenant) && weight > 0, "a tenant joins once, with a weight");
  auto slot = static_cast<std::uint32_t>(entered_.size());
  if (free_slots_.empty()) {
    entered_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slot_of_.set(tenant.value, slot);
  entered_[slot] = {.account = {.tenant = tenant}, .weight = weight};
  period_ += weight;
  time_.join(tenant);
}

void Accounts::reweigh(TenantId tenant, Weight weight) {
  FAIRWATER_CHECK(weight > 0, "a tenant has a weight");
  Entered& changed = entered(tenant);
  period_ += weight - std::exchange(changed.weight, weight);
}

/// Heavier first, then by id, as in the sequence.
std::vector<std::uint32_t> Accounts::ranked_slots() const {
  std::vector<std::uint32_t> slots;
  for (std::uint32_t slot = 0; slot < entered_.size(); ++slot)
    if (entered_[slot].account.tenant) slots.push_back(slot);
  std::sort(slots.begin(), slots.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Entered& left = entered_[a];
    const Entered& right = entered_[b];
    return left.weight != right.weight ? left.weight > right.weight
                                       : left.account.tenant < right.account.tenant;
  });
  return slots;
}

Units Accounts::leave(TenantId tenant) {
  return leave(tenant, [](TenantId) { return true; });
}

void Accounts::follow_tree(std::span<const Member> members, std::span<const Division> divided) {
  for (const auto& [tenant, weight] : members) {
    if (has(tenant))
      reweigh(tenant, weight);
    else
      join(tenant, weight);
  }
  for (const Division& division : divided) {
    const std::set<TenantId> heirs(division.heirs.begin(), division.heirs.end());
    (void)leave(division.tenant, [&](TenantId other) { return heirs.contains(other); });
  }
  FAIRWATER_CHECK(entered_.size() - free_slots_.size() == members.size(),
                  "who is neither in the tree nor divided has left before");
}

template <class IsHeir>
Units Accounts::leave(TenantId tenant, IsHeir&& is_heir) {
  FAIRWATER_CHECK(book_.net(tenant.value) >= 0, "a tenant that leaves owes nothing");
  const std::uint32_t leaving_slot = slot_of_.find(tenant.value);
  Entered& leaver = entered(tenant);
  Units left = leaver.account.deficit;
  Units forgiven = std::abs(left);
  change_deficit(leaver, -left);
  std::vector<IouBook::MemberWeight> others;
  for (const std::uint32_t slot : ranked_slots()) {
    if (slot == leaving_slot) continue;
    Entered& other = entered_[slot];
    if (is_heir(other.account.tenant)) others.push_back({other.account.tenant.value, other.weight});
    const Units part = opposite_part(left, other.account.deficit);
    if (part == 0) continue;
    change_deficit(other, -part);
    left += part;
  }
  FAIRWATER_CHECK(left == 0, "deficits sum to zero");
  forgiven += book_.leave(tenant.value, others);
  spread_credit(leaver, others);
  for (auto kept = reservations_.begin(); kept != reservations_.end();) {
    const auto at = kept++;
    if (at->second.tenant == tenant) change_reservation(NodeId(at->first), std::nullopt);
  }
  if (const auto heir = time_.leave(tenant)) changes_.tenants.push_back(*heir);
  period_ -= leaver.weight;
  leaver = {};
  slot_of_.erase(tenant.value);
  free_slots_.push_back(leaving_slot);
  return forgiven;
}

Accounts::Refusal Accounts::move_to(std::uint64_t position) {
  if (position != 0 && position >= static_cast<std::uint64_t>(period_))
    return "position " + std::to_string(position) + " is not within the sequence's period of " +
           std::to_string(period_);
  position_ = position;
  return std::nullopt;
}

void Accounts::change_deficit(Entered& entered, Units by) {
  if (by == 0) return;
  entered.account.deficit += by;
  changes_.tenants.push_back(entered.account.tenant);
}

void Accounts::change_reservation(NodeId node, const std::optional<Reservation>& reservation) {
  const auto found = reservations_.find(node);
  if (found == reservations_.end() ? !reservation : found->second == reservation) return;
  if (reservation)
    reservations_[node] = *reservation;
  else
    reservations_.erase(found);
  changes_.nodes.push_back(node);
}

// -- deals
// -----------------------------------------------------------------------------------------

Accounts::Refusal Accounts::apply(const Transaction& transaction) {
  if (transaction.position_before != position_)
    return "a deal begins at position " + std::to_string(transaction.position_before) +
           " of the sequence, which is at " + std::to_string(position_);
  for (const Statement& statement : transaction.statements) {
    Entered* at = find(statement.tenant);
    if (at == nullptr) return name(statement.tenant) + " does not exist";
    if (at->account.deficit != statement.opening)
      return name(statement.tenant) + " has a deficit of " + std::to_string(at->account.deficit) +
             " units, not " + std::to_string(statement.opening);
    at->takes_part = true;
  }
  if (Refusal refusal = post(transaction)) return refusal;
  if (Refusal refusal = close(transaction)) return refusal;
  if (transaction.reservation && !has(transaction.reservation->tenant))
    return name(transaction.reservation->tenant) + ", for which room is kept, does not exist";
  change_reservation(transaction.node, transaction.reservation);
  return move_to(transaction.position_after);
}

Accounts::Refusal Accounts::post(const Transaction& transaction) {
  Units sum = 0;
  for (const Entry& entry : transaction.entries) {
    if (Refusal refusal = move(entry.tenant, entry.units)) return refusal;
    sum += entry.units;
  }
  if (sum != 0) return "the entries sum to " + std::to_string(sum) + " units instead of none";
  for (const Repayment& repayment : transaction.repayments) {
    const auto [debtor, creditor, units] = repayment;
    if (units <= 0 || !book_.repay(debtor.value, creditor.value, units))
      return name(debtor) + " repays more than it owes " + name(creditor);
    if (Refusal refusal = move(debtor, -units)) return refusal;
    if (Refusal refusal = move(creditor, units)) return refusal;
  }
  for (const Loan& loan : transaction.loans) {
    const auto [lender, borrower, units] = loan;
    if (units <= 0 || lender == borrower)
      return name(lender) + " lends " + std::to_string(units) + " units to " + name(borrower);
    if (Refusal refusal = move(lender, -units)) return refusal;
    if (Refusal refusal = move(borrower, units)) return refusal;
    book_.lend(lender.value, borrower.value, units);
  }
  return std::nullopt;
}

Accounts::Refusal Accounts::move(TenantId tenant, Units units) {
  Entered* at = find(tenant);
  if (at == nullptr || !at->takes_part) return name(tenant) + " takes part without a line";
  at->moved += units;
  return std::nullopt;
}

Accounts::Refusal Accounts::close(const Transaction& transaction) {
  for (const Statement& statement : transaction.statements) {
    Entered& at = entered(statement.tenant);
    at.takes_part = false;
    const Units moved = std::exchange(at.moved, 0);
    if (statement.opening + moved != statement.closing)
      return "the account of " + name(statement.tenant) + " closes with " +
             std::to_string(statement.closing) + " units instead of " +
             std::to_string(statement.opening + moved);
    if (at.account.repay_remainder_millionths != statement.repay_remainder_millionths) {
      at.account.repay_remainder_millionths = statement.repay_remainder_millionths;
      if (moved == 0) changes_.tenants.push_back(statement.tenant);
    }
    change_deficit(at, moved);
  }
  return std::nullopt;
}

std::vector<Accounts::Returned> Accounts::take_back(TenantId borrower,
                                                    const std::vector<Advance>& advances) {
  std::vector<Returned> returned;
  for (const Advance& advance : advances) {
    if (!has(advance.lender)) continue;
    FAIRWATER_CHECK(advance.units > 0 && advance.lender != borrower,
                    "an advance is positive, and another's");
    Entered& from = entered(borrower);
    Entered& to = entered(advance.lender);
    const Units both_hold =
        std::min(std::max<Units>(0, -from.account.deficit), std::max<Units>(0, to.account.deficit));
    const Units settled = std::min(advance.units, both_hold);
    const Units loan = advance.units - settled;
    change_deficit(from, settled);
    change_deficit(to, -settled);
    if (loan > 0) book_.lend(borrower.value, advance.lender.value, loan);
    returned.push_back({advance.lender, loan});
  }
  return returned;
}

// -- restoring
// -------------------------------------------------------------------------------------

void Accounts::restore(const AccountsSnapshot& snapshot) {
  FAIRWATER_CHECK(book_.empty() && reservations_.empty(), "accounts are restored once");
  Units sum = 0;
  Wide credits = 0;
  for (const Account& account : snapshot.tenants) {
    FAIRWATER_CHECK(account.repay_remainder_millionths < 1'000'000, "less than a unit is left");
    entered(account.tenant).account = account;
    sum += account.deficit;
    credits += account.credit;
    changes_.tenants.push_back(account.tenant);
  }
  FAIRWATER_CHECK(sum == 0, "deficits sum to zero");
  FAIRWATER_CHECK(credits == 0, "credits sum to zero");
  for (const IouBook::Iou& iou : snapshot.ious) book_.restore(iou);
  book_.restore_last_age(snapshot.last_iou_age);
  for (const auto& [node, reservation] : snapshot.reservations) {
    FAIRWATER_CHECK(has(reservation.tenant), "room is kept for a tenant that is there");
    change_reservation(node, reservation);
  }
  time_.restore(snapshot.time);
  const Refusal refusal = move_to(snapshot.position);
  FAIRWATER_CHECK(!refusal, "the position is within the sequence's period");
}

AccountsSnapshot Accounts::snapshot() const {
  AccountsSnapshot snapshot;
  snapshot.position = position_;
  for (const Entered& entered : entered_)
    if (entered.account.tenant) snapshot.tenants.push_back(entered.account);
  std::sort(snapshot.tenants.begin(), snapshot.tenants.end(),
            [](const Account& a, const Account& b) { return a.tenant < b.tenant; });
  snapshot.ious = book_.ious();
  snapshot.last_iou_age = book_.last_age();
  snapshot.reservations = reservations_;
  if (time_.now_ms() > 0) snapshot.time = time_.snapshot();
  return snapshot;
}

// -- views
// -----------------------------------------------------------------------------------------

const Reservation* Accounts::reservation(NodeId node) const {
  const auto found = reservations_.find(node);
  return found == reservations_.end() ? nullptr : &found->second;
}

void Accounts::forget_changes() {
  changes_.tenants.clear();
  changes_.nodes.clear();
  book_.forget_changes();
}

const Accounts::Changes& Accounts::take_changes() {
  taken_.tenants.swap(changes_.tenants);
  taken_.nodes.swap(changes_.nodes);
  changes_.tenants.clear();
  changes_.nodes.clear();
  taken_.ious = book_.take_changes();
  return taken_;
}

}  // namespace fairwater::inline policy::inline ledger
