#include "daemon/replication/leader_silence.hpp"

#include <catch2/catch.hpp>

namespace fairwater::test {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kHeardAgainMs = 300;
constexpr std::int64_t kTurnMs = 150;

/// Followers of `a`, who see what etcd says.
struct Followers {
  Followers() {
    config.members = {{"a", "a:1"}, {"b", "b:1"}, {"c", "c:1"}};
    view.leader = {7, "a", "a:1"};
    view.beat = 1;
    view.head = JournalHead{7, 100, {}};
  }
  [[nodiscard]] bool is_over(LeaderSilence& silence, std::int64_t ms) const {
    return silence.is_over(view, LeaderSilence::Clock::time_point(milliseconds(ms)));
  }

  ReplicaConfig config;
  JournalView view;
  LeaderSilence next{config, "b", kHeardAgainMs};
  LeaderSilence last{config, "c", kHeardAgainMs};
};

TEST_CASE("a silent leader is followed by the next in line, then by the one after",
          "[unit][leader-silence]") {
  Followers followers;
  const std::int64_t patience = followers.config.takeover_after_ms;
  CHECK_FALSE(followers.is_over(followers.next, 0));
  CHECK_FALSE(followers.is_over(followers.last, 0));
  CHECK_FALSE(followers.is_over(followers.next, patience - 1));
  CHECK(followers.is_over(followers.next, patience));
  CHECK_FALSE(followers.is_over(followers.last, patience + kTurnMs - 1));
  CHECK(followers.is_over(followers.last, patience + kTurnMs));
}

TEST_CASE("beats and records are signs of a leader's life", "[unit][leader-silence]") {
  Followers followers;
  const std::int64_t patience = followers.config.takeover_after_ms;
  CHECK_FALSE(followers.is_over(followers.next, 0));
  ++followers.view.beat;
  CHECK_FALSE(followers.is_over(followers.next, patience));
  ++followers.view.head->number;
  CHECK_FALSE(followers.is_over(followers.next, 2 * patience));
  CHECK(followers.is_over(followers.next, 3 * patience));
}

TEST_CASE("a leader that says that it goes is followed at once", "[unit][leader-silence]") {
  Followers followers;
  followers.view.leader_left = true;
  CHECK(followers.is_over(followers.next, 0));
  CHECK_FALSE(followers.is_over(followers.last, 0));
  CHECK(followers.is_over(followers.last, kTurnMs));
}

TEST_CASE("a leader has less time where nobody could be heard before", "[unit][leader-silence]") {
  Followers followers;
  const std::int64_t patience = followers.config.takeover_after_ms;
  CHECK_FALSE(followers.is_over(followers.next, 0));
  CHECK_FALSE(followers.next.is_blind());
  followers.next.lost_sight();
  // However long etcd was silent: it is not the leader's silence.
  CHECK_FALSE(followers.is_over(followers.next, 10'000));
  CHECK_FALSE(followers.is_over(followers.next, 10'000 + kHeardAgainMs - 1));
  CHECK(followers.is_over(followers.next, 10'000 + kHeardAgainMs));
  CHECK(followers.next.is_blind());

  // Once it was heard again, it has all its time.
  ++followers.view.beat;
  CHECK_FALSE(followers.is_over(followers.next, 20'000));
  CHECK_FALSE(followers.next.is_blind());
  CHECK_FALSE(followers.is_over(followers.next, 20'000 + patience - 1));
  CHECK(followers.is_over(followers.next, 20'000 + patience));
}

}  // namespace
}  // namespace fairwater::test
