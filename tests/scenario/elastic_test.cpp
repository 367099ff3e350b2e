// Elastic jobs of real processes: a queue of files under shrinks, kills and restarts. Preemption.
#include <csignal>
#include <random>

#include <catch2/catch.hpp>

#include "tests/scenario/file_queue.hpp"
#include "tests/scenario/pages.hpp"
#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

ClusterSetup four_processors() {
  return {.agents = {{"node1", "cpu: 2, memory: 1GiB"}, {"node2", "cpu: 2, memory: 1GiB"}},
          .tenants = tenants({{"web", 1}, {"batch", 1}}),
          .lease = "10s",
          .heartbeat_interval = "200ms"};
}

int grown_tasks(const Cluster& cluster, std::uint64_t job) {
  return cluster.job(job)["elastic"]["grown"].get<int>();
}

void wait_until_grown(const Cluster& cluster, std::uint64_t job, int tasks) {
  harness::wait_until(fmt::format("job {} has grown by {}", job, tasks), Duration(20'000),
                      [&] { return grown_tasks(cluster, job) == tasks; });
}

double seconds_of(const json& job) {
  return harness::seconds_since_1970(job["finished_at"]) -
         harness::seconds_since_1970(job["started_at"]);
}

}  // namespace

TEST_CASE("docs/elastic.md does what it says", "[scenario][slow]") {
  Cluster cluster(four_processors());
  cluster.start();
  check_page(cluster, "docs/elastic.md");
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("an elastic queue is done sooner on an idle cluster", "[scenario]") {
  Cluster cluster(four_processors());
  cluster.start();
  const FileQueue queue(cluster, 24, "0.5");
  const auto elastic = cluster.submit(queue.job(1, 4));
  CHECK(cluster.wait({elastic}) == 0);
  CHECK(queue.files("done") == 24);
  // Twelve seconds for one worker on any machine, three for four.
  CHECK(seconds_of(cluster.job(elastic)) < 9);
}

TEST_CASE("an elastic queue survives every shrink and every kill", "[scenario]") {
  Cluster cluster(four_processors());
  cluster.start();
  const FileQueue queue(cluster, 250);
  const auto elastic = cluster.submit(queue.job(1, 6));
  wait_until_grown(cluster, elastic, 3);
  std::mt19937_64 random(5);
  for (int round = 0; round < 6; ++round) {
    const auto other = cluster.submit(job_file("batch", 2, "command: [sleep, \"0.3\"]\n"));
    switch (random() % 4) {
      case 0:
        cluster.stop_coordinator(SIGKILL);
        cluster.start_coordinator();
        break;
      case 1:
        cluster.stop_agent("node1", SIGKILL);
        cluster.start_agent("node1");
        break;
      default:
        break;
    }
    cluster.wait_for_nodes(2);
    CHECK(cluster.wait({other}) == 0);
  }
  CHECK(cluster.wait({elastic}) == 0);
  const json job = cluster.job(elastic);
  CHECK(job["state"] == "succeeded");
  CHECK(job["tasks"]["failed"] == 0);
  CHECK(queue.files("done") == 250);
  CHECK(queue.files("todo") + queue.files("busy") == 0);
  std::size_t reclaimed = 0;
  for (const json& record : journal_of(cluster))
    if (record["kind"] == "tasks_reclaimed") reclaimed += record["tasks"].size();
  CHECK(reclaimed > 0);
  CHECK(ledger_is_sound(cluster));
}

/// Two pieces of a second and a half each, which its tasks share out.
std::string two_pieces(const Cluster& cluster) {
  const auto place = cluster.directory() / "pieces";
  std::filesystem::create_directories(place);
  return json({"bash", "-c",
               fmt::format("d={}/$FAIRWATER_JOB_ID; mkdir -p $d; for p in 1 2; do "
                           "if mkdir $d/$p 2>/dev/null; then sleep 1.5; fi; done",
                           place.string())})
      .dump();
}

TEST_CASE("an elastic job grows as far as its class gains, under whichever coordinator lives",
          "[scenario][profile][crash][slow]") {
  Cluster cluster(four_processors());
  cluster.start();
  const std::string file =
      "tenant: web\nclass: pieces\ntasks: {min: 1, max: 4}\nresources: {cpu: 1, memory: 16MiB}\n";
  const json measured =
      cluster.ask({"profile", "run", "-", "--vary", "tasks=1..4", "--repeat", "3"},
                  file + "command: " + two_pieces(cluster) + "\n");
  INFO(measured.dump(1));
  CHECK(measured["submitted"] == 12);
  const json& tasks = measured["profile"]["tasks"];
  REQUIRE(tasks["amounts"].size() == 4);
  CHECK(tasks["amounts"][0]["time"].get<double>() >
        1.5 * tasks["amounts"][1]["time"].get<double>());
  CHECK(tasks["points"][0]["resources"]["tasks"] == 2);
  CHECK(measured["profile"]["amounts"].empty());

  const auto job = cluster.submit(file + "command: [sleep, \"120\"]\n");
  wait_until_grown(cluster, job, 1);
  CHECK(cluster.job(job)["elastic"]["growth_limit"]["tasks"] == 2);
  const auto free_one = cluster.submit(
      "tenant: web\ntasks: {min: 1, max: 2}\nresources: {cpu: 1, memory: 16MiB}\n"
      "command: [sleep, \"120\"]\n");
  wait_until_grown(cluster, free_one, 1);  // there was room
  CHECK(grown_tasks(cluster, job) == 1);
  CHECK(cluster.fairwater({"job", "cancel", std::to_string(free_one)}).status == 0);
  cluster.stop_coordinator(SIGKILL);
  cluster.start_coordinator();
  cluster.wait_for_nodes(2);
  const Completed why = cluster.fairwater({"job", "explain", std::to_string(job), "--task", "3"});
  CHECK_THAT(why.output, Catch::Contains("grows to 2 tasks and no further"));
  CHECK(cluster.wait({free_one}) == 125);
  CHECK(grown_tasks(cluster, job) == 1);
  std::size_t limits = 0;
  for (const json& record : journal_of(cluster)) {
    if (record["kind"] != "growth_limited") continue;
    ++limits;
    CHECK(record["limit"]["runs"] == 12);
  }
  CHECK(limits == 1);
  CHECK(cluster.fairwater({"job", "cancel", std::to_string(job)}).status == 0);
  CHECK(cluster.wait({job}) == 125);
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("the newest elastic job gives back first, and its members are told so", "[scenario]") {
  Cluster cluster(four_processors());
  cluster.start();
  const auto seen = cluster.directory() / "members";
  std::filesystem::create_directories(seen);
  const auto submit = [&] {
    return cluster.submit(
        "tenant: web\ntasks: {min: 1, max: 2}\ngrace: 1s\nresources: {cpu: 1, memory: 64MiB}\n"
        "command: " +
        json({"sh", "-c",
              "echo $FAIRWATER_MEMBERS >" + seen.string() +
                  "/$FAIRWATER_JOB_ID.$FAIRWATER_TASK_INDEX; exec sleep 120"})
            .dump() +
        "\n");
  };
  const auto older = submit();
  wait_until_grown(cluster, older, 1);
  const auto newer = submit();
  wait_until_grown(cluster, newer, 1);
  // By the file that the first task was told of.
  const auto members_of = [&](std::uint64_t job) {
    std::string place = read_file(seen / (std::to_string(job) + ".0"));
    place.erase(place.find_last_not_of('\n') + 1);
    const std::string lines = read_file(place);
    return std::count(lines.begin(), lines.end(), '\n');
  };
  const auto are_told = [&](std::uint64_t job, int members) {
    harness::wait_until(fmt::format("job {} is told of {} members", job, members), Duration(20'000),
                        [&] { return members_of(job) == members; });
  };
  are_told(newer, 2);
  (void)cluster.submit(job_file("batch", 1, "command: [sleep, \"120\"]\n"));
  wait_until_grown(cluster, newer, 0);
  are_told(newer, 1);
  CHECK(grown_tasks(cluster, older) == 1);
  CHECK(members_of(older) == 2);
  (void)cluster.submit(job_file("batch", 1, "command: [sleep, \"120\"]\n"));
  wait_until_grown(cluster, older, 0);
  are_told(older, 1);
  for (const auto job : {older, newer}) CHECK(cluster.job(job)["tasks"]["failed"] == 0);
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("docs/preemption.md does what it says", "[scenario]") {
  ClusterSetup setup = four_processors();
  setup.coordinator_lines = "preempt_after: 1s\n";
  Cluster cluster(setup);
  cluster.start();
  check_page(cluster, "docs/preemption.md");
  CHECK(ledger_is_sound(cluster));
}

}  // namespace fairwater::scenario
