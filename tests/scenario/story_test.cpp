// What `./dev run` shows, with all that it promises.
#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {

TEST_CASE("the story of ./dev run keeps its promises", "[scenario][story][long]") {
  CommandOptions options;
  options.command = {(harness::programs_directory() / "fairwater_story").string()};
  const Completed told = harness::run(options, {}, Duration(600'000));
  INFO(told.output << told.errors);
  CHECK(told.status == 0);
  CHECK(told.output.find("NOT KEPT") == std::string::npos);
}

}  // namespace fairwater::scenario
