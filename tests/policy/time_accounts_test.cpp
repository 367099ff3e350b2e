// The ledger's time: what is held beside what belongs to each, against a slow oracle that adds up
// millisecond by millisecond.
#include "policy/ledger/time_accounts.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

namespace fairwater::test {
namespace {

constexpr TenantId kOne{1};
constexpr TenantId kTwo{2};
constexpr TenantId kThree{3};

constexpr MicroUnits units(std::int64_t whole) { return whole * kMicroUnitsPerUnit; }

/// Tenants 1, 2, ... with these parts.
TimeAccounts accounts_with(const std::vector<MicroUnits>& parts) {
  TimeAccounts accounts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const TenantId tenant{static_cast<std::uint32_t>(i + 1)};
    accounts.join(tenant);
    accounts.set_part(tenant, parts[i]);
  }
  return accounts;
}

Units nobody_owes(TenantId) { return 0; }

/// It holds so much more.
void hold(TimeAccounts& accounts, TenantId tenant, MicroUnits more) {
  accounts.set_held(tenant, accounts.held(tenant) + more);
}

std::map<TenantId, Units> positions_of(const std::optional<TimeSettlement>& settlement) {
  std::map<TenantId, Units> positions;
  if (settlement)
    for (const TimeLine& line : settlement->lines)
      if (line.position != 0) positions[line.tenant] = line.position;
  return positions;
}

TEST_CASE("who holds more than its part borrows from all who hold less, in proportion") {
  TimeAccounts accounts = accounts_with({units(8), units(6), units(2)});
  hold(accounts, kOne, units(12));
  accounts.pass_to(1000);
  // Four are borrowed; eight were there to lend, of which four stay idle.
  const auto settlement = accounts.settle(nobody_owes);
  REQUIRE(settlement);
  CHECK(settlement->from_ms == 0);
  CHECK(settlement->until_ms == 1000);
  CHECK(positions_of(settlement) ==
        std::map<TenantId, Units>{{kOne, -4000}, {kTwo, 3000}, {kThree, 1000}});
}

TEST_CASE("room that nobody holds is nobody's loan") {
  TimeAccounts accounts = accounts_with({units(8), units(8)});
  hold(accounts, kOne, units(5));
  accounts.pass_to(60'000);
  CHECK_FALSE(accounts.settle(nobody_owes));
  CHECK(accounts.settled_ms() == 60'000);
}

TEST_CASE("one that waits below its part because others run lends too") {
  TimeAccounts accounts = accounts_with({units(8), units(8)});
  hold(accounts, kOne, units(16));
  accounts.pass_to(500);
  hold(accounts, kOne, -units(8));
  hold(accounts, kTwo, units(8));
  accounts.pass_to(1000);
  CHECK(positions_of(accounts.settle(nobody_owes)) ==
        std::map<TenantId, Units>{{kOne, -4000}, {kTwo, 4000}});
  accounts.pass_to(5000);
  CHECK_FALSE(accounts.settle(nobody_owes));
}

TEST_CASE("without the right to lend or to borrow there is no loan, and the others' is their own") {
  TimeAccounts accounts = accounts_with({units(4), units(4), units(4), units(4)});
  accounts.set_rights(kOne, false, true);
  hold(accounts, kThree, units(6));
  accounts.pass_to(1000);
  // Of two that are borrowed, a third each falls to the first, the second and the fourth.
  auto positions = positions_of(accounts.settle(nobody_owes));
  CHECK(positions[kOne] == 0);
  CHECK(positions[kThree] == -1333);
  CHECK(positions[kTwo] + positions[TenantId{4}] == 1333);
  CHECK(std::abs(positions[kTwo] - 667) <= 1);

  accounts.set_rights(kThree, false, false);
  accounts.pass_to(2000);
  CHECK_FALSE(accounts.settle(nobody_owes));
}

TEST_CASE("without the right to lend debts are paid back, without that to borrow claims are") {
  TimeAccounts accounts = accounts_with({units(4), units(4)});
  accounts.set_rights(kOne, GENERATE(true, false), true);
  accounts.set_rights(kTwo, true, GENERATE(true, false));
  hold(accounts, kOne, units(1));
  hold(accounts, kTwo, units(7));
  const Units owed = 4000;
  const auto net = [&](TenantId tenant) { return tenant == kOne ? -owed : owed; };
  accounts.pass_to(1000);
  CHECK(positions_of(accounts.settle(net)) ==
        std::map<TenantId, Units>{{kOne, 3000}, {kTwo, -3000}});
}

TEST_CASE("no more is paid back than is owed") {
  const bool lends = GENERATE(true, false);
  TimeAccounts accounts = accounts_with({units(4), units(4)});
  accounts.set_rights(kOne, lends, true);
  accounts.set_rights(kTwo, true, !lends);
  hold(accounts, kOne, units(1));
  hold(accounts, kTwo, units(7));
  const auto net = [](TenantId tenant) { return tenant == kOne ? -700 : 700; };
  accounts.pass_to(1000);
  CHECK(positions_of(accounts.settle(net)) == std::map<TenantId, Units>{{kOne, 700}, {kTwo, -700}});
}

TEST_CASE("a leaver's rest goes to another, and rests sum to zero still") {
  TimeAccounts accounts = accounts_with({1'333'333, 1'333'333, 1'333'334});
  hold(accounts, kOne, units(4));
  accounts.pass_to(1);
  (void)accounts.settle(nobody_owes);
  const auto rest_of = [&](TenantId tenant) { return accounts.account(tenant).rest; };
  REQUIRE(rest_of(kThree) != 0);
  accounts.leave(kThree);
  CHECK(rest_of(kOne) + rest_of(kTwo) == 0);
}

/// Adds up millisecond by millisecond.
struct Oracle {
  std::vector<MicroUnits> held;
  std::vector<MicroUnits> parts;
  std::vector<Wide> deviation;  ///< integral of held - part

  void pass(std::int64_t ms) {
    for (std::int64_t i = 0; i < ms; ++i)
      for (std::size_t t = 0; t < held.size(); ++t) deviation[t] += held[t] - parts[t];
  }
};

/// Whole millionths of `capacity` by random weights.
std::vector<MicroUnits> random_split(std::mt19937_64& random, std::size_t count,
                                     MicroUnits capacity) {
  std::vector<MicroUnits> cuts{0, capacity};
  for (std::size_t i = 1; i < count; ++i)
    cuts.push_back(static_cast<MicroUnits>(random() % static_cast<std::uint64_t>(capacity)));
  std::sort(cuts.begin(), cuts.end());
  std::vector<MicroUnits> parts;
  for (std::size_t i = 0; i < count; ++i) parts.push_back(cuts[i + 1] - cuts[i]);
  return parts;
}

TEST_CASE("while all is held, nets are exactly what was held beside the part", "[property]") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const std::size_t tenants = 2 + random() % 7;
    const MicroUnits capacity = units(static_cast<std::int64_t>(1 + random() % 1000));
    Oracle oracle{random_split(random, tenants, capacity), random_split(random, tenants, capacity),
                  std::vector<Wide>(tenants, 0)};
    TimeAccounts accounts = accounts_with(oracle.parts);
    const auto id = [](std::size_t t) { return TenantId{static_cast<std::uint32_t>(t + 1)}; };
    for (std::size_t t = 0; t < tenants; ++t) hold(accounts, id(t), oracle.held[t]);
    TimeAccounts stored = accounts_with(std::vector<MicroUnits>(tenants, 0));
    std::vector<Wide> nets(tenants, 0);
    for (int step = 0; step < 60; ++step) {
      const auto ms = static_cast<std::int64_t>(random() % 50);
      accounts.pass_to(accounts.now_ms() + ms);
      oracle.pass(ms);
      // Some of one tenant's room becomes another's, or the parts change.
      const std::size_t from = random() % tenants;
      const std::size_t to = random() % tenants;
      if (random() % 8 == 0) {
        oracle.parts = random_split(random, tenants, capacity);
        for (std::size_t t = 0; t < tenants; ++t) accounts.set_part(id(t), oracle.parts[t]);
      } else if (oracle.held[from] > 0) {
        const auto moved =
            static_cast<MicroUnits>(random() % static_cast<std::uint64_t>(oracle.held[from]) + 1);
        oracle.held[from] -= moved;
        oracle.held[to] += moved;
        hold(accounts, id(from), -moved);
        hold(accounts, id(to), moved);
      }
      if (random() % 3 == 0) {
        const auto settlement = accounts.settle(nobody_owes);
        for (const auto& [tenant, units] : positions_of(settlement))
          nets[tenant.value - 1] += units;
        if (settlement) REQUIRE_FALSE(stored.apply(*settlement));
        for (std::size_t t = 0; t < tenants; ++t) {
          REQUIRE(stored.account(id(t)).rest == accounts.account(id(t)).rest);
          REQUIRE(stored.account(id(t)).held_total == accounts.account(id(t)).held_total);
        }
      }
      if (random() % 10 == 0) {  // a restart
        TimeAccounts again = accounts_with(std::vector<MicroUnits>(tenants, 0));
        again.restore(accounts.snapshot());
        for (std::size_t t = 0; t < tenants; ++t) {
          again.set_part(id(t), oracle.parts[t]);
          hold(again, id(t), oracle.held[t]);
        }
        REQUIRE(again.snapshot() == accounts.snapshot());
        accounts = std::move(again);
      }
      Wide sum = 0;
      for (std::size_t t = 0; t < tenants; ++t) {
        const TimeAccount account = accounts.account(id(t));
        sum += nets[t];
        REQUIRE((account.rest < kMicroUnitsPerUnit && -account.rest < kMicroUnitsPerUnit));
        REQUIRE(nets[t] * kMicroUnitsPerUnit + account.rest + account.spare - account.borrowed ==
                -oracle.deviation[t]);
      }
      REQUIRE(sum == 0);
    }
  }
}

TEST_CASE("a settlement that does not add up or does not follow is refused") {
  TimeAccounts accounts = accounts_with({units(4), units(4)});
  hold(accounts, kOne, units(8));
  accounts.pass_to(1000);
  const auto settlement = accounts.settle(nobody_owes);
  REQUIRE(settlement);
  const auto refusal_of = [](const TimeSettlement& changed) {
    TimeAccounts kept = accounts_with({0, 0});
    return kept.apply(changed);
  };
  CHECK_FALSE(refusal_of(*settlement));
  TimeSettlement changed = *settlement;
  ++changed.lines[0].position;
  CHECK(refusal_of(changed) == "what is lent is not what is borrowed");
  changed = *settlement;
  changed.lines[1].rest = 1;
  CHECK(refusal_of(changed));
  changed = *settlement;
  changed.lines[1].tenant = kThree;
  CHECK(refusal_of(changed) == "tenant 3 does not exist");
  changed = *settlement;
  changed.until_ms = -1;
  CHECK(refusal_of(changed));
}

TEST_CASE("with idle room what is lent is what is borrowed, whatever its size", "[property]") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const std::size_t tenants = 2 + random() % 7;
    TimeAccounts accounts = accounts_with(
        random_split(random, tenants, units(static_cast<std::int64_t>(1 + random() % 10'000'000))));
    const auto id = [](std::size_t t) { return TenantId{static_cast<std::uint32_t>(t + 1)}; };
    for (std::size_t t = 0; t < tenants; ++t)
      accounts.set_rights(id(t), random() % 4 != 0, random() % 4 != 0);
    for (int step = 0; step < 40; ++step) {
      const TenantId tenant = id(random() % tenants);
      const MicroUnits part = accounts.part(tenant);
      const auto wanted =
          static_cast<MicroUnits>(random() % static_cast<std::uint64_t>(part + part + 1));
      hold(accounts, tenant, wanted - accounts.held(tenant));
      // Up to years at once.
      accounts.pass_to(accounts.now_ms() +
                       static_cast<LedgerMs>(random() % (std::uint64_t{1} << (random() % 38))));
      std::vector<TimeAccount> before;
      Wide borrowed = 0;
      Wide spare = 0;
      for (std::size_t t = 0; t < tenants; ++t) {
        before.push_back(accounts.account(id(t)));
        borrowed += before.back().borrowed;
        spare += before.back().spare;
      }
      const auto positions = positions_of(accounts.settle(nobody_owes));
      Wide sum = 0;
      Wide rests = 0;
      for (std::size_t t = 0; t < tenants; ++t) {
        const auto found = positions.find(id(t));
        const Wide position = found == positions.end() ? 0 : found->second;
        const TimeAccount after = accounts.account(id(t));
        sum += position;
        rests += after.rest;
        REQUIRE((after.rest < kMicroUnitsPerUnit && -after.rest < kMicroUnitsPerUnit));
        const Wide moved = position * kMicroUnitsPerUnit + after.rest - before[t].rest;
        // Over years, parts of what is lent are exact to 40 bits.
        const Wide slack = (borrowed + spare) >> 38;
        REQUIRE((moved <= before[t].spare + slack && -moved <= before[t].borrowed + slack));
      }
      REQUIRE(sum == 0);
      REQUIRE(rests == 0);
      if (borrowed == 0 || spare == 0) REQUIRE(positions.empty());
    }
  }
}

