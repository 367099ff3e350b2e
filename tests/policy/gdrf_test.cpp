// GDRF and DRFH against full search: every machine on its own, every choice looked for anew.
#include "policy/dominant/gdrf.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "policy/core/splitmix64.hpp"
#include "policy/dominant/machine_load.hpp"
#include "tests/policy/property.hpp"

namespace fairwater {
namespace {

using test::check_property;
using test::draw;

struct ClusterProblem {
  ClusterPolicy policy = ClusterPolicy::gdrf;
  std::vector<MachineClass> machines;
  std::vector<ClusterUser> users;
};

struct Fraction {
  Wide numerator = 0;
  Wide denominator = 1;
  friend bool operator<(const Fraction& a, const Fraction& b) {
    return a.numerator * b.denominator < b.numerator * a.denominator;
  }
};

class FullSearch {
 public:
  explicit FullSearch(const ClusterProblem& problem)
      : placed(problem.users.size()), problem_(problem) {
    for (const MachineClass& machine : problem.machines)
      for (std::uint64_t i = 0; i < machine.count; ++i)
        machines_.push_back(
            {machine.capacity, machine.capacity, std::vector<std::uint64_t>(problem.users.size())});
    for (const Machine& machine : machines_) totals_ += machine.capacity;
    done_.resize(problem.users.size());
    for (std::size_t i = 0; i < problem.users.size(); ++i) done_[i] = wants(i) == 0;
    if (problem.policy == ClusterPolicy::gdrf)
      while (round()) {
      }
    else
      while (task_by_share()) {
      }
  }

  std::vector<std::uint64_t> placed;

  [[nodiscard]] double f() const {
    long double sum = 0;
    for (const Machine& machine : machines_) {
      const auto [base, exponent] = base_and_exponent(machine);
      if (base > 0) sum += std::pow(base, exponent);
    }
    return static_cast<double>(sum * static_cast<long double>(problem_.users.size()));
  }

 private:
  struct Machine {
    ResourceVector capacity;
    ResourceVector free;
    std::vector<std::uint64_t> tasks;
  };

