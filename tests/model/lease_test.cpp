#include "model/lease.hpp"

#include <catch2/catch.hpp>

namespace fairwater {

TEST_CASE("a task's lease is between the ordinary and the longest", "[unit][lease]") {
  constexpr LeaseBounds bounds{15'000, 60'000};
  CHECK(bounds.lease_of(0) == 15'000);
  CHECK(bounds.lease_of(1'000) == 15'000);
  CHECK(bounds.lease_of(40'000) == 40'000);
  CHECK(bounds.lease_of(300'000) == 60'000);
  // Only what goes on beyond the ordinary one is waited for longer, by a hundredth.
  CHECK(bounds.silence_of(0) == 15'000);
  CHECK(bounds.silence_of(60'000) == 60'450);
}

TEST_CASE("what earlier coordinators gave is waited for as long as it may be held",
          "[unit][lease]") {
  constexpr WallTime now{1'000'000};
  SECTION("the last one's own, for the second that it may answer after it was deposed") {
    const LeaseTerms last{60'000, 5'000, {7}, 15'000, {8}};
    CHECK(older_leases(last, now) == OlderLeases{21'000, 66'450});
  }
  SECTION("those of the ones before it, where they go on for longer") {
    const LeaseTerms last{60'000, 5'000, {101'000'000}, 15'000, {31'000'000}};
    CHECK(older_leases(last, now) == OlderLeases{30'000, 100'000});
  }
  SECTION("an older version's are all as long") {
    CHECK(older_leases({15'000, 5'000, {61'000'000}}, now) == OlderLeases{60'000, 60'000});
    CHECK(older_leases({15'000, 5'000, {7}}, now) == OlderLeases{21'000, 21'000});
  }
  SECTION("nobody's") { CHECK(older_leases({}, now) == OlderLeases{}); }
}

TEST_CASE("a chain of coordinators forgets no lease of the first", "[unit][lease]") {
  constexpr WallTime first_ended{1'000'000};
  const auto after_first = older_leases({300'000, 5'000, {}, 15'000, {}}, first_ended);
  LeaseTerms terms = lease_terms({15'000, 15'000}, 5'000, after_first, first_ended);
  WallTime now = first_ended;
  for (int restarts = 0; restarts < 3; ++restarts) {
    now.microseconds += 10'000'000;
    const auto left = older_leases(terms, now);
    CHECK(now.microseconds + left.longest_ms * 1000 ==
          first_ended.microseconds + after_first.longest_ms * 1000);
    CHECK(left.ordinary_ms == 21'000);  // of the one that has just ended
    terms = lease_terms({15'000, 15'000}, 5'000, left, now);
  }
}

}  // namespace fairwater
