// What bounds the loans of a settlement by the caps of tenants, against what can flow from lenders
// to borrowers at most.
#include "policy/ledger/loan_caps.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace fairwater::test {
namespace {

constexpr TenantId kFirst{1}, kSecond{2}, kThird{3}, kFourth{4};

TEST_CASE("nobody borrows beyond its cap, and lenders lend less in proportion",
          "[unit][loan_caps]") {
  TimeSettlement settlement;
  settlement.lines = {{.tenant = kFirst, .position = -90},
                      {.tenant = kSecond, .position = 80},
                      {.tenant = kThird, .position = 40},
                      {.tenant = kFourth, .position = -30}};
  cap_loans(settlement, [](TenantId tenant) {
    return LoanRoom{.borrow = tenant == kFirst ? Units{60} : kUnlimited};
  });
  const auto line = [&](std::size_t i) {
    return std::pair(settlement.lines[i].position, settlement.lines[i].beyond_cap);
  };
  CHECK(line(0) == std::pair<Units, Units>{-60, -30});
  CHECK(line(1) == std::pair<Units, Units>{60, 20});
  CHECK(line(2) == std::pair<Units, Units>{30, 10});
  CHECK(line(3) == std::pair<Units, Units>{-30, 0});
}

TEST_CASE("nobody lends beyond its cap, and borrowers owe less in proportion",
          "[unit][loan_caps]") {
  TimeSettlement settlement;
  settlement.lines = {{.tenant = kFirst, .position = -90},
                      {.tenant = kSecond, .position = 80},
                      {.tenant = kThird, .position = 40},
                      {.tenant = kFourth, .position = -30}};
  cap_loans(settlement, [](TenantId tenant) {
    return LoanRoom{.lend = tenant == kSecond ? Units{20} : kUnlimited};
  });
  const auto line = [&](std::size_t i) {
    return std::pair(settlement.lines[i].position, settlement.lines[i].beyond_cap);
  };
  CHECK(line(0) == std::pair<Units, Units>{-45, -45});
  CHECK(line(1) == std::pair<Units, Units>{20, 60});
  CHECK(line(2) == std::pair<Units, Units>{40, 0});
  CHECK(line(3) == std::pair<Units, Units>{-15, -15});
}

TEST_CASE("as much is lent as caps of both sides allow, by each in proportion",
          "[property][loan_caps]") {
  std::uint64_t cut_lenders = 0;
  std::uint64_t cut_borrowers = 0;
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto below = [&](Units bound) {
      return static_cast<Units>(random() % static_cast<std::uint64_t>(bound));
    };
    const Units scale = random() % 2 == 0 ? Units{20} : Units{1} << 58;
    TimeSettlement settlement;
    std::map<TenantId, LoanRoom> rooms;
    Units left = 0;
    const auto tenants = static_cast<std::uint32_t>(2 + random() % 7);
    for (std::uint32_t t = 1; t <= tenants; ++t) {
      const Units position = t == tenants ? -left : below(scale) - scale / 2;
      left += position;
      settlement.lines.push_back({.tenant = TenantId{t}, .position = position});
      LoanRoom& room = rooms[TenantId{t}];
      if (random() % 3 == 0) room.lend = below(scale);
      if (random() % 3 == 0) room.borrow = below(scale);
    }
    const TimeSettlement before = settlement;
    cap_loans(settlement, [&](TenantId tenant) { return rooms.at(tenant); });

    // What each may by its own caps, and how much of that the other side can match.
    Wide lent = 0;
    Wide borrowed = 0;
    std::vector<Units> allowed;
    for (const TimeLine& line : before.lines) {
      const LoanRoom& room = rooms.at(line.tenant);
      allowed.push_back(line.position > 0 ? std::min(line.position, room.lend)
                                          : -std::min(-line.position, room.borrow));
      (allowed.back() > 0 ? lent : borrowed) += std::abs(allowed.back());
    }
    const Wide matched = std::min(lent, borrowed);
    Wide sum = 0;
    Wide beyond = 0;
    Wide kept = 0;
    for (std::size_t i = 0; i < allowed.size(); ++i) {
      const TimeLine& line = settlement.lines[i];
      REQUIRE(line.position + line.beyond_cap == before.lines[i].position);
      sum += line.position;
      beyond += line.beyond_cap;
      kept += std::max<Units>(line.position, 0);
      // |position| is |allowed| * matched / (its side's), within a unit.
      const Wide side = allowed[i] > 0 ? lent : borrowed;
      if (side == 0) {
        REQUIRE(line.position == 0);
        continue;
      }
      const Wide off = Wide{std::abs(line.position)} * side - Wide{std::abs(allowed[i])} * matched;
      REQUIRE(off < side);
      REQUIRE(-off < side);
      REQUIRE(line.position * (allowed[i] > 0 ? 1 : -1) >= 0);
      REQUIRE(std::abs(line.position) <= std::abs(allowed[i]));
    }
    REQUIRE(sum == 0);
    REQUIRE(beyond == 0);
    REQUIRE(kept == matched);
    cut_lenders += lent > borrowed;
    cut_borrowers += lent < borrowed;
  }
  CHECK(cut_lenders > 2000);
  CHECK(cut_borrowers > 2000);
}

