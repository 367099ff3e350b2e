// Several ledgers of one journal: one leads, the others follow, any takes over at any moment.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include <catch2/catch.hpp>

#include "storage/fold.hpp"
#include "storage/high_water.hpp"
#include "storage/journal_store.hpp"
#include "tests/cases_of_build.hpp"
#include "tests/storage/memory_disk.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

constexpr std::uint64_t kSeeds = cases_of_build(25);

/// What the coordinators agree on, as etcd would hold it.
struct AgreedJournal {
  JournalHead head;
  std::map<std::uint64_t, std::vector<std::string>> groups;  // by the number of their first record

  bool take(const RecordGroup& group) {
    if (head != group.before) return false;
    groups.emplace(group.before.number + 1, group.records);
    head = group.after;
    return true;
  }
};

/// A coordinator's way to it, on which requests and answers get lost.
class LossyStore final : public JournalStore {
 public:
  LossyStore(AgreedJournal& journal, std::uint64_t seed) : journal_(journal), random_(seed) {}

  caf::error commit(const RecordGroup& group) override {
    for (;;) {
      const auto chance = random_() % 8;
      if (chance == 0) continue;  // the request is lost: asked again
      if (chance == 1 && gives_up) return make_error(ErrorCode::unavailable, "told to stop");
      const bool taken = journal_.take(group);
      if (chance == 2) {  // the answer is lost; somebody may be faster than the next try
        if (taken && gives_up) return make_error(ErrorCode::unavailable, "told to stop");
        continue;
      }
      if (taken || journal_.head == group.after) return {};
      return make_error(ErrorCode::not_leader, "others follow");
    }
  }
  bool gives_up = false;  ///< the coordinator may be stopped while it asks

 private:
  AgreedJournal& journal_;
  std::mt19937_64 random_;
};

struct Replica {
  std::unique_ptr<rocksdb::Env> disk = memory_disk();
  std::unique_ptr<LossyStore> store;
  std::unique_ptr<Ledger> ledger;
  std::int64_t ahead_us = 0;  ///< of others' clocks

  void open(bool create) {
    LedgerOptions options = options_for("/ledger", disk.get());
    options.create = create;
    options.store = store.get();
    options.clock = [this] { return WallTime{wall_time_now().microseconds + ahead_us}; };
    ledger.reset();
    ledger = must(Ledger::open(options));
  }
  /// Reads what it has not got yet, at most so many groups.
  void follow(const AgreedJournal& journal, std::size_t groups) {
    for (; groups > 0; --groups) {
      const auto next = journal.groups.find(ledger->last_number() + 1);
      if (next == journal.groups.end()) return;
      REQUIRE(!ledger->follow(next->second));
    }
  }
};

std::vector<std::string> journal_of(const Ledger& ledger) {
  std::vector<std::string> records;
  ledger.visit_journal(1, [&](const JournalRecord& record) {
    records.push_back(to_bytes(record));
    return true;
  });
  return records;
}

/// Founded by the first; the others begin as copies of it, which a following from nothing is.
std::array<Replica, 3> make_replicas(AgreedJournal& journal, std::uint64_t seed) {
  std::array<Replica, 3> replicas;
  for (auto& replica : replicas) {
    replica.store = std::make_unique<LossyStore>(journal, ++seed);
    replica.open(true);
  }
  must(replicas[0].ledger->append(founding()));
  for (auto& replica : replicas) replica.follow(journal, ~std::size_t{0});
  return replicas;
}

