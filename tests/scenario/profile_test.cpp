// Profiles of real programs: one bound by processors, one by memory, one by its disk; measured
// under a coordinator that is killed, and used by jobs that leave their amounts to them.
#include <algorithm>
#include <future>

#include <catch2/catch.hpp>

#include "tests/scenario/pages.hpp"
#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

ClusterSetup roomy_node() {
  return {.agents = {{"node1", "cpu: 8, memory: 4GiB"}}, .tenants = tenants({{"physics", 1}})};
}

/// The entry of the amounts with so much of a resource.
json at_amount(const json& profile, const std::string& resource, int amount) {
  for (const json& entry : profile["amounts"])
    if (entry["resources"][resource] == amount) return entry;
  throw std::runtime_error("no runs with " + resource + " " + std::to_string(amount));
}

json diagonal(const json& profile) {
  for (const json& point : profile["points"])
    if (point["method"] == "diagonal") return point["resources"];
  throw std::runtime_error("no point");
}

std::string job_of_class(const std::string& job_class, const std::string& script,
                         const std::string& resources) {
  return fmt::format("tenant: physics\nclass: {}\nresources: {}\ncommand: {}\n", job_class,
                     resources, json({"bash", "-c", script}).dump());
}

json measure(const Cluster& cluster, const std::string& file,
             const std::vector<std::string>& options) {
  std::vector<std::string> words{"profile", "run", "-"};
  words.insert(words.end(), options.begin(), options.end());
  return cluster.ask(words, file);
}

}  // namespace

TEST_CASE("docs/profiling.md does what it says", "[scenario][profile][long][slow]") {
  if (!is_root_or_skips("a memory limit by control group")) return;
  Cluster cluster(roomy_node());
  cluster.start();
  check_page(cluster, "docs/profiling.md");
  CHECK(ledger_is_sound(cluster));
  // The shapes of the three programs. Two pieces: a second processor pays, a fourth does not.
  const auto show = [&](const std::string& job_class) {
    return cluster.ask({"profile", "show", job_class, "--tenant", "physics"})["profile"];
  };
  const json hash = show("hash");
  INFO(hash.dump(1));
  CHECK(at_amount(hash, "cpu", 1000)["fastest"].get<double>() >
        1.1 * at_amount(hash, "cpu", 2000)["fastest"].get<double>());
  CHECK(diagonal(hash)["cpu"] < 4000);
  const json log = show("log");
  INFO(log.dump(1));
  CHECK(diagonal(log)["cpu"] < 3000);
  CHECK(diagonal(show("count"))["memory"] == 128);
}