  [[nodiscard]] std::uint64_t wants(std::size_t i) const {
    return problem_.users[i].tasks.value_or(1'000'000) - placed[i];
  }
  [[nodiscard]] Fraction share(const ResourceVector& amounts, std::size_t r) const {
    return {amounts[r], totals_[r]};
  }
  [[nodiscard]] std::size_t type(const ResourceVector& amounts) const {
    std::size_t best = kMaxResources;
    for (std::size_t r = 0; r < kMaxResources; ++r) {
      if (totals_[r] == 0) continue;
      if (best == kMaxResources || share(amounts, best) < share(amounts, r) ||
          (!(share(amounts, r) < share(amounts, best)) && amounts[r] > amounts[best]))
        best = r;
    }
    return best;
  }
  [[nodiscard]] Fraction gdrs(std::size_t i) const {
    const ResourceVector& demand = problem_.users[i].demand;
    return share(demand, type(demand));
  }
  [[nodiscard]] Amount demand_sum(std::size_t i) const {
    return sum_over_resources(problem_.users[i].demand);
  }
  /// Larger gdrs, then larger gdrw, then input order.
  [[nodiscard]] bool served_before(std::size_t a, std::size_t b) const {
    if (gdrs(b) < gdrs(a)) return true;
    if (gdrs(a) < gdrs(b)) return false;
    if (demand_sum(a) != demand_sum(b)) return demand_sum(a) > demand_sum(b);
    return a < b;
  }
  [[nodiscard]] std::pair<long double, long double> base_and_exponent(
      const Machine& machine) const {
    long double base = 0;
    for (std::size_t i = 0; i < machine.tasks.size(); ++i)
      base += static_cast<long double>(machine.tasks[i]) *
              static_cast<long double>(gdrs(i).numerator) /
              static_cast<long double>(gdrs(i).denominator);
    return {base, static_cast<long double>(sum_over_resources(machine.capacity - machine.free)) /
                      static_cast<long double>(sum_over_resources(machine.capacity))};
  }
  /// To be large: f's logarithm, or the negative distance of best fit.
  [[nodiscard]] long double worth(Machine machine, std::size_t i) const {
    const ResourceVector& demand = problem_.users[i].demand;
    if (problem_.policy == ClusterPolicy::drfh_first_fit) return 0;
    if (problem_.policy == ClusterPolicy::drfh_best_fit) {
      std::size_t first = 0;
      while (demand[first] == 0) ++first;
      long double distance = 0;
      for (std::size_t r = 0; r < kMaxResources; ++r)
        distance += std::abs(static_cast<long double>(demand[r]) / demand[first] -
                             static_cast<long double>(machine.free[r]) / machine.free[first]);
      return -distance;
    }
    machine.free -= demand;
    ++machine.tasks[i];
    const auto [base, exponent] = base_and_exponent(machine);
    return exponent * std::log(base);
  }
  bool place(std::size_t i) {
    constexpr long double kTie = 1e-14L;
    const ResourceVector& demand = problem_.users[i].demand;
    const bool gdrf = problem_.policy == ClusterPolicy::gdrf;
    for (const bool any_type : {!gdrf, true}) {
      Machine* best = nullptr;
      long double best_worth = 0;
      for (Machine& machine : machines_) {
        if (!demand.fits(machine.free)) continue;
        if (!any_type && type(machine.capacity) != type(demand)) continue;
        const long double own = worth(machine, i);
        if (best != nullptr && own <= best_worth + kTie * std::abs(best_worth)) continue;
        best = &machine;
        best_worth = own;
      }
      if (best == nullptr) continue;
      best->free -= demand;
      ++best->tasks[i];
      ++placed[i];
      if (wants(i) == 0) done_[i] = true;
      return true;
    }
    done_[i] = true;
    return false;
  }
  bool round() {
    const std::size_t count = placed.size();
    std::vector<std::size_t> queue;
    std::vector<std::uint64_t> given(count);
    for (std::size_t turn = 0; turn < count; ++turn) {
      std::size_t best = count;
      const auto amount = [&](std::size_t i) {
        return static_cast<Amount>(placed[i] + given[i]) * demand_sum(i);
      };
      for (std::size_t i = 0; i < count; ++i) {
        if (done_[i] || wants(i) == given[i]) continue;
        if (best == count || amount(i) < amount(best) ||
            (amount(i) == amount(best) && served_before(i, best)))
          best = i;
      }
      if (best == count) break;
      ++given[best];
      queue.push_back(best);
    }
    std::sort(queue.begin(), queue.end(),
              [this](std::size_t a, std::size_t b) { return served_before(a, b); });
    for (const std::size_t i : queue)
      if (!done_[i]) place(i);
    return !queue.empty();
  }
  bool task_by_share() {
    std::size_t best = placed.size();
    const auto dominant = [this](std::size_t i) {
      return Fraction{gdrs(i).numerator * static_cast<Wide>(placed[i]), gdrs(i).denominator};
    };
    for (std::size_t i = 0; i < placed.size(); ++i)
      if (!done_[i] && (best == placed.size() || dominant(i) < dominant(best))) best = i;
    if (best == placed.size()) return false;
    place(best);
    return true;
  }

