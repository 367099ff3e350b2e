// Everything at once, under random kills: a tree of tenants, arrays, gangs, elastic jobs, services,
// devices and preemption. Afterwards the journal is read from its beginning.
#include <csignal>
#include <random>
#include <set>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/scenario/file_queue.hpp"
#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

constexpr int kProcessorsPerNode = 3;  // every task takes one
constexpr int kNodes = 3;

ClusterSetup mixed_cluster() {
  ClusterSetup setup{.agents = {},
                     .tenants =
                         "tenants:\n"
                         "  - name: faculty\n"
                         "    weight: 3\n"
                         "    tenants: [{name: physics, weight: 2}, {name: biology, weight: 1}]\n"
                         "  - {name: chemistry, weight: 1, min: {cpu: 1}}\n",
                     .lease = "5s",
                     .heartbeat_interval = "200ms"};
  setup.coordinator_lines = "preempt_after: 1s\n";
  for (int node = 1; node <= kNodes; ++node) {
    setup.agents.push_back({.name = fmt::format("node{}", node),
                            .resources = fmt::format("cpu: {}, memory: 1GiB", kProcessorsPerNode)});
    if (node < kNodes) setup.agents.back().configuration += "devices: {gpu: [0, 1]}\n";
  }
  return setup;
}

/// Each task takes one of its node's places, which it has for as long as one of its processes
/// lives.
std::string taking_a_place(const std::filesystem::path& place) {
  std::string script =
      fmt::format("node=${{FAIRWATER_ATTEMPT%/tasks/*}}; node={}/${{node//[^a-z0-9]/_}}; has=\n",
                  place.string());
  for (int i = 1; i <= kProcessorsPerNode; ++i)
    script += fmt::format(
        "[ $has ] || {{ exec {{p}}>$node.{0}; if flock -n $p; then has={0}; else exec {{p}}>&-; "
        "fi; }}\n",
        i);
  return script + fmt::format("[ $has ] || echo $FAIRWATER_ATTEMPT >> {}/over\n", place.string());
}

std::string mixed_job(const std::string& tenant, const std::string& more,
                      const std::string& script) {
  return fmt::format(
      "tenant: {}\n{}resources: {{cpu: 1, memory: 32MiB{}}}\ngrace: 1s\ncommand: {}\n", tenant,
      more, more.find("# gpu") == std::string::npos ? "" : ", gpu: 1",
      json({"bash", "-c", script}).dump());
}

/// Holds a lock for each device that it was given, on its node.
std::string holding_its_devices(const std::filesystem::path& place) {
  return fmt::format(
      "for d in ${{FAIRWATER_DEVICES//,/ }}; do exec {{lock}}> $node.$d; "
      "flock -n $lock || echo $d twice >> {0}/twice; done\nsleep 0.4",
      place.string());
}

/// What the journal says, followed from its first record: gangs are whole, no attempt begins twice,
/// and none while another of its task runs.
void check_journal(const Cluster& cluster, const std::set<std::uint64_t>& gangs, int gang_size) {
  std::set<std::string> runs;  // "job.task"
  std::set<std::string> begun;
  const auto name_of = [](const json& task) {
    return fmt::format("{}.{}", task["job"].get<std::uint64_t>(), task["task"].get<int>());
  };
  const auto end = [&](const json& task) { CHECK(runs.erase(name_of(task)) == 1); };
  for (const json& record : journal_of(cluster)) {
    const std::string kind = record["kind"];
    INFO("cycle " << record["cycle"] << " " << kind);
    if (kind == "cycle") {
      std::map<std::uint64_t, int> granted_of_gang;
      for (const json& deal : record["deals"])
        for (const json& grant : deal["grants"]) {
          CHECK(begun.insert(name_of(grant) + "." + grant["attempt"].dump()).second);
          CHECK(runs.insert(name_of(grant)).second);
          const auto job = grant["job"].get<std::uint64_t>();
          if (gangs.contains(job)) ++granted_of_gang[job];
        }
      for (const auto& [gang, tasks] : granted_of_gang) CHECK(tasks == gang_size);
    }
    if (kind == "tasks_finished")
      for (const json& result : record["results"]) end(result);
    if (kind == "tasks_requeued")
      for (const json& task : record["tasks"]) end(task);
    if (kind == "launches_failed")
      for (const json& launch : record["launches"]) end(launch);
  }
  CHECK(runs.empty());
}

TEST_CASE("all kinds of work at once survive random kills", "[scenario][crash]") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Cluster cluster(mixed_cluster());
  cluster.start();
  const auto place = cluster.directory() / "locks";
  std::filesystem::create_directories(place);
  const FileQueue queue(cluster, 300);
  constexpr int kGangSize = 4;
  const std::string first = taking_a_place(place);
  const std::string pause = first + "sleep 0.3";
  const auto service = cluster.submit(
      mixed_job("chemistry", "kind: service\n", first + "while :; do sleep 0.1; done"));
  std::vector<std::uint64_t> jobs{cluster.submit(queue.job(1, 6, "biology", first))};
  std::set<std::uint64_t> gangs;
  for (int round = 0; round < 12; ++round) {
    jobs.push_back(cluster.submit(mixed_job("physics", "tasks: 6\n", pause)));
    jobs.push_back(cluster.submit(
        mixed_job("biology", "tasks: 3\n# gpu\n", first + holding_its_devices(place))));
    if (round % 3 == 0)
      gangs.insert(jobs.emplace_back(cluster.submit(mixed_job(
          "physics", fmt::format("gang: true\ntasks: {}\nretries: 1000\n", kGangSize), pause))));
    if (round % 2 == 0)
      jobs.push_back(
          cluster.submit(mixed_job("chemistry", "tasks: 2\npriority: 5\npreempt: true\n", pause)));
    const std::string node = fmt::format("node{}", 1 + random() % kNodes);
    switch (random() % 4) {
      case 0:
        cluster.stop_coordinator(SIGKILL);
        cluster.start_coordinator();
        break;
      case 1:
        cluster.stop_agent(node, SIGKILL);
        cluster.start_agent(node);
        break;
      case 2:
        CHECK(cluster.fairwater({"node", "drain", node, "--reason", "mixed"}).status == 0);
        CHECK(cluster.fairwater({"node", "undrain", node}).status == 0);
        break;
      default:
        std::this_thread::sleep_for(Duration(random() % 1000));  // a quiet moment
    }
    cluster.wait_for_nodes(kNodes);
  }
  CHECK(cluster.wait(jobs, Duration(120'000)) == 0);
  CHECK(cluster.fairwater({"job", "cancel", std::to_string(service)}).status == 0);
  CHECK(cluster.wait({service}) == 125);
  for (const std::uint64_t job : jobs) CHECK(cluster.job(job)["state"] == "succeeded");
  CHECK(queue.files("done") == 300);
  CHECK_FALSE(std::filesystem::exists(place / "twice"));
  CHECK(read_file(place / "over").empty());
  check_journal(cluster, gangs, kGangSize);
  CHECK(ledger_is_sound(cluster));
}

}  // namespace
}  // namespace fairwater::scenario
