// Credits for growth: the paper's formula, that they sum to zero, and what accounts refuse.
#include "policy/ledger/credits.hpp"

#include <numeric>
#include <random>

#include <catch2/catch.hpp>

#include "policy/elastic/elastic.hpp"
#include "policy/elastic/growth.hpp"
#include "policy/elastic/qrea.hpp"
#include "policy/ledger/accounts.hpp"

namespace fairwater::test {
namespace {

constexpr TenantId kOne{1}, kTwo{2}, kThree{3};

CreditSettlement settled(std::vector<CreditLine> lines, std::int64_t period_ms = 1000) {
  CreditSettlement settlement{period_ms, std::move(lines)};
  settle_credits(settlement);
  return settlement;
}

Accounts three_tenants() {
  Accounts accounts;
  accounts.join(kOne, 5);
  accounts.join(kTwo, 3);
  accounts.join(kThree, 2);
  return accounts;
}

TEST_CASE("who leaves a part unused earns what growth there pays", "[unit][credits]") {
  // One grows by 6; two leaves 20 units, three 10: they earn 4 and 2 for each millisecond.
  const auto settlement = settled({{kOne, 6, 0}, {kTwo, 0, 20'000'000}, {kThree, 0, 10'000'000}});
  CHECK(settlement.lines[0].change == -6000);
  CHECK(settlement.lines[1].change == 4000);
  CHECK(settlement.lines[2].change == 2000);
  // Growth within what one leaves unused oneself costs nothing.
  CHECK(settled({{kOne, 6, 1}}).lines[0].change == 0);
  // Where nobody leaves anything unused nobody pays.
  CHECK(settled({{kOne, 6, 0}, {kTwo, 2, 0}}).lines[0].change == 0);
}

TEST_CASE("credits sum to zero and are the paper's to a unit-millisecond", "[property][credits]") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    CreditSettlement settlement;
    settlement.period_ms = 1 + static_cast<std::int64_t>(random() % kMaxCreditPeriod_ms);
    const std::uint64_t most = std::uint64_t{1} << random() % 38;
    Wide extras = 0, unused = 0;
    for (std::uint32_t id = 1; id <= 1 + random() % 8; ++id) {
      settlement.lines.push_back({TenantId{id}, static_cast<Units>(random() % most),
                                  static_cast<MicroUnits>(random() % most)});
      extras += settlement.lines.back().extras;
      unused += settlement.lines.back().unused;
    }
    settle_credits(settlement);
    Wide sum = 0;
    for (const CreditLine& line : settlement.lines) {
      sum += line.change;
      if (unused == 0) continue;
      const long double exact =
          (static_cast<long double>(extras) * line.unused / static_cast<long double>(unused) -
           line.extras) *
          settlement.period_ms;
      INFO(line.change << " of " << static_cast<double>(exact));
      REQUIRE(std::abs(line.change - exact) <= 1 + std::abs(exact) * 1e-15L);
    }
    REQUIRE(sum == 0);
  }
}

TEST_CASE("a period's credits are those of QREA's round", "[unit][credits]") {
  ElasticCluster cluster;
  cluster.units = 100;
  cluster.users = {{50, {}, {{JobId{1}, 10, 70, 70}}, {}}, {30, {}, {}, {}}, {20, {}, {}, {}}};
  const ElasticRound round = Qrea{}.round(cluster);
  const auto settlement =
      settled({{kOne, 60, 40'000'000}, {kTwo, 0, 30'000'000}, {kThree, 0, 20'000'000}}, 1);
  REQUIRE(round.idle == 30);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto units = static_cast<long double>(round.credit[i].picounits) / kPicounitsPerUnit;
    CHECK(std::abs(settlement.lines[i].change - units) < 1);
  }
}

