#include "cli/cluster/tables.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "cli/cluster/journal_lines.hpp"
#include "cli/cluster/json_shapes.hpp"
#include "cli/cluster/measure_text.hpp"
#include "cli/core/output.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

/// Empty, and so not shown, where none is named.
std::string placement_text(Placement placement) {
  return placement == Placement::unset ? "" : std::string{to_string(placement)};
}

std::string joined(const std::map<std::string, std::string>& labels) {
  std::string text;
  for (const auto& [key, value] : labels)
    text += (text.empty() ? "" : ",") + key + (value.empty() ? "" : "=" + value);
  return text;
}

std::string wall_time(const TaskRecord& task) {
  const TaskResult* result = final_result(task);
  if (result == nullptr || !result->started_at) return "-";
  return format_duration_ms((result->finished_at.microseconds - result->started_at.microseconds) /
                            1000);
}

}  // namespace

namespace {

std::string ending_of(const TaskResult& result) {
  if (result.reason == EndReason::exited) return fmt::format("exit {}", result.exit_code);
  if (result.reason == EndReason::signalled) return fmt::format("signal {}", result.signal);
  return std::string{to_string(result.reason)} +
         (result.message.empty() ? "" : ": " + result.message);
}

/// How the last attempt ended, and while the next one waits for its pause, until when.
std::string ending_shown(const TaskRecord& task) {
  const TaskResult* end = last_end_of_service(task);
  std::string text = end != nullptr ? "last " + ending_of(*end) : ending(task);
  if (task.state == TaskState::pending && task.waits_until)
    text += ", not before " + table_time(task.waits_until);
  return text;
}

}  // namespace

std::string ending(const TaskRecord& task) {
  const TaskResult* result = final_result(task);
  return result == nullptr ? "-" : ending_of(*result);
}

namespace {

std::string replica_text(const ClusterStatus& status) {
  std::string text;
  for (const auto& replica : status.replicas) {
    text += fmt::format("{}{} at {}, {} records behind", text.empty() ? "" : "; ", replica.name,
                        replica.address, records_behind(replica, status));
    if (replica.silent_ms >= kSilentReplicaMs)
      text += fmt::format(", NOT HEARD OF for {} s", replica.silent_ms / 1000);
  }
  return text;
}

/// Empty before the first checkpoint.
std::string history_text(const HistoryStanding& history) {
  if (history.checkpoint == 0) return "";
  std::string text = fmt::format("checkpoint at cycle {}", history.checkpoint);
  if (history.files > 0)
    text += fmt::format("; cycles {} to {} archived in {}, {:.1f} MiB, last {}", history.first,
                        history.last, counted(history.files, "file"),
                        static_cast<double>(history.bytes) / (1 << 20), iso_time(history.cut_at));
  return text;
}

/// As coordinator.yaml has them. Empty where they are not known.
std::string rules_text(const std::optional<DealingRules>& rules) {
  if (!rules) return "";
  return fmt::format(
      "allocation: {}, elastic: {}, predict: {}, preempt_after: {}, preempt_for_min: {}",
      to_string(rules->allocation), to_string(rules->elastic), to_string(rules->predict),
      format_duration_ms(rules->preempt_after_ms), rules->preempts_for_min);
}

}  // namespace

std::string status_text(const ClusterStatus& status) {
  const std::string granting = status.granting ? "yes" : "NO: " + status.why_not_granting;
  return paragraph({
      {"cluster", status.cluster_id},
      {"coordinator", fmt::format("version {}, epoch {}", status.version, status.epoch)},
      {"granting", granting},
      {"nodes", fmt::format("{} up of {}", status.nodes_up, status.nodes)},
      {"tenants", std::to_string(status.tenants)},
      {"tasks", fmt::format("{} running, {} pending", status.tasks_running, status.tasks_pending)},
      {"capacity", format_amounts(status.capacity)},
      {"used", format_amounts(status.used)},
      {"ledger", fmt::format("cycle {}, sequence at {}", status.cycle, status.position)},
      {"rules", rules_text(status.rules)},
      {"history", history_text(status.history)},
      {"NOT ARCHIVED", status.history.failure},
      {"LEDGER DAMAGED", status.storage_damage},
      {"leads", status.leader},
      {"replicas", replica_text(status)},
  });
}

