// Runs of the whole cluster, a seed each (README.md), and that the simulator itself is what it
// says.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <spdlog/spdlog.h>

#include "daemon/replication/replica_steps.hpp"
#include "tests/cluster_sim/world/actor_process.hpp"
#include "tests/cluster_sim/world/checker.hpp"
#include "tests/cluster_sim/world/disk.hpp"
#include "tests/cluster_sim/world/etcd.hpp"
#include "tests/cluster_sim/world/threads.hpp"
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
  std::uint64_t rivalries = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto run = run_seed(seed);
    if (run.violation)
      FAIL("seed " << seed << ": " << *run.violation << "\n  ./dev soak --seed " << seed);
    attempts += run.attempts;
    rivalries += run.rivalries;
  }
  CHECK(attempts > 20 * seeds);  // the runs are not idle
  CHECK(rivalries > seeds / 2);  // nor is leading undisputed
}

TEST_CASE("what waits out two partitions was decided before both", "[cluster_sim]") {
  const SilentLog silent;
  // A grant before a planned drain, whose record comes after the drain has begun.
  const auto run = run_seed(40539);
  INFO(run.violation.value_or(""));
  CHECK_FALSE(run.violation);
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
  for (const std::int64_t gain_ppm : {-10'000, 0, 9'999}) {
    const DriftingClock clock{gain_ppm};
    for (const std::int64_t us : {0L, 1L, 999'999L, 123'456'789L, 4'000'000'000L}) {
      const auto there = clock.local_us(us);
      CHECK(clock.local_us(clock.when_us(there)) >= there);
      CHECK(clock.when_us(there) <= us);
    }
  }
}

TEST_CASE("threads of a simulated process wait on virtual time", "[cluster_sim]") {
  Stage stage{1, false};
  std::int64_t paused_until_us = 0;
  Threads threads{stage, paused_until_us};
  std::vector<std::string> said;
  const auto run_until = [&](std::int64_t us) {
    while (stage.time.next_us() && *stage.time.next_us() <= us) {
      stage.time.move_to(*stage.time.next_us());
      while (stage.time.run_one()) {
      }
    }
    stage.time.move_to(us);
  };
  std::function<void()> alarm;
  threads.run([&] {
    said.push_back("begun");
    threads.wait(kSecond);
    said.push_back("waited");
    alarm = threads.alarm();
    threads.wait(kSecond);
    said.push_back(threads.are_ending() ? "broken off" : "woken");
  });
  CHECK(said == std::vector<std::string>{"begun"});
  SECTION("for as long as they said") {
    run_until(kSecond - 1);
    CHECK(said.size() == 1);
    run_until(kSecond);
    CHECK(said.back() == "waited");
  }
  SECTION("longer, where the process stands still") {
    paused_until_us = 5 * kSecond;
    run_until(5 * kSecond - 1);
    CHECK(said.size() == 1);
    run_until(5 * kSecond);
    CHECK(said.back() == "waited");
  }
  SECTION("until an alarm, and a second one does nothing") {
    run_until(kSecond);
    alarm();
    alarm();
    CHECK(said.back() == "woken");
    CHECK(threads.count() == 0);
  }
  SECTION("no longer, when they are to end") {
    run_until(kSecond);
    threads.end();
    CHECK(said.back() == "broken off");
  }
  threads.end();
}

TEST_CASE("what a simulated etcd was asked may be done without an answer", "[cluster_sim]") {
  Stage stage{7, false};
  EtcdCluster etcd{stage};
  EtcdLine line{stage, etcd};
  EtcdJournalOptions options;
  options.prefix = kEtcdPrefix;
  EtcdJournal founder(line, options);
  REQUIRE_FALSE(founder.found({}));
  std::int64_t paused_until_us = 0;
  Threads threads{stage, paused_until_us};
  line.threads = &threads;
  options.now = [&] {
    return std::chrono::steady_clock::time_point(std::chrono::microseconds(stage.time.now_us()));
  };
  options.pause = [&](std::int64_t ms) { threads.wait(ms * kMs); };
  EtcdJournal journal(line, options);
  etcd.mend();
  const JournalHead first{1, 1, Hash{1}};
  std::optional<caf::error> told;
  const auto begin = [&] { threads.run([&] { told = journal.commit({{}, first, {"record"}}); }); };
  const auto run_for = [&](std::int64_t us) {
    const auto end_us = stage.time.now_us() + us;
    while (!told && stage.time.next_us() && *stage.time.next_us() <= end_us) {
      stage.time.move_to(*stage.time.next_us());
      while (stage.time.run_one()) {
      }
    }
  };
  SECTION("the way back is cut: it is done, and nobody knows") {
    line.down_cut_until_us = 20 * kSecond;
    begin();
    run_for(10 * kSecond);
    CHECK_FALSE(told);
    CHECK(etcd.head() == first);
    run_for(20 * kSecond);  // repeated, it finds itself done
    REQUIRE(told);
    CHECK_FALSE(*told);
  }
  SECTION("without a quorum nothing is done before it is back") {
    etcd.no_quorum_until_us = 20 * kSecond;
    begin();
    run_for(19 * kSecond);
    CHECK_FALSE(told);
    CHECK(etcd.head() == JournalHead{});
    run_for(20 * kSecond);
    REQUIRE(told);
    CHECK_FALSE(*told);
    CHECK(etcd.head() == first);
  }
  SECTION("somebody else was faster") {
    line.up_cut_until_us = 5 * kSecond;
    const JournalHead other{2, 1, Hash{1}};
    EtcdLine other_line{stage, etcd};
    EtcdJournalOptions other_options = options;
    other_options.pause = {};
    EtcdJournal faster(other_line, other_options);
    begin();
    stage.time.in(kSecond, [&] { CHECK_FALSE(faster.commit({{}, other, {"another"}})); });
    run_for(30 * kSecond);
    REQUIRE(told);
    CHECK(details(*told).code == ErrorCode::not_leader);
    CHECK(etcd.head() == other);
  }
  threads.end();
  line.threads = nullptr;
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
  checker.compare(*ledger);
  CHECK_FALSE(stage.violation);
  const auto other = ledger_of(other_disk, "another");
  checker.compare(*other);
  CHECK_THAT(stage.violation.value_or("nothing is wrong"), Contains("another than that of the"));
  stage.violation.reset();
  checker.reopened(*other);
  CHECK_THAT(stage.violation.value_or("nothing is wrong"), Contains("is another than before"));
}

