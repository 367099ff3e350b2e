// In which order a tenant's users come, where its queue is fair.
//
// The next task is always of the user who holds the least units; of two who hold as many, of the
// one who was served longer ago; then of the one whose task was submitted first. Each user's own
// tasks stay in their order.
//
// Why units held, and not tasks: a task of eight processors takes from the others what eight small
// ones take. Why what is held now, and not what was held in the past: tasks end, and who was away
// should neither have saved up for it nor be made to pay for what nobody else wanted. What was held
// lately decides where it is all that there is to go by: users who hold as many in turn get one
// task each, also where there is room for one at a time.
//
// So while two users wait for tasks of one size that fit alike, neither holds two tasks more than
// the other by what was granted meanwhile; and who holds nothing waits for at most one task of each
// of the others.
//
// Pure. What decides is in the journal, so a coordinator that starts anew goes on in the same
// order.
#pragma once

#include <vector>

#include "policy/allocator/tenant.hpp"
#include "policy/allocator/user_share.hpp"

namespace fairwater::inline policy::inline allocator {

/// The same tasks, in turns: a range is cut where another user comes in between; what starts at
/// once is not. `users` has what its users hold and when they were served; who is not in it holds
/// nothing and never was. O(tasks * log users), and O(ranges) where all are of one user.
[[nodiscard]] std::vector<WindowRange> in_turns(std::vector<WindowRange> window,
                                                const UserShares& users);

}  // namespace fairwater::inline policy::inline allocator