std::string token_table(const std::vector<TokenInfo>& tokens) {
  Table table{
      {{"ID"}, {"NAME"}, {"ROLE"}, {"TENANT"}, {"USER"}, {"CREATED"}, {"EXPIRES"}, {"LAST USED"}}};
  const auto when = [](WallTime time, const char* otherwise) {
    return time ? iso_time(time) : std::string(otherwise);
  };
  for (const auto& token : tokens)
    table.add_row({token.id, token.name, std::string(to_string(token.role)), token.tenant,
                   token.user.empty() ? "-" : token.user, when(token.created_at, "-"),
                   when(token.expires_at, "never"), when(token.last_used, "-")});
  return table.str();
}

namespace {

struct NestedTenant {
  std::size_t at = 0;  ///< in the list
  std::size_t depth = 0;
};

/// Each behind the one that it is in, else in the list's order. Those in one that is not listed
/// stand at the top.
std::vector<NestedTenant> nested_order(const std::vector<TenantInfo>& tenants) {
  std::set<std::string> listed;
  for (const auto& tenant : tenants) listed.insert(tenant.record.spec.name);
  std::map<std::string, std::vector<std::size_t>> within;  // by parent
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    const std::string& parent = tenants[i].record.spec.parent;
    within[listed.contains(parent) ? parent : ""].push_back(i);
  }
  std::vector<NestedTenant> order, open;
  const auto open_those_in = [&](const std::string& parent, std::size_t depth) {
    const auto found = within.find(parent);
    if (found == within.end()) return;
    for (auto child = found->second.rbegin(); child != found->second.rend(); ++child)
      open.push_back({*child, depth});
  };
  open_those_in("", 0);
  while (!open.empty()) {
    order.push_back(open.back());
    open.pop_back();
    open_those_in(tenants[order.back().at].record.spec.name, order.back().depth + 1);
  }
  return order;
}

/// `physics (leaving)`
std::string name_shown(const TenantSpec& spec) {
  return spec.name + (spec.leaving ? " (leaving)" : "");
}

/// `-12.0 core-s, quota too small`; credits are time, whatever the ledger counts.
std::string credit_text(const TenantInfo& tenant) {
  if (tenant.record.credit == 0) return "-";
  LedgerMeasure time = tenant.measure;
  time.accounting = Accounting::time;
  std::string text = signed_balance_text(tenant.record.credit, time);
  if (tenant.credit_advice == CreditAdvice::none) return text;
  std::string advice{to_string(tenant.credit_advice)};
  std::replace(advice.begin(), advice.end(), '_', ' ');
  return text + ", " + advice;
}

/// With those of single resources behind it.
std::string weight_shown(const TenantSpec& spec) {
  const std::string weight = std::to_string(spec.weight);
  return spec.weights.empty() ? weight : weight + " (" + weights_text(spec.weights) + ")";
}

}  // namespace

std::string tenant_table(const std::vector<TenantInfo>& tenants) {
  Table table{{{"NAME"},
               {"WEIGHT", Align::right},
               {"RUNNING", Align::right},
               {"PENDING", Align::right},
               {"USED"},
               {"QUOTA"},
               {"NET", Align::right},
               {"CREDIT", Align::right},
               {"GRANTED", Align::right}}};
  for (const auto& [at, depth] : nested_order(tenants)) {
    const TenantInfo& tenant = tenants[at];
    table.add_row({std::string(2 * depth, ' ') + name_shown(tenant.record.spec),
                   weight_shown(tenant.record.spec), std::to_string(tenant.running_tasks),
                   std::to_string(tenant.pending_tasks), format_amounts(tenant.used),
                   format_amounts(tenant.runtime_quota),
                   signed_balance_text(tenant.net, tenant.measure), credit_text(tenant),
                   std::to_string(tenant.record.granted_units_total)});
  }
  return table.str();
}

namespace {

/// Loans of time are in the nets alone.
std::string totals_text(const TenantInfo& tenant) {
  std::string text = fmt::format("{} granted", tenant.record.granted_units_total);
  if (tenant.measure.accounting == Accounting::units)
    text += fmt::format(", {} borrowed, {} lent", tenant.record.borrowed_total,
                        tenant.record.lent_total);
  return text + " in all";
}

/// Of one with tenants, where their mins count for it.
std::string guaranteed_text(const TenantInfo& tenant) {
  const NamedAmounts amounts = guaranteed(tenant);
  if (amounts == tenant.record.spec.min) return {};
  return format_amounts(amounts) + ", with the mins of its tenants";
}

}  // namespace