TEST_CASE("a measurement goes on through a coordinator's death, and repeats nothing",
          "[scenario][profile][crash]") {
  Cluster cluster(roomy_node());
  cluster.start();
  const std::string file =
      job_of_class("wait", "sleep 0.$((9 / OMP_NUM_THREADS))", "{memory: 16MiB}");
  auto measurement = std::async(std::launch::async, [&] {
    return measure(cluster, file, {"--vary", "cpu=1,2,4", "--repeat", "4"});
  });
  harness::wait_until("some runs have ended", Duration(30'000), [&] {
    return cluster.ask({"job", "list", "--state", "succeeded"})["jobs"].size() >= 3;
  });
  cluster.stop_coordinator(SIGKILL);
  cluster.start_coordinator();
  const json measured = measurement.get();
  const json profile = measured["profile"];
  INFO(measured.dump(1));
  for (const int cpu : {1000, 2000, 4000}) CHECK(at_amount(profile, "cpu", cpu)["runs"] == 4);
  CHECK(measured["submitted"] == 12);
  CHECK(cluster.list("job").size() == 12);
  CHECK(at_amount(profile, "cpu", 1000)["time"].get<double>() >
        at_amount(profile, "cpu", 2000)["time"].get<double>());

  const json again = measure(cluster, file, {"--vary", "cpu=1..2", "--repeat", "4"});
  CHECK(again["submitted"] == 0);
  const json one_more = measure(cluster, file, {"--vary", "cpu=2,4", "--repeat", "5"});
  CHECK(one_more["submitted"] == 2);
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("two resources are varied together, and ordinary runs count", "[scenario][profile]") {
  Cluster cluster(roomy_node());
  cluster.start();
  const std::string file = job_of_class("both", "sleep 0.$((4 / OMP_NUM_THREADS))", "{}");
  const json measured = measure(
      cluster, file, {"--vary", "cpu=1,2", "--vary", "memory=32MiB,64MiB", "--repeat", "2"});
  INFO(measured.dump(1));
  CHECK(measured["submitted"] == 8);
  const auto runs_with = [](const json& profile, int cpu, int memory) {
    for (const json& entry : profile["amounts"])
      if (entry["resources"] == json({{"cpu", cpu}, {"memory", memory}}))
        return entry["runs"].get<int>();
    return 0;
  };
  for (const int cpu : {1000, 2000})
    for (const int memory : {32, 64}) CHECK(runs_with(measured["profile"], cpu, memory) == 2);

  CHECK(cluster
            .fairwater({"job", "run", "--tenant", "physics", "--class", "both", "--cpu", "2",
                        "--memory", "64MiB", "--wait", "--", "sleep", "0.2"})
            .status == 0);
  const json shown = cluster.ask({"profile", "show", "both", "--tenant", "physics"})["profile"];
  CHECK(runs_with(shown, 2000, 64) == 3);
  CHECK(runs_with(shown, 2000, 32) == 2);
}

TEST_CASE("no more runs of a measurement are under way than it may have", "[scenario][profile]") {
  Cluster cluster(roomy_node());
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const std::string file = "tenant: physics\nclass: counted\nresources: {memory: 16MiB}\n" +
                           log.command_line("sleep 0.3");
  const json measured =
      measure(cluster, file, {"--vary", "cpu=1..4", "--repeat", "3", "--parallel", "3"});
  CHECK(measured["submitted"] == 12);
  CHECK(log.runs().size() == 12);
  std::vector<std::pair<double, int>> events;
  for (const json& job : cluster.list("job")) {
    const json task = cluster.job(job["id"].get<std::uint64_t>())["task_list"][0];
    events.emplace_back(harness::seconds_since_1970(task["started_at"]), 1);
    events.emplace_back(harness::seconds_since_1970(task["finished_at"]), -1);
  }
  std::sort(events.begin(), events.end());
  int now = 0;
  int most = 0;
  for (const auto& [time, change] : events) most = std::max(most, now += change);
  CHECK(most <= 3);
  CHECK(most >= 2);
}

TEST_CASE("a memory that was guessed wrong is raised under whichever coordinator lives",
          "[scenario][profile][crash][slow]") {
  if (!is_root_or_skips("a memory limit by control group")) return;
  Cluster cluster(roomy_node());
  cluster.start();
  const auto holding = [](int mebibytes) {
    return fmt::format("x=$(head -c {}M /dev/zero | tr '\\0' x); sleep 0.5; echo ${{#x}}",
                       mebibytes);
  };
  const json measured = measure(cluster, job_of_class("hold", holding(20), "{cpu: 1}"),
                                {"--vary", "memory=64MiB,512MiB,1GiB", "--repeat", "2"});
  INFO(measured.dump(1));
  CHECK(diagonal(measured["profile"])["memory"] == 64);
  const auto job =
      cluster.submit(job_of_class("hold", holding(200), "{cpu: 1, memory: auto}") + "tasks: 2\n");
  CHECK(cluster.job(job)["profiled"]["memory_steps"] == json({512, 1024}));
  harness::wait_until("a task hit its limit", Duration(90'000),
                      [&] { return cluster.job(job)["profiled"]["memory_step"] == 1; });
  cluster.stop_coordinator(SIGKILL);
  cluster.start_coordinator();
  cluster.wait_for_nodes(1);
  REQUIRE(cluster.wait({job}, Duration(180'000)) == 0);
  const json ended = cluster.job(job);
  INFO(ended.dump(1));
  CHECK(ended["resources"]["memory"] == 512);
  for (const json& task : ended["task_list"]) CHECK(task["attempts"] <= 2);
  CHECK(ledger_is_sound(cluster));
}

}  // namespace fairwater::scenario
