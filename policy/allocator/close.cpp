// The closing of a deal: rollback, carries and IOUs, and what the state keeps of it.

#include <algorithm>

#include "policy/allocator/node_deal.hpp"
#include "policy/core/check.hpp"

namespace fairwater {

void NodeDeal::undo_units() {
  if (dealt_ > 0) state_.sequence.rollback(static_cast<std::uint64_t>(dealt_));
  dealt_ = 0;
}

void NodeDeal::roll_back() {
  if (placed_ == 0) {
    // Only guarantees were placed: as if no unit had been dealt.
    undo_units();
    deal_.repayments.clear();
    passed_to_.clear();
    for (Part& part : parts_) {
      TenantBalance& line = part.line;
      line.granted = line.passed_on = line.passed_to = line.paid = line.received = 0;
      line.pooled = line.allowance = 0;
    }
    return;
  }
  deal_.unused = dealt_ - placed_;
  if (deal_.unused == 0) return;
  Units passed_back = 0;
  for (const Sequence::Count& count :
       state_.sequence.rollback(static_cast<std::uint64_t>(deal_.unused))) {
    TenantBalance& line = parts_[part_of(state_.tenant(TenantId{count.member}))].line;
    line.rolled_back = static_cast<Units>(count.slots);
    const Units back = std::min(line.rolled_back, line.passed_on);
    line.passed_on -= back;
    passed_back += back;
  }
  if (passed_back > 0) share_passed_on();
}

void NodeDeal::close() {
  if (placed_ > 0)
    for (const RankKey& key : state_.idle_carriers()) part_of(state_.at(key.slot));
  const std::vector<Position> positions = positions_to_settle();
  sort_by_rank();
  record_loans(positions);
}

/// The parts of balances that become IOUs: what must (everything of a tenant that waits for
/// nothing, and what exceeds the carry limit), and as much from the other side as that needs: first
/// from those who hold their share, then from the rest, then from carries that this deal did not
/// touch. In ranked order.
std::vector<Position> NodeDeal::positions_to_settle() {
  Units sum = 0;
  for (Part& part : parts_) {
    const Units balance = closing_balance(part.line);
    part.line.carry =
        part.tenant->waits() ? std::clamp(balance, -carry_limit_, carry_limit_) : Units{0};
    part.settled = balance - part.line.carry;
    sum += part.settled;
  }
  const auto on_other_side = [&](Units carry) {
    return sum > 0 ? carry < 0 : sum < 0 && carry > 0;
  };
  const auto top_up = [&](Part& part) {
    const Units units = sum > 0 ? std::max(-sum, std::min<Units>(part.line.carry, 0))
                                : std::min(-sum, std::max<Units>(part.line.carry, 0));
    part.settled += units;
    part.line.carry -= units;
    sum += units;
  };
  sort_by_rank();
  for (const bool holding : {true, false})
    for (const Index index : order_)
      if (on_other_side(parts_[index].line.carry) && holds_its_share(parts_[index]) == holding)
        top_up(parts_[index]);
  for (auto key = state_.carriers().begin(); sum != 0 && key != state_.carriers().end(); ++key) {
    if (part_at_[key->slot] >= 0 || !on_other_side(state_.at(key->slot).carry)) continue;
    Part& part = parts_[add_part(state_.at(key->slot))];
    part.line.carry = part.line.carried;
    top_up(part);
  }
  FAIRWATER_CHECK(sum == 0, "the balances of a deal and the carries outside it sum to zero");
  std::vector<Position> positions;
  sort_by_rank();
  for (const Index index : order_)
    if (parts_[index].settled != 0)
      positions.push_back({parts_[index].tenant->id, parts_[index].settled});
  return positions;
}

bool NodeDeal::holds_its_share(Part& part) {
  const std::vector<WindowRange>& window = part.tenant->window;
  const auto next = std::find_if(window.begin(), window.end(),
                                 [](const WindowRange& entry) { return entry.range.count > 0; });
  return next != window.end() && !is_owed(part) && standing(part, *next) != Standing::within;
}

bool NodeDeal::makes_iou(Part& lender, Part& borrower) {
  if (!lender.tenant->terms.may_lend || !borrower.tenant->terms.may_borrow) return false;
  const bool borrower_is_busy = borrower.tenant->waits() && !borrower.backfilled;
  return !(borrower_is_busy && holds_its_share(lender));
}

void NodeDeal::record_loans(const std::vector<Position>& positions) {
  for (const Loan& loan : match_loans(positions)) {
    Part& lender = parts_[part_of(state_.tenant(loan.lender))];
    Part& borrower = parts_[part_of(state_.tenant(loan.borrower))];
    if (makes_iou(lender, borrower)) {
      deal_.loans.push_back(loan);
    } else {
      lender.line.passed_on += loan.units;
      borrower.line.passed_to += loan.units;
    }
  }
}

bool NodeDeal::touched(const Part& part) const {
  const TenantBalance& line = part.line;
  return line.granted != 0 || line.placed != 0 || line.guaranteed != 0 || line.received != 0 ||
         line.passed_to != 0 || line.passed_on != 0 || line.carried != line.carry;
}

Deal NodeDeal::commit() {
  state_.record(deal_.repayments, deal_.loans);
  Units carried = 0;
  Units carry = 0;
  for (const Index index : order_) {
    Part& part = parts_[index];
    carried += part.line.carried;
    carry += part.line.carry;
    const bool granted = part.line.placed > 0 || part.line.guaranteed > 0;
    if (granted)
      std::erase_if(part.tenant->window,
                    [](const WindowRange& entry) { return entry.range.count == 0; });
    if (placed_ > 0) part.tenant->repay_remainder_millionths = part.repay_remainder_millionths;
    if (part.line.carry != part.tenant->carry) state_.set_carry(*part.tenant, part.line.carry);
    if (granted) {
      state_.refresh_lists(*part.tenant);
      state_.refresh_request(*part.tenant);  // moves only where `pending` was told too low
    }
    if (!touched(part)) continue;
    TenantLine& line = deal_.lines.emplace_back();
    static_cast<TenantBalance&>(line) = part.line;
    line.tenant = part.tenant->id;
    line.quota = state_.quotas().quota(*part.tenant);
    line.used = part.tenant->used;
    part.line_at = static_cast<Index>(deal_.lines.size() - 1);
  }
  // A line says what was held before the deal.
  for (const Grant& grant : deal_.grants)
    deal_.lines[parts_[part_of(state_.tenant(grant.tenant))].line_at].used -= grant.demand;
  FAIRWATER_CHECK(carry == carried, "a deal moves carries between tenants and makes none");
  deal_.free_units = dealt_;
  deal_.position_after = state_.sequence.position();
  ++state_.deals;
  return std::move(deal_);
}

}  // namespace fairwater
