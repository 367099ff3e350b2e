#include "cli/cluster/json_shapes.hpp"

#include <string>

#include "cli/cluster/journal_lines.hpp"
#include "cli/cluster/measure_text.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

double seconds(std::int64_t milliseconds) { return static_cast<double>(milliseconds) / 1000.0; }

Json counts_json(const TaskCounts& tasks) {
  return Json{{"total", tasks.total},      {"pending", tasks.pending()},
              {"running", tasks.running},  {"succeeded", tasks.succeeded},
              {"failed", tasks.failed},    {"cancelled", tasks.cancelled},
              {"unneeded", tasks.unneeded}};
}

/// Null where nothing is known of it, as of a flat curve's point.
Json json_confidence(std::uint32_t permille) {
  return permille == 0 ? Json(nullptr) : Json(permille / 1000.0);
}

/// Null of a job with a fixed number of tasks.
Json elastic_json(const JobRecord& job) {
  if (!is_elastic(job.spec)) return nullptr;
  return Json{{"min", job.spec.tasks_min},
              {"max", job.spec.tasks_max},
              {"grown", job.grown},
              {"winding_down", job.winding_down},
              {"growth_limit", growth_limit_json(job.growth_limit)}};
}

Json run_as_json(const RunAs& run_as) {
  if (run_as.empty()) return nullptr;
  return Json{{"user", run_as.user},
              {"group", run_as.group.empty() ? Json(nullptr) : Json(run_as.group)},
              {"groups", run_as.groups}};
}

/// Null where none is named.
Json placement_json(Placement placement) {
  return placement == Placement::unset ? Json(nullptr) : Json(to_string(placement));
}

}  // namespace

Json growth_limit_json(const GrowthLimit& limit) {
  if (limit.tasks == 0) return nullptr;
  return Json{{"tasks", limit.tasks},
              {"runs", limit.runs},
              {"confidence", json_confidence(limit.confidence_permille)}};
}

std::uint32_t attempts_begun(const TaskRecord& task) {
  const bool between_runs = task.state == TaskState::pending ||
                            (task.state == TaskState::cancelled &&
                             (!task.result || task.result->task.attempt < task.attempt));
  return between_runs ? task.attempt - 1 : task.attempt;
}

const TaskResult* final_result(const TaskRecord& task) {
  const bool waits_or_runs = task.state == TaskState::pending || task.state == TaskState::running;
  return waits_or_runs || !task.result ? nullptr : &*task.result;
}

namespace {

Json replicas_json(const ClusterStatus& status) {
  Json replicas = Json::array();
  for (const auto& replica : status.replicas)
    replicas.push_back(Json{{"name", replica.name},
                            {"address", replica.address},
                            {"cycle", replica.cycle},
                            {"behind", records_behind(replica, status)},
                            {"software", replica.version},
                            {"heard_at", json_time(replica.heard)},
                            {"silent_ms", replica.silent_ms}});
  return replicas;
}

Json history_json(const HistoryStanding& history) {
  return Json{{"files", history.files},
              {"bytes", history.bytes},
              {"first_cycle", history.first},
              {"last_cycle", history.last},
              {"checkpoint_cycle", history.checkpoint},
              {"cut_at", json_time(history.cut_at)},
              {"failure", history.failure.empty() ? Json() : Json(history.failure)}};
}

Json rules_json(const std::optional<DealingRules>& rules) {
  if (!rules) return {};
  return Json{{"allocation", to_string(rules->allocation)},
              {"elastic", to_string(rules->elastic)},
              {"predict", to_string(rules->predict)},
              {"preempt_after_ms", rules->preempt_after_ms},
              {"preempt_for_min", rules->preempts_for_min}};
}

}  // namespace

Json status_json(const ClusterStatus& status) {
  return Json{{"cluster",
               {{"id", status.cluster_id},
                {"software", status.version},
                {"epoch", status.epoch},
                {"cycle", status.cycle},
                {"position", status.position},
                {"granting", status.granting},
                {"why_not_granting", status.why_not_granting},
                {"tenants", status.tenants},
                {"nodes", status.nodes},
                {"nodes_up", status.nodes_up},
                {"tasks_running", status.tasks_running},
                {"tasks_pending", status.tasks_pending},
                {"capacity", json_amounts(status.capacity)},
                {"used", json_amounts(status.used)},
                {"storage_damage", status.storage_damage},
                {"leader", status.leader.empty() ? Json() : Json(status.leader)},
                {"replicas", replicas_json(status)},
                {"history", history_json(status.history)},
                {"rules", rules_json(status.rules)}}}};
}

