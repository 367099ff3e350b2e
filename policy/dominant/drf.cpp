#include "policy/dominant/drf.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "policy/core/check.hpp"
#include "policy/dominant/share_order.hpp"

namespace fairwater::inline policy::inline dominant {
namespace {

std::vector<ShareStep> steps_of(const ResourceVector& capacity, std::span<const DrfUser> users) {
  std::vector<ShareStep> steps;
  steps.reserve(users.size());
  for (const DrfUser& user : users) {
    const std::size_t r = dominant_resource(user.demand, capacity);
    steps.push_back({user.demand[r], capacity[r], user.weight});
  }
  return steps;
}

/// How many tasks of this demand an empty cluster holds.
std::uint64_t tasks_that_fit(const ResourceVector& demand, const ResourceVector& capacity) {
  Amount most = kUnlimited;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (demand[r] > 0) most = std::min(most, capacity[r] / demand[r]);
  return static_cast<std::uint64_t>(most);
}

class ProgressiveFilling {
 public:
  ProgressiveFilling(const ResourceVector& capacity, std::span<const DrfUser> users, DrfStop stop)
      : users_(users),
        stop_(stop),
        capacity_(capacity),
        free_(capacity),
        steps_(steps_of(capacity, users)),
        order_(steps_),
        tasks_(users.size()),
        asks_(users.size(), true) {
    limits_.reserve(users.size());
    for (std::size_t i = 0; i < users.size(); ++i) {
      const DrfUser& user = users[i];
      FAIRWATER_CHECK(!user.demand.is_zero(), "a task must ask for something");
      // One more than fits, so that the task that does not fit is still met in its turn.
      const std::uint64_t meets = tasks_that_fit(user.demand, capacity) + 1;
      limits_.push_back(std::min(user.tasks.value_or(meets), meets));
      for (std::size_t r = resources_; r < kMaxResources; ++r)
        if (user.demand[r] > 0) resources_ = r + 1;
      const ShareStep& step = steps_[i];
      tasks_per_level_.push_back(static_cast<double>(step.total) *
                                 static_cast<double>(step.weight) /
                                 static_cast<double>(step.demand));
      if (limits_[i] == 0) retire(i);
    }
  }

  /// Places up to `count` tasks one by one. False when nobody can go on.
  bool place(std::uint64_t count) {
    while (count > 0) {
      const auto next = order_.first();
      if (!next) return false;
      const std::size_t user = *next;
      const ResourceVector& demand = users_[user].demand;
      if (!demand.fits(free_)) {
        if (stop_ == DrfStop::first_misfit) return false;
        retire(user);
        continue;
      }
      free_ -= demand;
      --count;
      if (++tasks_[user] == limits_[user])
        retire(user);
      else
        order_.advance(user);
    }
    return true;
  }

  void jump();

  [[nodiscard]] DrfResult result() && { return {std::move(tasks_), capacity_ - free_}; }

 private:
  struct Bounds {
    std::uint64_t least = 0;
    std::uint64_t most = 0;
  };

  void retire(std::size_t user) {
    asks_[user] = false;
    order_.retire(user);
  }
  [[nodiscard]] std::vector<std::size_t> asking();
  [[nodiscard]] double level_in_closed_form(const std::vector<std::size_t>& asking,
                                            double level) const;
  [[nodiscard]] Bounds tasks_below(std::size_t user, double level) const;
  [[nodiscard]] bool surely_fits(const std::vector<std::size_t>& asking, double level) const;

  std::span<const DrfUser> users_;
  DrfStop stop_;
  ResourceVector capacity_;
  ResourceVector free_;
  std::size_t resources_ = 0;  ///< those from this index on nobody asks for
  std::vector<ShareStep> steps_;
  ShareOrder order_;
  std::vector<std::uint64_t> tasks_;
  std::vector<std::uint64_t> limits_;
  std::vector<double> tasks_per_level_;  ///< total * weight / demand, off by a few parts in 2^53
  std::vector<bool> asks_;
};

/// Users that ask for more and whose next task fits. In `fill` the others are out for good.
std::vector<std::size_t> ProgressiveFilling::asking() {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < users_.size(); ++i) {
    if (!asks_[i]) continue;
    if (stop_ == DrfStop::fill && !users_[i].demand.fits(free_))
      asks_[i] = false;
    else
      result.push_back(i);
  }
  return result;
}

/// Users filled like water, without whole tasks: use grows by sum(demand * tasks_per_level) per
/// unit of level until a resource is full. A user that reaches its limit makes the growth slower,
/// so each step of Newton's method lands at or below the height sought. O(users) per step.
double ProgressiveFilling::level_in_closed_form(const std::vector<std::size_t>& asking,
                                                double level) const {
  constexpr int kMaxSteps = 16;
  for (int i = 0; i < kMaxSteps; ++i) {
    std::array<double, kMaxResources> used{}, growth{};
    for (const std::size_t user : asking) {
      const double most = static_cast<double>(limits_[user] - tasks_[user]);
      const double wanted = level * tasks_per_level_[user] - static_cast<double>(tasks_[user]);
      const double poured = std::clamp(wanted, 0.0, most);
      for (std::size_t r = 0; r < resources_; ++r) {
        const auto demand = static_cast<double>(users_[user].demand[r]);
        used[r] += poured * demand;
        if (wanted >= 0 && wanted < most) growth[r] += demand * tasks_per_level_[user];
      }
    }
    double rise = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < resources_; ++r)
      if (growth[r] > 0)
        rise = std::min(rise, (static_cast<double>(free_[r]) - used[r]) / growth[r]);
    if (!(rise > level * 1e-9)) break;
    level += rise;
    if (std::isinf(level)) return 2;  // nobody is below its limit; no share exceeds 1
  }
  return level;
}

