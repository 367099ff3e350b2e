#include "process/gang_environment.hpp"

namespace fairwater::inline process {
namespace {

/// Below the ports that Linux gives to whoever asks for any.
constexpr std::uint64_t kFirstPort = 20'000;
constexpr std::uint64_t kPorts = 10'000;

std::string port_of(const TaskKey& task) {
  return std::to_string(kFirstPort + (task.job.value * 8 + task.attempt - 1) % kPorts);
}

std::string in_brackets_if_needed(const std::string& address) {
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

}  // namespace

void name_gang(const LaunchOrder& order, std::map<std::string, std::string>& environment) {
  if (order.gang.empty()) return;
  std::string hosts;
  std::uint32_t first = 0;  // of the host's tasks
  std::uint32_t local_index = 0;
  std::uint32_t local_count = 0;
  for (const GangHost& host : order.gang) {
    hosts += (hosts.empty() ? "" : ",") + host.node + ":" + std::to_string(host.tasks);
    if (order.task.index >= first && order.task.index - first < host.tasks) {
      local_index = order.task.index - first;
      local_count = host.tasks;
    }
    first += host.tasks;
  }
  const std::string& address = order.gang->front().address;
  const std::string port = port_of(order.task);
  environment["FAIRWATER_HOSTS"] = hosts;
  environment["FAIRWATER_LOCAL_INDEX"] = std::to_string(local_index);
  environment["FAIRWATER_LOCAL_COUNT"] = std::to_string(local_count);
  environment["FAIRWATER_GANG_KEY"] = order.gang_key;
  environment["FAIRWATER_RENDEZVOUS"] = in_brackets_if_needed(address) + ":" + port;
  environment.emplace("RANK", std::to_string(order.task.index));
  environment.emplace("WORLD_SIZE", std::to_string(order.task_count));
  environment.emplace("LOCAL_RANK", std::to_string(local_index));
  environment.emplace("LOCAL_WORLD_SIZE", std::to_string(local_count));
  environment.emplace("MASTER_ADDR", address);
  environment.emplace("MASTER_PORT", port);
}

}  // namespace fairwater::inline process
