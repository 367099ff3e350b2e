// Starting an attempt: checks its order, picks devices and processors for it, and has its
// supervisor forked.
#include <unistd.h>

#include "model/job.hpp"
#include "model/lease.hpp"
#include "model/resources.hpp"
#include "process/members_file.hpp"
#include "process/task_host_impl.hpp"

namespace fairwater::inline process {
namespace {

/// Of memory: some times as many bytes are a number still.
constexpr Amount kMostMib = kMaxAmount >> 10;

caf::error check_range(const std::string& field, std::int64_t value, std::int64_t most) {
  if (value >= 0 && value <= most) return {};
  return make_error(ErrorCode::invalid_input,
                    "the order's " + field + " is " + std::to_string(value) +
                        ", which is not between 0 and " + std::to_string(most),
                    field);
}

/// What jobs can ask for, and supervisors count with.
caf::error check(const LaunchOrder& order) {
  if (order.command.empty() || order.command->front().empty())
    return make_error(ErrorCode::invalid_input, "a task needs a program to run", "command");
  if (auto error = check_range("time_limit_ms", order.time_limit_ms, kMaxTimeLimit_ms))
    return error;
  if (auto error = check_range("grace_ms", order.grace_ms, kMaxGrace_ms)) return error;
  if (auto error = check_range("lease_ms", order.lease_ms, kMaxLease_ms)) return error;
  for (const auto& [resource, amount] : order.limits)
    if (auto error = check_range(resource, amount, resource == "memory" ? kMostMib : kMaxAmount))
      return error;
  return {};
}

}  // namespace

std::set<std::uint32_t> TaskHost::Impl::own_cpus() const {
  std::set<std::uint32_t> own;
  for (const auto& [task, attempt] : running_) own.insert(attempt.cpus.begin(), attempt.cpus.end());
  return own;
}

Expected<CpuNumbers> TaskHost::Impl::pick_cpus_for(const LaunchOrder& order) const {
  if (!order.exclusive_cpus) return CpuNumbers{};
  const auto cpu = order.limits.find("cpu");
  const Amount millicores = cpu == order.limits.end() ? 0 : cpu->second;
  return pick_cpus(machine_, own_cpus(), static_cast<std::size_t>(millicores / kMillicoresPerCpu));
}

/// Keeps everybody off the processors that are some task's own, as long as there are others: the
/// tasks that have none, and all supervisors.
void TaskHost::Impl::share_other_cpus() {
  const auto own = own_cpus();
  CpuNumbers others;
  for (const Cpu& cpu : machine_)
    if (!own.contains(cpu.number)) others.push_back(cpu.number);
  if (others.empty()) others = numbers_of(machine_);
  if (others == shared_cpus_) return;
  std::vector<pid_t> whole_tasks, supervisors;
  for (const auto& [task, attempt] : running_)
    if (const pid_t supervisor = pid_of(attempt.supervisor); supervisor > 0)
      (attempt.cpus.empty() && !attempt.in_shared_cpuset ? whole_tasks : supervisors)
          .push_back(supervisor);
  fork_server_.use_cpus(others);
  move_to_cpus(whole_tasks, supervisors, others);
  if (const auto shared = shared_cpuset(cgroup_parent_); !shared.empty())
    if (set_cpuset(shared, others)) return;  // the next start or end of a task tries again
  shared_cpus_ = std::move(others);
}

Expected<NamedDevices> TaskHost::Impl::pick_devices_for(const LaunchOrder& order) const {
  if (options_.devices.empty() && order.devices.empty()) return NamedDevices{};
  std::vector<HeldDevices> held;
  held.reserve(running_.size());
  for (const auto& [task, attempt] : running_)
    held.push_back({&attempt.devices, attempt.shared_milli});
  return pick_devices(options_.devices, held, order.limits, order.devices);
}

caf::error TaskHost::Impl::launch(const LaunchOrder& order) {
  if (auto error = check(order)) return error;
  const auto file = file_of(order.task);
  // First of all: what an attempt holds that runs is missing for another one of its name.
  if (::access(file.path().c_str(), F_OK) == 0)
    return make_error(ErrorCode::already_exists, file.path().string() + " was started before");
  auto user = choose_task_user(order.run_as, order.tenant, options_.users);
  if (!user) return user.error();
  auto devices = pick_devices_for(order);
  if (!devices) return devices.error();
  auto cpus = pick_cpus_for(order);
  if (!cpus) return cpus.error();
  const auto name = attempt_name(order.task);
  auto denied_devices = numbers_of_others(options_.device_files, *devices);
  auto cgroup = cgroup_member(cgroup_parent_, name);
  if (denied_devices.empty()) cgroup.erase("devices");
  auto shared = cpus->empty() ? shared_cpuset(cgroup_parent_) : std::filesystem::path();
  if (cpus->empty()) cgroup.erase("cpuset");
  const TaskOrder whole{order,
                        options_.limits,
                        std::move(cgroup),
                        options_.log_limit_bytes,
                        std::move(*user),
                        options_.work_directory / name,
                        std::move(*devices),
                        std::move(*cpus),
                        std::move(denied_devices),
                        std::move(shared)};
  caf::error error;
  if (order.follows_members)
    error = make_members_file(members_file(options_.work_directory, order.task.job), whole.user);
  if (!error) error = file.create(whole);
  if (error && details(error).code == ErrorCode::already_exists) return error;
  if (!error) {
    auto supervisor = fork_server_.fork_supervisor(order.task);
    if (supervisor) {
      error =
          watch(order.task, {std::move(*supervisor), whole.devices, shared_milli_of(order.limits),
                             whole.cpus, !whole.shared_cpuset.empty(), order.lease_ms});
      share_other_cpus();
      return error;
    }
    error = supervisor.error();
  }
  // The attempt is used up, unless a supervisor runs all the same and only its answer was lost.
  const auto found = inspect(order.task, {EndReason::launch_failed, details(error).message});
  return found && found->running ? caf::error() : error;
}

}  // namespace fairwater::inline process