  const ClusterProblem& problem_;
  std::vector<Machine> machines_;
  ResourceVector totals_;
  std::vector<bool> done_;
};

std::string describe(const ClusterProblem& problem) {
  std::ostringstream text;
  text << "policy " << static_cast<int>(problem.policy);
  const auto amounts = [&text](const ResourceVector& vector) {
    for (std::size_t r = 0; r < 3; ++r) text << ' ' << vector[r];
  };
  for (const MachineClass& machine : problem.machines) {
    text << "\n  " << machine.count << " machines of";
    amounts(machine.capacity);
  }
  for (const ClusterUser& user : problem.users) {
    text << "\n  at most ";
    if (user.tasks) text << *user.tasks;
    text << " tasks of";
    amounts(user.demand);
  }
  return text.str();
}

ClusterProblem draw_cluster_problem() {
  ClusterProblem problem;
  problem.policy = static_cast<ClusterPolicy>(draw(0, 2));
  const auto resources = static_cast<std::size_t>(draw(1, 3));
  const auto vector = [resources](Amount low, Amount high) {
    ResourceVector result;
    for (std::size_t r = 0; r < resources; ++r) result[r] = draw(low, high);
    return result;
  };
  const int classes = draw(1, 4), users = draw(1, 5);
  for (int i = 0; i < classes; ++i) {
    problem.machines.push_back({vector(0, 25), draw<std::uint64_t>(1, 3)});
    if (i > 0 && draw(0, 3) == 0) problem.machines.back().capacity = problem.machines[0].capacity;
  }
  // The oracle takes shares of what is there.
  for (std::size_t r = 0; r < resources; ++r) problem.machines[0].capacity[r] += 1;
  for (int i = 0; i < users; ++i) {
    ClusterUser user{vector(0, 5), {}};
    if (user.demand.is_zero()) user.demand[0] = 1;
    if (draw(0, 2) == 0) user.tasks = draw<std::uint64_t>(0, 12);
    problem.users.push_back(user);
  }
  return problem;
}

TEST_CASE("GDRF and DRFH place tasks as full search does", "[property]") {
  check_property("GDRF", 15'000, [] {
    const ClusterProblem problem = draw_cluster_problem();
    RC_LOG() << describe(problem) << "\n";
    const ClusterFilling filling = fill_cluster(problem.policy, problem.machines, problem.users);
    const FullSearch oracle(problem);
    RC_ASSERT(filling.placed == oracle.placed);
    RC_ASSERT(std::abs(filling.f - oracle.f()) < 1e-9);
  });
}

TEST_CASE("Machines given one by one fill as a class of them does", "[property]") {
  check_property("classes", 10'000, [] {
    ClusterProblem problem = draw_cluster_problem();
    const ClusterFilling together = fill_cluster(problem.policy, problem.machines, problem.users);
    std::vector<MachineClass> apart;
    for (const MachineClass& machine : problem.machines)
      apart.insert(apart.end(), machine.count, {machine.capacity, 1});
    const ClusterFilling filling = fill_cluster(problem.policy, apart, problem.users);
    RC_ASSERT(filling.placed == together.placed);
    RC_ASSERT(std::abs(filling.f - together.f) < 1e-9);
  });
}

TEST_CASE("A filled cluster is full, and nothing is used twice", "[property]") {
  check_property("fullness", 10'000, [] {
    const ClusterProblem problem = draw_cluster_problem();
    RC_LOG() << describe(problem) << "\n";
    const ClusterFilling filling = fill_cluster(problem.policy, problem.machines, problem.users);
    const ResourceVector totals = total_capacity(problem.machines);
    ResourceVector used;
    for (std::size_t i = 0; i < problem.users.size(); ++i)
      for (std::uint64_t task = 0; task < filling.placed[i]; ++task)
        used += problem.users[i].demand;
    RC_ASSERT(used == filling.used);
    RC_ASSERT(used.fits(totals));
    for (std::size_t i = 0; i < problem.users.size(); ++i) {
      const ClusterUser& user = problem.users[i];
      if (user.tasks) RC_ASSERT(filling.placed[i] <= *user.tasks);
    }
  });
}

TEST_CASE("Of machines that tie the first is taken", "[unit]") {
  // Two machines of one shape and one idle class between them: the single user fills them in order.
  const std::vector<MachineClass> machines{{{{4, 4}}, 1}, {{{9, 9}}, 1}, {{{4, 4}}, 1}};
  const std::vector<ClusterUser> users{{{{2, 2}}, 1}, {{{4, 4}}, {}}};
  const ClusterFilling filling = fill_cluster(ClusterPolicy::drfh_first_fit, machines, users);
  // The first user takes half of the first machine, so the second finds room on the two others.
  CHECK(filling.placed == std::vector<std::uint64_t>{1, 3});
  CHECK(fill_cluster(ClusterPolicy::drfh_best_fit, machines, users).placed ==
        std::vector<std::uint64_t>{1, 3});
}

