#include "policy/allocator/deal_progress.hpp"

#include "policy/allocator/deal_steps.hpp"

namespace fairwater::inline policy::inline allocator {

void DealProgress::begin(NodeRoom& of_node) {
  node = &of_node;
  tasks.begin(of_node);
  claimants.begin(state.slots(), state.settings.accounting);
  dealt = placed = 0;
  deficit_limit = 1;
  grants.clear();
}

void DealProgress::draw(Units units) {
  for (const Sequence::Count& count : deal_slots(state.sequence, units))
    claimants.post(claimants.of(state.tenant(TenantId{count.member})), EntryReason::granted,
                   static_cast<Units>(count.slots));
  dealt += units;
  claimants.sort();
}

void DealProgress::undo_draws() {
  if (dealt == 0) return;
  state.sequence.rollback(static_cast<std::uint64_t>(dealt));
  dealt = 0;
  claimants.strike_entries();
}

}  // namespace fairwater::inline policy::inline allocator
