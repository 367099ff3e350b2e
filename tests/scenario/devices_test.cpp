// docs/devices.md, as it stands, and that nothing is given twice whatever is killed.
#include <algorithm>
#include <random>
#include <sched.h>
#include <set>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/harness/page.hpp"
#include "tests/scenario/gpu_tally.hpp"
#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

/// The page's blocks of YAML, in their order.
std::vector<std::string> examples_of(const std::string& page) {
  std::vector<std::string> examples;
  for (const auto& block :
       harness::blocks_of(std::filesystem::path(FAIRWATER_SOURCE) / "docs" / page))
    examples.push_back(block.text);
  return examples;
}

harness::AgentSetup node_with(const std::string& configuration) {
  harness::AgentSetup node{.name = "node1", .resources = "cpu: 8, memory: 4GiB"};
  node.configuration += configuration;
  return node;
}

std::string output_of(const Cluster& cluster, std::uint64_t job, int task) {
  return cluster.fairwater({"job", "logs", std::to_string(job), "--task", std::to_string(task)})
      .output;
}

TEST_CASE("the examples of docs/devices.md do what the page says", "[scenario]") {
  const auto examples = examples_of("devices.md");
  REQUIRE(examples.size() == 7);
  Cluster cluster({.agents = {node_with(examples[0])}, .tenants = tenants({{"physics", 1}})});
  cluster.start();
  CHECK_THAT(cluster.log_of("node1"), Catch::Contains("devices: gpu0,gpu1"));
  CHECK(cluster.node("node1")["capacity"]["gpu"] == 2);
  const auto job = cluster.submit(examples[1]);
  REQUIRE(cluster.wait({job}) == 0);
  std::set<std::string> said;
  for (const int task : {0, 1}) said.insert(output_of(cluster, job, task));
  // The second may have begun when the first was over.
  CHECK(said.contains("gpu0 0\n"));
  said.erase("gpu0 0\n");
  said.erase("gpu1 1\n");
  CHECK(said.empty());

  const auto named = cluster.submit(examples[2]);
  REQUIRE(cluster.wait({named}) == 0);
  CHECK(output_of(cluster, named, 0) == "gpu1\n");
  CHECK(cluster.job(named)["task_list"][0]["devices"] == json({"gpu1"}));

  const auto by_option = cluster.fairwater({"job", "run", "--tenant", "physics", "--device", "gpu1",
                                            "--cpus", "exclusive", "--attach", "--", "sh", "-c",
                                            "echo $FAIRWATER_DEVICES; nproc"});
  CHECK(by_option.status == 0);
  CHECK(by_option.output == "gpu1\n1\n");

  const auto alone = cluster.submit(examples[3]);
  REQUIRE(cluster.wait({alone}) == 0);
  const std::string output = output_of(cluster, alone, 0);
  CHECK(output.ends_with("\n1\n"));
  CHECK(output.find_first_not_of("0123456789") == output.size() - 3);
}

TEST_CASE("jobs start beside a queue that waits for gpus", "[scenario]") {
  Cluster cluster({.agents = {node_with(examples_of("devices.md").at(0))},
                   .tenants = tenants({{"physics", 1}})});
  cluster.start();
  // More ranges than a window has, or tasks.
  const std::string gpu_job =
      "tenant: physics\nresources: {cpu: 1, memory: 64MiB, gpu: 1}\ncommand: [sleep, '3600']\n";
  std::uint64_t last = 0;
  SECTION("as one array") { last = cluster.submit(gpu_job + "tasks: 2000\n"); }
  SECTION("as many jobs") {
    for (int i = 0; i < 100; ++i) last = cluster.submit(gpu_job);
  }
  const auto beside = cluster.submit(job_file("physics", 3, "command: ['true']\n"));
  CHECK(cluster.wait({beside}) == 0);
  CHECK(cluster.job(last)["tasks"]["pending"] > 0);
}

