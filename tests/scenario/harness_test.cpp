// The harness itself: a scenario that trusts a broken measure proves nothing.
#include <thread>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

TEST_CASE("run hands over input, output, errors and the exit status", "[unit]") {
  const Completed done = harness::run(
      {.command = {"bash", "-c", "read word; echo got $word; echo oops >&2; exit 3"}}, "hello\n");
  CHECK(done.output == "got hello\n");
  CHECK(done.errors == "oops\n");
  CHECK(done.status == 3);
  CHECK(harness::run({.command = {"bash", "-c", "kill -9 $$"}}).status == 128 + SIGKILL);
}

TEST_CASE("run and wait_until end at their limits", "[unit]") {
  CHECK_THROWS(harness::run({.command = {"sleep", "10"}}, {}, Duration(100)));
  CHECK_THROWS(harness::wait_until("never", Duration(50), [] { return false; }));
}

TEST_CASE("what a killed process leaves behind is found and killed", "[unit]") {
  harness::adopt_orphans();
  {
    harness::ChildProcess parent(
        {.command = {"bash", "-c", "setsid sleep 60 & echo started; wait"}});
    CHECK(parent.read_line(Duration(5'000)) == "started");
  }
  harness::wait_until("the orphan is ours", Duration(5'000),
                      [] { return !harness::descendants(getpid()).empty(); });
  harness::kill_descendants();
  CHECK(harness::descendants(getpid()).empty());
}

TEST_CASE("a work log tells single runs from double and unfinished ones", "[unit]") {
  const auto file =
      std::filesystem::temp_directory_path() / fmt::format("fairwater-work-log-{}", getpid());
  const WorkLog log(file);
  std::ofstream(file) << "start 1 0 100.5 77\nend 1 0 101.5 77\nstart 1 1 100.6 78\nstart 1 1 "
                         "103.0 79\nend 1 1 104.0 79\n";
  const auto runs = log.runs();
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].ended == 101.5);
  CHECK(runs[1].ended == 0);
  CHECK(runs[2].ended == 104.0);
  CHECK(log.starts().at({1, 1}) == 2);
  CHECK_FALSE(each_ran_once(log, {{1, 2}}));
  CHECK_FALSE(each_ran_once(log, {{1, 1}}));
  std::ofstream(file) << "start 1 0 100.5 77\n";
  CHECK(each_ran_once(log, {{1, 1}}));
  CHECK_FALSE(each_ran_once(log, {{1, 2}}));
  std::filesystem::remove(file);
}

TEST_CASE("times of the JSON output are read to the microsecond", "[unit]") {
  CHECK(harness::seconds_since_1970("1970-01-02T00:00:01.250000Z") == 86401.25);
  CHECK(harness::seconds_since_1970(nullptr) == 0);
}

}  // namespace
}  // namespace fairwater::scenario
