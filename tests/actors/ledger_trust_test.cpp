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
  CHECK_FALSE(contradiction({"", {0, 100, hash_of_byte(100)}}, ledger_at(), hash_of_byte(100)));
  CHECK_FALSE(contradiction({"", {0, 50, hash_of_byte(50)}}, ledger_at(), hash_of_byte(50)));
  CHECK(contradiction({"", {0, 101, hash_of_byte(101)}}, ledger_at(), {}));
  CHECK(contradiction({"", {0, 50, hash_of_byte(51)}}, ledger_at(), hash_of_byte(50)));
  CHECK(contradiction({"", {1, 50, hash_of_byte(50)}}, ledger_at(), {}));

  SECTION("an older agent's number alone") {
    CHECK_FALSE(contradiction({"", {0, 50, {}}}, ledger_at(), hash_of_byte(50)));
    CHECK(contradiction({"", {0, 101, {}}}, ledger_at(), {}));
  }
  SECTION("a coordinator of a higher epoch") {
    LedgerEnd end = ledger_at();
    end.epoch = 5;
    const LedgerMark seen{0, 50, {}};
    CHECK_FALSE(contradiction({"", seen}, end, {}));
    CHECK_FALSE(contradiction({"", seen, 5}, end, {}));
    CHECK(contradiction({"", seen, 6}, end, {}) ==
          "has seen a coordinator of epoch 6, this one is of epoch 5");
    end.mark.incarnation = 1;  // a later life counts anew
    end.given_up = 50;
    CHECK_FALSE(contradiction({"", seen, 6}, end, {}));
  }
  SECTION("what an operator gave up contradicts nothing, what comes beyond it does") {
    CHECK_FALSE(contradiction({"", {0, 150, hash_of_byte(1)}}, ledger_at(1, 200), {}));
    CHECK(contradiction({"", {0, 201, hash_of_byte(1)}}, ledger_at(1, 200), {}));
    CHECK(contradiction({"", {1, 150, hash_of_byte(1)}}, ledger_at(1, 200), {}));
    CHECK(contradiction({"", {2, 10, hash_of_byte(1)}}, ledger_at(1, 200), {}));
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
  trust.leases_over();
  SECTION("the last agrees") { trust.agree(kSouth); }
  SECTION("an operator vouches") { trust.vouch(); }
  CHECK(trust.holds());
}

TEST_CASE("What the lost life started is over before a ledger is trusted that was vouched for",
          "[unit]") {
  LedgerTrust trust({kNorth, kSouth}, true);
  CHECK_FALSE(trust.is_cleaning_up());
  trust.vouch();
  CHECK(trust.is_cleaning_up());
  CHECK_FALSE(trust.holds());
  CHECK(trust.why_not().find("life that was lost") != std::string::npos);
  SECTION("nodes that came back have stopped it before their leases are over") {
    trust.clean_up(kNorth, true);
    trust.clean_up(kNorth, false);
    CHECK_FALSE(trust.holds());  // others may still run something
    trust.leases_over();
  }
  SECTION("they have not, and do it later") {
    trust.clean_up(kNorth, true);
    trust.clean_up(kSouth, true);
    trust.leases_over();
    CHECK_FALSE(trust.holds());
    trust.clean_up(kSouth, false);
    CHECK_FALSE(trust.holds());
    SECTION("they say so") { trust.clean_up(kNorth, false); }
    SECTION("they are gone for good") { trust.remove(kNorth); }
  }
  SECTION("a doubt comes first") {
    trust.doubt(kWest, {{5, 101, {}}, "has seen more", WallTime{5}});
    trust.leases_over();
    CHECK_FALSE(trust.holds());
    CHECK_FALSE(trust.is_cleaning_up());
    trust.vouch();
  }
  CHECK(trust.holds());
  CHECK_FALSE(trust.is_cleaning_up());
}

TEST_CASE("A doubt stops a trusted ledger until it ends", "[unit]") {
  LedgerTrust trust({kNorth}, false);
  trust.agree(kNorth);
  trust.doubt(kSouth, {{0, 101, {}}, "has seen more", WallTime{5}});
  CHECK_FALSE(trust.holds());
  trust.doubt(kSouth, {{0, 102, {}}, "has seen more", WallTime{9}});
  CHECK(trust.doubts().at(kSouth).since == WallTime{5});
  CHECK(trust.doubts().at(kSouth).seen.number == 102);
  trust.leases_over();
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
  CHECK(quiet.skipped_tenants > 0);
  CHECK(quiet.reason == "all nodes are gone");

  trust.doubt(kNorth, {{3, 5'000, {}}, "", {}});
  trust.doubt(kSouth, {{1, 900, {}}, "", {}});
  const auto record = trust.vouching(end, "");
  CHECK(record.incarnation == 4);  // newer than any that a node knows
  CHECK(record.given_up > 5'000);
  CHECK(record.skipped_jobs > 4'900);
  for (const auto& [node, doubt] : trust.doubts())
    CHECK_FALSE(
        contradiction({"", doubt.seen}, {{record.incarnation, 101, {}}, record.given_up}, {}));
  trust.doubt(kWest, {{1, ~std::uint64_t{0}, {}}, "", {}});
  CHECK(trust.vouching(end, "").given_up == ~std::uint64_t{0});
  CHECK(trust.vouching(end, "").skipped_jobs <= 1'000'000'000);
}

TEST_CASE("A restore gives up all that followed, and is told from any other", "[unit]") {
  const LedgerMark end{2, 100, hash_of_byte(100)};
  const WallTime recorded{1'000'000'000'000};
  const auto after = [&](std::int64_t seconds) {
    return restoring(end, recorded, {recorded.microseconds + seconds * 1'000'000}, "why");
  };
  const auto record = after(3600);
  CHECK(record.reason == "why");
  CHECK(record.incarnation == 3603);
  CHECK(record.skipped_jobs > 360'000'000);
  CHECK(record.skipped_tenants > 0);
  for (const std::uint64_t seen : {99ul, 101ul, 1'000'000'000'000ul})
    CHECK_FALSE(contradiction({"", {2, seen, hash_of_byte(1)}},
                              {{record.incarnation, 101, {}}, record.given_up}, {}));
  SECTION("one that follows from the same backup counts more, also after an operator's word") {
    LedgerTrust trust({kNorth}, true);
    const auto vouched = trust.vouching({record.incarnation, 200, {}}, "").incarnation;
    CHECK(after(3602).incarnation > vouched);
    CHECK(after(3602).skipped_epochs > record.skipped_epochs);
    CHECK(contradiction({"", {after(3601).incarnation, 5, {}}}, {{record.incarnation, 101, {}}, 0},
                        {}));
  }
  SECTION("at once") {
    CHECK(after(0).incarnation == 3);
    CHECK(after(0).skipped_jobs >= 100'000);
  }
  SECTION("by a clock that was set back nothing is known of how long it was") {
    CHECK(after(-1).incarnation == 3);
    CHECK(after(-1).skipped_jobs == 1'000'000'000);
  }
  SECTION("after a century") {
    CHECK(after(3'200'000'000).incarnation > 3);
    CHECK(after(3'200'000'000).incarnation < 100'000'000);
    CHECK(after(3'200'000'000).skipped_jobs < std::uint64_t{1} << 53);
  }
}