/// Between what and what the number of tasks lies that `user` has when all shares below `level` are
/// placed: the true number is level * tasks_per_level rounded up, and that product is off by a few
/// parts in 2^53.
ProgressiveFilling::Bounds ProgressiveFilling::tasks_below(std::size_t user, double level) const {
  constexpr double kError = 16 * std::numeric_limits<double>::epsilon();
  const double product = level * tasks_per_level_[user];
  const auto limit = static_cast<double>(limits_[user]);
  // `limit` may have been rounded up; the integer comparison decides then.
  const auto bounded = [&](double count) {
    return count >= limit ? limits_[user]
                          : std::min(static_cast<std::uint64_t>(count), limits_[user]);
  };
  Bounds bounds{bounded(product * (1 - kError)), bounded(product * (1 + kError) + 1)};
  bounds.least = std::max(bounds.least, tasks_[user]);
  bounds.most = std::max(bounds.most, tasks_[user]);
  return bounds;
}

bool ProgressiveFilling::surely_fits(const std::vector<std::size_t>& asking, double level) const {
  ResourceVector room = free_;
  for (const std::size_t user : asking) {
    const std::uint64_t more = tasks_below(user, level).most - tasks_[user];
    const ResourceVector& demand = users_[user].demand;
    for (std::size_t r = 0; r < resources_; ++r) {
      if (demand[r] == 0) continue;
      if (Wide{demand[r]} * more > room[r]) return false;
      room[r] -= demand[r] * static_cast<Amount>(more);
    }
  }
  return true;
}

void ProgressiveFilling::jump() {
  const std::vector<std::size_t> users = asking();
  double level = 0;
  for (const std::size_t user : users) {
    const double share =
        tasks_[user] == 0 ? 0 : static_cast<double>(tasks_[user]) / tasks_per_level_[user];
    if (user == users.front() || share < level) level = share;
  }
  double beyond = level_in_closed_form(users, level) * (1 + 1e-9);
  // Whole tasks overshoot by less than one per user: the last level that surely fits is near.
  constexpr int kHalvings = 10;
  for (int i = 0; i < kHalvings && level < beyond; ++i) {
    const double middle = i == 0 ? beyond : level + (beyond - level) / 2;
    (surely_fits(users, middle) ? level : beyond) = middle;
  }
  if (!users.empty() && surely_fits(users, level)) {
    for (const std::size_t user : users) {
      const std::uint64_t more = tasks_below(user, level).least - tasks_[user];
      for (std::size_t r = 0; r < resources_; ++r)
        free_[r] -= users_[user].demand[r] * static_cast<Amount>(more);
      tasks_[user] += more;
      if (tasks_[user] == limits_[user]) asks_[user] = false;
    }
  }
  order_.restart(tasks_, asks_);
}

}  // namespace

std::size_t dominant_resource(const ResourceVector& demand, const ResourceVector& capacity) {
  std::size_t best = 0;
  const auto absent = [&](std::size_t r) { return demand[r] > 0 && capacity[r] == 0; };
  for (std::size_t r = 1; r < kMaxResources; ++r) {
    if (absent(best)) break;
    // A capacity of 0 stands with a demand of 0 here; 1 in its place keeps that share at 0.
    const Wide room_of_best = std::max<Amount>(capacity[best], 1);
    const Wide room = std::max<Amount>(capacity[r], 1);
    if (absent(r) || demand[r] * room_of_best > demand[best] * room) best = r;
  }
  return best;
}

double dominant_share(const ResourceVector& demand, std::uint64_t tasks,
                      const ResourceVector& capacity) {
  if (tasks == 0) return 0;
  const std::size_t r = dominant_resource(demand, capacity);
  return static_cast<double>(tasks) * static_cast<double>(demand[r]) /
         static_cast<double>(capacity[r]);
}

DrfResult drf_by_task(const ResourceVector& capacity, std::span<const DrfUser> users,
                      DrfStop stop) {
  ProgressiveFilling filling(capacity, users, stop);
  filling.place(std::numeric_limits<std::uint64_t>::max());
  return std::move(filling).result();
}

DrfResult drf_by_level(const ResourceVector& capacity, std::span<const DrfUser> users,
                       DrfStop stop) {
  ProgressiveFilling filling(capacity, users, stop);
  do {
    filling.jump();
  } while (filling.place(users.size() + 1));
  return std::move(filling).result();
}

}  // namespace fairwater::inline policy::inline dominant
