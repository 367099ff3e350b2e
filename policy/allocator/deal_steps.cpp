#include "policy/allocator/deal_steps.hpp"

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

// Below this many slots a walk from slot to slot is cheaper than counting a window.
constexpr Units kFewSlots = 128;

}  // namespace

Units closing_balance(const TenantBalance& balance) {
  return balance.deficit_before + balance.granted - balance.passed_on + balance.passed_to +
         balance.received - balance.paid - balance.rolled_back - balance.placed;
}

std::vector<Sequence::Count> deal_slots(Sequence& sequence, Units units) {
  FAIRWATER_CHECK(units >= 0 && units <= kMaxDealUnits,
                  "a deal's slots are within the sequence's window");
  if (units > kFewSlots) return sequence.advance(static_cast<std::uint64_t>(units));
  std::vector<Sequence::Member> owners;
  owners.reserve(static_cast<std::size_t>(units));
  for (Units slot = 0; slot < units; ++slot) owners.push_back(sequence.next());
  std::sort(owners.begin(), owners.end());
  std::vector<Sequence::Count> counts;
  for (const Sequence::Member owner : owners) {
    if (counts.empty() || counts.back().member != owner) counts.push_back({owner, 0});
    ++counts.back().slots;
  }
  return counts;
}

RepaymentBudget repayment_budget(Units fell, std::uint32_t repay_millionths, bool can_run,
                                 std::uint32_t remainder_millionths) {
  if (!can_run) return {fell, remainder_millionths};
  const Wide exact = Wide{fell} * repay_millionths + remainder_millionths;
  return {static_cast<Units>(exact / 1'000'000), static_cast<std::uint32_t>(exact % 1'000'000)};
}

std::vector<Repayment> settle(const IouBook& book, TenantId debtor, Units budget,
                              std::span<const TenantId> creditors) {
  std::vector<Repayment> repayments;
  if (budget <= 0 || book.net(debtor.value) >= 0) return repayments;
  for (const TenantId creditor : creditors)
    if (const Units owed = book.owed(debtor.value, creditor.value); owed > 0)
      repayments.push_back({debtor, creditor, owed});
  std::stable_sort(repayments.begin(), repayments.end(),
                   [](const Repayment& a, const Repayment& b) { return a.units > b.units; });
  for (Repayment& repayment : repayments) {
    repayment.units = std::min(repayment.units, budget);
    budget -= repayment.units;
  }
  std::erase_if(repayments, [](const Repayment& repayment) { return repayment.units == 0; });
  return repayments;
}

std::vector<Units> pour(Units units, std::span<const Vessel> vessels, WaterFiller& filler) {
  std::vector<QuotaGroup> groups;
  groups.reserve(vessels.size());
  for (const Vessel& vessel : vessels)
    groups.push_back(
        {.weight = vessel.weight, .min = 0, .max = kUnlimited, .request = vessel.room});
  return filler.fill(units, groups).runtime;
}

std::vector<Units> pool_changes(std::span<const PoolMember> members, WaterFiller& filler) {
  std::vector<Units> changes(members.size(), 0);
  std::vector<Vessel> vessels;
  std::vector<std::size_t> takers;
  Units pool = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Units missing = members[i].demand - members[i].allowance;
    if (missing < 0) {
      changes[i] = missing;
      pool -= missing;
    } else if (missing > 0 && members[i].takes) {
      takers.push_back(i);
      vessels.push_back({members[i].weight, missing});
    }
  }
  if (pool == 0 || takers.empty()) return changes;
  const std::vector<Units> poured = pour(pool, vessels, filler);
  for (std::size_t k = 0; k < takers.size(); ++k) changes[takers[k]] = poured[k];
  return changes;
}

}  // namespace fairwater::inline policy::inline allocator
