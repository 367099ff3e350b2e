// What a node's actor decides by: pauses after failed launches, broken connections, rival agents.
#include <catch2/catch.hpp>

#include "actors/coordinator/broken_connections.hpp"
#include "actors/coordinator/launch_pauses.hpp"
#include "actors/coordinator/rivals.hpp"

namespace fairwater {
namespace {

using namespace std::chrono_literals;

using TimePoint = std::chrono::steady_clock::time_point;
constexpr TimePoint kStart{};
constexpr WallTime kNow{1'000'000'000'000'000};  // 2001-09-09T01:46:40Z
const AgentRun kHolder{3, "process a"};
const AgentRun kLater{4, "process b"};
constexpr auto kLease = 10s;
constexpr auto kInterval = 1s;

/// So many tasks of the job.
std::vector<TaskResult> results_of(std::uint64_t job, std::uint32_t tasks, EndReason reason) {
  std::vector<TaskResult> results(tasks);
  for (std::uint32_t i = 0; i < tasks; ++i) {
    results[i].task = {JobId{job}, i, 1};
    results[i].reason = reason;
    results[i].message = "full disk";
  }
  return results;
}

std::vector<TaskResult> failed_launches(std::uint32_t tasks) {
  return results_of(1, tasks, EndReason::launch_failed);
}

Rivals::Holder connected() { return {kHolder, false, true}; }

}  // namespace

// -- pauses ---------------------------------------------------------------------------------------

TEST_CASE("A failed launch pauses a node for twice the longest of its tasks' own", "[unit]") {
  LaunchPauses pauses;
  CHECK_FALSE(pauses.is_paused());
  pauses.begin(failed_launches(1));
  CHECK(pauses.is_paused());
  CHECK(pauses.count(failed_launches(1), 500, kNow).length_ms ==
        2000);  // the first failure's own is a second
  CHECK(pauses.count(failed_launches(1), 8000, kNow).length_ms == 16'000);
}

TEST_CASE("Only the newest pause's end ends it", "[unit]") {
  LaunchPauses pauses;
  pauses.begin(failed_launches(1));
  const auto first = pauses.count(failed_launches(1), 0, kNow);
  pauses.begin(failed_launches(1));
  const auto second = pauses.count(failed_launches(1), 0, kNow);
  CHECK_FALSE(pauses.end(first.number));
  CHECK(pauses.is_paused());
  CHECK(pauses.end(second.number));
  CHECK_FALSE(pauses.is_paused());
  CHECK_FALSE(pauses.end(second.number));
}

TEST_CASE("Three failures in a row are the node's own fault, unless a task ran", "[unit]") {
  LaunchPauses pauses;
  pauses.begin(failed_launches(1));
  (void)pauses.count(failed_launches(2), 0, kNow);
  CHECK_FALSE(pauses.must_drain());
  SECTION("one more") {
    (void)pauses.count(failed_launches(1), 0, kNow);
    CHECK(pauses.must_drain());
    pauses.decided();
    CHECK_FALSE(pauses.must_drain());
    CHECK_FALSE(pauses.is_paused());
  }
  SECTION("a task ran in between") {
    pauses.ended(results_of(2, 1, EndReason::exited), {});
    (void)pauses.count(failed_launches(2), 0, kNow);
    CHECK_FALSE(pauses.must_drain());
  }
  SECTION("a task was stopped because others of its job failed here") {
    pauses.ended(results_of(1, 1, EndReason::cancelled), {});
    CHECK(pauses.failures_in_row() == 2);
    pauses.ended(results_of(3, 1, EndReason::cancelled),
                 results_of(3, 1, EndReason::launch_failed));
    CHECK(pauses.failures_in_row() == 2);
    pauses.ended(results_of(2, 1, EndReason::cancelled), {});
    CHECK(pauses.failures_in_row() == 0);
  }
  SECTION("an agent that was started anew is tried at once, and not forgiven") {
    pauses.agent_started();
    CHECK_FALSE(pauses.is_paused());
    CHECK(pauses.failures_in_row() == 2);
  }
}

TEST_CASE("A pause is told of with its end and its reason", "[unit]") {
  LaunchPauses pauses;
  CHECK(pauses.problem().empty());
  pauses.begin(failed_launches(1));
  CHECK(pauses.problem() ==
        "takes no tasks: launches failed, and the ledger does not have that yet");
  (void)pauses.count(failed_launches(1), 0, kNow);
  CHECK(pauses.problem() ==
        "takes no tasks until 2001-09-09T01:46:42Z because a launch failed: full disk");
  const auto second = pauses.count(failed_launches(1), 0, kNow);
  CHECK(pauses.problem() ==
        "takes no tasks until 2001-09-09T01:46:44Z because 2 launches in a row failed: full disk");
  CHECK(pauses.end(second.number));
  CHECK(pauses.problem().empty());
}

// -- broken connections ---------------------------------------------------------------------------

TEST_CASE("Connections that end on their orders are too many in a row, each counted once",
          "[unit]") {
  BrokenConnections broken;
  for (std::uint64_t session = 1; session < BrokenConnections::kMost; ++session) {
    broken.broke(session, kStart);
    broken.broke(session, kStart);
  }
  CHECK_FALSE(broken.are_too_many());
  SECTION("orders that were taken end the row") {
    broken.took_orders();
    broken.broke(9, kStart);
    CHECK_FALSE(broken.are_too_many());
  }
  SECTION("the last one too many is forgiven after the pause") {
    broken.broke(9, kStart);
    CHECK(broken.are_too_many());
    broken.forgive(kStart + 9s, 10s);
    CHECK(broken.are_too_many());
    broken.forgive(kStart + 10s, 10s);
    CHECK_FALSE(broken.are_too_many());
  }
}

// -- rivals ---------------------------------------------------------------------------------------

TEST_CASE("The run that holds a node is let in, and an earlier one never", "[unit]") {
  Rivals rivals;
  CHECK(rivals.judge(kHolder, false, connected(), kStart) == Rivals::Verdict::let_in);
  const AgentRun earlier{2, "process z"};
  CHECK(rivals.judge(earlier, false, connected(), kStart) == Rivals::Verdict::superseded);
  CHECK(rivals.judge(earlier, false, {kHolder, true, false}, kStart) ==
        Rivals::Verdict::superseded);
}

TEST_CASE("A copy waits until the node is lost", "[unit]") {
  Rivals rivals;
  const AgentRun twin{3, "process b"};
  for (const bool is_connected : {true, false})
    CHECK(rivals.judge(twin, false, {kHolder, false, is_connected}, kStart) ==
          Rivals::Verdict::copied);
  CHECK(rivals.judge(kLater, true, connected(), kStart) == Rivals::Verdict::copied);
  CHECK(rivals.judge(twin, false, {kHolder, true, false}, kStart) == Rivals::Verdict::let_in);
}

TEST_CASE("A later start gets the node when the earlier connection is gone", "[unit]") {
  Rivals rivals;
  CHECK(rivals.judge(kLater, false, connected(), kStart) == Rivals::Verdict::connected);
  CHECK(rivals.judge(kLater, false, {kHolder, false, false}, kStart) == Rivals::Verdict::let_in);
}

TEST_CASE("Two runs live when the earlier one reports an interval after the later one asked",
          "[unit]") {
  Rivals rivals;
  CHECK_FALSE(rivals.is_contested(kStart, kLease, kInterval));
  (void)rivals.judge(kLater, false, connected(), kStart);
  CHECK_FALSE(rivals.is_contested(kStart + 999ms, kLease, kInterval));
  SECTION("the earlier one is fenced until the node is lost") {
    CHECK(rivals.is_contested(kStart + 1s, kLease, kInterval));
    CHECK(rivals.fence() == kLater);
    CHECK(rivals.is_fenced());
    const Rivals::Holder fenced{kLater, false, false};
    CHECK(rivals.judge(kHolder, false, fenced, kStart) == Rivals::Verdict::superseded);
    CHECK(rivals.judge(kLater, false, fenced, kStart) == Rivals::Verdict::fenced);
    CHECK(rivals.judge(kLater, false, {kLater, true, false}, kStart) == Rivals::Verdict::let_in);
    rivals.settle();
    CHECK_FALSE(rivals.is_fenced());
    CHECK(rivals.judge(kLater, false, {kLater, false, true}, kStart) == Rivals::Verdict::let_in);
  }
  SECTION("a later one that is not heard of any more is forgotten") {
    CHECK_FALSE(rivals.is_contested(kStart + kLease + 1s, kLease, kInterval));
  }
}

TEST_CASE("A second agent is told of once, and for as long as it is heard of", "[unit]") {
  Rivals rivals;
  CHECK(rivals.note("a second agent was refused", kStart));
  CHECK_FALSE(rivals.note("a second agent was refused", kStart + 30s));
  CHECK(rivals.problem(kStart + 90s) == "a second agent was refused");
  CHECK(rivals.problem(kStart + 91s).empty());
}

}  // namespace fairwater
