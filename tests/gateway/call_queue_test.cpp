// Whose call's turn it is.
#include "gateway/call_queue.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <kj/async.h>
#include <kj/timer.h>

using namespace fairwater;

namespace {

/// Calls that note their tenant when their turn comes, and stay at work until they are finished.
class Calls {
 public:
  explicit Calls(CallLimits limits) : queue(limits, timer) {}

  ErrorCode open(std::uint32_t tenant) {
    auto call = queue.open(TenantId{tenant});
    if (!call) return details(call.error()).code;
    auto& held = **call;
    calls_.push_back(held.turn()
                         .then([this, tenant] { turns.push_back(tenant); })
                         .then([]() -> kj::Promise<void> { return kj::NEVER_DONE; })
                         .attach(kj::mv(*call))
                         .eagerlyEvaluate(nullptr));
    return ErrorCode{};
  }
  void open_many(std::uint32_t tenant, int count) {
    for (int i = 0; i < count; ++i) REQUIRE(open(tenant) == ErrorCode{});
  }
  /// The oldest call ends, wherever it is.
  void end_oldest() { calls_.erase(calls_.begin()); }
  void end_oldest(int count) {
    for (int i = 0; i < count; ++i) end_oldest();
  }
  void end_newest() { calls_.pop_back(); }
  void pass(kj::Duration time) { timer.advanceTo(timer.now() + time); }
  std::vector<std::uint32_t> take_turns() {
    scope.poll();
    return std::exchange(turns, {});
  }

  kj::EventLoop loop;
  kj::WaitScope scope{loop};
  kj::TimerImpl timer{kj::origin<kj::TimePoint>()};
  CallQueue queue;
  std::vector<std::uint32_t> turns;

 private:
  std::vector<kj::Promise<void>> calls_;
};

using Turns = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a tenant's flood leaves others their turn", "[unit][calls]") {
  Calls calls({.open = 1000, .open_per_tenant = 500, .at_work = 6, .at_work_per_tenant = 4});
  calls.open_many(1, 400);
  CHECK(calls.take_turns() == Turns{1, 1, 1, 1});
  calls.open_many(2, 1);
  CHECK(calls.take_turns() == Turns{2});  // at once, before 396 that came earlier
  calls.open_many(3, 10);
  CHECK(calls.take_turns() == Turns{3});
  CHECK(calls.queue.calls_at_work() == 6);
  // Whatever ends, tenants go on in turn.
  Turns after;
  for (int i = 0; i < 4; ++i) {
    calls.end_oldest();
    for (const auto turn : calls.take_turns()) after.push_back(turn);
  }
  CHECK(after == Turns{1, 3, 1, 3});
}

TEST_CASE("calls of one tenant keep their order, and leave without a trace", "[unit][calls]") {
  Calls calls({.open = 10, .open_per_tenant = 8, .at_work = 1, .at_work_per_tenant = 1});
  calls.open_many(1, 3);
  CHECK(calls.take_turns() == Turns{1});
  calls.open_many(2, 1);
  calls.end_newest();  // cancelled while it waits
  calls.end_oldest();
  CHECK(calls.take_turns() == Turns{1});
  calls.end_oldest();
  calls.end_oldest();
  CHECK(calls.take_turns() == Turns{});
  CHECK(calls.queue.open_calls() == 0);
  CHECK(calls.queue.calls_at_work() == 0);
  calls.open_many(2, 1);
  CHECK(calls.take_turns() == Turns{2});
}

TEST_CASE("open calls are bounded per tenant and in all", "[unit][calls]") {
  Calls calls({.open = 5, .open_per_tenant = 3, .at_work = 2, .at_work_per_tenant = 2});
  calls.open_many(1, 3);
  CHECK(calls.open(1) == ErrorCode::overloaded);
  calls.open_many(2, 2);
  CHECK(calls.open(3) == ErrorCode::overloaded);
  calls.end_oldest();
  CHECK(calls.open(3) == ErrorCode{});
}

TEST_CASE("a flood comes in bursts while somebody else calls", "[unit][calls]") {
  const Turns nobody;
  const Turns burst(4, 1);
  Calls calls({.open = 1000, .open_per_tenant = 500, .at_work_per_tenant = 8, .burst = 4});
  calls.open_many(1, 60);
  CHECK(calls.take_turns() == Turns(8, 1));
  calls.end_oldest(8);
  CHECK(calls.take_turns() == Turns(8, 1));  // it is alone
  calls.open_many(2, 1);
  calls.end_newest();
  calls.end_oldest(8);
  CHECK(calls.take_turns() == burst);
  calls.pass(2 * kj::MILLISECONDS);
  calls.end_oldest(4);
  CHECK(calls.take_turns() == nobody);
  calls.pass(3 * kj::MILLISECONDS);
  CHECK(calls.take_turns() == nobody);
  calls.open_many(2, 1);
  CHECK(calls.take_turns() == Turns{2});  // at once
  calls.end_newest();
  calls.pass(1 * kj::MILLISECONDS);
  CHECK(calls.take_turns() == burst);
  SECTION("until nobody else has called for a while, or its calls take long") {
    calls.pass(CallQueue::kRecently);
    CHECK(calls.take_turns() == nobody);
    CHECK(calls.queue.calls_at_work() == 4);
    calls.pass(2 * CallQueue::kMaxBurst);  // the burst was taken for done, though it was not
    CHECK(calls.take_turns() == burst);
    calls.end_oldest(8);
    CHECK(calls.take_turns() == Turns(8, 1));
  }
}

TEST_CASE("few calls at once never rest, several rest less than many", "[unit][calls]") {
  Calls calls({.open = 100, .open_per_tenant = 50, .burst = 4});
  calls.open_many(2, 1);
  for (int i = 0; i < 10; ++i) {
    calls.take_turns();
    calls.open_many(1, 2);
    CHECK(calls.take_turns() == Turns(2, 1));
    calls.pass(1 * kj::MILLISECONDS);
    calls.end_newest();
    calls.end_newest();
  }
  calls.open_many(1, 5);
  CHECK(calls.take_turns() == Turns(5, 1));  // two, and three of a burst
  calls.pass(2 * kj::MILLISECONDS);
  calls.end_oldest(6);
  calls.open_many(1, 1);
  CHECK(calls.take_turns() == Turns{});
  calls.pass(1 * kj::MILLISECONDS);
  CHECK(calls.take_turns() == Turns{});
  calls.pass(1 * kj::MILLISECONDS);
  CHECK(calls.take_turns() == Turns{1});
}