/// Hears of each write that is synced.
struct ListeningStore final : JournalStore {
  caf::error commit(const RecordGroup& group) override {
    groups.push_back({group.before.number + 1, group.records});
    head = group.after;
    return {};
  }
  void note_durable(std::uint64_t number) override { synced.push_back(number); }
  std::vector<StoredGroup> groups;
  JournalHead head;
  std::vector<std::uint64_t> synced;
};

std::unique_ptr<Ledger> ledger_on(Stage& stage, Disk& disk, ListeningStore& store) {
  LedgerOptions options;
  options.directory = "/ledger";
  options.create = true;
  options.env = &disk;
  options.min_free_bytes = 1 << 16;
  options.clock = [&] { return stage.time.wall_time(); };
  options.store = &store;
  auto ledger = Ledger::open(options);
  REQUIRE(ledger.engaged());
  return std::move(*ledger);
}

/// With a record for the cluster, and one for each coordinator that started.
std::unique_ptr<Ledger> founded_on(Stage& stage, Disk& disk, ListeningStore& store,
                                   std::uint64_t epochs) {
  auto ledger = ledger_on(stage, disk, store);
  REQUIRE(ledger->append({ClusterCreated{"one", ResourceCatalog{}.kinds(), DealMode::sized}})
              .engaged());
  for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch)
    REQUIRE(ledger->append({CoordinatorStarted{epoch, "1", {}, {}}}).engaged());
  return ledger;
}

TEST_CASE("what a follower finds at one look shares a sync", "[cluster_sim]") {
  Stage stage{1, false};
  Disk disk{stage.chance};
  ListeningStore led;
  const auto leader = founded_on(stage, disk, led, 5);
  CHECK(led.synced == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6});

  Disk other_disk{stage.chance};
  ListeningStore store;
  const auto follower = ledger_on(stage, other_disk, store);
  JournalView view;
  view.head = led.head;
  view.groups = led.groups;
  view.groups.erase(view.groups.begin() + 4);  // nothing is taken beyond a gap
  const auto gap = take_in(*follower, view, {"/ledger", kEtcdPrefix});
  CHECK(details(gap.error()).code == ErrorCode::storage_behind);
  CHECK(follower->last_number() == 0);
  view.groups = led.groups;
  const auto taken = take_in(*follower, view, {"/ledger", kEtcdPrefix});
  REQUIRE(taken.engaged());
  CHECK_FALSE(taken->behind);
  CHECK(follower->head() == led.head);
  CHECK(store.synced == std::vector<std::uint64_t>{6});

  // etcd that was set back has lost what this ledger keeps; that is no other history.
  const auto older = leader->record(4);
  REQUIRE(older);
  view.head = JournalHead{2, 3, older->previous};
  view.groups.clear();
  const auto lost = take_in(*follower, view, {"/ledger", kEtcdPrefix});
  CHECK(details(lost.error()).code == ErrorCode::storage_behind);
  CHECK_THAT(details(lost.error()).message, Contains("goes on to record 6. Keep it"));
  const auto emptied = take_in(*follower, JournalView{}, {"/ledger", kEtcdPrefix});
  CHECK(details(emptied.error()).code == ErrorCode::wrong_state);
  CHECK_THAT(
      details(emptied.error()).message,
      Contains("keep the ledger in /ledger, which goes on to record 6") && Contains("--found"));
  view.head->hash.fill(1);
  const auto other = take_in(*follower, view, {"/ledger", kEtcdPrefix});
  CHECK(details(other.error()).code == ErrorCode::storage_damaged);
  CHECK_THAT(details(other.error()).message, Contains("of two histories. Keep it"));
}

TEST_CASE("a backup that the journal does not go on from makes no replica", "[cluster_sim]") {
  Stage stage{1, false};
  Disk disk{stage.chance};
  ListeningStore led;
  const auto leader = founded_on(stage, disk, led, 3);
  const Hash second = leader->record(3)->previous;
  const Hash last = led.head.hash;
  JournalView view;
  const auto judged = [&](std::uint64_t number, const Hash& hash) {
    return details(check_backup({0, number, hash}, view, {"/backup", kEtcdPrefix})).code;
  };
  CHECK(judged(2, second) == ErrorCode::wrong_state);  // no journal was begun
  view.head = led.head;
  view.groups.assign(led.groups.begin() + 2, led.groups.end());
  CHECK_FALSE(check_backup({0, 2, second}, view, {"/backup", kEtcdPrefix}));
  CHECK(judged(2, last) == ErrorCode::storage_damaged);
  view.groups.erase(view.groups.begin());
  CHECK(judged(2, second) == ErrorCode::storage_behind);
  view.groups.clear();
  CHECK(judged(2, second) == ErrorCode::storage_behind);
  CHECK_FALSE(check_backup({0, 4, last}, view, {"/backup", kEtcdPrefix}));
  CHECK(judged(4, second) == ErrorCode::storage_damaged);
  CHECK(judged(5, last) == ErrorCode::storage_damaged);
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