Json token_json(const TokenInfo& token) {
  return Json{{"id", token.id},
              {"name", token.name},
              {"role", to_string(token.role)},
              {"tenant", token.tenant.empty() ? Json() : Json(token.tenant)},
              {"user", token.user.empty() ? Json() : Json(token.user)},
              {"created_at", json_time(token.created_at)},
              {"expires_at", json_time(token.expires_at)},
              {"last_used_at", json_time(token.last_used)}};
}

Json json_weights(const NamedWeights& weights) {
  Json json = Json::object();
  for (const auto& [resource, weight] : weights) json[resource] = weight;
  return json;
}

Json json_parent(const TenantSpec& spec) {
  return spec.parent.empty() ? Json(nullptr) : Json(spec.parent);
}

namespace {

Json json_cap(const std::string& cap) { return cap.empty() ? Json(nullptr) : Json(cap); }

}  // namespace

NamedAmounts guaranteed(const TenantInfo& tenant) {
  NamedAmounts amounts = tenant.guaranteed;
  amounts.insert(tenant.record.spec.min.begin(), tenant.record.spec.min.end());
  return amounts;
}

Json tenant_json(const TenantInfo& tenant) {
  const TenantSpec& spec = tenant.record.spec;
  return Json{{"name", spec.name},
              {"parent", json_parent(spec)},
              {"weight", spec.weight},
              {"weights", json_weights(spec.weights)},
              {"min", json_amounts(spec.min)},
              {"max", json_amounts(spec.max)},
              {"guaranteed", json_amounts(guaranteed(tenant))},
              {"request", json_amounts(tenant.request)},
              {"runtime_quota", json_amounts(tenant.runtime_quota)},
              {"used", json_amounts(tenant.used)},
              {"pending_tasks", tenant.pending_tasks},
              {"running_tasks", tenant.running_tasks},
              {"net", tenant.net},
              {"granted_units_total", tenant.record.granted_units_total},
              {"credit", tenant.record.credit},
              {"credit_advice", tenant.credit_advice == CreditAdvice::none
                                    ? Json(nullptr)
                                    : Json(to_string(tenant.credit_advice))},
              {"borrowed_units_total", tenant.record.borrowed_total},
              {"lent_units_total", tenant.record.lent_total},
              {"forgiven_total", tenant.record.forgiven_total},
              {"queue", to_string(spec.queue)},
              {"repay", static_cast<double>(spec.repay_millionths) / 1e6},
              {"may_lend", spec.may_lend},
              {"may_borrow", spec.may_borrow},
              {"run_as", run_as_json(spec.run_as)},
              {"placement", placement_json(spec.placement)},
              {"leaving", spec.leaving},
              {"lend_cap", json_cap(spec.lend_cap)},
              {"borrow_cap", json_cap(spec.borrow_cap)}};
}

Json tenants_json(const std::vector<TenantInfo>& tenants) {
  Json json = list_json("tenants", tenants, tenant_json);
  if (!tenants.empty()) put_measure(json, tenants.front().measure);
  return json;
}

Json tenant_change_json(const TenantChange& change) {
  const char* kinds[] = {"unchanged", "added", "changed", "removed"};
  return Json{{"name", change.name},
              {"change", kinds[static_cast<std::size_t>(change.kind)]},
              {"fields", change.fields}};
}

namespace {

/// `task`: that holds it, else null, also where it is another tenant's and not told. `share`: of a
/// device that tasks share, in thousandths.
Json devices_json(const std::vector<DeviceState>& devices) {
  Json all = Json::array();
  for (const DeviceState& device : devices) {
    const Json task = is_told(device)
                          ? Json{{"job", device.task.job.value}, {"task", device.task.index}}
                          : Json(nullptr);
    all.push_back(Json{{"name", device.name},
                       {"resource", device.resource},
                       {"held", device.held},
                       {"task", task}});
    if (device.share > 0) all.back()["share"] = device.share;
  }
  return all;
}

}  // namespace

