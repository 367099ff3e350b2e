#include "policy/dominant/gdrf.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "policy/core/check.hpp"
#include "policy/dominant/machine_states.hpp"
#include "policy/dominant/share_order.hpp"

namespace fairwater::inline policy::inline dominant {
namespace {

/// The first machine with room for each user in turn. A machine without room for a user never has
/// room again, so each user's place in the order only moves on. Machines of a class that hold
/// nothing are alike: only those before the first idle one are written out.
class FirstFit {
 public:
  FirstFit(std::span<const MachineClass> machines, std::span<const PlacedUser> users,
           double gdrs_denominator)
      : machines_(machines),
        users_(users),
        gdrs_denominator_(gdrs_denominator),
        loads_(machines.size()),
        next_(users.size()) {}

  bool place(std::size_t user) {
    for (Position& next = next_[user]; next.in_order < machines_.size();) {
      const MachineClass& machine = machines_[next.in_order];
      std::vector<MachineLoad>& loads = loads_[next.in_order];
      const bool idle = next.in_class == loads.size();
      const ResourceVector room =
          idle ? machine.capacity : machine.capacity - loads[next.in_class].used;
      if (next.in_class < machine.count && users_[user].demand.fits(room)) {
        if (idle) loads.emplace_back();
        loads[next.in_class] = with_task(loads[next.in_class], users_[user]);
        used_ += users_[user].demand;
        return true;
      }
      if (idle)
        next = {next.in_order + 1, 0};
      else
        ++next.in_class;
    }
    return false;
  }
  [[nodiscard]] ResourceVector used() const { return used_; }
  [[nodiscard]] double f_over_k() const {
    double sum = 0;
    for (std::size_t i = 0; i < machines_.size(); ++i)
      for (const MachineLoad& load : loads_[i])
        sum += std::exp(log_f(load, sum_over_resources(machines_[i].capacity), gdrs_denominator_));
    return sum;
  }

 private:
  struct Position {
    std::size_t in_order = 0;  ///< class
    std::size_t in_class = 0;
  };
  std::span<const MachineClass> machines_;
  std::span<const PlacedUser> users_;
  double gdrs_denominator_;
  std::vector<std::vector<MachineLoad>> loads_;  ///< of the machines that hold something, per class
  std::vector<Position> next_;
  ResourceVector used_;
};

/// How many tasks each user may still get.
class Remaining {
 public:
  explicit Remaining(std::span<const ClusterUser> users) : placed_(users.size()) {
    for (const ClusterUser& user : users)
      left_.push_back(user.tasks.value_or(std::numeric_limits<std::uint64_t>::max()));
  }
  [[nodiscard]] std::uint64_t of(std::size_t user) const { return left_[user]; }
  void end(std::size_t user) { left_[user] = 0; }
  void count(std::size_t user) {
    ++placed_[user];
    --left_[user];
  }
  [[nodiscard]] std::vector<std::uint64_t> placed() && { return std::move(placed_); }

 private:
  std::vector<std::uint64_t> placed_;
  std::vector<std::uint64_t> left_;
};

/// DRFH: the next task goes to the lowest dominant share.
template <class Machines>
void fill_by_share(Machines& machines, std::span<const PlacedUser> users,
                   const ResourceVector& totals, Remaining& remaining) {
  std::vector<ShareStep> steps;
  for (const PlacedUser& user : users)
    steps.push_back({user.demand[user.type], totals[user.type], 1});
  ShareOrder order(steps);
  for (std::size_t user = 0; user < users.size(); ++user)
    if (remaining.of(user) == 0) order.retire(user);
  while (const auto user = order.first()) {
    if (!machines.place(*user)) {
      order.retire(*user);
      continue;
    }
    remaining.count(*user);
    if (remaining.of(*user) == 0)
      order.retire(*user);
    else
      order.advance(*user);
  }
}

/// Users by largest gdrs, then gdrw, then input order.
std::vector<std::size_t> serving_order(std::span<const PlacedUser> users,
                                       const ResourceVector& totals) {
  std::vector<std::size_t> order(users.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    const PlacedUser &a = users[left], &b = users[right];
    const Wide share_a = Wide{a.demand[a.type]} * totals[b.type];
    const Wide share_b = Wide{b.demand[b.type]} * totals[a.type];
    if (share_a != share_b) return share_a > share_b;
    return a.demand_sum > b.demand_sum;  // gdrw: the sum of the totals is the same for all
  });
  return order;
}

/// GDRF's rounds.
class Rounds {
 public:
  Rounds(std::span<const PlacedUser> users, const ResourceVector& totals, Remaining& remaining)
      : users_(users), remaining_(remaining), served_(serving_order(users, totals)) {
    for (const PlacedUser& user : users) steps_.push_back(user.demand_sum);
    amounts_.resize(users.size());
  }