TEST_CASE("the accounts refuse credits that are not what their lines say", "[unit][credits]") {
  const auto refusal = [](const CreditSettlement& settlement) {
    Accounts accounts = three_tenants();
    return accounts.apply(settlement).value_or("applied");
  };
  const auto good = settled({{kOne, 6, 0}, {kTwo, 0, 20}, {kThree, 0, 10}});
  CHECK(refusal(good) == "applied");
  auto bad = good;
  ++bad.lines[1].change;
  CHECK(refusal(bad) == "the credit of tenant 2 changes by 4000, not 4001");
  bad = good;
  bad.lines[2].tenant = TenantId{4};
  CHECK(refusal(bad) == "tenant 4 does not exist");
  std::swap((bad = good).lines[0], bad.lines[1]);
  CHECK(refusal(bad) == "tenant 1 stands out of order");
  bad = good;
  bad.lines[0].extras = -1;
  CHECK(refusal(bad) == "tenant 1 has extras or unused units beyond bounds");
  bad = good;
  bad.period_ms = 0;
  CHECK(refusal(bad) == "a period of credits of 0 ms");
}

TEST_CASE("who leaves hands its credit on by weight, and it comes back from a snapshot",
          "[unit][credits]") {
  Accounts accounts = three_tenants();
  REQUIRE_FALSE(accounts.apply(settled({{kOne, 7, 0}, {kTwo, 0, 20}, {kThree, 0, 10}}, 1)));
  CHECK(accounts.account(kOne).credit == -7);
  CHECK(accounts.account(kTwo).credit == 4);
  CHECK(accounts.account(kThree).credit == 3);
  Accounts again = three_tenants();
  again.restore(accounts.snapshot());
  CHECK(again.snapshot() == accounts.snapshot());
  (void)again.leave(kOne);
  CHECK(again.account(kTwo).credit == 0);    // -7 * 3 / 5, cut towards zero
  CHECK(again.account(kThree).credit == 0);  // the rest of it
  (void)again.leave(kTwo);
  CHECK(again.account(kThree).credit == 0);
}

TEST_CASE("rules order tenants by credit or by extras, and bound them", "[unit][growth]") {
  const GrowthStanding rich{.credit = 5000, .extras = 9, .part = 4'000'000, .unused = 0};
  const GrowthStanding poor{.credit = -40'001, .extras = 1, .part = 4'000'000, .unused = 1'000'000};
  const GrowthTotals totals{.extras = 10, .unused = 3'000'000};
  CHECK(growth_order(GrowthRule::qrea, rich) < growth_order(GrowthRule::qrea, poor));
  CHECK(growth_order(GrowthRule::crea, poor) < growth_order(GrowthRule::crea, rich));
  CHECK_FALSE(most_extras(GrowthRule::qrea, poor, totals));
  CHECK(most_extras(GrowthRule::bra, rich, totals) == 0);
  CHECK_FALSE(most_extras(GrowthRule::qrea_rebalance, rich, totals));
  CHECK(most_extras(GrowthRule::qrea_rebalance, poor, totals) == 3);  // a third of ten
  const GrowthStanding on_the_line{.credit = -40'000, .extras = 1, .part = 4'000'000};
  CHECK_FALSE(most_extras(GrowthRule::qrea_rebalance, on_the_line, totals));
  for (const auto rule :
       {GrowthRule::qrea, GrowthRule::qrea_rebalance, GrowthRule::crea, GrowthRule::bra})
    CHECK(growth_rule_from(to_string(rule)) == rule);
  CHECK_FALSE(growth_rule_from("fair"));
}

TEST_CASE("a credit of ten minutes of all that belongs to one says something of its quota",
          "[unit][growth]") {
  const auto advice = [](Units credit) {
    return credit_advice({.credit = credit, .extras = 0, .part = 4'000'000, .unused = 0});
  };
  CHECK(advice(2'400'000) == CreditAdvice::none);
  CHECK(advice(2'400'001) == CreditAdvice::quota_too_large);
  CHECK(advice(-2'400'001) == CreditAdvice::quota_too_small);
  CHECK(to_string(advice(-2'400'000)).empty());
}

}  // namespace
}  // namespace fairwater::test
