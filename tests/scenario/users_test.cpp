// Two people who share a tenant, each with a token, of real processes: they hold as much at every
// moment while both wait, also after the coordinator was killed.
#include <csignal>
#include <cstdlib>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

std::string token_of(const Cluster& cluster, const std::string& user) {
  return cluster.ask({"token", "create", "--tenant", "physics", "--user", user})["token"];
}

struct UserTasks {
  int waiting = 0;
  int held = 0;
};

/// Tasks for which nodes have room.
const std::map<std::string, int> kRoom{{"node1", 5}, {"node2", 2}};

/// By how much users differed at the most while both waited, by the journal alone: after each
/// record with which all room is dealt. (A task's end and what becomes of its room are told by
/// different parts: in the journal either may come first.)
int widest_gap(const std::vector<json>& journal, int& compared) {
  std::map<std::uint64_t, std::string> owners;
  std::map<std::string, UserTasks> users;
  std::map<std::string, int> held_on;
  int widest = 0;
  for (const auto& record : journal) {
    const std::string kind = record["kind"];
    if (kind == "job_submitted") {
      owners[record["job"]] = record["user"];
      users[record["user"]].waiting += record["tasks"].get<int>();
    } else if (kind == "tasks_finished") {
      for (const auto& result : record["results"]) {
        --users[owners.at(result["job"])].held;
        --held_on[record["node"]];
      }
    } else if (kind == "cycle") {
      for (const auto& deal : record["deals"])
        for (const auto& grant : deal["grants"]) {
          UserTasks& user = users[owners.at(grant["job"])];
          --user.waiting;
          ++user.held;
          ++held_on[deal["node"]];
        }
      const UserTasks& ada = users["ada"];
      const UserTasks& bob = users["bob"];
      if (held_on != kRoom || ada.waiting == 0 || bob.waiting == 0) continue;
      widest = std::max(widest, std::abs(ada.held - bob.held));
      ++compared;
    }
  }
  return widest;
}

}  // namespace

TEST_CASE("two users of a tenant hold as much at every moment while both wait",
          "[scenario][crash]") {
  Cluster cluster(
      {.agents = {{"node1", "cpu: 5, memory: 4GiB"}, {"node2", "cpu: 2, memory: 2GiB"}}});
  cluster.start_coordinator();
  cluster.apply_tenants("tenants:\n  - {name: physics, queue: fair}\n");
  const std::string ada = token_of(cluster, "ada");
  const std::string bob = token_of(cluster, "bob");
  std::map<std::string, std::uint64_t> jobs;
  for (const auto& [user, token] : {std::pair{"ada", ada}, std::pair{"bob", bob}}) {
    const auto submitted = cluster.fairwater(
        {"job", "submit", "-", "--quiet"},
        job_file("physics", 60, "command: [bash, -c, \"sleep 0.$((RANDOM % 5 + 1))\"]"), token);
    REQUIRE(submitted.status == 0);
    jobs[user] = std::stoull(submitted.output);
  }
  const auto stranger = cluster.fairwater({"job", "cancel", std::to_string(jobs["bob"])}, {}, ada);
  CHECK(stranger.status != 0);
  CHECK_THAT(stranger.errors, Catch::Contains("belongs to user bob of tenant physics"));
  const auto feigned = cluster.fairwater({"job", "run", "--user", "bob", "--", "true"}, {}, ada);
  CHECK_THAT(feigned.errors, Catch::Contains("this token belongs to user ada, not user bob"));

  cluster.start_agents();
  const auto ended = [&](const char* user) {
    return cluster.job(jobs[user])["tasks"]["succeeded"].get<int>();
  };
  harness::wait_until("some of both have ended", Duration(30'000),
                      [&] { return ended("ada") >= 10 && ended("bob") >= 10; });
  const auto why =
      cluster.fairwater({"job", "explain", std::to_string(jobs["bob"]), "--task", "59"}, {}, bob);
  CHECK_THAT(why.output, Catch::Contains("the tenant's users take turns, 2 wait; next: user"));
  cluster.stop_coordinator(SIGKILL);
  cluster.start_coordinator();
  CHECK(cluster.wait({jobs["ada"], jobs["bob"]}) == 0);
  int compared = 0;
  CHECK(widest_gap(journal_of(cluster), compared) <= 1);
  CHECK(compared > 15);
  CHECK(cluster.job(jobs["ada"])["user"] == "ada");
  CHECK(cluster.ask({"job", "list", "--user", "bob"})["jobs"].size() == 1);
  CHECK(ledger_is_sound(cluster));
}

}  // namespace fairwater::scenario