/// What a settlement makes of these accounts, by plain divisions: positions and rests.
struct PlainSettlement {
  struct Line {
    Wide position = 0;
    Wide rest = 0;
  };
  std::vector<Line> lines;
  bool is_exact = true;

  /// floor(whole * part / all), of so large amounts only the first 40 bits.
  static Wide share(Wide whole, Wide part, Wide all) {
    if (part == all) return whole;
    const bool is_large = whole >= (Wide{1} << 63) || all >= (Wide{1} << 63);
    while (is_large && all >= (Wide{1} << 40)) {
      all /= 2;
      part /= 2;
    }
    return whole * part / all;
  }

  /// `owed`: where each stands, in micro-unit-milliseconds.
  PlainSettlement(const std::vector<TimeAccount>& accounts, const std::vector<bool>& may_lend,
                  const std::vector<bool>& may_borrow, const std::vector<Wide>& owed_to)
      : lines(accounts.size()) {
    Wide borrowed = 0, spare = 0, charged = 0, lendable = 0;
    std::vector<Wide> charges, loans_of;
    for (std::size_t t = 0; t < accounts.size(); ++t) {
      borrowed += accounts[t].borrowed;
      spare += accounts[t].spare;
      const Wide debt = std::max<Wide>(-owed_to[t], 0), claim = std::max<Wide>(owed_to[t], 0);
      charges.push_back(may_borrow[t] ? accounts[t].borrowed
                                      : std::min(accounts[t].borrowed, claim));
      loans_of.push_back(may_lend[t] ? accounts[t].spare : std::min(accounts[t].spare, debt));
      charged += charges[t];
      lendable += loans_of[t];
      lines[t].rest = accounts[t].rest;
    }
    is_exact = std::max(borrowed, spare) < (Wide{1} << 63);
    if (charged == 0 || lendable == 0) return;
    const Wide loans = share(share(std::min(borrowed, spare), lendable, spare), charged, borrowed);
    const auto until = [&](Wide part, Wide all) {
      return loans == all ? part : share(loans, part, all);
    };
    Wide lent = 0, owed = 0, sum = 0, whole = 0;
    for (std::size_t t = 0; t < accounts.size(); ++t) {
      const Wide lent_before = lent, owed_before = owed;
      lent += loans_of[t];
      owed += charges[t];
      const Wide due = accounts[t].rest + until(lent, lendable) - until(lent_before, lendable) -
                       until(owed, charged) + until(owed_before, charged);
      sum += due;
      const Wide whole_before = whole;
      whole = sum / kMicroUnitsPerUnit - (sum % kMicroUnitsPerUnit < 0 ? 1 : 0);
      lines[t] = {whole - whole_before, due - (whole - whole_before) * kMicroUnitsPerUnit};
    }
  }
};

