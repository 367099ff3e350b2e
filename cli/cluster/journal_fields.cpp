#include "cli/cluster/journal_fields.hpp"

#include <utility>
#include <variant>

#include <fmt/format.h>

#include "cli/cluster/journal_lines.hpp"
#include "cli/cluster/json_shapes.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

/// Exact: as a decimal number.
std::string unit_ms(const UnitTime& time) {
  return fmt::format("{}.{:06}", time.unit_ms, time.millionths);
}

/// Null where debts are not bounded.
Json debts_json(const DebtTerms& terms) {
  if (terms == DebtTerms{}) return nullptr;
  const auto seconds = [](LedgerMs ms) {
    return ms > 0 ? Json(static_cast<double>(ms) / 1000) : Json(nullptr);
  };
  return Json{{"cap_of_own_part", seconds(terms.cap_part_ms)},
              {"cap_unit_ms", terms.cap_unit_ms > 0 ? Json(terms.cap_unit_ms) : Json(nullptr)},
              {"half_life", seconds(terms.half_life_ms)}};
}

/// Builds the fields that follow `cycle`, `time` and `kind`.
struct RecordFields {
  const NameTable& names;

  Json operator()(const ClusterCreated& body) const {
    Json resources = Json::array();
    for (const auto& kind : body.resources)
      resources.push_back(
          Json{{"name", kind.name}, {"granule", kind.granule}, {"units", kind.units}});
    return Json{{"cluster", body.cluster_id},
                {"mode", body.mode == DealMode::sized ? "sized" : "slots"},
                {"accounting", to_string(body.accounting)},
                {"resources", resources}};
  }
  Json operator()(const CoordinatorStarted& body) const {
    const LeaseTerms& lease = body.lease;
    const std::int64_t ordinary_ms = lease.ordinary_ms > 0 ? lease.ordinary_ms : lease.lease_ms;
    return Json{{"epoch", body.epoch},
                {"software", body.version},
                {"lease", static_cast<double>(ordinary_ms) / 1000},
                {"longest_lease", static_cast<double>(lease.lease_ms) / 1000},
                {"grace", static_cast<double>(lease.grace_ms) / 1000},
                {"debts", debts_json(body.debts)},
                {"counts_usage", body.counts_usage}};
  }
  Json operator()(const Checkpointed& body) const {
    return Json{{"of_cycle", body.number}, {"state_hash", to_hex(body.state_hash)}};
  }
  Json operator()(const TenantsChanged& body) const {
    Json tenants = Json::array();
    for (const auto& tenant : body.tenants)
      tenants.push_back(Json{{"id", tenant.id.value},
                             {"name", tenant.spec.name},
                             {"parent", json_parent(tenant.spec)},
                             {"weight", tenant.spec.weight},
                             {"weights", json_weights(tenant.spec.weights)},
                             {"min", json_amounts(tenant.spec.min)},
                             {"max", json_amounts(tenant.spec.max)}});
    return Json{{"tenants", tenants}, {"position", body.position}};
  }
  Json operator()(const TenantRemoved& body) const {
    return Json{{"tenant", tenant_name(names, body.tenant)},
                {"position", body.position},
                {"forgiven_units", body.forgiven}};
  }
  Json operator()(const TenantLeaves& body) const {
    return Json{{"tenant", tenant_name(names, body.tenant)}};
  }
  Json operator()(const TokenIssued& body) const {
    Json json{{"role", to_string(body.role)}};
    if (body.tenant) json["tenant"] = tenant_name(names, body.tenant);
    if (!body.name.empty()) json["name"] = body.name;
    if (!body.user.empty()) json["user"] = body.user;
    if (body.expires_at) json["expires_at"] = json_time(body.expires_at);
    return json;
  }
  Json operator()(const TokenRevoked&) const { return Json::object(); }
  Json operator()(const JobSubmitted& body) const {
    Json json{{"job", body.id.value},
              {"tenant", tenant_name(names, body.tenant)},
              {"name", body.spec.name},
              {"tasks", body.spec.tasks_max}};
    if (!body.request.id.empty()) json["request_id"] = body.request.id;
    if (!body.spec.user.empty()) json["user"] = body.spec.user;
    return json;
  }
  Json operator()(const JobCancelled& body) const {
    return Json{{"job", body.id.value}, {"reason", body.reason}};
  }
  Json operator()(const NodeChanged& body) const {
    return Json{{"node", body.node.spec.traits.name},
                {"site", body.node.spec.traits.site},
                {"capacity", json_amounts(body.node.spec.capacity)},
                {"draining", body.node.draining},
                {"drain_reason", body.node.drain_reason},
                {"lost", body.node.lost},
                {"agent_starts", body.node.run.starts}};
  }
  Json operator()(const NodeAdmitted& body) const {
    return Json{{"node", body.spec.traits.name},
                {"site", body.spec.traits.site},
                {"capacity", json_amounts(body.spec.capacity)},
                {"agent_starts", body.run.starts}};
  }
  Json operator()(const NodeDrained& body) const {
    return Json{{"node", node_name(names, body.node)},  {"draining", body.draining},
                {"drain_reason", body.reason},          {"by_itself", body.by_itself},
                {"deadline", json_time(body.deadline)}, {"begins", json_time(body.begins)}};
  }
  Json operator()(const NodeLost& body) const {
    return Json{{"node", node_name(names, body.node)}};
  }
  Json operator()(const NodeReturned& body) const {
    return Json{{"node", node_name(names, body.node)}};
  }
  Json operator()(const NodeSuperseded& body) const {
    return Json{{"node", node_name(names, body.node)}, {"agent_starts", body.run.starts}};
  }
  Json operator()(const NodeRemoved& body) const {
    return Json{{"node", node_name(names, body.node)}};
  }
  Json operator()(const TasksFinished& body) const {
    Json results = Json::array();
    for (const auto& result : body.results) results.push_back(result_json(result));
    return with_restarts(Json{{"node", node_name(names, body.node)}, {"results", results}},
                         body.restarts);
  }
  Json operator()(const TasksDisowned& body) const {
    Json results = Json::array();
    for (const auto& result : body.results) results.push_back(result_json(result));
    return Json{{"node", node_name(names, body.node)}, {"results", results}};
  }
  Json operator()(const TasksRequeued& body) const {
    Json tasks = Json::array();
    for (const auto& task : body.tasks) tasks.push_back(task_key_json(task));
    return with_restarts(
        Json{{"node", node_name(names, body.node)}, {"reason", body.reason}, {"tasks", tasks}},
        body.restarts);
  }
  Json operator()(const LaunchesFailed& body) const {
    Json launches = Json::array();
    for (const auto& launch : body.launches) launches.push_back(failed_launch_json(launch, names));
    return with_restarts(Json{{"node", node_name(names, body.node)}, {"launches", launches}},
                         body.restarts);
  }
  Json operator()(const Cycle& body) const {
    Json deals = Json::array();
    for (const auto& deal : body.deals) deals.push_back(deal_json(deal, names));
    return Json{{"deals", deals}};
  }