TEST_CASE("the example of shared gpus in docs/devices.md does what the page says", "[scenario]") {
  const auto examples = examples_of("devices.md");
  REQUIRE(examples.size() == 7);
  Cluster cluster({.agents = {node_with(examples[5])},
                   .tenants = tenants({{"physics", 1}}),
                   .coordinator_lines = examples[4]});
  cluster.start();
  CHECK(cluster.node("node1")["capacity"]["gpu_milli"] == 2000);
  const auto job = cluster.submit(examples[6]);
  REQUIRE(cluster.wait({job}) == 0);
  std::set<std::string> said;
  for (const int task : {0, 1}) said.insert(output_of(cluster, job, task));
  // The second may have begun when the first was over.
  CHECK(said.erase("gpu0 0 500\n") == 1);
  said.erase("gpu1 1 500\n");
  CHECK(said.empty());
  const auto refused = [&](const std::string& resources) {
    const auto path = cluster.directory() / "refused.yaml";
    std::ofstream(path) << "tenant: physics\ncommand: [\"true\"]\nresources: {cpu: 1, " << resources
                        << "}\n";
    return cluster.fairwater({"job", "submit", path.string()}).errors;
  };
  CHECK_THAT(refused("gpu_milli: 0.5"), Catch::Contains("gpu_milli") && Catch::Contains("'0.5'") &&
                                            Catch::Contains("500 for a part of one gpu"));
  CHECK_THAT(refused("gpu: 0.5"), Catch::Contains("gpu_milli: 500 for a part"));
  CHECK_THAT(refused("gpu_milli: 1500"), Catch::Contains("1500 is neither a part of one gpu") &&
                                             Catch::Contains("write 1000 or 2000"));
  CHECK_THAT(refused("gpu_milli: 3000"), Catch::Contains("could ever give"));
}