PlannedDrain shown_drain(const NodeRecord& node) {
  if (node.draining)
    return {.begins = {}, .deadline = node.drain_deadline, .reason = node.drain_reason};
  return node.planned_drain;
}

Json node_json(const NodeInfo& node) {
  const PlannedDrain drain = shown_drain(node.record);
  const NodeTraits& traits = node.record.spec.traits;
  Json labels = Json::object();
  for (const auto& [key, value] : traits.labels) labels[key] = value;
  return Json{{"name", traits.name},
              {"site", traits.site},
              {"labels", labels},
              {"state", to_string(node.state)},
              {"capacity", json_amounts(node.capacity)},
              {"free", json_amounts(node.free)},
              {"running_tasks", node.running_tasks},
              {"last_heartbeat", json_time(node.last_heartbeat)},
              {"drain_reason", drain.reason},
              {"drain_begins", json_time(drain.begins)},
              {"drain_deadline", json_time(drain.deadline)},
              {"limits", node.record.spec.limits},
              {"isolation", node.record.spec.isolation},
              {"address", node.record.spec.address},
              {"problem", node.problem},
              {"devices", devices_json(node.devices)},
              {"agent_starts", node.record.run.starts}};
}

namespace {

/// What of the amounts the class's profile gave; null where the job named them all.
Json profiled_json(const JobRecord& job) {
  const ProfiledAmounts& profiled = job.spec.profiled;
  if (!profiled.wanted()) return nullptr;
  return Json{{"resources", profiled.resources},
              {"runs", profiled.runs},
              {"confidence", json_confidence(profiled.confidence_permille)},
              {"memory_steps", profiled.memory_steps},
              {"memory_step", job.memory_step}};
}

}  // namespace

Json job_json(const JobRecord& job) {
  return Json{{"id", job.id.value},
              {"tenant", job.spec.tenant},
              {"user", job.spec.user.empty() ? Json() : Json(job.spec.user)},
              {"name", job.spec.name},
              {"class", job.spec.job_class},
              {"kind", to_string(job.spec.kind)},
              {"gang", job.spec.gang},
              {"placement", placement_json(job.spec.placement)},
              {"state", to_string(state_of(job))},
              {"submitted_at", json_time(job.submitted_at)},
              {"started_at", json_time(job.started_at)},
              {"finished_at", json_time(job.finished_at)},
              {"cancel_reason", job.cancel_reason},
              {"command", job.spec.command},
              {"resources", json_amounts(amounts_at(job.spec, job.memory_step))},
              {"profiled", profiled_json(job)},
              {"elastic", elastic_json(job)},
              {"tasks", counts_json(job.tasks)}};
}

const TaskResult* last_end_of_service(const TaskRecord& task) {
  return task.restarts > 0 && task.result ? &*task.result : nullptr;
}

Json task_json(const TaskInfo& task) {
  const TaskRecord& record = task.record;
  const TaskResult* result = final_result(record);
  const TaskResult* end = result != nullptr ? result : last_end_of_service(record);
  const bool ran = record.state != TaskState::pending && attempts_begun(record) > 0;
  const WallTime started =
      result != nullptr && result->started_at ? result->started_at : record.granted_at;
  Json json{{"index", task.index},
            {"state", to_string(record.state)},
            {"node", task.node.empty() ? Json(nullptr) : Json(task.node)},
            {"attempts", attempts_begun(record)},
            {"exit_code", end != nullptr ? Json(end->exit_code) : Json(nullptr)},
            {"started_at", ran ? json_time(started) : Json(nullptr)},
            {"finished_at", result != nullptr ? json_time(result->finished_at) : Json(nullptr)},
            {"cost", record.cost},
            {"launch_failures", record.launch_failures},
            {"losses", record.losses},
            {"restarts", record.restarts},
            {"grown", record.state == TaskState::running && record.step == GrantStep::growth},
            {"reclaimed", record.reclaimed},
            {"devices", record.devices},
            {"waits_until", json_time(record.waits_until)}};
  if (record.result) {
    const TaskResult& last = *record.result;
    json["last_result"] = Json{{"attempt", last.task.attempt},
                               {"reason", to_string(last.reason)},
                               {"exit_code", last.exit_code},
                               {"signal", last.signal},
                               {"cpu_seconds", seconds(last.cpu_ms)},
                               {"peak_memory_kib", last.peak_memory_kib},
                               {"message", last.message}};
  }
  return json;
}

