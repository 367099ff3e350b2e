#include "process/cpu_affinity.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <sched.h>

#include "process/file_descriptor.hpp"

namespace fairwater::inline process {
namespace {

/// A pass over all threads per round, until one finds nobody to move. Each sees at least whom
/// those forked that the one before moved too late.
constexpr int kMaxRounds = 8;

std::optional<CpuNumbers> read_list(const std::filesystem::path& file) {
  const auto content = read_file(file);
  if (!content) return std::nullopt;
  auto numbers = parse_cpu_list(std::string_view(*content).substr(0, content->find('\n')));
  if (!numbers || numbers->empty()) return std::nullopt;
  return std::move(*numbers);
}

/// N of each entry `PREFIXN`.
std::vector<std::uint32_t> numbered(const std::filesystem::path& directory,
                                    std::string_view prefix) {
  std::vector<std::uint32_t> numbers;
  std::error_code ignored;  // gone, or never there
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename();
    std::uint32_t number = 0;
    const char* const last = name.data() + name.size();
    if (!name.starts_with(prefix)) continue;
    const auto [end, error] = std::from_chars(name.data() + prefix.size(), last, number);
    if (error == std::errc{} && end == last) numbers.push_back(number);
  }
  return numbers;
}

CpuNumbers cpus_of(pid_t thread) {
  cpu_set_t set;
  CpuNumbers cpus;
  if (::sched_getaffinity(thread, sizeof set, &set) != 0) return cpus;
  for (std::uint32_t number = 0; number < CPU_SETSIZE; ++number)
    if (CPU_ISSET(number, &set)) cpus.push_back(number);
  return cpus;
}

/// True when it had to move.
bool move_thread(pid_t thread, const CpuNumbers& before, const CpuNumbers& cpus) {
  const CpuNumbers now = cpus_of(thread);
  if (now.empty() || now == cpus) return false;  // gone, or there
  CpuNumbers kept;
  std::ranges::set_intersection(now, cpus, std::back_inserter(kept));
  if (kept == now && now != before) return false;
  return bind_to_cpus(thread, kept.empty() || now == before ? cpus : kept) == 0;
}

bool move_process(pid_t process, const CpuNumbers& before, const CpuNumbers& cpus) {
  bool moved = false;
  for (const std::uint32_t thread : numbered("/proc/" + std::to_string(process) + "/task", ""))
    moved |= move_thread(static_cast<pid_t>(thread), before, cpus);
  return moved;
}

}  // namespace

std::vector<Cpu> read_cpus(const CpuNumbers& usable, const std::filesystem::path& system) {
  std::map<std::uint32_t, std::uint32_t> memory_nodes;
  for (const std::uint32_t node : numbered(system / "node", "node")) {
    const auto cpus = read_list(system / "node" / ("node" + std::to_string(node)) / "cpulist");
    if (!cpus) continue;  // memory without processors
    for (const std::uint32_t cpu : *cpus) memory_nodes[cpu] = node;
  }
  std::vector<Cpu> machine;
  for (const std::uint32_t number : usable) {
    const auto siblings = read_list(system / "cpu" / ("cpu" + std::to_string(number)) / "topology" /
                                    "thread_siblings_list");
    machine.push_back({number, memory_nodes[number], siblings ? siblings->front() : number});
  }
  return machine;
}

CpuNumbers usable_cpus() { return cpus_of(0); }

int bind_to_cpus(pid_t thread, const CpuNumbers& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::uint32_t cpu : cpus)
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  return ::sched_setaffinity(thread, sizeof set, &set) == 0 ? 0 : errno;
}

int unbind_from_cpus() {
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  return ::sched_setaffinity(0, sizeof all, &all) == 0 ? 0 : errno;
}

void move_to_cpus(const std::vector<pid_t>& roots, const std::vector<pid_t>& alone,
                  const CpuNumbers& cpus) {
  for (const pid_t process : alone) move_process(process, cpus_of(process), cpus);
  std::map<pid_t, CpuNumbers> before;
  for (const pid_t root : roots) before[root] = cpus_of(root);
  bool moved = !roots.empty();
  for (int round = 0; moved && round < kMaxRounds; ++round) {
    moved = false;
    const ProcessTree tree;
    for (const pid_t root : roots) {
      moved |= move_process(root, before[root], cpus);
      for (const pid_t process : tree.descendants_of(root))
        moved |= move_process(process, before[root], cpus);
    }
  }
}

}  // namespace fairwater::inline process
