// DRF against a deliberately slow oracle: one task at a time, a linear search for the smallest
// share, shares compared as fractions.
#include "policy/dominant/drf.hpp"

#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "policy/core/splitmix64.hpp"
#include "policy/dominant/share_order.hpp"
#include "tests/policy/property.hpp"

namespace fairwater {
namespace {

using test::check_property;
using test::draw;

/// a / b < c / d by their continued fractions, which no size of number overflows.
bool less_fraction(Wide a, Wide b, Wide c, Wide d) {
  const Wide left = a / b, right = c / d;
  if (left != right) return left < right;
  a %= b;
  c %= d;
  if (a == 0 || c == 0) return a == 0 && c != 0;
  return less_fraction(d, c, b, a);
}

struct Problem {
  ResourceVector capacity;
  std::vector<DrfUser> users;
  DrfStop stop = DrfStop::fill;
};

DrfResult one_at_a_time(const Problem& problem) {
  const std::size_t count = problem.users.size();
  DrfResult result{std::vector<std::uint64_t>(count), {}};
  std::vector<bool> out(count);
  // A resource that is absent admits no task of its users: whatever share they have, it is that of
  // 0 tasks.
  const auto share = [&](std::size_t i) {
    const DrfUser& user = problem.users[i];
    const std::size_t r = dominant_resource(user.demand, problem.capacity);
    const Wide tasks = result.tasks[i];
    return std::pair<Wide, Wide>{tasks * user.demand[r],
                                 Wide{std::max<Amount>(problem.capacity[r], 1)} * user.weight};
  };
  for (;;) {
    std::size_t best = count;
    for (std::size_t i = 0; i < count; ++i) {
      const DrfUser& user = problem.users[i];
      if (out[i] || (user.tasks && result.tasks[i] >= *user.tasks)) continue;
      if (best == count) {
        best = i;
        continue;
      }
      const auto [a, b] = share(i);
      const auto [c, d] = share(best);
      if (less_fraction(a, b, c, d)) best = i;
    }
    if (best == count) return result;
    const ResourceVector& demand = problem.users[best].demand;
    if (demand.fits(problem.capacity - result.used)) {
      result.used += demand;
      ++result.tasks[best];
    } else if (problem.stop == DrfStop::first_misfit) {
      return result;
    } else {
      out[best] = true;
    }
  }
}

std::string describe(const Problem& problem) {
  std::ostringstream text;
  text << (problem.stop == DrfStop::fill ? "fill" : "first misfit") << ", capacity";
  for (const Amount amount : problem.capacity.amount) text << ' ' << amount;
  for (const DrfUser& user : problem.users) {
    text << "\n  weight " << user.weight << ", at most ";
    if (user.tasks) text << *user.tasks;
    text << " tasks, demand";
    for (const Amount amount : user.demand.amount) text << ' ' << amount;
  }
  return text.str();
}

/// Amounts near multiples of `scale`, so that shares are often close to each other and often equal.
Problem draw_problem() {
  const Amount scale = Amount{1} << (draw(0, 3) * 17);
  const auto resources = static_cast<std::size_t>(draw(1, 3));
  const auto near = [&](Amount multiple) {
    const Amount shift = scale == 1 ? 0 : draw<Amount>(-1, 1);
    return multiple == 0 ? 0 : multiple * scale + shift;
  };
  Problem problem;
  problem.stop = draw(0, 2) == 0 ? DrfStop::first_misfit : DrfStop::fill;
  for (std::size_t r = 0; r < resources; ++r) problem.capacity[r] = near(draw<Amount>(0, 80));
  const int users = draw(1, 7);
  const Weight heaviest = draw(0, 1) == 0 ? 3 : kMaxShareWeight;
  for (int i = 0; i < users; ++i) {
    DrfUser user;
    for (std::size_t r = 0; r < resources; ++r) user.demand[r] = near(draw<Amount>(0, 7));
    if (user.demand.is_zero()) user.demand[0] = scale;
    user.weight = draw<Weight>(1, heaviest);
    if (draw(0, 2) == 0) user.tasks = draw<std::uint64_t>(0, 20);
    problem.users.push_back(user);
  }
  return problem;
}

Problem long_run(std::uint64_t seed, std::size_t users, Amount tasks) {
  SplitMix64 random(seed);
  Problem problem;
  Amount sum[3] = {0, 0, 0};
  for (std::size_t i = 0; i < users; ++i) {
    DrfUser user;
    for (std::size_t r = 0; r < 3; ++r) {
      user.demand[r] = 1 + static_cast<Amount>(random.below(r == 2 ? 8 : 1000));
      if (r == 2 && random.below(3) > 0) user.demand[r] = 0;
      sum[r] += user.demand[r];
    }
    user.weight = 1 + static_cast<Weight>(random.below(5));
    if (random.below(4) == 0) user.tasks = random.below(2 * static_cast<std::uint64_t>(tasks));
    problem.users.push_back(user);
  }
  for (std::size_t r = 0; r < 3; ++r) problem.capacity[r] = sum[r] * tasks;
  return problem;
}

TEST_CASE("DRF gives the worked examples of its papers", "[unit]") {
  // Ghodsi et al. 2011, section 4.1.
  Problem problem{{{9, 18}}, {{{{1, 4}}, 1, {}}, {{{3, 1}}, 1, {}}}, DrfStop::fill};
  for (const auto& drf : {drf_by_task, drf_by_level}) {
    const DrfResult result = drf(problem.capacity, problem.users, DrfStop::fill);
    CHECK(result.tasks == std::vector<std::uint64_t>{3, 2});
    CHECK(result.used == ResourceVector{{9, 14}});
  }
  CHECK(dominant_share(problem.users[0].demand, 3, problem.capacity) == Approx(2.0 / 3));
  CHECK(dominant_share(problem.users[1].demand, 2, problem.capacity) == Approx(2.0 / 3));
  // Bai, Lei, Zhang 2017: (8 cpu, 16 GB), with the early stop.
  problem = {{{8, 16}}, {{{{1, 6}}, 1, {}}, {{{3, 1}}, 1, {}}}, DrfStop::first_misfit};
  for (const auto& drf : {drf_by_task, drf_by_level})
    CHECK(drf(problem.capacity, problem.users, problem.stop).tasks ==
          std::vector<std::uint64_t>{2, 2});
}

TEST_CASE("The first user in input order goes first when shares are equal", "[unit]") {
  const DrfUser user{{{1}}, 1, {}};
  const std::vector<DrfUser> users(3, user);
  for (const auto& drf : {drf_by_task, drf_by_level})
    CHECK(drf({{7}}, users, DrfStop::fill).tasks == std::vector<std::uint64_t>{3, 2, 2});
}

TEST_CASE("A misfit ends the run or only the user's part in it", "[unit]") {
  const std::vector<DrfUser> users{{{{5}}, 1, {}}, {{{1}}, 1, {}}};
  for (const auto& drf : {drf_by_task, drf_by_level}) {
    CHECK(drf({{13}}, users, DrfStop::fill).tasks == std::vector<std::uint64_t>{1, 8});
    CHECK(drf({{13}}, users, DrfStop::first_misfit).tasks == std::vector<std::uint64_t>{1, 5});
  }
}

TEST_CASE("A resource that is not there admits no task that asks for it", "[unit]") {
  const std::vector<DrfUser> users{{{{1, 1}}, 1, {}}, {{{1, 0}}, 1, {}}};
  for (const auto& drf : {drf_by_task, drf_by_level}) {
    CHECK(drf({{4, 0}}, users, DrfStop::fill).tasks == std::vector<std::uint64_t>{0, 4});
    CHECK(drf({{4, 0}}, users, DrfStop::first_misfit).tasks == std::vector<std::uint64_t>{0, 0});
  }
  CHECK(dominant_resource({{1, 1}}, {{4, 0}}) == 1);
  CHECK(dominant_resource({{0, 1}}, {{0, 4}}) == 1);
  CHECK(dominant_resource({{2, 4}}, {{4, 8}}) == 0);
}

TEST_CASE("Shares that differ by less than a double can tell are ordered exactly", "[unit]") {
  // 2^60 and 2^60 + 1 are one number as doubles; the share of the second user is smaller by that
  // one part.
  constexpr Amount kLarge = Amount{1} << 60;
  ShareOrder order(std::vector<ShareStep>{{kLarge / 2, kLarge, 7}, {kLarge / 2, kLarge + 1, 7}});
  order.advance(0);
  order.advance(1);
  CHECK(order.first() == 1U);
  // And shares that are equal although no number in them is.
  ShareOrder equal(std::vector<ShareStep>{
      {kLarge, kLarge, kMaxShareWeight}, {kLarge - 2, kLarge - 2, kMaxShareWeight}, {3, 7, 1}});
  for (const std::size_t user : {0, 1, 2}) equal.advance(user);
  CHECK(equal.first() == 0U);
  equal.retire(0);
  CHECK(equal.first() == 1U);
}

TEST_CASE("DRF by task and by level agree with one at a time", "[property]") {
  check_property("DRF", 20'000, [] {
    const Problem problem = draw_problem();
    RC_LOG() << describe(problem) << "\n";
    const DrfResult expected = one_at_a_time(problem);
    RC_ASSERT(drf_by_task(problem.capacity, problem.users, problem.stop) == expected);
    RC_ASSERT(drf_by_level(problem.capacity, problem.users, problem.stop) == expected);
  });
}

TEST_CASE("DRF by level places long runs as DRF by task does", "[property]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Problem problem = long_run(seed, 1 + seed % 37, seed % 2 == 0 ? 1000 : 37);
    for (const DrfStop stop : {DrfStop::fill, DrfStop::first_misfit}) {
      problem.stop = stop;
      INFO("seed " << seed << ", " << describe(problem));
      const DrfResult expected = drf_by_task(problem.capacity, problem.users, stop);
      REQUIRE(drf_by_level(problem.capacity, problem.users, stop) == expected);
      if (seed % 10 == 1) REQUIRE(one_at_a_time(problem) == expected);
    }
  }
}

}  // namespace
}  // namespace fairwater
