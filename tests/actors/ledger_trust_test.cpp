// When a ledger is taken for the newest, by itself and against what agents have seen.
#include "actors/coordinator/ledger_trust.hpp"

#include <catch2/catch.hpp>

using namespace fairwater;

namespace {

constexpr NodeId kNorth{1};
constexpr NodeId kSouth{2};
constexpr NodeId kWest{3};

Hash hash_of_byte(std::uint8_t byte) {
  Hash result;
  result.fill(byte);
  return result;
}

/// A ledger that ends at record 100.
LedgerEnd ledger_at(std::uint32_t incarnation = 0, std::uint64_t given_up = 0) {
  return {{incarnation, 100, hash_of_byte(100)}, given_up};
}

}  // namespace

TEST_CASE("An agent contradicts a ledger that lacks what it has seen", "[unit]") {
  CHECK_FALSE(contradiction({}, ledger_at(), {}));
  CHECK_FALSE(contradiction({0, 100, hash_of_byte(100)}, ledger_at(), hash_of_byte(100)));
  CHECK_FALSE(contradiction({0, 50, hash_of_byte(50)}, ledger_at(), hash_of_byte(50)));
  CHECK(contradiction({0, 101, hash_of_byte(101)}, ledger_at(), {}));
  CHECK(contradiction({0, 50, hash_of_byte(51)}, ledger_at(), hash_of_byte(50)));
  CHECK(contradiction({1, 50, hash_of_byte(50)}, ledger_at(), {}));

  SECTION("an older agent's number alone") {
    CHECK_FALSE(contradiction({0, 50, {}}, ledger_at(), hash_of_byte(50)));
    CHECK(contradiction({0, 101, {}}, ledger_at(), {}));
  }
  SECTION("what an operator gave up contradicts nothing, what comes beyond it does") {
    CHECK_FALSE(contradiction({0, 150, hash_of_byte(1)}, ledger_at(1, 200), {}));
    CHECK(contradiction({0, 201, hash_of_byte(1)}, ledger_at(1, 200), {}));
    CHECK(contradiction({1, 150, hash_of_byte(1)}, ledger_at(1, 200), {}));
    CHECK(contradiction({2, 10, hash_of_byte(1)}, ledger_at(1, 200), {}));
  }
}

TEST_CASE("A ledger without nodes is trusted at once", "[unit]") {
  CHECK(LedgerTrust({}, false).holds());
  CHECK(LedgerTrust({}, true).holds());
}

TEST_CASE("A ledger that stands where it stood is trusted by half of its nodes", "[unit]") {
  LedgerTrust trust({kNorth, kSouth, kWest}, false);
  CHECK_FALSE(trust.holds());
  CHECK(trust.why_not().find("3 known node(s)") != std::string::npos);
  trust.agree(kNorth);
  trust.agree(kNorth);
  CHECK_FALSE(trust.holds());
  SECTION("when the second agrees") { trust.agree(kSouth); }
  SECTION("or is lost") { trust.lose(kSouth); }
  SECTION("or is removed") { trust.remove(kSouth); }
  CHECK(trust.holds());
  CHECK(trust.why_not().empty());
}

TEST_CASE("A copied ledger is trusted by all of its nodes, and silence is no word", "[unit]") {
  LedgerTrust trust({kNorth, kSouth}, true);
  trust.agree(kNorth);
  trust.lose(kSouth);
  CHECK_FALSE(trust.holds());
  CHECK(trust.awaited() == std::set{kSouth});
  SECTION("the last agrees") { trust.agree(kSouth); }
  SECTION("an operator vouches") { trust.vouch(); }
  CHECK(trust.holds());
}

TEST_CASE("A doubt stops a trusted ledger until it ends", "[unit]") {
  LedgerTrust trust({kNorth}, false);
  trust.agree(kNorth);
  trust.doubt(kSouth, {{0, 101, {}}, "has seen more", WallTime{5}});
  CHECK_FALSE(trust.holds());
  trust.doubt(kSouth, {{0, 102, {}}, "has seen more", WallTime{9}});
  CHECK(trust.doubts().at(kSouth).since == WallTime{5});
  CHECK(trust.doubts().at(kSouth).seen.number == 102);
  SECTION("the node agrees") { trust.agree(kSouth); }
  SECTION("the node is removed") { trust.remove(kSouth); }
  SECTION("an operator vouches") { trust.vouch(); }
  CHECK(trust.holds());
}

TEST_CASE("Vouching leaves out all that the lost life may have numbered", "[unit]") {
  LedgerTrust trust({kNorth, kSouth}, true);
  const LedgerMark end{1, 100, hash_of_byte(100)};
  const auto quiet = trust.vouching(end, "all nodes are gone");
  CHECK(quiet.incarnation == 2);
  CHECK(quiet.given_up > 100);
  CHECK(quiet.skipped_jobs == quiet.given_up - 100);
  CHECK(quiet.reason == "all nodes are gone");

  trust.doubt(kNorth, {{3, 5'000, {}}, "", {}});
  trust.doubt(kSouth, {{1, 900, {}}, "", {}});
  const auto record = trust.vouching(end, "");
  CHECK(record.incarnation == 4);  // newer than any that a node knows
  CHECK(record.given_up > 5'000);
  CHECK(record.skipped_jobs > 4'900);
  for (const auto& [node, doubt] : trust.doubts())
    CHECK_FALSE(contradiction(doubt.seen, {{record.incarnation, 101, {}}, record.given_up}, {}));
  trust.doubt(kWest, {{1, ~std::uint64_t{0}, {}}, "", {}});
  CHECK(trust.vouching(end, "").given_up == ~std::uint64_t{0});
  CHECK(trust.vouching(end, "").skipped_jobs <= 1'000'000'000);
}