TEST_CASE("a settlement is what plain divisions make it, whatever its size", "[property]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const std::size_t tenants = 2 + random() % 40;
    TimeAccounts accounts = accounts_with(
        random_split(random, tenants, units(static_cast<std::int64_t>(1 + random() % 10'000'000))));
    const auto id = [](std::size_t t) { return TenantId{static_cast<std::uint32_t>(t + 1)}; };
    std::vector<bool> may_lend, may_borrow;
    for (std::size_t t = 0; t < tenants; ++t) {
      may_lend.push_back(random() % 8 != 0);
      may_borrow.push_back(random() % 8 != 0);
      accounts.set_rights(id(t), may_lend[t], may_borrow[t]);
    }
    // Seconds, hours or years at once.
    const auto longest = std::uint64_t{1} << (10 + random() % 28);
    std::vector<TimeAccounts::Integrals> passed(tenants);
    std::vector<Units> nets(tenants);
    bool is_exact = true;
    for (int step = 0; step < 40; ++step) {
      // Most hold nothing, as tenants that are asleep.
      const TenantId holder = id(random() % (1 + tenants / 4));
      const auto most = static_cast<std::uint64_t>(4 * accounts.part(holder) + 1);
      accounts.set_held(holder, static_cast<MicroUnits>(random() % most));
      const auto ms = static_cast<LedgerMs>(random() % longest);
      accounts.pass_to(accounts.now_ms() + ms);
      std::vector<TimeAccount> before;
      for (std::size_t t = 0; t < tenants; ++t) {
        before.push_back(accounts.account(id(t)));
        passed[t].held += Wide{accounts.held(id(t))} * ms;
        passed[t].part += Wide{accounts.part(id(t))} * ms;
      }
      if (random() % 3 == 0) continue;
      std::vector<Wide> owed_to;
      for (std::size_t t = 0; t < tenants; ++t)
        owed_to.push_back(Wide{nets[t]} * kMicroUnitsPerUnit + before[t].rest);
      const PlainSettlement plain(before, may_lend, may_borrow, owed_to);
      const auto positions =
          positions_of(accounts.settle([&](TenantId tenant) { return nets[tenant.value - 1]; }));
      for (std::size_t t = 0; t < tenants; ++t) {
        const auto found = positions.find(id(t));
        REQUIRE((found == positions.end() ? 0 : found->second) == plain.lines[t].position);
        nets[t] += static_cast<Units>(plain.lines[t].position);
        // By rounding alone.
        is_exact = is_exact && plain.is_exact;
        if (is_exact && !may_lend[t]) REQUIRE(nets[t] <= 1);
        if (is_exact && !may_borrow[t]) REQUIRE(nets[t] >= -1);
        REQUIRE(accounts.account(id(t)).rest == plain.lines[t].rest);
        const TimeAccounts::Integrals integrals = accounts.integrals(id(t));
        REQUIRE((integrals.held == passed[t].held && integrals.part == passed[t].part));
      }
    }
  }
}

}  // namespace
}  // namespace fairwater::test
