// Processors of a task's own: which ones, that nobody else runs there, and what the task sees.
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <signal.h>

#include "process/cpu_affinity.hpp"
#include "process/cpuset.hpp"
#include "task_host_fixture.hpp"

using namespace fairwater;

namespace {

/// So many memory nodes of so many cores of two threads, numbered as the kernel does: the second
/// threads of all cores after all first ones.
std::vector<Cpu> machine_of(std::uint32_t memory_nodes, std::uint32_t cores) {
  std::vector<Cpu> machine;
  const std::uint32_t all = memory_nodes * cores;
  for (std::uint32_t number = 0; number < 2 * all; ++number)
    machine.push_back({number, number % all / cores, number % all});
  return machine;
}

LaunchOrder alone_on(LaunchOrder order, Amount cpus) {
  order.limits["cpu"] = cpus * kMillicoresPerCpu;
  order.exclusive_cpus = true;
  return order;
}

std::string affinity_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Cpus_allowed_list:\t")) return line.substr(19);
  return {};
}

}  // namespace

TEST_CASE("Processors are picked near each other, and whole cores first", "[process][cpus]") {
  const auto machine = machine_of(2, 4);  // cores 0-3 and 8-11, 4-7 and 12-15
  const auto pick = [&](std::set<std::uint32_t> busy, std::size_t count) {
    const auto picked = pick_cpus(machine, busy, count);
    return picked ? to_text(*picked) : details(picked.error()).message;
  };
  CHECK(pick({}, 1) == "0");
  CHECK(pick({}, 2) == "0,8");
  CHECK(pick({}, 3) == "0,1,8");
  CHECK(pick({0}, 1) == "8");    // what is left of a core that is in use
  CHECK(pick({0}, 2) == "1,9");  // a whole core where fewest are left over
  CHECK(pick({0, 4, 5}, 4) == "6,7,14,15");
  CHECK(pick({0, 4}, 8) == "1,2,3,8,9,10,11,12");  // no memory node has eight
  CHECK(pick({4, 5, 6}, 8) == "0,1,2,3,8,9,10,11");
  CHECK(pick({}, 17) ==
        "the task takes 17 processors of its own, and of the machine's 16 only 16 are free");
}

TEST_CASE("No processor is picked twice, and two memory nodes only where one has not enough",
          "[process][cpus][property]") {
  std::mt19937 random(11);
  for (int run = 0; run < 300; ++run) {
    const auto machine = machine_of(1 + random() % 4, 1 + random() % 6);
    std::map<std::uint32_t, std::uint32_t> memory_node_of;
    for (const Cpu& cpu : machine) memory_node_of[cpu.number] = cpu.memory_node;
    std::vector<CpuNumbers> holders;
    for (int step = 0; step < 60; ++step) {
      if (random() % 3 == 0 && !holders.empty()) {
        holders.erase(holders.begin() + static_cast<int>(random() % holders.size()));
        continue;
      }
      std::set<std::uint32_t> busy;
      for (const auto& holder : holders) busy.insert(holder.begin(), holder.end());
      std::map<std::uint32_t, std::size_t> free;
      for (const Cpu& cpu : machine) free[cpu.memory_node] += busy.contains(cpu.number) ? 0 : 1;
      std::size_t most = 0;
      for (const auto& [node, count] : free) most = std::max(most, count);
      const std::size_t count = 1 + random() % machine.size();
      const auto picked = pick_cpus(machine, busy, count);
      REQUIRE(static_cast<bool>(picked) == (machine.size() - busy.size() >= count));
      if (!picked) continue;
      REQUIRE(picked->size() == count);
      std::set<std::uint32_t> memory_nodes;
      for (const std::uint32_t cpu : *picked) {
        REQUIRE(busy.insert(cpu).second);
        memory_nodes.insert(memory_node_of.at(cpu));
      }
      if (count <= most) REQUIRE(memory_nodes.size() == 1);
      holders.push_back(*picked);
    }
  }
}

TEST_CASE("The kernel's lists of processors are read", "[process][cpus]") {
  CHECK(*parse_cpu_list("0-2,5") == CpuNumbers{0, 1, 2, 5});
  CHECK(parse_cpu_list("")->empty());
  for (const char* text : {"a", "1-", "-1", "3-2", "1,", "1,,2", "0-99999999999", "0-2000000"})
    CHECK_FALSE(parse_cpu_list(text));

  const TemporaryDirectory system;
  const auto write = [&](const std::string& file, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(system / file).parent_path());
    std::ofstream(system / file) << text << "\n";
  };
  write("node/node0/cpulist", "0,2");
  write("node/node1/cpulist", "1,3");
  write("node/node2/cpulist", "");
  write("cpu/cpu1/topology/thread_siblings_list", "1,3");
  write("cpu/cpu3/topology/thread_siblings_list", "1,3");
  CHECK(read_cpus({0, 1, 3, 9}, system.path()) ==
        std::vector<Cpu>{{0, 0, 0}, {1, 1, 1}, {3, 1, 1}, {9, 0, 9}});
}

