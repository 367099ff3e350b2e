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

using Catch::Matchers::Contains;

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

TEST_CASE("the checker sees that the newest record is another", "[cluster_sim]") {
  Stage stage{1, false};
  Checker checker{stage};
  const auto ledger_of = [&](Disk& disk, const std::string& cluster) {
    LedgerOptions options;
    options.directory = "/ledger";
    options.create = true;
    options.env = &disk;
    options.min_free_bytes = 1 << 16;
    options.clock = [&] { return stage.time.wall_time(); };
    auto ledger = Ledger::open(options);
    REQUIRE(ledger.engaged());
    REQUIRE((*ledger)
                ->append({ClusterCreated{cluster, ResourceCatalog{}.kinds(), DealMode::sized}})
                .engaged());
    return std::move(*ledger);
  };
  Disk disk{stage.chance};
  Disk other_disk{stage.chance};
  const auto ledger = ledger_of(disk, "one");
  checker.follow(*ledger);
  checker.reopened(*ledger);
  CHECK_FALSE(stage.violation);
  checker.reopened(*ledger_of(other_disk, "another"));
  CHECK_THAT(stage.violation.value_or("nothing is wrong"), Contains("is another than before"));
}

TEST_CASE("the checker sees a task that two machines run", "[cluster_sim]") {
  Stage stage{1, false};
  Checker checker{stage};
  const TaskKey first{JobId{1}, 0, 1};
  const auto started = [&](const char* machine, const TaskKey& task) {
    stage.violation.reset();
    checker.started(machine, task);
    return stage.violation.value_or("nothing is wrong");
  };
  CHECK_THAT(started("one", first), Contains("never granted"));
  CHECK_THAT(started("two", {JobId{1}, 0, 2}), Contains("while 1.0.1 is alive on one"));
  checker.stopped("one", first);
  checker.stopped("two", {JobId{1}, 0, 2});
  CHECK_THAT(started("two", {JobId{1}, 0, 3}), Contains("never granted"));
  CHECK_THAT(started("one", first), Contains("started twice"));
}

}  // namespace
}  // namespace fairwater::cluster_sim