TEST_CASE("a cap in a group takes off its siblings what the group has more", "[unit][loan_caps]") {
  LoanGroups groups;
  const auto group = groups.add(LoanGroups::kNone, {});
  groups.put(kFirst, group);
  groups.put(kSecond, group);
  const auto capped = [&](const std::vector<Units>& positions) {
    TimeSettlement settlement;
    for (std::size_t i = 0; i < positions.size(); ++i)
      settlement.lines.push_back(
          {.tenant = TenantId{static_cast<std::uint32_t>(i + 1)}, .position = positions[i]});
    cap_loans(
        settlement,
        [](TenantId tenant) {
          return LoanRoom{.borrow = tenant == kFirst ? Units{20} : kUnlimited};
        },
        groups);
    std::vector<Units> left;
    for (const TimeLine& line : settlement.lines) left.push_back(line.position);
    return left;
  };
  using Positions = std::vector<Units>;
  // It was even with the others.
  CHECK(capped({-60, 60, -40, 40}) == Positions{-20, 20, -40, 40});
  // It borrowed, and lends nothing for that.
  CHECK(capped({-60, 40, -10, 30}) == Positions{-20, 20, -10, 10});
  // It lent no less than before, but borrowers there are less.
  CHECK(capped({-60, 90, -40, 10}) == Positions{-20, 50, -40, 10});
}

/// A tree of groups with tenants, drawn, and what can flow in it from lenders to borrowers.
struct DrawnTree {
  std::mt19937_64 random;
  LoanGroups groups;
  std::vector<LoanRoom> group_rooms;  ///< no more than before
  std::map<TenantId, LoanRoom> rooms;
  TimeSettlement settlement;

  explicit DrawnTree(std::uint64_t seed) : random(seed) {
    const auto count = below(5);
    for (std::uint64_t g = 0; g < count; ++g) {
      groups.add(below(2) == 0 ? LoanGroups::kNone : some_group(g), {});
    }
    const auto tenants = 2 + below(7);
    Units left = 0;
    for (std::uint64_t t = 1; t <= tenants; ++t) {
      const TenantId tenant{static_cast<std::uint32_t>(t)};
      const Units position = t == tenants ? -left : static_cast<Units>(below(21)) - 10;
      left += position;
      settlement.lines.push_back({.tenant = tenant, .position = position});
      rooms[tenant] = draw_room();
      if (count > 0 && below(4) != 0) groups.put(tenant, some_group(count));
    }
    std::vector<Units> positions;
    for (const TimeLine& line : settlement.lines) positions.push_back(line.position);
    for (const Units sum : sums(positions))
      group_rooms.push_back({std::max<Units>(sum, 0), std::max<Units>(-sum, 0)});
  }
  std::uint64_t below(std::uint64_t bound) { return random() % bound; }
  LoanGroups::Number some_group(std::uint64_t of) {
    return of == 0 ? LoanGroups::kNone : static_cast<LoanGroups::Number>(below(of));
  }
  LoanRoom draw_room() {
    LoanRoom room;
    if (below(3) == 0) room.lend = static_cast<Units>(below(6));
    if (below(3) == 0) room.borrow = static_cast<Units>(below(6));
    return room;
  }
  [[nodiscard]] Units allowed(const TimeLine& line) const {
    const LoanRoom& room = rooms.at(line.tenant);
    return std::clamp(line.position, -room.borrow, room.lend);
  }
  [[nodiscard]] std::vector<LoanGroups::Number> path(TenantId tenant) const {
    std::vector<LoanGroups::Number> groups_around;
    for (auto at = groups.innermost(tenant); at != LoanGroups::kNone; at = groups.around(at))
      groups_around.push_back(at);
    return groups_around;
  }
  /// By group, of positions.
  [[nodiscard]] std::vector<Units> sums(const std::vector<Units>& positions) const {
    std::vector<Units> found(groups.size());
    for (std::size_t i = 0; i < positions.size(); ++i)
      for (const auto group : path(settlement.lines[i].tenant)) found[group] += positions[i];
    return found;
  }
  [[nodiscard]] bool is_allowed(const std::vector<Units>& positions) const {
    const std::vector<Units> of = sums(positions);
    for (std::size_t g = 0; g < of.size(); ++g)
      if (of[g] > group_rooms[g].lend || -of[g] > group_rooms[g].borrow) return false;
    return true;
  }
  /// One unit after the other on the shortest way that is left: a maximum flow. The way goes up
  /// from a lender to the innermost group that a borrower is in too, and down to it, or takes back
  /// what went the other way.
  [[nodiscard]] Units most_lent() const;
};

