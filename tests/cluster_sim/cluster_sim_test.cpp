// Runs of the whole cluster, a seed each (README.md), and that the simulator itself is what it
// says.
#include <cstdlib>
#include <string>

#include <catch2/catch.hpp>
#include <spdlog/spdlog.h>

#include "tests/cluster_sim/world/actor_process.hpp"
#include "tests/cluster_sim/world/checker.hpp"
#include "tests/cluster_sim/world/disk.hpp"
#include "tests/cluster_sim/world/world.hpp"

namespace fairwater::cluster_sim {
namespace {

/// The product says in its log what the simulator does to it.
struct SilentLog {
  SilentLog() { spdlog::set_level(spdlog::level::off); }
  ~SilentLog() { spdlog::set_level(spdlog::level::info); }
};

/// Two hundred, or ten for each of FAIRWATER_ROUNDS: sanitizers make a run twenty times as long.
std::uint64_t number_of_seeds() {
  const char* rounds = std::getenv("FAIRWATER_ROUNDS");
  return 10 * (rounds == nullptr ? 20 : std::stoull(rounds));
}

TEST_CASE("no promise is broken in two hundred runs", "[cluster_sim]") {
  const SilentLog silent;
  const std::uint64_t seeds = number_of_seeds();
  std::uint64_t attempts = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto run = run_seed(seed);
    if (run.violation)
      FAIL("seed " << seed << ": " << *run.violation << "\n  ./dev soak --seed " << seed);
    attempts += run.attempts;
  }
  CHECK(attempts > 20 * seeds);  // the runs are not idle
}

TEST_CASE("one seed gives one run, byte for byte", "[cluster_sim]") {
  const SilentLog silent;
  for (const std::uint64_t seed : {1001, 1002, 1003, 1004, 1005}) {
    const auto one = run_seed(seed);
    const auto other = run_seed(seed);
    CHECK(one.log_hash == other.log_hash);
    CHECK(one.log_lines == other.log_lines);
    CHECK(one.end_us == other.end_us);
    CHECK(one.log_hash != run_seed(seed + 100).log_hash);
  }
}

TEST_CASE("a simulated disk keeps what was synced, and loses the rest as it is told",
          "[cluster_sim]") {
  Chance chance{1};
  Disk disk{chance};
  std::unique_ptr<rocksdb::WritableFile> file;
  REQUIRE(disk.NewWritableFile("/file", &file, {}).ok());
  REQUIRE(file->Append("kept").ok());
  REQUIRE(file->Sync().ok());
  const auto content = [&] {
    std::string text;
    REQUIRE(rocksdb::ReadFileToString(&disk, "/file", &text).ok());
    return text;
  };
  SECTION("unsynced bytes may be torn off") {
    REQUIRE(file->Append("0123456789").ok());
    disk.recover(false);
    CHECK(content().starts_with("kept"));
    CHECK(content().size() < 14);
  }
  SECTION("or stay") {
    REQUIRE(file->Append("lucky").ok());
    disk.recover(true);
    CHECK(content() == "keptlucky");
  }
  SECTION("a write in place goes back as a whole") {
    std::unique_ptr<rocksdb::RandomRWFile> in_place;
    REQUIRE(disk.NewRandomRWFile("/file", &in_place, {}).ok());
    REQUIRE(in_place->Write(0, "lost").ok());
    CHECK(content() == "lost");
    disk.recover(false);
    CHECK(content() == "kept");
  }
  SECTION("from the operation on that it fails at, it takes nothing") {
    disk.fail_after(2);
    CHECK(file->Append("first").ok());
    CHECK_FALSE(file->Append("second").ok());
    CHECK_FALSE(file->Sync().ok());
    CHECK(disk.has_failed());
  }
}

TEST_CASE("a drifting clock goes there and back", "[cluster_sim]") {
  for (const std::int64_t gain_ppm : {-5'000, 0, 4'999}) {
    const DriftingClock clock{gain_ppm};
    for (const std::int64_t us : {0L, 1L, 999'999L, 123'456'789L, 4'000'000'000L}) {
      const auto there = clock.local_us(us);
      CHECK(clock.local_us(clock.when_us(there)) >= there);
      CHECK(clock.when_us(there) <= us);
    }
  }
}

TEST_CASE("the checker sees a task that two machines run", "[cluster_sim]") {
  Stage stage{1, false};
  Checker checker{stage};
  const TaskKey first{JobId{1}, 0, 1};
  checker.started("one", first);
  CHECK(stage.violation->find("never granted") != std::string::npos);
  stage.violation.reset();
  checker.started("two", TaskKey{JobId{1}, 0, 2});
  stage.violation.reset();
  checker.stopped("one", first);
  checker.started("one", first);
  CHECK(stage.violation->find("started twice") != std::string::npos);
}

}  // namespace
}  // namespace fairwater::cluster_sim
