#include "examples/usage.hpp"

#include <algorithm>
#include <chrono>

namespace fairwater::story {

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::vector<Occupation> occupations(const harness::Cluster& cluster,
                                    const std::vector<std::uint64_t>& jobs) {
  std::vector<Occupation> found;
  for (const std::uint64_t id : jobs) {
    const nlohmann::json job = cluster.job(id);
    for (const auto& task : job["task_list"]) {
      const double from = harness::seconds_since_1970(task["started_at"]);
      const double until = harness::seconds_since_1970(task["finished_at"]);
      if (from > 0) found.push_back({job["tenant"], from, until > 0 ? until : wall_clock()});
    }
  }
  return found;
}

std::map<std::string, double> seconds_run(const std::vector<Occupation>& occupations, double from,
                                          double until) {
  std::map<std::string, double> sums;
  for (const Occupation& occupation : occupations) {
    const double overlap = std::min(occupation.until, until) - std::max(occupation.from, from);
    if (overlap > 0) sums[occupation.tenant] += overlap;
  }
  return sums;
}

}  // namespace fairwater::story
