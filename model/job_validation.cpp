#include "model/job_validation.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "model/lease.hpp"
#include "model/tenant.hpp"
#include "model/text.hpp"
#include "policy/allocator/placement.hpp"
#include "policy/gpu/node.hpp"

namespace fairwater::inline model {
namespace {

caf::error invalid(std::string field, std::string message) {
  return make_error(ErrorCode::invalid_input, std::move(message), std::move(field));
}

template <class Number>
caf::error out_of_range(const char* field, Number value, Number least, Number most) {
  return invalid(field, std::to_string(value) + " is not between " + std::to_string(least) +
                            " and " + std::to_string(most));
}

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

/// First of all: later checks quote what they refuse.
caf::error check_bytes(const JobSpec& spec) {
  const auto bytes = spec_bytes(spec);
  if (bytes <= kMaxSpecBytes) return {};
  return invalid("job", "its description has " + std::to_string(bytes) + " bytes, more than " +
                            std::to_string(kMaxSpecBytes) +
                            "; put what is large into a file that the command reads");
}

caf::error check_names(const JobSpec& spec) {
  if (!spec.tenant.empty() && !is_valid_name(spec.tenant))
    return invalid("tenant", "'" + spec.tenant + "' is not a tenant's name");
  if (!spec.user.empty())
    if (auto error = validate_user_name(spec.user)) return error;
  if (spec.name.size() > kMaxJobNameBytes)
    return invalid("name", std::to_string(spec.name.size()) + " bytes are more than " +
                               std::to_string(kMaxJobNameBytes));
  if (auto fault = fault_of_text(spec.name); !fault.empty())
    return invalid("name", std::move(fault));
  if (!spec.job_class.empty() && !is_valid_name(spec.job_class))
    return invalid("class", "'" + spec.job_class +
                                "' is not a name: 1 to 63 letters, digits, '.', '_' and '-'");
  return {};
}

caf::error check_command(const JobSpec& spec) {
  if (spec.command.empty())
    return invalid("command", "is missing: a list of the program and its arguments");
  if (spec.command.front().empty())
    return invalid("command", "its first entry, the program's name, is empty; write the program");
  std::size_t bytes = 0;
  for (const auto& argument : spec.command) {
    if (has_nul(argument)) return invalid("command", "an argument contains a zero byte");
    bytes += argument.size() + 1;
  }
  static const std::set<std::string_view> reserved{
      "FAIRWATER_TASK_INDEX", "FAIRWATER_JOB_ID",  "FAIRWATER_TASK_COUNT", "FAIRWATER_DEVICES",
      "FAIRWATER_CPUS",       "FAIRWATER_MEMBERS", "FAIRWATER_GPU_SHARE"};
  for (const auto& [key, value] : spec.environment) {
    if (key.empty() || key.find('=') != std::string::npos || has_nul(key))
      return invalid("environment", quoted(key) + " is not a variable's name");
    if (reserved.contains(key)) return invalid("environment." + key, "is set for every task");
    if (has_nul(value)) return invalid("environment." + key, "contains a zero byte");
    bytes += key.size() + value.size() + 2;
  }
  if (bytes > kMaxCommandBytes)
    return invalid("command", std::to_string(bytes) + " bytes with the environment are more than " +
                                  std::to_string(kMaxCommandBytes));
  if (spec.directory.size() > kMaxDirectoryBytes)
    return invalid("directory", std::to_string(spec.directory.size()) + " bytes are more than " +
                                    std::to_string(kMaxDirectoryBytes));
  if (has_nul(spec.directory))
    return invalid("directory", quoted(spec.directory) + " contains a zero byte");
  if (!spec.directory.empty() && spec.directory.front() != '/')
    return invalid("directory", quoted(spec.directory) + " is not an absolute path");
  return {};
}

/// The coordinator will fill it in.
bool is_left_to_profile(const JobSpec& spec, const std::string& resource) {
  const std::vector<std::string>& left = spec.profiled.resources;
  return spec.profiled.all ||
         (spec.profiled.runs == 0 && std::find(left.begin(), left.end(), resource) != left.end());
}

/// Not after the submission: what was taken of the profile is among the amounts.
bool waits_for_profile(const JobSpec& spec) {
  const auto& left = spec.profiled.resources;
  return spec.profiled.all || std::any_of(left.begin(), left.end(), [&](const std::string& name) {
           return !spec.resources.contains(name);
         });
}

/// Amounts that were left to the class's profile.
caf::error check_profiled(const JobSpec& spec) {
  const ProfiledAmounts& profiled = spec.profiled;
  if (!profiled.wanted()) return {};
  if (spec.job_class.empty())
    return invalid("resources",
                   "auto takes the amounts from the profile of the job's class; write class: NAME");
  if (spec.kind == JobKind::service)
    return invalid("resources", "auto is for jobs that end; write a service's amounts");
  if (profiled.all && !spec.resources.empty())
    return invalid("resources", "is auto, and has amounts beside it");
  for (const std::string& name : profiled.resources) {
    if (!is_valid_name(name)) return invalid("resources", "'" + name + "' is not a resource name");
    if (profiled.runs == 0 && spec.resources.contains(name))
      return invalid("resources." + name, "is auto and has an amount");
  }
  return {};
}

caf::error check_size(const JobSpec& spec) {
  const bool is_range = spec.tasks_min != spec.tasks_max;
  for (const auto& [field, tasks] :
       {std::pair{"tasks.min", spec.tasks_min}, {"tasks.max", spec.tasks_max}})
    if (tasks < 1 || tasks > kMaxTasksPerJob)
      return out_of_range(is_range ? field : "tasks", tasks, 1u, kMaxTasksPerJob);
  if (spec.tasks_max < spec.tasks_min)
    return invalid("tasks.max", std::to_string(spec.tasks_max) + " is below min, which is " +
                                    std::to_string(spec.tasks_min));
  if (auto error = check_profiled(spec)) return error;
  bool asks = false;
  for (const auto& [name, amount] : spec.resources) {
    const std::string field = "resources." + name;
    if (!is_valid_name(name)) return invalid("resources", "'" + name + "' is not a resource name");
    if (amount < 0 || amount > kMaxAmount)
      return invalid(field, std::to_string(amount) + " is not between 0 and 2^50");
    asks = asks || amount > 0;
  }
  if (!asks && !waits_for_profile(spec))
    return invalid("resources", "a task must ask for some resource, as in {cpu: 1}");
  return validate_own_cpus(spec);
}

caf::error check_shares(const JobSpec& spec) {
  const auto asked = spec.resources.find(std::string(kSharedGpus));
  if (asked == spec.resources.end() || asked->second == 0 || is_gpu_share(asked->second)) return {};
  const Amount milli = asked->second;
  const Amount below = milli / kMilliPerGpu * kMilliPerGpu;
  return invalid("resources." + asked->first,
                 std::to_string(milli) +
                     " is neither a part of one gpu, 1 to 999 thousandths, nor whole ones; write " +
                     std::to_string(below) + " or " + std::to_string(below + kMilliPerGpu));
}

caf::error check_labels(const JobSpec& spec) {
  if (spec.labels.size() <= kMaxLabelsBytes) return {};
  return invalid("labels", std::to_string(spec.labels.size()) + " bytes are more than " +
                               std::to_string(kMaxLabelsBytes));
}

caf::error check_sites(const JobSpec& spec) {
  if (spec.sites.size() > kMaxListEntries)
    return invalid("sites", "more than " + std::to_string(kMaxListEntries));
  std::set<std::string_view> sites;
  for (const auto& site : spec.sites) {
    if (!is_valid_name(site)) return invalid("sites", "'" + site + "' is not a site's name");
    if (!sites.insert(site).second) return invalid("sites", "'" + site + "' is named twice");
  }
  return {};
}

caf::error check_order(const JobSpec& spec) {
  if (spec.priority < -kMaxPriority || spec.priority > kMaxPriority)
    return out_of_range("priority", spec.priority, -kMaxPriority, kMaxPriority);
  if (spec.time_limit_ms < 0 || spec.time_limit_ms > kMaxTimeLimit_ms)
    return invalid("time_limit",
                   std::to_string(spec.time_limit_ms) + " ms is not between 0 and ten years");
  if (spec.grace_ms < 0 || spec.grace_ms > kMaxGrace_ms)
    return invalid("grace", std::to_string(spec.grace_ms) + " ms is not between 0 and one hour");
  if (spec.lease_ms < 0 || spec.lease_ms > kMaxLease_ms)
    return invalid("lease", std::to_string(spec.lease_ms) + " ms is not between 0 and one day");
  if (spec.retries > kMaxRetries) return out_of_range("retries", spec.retries, 0u, kMaxRetries);
  if (spec.after.size() > kMaxListEntries)
    return invalid("after", "more than " + std::to_string(kMaxListEntries) + " jobs");
  std::set<JobId> after;
  for (const JobId id : spec.after) {
    if (!id) return invalid("after", "0 is not a job's id");
    if (!after.insert(id).second)
      return invalid("after", std::to_string(id.value) + " is named twice");
  }
  return {};
}

caf::error check_gang(const JobSpec& spec) {
  if (!spec.gang) return {};
  if (spec.kind == JobKind::service)
    return invalid("gang",
                   "the tasks of a service are started again one by one; leave gang out, or make "
                   "it a batch job (kind: batch)");
  if (spec.placement != Placement::unset)
    return invalid("placement",
                   "the nodes of a gang are chosen together, as few as possible; leave it out");
  if (spec.tasks_max > kMaxGangTasks)
    return invalid("tasks", std::to_string(spec.tasks_max) + " tasks are more than " +
                                std::to_string(kMaxGangTasks) + ", the most that a gang may have");
  return {};
}

/// What `profile run --vary tasks` makes of a job file.
caf::error check_measured(const JobSpec& spec) {
  const std::string tasks{kTasksOfClass};
  if (!spec.job_class.empty() && spec.resources.contains(tasks))
    return invalid("resources." + tasks,
                   "the profile of a class counts tasks under this name; call the resource "
                   "otherwise, or leave class out");
  if (!spec.measures_tasks) return {};
  if (spec.job_class.empty())
    return invalid("class", "is missing: what is measured is a class; write class: NAME");
  if (!spec.gang) return invalid("gang", "tasks that are measured together start together");
  if (spec.tasks_max > kMaxMeasuredTasks)
    return invalid("tasks", std::to_string(spec.tasks_max) + " tasks are more than " +
                                std::to_string(kMaxMeasuredTasks) +
                                ", the most that are measured together");
  return {};
}

caf::error check_elastic(const JobSpec& spec) {
  if (!spec.notify.empty() && notify_signal(spec.notify) == 0)
    return invalid("notify", "'" + spec.notify + "' is not SIGUSR1, SIGUSR2 or SIGHUP");
  if (!spec.notify.empty() && !is_elastic(spec))
    return invalid("notify",
                   "the members of a job with a fixed number of tasks do not change; leave it out, "
                   "or write tasks: {min: .., max: ..}");
  if (!is_elastic(spec)) return {};
  if (spec.kind == JobKind::service)
    return invalid(
        "tasks",
        "an elastic job is done when its tasks find no work left, and a service never is; "
        "write one number, or make it a batch job (kind: batch)");
  if (spec.gang)
    return invalid(
        "tasks", "the tasks of a gang start and end together; write one number, or leave gang out");
  if (spec.tasks_min > kMaxGangTasks)
    return invalid("tasks.min", std::to_string(spec.tasks_min) + " tasks are more than " +
                                    std::to_string(kMaxGangTasks) +
                                    ", the most that start at once");
  return {};
}

/// What a job that ends may ask for, and a service has no use for.
caf::error check_service(const JobSpec& spec) {
  if (spec.kind != JobKind::service) return {};
  if (spec.time_limit_ms > 0)
    return invalid("time_limit",
                   "a service runs until it is cancelled; leave time_limit out, or make it a batch "
                   "job (kind: batch)");
  if (spec.retries > 0)
    return invalid("retries",
                   "a service is started again whenever it ends; leave retries out, or make it a "
                   "batch job (kind: batch)");
  return {};
}

/// What holds a text beside its bytes: a pointer and padding in a message, a string in memory.
constexpr std::size_t kTextOverhead = 32;
/// A spec whose texts are all empty.
constexpr std::size_t kSpecOverhead = 256;

template <class Texts>
std::size_t texts_bytes(const Texts& texts) {
  std::size_t bytes = 0;
  for (const auto& text : texts) bytes += text.size() + kTextOverhead;
  return bytes;
}

}  // namespace

std::size_t spec_bytes(const JobSpec& spec) {
  std::size_t bytes = kSpecOverhead + spec.notify.size() + spec.tenant.size() + spec.name.size() +
                      spec.job_class.size() + spec.directory.size() + spec.labels.size() +
                      spec.user.size();
  bytes += texts_bytes(spec.command) + texts_bytes(spec.sites) + texts_bytes(spec.devices);
  for (const auto& [key, value] : spec.environment)
    bytes += key.size() + value.size() + 2 * kTextOverhead;
  for (const auto& [name, amount] : spec.resources)
    bytes += name.size() + kTextOverhead + sizeof amount;
  bytes += texts_bytes(spec.profiled.resources);
  bytes += spec.profiled.memory_steps.size() * sizeof(Amount);
  return bytes + spec.after.size() * sizeof(JobId);
}

Expected<PlacementRulePtr> placement_of(const JobSpec& spec) {
  if (spec.sites.empty() && spec.labels.empty() && spec.devices.empty()) return PlacementRulePtr{};
  auto labels = LabelExpression::parse(spec.labels);
  if (const auto* reason = std::get_if<std::string>(&labels)) return invalid("labels", *reason);
  return std::make_shared<const PlacementRule>(
      PlacementRule{spec.sites, std::get<LabelExpression>(std::move(labels)), spec.devices});
}

Expected<Placement> parse_placement(std::string_view text) {
  for (const auto placement : {Placement::in_turn, Placement::gdrf, Placement::best_fit,
                               Placement::spread, Placement::pack})
    if (text == to_string(placement)) return placement;
  return invalid("placement",
                 "'" + std::string(text) + "' is not one of in-turn, gdrf, best-fit, spread, pack");
}

caf::error validate_devices(const JobSpec& spec) {
  if (spec.devices.size() > kMaxListEntries)
    return invalid("devices", "more than " + std::to_string(kMaxListEntries));
  std::set<std::string_view> names;
  for (const auto& name : spec.devices) {
    if (!is_valid_name(name))
      return invalid("devices", "'" + name + "' is not a device's name, as gpu0 is");
    if (!names.insert(name).second) return invalid("devices", "'" + name + "' is named twice");
  }
  if (spec.devices.empty()) return {};
  if (spec.gang || is_elastic(spec))
    return invalid(
        "devices",
        "each task takes all of them, so tasks would wait for each other; leave them out, "
        "or " +
            std::string(spec.gang ? "leave gang out" : "write one number of tasks"));
  if (spec.preempt)
    return invalid("devices", "who preempts takes room, not devices; leave one of both out");
  if (spec.profiled.all)
    return invalid("resources", "auto does not count devices; write amounts beside them");
  return {};
}

caf::error validate_reason(const std::string& reason) {
  if (reason.size() > kMaxReasonBytes)
    return invalid("reason", std::to_string(reason.size()) + " bytes are more than " +
                                 std::to_string(kMaxReasonBytes));
  if (!is_utf8(reason)) return invalid("reason", fault_of_text(reason));
  return {};
}

caf::error validate_own_cpus(const JobSpec& spec) {
  if (!spec.exclusive_cpus || is_left_to_profile(spec, "cpu")) return {};
  const auto cpu = spec.resources.find("cpu");
  const Amount amount = cpu == spec.resources.end() ? 0 : cpu->second;
  if (amount > 0 && amount % kMillicoresPerCpu == 0) return {};
  return invalid("cpus", "exclusive gives whole processors, and resources.cpu is " +
                             format_amount("cpu", amount) + "; write a whole number, 1 or more");
}

Expected<AdmittedJob> validate(JobSpec spec) {
  for (const auto check : {check_bytes, check_names, check_command, check_size, check_labels})
    if (auto error = check(spec)) return error;
  auto rule = placement_of(spec);
  if (!rule) return rule.error();
  for (const auto check : {check_sites, validate_devices, check_shares, check_order, check_gang,
                           check_measured, check_elastic, check_service})
    if (auto error = check(spec)) return error;
  return AdmittedJob{std::move(spec), std::move(*rule)};
}

}  // namespace fairwater::inline model