std::string tenant_text(const TenantInfo& tenant) {
  const TenantSpec& spec = tenant.record.spec;
  return paragraph({
      {"name", name_shown(spec)},
      {"parent", spec.parent},
      {"weight", std::to_string(spec.weight)},
      {"weights", weights_text(spec.weights)},
      {"min", format_amounts(spec.min)},
      {"guaranteed", guaranteed_text(tenant)},
      {"max", spec.max.empty() ? "unlimited" : format_amounts(spec.max)},
      {"queue", std::string{to_string(spec.queue)}},
      {"repay", fmt::format("{}", spec.repay_millionths / 1e6)},
      {"may lend", spec.may_lend ? "yes" : "no"},
      {"may borrow", spec.may_borrow ? "yes" : "no"},
      {"lend cap", spec.lend_cap},
      {"borrow cap", spec.borrow_cap},
      {"run as", to_text(spec.run_as)},
      {"placement", placement_text(spec.placement)},
      {"request", format_amounts(tenant.request)},
      {"quota", format_amounts(tenant.runtime_quota)},
      {"used", format_amounts(tenant.used)},
      {"tasks", fmt::format("{} running, {} pending", tenant.running_tasks, tenant.pending_tasks)},
      {"net", fmt::format("{} ({})",
                          tenant.measure.accounting == Accounting::units
                              ? fmt::format("{:+} units", tenant.net)
                              : signed_balance_text(tenant.net, tenant.measure),
                          tenant.net > 0   ? "others owe it"
                          : tenant.net < 0 ? "it owes others"
                                           : "even")},
      {"units", totals_text(tenant)},
  });
}

std::string tenant_changes_text(const std::vector<TenantChange>& changes, bool dry_run) {
  std::string text;
  for (const auto& change : changes) {
    const char* signs[] = {" ", "+", "~", "-"};
    if (change.kind == ChangeKind::unchanged) continue;
    text += fmt::format("{} {}\n", signs[static_cast<std::size_t>(change.kind)], change.name);
    for (const auto& field : change.fields) text += "    " + printable(field) + "\n";
  }
  if (text.empty()) return "nothing to change\n";
  return text + (dry_run ? "dry run: nothing was changed\n" : "");
}

/// `draining until 2026-11-21T12:00:00Z (!)`: until what runs there is stopped; `up until ..`: from
/// then on it drains; a mark for a problem.
std::string state_shown(const NodeInfo& node) {
  std::string text{to_string(node.state)};
  const WallTime begins = node.record.planned_drain.begins;
  if (node.state == NodeState::draining && node.record.drain_deadline)
    text += " until " + table_time(node.record.drain_deadline);
  if (node.state == NodeState::up && begins) text += " until " + table_time(begins);
  return text + (node.problem.empty() ? "" : " (!)");
}

std::string node_table(const std::vector<NodeInfo>& nodes) {
  Table table{{{"NAME"},
               {"SITE"},
               {"STATE"},
               {"TASKS", Align::right},
               {"FREE"},
               {"CAPACITY"},
               {"LABELS"},
               {"LAST HEARTBEAT"}}};
  for (const auto& node : nodes) {
    const NodeTraits& traits = node.record.spec.traits;
    const std::string labels = joined(traits.labels);
    table.add_row({traits.name, traits.site, state_shown(node), std::to_string(node.running_tasks),
                   format_amounts(node.free), format_amounts(node.capacity),
                   labels.empty() ? "-" : labels, table_time(node.last_heartbeat)});
  }
  return table.str();
}

/// `gpu0 (task 7.0), gpu1`, and of one that tasks share `gpu2 (500 of 1000: task 7.1)`. A tenant is
/// not told whose others' are.
std::string devices_text(const std::vector<DeviceState>& devices) {
  std::string text;
  for (const DeviceState& device : devices) {
    text += (text.empty() ? "" : ", ") + device.name;
    if (!device.held) continue;
    const std::string share = device.share > 0 ? fmt::format("{} of 1000: ", device.share) : "";
    text += is_told(device)
                ? fmt::format(" ({}task {}.{})", share, device.task.job.value, device.task.index)
                : fmt::format(" ({}another tenant's task)", share);
  }
  return text;
}

std::string node_text(const NodeInfo& node) {
  const NodeSpec& spec = node.record.spec;
  const PlannedDrain drain = shown_drain(node.record);
  return paragraph({
      {"name", spec.traits.name},
      {"site", spec.traits.site},
      {"labels", joined(spec.traits.labels)},
      {"state", std::string{to_string(node.state)}},
      {"drain reason", drain.reason},
      {"drain begins", drain.begins ? table_time(drain.begins) : std::string{}},
      {"drain deadline", drain.deadline ? table_time(drain.deadline) : std::string{}},
      {"capacity", format_amounts(node.capacity)},
      {"free", format_amounts(node.free)},
      {"tasks", std::to_string(node.running_tasks)},
      {"devices", devices_text(node.devices)},
      {"limits by", spec.limits},
      {"tasks run as", spec.isolation},
      {"address", spec.address},
      {"heartbeat", table_time(node.last_heartbeat)},
      {"PROBLEM", node.problem},
  });
}

