// The journal in etcd: against a model of it that loses requests and answers, and against etcd
// itself.
#include "storage/etcd/etcd_journal.hpp"

#include <atomic>
#include <chrono>
#include <iostream>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "storage/etcd/etcd_text.hpp"
#include "tests/storage/etcd_journal_support.hpp"
#include "tests/storage/etcd_model.hpp"
#include "tests/storage/etcd_server.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

using Catch::Matchers::Contains;

/// What each of them shows, on whatever etcd `line` leads to.
void check_journal(Etcd& line) {
  const auto patient = [](const std::string& name) {
    EtcdJournalOptions options = options_named(name);
    options.try_ms = 10'000;  // a real one waits for its disk
    return options;
  };
  EtcdJournal one(line, patient("one"));
  EtcdJournal two(line, patient("two"));
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

TEST_CASE("a leader is told that etcd has lost its journal", "[unit][etcd]") {
  EtcdModel emptied;
  EtcdLine line(emptied);
  EtcdJournal journal(line, options_named("one"));
  const auto lost = journal.commit(group_of(head_at(1, 1, 1), head_at(2, 2, 2)));
  CHECK(details(lost).code == ErrorCode::storage_behind);
  CHECK_THAT(details(lost).message, Contains("etcd has lost its journal") && Contains("--found"));
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