TEST_CASE("replicas of a ledger are equal whoever leads and whatever is lost",
          "[property][ledger][replica]") {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    AgreedJournal journal;
    auto replicas = make_replicas(journal, seed * 100);
    std::size_t acknowledged = 0;
    std::map<std::uint64_t, Hash> promised;  // by number: of what was acknowledged
    std::size_t leader = 0;
    auto traffic = std::make_unique<Traffic>(*replicas[0].ledger, seed);
    for (int step = 0; step < 120; ++step) {
      for (std::size_t i = 0; i < replicas.size(); ++i)
        if (i != leader) replicas[i].follow(journal, random() % 3);
      Replica& led = replicas[leader];
      led.store->gives_up = random() % 10 == 0;
      const auto receipts = led.ledger->append(traffic->next_batch(3));
      if (receipts) {
        acknowledged += receipts->size();
        promised[led.ledger->last_number()] = led.ledger->head().hash;
      }
      if (receipts && random() % 12 != 0) continue;
      // It is stopped, or overtaken while it still believes that it leads.
      if (random() % 2 == 0) led.open(false);
      const std::size_t other = (leader + 1 + random() % 2) % replicas.size();
      Replica& next = replicas[other];
      next.store->gives_up = false;
      next.follow(journal, ~std::size_t{0});
      must(next.ledger->append({CoordinatorStarted{next.ledger->epoch() + 1, "1", {}, {}}}));
      if (led.ledger->head() != journal.head) {
        led.store->gives_up = false;
        const auto before = led.ledger->head();
        const auto late = led.ledger->append({CoordinatorStarted{before.epoch + 1, "1", {}, {}}});
        CHECK(details(late.error()).code == ErrorCode::not_leader);
        CHECK(led.ledger->head() == before);
      }
      leader = other;
      traffic = std::make_unique<Traffic>(*next.ledger, random());
    }
    CHECK(acknowledged > 20);
    for (auto& replica : replicas) {
      replica.follow(journal, ~std::size_t{0});
      CHECK(replica.ledger->head() == journal.head);
      CHECK(replica.ledger->verify().differences == std::vector<std::string>{});
      CHECK(journal_of(*replica.ledger) == journal_of(*replicas[0].ledger));
      for (const auto& [number, hash] : promised)
        CHECK(hash_of(to_bytes(*replica.ledger->record(number))) == hash);
    }
  }
}

TEST_CASE("no record is of an earlier time than the one before, whoever's clock is behind",
          "[unit][ledger][replica]") {
  constexpr std::int64_t kHour_us = 3'600'000'000;
  AgreedJournal journal;
  auto replicas = make_replicas(journal, 11);
  Replica& ahead = replicas[0];
  Replica& behind = replicas[1];
  behind.ahead_us = -kHour_us;
  const TaskKey task{JobId{1}, 0, 1};
  must(ahead.ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)},
                             Cycle{{plain_deal(0, TenantId{1}, {task})}}}));
  const WallTime granted = ahead.ledger->record(ahead.ledger->last_number())->time;

  behind.follow(journal, ~std::size_t{0});
  const auto receipts = must(behind.ledger->append(
      {CoordinatorStarted{2, "1", {}, {}, true}, TasksFinished{NodeId{1}, {success(task)}}}));
  CHECK(receipts.front().time == granted);
  const auto job = *behind.ledger->job(JobId{1});
  CHECK(job.submitted_at <= job.started_at);
  CHECK(job.started_at <= job.finished_at);
  // Nor when it starts again, before its clock has come so far.
  behind.open(false);
  must(behind.ledger->append({CoordinatorStarted{3, "1", {}, {}, true}}));
  // What follows goes by a clock that is right again.
  behind.ahead_us = kHour_us;
  must(behind.ledger->append({CoordinatorStarted{4, "1", {}, {}, true}}));

  WallTime newest;
  behind.ledger->visit_journal(1, [&](const JournalRecord& record) {
    CHECK(record.time >= newest);
    newest = record.time;
    return true;
  });
  CHECK(newest.microseconds > granted.microseconds + kHour_us / 2);
  behind.ledger->visit_usage({}, [](const UsageGroup&, const UsageRecord& usage) {
    CHECK(usage.waited_ms < 60'000);
    return true;
  });
  ahead.follow(journal, ~std::size_t{0});
  CHECK(ahead.ledger->head() == behind.ledger->head());
  CHECK(behind.ledger->verify().differences == std::vector<std::string>{});
}

