// Which of etcd's members is asked by one who leads: members that say who leads them.
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <kj/compat/http.h>
#include <nlohmann/json.hpp>

#include "rpc/loop_thread.hpp"
#include "storage/etcd/etcd_journal.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

using namespace std::chrono_literals;

/// What three members believe.
struct Members {
  std::atomic<int> term = 2;
  std::atomic<int> leader = 1;            ///< id of one: 1, 2 or 3; another id is of none of them
  std::atomic<bool> say_numbers = false;  ///< where etcd says texts
};

/// Answers as one of etcd's members.
class Member final : private kj::HttpService {
 public:
  Member(Members& members, int id)
      : members_(members), id_(id), thread_([this](Loop& loop) {
          kj::HttpHeaderTable headers;
          headers_ = &headers;
          kj::HttpServer server(loop.timer(), headers, *this);
          auto address =
              loop.io.provider->getNetwork().parseAddress("127.0.0.1:0").wait(loop.io.waitScope);
          auto receiver = address->listen();
          {
            const std::lock_guard lock(mutex_);
            endpoint_ = "http://127.0.0.1:" + std::to_string(receiver->getPort());
          }
          auto serving = server.listenHttp(*receiver).eagerlyEvaluate(nullptr);
          loop.stopped.wait(loop.io.waitScope);
        }) {}

  [[nodiscard]] std::string endpoint() const {
    const std::lock_guard lock(mutex_);
    return endpoint_;
  }
  std::atomic<int> asked = 0;     ///< for transactions
  std::atomic<bool> ill = false;  ///< refuses them

 private:
  kj::Promise<void> request(kj::HttpMethod /*method*/, kj::StringPtr url,
                            const kj::HttpHeaders& /*headers*/, kj::AsyncInputStream& body,
                            Response& response) override {
    const bool is_status = url == "/v3/maintenance/status"_kj;
    return body.readAllText().then([this, is_status, &response](kj::String&&) {
      if (!is_status) ++asked;
      const bool fails = !is_status && ill;
      const std::string text = fails ? R"({"error": "no leader", "code": 14})" : state().dump();
      kj::HttpHeaders headers(*headers_);
      auto stream = response.send(fails ? 503 : 200, fails ? "ill" : "OK", headers, text.size());
      auto content = kj::heapString(text.data(), text.size());
      auto& out = *stream;
      return out.write(content.begin(), content.size()).attach(kj::mv(stream), kj::mv(content));
    });
  }

  [[nodiscard]] nlohmann::json state() const {
    const auto say = [&](int number) {
      return members_.say_numbers ? nlohmann::json(number) : nlohmann::json(std::to_string(number));
    };
    return {{"header", {{"member_id", say(id_)}, {"raft_term", say(members_.term)}}},
            {"succeeded", true},
            {"leader", say(members_.leader)}};
  }

  Members& members_;
  const int id_;
  mutable std::mutex mutex_;
  std::string endpoint_;
  kj::HttpHeaderTable* headers_ = nullptr;
  LoopThread thread_;
};

struct MembersTest {
  Members members;
  Member one{members, 1};
  Member two{members, 2};
  Member three{members, 3};
  std::unique_ptr<Etcd> etcd;

  MembersTest() {
    std::vector<std::string> endpoints;
    for (const Member* member : {&one, &two, &three}) {
      while (member->endpoint().empty()) std::this_thread::yield();
      endpoints.push_back(member->endpoint());
    }
    etcd = must(connect_etcd({endpoints, {}}));
  }
  void ask() { REQUIRE(etcd->call("/v3/kv/txn", nlohmann::json::object(), 10'000)); }
  /// Asks until that one answers, and then once more.
  bool comes_to(Member& member) {
    for (int i = 0; i < 2000; ++i) {
      const int before = member.asked;
      ask();
      if (member.asked > before) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }
  /// That no other is asked.
  void check_stays_with(Member& member) {
    const int all = one.asked + two.asked + three.asked;
    const int before = member.asked;
    for (int i = 0; i < 20; ++i) ask();
    CHECK(member.asked == before + 20);
    CHECK(one.asked + two.asked + three.asked == all + 20);
  }
};

TEST_CASE("who leads asks the leader of etcd's members", "[unit][etcd]") {
  MembersTest test;
  test.members.leader = 3;
  test.check_stays_with(test.one);  // whoever follows has no preference
  EtcdJournalOptions options;
  options.name = "one";
  options.address = "one:7400";
  options.version = "1";
  options.beat_ms = 60'000;
  EtcdJournal journal(*test.etcd, options);
  journal.lead(2);
  CHECK(test.comes_to(test.three));
  test.check_stays_with(test.three);

  SECTION("when they choose another, that one") {
    test.members.leader = 2;
    ++test.members.term;
    CHECK(test.comes_to(test.two));
    test.check_stays_with(test.two);
  }
  SECTION("when it fails, another, until they have chosen") {
    test.three.ill = true;
    CHECK(test.comes_to(test.one));
    test.check_stays_with(test.one);
    test.members.leader = 2;
    ++test.members.term;
    CHECK(test.comes_to(test.two));
  }
  SECTION("when that is none that is known here, whoever answered") {
    test.members.leader = 7;
    ++test.members.term;
    test.check_stays_with(test.three);
  }
  SECTION("when they say it in another way than etcd, whoever answered") {
    test.members.say_numbers = true;
    ++test.members.term;
    test.check_stays_with(test.three);
  }
  SECTION("no longer when it has stopped leading") {
    journal.stop_leading();
    test.members.leader = 2;
    ++test.members.term;
    test.check_stays_with(test.three);
  }
}

}  // namespace
}  // namespace fairwater::test