Json job_detail_json(const JobDetail& detail) {
  Json job = job_json(detail.job);
  job["expected_start"] = json_time(detail.expected_start);
  job["task_list"] = Json::array();
  for (const auto& task : detail.tasks) job["task_list"].push_back(task_json(task));
  return Json{{"job", std::move(job)}};
}

Json ledger_json(const LedgerView& ledger) {
  Json net = Json::object();
  for (const auto& tenant : ledger.tenants) {
    const auto found = ledger.net.find(tenant.id);
    net[tenant.spec.name] = found == ledger.net.end() ? 0 : found->second;
  }
  const NameTable names = names_of(ledger);
  Json ious = Json::array();
  for (const auto& iou : ledger.ious)
    ious.push_back(Json{{"debtor", tenant_name(names, TenantId{iou.debtor})},
                        {"creditor", tenant_name(names, TenantId{iou.creditor})},
                        {"units", iou.units}});
  Json json{{"cycle", ledger.cycle}, {"position", ledger.position}, {"net", net}, {"ious", ious}};
  put_measure(json, ledger.measure);
  if (ledger.counts_time_since) {
    json["counts_time_since"] = json_time(ledger.counts_time_since);
    json["unit_ms_per_unit"] = ledger.unit_ms_per_unit;
  }
  return json;
}

Json forgiven_json(const ForgiveDebt& wanted, const DebtsForgiven& forgiven) {
  Json shares = Json::array();
  Units amount = 0;
  for (const auto& share : forgiven.shares) {
    amount += share.units;
    shares.push_back(Json{{"creditor", share.creditor}, {"amount", share.units}});
  }
  Json json{{"debtor", wanted.debtor}, {"amount", amount},        {"debts", std::move(shares)},
            {"left", forgiven.left},   {"reason", wanted.reason}, {"dry_run", wanted.dry_run}};
  put_measure(json, forgiven.measure);
  return json;
}

Json verify_json(const VerifyReport& report) {
  Json json{{"ok", report.ok},
            {"cycles", report.records},
            {"net_sum", report.net_sum},
            {"differences", report.differences}};
  if (report.begins_after > 0) json["begins_after"] = report.begins_after;
  if (report.end.hash) {
    json["last_cycle"] = report.end.number;
    json["last_hash"] = to_hex(*report.end.hash);
  }
  return json;
}

namespace {

Json mark_json(const LedgerMark& mark) {
  return Json{{"cycle", mark.number},
              {"hash", mark.hash ? Json(to_hex(*mark.hash)) : Json(nullptr)},
              {"incarnation", mark.incarnation}};
}

}  // namespace

Json backup_json(const std::string& directory, const LedgerBackup& backup) {
  Json json{{"directory", directory}, {"cluster_id", backup.manifest.cluster_id}};
  json.update(mark_json(backup.manifest.end));
  json.update(Json{{"recorded", json_time(backup.manifest.recorded)},
                   {"made", json_time(backup.manifest.made)},
                   {"bytes", backup.bytes},
                   {"took_ms", backup.took_ms}});
  return Json{{"backup", std::move(json)}};
}

Json standing_json(const LedgerStanding& standing) {
  Json ledger = mark_json(standing.end);
  ledger.update(Json{{"trusted", standing.trusted},
                     {"why", standing.why},
                     {"copied", standing.copied},
                     {"awaited", standing.awaited}});
  Json doubts = Json::array();
  for (const auto& doubt : standing.doubts) {
    Json json{{"node", doubt.node}};
    json.update(mark_json(doubt.seen));
    json.update(Json{{"reason", doubt.reason}, {"since", json_time(doubt.since)}});
    doubts.push_back(std::move(json));
  }
  return Json{{"ledger", std::move(ledger)}, {"doubts", std::move(doubts)}};
}

}  // namespace fairwater::inline cli::inline cluster