/// Nodes: lines, then groups, then the top, from which all flows.
Units DrawnTree::most_lent() const {
  const std::size_t lines = settlement.lines.size();
  const std::size_t top = lines + groups.size();
  const auto node_of = [&](LoanGroups::Number group) {
    return group == LoanGroups::kNone ? top : lines + group;
  };
  std::vector<std::size_t> parents(top);
  std::vector<Units> up(top, kUnlimited), down(top, kUnlimited);  // left on the way to the parent
  std::vector<Units> to_give(lines), to_take(lines);
  for (std::size_t i = 0; i < lines; ++i) {
    parents[i] = node_of(groups.innermost(settlement.lines[i].tenant));
    const Units position = allowed(settlement.lines[i]);
    to_give[i] = std::max<Units>(position, 0);
    to_take[i] = std::max<Units>(-position, 0);
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    parents[lines + g] = node_of(groups.around(g));
    up[lines + g] = group_rooms[g].lend;
    down[lines + g] = group_rooms[g].borrow;
  }
  Units lent = 0;
  for (std::size_t from = 0; from < lines; ++from) {
    while (to_give[from] > 0) {
      std::map<std::size_t, std::size_t> came_from{{from, from}};
      std::vector<std::size_t> open{from};
      std::optional<std::size_t> to;
      for (std::size_t i = 0; i < open.size() && !to; ++i) {
        const std::size_t at = open[i];
        if (at < lines && to_take[at] > 0) to = at;
        if (at < top && up[at] > 0 && came_from.emplace(parents[at], at).second)
          open.push_back(parents[at]);
        for (std::size_t child = 0; child < top; ++child)
          if (parents[child] == at && down[child] > 0 && came_from.emplace(child, at).second)
            open.push_back(child);
      }
      if (!to) break;
      for (std::size_t at = *to; at != from; at = came_from.at(at)) {
        const std::size_t before = came_from.at(at);
        const bool goes_up = before < top && parents[before] == at;
        const std::size_t edge = goes_up ? before : at;
        up[edge] += goes_up ? -1 : 1;
        down[edge] += goes_up ? 1 : -1;
      }
      --to_give[from];
      --to_take[*to];
      ++lent;
    }
  }
  return lent;
}

TEST_CASE("as much is lent as caps and groups that lend no more than before allow",
          "[property][loan_caps]") {
  int bounded_by_groups = 0;
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    INFO("seed " << seed);
    DrawnTree tree(seed);
    const TimeSettlement before = tree.settlement;
    const Units most = tree.most_lent();
    cap_loans(
        tree.settlement, [&](TenantId tenant) { return tree.rooms.at(tenant); }, tree.groups);
    std::vector<Units> positions;
    Units sum = 0;
    Units lent = 0;
    Units borrowed_before = 0;
    Units lent_before = 0;
    for (std::size_t i = 0; i < before.lines.size(); ++i) {
      const TimeLine& line = tree.settlement.lines[i];
      const Units allowed = tree.allowed(before.lines[i]);
      REQUIRE(line.position + line.beyond_cap == before.lines[i].position);
      REQUIRE(line.position * (allowed < 0 ? -1 : 1) >= 0);
      REQUIRE(std::abs(line.position) <= std::abs(allowed));
      positions.push_back(line.position);
      sum += line.position;
      lent += std::max<Units>(line.position, 0);
      lent_before += std::max<Units>(allowed, 0);
      borrowed_before += std::max<Units>(-allowed, 0);
    }
    REQUIRE(sum == 0);
    REQUIRE(tree.is_allowed(positions));
    REQUIRE(lent == most);
    bounded_by_groups += lent < std::min(lent_before, borrowed_before);
  }
  CHECK(bounded_by_groups > 300);
}

}  // namespace
}  // namespace fairwater::test
