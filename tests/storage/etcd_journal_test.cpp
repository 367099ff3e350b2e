// The journal in etcd: against a model of it that loses requests and answers, and against etcd
// itself.
#include "storage/etcd/etcd_journal.hpp"

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "storage/etcd/etcd_text.hpp"
#include "tests/storage/etcd_model.hpp"
#include "tests/storage/etcd_server.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

using namespace std::chrono_literals;

JournalHead head_at(std::uint64_t epoch, std::uint64_t number, std::uint8_t mark) {
  JournalHead head{epoch, number, {}};
  head.hash.fill(mark);
  return head;
}

RecordGroup group_of(const JournalHead& before, const JournalHead& after,
                     const std::string& content = "record") {
  RecordGroup group{before, after, {}};
  for (auto number = before.number; number < after.number; ++number)
    group.records.push_back(content + " " + std::to_string(number + 1));
  return group;
}

EtcdJournalOptions options_named(const std::string& name) {
  EtcdJournalOptions options;
  options.name = name;
  options.address = name + ":7400";
  options.version = "1";
  options.beat_ms = 10;
  return options;
}

template <class Condition>
bool comes_true(Condition condition, std::chrono::milliseconds within = 5s) {
  const auto until = std::chrono::steady_clock::now() + within;
  while (!condition() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(5ms);
  return condition();
}

/// What each of them shows, on whatever etcd `line` leads to.
void check_journal(Etcd& line) {
  EtcdJournal one(line, options_named("one"));
  EtcdJournal two(line, options_named("two"));
  REQUIRE(comes_true([&] { return static_cast<bool>(two.look(8)); }));  // it listens
  CHECK_FALSE(must(two.look(8)).head);
  const auto start = head_at(4, 7, 7);
  REQUIRE(!one.found(start));
  CHECK(details(two.found(start)).code == ErrorCode::already_exists);

  // Taking over names the leader.
  const auto led = head_at(5, 9, 9);
  REQUIRE(!one.commit(group_of(start, led)));
  CHECK(one.is_confirmed(60'000));
  CHECK_FALSE(two.is_confirmed(60'000));
  auto view = must(two.look(8));
  CHECK(view.head == led);
  CHECK(view.leader == ReplicaLeader{5, "one", "one:7400"});
  REQUIRE(view.groups.size() == 1);
  CHECK(view.groups[0].first == 8);
  CHECK(view.groups[0].records == std::vector<std::string>{"record 8", "record 9"});
  CHECK(must(two.look(10)).groups.empty());

  // It leads until somebody else does; what that one is late with is refused.
  std::atomic<bool> overtaken = false;
  one.lead(5, [&] { overtaken = true; });
  const auto beat = view.beat;
  CHECK(comes_true([&] { return must(two.look(10)).beat != beat; }));
  CHECK(comes_true([&] { return one.replicas().size() == 2; }));
  // Whoever leads hears whose disk is full.
  const auto full = [&] { return one.replicas()[1].disk_full; };
  CHECK_FALSE(full());
  two.set_disk_full(true);
  (void)must(two.look(10));
  CHECK(comes_true(full));
  two.set_disk_full(false);
  (void)must(two.look(10));
  CHECK(comes_true([&] { return !full(); }));
  const auto late = head_at(5, 10, 10);
  const auto newer = head_at(6, 10, 66);
  REQUIRE(!two.commit(group_of(led, newer, std::string(3'000'000, 'x'))));
  CHECK(details(one.commit(group_of(led, late))).code == ErrorCode::not_leader);
  CHECK(comes_true([&] { return overtaken.load(); }));
  view = must(one.look(8));
  CHECK(view.head == newer);
  CHECK(view.leader.name == "two");
  REQUIRE(view.groups.size() == 2);
  CHECK(view.groups[1].records.front().size() > 3'000'000);
}

TEST_CASE("one coordinator after the other adds to the journal in etcd", "[unit][etcd]") {
  EtcdModel model;
  EtcdLine line(model);
  check_journal(line);
}

TEST_CASE("what each coordinator knows of the journal is told, and what it needs", "[unit][etcd]") {
  EtcdModel model;
  EtcdLine line(model);
  auto options = options_named("old");
  options.format = kFirstFormat;
  options.version = "0.0";
  EtcdJournal old(line, options);
  EtcdJournal one(line, options_named("one"));
  CHECK(one.known_format().format == kNewestFormat);
  const auto start = head_at(1, 1, 1);
  REQUIRE(!one.found(start));
  (void)must(old.look(1));
  // As versions write it that know nothing of formats.
  CHECK_THAT(*model.value("fairwater/replicas/old"), !Contains("format"));
  (void)must(one.look(1));
  const auto known = one.known_format();
  CHECK(known.format == kFirstFormat);
  CHECK(known.member == "old");
  CHECK(known.version == "0.0");

  auto group = group_of(start, head_at(2, 2, 2));
  REQUIRE(!one.commit(group));
  CHECK(must(old.look(3)).needs == JournalNeeds{});
  EtcdJournal upgraded(line, options_named("old"));
  (void)must(upgraded.look(3));
  (void)must(one.look(3));
  CHECK(one.known_format().format == kNewestFormat);
  group = group_of(group.after, head_at(2, 3, 3));
  group.needs = {kNewestFormat, "1"};
  REQUIRE(!one.commit(group));
  CHECK(must(upgraded.look(4)).needs == group.needs);
  // Once is enough.
  group = group_of(group.after, head_at(2, 4, 4));
  group.needs = {kNewestFormat, "2"};
  REQUIRE(!one.commit(group));
  CHECK(must(upgraded.look(5)).needs.version == "1");
}

TEST_CASE("a leader says that it holds what it has synced, not what was agreed", "[etcd]") {
  EtcdModel model;
  EtcdLine line(model);
  EtcdJournal one(line, options_named("one"));
  EtcdJournal two(line, options_named("two"));
  const auto start = head_at(1, 1, 1);
  REQUIRE(!one.found(start));
  (void)must(one.look(2));
  const auto holds = [&] {
    REQUIRE_FALSE(one.beat());
    return must(two.look(2)).replicas.front().number;
  };
  auto group = group_of(start, head_at(2, 2, 2));
  REQUIRE(!one.commit(group));
  one.lead(2);
  CHECK(holds() == 1);
  one.note_durable(2);
  CHECK(holds() == 2);
  // The next ones are agreed on while that one is synced.
  group = group_of(group.after, head_at(2, 4, 4));
  REQUIRE(!one.commit(group));
  group = group_of(group.after, head_at(2, 5, 5));
  REQUIRE(!one.commit(group));
  CHECK(holds() == 2);
  one.note_durable(4);
  CHECK(holds() == 4);
}

/// On an etcd that takes 100,000 bytes at once.
void check_too_large(Etcd& line) {
  EtcdJournal one(line, options_named("one"));
  REQUIRE(comes_true([&] { return static_cast<bool>(one.look(1)); }));
  const auto start = head_at(1, 1, 1);
  REQUIRE(!one.found(start));
  const auto next = head_at(1, 2, 2);
  // Far beyond the limit gRPC refuses it before etcd does, in other words.
  for (const std::size_t bytes : {150'000, 3'000'000}) {
    const auto refused = one.commit(group_of(start, next, std::string(bytes, 'x')));
    CHECK(details(refused).code == ErrorCode::invalid_input);
    CHECK_THAT(details(refused).message,
               Contains(std::to_string(bytes + 2) + " bytes") && Contains("--max-request-bytes"));
  }
  // It has closed that connection.
  CHECK(comes_true([&] {
    const auto view = one.look(1);
    return view && view->head == start;
  }));
  REQUIRE(!one.commit(group_of(start, next, std::string(50'000, 'x'))));
}

TEST_CASE("a group that etcd does not take at once is refused, and no part of the journal",
          "[etcd]") {
  EtcdModel model;
  EtcdLine line(model);
  line.max_request_bytes = 100'000;
  check_too_large(line);
  const auto server = EtcdServer::start(std::nullopt, 100'000);
  if (!server) return;
  const auto etcd = must(connect_etcd({{server->endpoint()}, {}}));
  check_too_large(*etcd);
}

TEST_CASE("etcd itself does as its model", "[etcd]") {
  const auto server = EtcdServer::start();
  if (!server) {
    std::cout << "skipped: etcd is not installed\n";
    return;
  }
  const auto etcd = must(connect_etcd({{"http://127.0.0.1:1", server->endpoint()}, {}}));
  check_journal(*etcd);
}

/// A member whose machine has hung: connections come about, and nothing is ever answered.
class SilentMember {
 public:
  SilentMember() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener_, raw, length) == 0);
    REQUIRE(::listen(listener_, 16) == 0);
    REQUIRE(::getsockname(listener_, raw, &length) == 0);
    endpoint = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~SilentMember() { ::close(listener_); }
  SilentMember(const SilentMember&) = delete;
  SilentMember& operator=(const SilentMember&) = delete;

  std::string endpoint;

 private:
  int listener_;
};

TEST_CASE("members that are silent or gone cost one call a part of its time, the next nothing",
          "[etcd]") {
  const auto server = EtcdServer::start();
  if (!server) {
    std::cout << "skipped: etcd is not installed\n";
    return;
  }
  {
    const auto etcd = must(connect_etcd({{server->endpoint()}, {}}));
    EtcdJournal journal(*etcd, options_named("one"));
    REQUIRE(comes_true([&] { return static_cast<bool>(journal.look(1)); }));  // it listens
  }
  const SilentMember silent;
  constexpr std::int64_t kTime_ms = 4000;
  const nlohmann::json request = etcd_text::transaction(
      nlohmann::json::array(), {etcd_text::put("key", "value"), etcd_text::range("key")});
  const auto etcd =
      must(connect_etcd({{silent.endpoint, "http://127.0.0.1:1", server->endpoint()}, {}}));
  const auto took = [&] {
    const auto asked_at = std::chrono::steady_clock::now();
    CHECK(etcd->call("/v3/kv/txn", request, kTime_ms));
    return std::chrono::steady_clock::now() - asked_at;
  };
  const auto first = took();
  CHECK(first >= std::chrono::milliseconds(kTime_ms * 2 / 5));
  CHECK(first < std::chrono::milliseconds(kTime_ms * 4 / 5));  // one that refuses is not waited for
  CHECK(took() < std::chrono::milliseconds(kTime_ms * 2 / 5));

  const auto nobody = must(connect_etcd({{silent.endpoint}, {}}));
  const auto failed = nobody->call("/v3/kv/txn", request, 50);
  CHECK(details(failed.error()).code == ErrorCode::unavailable);
}

TEST_CASE("a beat that etcd did not answer is repeated at once", "[unit][etcd]") {
  EtcdModel model;
  EtcdLine line(model);
  EtcdLine other(model);
  auto options = options_named("one");
  options.beat_ms = 60'000;
  EtcdJournal one(line, options);
  EtcdJournal two(other, options_named("two"));
  const auto start = head_at(1, 1, 1);
  REQUIRE(!one.found(start));
  REQUIRE(!one.commit(group_of(start, head_at(2, 2, 2))));
  line.cut = true;
  one.lead(2, [] {});
  CHECK(comes_true([&] { return one.unanswered_ms().has_value(); }));
  const auto beat = must(two.look(2)).beat;
  line.cut = false;
  CHECK(comes_true([&] { return must(two.look(2)).beat != beat; }));
}

TEST_CASE("etcd is asked by those alone whom it knows, and known itself", "[etcd]") {
  if (!Authority::can_be_made()) {
    std::cout << "skipped: openssl is not installed\n";
    return;
  }
  const Authority authority;
  const Authority stranger;
  const KeyFiles own = authority.issue("coordinator", "coordinator");
  const auto server =
      EtcdServer::start(EtcdIdentity{authority.file(), authority.issue("etcd", "localhost")});
  if (!server) {
    std::cout << "skipped: etcd is not installed\n";
    return;
  }
  const auto etcd =
      must(connect_etcd({{server->endpoint()}, {authority.file(), own.certificate, own.key}}));
  check_journal(*etcd);

  const auto refusal = [&](const std::string& endpoint, const EtcdTls& tls) {
    const auto wrong = must(connect_etcd({{endpoint}, tls}));
    const auto view = EtcdJournal(*wrong, options_named("wrong")).look(1);
    REQUIRE_FALSE(view);
    CHECK(details(view.error()).code == ErrorCode::unavailable);
    return details(view.error()).message;
  };
  const std::string& good = server->endpoint();
  // What etcd says of a client that it does not take may be lost: it closes the connection, too.
  CHECK_FALSE(refusal(good, {authority.file(), {}, {}}).empty());
  const KeyFiles foreign = stranger.issue("coordinator", "coordinator");
  CHECK_FALSE(refusal(good, {authority.file(), foreign.certificate, foreign.key}).empty());
  CHECK_THAT(refusal(good, {stranger.file(), own.certificate, own.key}),
             Contains("certificate is not trusted"));
  // The certificate is for another name.
  const std::string by_number = "https://127.0.0.1" + good.substr(good.rfind(':'));
  CHECK_THAT(refusal(by_number, {authority.file(), own.certificate, own.key}),
             Contains("hostname mismatch", Catch::CaseSensitive::No));
}

TEST_CASE("a group is taken once, however often it is repeated", "[property][etcd]") {
  EtcdModel model;
  EtcdLine sound(model);
  EtcdJournal reader(sound, options_named("reader"));
  auto head = head_at(1, 1, 1);
  REQUIRE(!reader.found(head));
  EtcdLine bad(model, 11, 40);
  EtcdJournal writer(bad, options_named("writer"));
  for (std::uint8_t i = 2; i < 60; ++i) {
    const auto next = head_at(1, i, i);
    REQUIRE(!writer.commit(group_of(head, next)));
    head = next;
  }
  std::uint64_t next = 2;
  while (next < 60) {
    const auto view = must(reader.look(next));
    REQUIRE(view.head == head);
    REQUIRE_FALSE(view.groups.empty());
    for (const auto& group : view.groups) {
      CHECK(group.first == next);
      next += group.records.size();
    }
  }
}

TEST_CASE("who hears of no majority is confirmed no longer, and stops when told", "[unit][etcd]") {
  EtcdModel model;
  EtcdLine line(model);
  EtcdJournal journal(line, options_named("one"));
  const auto start = head_at(1, 1, 1);
  REQUIRE(!journal.found(start));
  const auto led = head_at(2, 2, 2);
  REQUIRE(!journal.commit(group_of(start, led)));
  journal.lead(2, [] { FAIL("nobody else leads"); });
  CHECK(comes_true([&] { return journal.is_confirmed(50); }));
  CHECK_FALSE(journal.unanswered_ms());

  line.cut = true;
  CHECK(comes_true([&] { return !journal.is_confirmed(50); }));
  CHECK(comes_true([&] { return journal.unanswered_ms().value_or(0) > 0; }));
  caf::error told;
  std::thread committing([&] { told = journal.commit(group_of(led, head_at(2, 3, 3))); });
  journal.give_up();
  committing.join();
  CHECK(details(told).code == ErrorCode::unavailable);

  line.cut = false;
  journal.resume();
  CHECK(comes_true([&] { return journal.is_confirmed(50) && !journal.unanswered_ms(); }));
  REQUIRE(!journal.commit(group_of(led, head_at(2, 3, 3))));
}

TEST_CASE("a follower waits long for etcd only where much may come, or when it was short in vain",
          "[unit][etcd]") {
  EtcdModel model;
  EtcdLine line(model);
  const auto options = options_named("one");
  EtcdJournal journal(line, options);
  auto head = head_at(1, 1, 1);
  REQUIRE(!journal.found(head));
  const std::int64_t short_ms = options.try_ms;
  const std::int64_t long_ms = 4 * short_ms;
  const auto waits_ms = [&](std::uint64_t next) {
    const auto view = journal.look(next);
    CHECK(static_cast<bool>(view) == !line.cut);
    return line.waits_ms.load();
  };
  CHECK(waits_ms(2) == long_ms);  // how far it is behind is not known yet
  CHECK(waits_ms(2) == short_ms);
  line.cut = true;
  // An election is waited for by short ones.
  for (int look = 0; look < 6; ++look) CHECK(waits_ms(2) == short_ms);
  CHECK(waits_ms(2) == long_ms);
  line.cut = false;
  CHECK(waits_ms(2) == long_ms);
  CHECK(waits_ms(2) == short_ms);
  for (std::uint8_t number = 2; number < 22; ++number) {
    const auto next = head_at(1, number, number);
    REQUIRE(!journal.commit(group_of(head, next)));
    head = next;
  }
  CHECK(waits_ms(2) == short_ms);
  CHECK(waits_ms(18) == long_ms);  // as many groups had come as one answer has
  CHECK(waits_ms(22) == short_ms);
}

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
  CHECK_THAT(details(one.admit()).message, Contains("51 of 100 MiB"));
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

TEST_CASE("whether a coordinator was heard of does not depend on its clock", "[unit][etcd]") {
  EtcdModel model;
  EtcdLine line(model);
  auto now = std::chrono::steady_clock::time_point(1h);
  auto options = options_named("one");
  options.now = [&] { return now; };
  EtcdJournal one(line, options);
  auto behind = options_named("two");
  WallTime told{1'000'000};  // 1970
  behind.wall_clock = [&] { return told; };
  EtcdJournal two(line, behind);
  REQUIRE(!one.found(head_at(1, 1, 1)));
  const auto heard = [&] {
    (void)must(one.look(2));
    return one.was_heard("two", 10'000);
  };
  CHECK_FALSE(heard());
  (void)must(two.look(2));
  CHECK_FALSE(heard());  // it may have said that long ago
  told.microseconds += 1;
  (void)must(two.look(2));
  CHECK(heard());
  now += 10s;
  CHECK(heard());
  now += 1ms;
  CHECK_FALSE(heard());
  told.microseconds -= 1'000;
  (void)must(two.look(2));
  CHECK(heard());
}

TEST_CASE("who has just started has heard of those whose words are fresh by their dates",
          "[unit][etcd]") {
  EtcdModel model;
  EtcdLine line(model);
  EtcdJournal two(line, options_named("two"));
  (void)must(two.look(1));
  auto options = options_named("one");
  WallTime later = wall_time_now();
  options.wall_clock = [&] { return later; };
  SECTION("fresh") {
    EtcdJournal one(line, options);
    (void)must(one.look(1));
    CHECK(one.was_heard("two", 10'000));
  }
  SECTION("of long ago") {
    later.microseconds += 11'000'000;
    EtcdJournal one(line, options);
    (void)must(one.look(1));
    CHECK_FALSE(one.was_heard("two", 10'000));
  }
}

TEST_CASE("what was last said under a coordinator's name can be asked for", "[unit][etcd]") {
  EtcdModel model;
  EtcdLine line(model);
  EtcdJournal one(line, options_named("one"));
  auto options = options_named("one");
  options.wall_clock = [] { return WallTime{7}; };
  EtcdJournal twin(line, options);
  CHECK_FALSE(must(one.own_word()));
  (void)must(twin.look(1));
  CHECK(must(one.own_word()) == WallTime{7});
  line.cut = true;
  CHECK(details(one.own_word().error()).code == ErrorCode::unavailable);
}

TEST_CASE("what etcd holds of others is refused", "[unit][etcd]") {
  CHECK(details(etcd_text::head_in("{}").error()).code == ErrorCode::storage_damaged);
  CHECK(details(etcd_text::head_in("nonsense").error()).code == ErrorCode::storage_damaged);
  CHECK(details(etcd_text::leader_in("[1]").error()).code == ErrorCode::storage_damaged);
  const std::vector<std::string> records{"one", std::string(70'000, 'x'), ""};
  const std::string text = etcd_text::text_of(records);
  CHECK(must(etcd_text::records_in(text)) == records);
  for (const std::size_t cut : {std::size_t{0}, std::size_t{2}, std::size_t{4}, std::size_t{5},
                                text.size() - 1, text.size() - 5})
    CHECK_FALSE(etcd_text::records_in(text.substr(0, cut)));
  CHECK(details(validate_endpoint("head1:2379", "etcd")).field == "etcd");
  CHECK(details(validate_endpoint("http://head1", "etcd")).field == "etcd");
  CHECK(!validate_endpoint("https://head1:2379", "etcd"));
  CHECK(details(connect_etcd({{"https://head1:2379"}, {}}).error()).field == "tls.ca");
  CHECK(details(connect_etcd({{}, {}}).error()).field == "etcd");
}

}  // namespace
}  // namespace fairwater::test