TEST_CASE("a follower takes nothing of another history", "[unit][ledger][replica]") {
  AgreedJournal journal;
  auto replicas = make_replicas(journal, 7);
  Ledger& ledger = *replicas[1].ledger;
  const auto before = ledger.head();
  const std::string newest = to_bytes(*ledger.record(before.number));

  // Once more, and after a gap.
  CHECK(details(ledger.follow({newest})).code == ErrorCode::storage_damaged);
  must(replicas[0].ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 2)}}));
  must(replicas[0].ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("b", 2)}}));
  CHECK(details(ledger.follow(journal.groups.at(before.number + 2))).code ==
        ErrorCode::storage_damaged);
  // Another record of the right number.
  auto forged = *replicas[0].ledger->record(before.number + 1);
  forged.previous[0] ^= 1;
  CHECK(details(ledger.follow({to_bytes(forged)})).code == ErrorCode::storage_damaged);
  // One that contradicts what is here.
  forged.previous[0] ^= 1;
  forged.body = JobCancelled{JobId{999}, "why"};
  CHECK(details(ledger.follow({to_bytes(forged)})).code == ErrorCode::storage_damaged);
  // Bytes that are none.
  CHECK(details(ledger.follow({"nonsense"})).code == ErrorCode::storage_damaged);
  CHECK(ledger.head() == before);
  replicas[1].follow(journal, ~std::size_t{0});
  CHECK(ledger.head() == journal.head);
}

// -- a group is proposed before the one before is written -----------------------------------------

/// A leader that asks about a group while the one before is not written, and is stopped anywhere.
TEST_CASE("replicas are equal where a leader is a group ahead of its disk",
          "[property][ledger][replica]") {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    AgreedJournal journal;
    auto replicas = make_replicas(journal, seed * 100);
    std::map<std::uint64_t, Hash> promised;
    std::size_t leader = 0;
    std::size_t written = 0;
    for (int term = 0; term < 12; ++term) {
      Replica& led = replicas[leader];
      led.follow(journal, ~std::size_t{0});
      must(led.ledger->append({CoordinatorStarted{led.ledger->epoch() + 1, "1", {}, {}}}));
      Traffic traffic(*led.ledger, random());
      bool is_agreed = false;
      const auto write = [&] {
        if (!std::exchange(is_agreed, false)) return;
        const auto before = led.ledger->last_number();
        REQUIRE(!led.ledger->write_agreed());
        CHECK(led.ledger->last_number() > before);
        promised[led.ledger->last_number()] = led.ledger->head().hash;
        ++written;
      };
      for (int step = 0; step < 12; ++step) {
        const auto durable = led.ledger->last_number();
        const auto proposal = led.ledger->propose(traffic.next_batch(3));
        REQUIRE(proposal);
        CHECK(led.ledger->last_number() == durable);
        CHECK_FALSE(led.ledger->record(durable + 1));
        if (random() % 2 == 0) write();
        // Asked about while the one before may not be written; its outcome may never be heard.
        REQUIRE(journal.take(proposal->group));
        if (random() % 10 == 0) break;
        write();
        led.ledger->agreed();
        is_agreed = true;
        if (random() % 10 == 0) break;
      }
      // It is stopped, or overtaken, or goes on as a follower.
      if (random() % 3 == 0) led.open(false);
      for (std::size_t i = 0; i < replicas.size(); ++i)
        if (random() % 2 == 0) replicas[i].follow(journal, random() % 3);
      leader = random() % replicas.size();
      if (leader == 2 && led.ledger->head() != journal.head) {
        const auto late = led.ledger->append({CoordinatorStarted{99, "1", {}, {}}});
        CHECK(details(late.error()).code == ErrorCode::not_leader);
      }
    }
    CHECK(written > 10);
    for (auto& replica : replicas) {
      replica.follow(journal, ~std::size_t{0});
      CHECK(replica.ledger->head() == journal.head);
      CHECK(replica.ledger->verify().differences == std::vector<std::string>{});
      CHECK(journal_of(*replica.ledger) == journal_of(*replicas[0].ledger));
      for (const auto& [number, hash] : promised)
        CHECK(hash_of(to_bytes(*replica.ledger->record(number))) == hash);
    }
  }
}

/// Counts what it is told to be durable.
struct CountingStore final : JournalStore {
  caf::error commit(const RecordGroup&) override { return {}; }
  void note_durable(std::uint64_t number) override { durable = number; }
  std::uint64_t durable = 0;
};

struct Leader {
  std::unique_ptr<rocksdb::Env> disk = memory_disk();
  CountingStore store;
  std::unique_ptr<Ledger> ledger;

  Leader() {
    LedgerOptions options = options_for("/ledger", disk.get());
    options.store = &store;
    ledger = must(Ledger::open(options));
    must(ledger->append(founding()));
  }
  static std::vector<JournalBody> submission() {
    return {JobSubmitted{{}, TenantId{1}, job_spec("a", 2)}};
  }
};

