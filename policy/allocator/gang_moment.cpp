#include "policy/allocator/gang_moment.hpp"

#include <algorithm>

namespace fairwater::inline policy::inline allocator {
namespace {

/// From then on a node may start so many more, or fewer.
struct Change {
  LedgerMs at_ms;
  std::int64_t tasks;
};

}  // namespace

std::uint32_t tasks_that_fit(const WindowRange& gang, const ResourceVector& free) {
  Amount tasks = gang.starts_at_once;
  for (const std::size_t r : gang.asks)
    tasks = std::min(tasks, std::max<Amount>(free[r], 0) / gang.range.demand[r]);
  return static_cast<std::uint32_t>(tasks);
}

// From each moment on what fits is the least of the steps that begin before the run is over: the
// first of a queue of those that no later one undercuts.
std::vector<PossibleTasks> possible_tasks(
    const RoomProfile& profile, std::int64_t duration_ms,
    const std::function<std::uint32_t(const ResourceVector& free)>& tasks_in) {
  const auto& steps = profile.steps();
  std::vector<PossibleTasks> least;  // ascending by both
  std::size_t first = 0;             // of `least`, what counts
  std::vector<PossibleTasks> possible;
  std::size_t seen = 0;     // steps in the queue
  std::size_t current = 0;  // the step at the moment
  LedgerMs moment = steps.front().from;
  while (true) {
    for (; seen < steps.size() && steps[seen].from - duration_ms < moment; ++seen) {
      const std::uint32_t tasks = tasks_in(steps[seen].free);
      while (least.size() > first && least.back().tasks >= tasks) least.pop_back();
      // It counts until the next step begins.
      least.push_back({seen + 1 < steps.size() ? steps[seen + 1].from : kNever, tasks});
    }
    while (least[first].from_ms <= moment) ++first;
    if (possible.empty() || possible.back().tasks != least[first].tasks)
      possible.push_back({moment, least[first].tasks});
    while (current + 1 < steps.size() && steps[current + 1].from <= moment) ++current;
    LedgerMs next = current + 1 < steps.size() ? steps[current + 1].from : kNever;
    if (seen < steps.size()) next = std::min(next, steps[seen].from - duration_ms + 1);
    if (next == kNever) return possible;
    moment = next;
  }
}

std::vector<PossibleTasks> lesser_of(std::span<const PossibleTasks> a,
                                     std::span<const PossibleTasks> b) {
  std::vector<PossibleTasks> lesser;
  std::size_t in_a = 0;  // those that hold
  std::size_t in_b = 0;
  for (LedgerMs moment = std::max(a.front().from_ms, b.front().from_ms); moment != kNever;) {
    while (in_a + 1 < a.size() && a[in_a + 1].from_ms <= moment) ++in_a;
    while (in_b + 1 < b.size() && b[in_b + 1].from_ms <= moment) ++in_b;
    const std::uint32_t tasks = std::min(a[in_a].tasks, b[in_b].tasks);
    if (lesser.empty() || lesser.back().tasks != tasks) lesser.push_back({moment, tasks});
    moment = std::min(in_a + 1 < a.size() ? a[in_a + 1].from_ms : kNever,
                      in_b + 1 < b.size() ? b[in_b + 1].from_ms : kNever);
  }
  return lesser;
}

std::optional<LedgerMs> first_moment(std::uint32_t tasks,
                                     std::span<const std::vector<PossibleTasks>> nodes) {
  std::vector<Change> changes;
  for (const std::vector<PossibleTasks>& node : nodes) {
    std::int64_t before = 0;
    for (const PossibleTasks& possible : node) {
      if (possible.tasks != before) changes.push_back({possible.from_ms, possible.tasks - before});
      before = possible.tasks;
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.at_ms < b.at_ms; });
  std::int64_t together = 0;
  for (auto next = changes.begin(); next != changes.end();) {
    const LedgerMs at_ms = next->at_ms;
    for (; next != changes.end() && next->at_ms == at_ms; ++next) together += next->tasks;
    if (together >= tasks) return at_ms;
  }
  return std::nullopt;
}

PossibleTasks possible_at(std::span<const PossibleTasks> possible, LedgerMs at_ms) {
  PossibleTasks found;
  for (const PossibleTasks& step : possible)
    if (step.from_ms <= at_ms) found = step;
  return found;
}

}  // namespace fairwater::inline policy::inline allocator
