#include "policy/allocator/settle.hpp"

#include <algorithm>
#include <utility>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

bool is_touched(const TenantBalance& balance) {
  return balance.granted != 0 || balance.placed != 0 || balance.guaranteed != 0 ||
         balance.received != 0 || balance.passed_to != 0 || balance.passed_on != 0 ||
         balance.deficit_before != balance.deficit_after;
}

bool is_on_other_side(Units sum, Units kept) { return sum > 0 ? kept < 0 : sum < 0 && kept > 0; }

}  // namespace

void SettleStage::run(Entitlement& entitlement, Deal& deal) {
  roll_back(entitlement, deal);
  if (deal_.placed > 0)
    for (const RankKey& key : deal_.state.idle_unsettled())
      deal_.claimants.of(deal_.state.at(key.slot));
  record_loans(positions_to_settle(), deal);
  FAIRWATER_CHECK(deal_.claimants.sum_of_entries() == 0, "the entries of a deal sum to zero");
  deal.repayments = std::move(entitlement.repayments);
  deal.free_units = deal_.dealt;
  write_lines(deal);
  deal.grants = std::move(deal_.grants);
}

void SettleStage::roll_back(const Entitlement& entitlement, Deal& deal) {
  deal.unused = deal_.dealt - deal_.placed;
  if (deal.unused == 0) return;
  Claimants& claimants = deal_.claimants;
  Units passed_back = 0;
  for (const Sequence::Count& count :
       deal_.state.sequence.rollback(static_cast<std::uint64_t>(deal.unused))) {
    const auto slots = static_cast<Units>(count.slots);
    const ClaimantIndex index = claimants.of(deal_.state.tenant(TenantId{count.member}));
    claimants.post(index, EntryReason::rolled_back, -slots);
    const Units back = std::min(slots, -claimants[index].sum_of(EntryReason::passed_on));
    claimants.post(index, EntryReason::passed_on, back);
    passed_back += back;
  }
  if (passed_back > 0) entitle_.share_passed_on(entitlement);
}

/// The parts of credits that become IOUs: what must (everything of a tenant that waits for nothing,
/// and what exceeds the limit of deficits), and as much from the other side as that needs. In
/// ranked order.
std::vector<Position> SettleStage::positions_to_settle() {
  splits_.resize(deal_.claimants.all().size());
  for (std::size_t i = 0; i < splits_.size(); ++i) {
    const Claimant& claimant = deal_.claimants.all()[i];
    const Units kept = claimant.tenant->waits()
                           ? std::clamp(claimant.credit, -deal_.deficit_limit, deal_.deficit_limit)
                           : Units{0};
    splits_[i] = {.kept = kept, .settled = claimant.credit - kept};
  }
  deal_.claimants.sort();
  split();
  deal_.claimants.sort();
  std::vector<Position> positions;
  for (const ClaimantIndex index : deal_.claimants.ranked())
    if (splits_[index].settled != 0)
      positions.push_back({deal_.claimants[index].tenant->id, splits_[index].settled});
  return positions;
}

/// As much of what is kept as makes the sum zero is settled, too.
void SettleStage::move(Split& split, Units& sum) {
  const Units units = sum > 0 ? std::max(-sum, std::min<Units>(split.kept, 0))
                              : std::min(-sum, std::max<Units>(split.kept, 0));
  split.settled += units;
  split.kept -= units;
  sum += units;
}

bool SettleStage::could_take_part(std::uint32_t slot) {
  return !deal_.claimants.find(slot) && deal_.state.contenders_of_deal().has_work(slot);
}

/// Both in ranked order.
void SettleStage::top_up(Units& sum, bool holding) {
  Claimants& claimants = deal_.claimants;
  AllocatorState& state = deal_.state;
  const std::set<RankKey>& unsettled = state.unsettled(sum < 0);
  auto other = state.looks_at_few(*deal_.node) ? unsettled.begin() : unsettled.end();
  std::size_t at = 0;
  for (const std::size_t ranked = claimants.ranked().size(); sum != 0;) {
    while (other != unsettled.end() && !could_take_part(other->slot)) ++other;
    const bool has_claimant = at < ranked;
    if (!has_claimant && other == unsettled.end()) return;
    const ClaimantIndex index = has_claimant ? claimants.ranked()[at] : 0;
    if (has_claimant && (other == unsettled.end() || claimants[index].tenant->rank < *other)) {
      ++at;
      if (is_on_other_side(sum, splits_[index].kept) &&
          holds_its_share(claimants[index]) == holding)
        move(splits_[index], sum);
      continue;
    }
    TenantState& tenant = state.at((other++)->slot);
    const bool is_owed = !state.counts_time() && tenant.net > 0;
    if ((!is_owed && is_beyond_its_share(tenant)) != holding) continue;
    claimants.add(tenant);
    move(splits_.emplace_back(Split{.kept = tenant.deficit}), sum);
  }
}

