#include "policy/allocator/deal_progress.hpp"

#include <algorithm>

#include "policy/allocator/deal_steps.hpp"
#include "policy/allocator/run_out.hpp"

namespace fairwater::inline policy::inline allocator {

void DealProgress::begin(NodeRoom& of_node) {
  node = &of_node;
  tasks.begin(of_node);
  claimants.begin(state.slots(), state.settings.accounting);
  looks_at_few = false;
  with_allowance.reset();
  dealt = placed = 0;
  deficit_limit = 1;
  grants.clear();
  run_out.clear();
}

bool DealProgress::awaits_window() {
  return std::any_of(run_out.begin(), run_out.end(), [&](std::uint32_t slot) {
    return has_more_to_come(state, state.at(slot), tasks.marks());
  });
}

void DealProgress::draw(Units units) {
  for (const Sequence::Count& count : deal_slots(state.sequence, units))
    claimants.post(claimants.of(state.tenant(TenantId{count.member})), EntryReason::granted,
                   static_cast<Units>(count.slots));
  dealt += units;
  note_work();
  claimants.sort();
}

void DealProgress::give_work(Claimant& claimant) {
  claimant.has_work = true;
  const TenantState& tenant = *claimant.tenant;
  claimant.cursor =
      tasks.first_that_fits(tenant).value_or(static_cast<std::uint32_t>(tenant.window.size()));
  claimant.next =
      claimant.cursor < tenant.window.size() ? &tenant.window[claimant.cursor] : nullptr;
}

void DealProgress::note_work() {
  if (!looks_at_few) return;
  for (Claimant& claimant : claimants.added_since_sort())
    if (!claimant.has_work && state.contenders_of_deal().has_work(claimant.tenant->rank.slot))
      give_work(claimant);
}

ClaimantIndex DealProgress::take_in(TenantState& tenant) {
  const ClaimantIndex index = claimants.add(tenant);
  give_work(claimants[index]);
  return index;
}

void DealProgress::take_all_in() {
  if (!looks_at_few) return;
  const Contenders& contenders = state.contenders_of_deal();
  for (const auto& [demands, number] : contenders.classes()) {
    const Contenders::Class& of = contenders.at(number);
    if (!of.has_work) continue;
    for (const std::uint32_t slot : of.members)
      if (!claimants.find(slot)) (void)take_in(state.at(slot));
  }
  claimants.sort();
  looks_at_few = false;
}

bool DealProgress::has_work(std::uint32_t slot) const {
  const auto index = claimants.find(slot);
  return index ? claimants[*index].has_work : state.contenders_of_deal().has_work(slot);
}

void DealProgress::undo_draws() {
  if (dealt == 0) return;
  state.sequence.rollback(static_cast<std::uint64_t>(dealt));
  dealt = 0;
  with_allowance.reset();
  claimants.strike_entries();
}

}  // namespace fairwater::inline policy::inline allocator
