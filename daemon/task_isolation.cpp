#include "daemon/task_isolation.hpp"

#include <unistd.h>

#include "process/cpuset.hpp"

namespace fairwater::inline daemon {
namespace {

Expected<TaskUserRules> rules_of(const AgentConfig& config, bool root) {
  TaskUserRules rules;
  rules.first_id = config.first_run_as_id;
  rules.last_id = config.last_run_as_id;
  rules.allow_root = config.allow_root_tasks;
  const std::string& wanted = config.run_as_default;
  if (wanted == "per_tenant" || (wanted.empty() && root)) {
    rules.fallback = DefaultUser::per_tenant;
  } else if (wanted != "agent" && !wanted.empty()) {
    rules.fallback = DefaultUser::named;
    rules.named = run_as_from(wanted);
  }
  if (rules.fallback == DefaultUser::per_tenant && !root)
    return make_error(ErrorCode::invalid_input,
                      "per_tenant needs an agent that runs as root, and this one runs as user " +
                          std::to_string(::geteuid()),
                      "run_as_default");
  if (rules.fallback == DefaultUser::own && root && !rules.allow_root)
    return make_error(ErrorCode::invalid_input,
                      "agent means that the tasks of all tenants run as root; say "
                      "allow_root_tasks: true as well if that is meant",
                      "run_as_default");
  return rules;
}

std::string words_of(const TaskUserRules& rules, bool root, bool hidden) {
  const std::string seen =
      hidden ? ", who see their own processes only" : ", who see each other's command lines";
  switch (rules.fallback) {
    case DefaultUser::per_tenant:
      return "a user per tenant (" + std::to_string(rules.first_id) + "-" +
             std::to_string(rules.last_id) + ")" + seen;
    case DefaultUser::named:
      return "user " + to_text(rules.named) + ", shared by all tenants without a run_as" + seen;
    case DefaultUser::own:
      break;
  }
  if (root) return "root, as the agent: any task can read and change everything on this machine";
  return "user " + std::to_string(::geteuid()) +
         ", as the agent: any task can read and change other tasks and the agent's files";
}

}  // namespace

Expected<TaskIsolation> task_isolation(const AgentConfig& config, const NamedDevices& devices,
                                       LimitMethod method) {
  const bool root = ::geteuid() == 0;
  auto rules = rules_of(config, root);
  if (!rules) return rules.error();
  if (auto error = probe_task_users(*rules)) return error;
  auto control = probe_device_control(method, devices, config.device_files);
  if (!control) return control.error();
  TaskIsolation isolation;
  isolation.users = std::move(*rules);
  isolation.hide_processes = isolation.users.fallback != DefaultUser::own && can_hide_processes();
  isolation.apart = isolation.users.fallback == DefaultUser::per_tenant;
  isolation.words = words_of(isolation.users, root, isolation.hide_processes);
  const std::string why_not = why_no_cpusets(method);
  isolation.cpusets = why_not.empty();
  isolation.words += isolation.cpusets
                         ? "; held to their processors by a control group"
                         : "; bound to their processors only as by taskset: " + why_not;
  isolation.device_files = std::move(control->files);
  if (!control->words.empty()) isolation.words += "; " + control->words;
  return isolation;
}

std::string work_directory(const AgentConfig& config) {
  if (!config.work_directory.empty()) return config.work_directory;
  return config.data + (::geteuid() == 0 ? ".work" : "/work");
}

}  // namespace fairwater::inline daemon