/// Makes what is settled sum to zero: first out of the deficits of those who hold their share, then
/// of the rest, then out of deficits that this deal did not touch.
void SettleStage::split() {
  Claimants& claimants = deal_.claimants;
  Units sum = 0;
  for (const Split& split : splits_) sum += split.settled;
  for (const bool holding : {true, false}) top_up(sum, holding);
  const std::set<RankKey>& unsettled = deal_.state.unsettled(sum < 0);
  for (auto key = unsettled.begin(); sum != 0 && key != unsettled.end(); ++key) {
    if (claimants.find(key->slot)) continue;
    TenantState& tenant = deal_.state.at(key->slot);
    claimants.add(tenant);
    move(splits_.emplace_back(Split{.kept = tenant.deficit}), sum);
  }
  FAIRWATER_CHECK(sum == 0, "the credits of a deal and the deficits outside it sum to zero");
}

bool SettleStage::holds_its_share(const Claimant& claimant) {
  return !claimant.is_owed() && is_beyond_its_share(*claimant.tenant);
}

bool SettleStage::is_beyond_its_share(TenantState& tenant) {
  const std::vector<WindowRange>& window = tenant.window;
  const auto next = std::find_if(window.begin(), window.end(),
                                 [](const WindowRange& entry) { return entry.range.count > 0; });
  return next != window.end() &&
         deal_.tasks.standing(tenant, *next) != TaskFinder::Standing::within;
}

bool SettleStage::makes_iou(const Claimant& lender, const Claimant& borrower) {
  if (deal_.state.counts_time()) return false;
  if (!lender.tenant->terms.lends() || !borrower.tenant->terms.borrows()) return false;
  if (deal_.state.quotas().keeps_apart(*lender.tenant, *borrower.tenant)) return false;
  const bool borrower_is_busy = borrower.tenant->waits() && !borrower.backfilled;
  return !(borrower_is_busy && holds_its_share(lender));
}

void SettleStage::record_loans(const std::vector<Position>& positions, Deal& deal) {
  Claimants& claimants = deal_.claimants;
  for (const Loan& loan : match_loans(positions, deal_.state.loan_groups())) {
    const ClaimantIndex lender = claimants.of(deal_.state.tenant(loan.lender));
    const ClaimantIndex borrower = claimants.of(deal_.state.tenant(loan.borrower));
    const bool is_loan = makes_iou(claimants[lender], claimants[borrower]);
    claimants.post(lender, is_loan ? EntryReason::lent : EntryReason::passed_on, -loan.units);
    claimants.post(borrower, is_loan ? EntryReason::borrowed : EntryReason::passed_to, loan.units);
    if (is_loan) deal.loans.push_back(loan);
  }
}

void SettleStage::write_lines(Deal& deal) {
  Claimants& claimants = deal_.claimants;
  AllocatorState& state = deal_.state;
  for (const ClaimantIndex index : claimants.ranked()) {
    Claimant& claimant = claimants[index];
    TenantState& tenant = *claimant.tenant;
    // It had one like all others of its class, and did not need it.
    if (deal_.with_allowance && index >= *deal_.with_allowance &&
        state.contenders_of_deal().has_work(tenant.rank.slot))
      claimant.allowance = std::max<Units>(0, claimant.opening);
    FAIRWATER_CHECK(claimant.credit == splits_[index].kept, "an account closes as it was split");
    if (!claimant.has_entries && claimant.guaranteed == 0) continue;
    const TenantBalance balance = balance_of(claimant);
    if (balance.placed > 0 || balance.guaranteed > 0) state.forget_granted(tenant);
    if (!is_touched(balance)) continue;
    splits_[index].line = deal.lines.size();
    TenantLine& line = deal.lines.emplace_back();
    static_cast<TenantBalance&>(line) = balance;
    line.tenant = tenant.id;
    line.quota = state.quotas().quota(tenant);
    line.used = tenant.used;
    line.repay_remainder_millionths = claimant.repay_remainder_millionths;
  }
  // A line says what was held before the deal.
  for (const Grant& grant : deal_.grants)
    deal.lines[splits_[claimants.of(state.tenant(grant.tenant))].line].used -= grant.demand;
}

}  // namespace fairwater::inline policy::inline allocator
