#include "sim/schedulers/gang_places.hpp"

#include <algorithm>

namespace fairwater::sim::inline schedulers {
namespace {

/// From then on so many more, or fewer, tasks may start.
struct Change {
  TimeMs at = 0;
  std::int64_t tasks = 0;
};

class Search {
 public:
  Search(const Job& gang, TimeMs duration_ms, TimeMs limit)
      : gang_(gang), duration_ms_(duration_ms), limit_(limit) {}

  void look_at(const RoomProfile& profile) {
    const auto& steps = profile.steps();
    moments_.clear();
    for (const auto& step : steps) {
      const TimeMs last_without_it = step.from - duration_ms_;
      if (step.from < limit_) moments_.push_back(step.from);
      if (last_without_it >= steps.front().from && last_without_it + 1 < limit_)
        moments_.push_back(last_without_it + 1);
    }
    std::sort(moments_.begin(), moments_.end());
    std::int64_t before = 0;
    for (const TimeMs moment : moments_) {
      const std::int64_t tasks = tasks_from(profile, moment);
      if (tasks != before) changes_.push_back({moment, tasks - before});
      before = tasks;
    }
  }

  [[nodiscard]] std::optional<TimeMs> first_moment() {
    std::sort(changes_.begin(), changes_.end(),
              [](const Change& a, const Change& b) { return a.at < b.at; });
    std::int64_t together = 0;
    for (auto next = changes_.begin(); next != changes_.end();) {
      const TimeMs at = next->at;
      for (; next != changes_.end() && next->at == at; ++next) together += next->tasks;
      if (together >= std::int64_t{gang_.tasks}) return at;
    }
    return std::nullopt;
  }

  /// So many may start then.
  [[nodiscard]] std::uint32_t tasks_from(const RoomProfile& profile, TimeMs moment) const {
    std::uint32_t tasks = gang_.tasks;
    const auto& steps = profile.steps();
    for (std::size_t i = 0; i < steps.size() && steps[i].from < moment + duration_ms_; ++i)
      if (i + 1 == steps.size() || steps[i + 1].from > moment)
        tasks = std::min(tasks, tasks_that_fit(gang_, steps[i].free));
    return tasks;
  }

 private:
  const Job& gang_;
  const TimeMs duration_ms_;
  const TimeMs limit_;
  std::vector<TimeMs> moments_;  ///< at which what may start on one node can change
  std::vector<Change> changes_;  ///< of all nodes
};

}  // namespace

std::optional<GangPlace> earliest_gang_place(const Job& gang, TimeMs duration_ms, TimeMs limit,
                                             const std::vector<const RoomProfile*>& profiles) {
  Search search(gang, duration_ms, limit);
  for (const RoomProfile* profile : profiles)
    if (profile != nullptr) search.look_at(*profile);
  const auto start = search.first_moment();
  if (!start) return std::nullopt;
  GangPlace place{*start, {}};
  std::uint32_t left = gang.tasks;
  for (NodeIndex node = 0; node < profiles.size() && left > 0; ++node) {
    if (profiles[node] == nullptr) continue;
    const std::uint32_t tasks = std::min(left, search.tasks_from(*profiles[node], *start));
    if (tasks > 0) place.nodes.push_back({node, tasks});
    left -= tasks;
  }
  return place;
}

}  // namespace fairwater::sim::inline schedulers
