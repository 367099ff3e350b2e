#include "model/node.hpp"

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

LaunchOrder launch_order(const JobRecord& job, const TaskKey& task) {
  LaunchOrder order;
  order.task = task;
  order.task_count = job.tasks.total;
  order.command = job.spec.command;
  order.environment = job.spec.environment;
  order.directory = job.spec.directory;
  order.limits = job.spec.resources;
  order.time_limit_ms = job.spec.time_limit_ms;
  order.grace_ms = job.spec.grace_ms;
  order.tenant = job.tenant;
  order.exclusive_cpus = job.spec.exclusive_cpus;
  return order;
}

}  // namespace fairwater