  void run(MachineStates& machines) {
    for (;;) {
      const std::vector<std::uint64_t> places = queue();
      std::uint64_t given = 0;
      for (std::size_t rank = 0; rank < served_.size(); ++rank) {
        given += places[rank];
        serve(machines, rank, places[rank]);
      }
      if (given == 0) return;
    }
  }

 private:
  /// The least amount so far comes first, then the first in serving order.
  struct Turn {
    Wide amount = 0;
    std::size_t rank = 0;
    friend auto operator<=>(const Turn&, const Turn&) = default;
  };

  /// Places per rank.
  [[nodiscard]] std::vector<std::uint64_t> queue() const {
    std::vector<Turn> turns;
    for (std::size_t rank = 0; rank < served_.size(); ++rank)
      if (remaining_.of(served_[rank]) > 0) turns.push_back({amounts_[served_[rank]], rank});
    std::make_heap(turns.begin(), turns.end(), std::greater<>{});
    std::vector<std::uint64_t> places(served_.size());
    for (std::size_t place = 0; place < served_.size() && !turns.empty(); ++place) {
      std::pop_heap(turns.begin(), turns.end(), std::greater<>{});
      Turn& turn = turns.back();
      const std::size_t user = served_[turn.rank];
      turn.amount += steps_[user];
      if (++places[turn.rank] == remaining_.of(user))
        turns.pop_back();
      else
        std::push_heap(turns.begin(), turns.end(), std::greater<>{});
    }
    return places;
  }

  void serve(MachineStates& machines, std::size_t rank, std::uint64_t places) {
    const std::size_t user = served_[rank];
    for (; places > 0; --places) {
      if (!machines.place(user)) return remaining_.end(user);
      remaining_.count(user);
      amounts_[user] += steps_[user];
    }
  }

  std::span<const PlacedUser> users_;
  Remaining& remaining_;
  std::vector<std::size_t> served_;  ///< users in serving order
  std::vector<Amount> steps_;        ///< resource amount per task
  std::vector<Wide> amounts_;        ///< resource amount so far
};

}  // namespace

ResourceVector total_capacity(std::span<const MachineClass> machines) {
  ResourceVector totals;
  std::uint64_t count = 0;
  for (const MachineClass& machine : machines) {
    count += machine.count;
    FAIRWATER_CHECK(machine.count <= kMaxMachines && count <= kMaxMachines, "too many machines");
    for (std::size_t r = 0; r < kMaxResources; ++r) {
      const Wide total = totals[r] + Wide{machine.capacity[r]} * machine.count;
      FAIRWATER_CHECK(machine.capacity[r] >= 0 && total <= kMaxClusterAmount,
                      "machines are out of range");
      totals[r] = static_cast<Amount>(total);
    }
  }
  return totals;
}

ClusterFilling fill_cluster(ClusterPolicy policy, std::span<const MachineClass> machines,
                            std::span<const ClusterUser> users) {
  const ResourceVector totals = total_capacity(machines);
  const GdrsScale scale(totals);
  const auto denominator = static_cast<double>(scale.denominator());
  std::vector<PlacedUser> placed_users;
  for (const ClusterUser& user : users) {
    FAIRWATER_CHECK(!user.demand.is_zero(), "a task must ask for something");
    for (const Amount amount : user.demand.amount)
      FAIRWATER_CHECK(amount >= 0 && amount <= kMaxClusterAmount, "demand out of range");
    const auto first = std::find_if(user.demand.amount.begin(), user.demand.amount.end(),
                                    [](Amount amount) { return amount > 0; });
    placed_users.push_back({user.demand, sum_over_resources(user.demand), scale.gdrs(user.demand),
                            resource_type(user.demand, totals),
                            static_cast<std::size_t>(first - user.demand.amount.begin())});
  }
  Remaining remaining(users);
  ClusterFilling result;
  const auto finish = [&](const auto& filled) {
    result.used = filled.used();
    result.f = static_cast<double>(users.size()) * filled.f_over_k();
  };
  if (policy == ClusterPolicy::drfh_first_fit) {
    FirstFit filled(machines, placed_users, denominator);
    fill_by_share(filled, placed_users, totals, remaining);
    finish(filled);
  } else {
    const bool gdrf = policy == ClusterPolicy::gdrf;
    MachineStates filled(gdrf ? MachinePreference::largest_f : MachinePreference::best_fit,
                         machines, placed_users, totals, denominator);
    if (gdrf)
      Rounds(placed_users, totals, remaining).run(filled);
    else
      fill_by_share(filled, placed_users, totals, remaining);
    finish(filled);
  }
  result.placed = std::move(remaining).placed();
  return result;
}

}  // namespace fairwater::inline policy::inline dominant
