#include "model/node.hpp"

#include <algorithm>

namespace fairwater {

std::string_view to_string(NodeState state) {
  switch (state) {
    case NodeState::up:
      return "up";
    case NodeState::draining:
      return "draining";
    case NodeState::drained:
      return "drained";
    case NodeState::down:
      break;
  }
  return "down";
}

bool is_valid_host(std::string_view host) {
  constexpr std::size_t kMostBytes = 255;
  return !host.empty() && host.size() <= kMostBytes &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view(".-_:%").find(c) != std::string_view::npos;
         });
}

LaunchOrder launch_order(const JobRecord& job, const TaskKey& task, std::uint32_t memory_step) {
  LaunchOrder order;
  order.task = task;
  order.task_count = job.tasks.total;
  order.command = job.spec.command;
  order.environment = job.spec.environment;
  order.directory = job.spec.directory;
  order.limits = amounts_at(job.spec, memory_step);
  order.time_limit_ms = job.spec.time_limit_ms;
  order.grace_ms = job.spec.grace_ms;
  order.tenant = job.tenant;
  order.exclusive_cpus = job.spec.exclusive_cpus;
  order.follows_members = is_elastic(job.spec);
  return order;
}

}  // namespace fairwater