/// Of the current or last run.
std::string listed_devices(const TaskRecord& task) {
  std::string text;
  for (const std::string& name : task.devices) text += (text.empty() ? "" : ",") + name;
  return text.empty() ? "-" : text;
}

namespace {

/// `running (waits)`: it ran, and nothing of it does now, as of a gang that was preempted.
std::string state_shown(const JobRecord& job) {
  const JobState state = state_of(job);
  const bool waits = state == JobState::running && job.tasks.running == 0;
  return std::string{to_string(state)} + (waits ? " (waits)" : "");
}

}  // namespace

std::string job_table(const std::vector<JobRecord>& jobs) {
  Table table{{{"ID", Align::right},
               {"TENANT"},
               {"USER"},
               {"NAME"},
               {"KIND"},
               {"STATE"},
               {"TASKS", Align::right},
               {"PENDING", Align::right},
               {"RUNNING", Align::right},
               {"DONE", Align::right},
               {"FAILED", Align::right},
               {"SUBMITTED"}}};
  for (const auto& job : jobs)
    table.add_row({std::to_string(job.id.value), job.spec.tenant,
                   job.spec.user.empty() ? "-" : job.spec.user, job.spec.name,
                   std::string{to_string(job.spec.kind)}, std::string{to_string(state_of(job))},
                   std::to_string(job.tasks.total), std::to_string(job.tasks.pending()),
                   std::to_string(job.tasks.running), std::to_string(job.tasks.succeeded),
                   std::to_string(job.tasks.failed), table_time(job.submitted_at)});
  return table.str();
}

/// Empty of a job with a fixed number of tasks.
std::string elastic_text(const JobRecord& job) {
  if (!is_elastic(job.spec)) return {};
  std::string text = fmt::format("{} to {} tasks, {} of those that run by growth",
                                 job.spec.tasks_min, job.spec.tasks_max, job.grown);
  if (job.growth_limit.tasks > 0)
    text += fmt::format("; grows to {} at most, where more do not pay (class {})",
                        job.growth_limit.tasks, job.spec.job_class);
  if (job.winding_down)
    text += job.tasks.succeeded > 0
                ? fmt::format("; no work is left for {} that have not begun", job.tasks.unneeded)
                : fmt::format("; {} have not begun, and will not", job.tasks.unneeded);
  return text;
}

std::string job_text(const JobDetail& detail) {
  const JobRecord& job = detail.job;
  std::string command;
  for (const auto& word : job.spec.command) command += (command.empty() ? "" : " ") + word;
  std::string text = paragraph({
      {"job", std::to_string(job.id.value)},
      {"tenant", job.spec.tenant},
      {"user", job.spec.user},
      {"name", job.spec.name},
      {"kind", std::string{to_string(job.spec.kind)} + (job.spec.gang ? ", gang" : "")},
      {"placement", placement_text(job.spec.placement)},
      {"state", state_shown(job)},
      {"cancelled", job.cancelled ? (job.cancel_reason.empty() ? "yes" : job.cancel_reason) : ""},
      {"command", command},
      {"resources", format_amounts(amounts_at(job.spec, job.memory_step))},
      {"submitted", table_time(job.submitted_at)},
      {"started", table_time(job.started_at)},
      {"next start", detail.expected_start ? "by " + table_time(detail.expected_start) : ""},
      {"finished", table_time(job.finished_at)},
      {"tasks", fmt::format("{}: {} pending, {} running, {} succeeded, {} failed, {} cancelled",
                            job.tasks.total, job.tasks.pending(), job.tasks.running,
                            job.tasks.succeeded, job.tasks.failed, job.tasks.cancelled)},
      {"elastic", elastic_text(job)},
  });
  Table table{{{"TASK", Align::right},
               {"STATE"},
               {"NODE"},
               {"ATTEMPTS", Align::right},
               {"TIME", Align::right},
               {"DEVICES"},
               {"ENDED"}}};
  for (const auto& task : detail.tasks)
    table.add_row({std::to_string(task.index), std::string{to_string(task.record.state)},
                   task.node.empty() ? "-" : task.node, std::to_string(attempts_begun(task.record)),
                   wall_time(task.record), listed_devices(task.record), ending_shown(task.record)});
  return detail.tasks.empty() ? text : text + "\n" + table.str();
}

}  // namespace fairwater::inline cli::inline cluster