TEST_CASE("what is proposed is seen by nobody before it is written", "[unit][ledger][replica]") {
  Leader leader;
  Ledger& ledger = *leader.ledger;
  const auto before = ledger.head();
  CHECK(leader.store.durable == before.number);
  const auto first = must(ledger.propose(Leader::submission()));
  ledger.agreed();
  const auto second = must(ledger.propose(Leader::submission()));
  CHECK(first.group.before == before);
  CHECK(second.group.before == first.group.after);
  CHECK(first.receipts.front().job == JobId{1});
  CHECK(second.receipts.front().job == JobId{2});
  CHECK(ledger.head() == before);
  CHECK_FALSE(ledger.job(JobId{1}));
  CHECK(leader.store.durable == before.number);

  REQUIRE(!ledger.write_agreed());
  CHECK(ledger.head() == first.group.after);
  CHECK(leader.store.durable == first.group.after.number);
  CHECK(ledger.job(JobId{1}));
  CHECK_FALSE(ledger.job(JobId{2}));
  ledger.agreed();
  REQUIRE(!ledger.write_agreed());
  CHECK(ledger.head() == second.group.after);
  CHECK(leader.store.durable == second.group.after.number);
  CHECK(ledger.verify().ok);
}

TEST_CASE("of a group that is refused nothing stays, and of the one before it everything",
          "[unit][ledger][replica]") {
  Leader leader;
  Ledger& ledger = *leader.ledger;
  const auto first = must(ledger.propose(Leader::submission()));
  ledger.agreed();
  SECTION("by the store") {
    must(ledger.propose(
        {JobSubmitted{{}, TenantId{1}, job_spec("a", 2)}, JobCancelled{JobId{1}, "why"}}));
    SECTION("after the one before was written") {
      REQUIRE(!ledger.write_agreed());
      REQUIRE(!ledger.withdraw());
    }
    SECTION("before that") {
      REQUIRE(!ledger.withdraw());
      REQUIRE(!ledger.write_agreed());
    }
  }
  SECTION("because it contradicts what is there") {
    const auto wrong =
        ledger.propose({JobSubmitted{{}, TenantId{1}, job_spec("a", 2)},
                        JobCancelled{JobId{1}, "why"}, JobCancelled{JobId{999}, "why"}});
    CHECK(details(wrong.error()).code == ErrorCode::internal);
    REQUIRE(!ledger.write_agreed());
  }
  CHECK(ledger.head() == first.group.after);
  CHECK_FALSE(ledger.job(JobId{1})->cancelled);
  const auto next = must(ledger.propose(Leader::submission()));
  CHECK(next.receipts.front().job == JobId{2});
  CHECK(next.group.before == first.group.after);
  ledger.agreed();
  REQUIRE(!ledger.write_agreed());
  CHECK(must(ledger.append(Leader::submission())).front().job == JobId{3});
  CHECK(ledger.verify().ok);
}

TEST_CASE("the mark of what a store agreed on is written now and then", "[unit][ledger][replica]") {
  Leader leader;
  const auto mark = [&] { return must(HighWaterFile::read("/ledger", leader.disk.get()))->number; };
  const auto until = leader.ledger->last_number() + 2500;
  std::uint64_t most_behind = 0;
  std::set<std::uint64_t> marks{mark()};
  while (leader.ledger->last_number() < until) {
    std::vector<JournalBody> group;
    for (int i = 0; i < 7; ++i) group.push_back(Leader::submission().front());
    must(leader.ledger->append(std::move(group)));
    marks.insert(mark());
    most_behind = std::max(most_behind, leader.ledger->last_number() - *marks.rbegin());
  }
  CHECK(marks.size() == 3);
  CHECK(most_behind < 1000);
  // What it marks may be in the archive when the ledger is opened again.
  must(leader.ledger->append({must(leader.ledger->measure_checkpoint()).record}));
  REQUIRE(must(leader.ledger->cut_history({})).archived_records > 0);
  leader.ledger.reset();
  LedgerOptions options = options_for("/ledger", leader.disk.get());
  options.store = &leader.store;
  leader.ledger = must(Ledger::open(options));
  CHECK(mark() == leader.ledger->last_number());
}

}  // namespace
}  // namespace fairwater::test