TEST_CASE("no shared gpu is given beyond all of it, whatever is killed", "[scenario][crash]") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto examples = examples_of("devices.md");
  Cluster cluster({.agents = {node_with(examples.at(5))},
                   .tenants = tenants({{"physics", 1}}),
                   .lease = "30s",
                   .coordinator_lines = examples.at(4)});
  cluster.start();
  const auto tally = cluster.directory() / "tally";
  const auto go = cluster.directory() / "go";
  const auto job_of = [&](int tasks, int milli, const std::string& body) {
    return cluster.submit(
        fmt::format("tenant: physics\ntasks: {}\nresources: {{cpu: 50m, memory: "
                    "16MiB, gpu_milli: {}}}\ncommand: {}\n",
                    tasks, milli, tallied(tally, body)));
  };
  const auto wait_for_go = fmt::format("until [ -e {} ]; do sleep 0.05; done", go.string());
  const auto halves = job_of(4, 500, wait_for_go);
  harness::wait_until("all halves run", Duration(20'000),
                      [&] { return cluster.job(halves)["tasks"]["running"] == 4; });
  const auto whole = job_of(1, 1000, "sleep 0.2");
  const auto gpus_of_halves = [&] {
    std::map<std::string, int> tasks;
    const json listed = cluster.job(halves)["task_list"];
    for (const auto& task : listed) ++tasks[task["devices"].at(0)];
    return tasks;
  };
  const std::map<std::string, int> all{{"gpu0", 2}, {"gpu1", 2}};
  CHECK(gpus_of_halves() == all);
  cluster.stop_coordinator();
  cluster.stop_agent("node1");
  cluster.start_coordinator();
  cluster.start_agent("node1");
  CHECK(cluster.job(halves)["tasks"]["running"] == 4);
  CHECK(gpus_of_halves() == all);
  CHECK(cluster.job(whole)["tasks"]["running"] == 0);
  std::vector<std::uint64_t> jobs{halves, whole, job_of(10, 300, "sleep 0.2"),
                                  job_of(2, 2000, "sleep 0.1"), job_of(6, 650, "sleep 0.2")};
  std::ofstream{go};
  for (int round = 0; round < 2; ++round) {
    std::this_thread::sleep_for(Duration(200 + random() % 500));
    cluster.stop_agent("node1");
    if (round == 1) {
      cluster.stop_coordinator();
      cluster.start_coordinator();
    }
    cluster.start_agent("node1");
  }
  CHECK(cluster.wait(jobs, Duration(120'000)) == 0);
  CHECK(most_taken(tally) == 1000);
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("a task opens the device files of its own devices only, also when the agent was killed",
          "[scenario]") {
  if (!is_root_or_skips("making device files")) return;
  const TemporaryDirectory files;
  auto node = node_with("devices: {gpu: [0, 1]}\ndevice_files:\n");
  // The numbers of /dev/full and /dev/zero, for which no task here has another use.
  for (const auto& [name, minor] : {std::pair{"gpu0", 7u}, {"gpu1", 5u}}) {
    const auto file = std::filesystem::path(files.path()) / name;
    REQUIRE(mknod(file.c_str(), S_IFCHR | 0666, makedev(1, minor)) == 0);
    node.configuration += fmt::format("  {}: [{}]\n", name, file.string());
  }
  Cluster cluster({.agents = {node}, .tenants = tenants({{"physics", 1}}), .lease = "30s"});
  cluster.start();
  const auto words = cluster.node("node1")["isolation"].get<std::string>();
  CHECK_THAT(cluster.log_of("node1"), Catch::Contains(words));
  if (words.find("not held to their devices") != std::string::npos) {
    WARN(words);
    return;
  }
  CHECK_THAT(words, Catch::EndsWith("; held to their devices by a control group"));
  const auto go = cluster.directory() / "go";
  const auto opening_job = [&](const std::string& lines) {
    const auto script = fmt::format(
        "echo $FAIRWATER_DEVICES has; until [ -e {} ]; do sleep 0.02; done; cd {}; for d in gpu0 "
        "gpu1; do (exec 3< $d) 2> /dev/null && echo $d; done; exit 0",
        go.string(), files.path());
    return cluster.submit("tenant: physics\nresources: {cpu: 100m, memory: 16MiB}\n" + lines +
                          fmt::format("command: {}\n", json({"sh", "-c", script}).dump()));
  };
  const auto holder = opening_job("devices: [gpu1]\n");
  harness::wait_until("it has the device", Duration(10'000),
                      [&] { return !output_of(cluster, holder, 0).empty(); });
  cluster.stop_agent("node1");
  cluster.start_agent("node1");
  const auto none = opening_job("");
  const auto other = opening_job("devices: [gpu0]\n");
  std::ofstream{go};
  REQUIRE(cluster.wait({holder, none, other}) == 0);
  CHECK(output_of(cluster, holder, 0) == "gpu1 has\ngpu1\n");
  CHECK(output_of(cluster, none, 0) == "has\n");
  CHECK(output_of(cluster, other, 0) == "gpu0 has\ngpu0\n");
}

/// Holds a lock per device for as long as one of its processes lives. Some kill their supervisor
/// and leave a process in the background, in a session of its own.
std::string locking_job(int tasks, const std::string& resources,
                        const std::filesystem::path& directory) {
  const std::string script = fmt::format(
      "for d in ${{FAIRWATER_DEVICES//,/ }} ${{FAIRWATER_CPUS//,/ }}; do exec {{lock}}> {0}/$d; "
      "flock -n $lock || echo $d twice >> {0}/twice; done\n"
      "echo $FAIRWATER_DEVICES >> {0}/used\n"
      "if [[ $FAIRWATER_ATTEMPT == *.1 ]] && ((FAIRWATER_TASK_INDEX % 5 == 2)); then "
      "setsid sleep 60 & sleep 0.1; kill -9 $PPID; fi\n"
      "sleep 0.3",
      directory.string());
  return fmt::format("tenant: physics\ntasks: {}\nresources: {{memory: 16MiB, {}}}\ncommand: {}\n",
                     tasks, resources, json({"bash", "-c", script}).dump());
}

TEST_CASE("no device or processor is given twice, whatever is killed", "[scenario][crash]") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  auto node = node_with("devices: {gpu: [0, 1, card]}\n");
  cpu_set_t usable;  // by the agent, too
  REQUIRE(::sched_getaffinity(0, sizeof usable, &usable) == 0);
  node.resources = fmt::format("cpu: {}, memory: 4GiB", CPU_COUNT(&usable));
  Cluster cluster({.agents = {node}, .tenants = tenants({{"physics", 1}}), .lease = "30s"});
  cluster.start();
  const auto place = cluster.directory() / "locks";
  std::filesystem::create_directories(place);
  const auto single = cluster.submit(locking_job(20, "cpu: 50m, gpu: 1", place));
  const auto pairs = cluster.submit(locking_job(10, "cpu: 50m, gpu: 2", place));
  const auto none = cluster.submit(locking_job(3, "cpu: 50m", place));
  const auto alone = cluster.submit(locking_job(8, "cpu: 1", place) + "cpus: exclusive\n");
  for (int round = 0; round < 4; ++round) {
    std::this_thread::sleep_for(Duration(300 + random() % 700));
    cluster.stop_agent("node1");
    std::this_thread::sleep_for(Duration(random() % 400));
    cluster.start_agent("node1");
    if (round == 2) {
      cluster.stop_coordinator();
      cluster.start_coordinator();
    }
  }
  CHECK(cluster.wait({single, pairs, none, alone}, Duration(120'000)) == 0);
  CHECK_FALSE(std::filesystem::exists(place / "twice"));
  std::map<std::string, int> used;
  std::istringstream lines(read_file(place / "used"));
  for (std::string line; std::getline(lines, line);) ++used[line];
  CHECK(used[""] >= 3);
  int singles = 0;
  for (const char* name : {"card", "gpu0", "gpu1"}) singles += used[name];
  CHECK(singles >= 20);
  for (const auto& [names, times] : used) {
    INFO(names);
    CHECK(std::set<std::string>{"", "card", "gpu0", "gpu1", "gpu0,gpu1", "gpu0,card", "gpu1,card"}
              .contains(names));
  }
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("named devices are given to those who name them and to nobody twice, whatever is killed",
          "[scenario][crash]") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  auto first = node_with("devices: {gpu: [0, 1, card]}\n");
  auto second = node_with("devices: {gpu: [0]}\n");
  second.name = "node2";
  Cluster cluster(
      {.agents = {first, second}, .tenants = tenants({{"physics", 1}}), .lease = "30s"});
  cluster.start();
  // Both nodes are this machine: locks are of a node.
  const auto job_of = [&](int tasks, const std::string& lines) {
    const std::string script = fmt::format(
        "at={0}/$(dirname $FAIRWATER_ATTEMPT | tr / _); mkdir -p $at; for d in "
        "${{FAIRWATER_DEVICES//,/ }}; do exec "
        "{{lock}}> $at/$d; "
        "flock -n $lock || echo $d twice >> {0}/twice; done; echo $FAIRWATER_DEVICES; sleep 0.2",
        (cluster.directory() / "locks").string());
    return cluster.submit(fmt::format(
        "tenant: physics\ntasks: {}\nresources: {{cpu: 50m, memory: 16MiB}}\n{}command: {}\n",
        tasks, lines, json({"bash", "-c", script}).dump()));
  };
  std::filesystem::create_directories(cluster.directory() / "locks");
  const std::map<std::uint64_t, std::string> named{
      {job_of(10, "devices: [card]\n"), "card\n"},
      {job_of(6, "devices: [card, gpu0]\n"), "gpu0,card\n"},
      {job_of(10, "devices: [gpu0]\n"), "gpu0\n"}};
  const auto any = job_of(1, "");
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(Duration(300 + random() % 500));
    const std::string agent = random() % 2 == 0 ? "node1" : "node2";
    cluster.stop_agent(agent);
    if (round == 1) {
      cluster.stop_coordinator();
      cluster.start_coordinator();
    }
    cluster.start_agent(agent);
  }
  for (const auto& [job, printed] : named) {
    CHECK(cluster.wait({job}, Duration(120'000)) == 0);
    const json tasks = cluster.job(job)["task_list"];
    for (const auto& task : tasks)  // its agent may just be back
      harness::wait_until("its output can be read, and names " + printed, Duration(20'000),
                          [&, id = job, &expected = printed] {
                            return output_of(cluster, id, task["index"]) == expected;
                          });
  }
  CHECK(cluster.wait({any}) == 0);
  CHECK_FALSE(std::filesystem::exists(cluster.directory() / "locks" / "twice"));
  for (const char* node : {"node1", "node2"}) {
    const json devices = cluster.node(node)["devices"];
    for (const auto& device : devices) CHECK(device["task"].is_null());
  }
  CHECK(ledger_is_sound(cluster));
}

}  // namespace
}  // namespace fairwater::scenario
