#include "rpc/agent/patience.hpp"

#include <catch2/catch.hpp>

using namespace fairwater;

TEST_CASE("an agent waits longer for whom it failed to reach, and for the only one", "[gateway]") {
  const PatienceTerms terms{.try_ms = 2'000, .call_ms = 10'000, .lone_ms = 60'000};
  const auto of_three = [&](std::size_t failures) { return patience(terms, 3, failures); };
  CHECK(of_three(0) == Patience{2'000, 10'000});
  CHECK(of_three(2) == Patience{2'000, 10'000});
  CHECK(of_three(3) == Patience{4'000, 20'000});
  CHECK(of_three(6) == Patience{8'000, 40'000});
  CHECK(of_three(9) == Patience{16'000, 60'000});
  CHECK(of_three(1'000'000) == Patience{60'000, 60'000});
  CHECK(patience(terms, 1, 0) == Patience{60'000, 60'000});
}
