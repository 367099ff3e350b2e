#include <algorithm>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Work that says every 50 ms that it is alive, into one file per run.
std::string ticking_work(const std::filesystem::path& directory, int ticks) {
  return fmt::format(
      "for ((i = 0; i < {}; ++i)); do echo $EPOCHREALTIME >> {}/ticks.$FAIRWATER_TASK_INDEX.$$; "
      "sleep 0.05; done",
      ticks, directory.string());
}

/// The last sign of life of the task's runs that started before `moment`.
double last_tick_of_runs_before(const std::filesystem::path& directory, std::uint32_t task,
                                double moment) {
  const std::string ticks = fmt::format("ticks.{}.", task);
  double last = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (!entry.path().filename().string().starts_with(ticks)) continue;
    std::ifstream file(entry.path());
    double first = 0, tick = 0;
    file >> first;
    tick = first;
    double next = 0;
    while (file >> next) tick = next;
    if (first < moment) last = std::max(last, tick);
  }
  return last;
}

TEST_CASE("a silent node's tasks run elsewhere only after lease and grace, when they are dead",
          "[scenario][slow]") {
  Cluster cluster({.agents = {{"node1", "cpu: 2, memory: 1GiB"}, {"node2", "cpu: 2, memory: 1GiB"}},
                   .tenants = tenants({{"steady", 1}}),
                   .lease = "4s",
                   .heartbeat_interval = "200ms"});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  // Seven seconds: beyond the lease, and over on the other node before lease and grace are.
  const auto id = cluster.submit(
      job_file("steady", 4, log.command_line(ticking_work(cluster.directory(), 140))));
  harness::wait_until("both nodes are full", Duration(10'000),
                      [&] { return log.runs().size() == 4; });

  const double silent_since = now();
  cluster.agent("node1").send_signal(SIGSTOP);
  harness::wait_until("the node is down", Duration(20'000),
                      [&] { return cluster.node("node1")["state"] == "down"; });
  harness::wait_until("its two tasks are running again", Duration(30'000),
                      [&] { return log.runs().size() == 6; });
  const auto runs = log.runs();
  const double first_rerun = runs[4].started;
  // Lease and grace count from the last report before the silence.
  const double heard = harness::seconds_since_1970(cluster.node("node1")["last_heartbeat"]);
  CHECK(heard < silent_since + 1.5);
  CHECK(first_rerun - heard >= 8.0);
  int cut_off = 0;
  for (int i = 0; i < 4; ++i) cut_off += runs[static_cast<std::size_t>(i)].ended == 0 ? 1 : 0;
  CHECK(cut_off >= 2);

  CHECK(cluster.wait({id}) == 0);
  std::map<std::pair<std::uint64_t, std::uint32_t>, double> first_start;
  for (const auto& run : log.runs()) {
    const auto [entry, first] = first_start.try_emplace({run.job, run.index}, run.started);
    if (!first)
      CHECK(last_tick_of_runs_before(cluster.directory(), run.index, silent_since + 0.5) <
            run.started);
  }
  int reruns = 0;
  for (const json job = cluster.job(id); const auto& task : job["task_list"]) {
    CHECK(task["state"] == "succeeded");
    reruns += task["attempts"].get<int>() - 1;
  }
  CHECK(reruns == 2);

  cluster.agent("node1").send_signal(SIGCONT);
  cluster.wait_for_nodes(2);
  CHECK(log.runs().size() == 6);
  CHECK(cluster.node("node1")["running_tasks"] == 0);
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("a task with a lease of its own outlives its node's silence", "[scenario][slow]") {
  Cluster cluster(
      {.agents = {{.name = "node1", .resources = "cpu: 2, memory: 1GiB", .site = "west"},
                  {"node2", "cpu: 2, memory: 1GiB"}},
       .tenants = tenants({{"steady", 1}}),
       .lease = "4s",
       .longest_lease = "1m",
       .heartbeat_interval = "200ms"});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const auto submit = [&](const std::string& work, const std::string& more) {
    return cluster.submit(job_file("steady", 1, log.command_line(work) + more));
  };
  const auto own = submit("sleep 14", "sites: [west]\nlease: 1m\n");
  const auto ordinary = submit("sleep 8", "sites: [west, here]\n");
  harness::wait_until("both run", Duration(10'000), [&] { return log.runs().size() == 2; });
  cluster.agent("node1").send_signal(SIGSTOP);
  harness::wait_until("the other one runs again", Duration(30'000),
                      [&] { return log.runs().size() == 3; });
  CHECK(log.runs().back().job == ordinary);
  cluster.agent("node1").send_signal(SIGCONT);
  CHECK(cluster.wait({own, ordinary}) == 0);
  CHECK(log.runs().size() == 3);
  CHECK(cluster.job(own)["task_list"][0]["attempts"] == 1);
  CHECK(ledger_is_sound(cluster));

  const Completed refused =
      cluster.fairwater({"job", "run", "--tenant", "steady", "--lease", "2m", "--", "true"});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.errors,
             Catch::Contains("lease: 120000 ms is not between the cluster's lease"));
}

TEST_CASE("a node that is back within its lease goes on as if nothing had been", "[scenario]") {
  Cluster cluster({.agents = {{"node1", "cpu: 2, memory: 1GiB"}},
                   .tenants = tenants({{"steady", 1}}),
                   .lease = "15s",
                   .heartbeat_interval = "200ms"});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const auto id = cluster.submit(job_file("steady", 2, log.command_line("sleep 2")));
  harness::wait_until("both tasks run", Duration(10'000), [&] { return log.runs().size() == 2; });
  cluster.agent("node1").send_signal(SIGSTOP);
  std::this_thread::sleep_for(Duration(1500));  // the silence under test
  cluster.agent("node1").send_signal(SIGCONT);
  CHECK(cluster.wait({id}) == 0);
  CHECK(each_ran_once(log, {{id, 2}}));
}

TEST_CASE("a drained node gets no more tasks and finishes those that it has", "[scenario]") {
  Cluster cluster(
      {.agents = {{"node1", "cpu: 2, memory: 1GiB"}}, .tenants = tenants({{"steady", 1}})});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const auto gate = cluster.directory() / "gate";
  const auto id = cluster.submit(job_file(
      "steady", 4, log.command_line("until [ -e " + gate.string() + " ]; do sleep 0.1; done")));
  harness::wait_until("two tasks run", Duration(10'000), [&] { return log.runs().size() == 2; });
  CHECK(cluster.fairwater({"node", "drain", "node1", "--reason", "new disk"}).status == 0);
  CHECK(cluster.node("node1")["state"] == "draining");
  std::ofstream(gate) << "open";
  harness::wait_until("the node is drained", Duration(10'000),
                      [&] { return cluster.node("node1")["state"] == "drained"; });
  CHECK(log.runs().size() == 2);
  CHECK(cluster.fairwater({"node", "undrain", "node1"}).status == 0);
  CHECK(cluster.wait({id}) == 0);
  CHECK(each_ran_once(log, {{id, 4}}));
}

}  // namespace
}  // namespace fairwater::scenario
