// How far apart an agent keeps the tasks of different tenants: what its configuration and this
// machine come to.
#pragma once

#include <string>

#include "daemon/config.hpp"
#include "process/device_access.hpp"
#include "process/task_user.hpp"

namespace fairwater::inline daemon {

struct TaskIsolation {
  TaskUserRules users;
  bool hide_processes = false;
  bool apart = false;    ///< tenants without a run_as share no user with each other or the agent
  bool cpusets = false;  ///< tasks are held to processors by control group
  DeviceFiles device_files;  ///< those that tasks are kept from
  std::string words;         ///< for the log and `node show`
};

/// `invalid_input` where the configuration asks for what this process cannot do, for tasks that
/// run as root without saying so, or names device files that are none.
[[nodiscard]] Expected<TaskIsolation> task_isolation(const AgentConfig& config,
                                                     const NamedDevices& devices,
                                                     LimitMethod method);

/// Where the tasks' private directories are. Beside the data of an agent that is root, because
/// other users must come through to them; else inside.
[[nodiscard]] std::string work_directory(const AgentConfig& config);

}  // namespace fairwater::inline daemon
