#include "rpc/wire.hpp"

#include "schema/codec_internal.hpp"

namespace fairwater {
namespace {

using codec::checked_enum;
using codec::hash_data;
using codec::wire_enum;

/// What these have in version 1 of the protocol, and more in later ones. A report is decoded before
/// it is known whose it is: it must not become much larger by that.
constexpr std::size_t kTaskKeyWords = 2;
constexpr std::size_t kTaskResultWords = 8;
/// Errors quote what they refuse.
constexpr std::size_t kMaxErrorBytes = 4096;

wire::NodeState to_wire_state(NodeState state) { return wire_enum<wire::NodeState>(state); }

template <class Id>
void encode_names(const std::map<Id, std::string>& names,
                  capnp::List<wire::IdName>::Builder builder) {
  unsigned i = 0;
  for (const auto& [id, name] : names) {
    auto entry = builder[i++];
    entry.setId(id.value);
    entry.setName(to_text(name));
  }
}

template <class Id>
std::map<Id, std::string> read_names(capnp::List<wire::IdName>::Reader reader) {
  std::map<Id, std::string> names;
  for (auto entry : reader) names[Id{entry.getId()}] = to_std_string(entry.getName());
  return names;
}

void encode_table(const NameTable& names, wire::NameTable::Builder builder) {
  encode_names(names.tenants, builder.initTenants(names.tenants.size()));
  encode_names(names.nodes, builder.initNodes(names.nodes.size()));
  encode(names.resources, builder.initResources(names.resources.size()));
}

NameTable read_table(wire::NameTable::Reader reader) {
  return {read_names<TenantId>(reader.getTenants()), read_names<NodeId>(reader.getNodes()),
          read(reader.getResources())};
}

TaskInfo read_task(wire::TaskInfo::Reader reader) {
  return {reader.getIndex(), read(reader.getRecord()), to_std_string(reader.getNode())};
}

LaunchOrder read_launch(wire::LaunchOrder::Reader reader) {
  LaunchOrder order;
  order.task = read(reader.getTask());
  order.epoch = reader.getEpoch();
  order.task_count = reader.getTaskCount();
  order.command = read(reader.getCommand());
  order.environment = read(reader.getEnvironment());
  order.directory = to_std_string(reader.getDirectory());
  order.limits = read(reader.getLimits());
  order.time_limit_ms = reader.getTimeLimitMs();
  order.grace_ms = reader.getGraceMs();
  order.tenant = TenantId{reader.getTenant()};
  order.run_as = read(reader.getRunAs());
  return order;
}

/// Empty where the writer had none.
std::optional<Hash> read_optional_hash(capnp::Data::Reader data, std::string_view field) {
  if (data.size() == 0) return std::nullopt;
  return read_hash(data, field);
}

}  // namespace

// -- identity -------------------------------------------------------------------------------------

void encode(const IdentityProof& proof, wire::Gateway::IdentifyResults::Builder builder) {
  builder.setClusterId(to_text(proof.cluster_id));
  builder.setPublicKey({proof.key.data(), proof.key.size()});
  builder.setSignature({proof.signature.data(), proof.signature.size()});
}

IdentityProof read(wire::Gateway::IdentifyResults::Reader reader) {
  IdentityProof proof;
  proof.cluster_id = to_std_string(reader.getClusterId());
  const auto key = reader.getPublicKey();
  const auto signature = reader.getSignature();
  if (key.size() != proof.key.size() || signature.size() != proof.signature.size())
    throw MalformedRecord("signature", "a key has 32 bytes and a signature 64");
  std::copy(key.begin(), key.end(), proof.key.begin());
  std::copy(signature.begin(), signature.end(), proof.signature.begin());
  return proof;
}

// -- errors ---------------------------------------------------------------------------------------

void encode(const caf::error& error, wire::Error::Builder builder) {
  const ErrorDetails parts = details(error);
  const std::string code{to_string(parts.code)};
  builder.setCode(to_text(code));
  builder.setMessage(to_text(cut_text(parts.message, kMaxErrorBytes)));
  builder.setField(to_text(cut_text(parts.field, kMaxErrorBytes)));
  builder.setRetryable(is_retryable(parts.code));
}

caf::error read(wire::Error::Reader reader) {
  return make_error(error_code_from(to_std_string(reader.getCode())),
                    to_std_string(reader.getMessage()), to_std_string(reader.getField()));
}

// -- agents ---------------------------------------------------------------------------------------

void encode(const AgentReport& report, wire::AgentReport::Builder builder) {
  encode_list(report.running, builder.initRunning(report.running.size()));
  encode_list(report.finished, builder.initFinished(report.finished.size()));
  encode(report.capacity, builder.initCapacity(report.capacity.size()));
}

AgentReport read(wire::AgentReport::Reader reader) {
  AgentReport report{read_elements(reader.getRunning(), kTaskKeyWords),
                     read_elements(reader.getFinished(), kTaskResultWords),
                     read(reader.getCapacity())};
  // An agent of an earlier version sends them as long as they are.
  for (auto& result : report.finished)
    result.message = cut_text(std::move(result.message), kMaxResultMessageBytes);
  return report;
}

void encode(const ReportReply& reply, wire::ReportReply::Builder builder) {
  encode_list(reply.acknowledged, builder.initAcknowledged(reply.acknowledged.size()));
  builder.setCommittedCycle(reply.committed.number);
  builder.setLeaseMs(reply.lease_ms);
  builder.setHeartbeatIntervalMs(reply.heartbeat_interval_ms);
  if (reply.committed.hash) builder.setCommittedHash(hash_data(*reply.committed.hash));
  builder.setLedgerIncarnation(reply.committed.incarnation);
}

ReportReply read(wire::ReportReply::Reader reader) {
  return {read_elements(reader.getAcknowledged()),
          {reader.getLedgerIncarnation(), reader.getCommittedCycle(),
           read_optional_hash(reader.getCommittedHash(), "committedHash")},
          reader.getLeaseMs(),
          reader.getHeartbeatIntervalMs()};
}

void encode(const AgentIdentity& identity, wire::AgentIdentity::Builder builder) {
  const LedgerMark& seen = identity.memory.seen;
  builder.setClusterId(to_text(identity.memory.cluster_id));
  if (seen.hash) builder.setSeenHash(hash_data(*seen.hash));
  builder.setSeenIncarnation(seen.incarnation);
  builder.setRunStarts(identity.run.starts);
  builder.setRunId(to_text(identity.run.id));
  builder.setMoved(identity.moved);
}

AgentIdentity read(wire::AgentIdentity::Reader reader, std::uint64_t seen_cycle) {
  return {{to_std_string(reader.getClusterId()),
           {reader.getSeenIncarnation(), seen_cycle,
            read_optional_hash(reader.getSeenHash(), "identity.seenHash")}},
          {reader.getRunStarts(), to_std_string(reader.getRunId())},
          reader.getMoved()};
}

void encode(const LaunchOrder& order, wire::LaunchOrder::Builder builder) {
  encode(order.task, builder.initTask());
  builder.setEpoch(order.epoch);
  builder.setTaskCount(order.task_count);
  encode(order.command, builder.initCommand(order.command.size()));
  encode(order.environment, builder.initEnvironment(order.environment.size()));
  builder.setDirectory(to_text(order.directory));
  encode(order.limits, builder.initLimits(order.limits.size()));
  builder.setTimeLimitMs(order.time_limit_ms);
  builder.setGraceMs(order.grace_ms);
  builder.setTenant(order.tenant.value);
  if (!order.run_as.empty()) encode(order.run_as, builder.initRunAs());
}

void encode(const StopOrder& order, wire::StopOrder::Builder builder) {
  encode(order.task, builder.initTask());
  builder.setEpoch(order.epoch);
}

void encode(const AgentOrders& orders, wire::AgentControl::OrdersParams::Builder builder) {
  encode_list(orders.launches, builder.initLaunches(orders.launches.size()));
  encode_list(orders.stops, builder.initStops(orders.stops.size()));
}

AgentOrders read(wire::AgentControl::OrdersParams::Reader reader) {
  AgentOrders orders;
  for (auto order : reader.getLaunches()) orders.launches.push_back(read_launch(order));
  for (auto order : reader.getStops())
    orders.stops.push_back({read(order.getTask()), order.getEpoch()});
  return orders;
}

// -- the cluster ----------------------------------------------------------------------------------

void encode(const ClusterStatus& status, wire::ClusterStatus::Builder builder) {
  builder.setClusterId(to_text(status.cluster_id));
  builder.setVersion(to_text(status.version));
  builder.setEpoch(status.epoch);
  builder.setCycle(status.cycle);
  builder.setPosition(status.position);
  builder.setGranting(status.granting);
  builder.setWhyNotGranting(to_text(status.why_not_granting));
  builder.setTenants(status.tenants);
  builder.setNodesUp(status.nodes_up);
  builder.setNodes(status.nodes);
  builder.setTasksRunning(status.tasks_running);
  builder.setTasksPending(status.tasks_pending);
  encode(status.capacity, builder.initCapacity(status.capacity.size()));
  encode(status.used, builder.initUsed(status.used.size()));
  builder.setStorageDamage(to_text(status.storage_damage));
}

ClusterStatus read(wire::ClusterStatus::Reader reader) {
  ClusterStatus status;
  status.cluster_id = to_std_string(reader.getClusterId());
  status.version = to_std_string(reader.getVersion());
  status.epoch = reader.getEpoch();
  status.cycle = reader.getCycle();
  status.position = reader.getPosition();
  status.granting = reader.getGranting();
  status.why_not_granting = to_std_string(reader.getWhyNotGranting());
  status.tenants = reader.getTenants();
  status.nodes_up = reader.getNodesUp();
  status.nodes = reader.getNodes();
  status.tasks_running = reader.getTasksRunning();
  status.tasks_pending = reader.getTasksPending();
  status.capacity = read(reader.getCapacity());
  status.used = read(reader.getUsed());
  status.storage_damage = to_std_string(reader.getStorageDamage());
  return status;
}

void encode(const TokenInfo& token, wire::TokenInfo::Builder builder) {
  builder.setId(to_text(token.id));
  builder.setName(to_text(token.name));
  builder.setRole(to_wire(token.role));
  builder.setTenant(to_text(token.tenant));
  builder.setCreatedAt(token.created_at.microseconds);
  builder.setExpiresAt(token.expires_at.microseconds);
  builder.setLastUsed(token.last_used.microseconds);
}

TokenInfo read(wire::TokenInfo::Reader reader) {
  return {to_std_string(reader.getId()), to_std_string(reader.getName()),
          read(reader.getRole()),        to_std_string(reader.getTenant()),
          {reader.getCreatedAt()},       {reader.getExpiresAt()},
          {reader.getLastUsed()}};
}

void encode(const TenantInfo& tenant, wire::TenantInfo::Builder builder) {
  encode(tenant.record, builder.initRecord());
  encode(tenant.request, builder.initRequest(tenant.request.size()));
  encode(tenant.runtime_quota, builder.initRuntimeQuota(tenant.runtime_quota.size()));
  encode(tenant.used, builder.initUsed(tenant.used.size()));
  builder.setPendingTasks(tenant.pending_tasks);
  builder.setRunningTasks(tenant.running_tasks);
  builder.setNet(tenant.net);
}

TenantInfo read(wire::TenantInfo::Reader reader) {
  return {read(reader.getRecord()), read(reader.getRequest()), read(reader.getRuntimeQuota()),
          read(reader.getUsed()),   reader.getPendingTasks(),  reader.getRunningTasks(),
          reader.getNet()};
}

void encode(const TenantChange& change, wire::TenantChange::Builder builder) {
  builder.setName(to_text(change.name));
  builder.setKind(wire_enum<wire::ChangeKind>(change.kind));
  encode(change.fields, builder.initFields(change.fields.size()));
}

TenantChange read(wire::TenantChange::Reader reader) {
  return {to_std_string(reader.getName()),
          checked_enum(reader.getKind(), ChangeKind::removed, "kind"), read(reader.getFields())};
}

void encode(const NodeInfo& node, wire::NodeInfo::Builder builder) {
  encode(node.record, builder.initRecord());
  builder.setState(to_wire_state(node.state));
  encode(node.capacity, builder.initCapacity(node.capacity.size()));
  encode(node.free, builder.initFree(node.free.size()));
  builder.setRunningTasks(node.running_tasks);
  builder.setLastHeartbeat(node.last_heartbeat.microseconds);
  builder.setProblem(to_text(node.problem));
}

NodeInfo read(wire::NodeInfo::Reader reader) {
  return {
      read(reader.getRecord()),          checked_enum(reader.getState(), NodeState::down, "state"),
      read(reader.getCapacity()),        read(reader.getFree()),
      reader.getRunningTasks(),          WallTime{reader.getLastHeartbeat()},
      to_std_string(reader.getProblem())};
}

// -- jobs -----------------------------------------------------------------------------------------

void encode(const JobQuery& query, wire::JobQuery::Builder builder) {
  builder.setTenant(to_text(query.tenant));
  if (query.state)
    builder.getState().setOnly(wire_enum<wire::JobState>(*query.state));
  else
    builder.getState().setAny();
  builder.setLimit(query.limit);
  builder.setBefore(query.before.value);
}

JobQuery read(wire::JobQuery::Reader reader) {
  JobQuery query;
  query.tenant = to_std_string(reader.getTenant());
  const auto state = reader.getState();
  if (state.isOnly())
    query.state = checked_enum(state.getOnly(), JobState::cancelled, "state");
  else if (!state.isAny())
    throw MalformedRecord("state", "state is chosen in a way that this version does not know");
  query.limit = reader.getLimit();
  query.before = JobId{reader.getBefore()};
  return query;
}

void encode(const TaskInfo& task, wire::TaskInfo::Builder builder) {
  builder.setIndex(task.index);
  encode(task.record, builder.initRecord());
  builder.setNode(to_text(task.node));
}

void encode(const JobDetail& detail, wire::JobDetail::Builder builder) {
  encode(detail.job, builder.initJob());
  encode_list(detail.tasks, builder.initTasks(detail.tasks.size()));
  builder.setMore(detail.more);
}

JobDetail read(wire::JobDetail::Reader reader) {
  JobDetail detail{read(reader.getJob()), {}, reader.getMore()};
  for (auto task : reader.getTasks()) detail.tasks.push_back(read_task(task));
  return detail;
}

void encode(const LogChunk& chunk, wire::LogChunk::Builder builder) {
  builder.setData({reinterpret_cast<const capnp::byte*>(chunk.data.data()), chunk.data.size()});
  builder.setEnd(chunk.end);
}

LogChunk read(wire::LogChunk::Reader reader) {
  const auto data = reader.getData().asChars();
  return {std::string(data.begin(), data.size()), reader.getEnd()};
}

void encode(const Explanation& explanation, wire::Explanation::Builder builder) {
  encode(explanation.job, builder.initJob());
  encode(explanation.task, builder.initTask());
  auto obstacles = builder.initObstacles(explanation.obstacles.size());
  for (unsigned i = 0; i < obstacles.size(); ++i) {
    obstacles[i].setCode(to_text(explanation.obstacles[i].code));
    obstacles[i].setMessage(to_text(explanation.obstacles[i].message));
  }
  builder.setGrantCycle(explanation.grant_cycle);
  if (explanation.deal) encode(*explanation.deal, builder.initDeal());
  encode_table(explanation.names, builder.initNames());
}

Explanation read(wire::Explanation::Reader reader) {
  Explanation explanation;
  explanation.job = read(reader.getJob());
  explanation.task = read_task(reader.getTask());
  for (auto obstacle : reader.getObstacles())
    explanation.obstacles.push_back(
        {to_std_string(obstacle.getCode()), to_std_string(obstacle.getMessage())});
  explanation.grant_cycle = reader.getGrantCycle();
  if (reader.hasDeal()) explanation.deal = read(reader.getDeal());
  explanation.names = read_table(reader.getNames());
  return explanation;
}

// -- the ledger -----------------------------------------------------------------------------------

void encode(const LedgerView& ledger, wire::LedgerView::Builder builder) {
  builder.setCycle(ledger.cycle);
  builder.setPosition(ledger.position);
  encode_list(ledger.tenants, builder.initTenants(ledger.tenants.size()));
  auto net = builder.initNet(ledger.net.size());
  unsigned i = 0;
  for (const auto& [tenant, units] : ledger.net) {
    net[i].setTenant(tenant.value);
    net[i++].setUnits(units);
  }
  encode_list(ledger.ious, builder.initIous(ledger.ious.size()));
  encode_names(ledger.counterparties, builder.initCounterparties(ledger.counterparties.size()));
}

void encode(const IouBook::Iou& iou, wire::Iou::Builder builder) {
  builder.setDebtor(iou.debtor);
  builder.setCreditor(iou.creditor);
  builder.setUnits(iou.units);
  builder.setAge(iou.age);
}

LedgerView read(wire::LedgerView::Reader reader) {
  LedgerView ledger;
  ledger.cycle = reader.getCycle();
  ledger.position = reader.getPosition();
  ledger.tenants = read_elements(reader.getTenants());
  for (auto entry : reader.getNet()) ledger.net[TenantId{entry.getTenant()}] = entry.getUnits();
  for (auto iou : reader.getIous())
    ledger.ious.push_back({iou.getDebtor(), iou.getCreditor(), iou.getUnits(), iou.getAge()});
  ledger.counterparties = read_names<TenantId>(reader.getCounterparties());
  return ledger;
}

void encode(const LedgerStanding& standing, wire::LedgerStanding::Builder builder) {
  builder.setTrusted(standing.trusted);
  builder.setWhy(to_text(standing.why));
  builder.setCycle(standing.end.number);
  if (standing.end.hash) builder.setHash(hash_data(*standing.end.hash));
  builder.setIncarnation(standing.end.incarnation);
  builder.setCopied(standing.copied);
  encode(standing.awaited, builder.initAwaited(standing.awaited.size()));
  auto doubts = builder.initDoubts(standing.doubts.size());
  for (unsigned i = 0; i < doubts.size(); ++i) {
    const LedgerDoubt& doubt = standing.doubts[i];
    doubts[i].setNode(to_text(doubt.node));
    doubts[i].setCycle(doubt.seen.number);
    if (doubt.seen.hash) doubts[i].setHash(hash_data(*doubt.seen.hash));
    doubts[i].setIncarnation(doubt.seen.incarnation);
    doubts[i].setReason(to_text(doubt.reason));
    doubts[i].setSince(doubt.since.microseconds);
  }
}

LedgerStanding read(wire::LedgerStanding::Reader reader) {
  LedgerStanding standing;
  standing.trusted = reader.getTrusted();
  standing.why = to_std_string(reader.getWhy());
  standing.end = {reader.getIncarnation(), reader.getCycle(),
                  read_optional_hash(reader.getHash(), "hash")};
  standing.copied = reader.getCopied();
  standing.awaited = read(reader.getAwaited());
  for (auto doubt : reader.getDoubts())
    standing.doubts.push_back(
        {to_std_string(doubt.getNode()),
         {doubt.getIncarnation(), doubt.getCycle(), read_optional_hash(doubt.getHash(), "hash")},
         to_std_string(doubt.getReason()),
         WallTime{doubt.getSince()}});
  return standing;
}

void encode(const JournalPage& page, wire::JournalPage::Builder builder) {
  encode_list(page.records, builder.initRecords(page.records.size()));
  encode_table(page.names, builder.initNames());
}

JournalPage read(wire::JournalPage::Reader reader) {
  return {read_elements(reader.getRecords()), read_table(reader.getNames())};
}

void encode(const VerifyReport& report, wire::VerifyReport::Builder builder) {
  builder.setOk(report.ok);
  builder.setRecords(report.records);
  builder.setNetSum(report.net_sum);
  Texts differences;
  for (const auto& difference : report.differences)
    differences.push_back(cut_text(difference, kMaxErrorBytes));
  encode(differences, builder.initDifferences(differences.size()));
}

VerifyReport read(wire::VerifyReport::Reader reader) {
  return {reader.getOk(), reader.getRecords(), reader.getNetSum(), read(reader.getDifferences())};
}

}  // namespace fairwater