TEST_CASE("A task has its processors to itself", "[process][cpus]") {
  const CpuNumbers machine = usable_cpus();
  if (machine.size() < 2) return;  // a machine with one processor has none to share
  HostFixture fixture;
  fixture.options().cpusets = GENERATE(false, true);
  if (fixture.options().cpusets && !why_no_cpusets(fixture.options().limits).empty()) return;
  fixture.reopen();
  const auto print = "echo $FAIRWATER_CPUS; nproc; grep Cpus_allowed_list /proc/self/status";
  const auto list = [](const std::string& cpus) { return "Cpus_allowed_list:\t" + cpus + "\n"; };
  const std::string first = std::to_string(machine[0]);

  LaunchOrder shared = fixture.shell("sh -c 'sleep 30; true' & echo $!; wait");
  REQUIRE(!fixture.host().launch(shared));
  REQUIRE(eventually([&] { return !fixture.output(shared.task).empty(); }));
  const pid_t child = std::stoi(fixture.output(shared.task));
  const std::string everywhere = affinity_of(child);

  const LaunchOrder alone = alone_on(fixture.shell(std::string(print) + "; exec sleep 30"), 1);
  REQUIRE(!fixture.host().launch(alone));
  REQUIRE(eventually([&] { return fixture.output(alone.task).ends_with("\n" + list(first)); }));
  CHECK(fixture.output(alone.task) == first + "\n1\n" + list(first));
  // Whoever was there has gone elsewhere, and nobody comes.
  const auto holds = [&](pid_t pid) {
    const auto cpus = parse_cpu_list(affinity_of(pid));
    return cpus && std::ranges::find(*cpus, machine[0]) != cpus->end();
  };
  CHECK_FALSE(holds(child));
  const LaunchOrder next = fixture.shell("echo ${FAIRWATER_CPUS-unset} $$; sleep 30");
  REQUIRE(!fixture.host().launch(next));
  REQUIRE(eventually([&] { return fixture.output(next.task).ends_with("\n"); }));
  const pid_t newcomer = std::stoi(fixture.output(next.task).substr(6));
  CHECK_FALSE(holds(newcomer));
  CHECK(fixture.output(next.task).starts_with("unset "));

  // Over a restart of the agent they stay its own.
  fixture.reopen();
  REQUIRE(fixture.host().scan());
  CHECK_FALSE(holds(child));
  const auto count = static_cast<Amount>(machine.size());
  const LaunchOrder all = alone_on(fixture.shell("exit 0"), count);
  const auto refused = fixture.host().launch(all);
  CHECK(details(refused).code == ErrorCode::unavailable);
  CHECK(details(refused).field == "cpus");
  LaunchOrder rest = alone_on(fixture.shell(print), count - 1);
  const TaskResult result = fixture.run(rest);
  CHECK(result.exit_code == 0);
  CHECK_FALSE(fixture.output(rest.task).starts_with(first));

  REQUIRE(!fixture.host().stop(alone.task, EndReason::cancelled));
  fixture.wait_for(alone.task);
  CHECK(affinity_of(child) == everywhere);
  CHECK(affinity_of(newcomer) == everywhere);

  // Nobody was there to move it back.
  const LaunchOrder brief = alone_on(fixture.shell("sleep 0.2"), 1);
  fixture.launch_held(brief);
  CHECK_FALSE(holds(child));
  fixture.close();
  const AttemptFile file(fixture.directory(), brief.task);
  REQUIRE(eventually([&] { return file.read()->result.has_value(); }));
  fixture.reopen();
  REQUIRE(fixture.host().scan());
  CHECK(affinity_of(child) == everywhere);
  for (const TaskKey& task : {shared.task, next.task}) {
    REQUIRE(!fixture.host().stop(task, EndReason::cancelled));
    fixture.wait_for(task);
  }
}

TEST_CASE("A task cannot move to other processors where control groups hold it",
          "[process][cpus]") {
  const CpuNumbers machine = usable_cpus();
  HostFixture fixture;
  const auto why_not = why_no_cpusets(fixture.options().limits);
  if (machine.size() < 2 || !why_not.empty()) {
    WARN("not tried: " << why_not);
    return;
  }
  fixture.options().cpusets = true;
  fixture.reopen();
  const auto moving_to = [](std::uint32_t cpu) {
    return "taskset -cp " + std::to_string(cpu) +
           " $$ > /dev/null 2>&1 && echo moved || echo kept; ";
  };
  const auto until = [&](const char* file) {
    return "until [ -e " + (fixture.directory() / file).string() + " ]; do sleep 0.01; done; ";
  };
  const auto now = [&](const char* file) { std::ofstream{fixture.directory() / file}; };
  // It is there before the other one and goes back when that is over.
  const LaunchOrder shared =
      fixture.shell(until("begun") + moving_to(machine[0]) + until("over") + moving_to(machine[0]));
  REQUIRE(!fixture.host().launch(shared));
  const LaunchOrder alone =
      alone_on(fixture.shell(moving_to(machine[1]) + moving_to(machine[0]) + until("end") +
                             "grep :cpuset: /proc/self/cgroup | cut -d: -f3"),
               1);
  REQUIRE(!fixture.host().launch(alone));
  REQUIRE(eventually([&] { return fixture.output(alone.task).ends_with("moved\n"); }));
  CHECK(fixture.output(alone.task) == "kept\nmoved\n");
  now("begun");
  REQUIRE(eventually([&] { return !fixture.output(shared.task).empty(); }));
  CHECK(fixture.output(shared.task) == "kept\n");
  fixture.reopen();
  REQUIRE(fixture.host().scan());
  now("end");
  fixture.wait_for(alone.task);
  const std::string group = fixture.output(alone.task).substr(std::string("kept\nmoved\n").size());
  CHECK(group.ends_with(attempt_name(alone.task) + "\n"));
  now("over");
  fixture.wait_for(shared.task);
  CHECK(fixture.output(shared.task) == "kept\nmoved\n");
}
