#include "cli/cluster/journal_lines.hpp"

#include <algorithm>
#include <map>
#include <variant>

#include <fmt/format.h>

#include "cli/cluster/journal_fields.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

Json head(const JournalRecord& record, std::string_view kind) {
  return Json{{"cycle", record.number}, {"time", json_time(record.time)}, {"kind", kind}};
}

Json with(Json json, const Json& more) {
  json.update(more);
  return json;
}

/// Where it is a service's.
Json with_restart(Json event, const TaskKey& task, const std::vector<ServiceRestart>& restarts) {
  for (const auto& restart : restarts)
    if (restart.task == task) event["restarts_in"] = static_cast<double>(restart.in_ms) / 1000.0;
  return event;
}

/// `3 physics, 1 biology`: grants by tenant.
std::string count_grants(const Deal& deal, const NameTable& names) {
  std::map<std::string, int> counts;
  for (const auto& grant : deal.grants) ++counts[tenant_name(names, grant.tenant)];
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  return text.empty() ? "none" : text;
}

std::string cycle_text(const Cycle& cycle, const NameTable& names) {
  std::string text;
  for (const auto& deal : cycle.deals)
    text += fmt::format("{}{}: {} units, tasks: {}, loans: {}, repayments: {}",
                        text.empty() ? "" : "; ", node_name(names, deal.node), deal.free_units,
                        count_grants(deal, names), deal.loans.size(), deal.repayments.size());
  return text;
}

/// Why services come back, and when.
std::string restarts_text(const TasksFinished& finished) {
  std::string text;
  for (const auto& restart : finished.restarts) {
    const auto result =
        std::find_if(finished.results.begin(), finished.results.end(),
                     [&](const TaskResult& other) { return other.task == restart.task; });
    if (result == finished.results.end()) continue;
    text += fmt::format("; service {} {} with status {}, starts again in {}", text_of(restart.task),
                        to_string(result->reason), result->exit_code,
                        format_duration_ms(restart.in_ms));
  }
  return text;
}

/// `key value key value`, leaving out what says nothing.
std::string fields_text(const Json& fields) {
  std::string text;
  for (const auto& [key, value] : fields.items()) {
    if (key == "cycle" || key == "time" || key == "kind" || value.is_null() || value == "" ||
        value == false)
      continue;
    const bool nested = value.is_structured();
    if (nested && value.empty()) continue;
    text += (text.empty() ? "" : " ") + key + " " +
            (value.is_string() ? value.get<std::string>() : json_text(value));
  }
  return printable(text);
}

std::string line_start(std::uint64_t cycle, const std::string& time, std::string_view kind) {
  return fmt::format("{:>8}  {}  {:<19} ", cycle, time, kind);
}

}  // namespace

NameTable names_of(const LedgerView& ledger) {
  NameTable names;
  names.tenants = ledger.counterparties;
  for (const auto& tenant : ledger.tenants) names.tenants.emplace(tenant.id, tenant.spec.name);
  return names;
}

std::string tenant_name(const NameTable& names, TenantId id) {
  const auto found = names.tenants.find(id);
  return found != names.tenants.end() ? found->second : fmt::format("tenant-{}", id.value);
}

std::string node_name(const NameTable& names, NodeId id) {
  const auto found = names.nodes.find(id);
  return found != names.nodes.end() ? found->second : fmt::format("node-{}", id.value);
}

NamedAmounts named(const NameTable& names, const ResourceVector& amounts) {
  NamedAmounts result;
  for (std::size_t i = 0; i < std::min(names.resources.size(), kMaxResources); ++i)
    if (amounts[i] != 0 && amounts[i] < kUnlimited) result[names.resources[i]] = amounts[i];
  return result;
}

Json journal_json(const JournalRecord& record, const NameTable& names) {
  return with(head(record, kind_of(record.body)), fields_json(record.body, names));
}

std::string journal_text(const JournalRecord& record, const NameTable& names) {
  const std::string start =
      line_start(record.number, table_time(record.time), kind_of(record.body));
  if (const auto* cycle = std::get_if<Cycle>(&record.body))
    return start + cycle_text(*cycle, names);
  if (const auto* finished = std::get_if<TasksFinished>(&record.body))
    return start + fmt::format("node {} results {}{}", node_name(names, finished->node),
                               finished->results.size(), restarts_text(*finished));
  return start + fields_text(fields_json(record.body, names));
}

std::vector<Json> events_json(const JournalRecord& record, const NameTable& names) {
  std::vector<Json> events;
  if (const auto* cycle = std::get_if<Cycle>(&record.body)) {
    for (const auto& deal : cycle->deals) {
      const Json node{{"node", node_name(names, deal.node)}};
      for (const auto& repayment : deal.repayments)
        events.push_back(with(head(record, "repayment"), repayment_json(repayment, names)));
      for (const auto& loan : deal.loans)
        events.push_back(with(head(record, "loan"), loan_json(loan, names)));
      for (const auto& grant : deal.grants)
        events.push_back(with(with(head(record, "task_granted"), grant_json(grant, names)), node));
    }
  } else if (const auto* finished = std::get_if<TasksFinished>(&record.body)) {
    const Json node{{"node", node_name(names, finished->node)}};
    for (const auto& result : finished->results)
      events.push_back(
          with_restart(with(with(head(record, "task_finished"), result_json(result)), node),
                       result.task, finished->restarts));
  } else if (const auto* disowned = std::get_if<TasksDisowned>(&record.body)) {
    const Json node{{"node", node_name(names, disowned->node)}};
    for (const auto& result : disowned->results)
      events.push_back(with(with(head(record, "task_disowned"), result_json(result)), node));
  } else if (const auto* failed = std::get_if<LaunchesFailed>(&record.body)) {
    const Json node{{"node", node_name(names, failed->node)}};
    for (const auto& launch : failed->launches)
      events.push_back(with_restart(
          with(with(head(record, "launch_failed"), failed_launch_json(launch, names)), node),
          launch.result.task, failed->restarts));
  } else if (const auto* requeued = std::get_if<TasksRequeued>(&record.body)) {
    const Json where{{"node", node_name(names, requeued->node)}, {"reason", requeued->reason}};
    for (const auto& task : requeued->tasks)
      events.push_back(
          with_restart(with(with(head(record, "task_requeued"), task_key_json(task)), where), task,
                       requeued->restarts));
  } else if (const auto* reclaimed = std::get_if<TasksReclaimed>(&record.body)) {
    const Json why{{"for_drain", reclaimed->for_drain}};
    for (const auto& task : reclaimed->tasks)
      events.push_back(with(with(head(record, "task_reclaimed"), reclaim_json(task, names)), why));
  } else {
    events.push_back(journal_json(record, names));
  }
  return events;
}

std::string event_text(const Json& event) {
  const std::string time = event.at("time").is_null() ? "-" : event.at("time").get<std::string>();
  return line_start(event.at("cycle").get<std::uint64_t>(), time,
                    event.at("kind").get<std::string>()) +
         fields_text(event);
}

}  // namespace fairwater::inline cli::inline cluster
