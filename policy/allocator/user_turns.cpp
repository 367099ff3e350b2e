#include "policy/allocator/user_turns.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace fairwater::inline policy::inline allocator {
namespace {

/// What is left of one user's tasks.
struct UserTasks {
  std::vector<std::size_t> ranges;  ///< places in the window, the next one last
};

struct NextUser {
  UserShare share;
  std::size_t first = 0;  ///< place of its next task in the window
  UserTasks* tasks = nullptr;
  friend bool operator>(const NextUser& a, const NextUser& b) {
    return std::tie(a.share, a.first) > std::tie(b.share, b.first);
  }
};

bool continues(const WaitingRange& before, const WaitingRange& next) {
  return before.job == next.job && before.attempt == next.attempt && !before.home && !next.home &&
         !before.is_gang && before.first_index + before.count == next.first_index;
}

/// The first tasks of the range go over: one, or all that start at once.
void move_first(WindowRange& from, std::vector<WindowRange>& to) {
  const std::uint32_t tasks = from.is_gang() ? from.range.count : 1;
  if (!to.empty() && continues(to.back().range, from.range)) {
    to.back().range.count += tasks;
  } else {
    to.push_back(from);
    to.back().range.count = tasks;
  }
  from.range.first_index += tasks;
  from.range.count -= tasks;
}

void move_rest(std::vector<WindowRange>& window, UserTasks& tasks, std::vector<WindowRange>& to) {
  for (auto at = tasks.ranges.rbegin(); at != tasks.ranges.rend(); ++at) {
    WindowRange& from = window[*at];
    if (!to.empty() && continues(to.back().range, from.range))
      to.back().range.count += from.range.count;
    else
      to.push_back(std::move(from));
  }
}

}  // namespace

std::vector<WindowRange> in_turns(std::vector<WindowRange> window, const UserShares& users) {
  std::map<std::string, UserTasks> waiting;
  for (std::size_t at = window.size(); at-- > 0;)
    if (window[at].range.count > 0) waiting[window[at].range.user].ranges.push_back(at);
  if (waiting.size() < 2) return window;
  std::priority_queue<NextUser, std::vector<NextUser>, std::greater<>> turns;
  std::uint64_t served = 0;  // last, of all
  for (auto& [user, tasks] : waiting) {
    const auto found = users.find(user);
    const UserShare share = found == users.end() ? UserShare{} : found->second;
    served = std::max(served, share.served);
    turns.push({share, tasks.ranges.back(), &tasks});
  }
  std::vector<WindowRange> ordered;
  ordered.reserve(window.size());
  while (turns.size() > 1) {
    NextUser next = turns.top();
    turns.pop();
    WindowRange& from = window[next.first];
    next.share.held += from.is_gang() ? from.cost : from.task_cost();
    next.share.served = ++served;
    move_first(from, ordered);
    if (from.range.count == 0) next.tasks->ranges.pop_back();
    if (next.tasks->ranges.empty()) continue;
    next.first = next.tasks->ranges.back();
    turns.push(next);
  }
  if (!turns.empty()) move_rest(window, *turns.top().tasks, ordered);
  return ordered;
}

}  // namespace fairwater::inline policy::inline allocator
