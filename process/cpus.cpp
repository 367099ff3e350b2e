#include "process/cpus.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace fairwater::inline process {
namespace {

/// Far above any machine's.
constexpr std::uint32_t kMaxCpuNumber = 1 << 20;

struct Core {
  CpuNumbers free;
  bool whole = true;  ///< nobody else has a part of it
};
using Cores = std::map<std::uint32_t, Core>;

struct MemoryNode {
  Cores cores;
  std::size_t free = 0;
};

std::map<std::uint32_t, MemoryNode> free_by_memory_node(const std::vector<Cpu>& machine,
                                                        const std::set<std::uint32_t>& busy) {
  std::map<std::uint32_t, MemoryNode> nodes;
  for (const Cpu& cpu : machine) {
    MemoryNode& node = nodes[cpu.memory_node];
    Core& core = node.cores[cpu.core];
    if (busy.contains(cpu.number)) {
      core.whole = false;
      continue;
    }
    core.free.push_back(cpu.number);
    ++node.free;
  }
  return nodes;
}

/// Moves free processors of the cores to `picked` until there are `count`.
void take(MemoryNode& node, std::size_t count, CpuNumbers& picked) {
  const auto missing = [&] { return count - picked.size(); };
  for (auto& [first, core] : node.cores) {
    if (!core.whole || core.free.size() > missing()) continue;
    picked.insert(picked.end(), core.free.begin(), core.free.end());
    core.free.clear();
  }
  for (const bool whole : {false, true})
    for (auto& [first, core] : node.cores) {
      if (core.whole != whole) continue;
      const auto some = std::min(missing(), core.free.size());
      picked.insert(picked.end(), core.free.begin(),
                    core.free.begin() + static_cast<std::ptrdiff_t>(some));
    }
}

/// Memory nodes in the order in which they are to give.
std::vector<MemoryNode*> in_order(std::map<std::uint32_t, MemoryNode>& nodes, std::size_t count) {
  std::vector<MemoryNode*> order;
  order.reserve(nodes.size());
  for (auto& [number, node] : nodes) order.push_back(&node);
  std::ranges::stable_sort(order, [&](const MemoryNode* a, const MemoryNode* b) {
    const bool a_has = a->free >= count, b_has = b->free >= count;
    if (a_has != b_has) return a_has;
    return a_has ? a->free < b->free : a->free > b->free;
  });
  return order;
}

std::optional<std::uint32_t> read_number(std::string_view text) {
  std::uint32_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc{} || end != last || number > kMaxCpuNumber) return std::nullopt;
  return number;
}

}  // namespace

CpuNumbers numbers_of(const std::vector<Cpu>& cpus) {
  CpuNumbers numbers;
  for (const Cpu& cpu : cpus) numbers.push_back(cpu.number);
  return numbers;
}

Expected<CpuNumbers> parse_cpu_list(std::string_view text) {
  const std::string_view whole = text;
  const auto bad = [&] {
    return make_error(ErrorCode::invalid_input,
                      "'" + std::string(whole) + "' is not a list of processors such as 0-3,8");
  };
  std::set<std::uint32_t> numbers;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const auto dash = part.find('-');
    const auto first = read_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : read_number(part.substr(dash + 1));
    if (!first || !last || *last < *first) return bad();
    for (std::uint32_t number = *first; number <= *last; ++number) numbers.insert(number);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return bad();
  }
  return CpuNumbers(numbers.begin(), numbers.end());
}

std::string to_text(const CpuNumbers& cpus) {
  std::string text;
  for (const std::uint32_t cpu : cpus) text += (text.empty() ? "" : ",") + std::to_string(cpu);
  return text;
}

Expected<CpuNumbers> pick_cpus(const std::vector<Cpu>& machine, const std::set<std::uint32_t>& busy,
                               std::size_t count) {
  auto nodes = free_by_memory_node(machine, busy);
  std::size_t free = 0;
  for (const auto& [number, node] : nodes) free += node.free;
  if (free < count)
    return make_error(ErrorCode::unavailable,
                      "the task takes " + std::to_string(count) +
                          " processors of its own, and of the machine's " +
                          std::to_string(machine.size()) + " only " + std::to_string(free) +
                          " are free",
                      "cpus");
  CpuNumbers picked;
  for (MemoryNode* const node : in_order(nodes, count)) take(*node, count, picked);
  std::ranges::sort(picked);
  return picked;
}

}  // namespace fairwater::inline process