TEST_CASE("Different loads with the same f tie", "[unit]") {
  // Totals (32, 107). The third task of (1, 2) has f^4 = 2/32 on the second machine, beside another
  // one, and f^5 = 1/32 on the first, idle one: both 1/2.
  const std::vector<MachineClass> machines{
      {{{2, 13}}, 3}, {{{2, 22}}, 2}, {{{20, 0}}, 1}, {{{1, 12}}, 2}};
  const std::vector<ClusterUser> users{{{{2, 1}}, {}}, {{{3, 1}}, {}}, {{{1, 2}}, 2}};
  CHECK(fill_cluster(ClusterPolicy::gdrf, machines, users).placed ==
        std::vector<std::uint64_t>{3, 0, 2});
}

TEST_CASE("A user asking for what no machine has gets nothing and stops nobody", "[unit]") {
  const std::vector<MachineClass> machines{{{{4, 0}}, 2}};
  const std::vector<ClusterUser> users{{{{1, 1}}, {}}, {{{5, 0}}, {}}, {{{2, 0}}, {}}};
  for (const ClusterPolicy policy :
       {ClusterPolicy::gdrf, ClusterPolicy::drfh_best_fit, ClusterPolicy::drfh_first_fit})
    CHECK(fill_cluster(policy, machines, users).placed == std::vector<std::uint64_t>{0, 0, 4});
}

TEST_CASE("Dominant shares are whole numbers of one part while their multiple is below 2^100",
          "[unit]") {
  const GdrsScale scale(ResourceVector{{12, 18}});
  CHECK(scale.denominator() == 36);
  CHECK(scale.gdrs({{1, 0}}) == 3);
  CHECK(scale.gdrs({{1, 3}}) == 6);
  CHECK(scale.gdrs({{0, 19}}) == 0);
  // Two primes near 2^56: their product is above 2^100, so parts of 2^-100 stand in.
  constexpr Amount kPrime = (Amount{1} << 56) - 5, kOther = (Amount{1} << 56) - 27;
  const GdrsScale large(ResourceVector{{kPrime, kOther}});
  CHECK(large.denominator() == Wide{1} << 100);
  CHECK(large.gdrs({{kPrime, 0}}) == Wide{1} << 100);
  CHECK(large.gdrs({{1, 0}}) == (Wide{1} << 100) / kPrime);
}

TEST_CASE("A type is the resource with the largest part, then amount, then place", "[unit]") {
  CHECK(resource_type({{4, 9}}, {{8, 18}}) == 1);
  CHECK(resource_type({{4, 4}}, {{8, 8}}) == 0);
  CHECK(resource_type({{1, 9}}, {{2, 20}}) == 0);
  CHECK(resource_type({{0, 0, 3}}, {{5, 5, 100}}) == 2);
}

TEST_CASE("A large cluster of few shapes agrees with full search", "[property]") {
  SplitMix64 random(42);
  for (int run = 0; run < 6; ++run) {
    ClusterProblem problem;
    problem.policy = static_cast<ClusterPolicy>(run % 3);
    for (int i = 0; i < 4; ++i)
      problem.machines.push_back({{{static_cast<Amount>(20 + random.below(60)),
                                    static_cast<Amount>(20 + random.below(60))}},
                                  10 + random.below(15)});
    for (int i = 0; i < 8; ++i)
      problem.users.push_back(
          {{{static_cast<Amount>(1 + random.below(9)), static_cast<Amount>(1 + random.below(9))}},
           {}});
    INFO("run " << run << ", " << describe(problem));
    const ClusterFilling filling = fill_cluster(problem.policy, problem.machines, problem.users);
    const FullSearch oracle(problem);
    CHECK(filling.placed == oracle.placed);
    CHECK(filling.f == Approx(oracle.f()).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace fairwater