  Json operator()(const TimeSettled& body) const {
    const TimeSettlement& settlement = body.settlement;
    Json json{{"from_ms", settlement.from_ms}, {"until_ms", settlement.until_ms}};
    if (settlement.resource < names.resources.size())
      json["next_resource"] = names.resources[settlement.resource];
    if (settlement.decay_ms > 0) {
      json["decay_ms"] = settlement.decay_ms;
      json["half_life_ms"] = settlement.half_life_ms;
    }
    json["lines"] = Json::array();
    for (const auto& line : settlement.lines) json["lines"].push_back(time_line_json(line));
    return json;
  }
  Json operator()(const DebtForgiven& body) const {
    Units amount = 0;
    Json debts = Json::array();
    for (const auto& debt : body.debts) {
      amount += debt.units;
      debts.push_back(
          Json{{"creditor", tenant_name(names, debt.creditor)}, {"amount", debt.units}});
    }
    return Json{{"debtor", tenant_name(names, body.debtor)},
                {"amount", amount},
                {"debts", debts},
                {"reason", body.reason}};
  }
  Json operator()(const AccountingChanged& body) const {
    Json json{{"accounting", to_string(Accounting::time)}};
    if (body.unit_ms_per_unit == 0)
      json["balances"] = "forgiven";
    else
      json.update(Json{{"balances", "converted"}, {"unit_ms_per_unit", body.unit_ms_per_unit}});
    return json;
  }
  Json operator()(const JobWindsDown& body) const { return Json{{"job", body.id.value}}; }
  Json operator()(const GrowthLimited& body) const {
    return Json{{"job", body.id.value}, {"limit", growth_limit_json(body.limit)}};
  }
  Json operator()(const TasksReclaimed& body) const {
    Json tasks = Json::array();
    for (const Reclaim& reclaim : body.tasks) tasks.push_back(reclaim_json(reclaim, names));
    return Json{{"tasks", tasks}, {"for_drain", body.for_drain}};
  }
  Json operator()(const CreditsSettled& body) const {
    Json lines = Json::array();
    for (const CreditLine& line : body.settlement.lines)
      lines.push_back(Json{{"tenant", tenant_name(names, line.tenant)},
                           {"extra_units", line.extras},
                           {"unused_micro_units", line.unused},
                           {"credit_unit_ms", line.change}});
    return Json{{"period_ms", body.settlement.period_ms}, {"lines", lines}};
  }
  Json operator()(const LedgerTrusted& body) const {
    const bool gives_all_up = body.given_up == ~std::uint64_t{0};
    return Json{{"incarnation", body.incarnation},
                {"given_up_cycle", gives_all_up ? Json(nullptr) : Json(body.given_up)},
                {"skipped_jobs", body.skipped_jobs},
                {"reason", body.reason},
                {"skipped_tenants", body.skipped_tenants},
                {"skipped_nodes", body.skipped_nodes},
                {"skipped_epochs", body.skipped_epochs}};
  }

