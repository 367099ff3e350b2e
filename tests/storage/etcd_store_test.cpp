// How much of the journal etcd keeps, and what becomes of a store that is full.
#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/storage/etcd_journal_support.hpp"
#include "tests/storage/etcd_model.hpp"
#include "tests/storage/etcd_server.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

/// Durable here, too; `after_each` of them.
void found_with_three_groups(
    EtcdJournal& journal, const std::function<void()>& after_each = [] {}) {
  auto head = head_at(1, 1, 1);
  REQUIRE(!journal.found(head));
  for (std::uint8_t number = 2; number <= 4; ++number) {
    const auto next = head_at(2, number, number);
    REQUIRE(!journal.commit(group_of(head, next)));
    journal.note_durable(number);
    head = next;
    after_each();
  }
}

}  // namespace
TEST_CASE("groups that a majority holds are forgotten after a while", "[unit][etcd]") {
  EtcdModel model;
  EtcdLine line(model);
  auto options = options_named("one");
  options.beat_ms = 1;
  options.keep_ms = 50;
  EtcdJournal one(line, options);
  EtcdJournal two(line, options_named("two"));
  found_with_three_groups(one);
  one.lead(2, [] {});
  const auto first_left = [&] {
    const auto view = must(two.look(3));
    return view.groups.empty() ? 0 : view.groups.front().first;
  };
  const auto groups = [&] { return model.keys_of("fairwater/j/"); };
  // The other one has not said anything; then that it has two records.
  CHECK(groups() == 3);
  CHECK(first_left() == 3);
  CHECK(comes_true([&] { return groups() == 2; }));
  CHECK(first_left() == 3);
  (void)must(two.look(5));
  CHECK(comes_true([&] { return groups() == 1; }));
}

TEST_CASE("beyond a quarter of etcd's store what a majority holds is forgotten at once",
          "[unit][etcd]") {
  EtcdModel model;
  EtcdLine line(model);
  std::atomic<std::int64_t> now_s = 3600;
  auto options = options_named("one");
  options.beat_ms = 1;
  options.quota_bytes = 100 << 20;
  options.now = [&] { return std::chrono::steady_clock::time_point(std::chrono::seconds(now_s)); };
  EtcdJournal one(line, options);
  EtcdJournal two(line, options_named("two"));
  found_with_three_groups(one, [&] { now_s += 2; });
  (void)must(two.look(5));
  const auto groups = [&] { return model.keys_of("fairwater/j/"); };
  line.store_bytes = 25 << 20;
  one.lead(2, [] {});
  REQUIRE(comes_true([&] { return line.compacted_revision > 100; }));
  CHECK(groups() == 3);
  line.store_bytes = 26 << 20;
  CHECK(comes_true([&] { return groups() == 1; }));
}

TEST_CASE("what was overwritten is compacted away, whoever holds what", "[unit][etcd]") {
  EtcdModel model;
  EtcdLine line(model);
  auto options = options_named("one");
  options.beat_ms = 1;
  EtcdJournal one(line, options);
  const auto start = head_at(1, 1, 1);
  REQUIRE(!one.found(start));
  REQUIRE(!one.commit(group_of(start, head_at(2, 2, 2))));
  one.lead(2, [] {});
  // Nobody else has said that it holds the group, and none ever will.
  CHECK(comes_true([&] { return line.compacted_revision > 50; }));
  const std::int64_t first = line.compacted_revision;
  CHECK(comes_true([&] { return line.compacted_revision > first; }));
  CHECK(model.keys_of("fairwater/j/") == 1);
}

TEST_CASE("half of etcd's store is left for who takes over", "[unit][etcd]") {
  EtcdModel model;
  EtcdLine line(model);
  auto options = options_named("one");
  options.beat_ms = 1;
  options.quota_bytes = 100 << 20;
  EtcdJournal one(line, options);
  const auto start = head_at(1, 1, 1);
  REQUIRE(!one.found(start));
  REQUIRE(!one.commit(group_of(start, head_at(2, 2, 2))));
  CHECK(!one.admit());
  line.store_bytes = 51 << 20;
  one.lead(2, [] {});
  CHECK(comes_true([&] { return static_cast<bool>(one.admit()); }));
  CHECK(details(one.admit()).code == ErrorCode::disk_full);
  CHECK_THAT(details(one.admit()).message, Catch::Contains("51 of 100 MiB"));
  line.store_bytes = 50 << 20;
  CHECK(comes_true([&] { return !one.admit(); }));
  // Who leads no more does not look, and takes over with what it knows nothing of.
  line.store_bytes = 51 << 20;
  CHECK(comes_true([&] { return static_cast<bool>(one.admit()); }));
  one.stop_leading();
  CHECK(!one.admit());
}

TEST_CASE("a store that etcd finds full is told from a majority that is gone", "[unit][etcd]") {
  EtcdModel model;
  EtcdLine line(model);
  EtcdJournal one(line, options_named("one"));
  const auto start = head_at(1, 1, 1);
  REQUIRE(!one.found(start));
  line.full = true;
  CHECK(details(one.look(2).error()).code == ErrorCode::unavailable);
  CHECK(one.unanswered_ms());
  CHECK(one.is_store_full());
  line.full = false;
  CHECK(one.look(2));
  CHECK_FALSE(one.is_store_full());
  line.cut = true;
  CHECK_FALSE(one.look(2));
  CHECK_FALSE(one.is_store_full());
}

/// With a quota that a few large groups fill.
TEST_CASE("etcd itself says that its store is full", "[etcd]") {
  // Its file is larger than what is in use, so the journal is told of a smaller one.
  constexpr std::uint64_t kQuota = std::uint64_t{64} << 20;
  const auto server = EtcdServer::start(std::nullopt, 16 << 20, kQuota);
  if (!server) {
    std::cout << "skipped: etcd is not installed\n";
    return;
  }
  const auto etcd = must(connect_etcd({{server->endpoint()}, {}}));
  auto options = options_named("one");
  options.beat_ms = 1;
  options.quota_bytes = kQuota / 4;
  EtcdJournal one(*etcd, options);
  REQUIRE(comes_true([&] { return static_cast<bool>(one.look(1)); }));
  auto head = head_at(1, 1, 1);
  REQUIRE(!one.found(head));
  const auto commit = [&] {
    const auto next = head_at(2, head.number + 1, 2);
    caf::error failed = one.commit(group_of(head, next, std::string(2'500'000, 'x')));
    head = next;
    return failed;
  };
  for (int group = 0; group < 4; ++group) CHECK(!commit());
  one.lead(2, [] {});
  // Every fiftieth beat looks, and each waits for a busy machine's disk.
  constexpr auto kPatience = 60s;
  CHECK(comes_true([&] { return static_cast<bool>(one.admit()); }, kPatience));
  std::thread committing([&] {
    while (!commit()) {
    }
  });
  CHECK(comes_true([&] { return one.is_store_full(); }, kPatience));
  one.give_up();
  committing.join();
}

}  // namespace fairwater::test
