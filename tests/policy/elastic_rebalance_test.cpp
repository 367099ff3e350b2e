// QREA with a debt line: an example by hand, and what it promises of every cluster.
#include <numeric>

#include <catch2/catch.hpp>

#include "policy/elastic/qrea.hpp"
#include "policy/elastic/rebalance.hpp"
#include "tests/policy/property.hpp"

namespace fairwater {
namespace {

using test::check_property;
using test::draw;

Credit credit_units(Units units) { return {Wide{units} * kPicounitsPerUnit}; }

/// One job per user, so that what a user holds can be read off it. Some owe a lot.
ElasticCluster draw_debtors() {
  ElasticCluster cluster;
  Units credits = 0;
  for (std::uint64_t u = 1; u <= 5; ++u) {
    const Units min = draw<Units>(1, 4), now = min + draw<Units>(0, 6);
    const Units credit = draw<Units>(-60, 60);
    credits += credit;
    cluster.users.push_back(
        {draw<Units>(0, 8), credit_units(credit), {{{u}, min, now + draw<Units>(0, 6), now}}, {}});
    cluster.units += now;
  }
  cluster.users.push_back({4, credit_units(-credits), {}, {}});
  cluster.units += draw<Units>(0, 4) * draw<Units>(0, 1);
  return cluster;
}

/// What each user's job holds after the round; 0 for users without.
std::vector<Units> held_after(const ElasticCluster& cluster, const ElasticRound& round) {
  std::vector<Units> held;
  for (const ElasticUser& user : cluster.users) {
    held.push_back(0);
    for (const RunningJob& job : user.running) {
      held.back() += job.now;
      for (const JobUnits& limit : round.limit)
        if (limit.id == job.id) held.back() -= limit.units;
      for (const JobUnits& grow : round.grow)
        if (grow.id == job.id) held.back() += grow.units;
    }
  }
  return held;
}

}  // namespace

TEST_CASE("a debtor beyond its line keeps what it earns", "[unit][rebalance]") {
  // 20 units, nothing idle. u1 (quota 4) owes more than 10 * 4. Of 12 extras it earns
  // (4 - 2) / (2 + 4) = 4, so it gives up 4 of 8; u2 has room for 3 of them, one stays idle.
  ElasticCluster cluster{20,
                         {{4, credit_units(-41), {{{1}, 2, 10, 10}}, {}},
                          {10, credit_units(41), {{{2}, 6, 13, 10}}, {}}}};
  ElasticRound round = QreaRebalance().round(cluster);
  CHECK(round.limit == std::vector<JobUnits>{{{1}, 4}});
  CHECK(round.grow == std::vector<JobUnits>{{{2}, 3}});
  CHECK(round.idle == 1);
  // 11 extras now: u1 earns 11 / 3 and pays 4, u2 earns 22 / 3 and pays 7.
  CHECK(static_cast<double>(round.credit[0].picounits) == Approx((-41 - 1 / 3.0) * 1e12));
  CHECK(round.credit[0].picounits + round.credit[1].picounits == 0);
  // At the line itself it is QREA: nothing moves.
  cluster.users[0].credit = credit_units(-40);
  round = QreaRebalance().round(cluster);
  CHECK(round.limit.empty());
  CHECK(round.grow.empty());
}

TEST_CASE("levelling moves half the difference of two credits", "[unit][rebalance]") {
  const QreaRebalance level({.debt_line = std::nullopt, .level = true});
  // Credits 3 and -4: (3 + 4) / 2 = 3 units, though 5 extras are there and 6 would be taken.
  const ElasticCluster cluster{
      12,
      {{6, credit_units(3), {{{1}, 3, 9, 3}}, {}}, {6, credit_units(-4), {{{2}, 4, 9, 9}}, {}}}};
  const ElasticRound round = level.round(cluster);
  CHECK(round.limit == std::vector<JobUnits>{{{2}, 3}});
  CHECK(round.grow == std::vector<JobUnits>{{{1}, 3}});
  CHECK(round.idle == 0);
}

TEST_CASE("without a line and levelling it is QREA", "[property][rebalance]") {
  const QreaRebalance plain({.debt_line = std::nullopt, .level = false});
  check_property("QREA without additions", 5'000, [&] {
    const ElasticCluster cluster = draw_debtors();
    const ElasticRound round = plain.round(cluster), expected = Qrea().round(cluster);
    RC_ASSERT(round.limit == expected.limit);
    RC_ASSERT(round.grow == expected.grow);
    RC_ASSERT(round.credit == expected.credit);
    RC_ASSERT(round.idle == expected.idle);
  });
}

TEST_CASE("debtors hold what they earn, others lose nothing", "[property][rebalance]") {
  check_property("debt line", 10'000, [] {
    const ElasticCluster cluster = draw_debtors();
    const Units line = draw<Units>(0, 10);
    const ElasticRound round = QreaRebalance({.debt_line = line, .level = false}).round(cluster);
    const std::vector<Units> held = held_after(cluster, round);
    Units unused = 0, extras = 0;
    for (const ElasticUser& user : cluster.users) {
      unused += user.quota;
      for (const RunningJob& job : user.running) {
        unused -= std::min(job.min, user.quota);
        extras += job.now - job.min;
      }
    }
    Wide credits = 0;
    for (std::size_t u = 0; u < held.size(); ++u) {
      const ElasticUser& user = cluster.users[u];
      credits += round.credit[u].picounits;
      if (user.running.empty()) continue;
      const RunningJob& job = user.running[0];
      RC_ASSERT(held[u] >= job.min);
      RC_ASSERT(held[u] <= job.max);
      const bool owes = user.credit < Credit{-Wide{line} * user.quota * kPicounitsPerUnit};
      if (!owes) RC_ASSERT(held[u] >= job.now);
      const Units own = std::max<Units>(user.quota - job.min, 0);
      if (owes) RC_ASSERT((held[u] - job.min) * unused <= own * extras);
    }
    RC_ASSERT(credits == 0);
    RC_ASSERT(std::accumulate(held.begin(), held.end(), round.idle) == cluster.units);
  });
}

TEST_CASE("levelling wastes nothing and moves units to more credit", "[property][rebalance]") {
  const QreaRebalance level({.debt_line = std::nullopt, .level = true});
  check_property("levelling", 10'000, [&] {
    const ElasticCluster cluster = draw_debtors();
    const ElasticRound round = level.round(cluster), qrea = Qrea().round(cluster);
    RC_ASSERT(round.idle == qrea.idle);
    const std::vector<Units> held = held_after(cluster, round),
                             held_by_qrea = held_after(cluster, qrea);
    RC_ASSERT(std::accumulate(held.begin(), held.end(), round.idle) == cluster.units);
    for (std::size_t a = 0; a < held.size(); ++a) {
      for (std::size_t b = 0; b < held.size(); ++b) {
        // Units go to more credit only.
        const Units gained = held[a] - held_by_qrea[a], lost = held_by_qrea[b] - held[b];
        if (gained <= 0 || lost <= 0) continue;
        RC_ASSERT(cluster.users[b].credit < cluster.users[a].credit);
      }
    }
  });
}

}  // namespace fairwater