  Json time_line_json(const TimeLine& line) const {
    Json json{{"tenant", tenant_name(names, line.tenant)},
              {"lent_unit_ms", line.position},
              {"rest_millionths", line.rest},
              {"held_unit_ms", unit_ms(line.held)},
              {"part_unit_ms", unit_ms(line.part)}};
    if (line.beyond_cap != 0) json["beyond_cap_unit_ms"] = line.beyond_cap;
    if (line.decayed != 0) json["decayed_unit_ms"] = line.decayed;
    return json;
  }
  /// Where there are any: in how many seconds a service is started again after that attempt.
  static Json with_restarts(Json json, const std::vector<ServiceRestart>& restarts) {
    for (const auto& restart : restarts) {
      Json one = task_key_json(restart.task);
      one["in"] = static_cast<double>(restart.in_ms) / 1000.0;
      json["restarts"].push_back(std::move(one));
    }
    return json;
  }
};

Json line_json(const TenantLine& line, const NameTable& names) {
  return Json{{"tenant", tenant_name(names, line.tenant)},
              {"carried", line.deficit_before},
              {"granted", line.granted},
              {"passed_on", line.passed_on},
              {"passed_to", line.passed_to},
              {"paid", line.paid},
              {"received", line.received},
              {"pooled", line.pooled},
              {"allowance", line.allowance},
              {"guaranteed", line.guaranteed},
              {"placed", line.placed},
              {"rolled_back", line.rolled_back},
              {"carry", line.deficit_after},
              {"repay_remainder_millionths", line.repay_remainder_millionths},
              {"quota", json_amounts(named(names, line.quota))},
              {"used", json_amounts(named(names, line.used))}};
}

}  // namespace

Json fields_json(const JournalBody& body, const NameTable& names) {
  return std::visit(RecordFields{names}, body);
}

Json task_key_json(const TaskKey& task) {
  Json json{{"job", task.job.value}, {"task", task.index}, {"attempt", task.attempt}};
  if (task.incarnation != 0) json["incarnation"] = task.incarnation;
  return json;
}

Json result_json(const TaskResult& result) {
  Json json = task_key_json(result.task);
  json.update(Json{{"reason", to_string(result.reason)},
                   {"exit_code", result.exit_code},
                   {"started_at", json_time(result.started_at)},
                   {"finished_at", json_time(result.finished_at)},
                   {"message", result.message}});
  return json;
}

Json failed_launch_json(const FailedLaunch& launch, const NameTable& names) {
  Json returned = Json::array();
  for (const auto& advance : launch.returned)
    returned.push_back(
        Json{{"lender", tenant_name(names, advance.lender)}, {"units", advance.units}});
  Json json = result_json(launch.result);
  json["returned"] = std::move(returned);
  return json;
}

Json reclaim_json(const Reclaim& reclaim, const NameTable& names) {
  Json json = task_key_json(reclaim.task);
  json.update(Json{
      {"tenant", tenant_name(names, reclaim.tenant)},
      {"node", node_name(names, reclaim.node)},
      {"claimant", reclaim.claimant ? Json(tenant_name(names, reclaim.claimant)) : Json(nullptr)},
      {"claimant_job", reclaim.claimant_job ? Json(reclaim.claimant_job.value) : Json(nullptr)},
      {"preempted", reclaim.preempted}});
  return json;
}

Json grant_json(const Grant& grant, const NameTable& names) {
  Json json = task_key_json(grant.task);
  json.update(Json{{"tenant", tenant_name(names, grant.tenant)},
                   {"cost", grant.cost},
                   {"step", to_string(grant.step)},
                   {"beyond_quota", grant.beyond_quota}});
  if (grant.placement != Placement::unset) json["placement"] = to_string(grant.placement);
  if (!grant.devices.empty()) json["devices"] = grant.devices;
  return json;
}

Json repayment_json(const Repayment& repayment, const NameTable& names) {
  return Json{{"debtor", tenant_name(names, repayment.debtor)},
              {"creditor", tenant_name(names, repayment.creditor)},
              {"units", repayment.units}};
}

Json loan_json(const Loan& loan, const NameTable& names) {
  return Json{{"lender", tenant_name(names, loan.lender)},
              {"borrower", tenant_name(names, loan.borrower)},
              {"units", loan.units}};
}

Json deal_json(const Deal& deal, const NameTable& names) {
  Json json{{"node", node_name(names, deal.node)},
            {"free_units", deal.free_units},
            {"unused", deal.unused},
            {"position_before", deal.position_before},
            {"position_after", deal.position_after}};
  for (const char* key : {"lines", "grants", "repayments", "loans"}) json[key] = Json::array();
  for (const auto& line : deal.lines) json["lines"].push_back(line_json(line, names));
  for (const auto& grant : deal.grants) json["grants"].push_back(grant_json(grant, names));
  for (const auto& repayment : deal.repayments)
    json["repayments"].push_back(repayment_json(repayment, names));
  for (const auto& loan : deal.loans) json["loans"].push_back(loan_json(loan, names));
  if (!deal.keeps_accounts) json["keeps_accounts"] = false;
  if (deal.reservation)
    json["reservation"] = Json{{"tenant", tenant_name(names, deal.reservation->tenant)},
                               {"room", json_amounts(named(names, deal.reservation->demand))}};
  return json;
}

}  // namespace fairwater::inline cli::inline cluster
