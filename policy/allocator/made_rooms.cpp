#include "policy/allocator/made_rooms.hpp"

#include <algorithm>
#include <utility>

#include "policy/allocator/group_lacks.hpp"
#include "policy/allocator/group_sums.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// What its groups' maxes keep from starting now will start once what is ending has ended.
bool is_coming_below_max(const AllocatorState& state, const TenantState& tenant,
                         const WindowRange& entry) {
  ResourceVector asked;
  bool is_full = false;
  for (const std::size_t r : entry.asks) {
    asked[r] = entry.asked_at_once(r);
    is_full = is_full || state.quotas().full_group(tenant, r, asked[r]);
  }
  return is_full && GroupLacks(state, GroupSums(state), tenant, asked).are_covered();
}

/// Its share may have shrunk since the room was made.
bool is_beyond_share(DealProgress& deal, TenantState& tenant, const WindowRange& entry) {
  const bool may_hold_more = deal.state.counts_time() && tenant.takes_what_is_left();
  return !may_hold_more && deal.tasks.standing(tenant, entry) == TaskFinder::Standing::at_quota;
}

/// Returns for how many tasks it is kept from now on.
std::uint32_t start_in(DealProgress& deal, const MadeRoom& room, const StartInMadeRoom& start) {
  AllocatorState& state = deal.state;
  TenantState& tenant = state.tenant(room.tenant);
  const bool is_coming =
      deal.node->ending_tasks > 0 || state.made_room_is_coming(room.tenant, room.job);
  for (std::uint32_t tasks = room.tasks; tasks > 0; --tasks) {
    const auto next =
        std::find_if(tenant.window.begin(), tenant.window.end(), [&](const WindowRange& entry) {
          return entry.range.job == room.job && entry.range.count > 0;
        });
    if (next == tenant.window.end() || is_beyond_share(deal, tenant, *next)) return 0;
    const bool is_gang = next->is_gang();
    const auto elsewhere = is_gang ? state.lift_made_rooms_of(room.tenant, room.job)
                                   : std::vector<std::pair<NodeId, MadeRoom>>{};
    const bool starts = start(tenant, static_cast<std::uint32_t>(next - tenant.window.begin()));
    if (!starts && (is_coming || is_coming_below_max(state, tenant, *next))) {
      for (const auto& [node, kept] : elsewhere) state.keep_made_room(node, kept);
      return tasks;
    }
    if (!elsewhere.empty()) state.note_freed_made_rooms();
    if (!starts || is_gang) return 0;
  }
  return 0;
}

}  // namespace

void start_in_made_rooms(DealProgress& deal, const std::vector<MadeRoom>& rooms,
                         const StartInMadeRoom& start) {
  for (const MadeRoom& room : rooms) {
    MadeRoom left = room;
    if (!deal.state.begun_gang) left.tasks = start_in(deal, room, start);
    if (left.tasks == 0) continue;
    deal.state.keep_made_room(deal.node->id, left);
    deal.tasks.look_at_room();
  }
}

}  // namespace fairwater::inline policy::inline allocator
