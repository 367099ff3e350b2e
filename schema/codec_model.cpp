// Jobs, tasks, tenants and nodes.
#include "schema/codec_internal.hpp"

namespace fairwater {

using codec::checked_enum;
using codec::hash_data;
using codec::wire_enum;

// -- lists and maps

void encode(const Texts& texts, capnp::List<capnp::Text>::Builder builder) {
  for (std::size_t i = 0; i < texts.size(); ++i) builder.set(i, to_text(texts[i]));
}

Texts read(capnp::List<capnp::Text>::Reader reader) {
  Texts texts;
  for (auto text : reader) texts.push_back(to_std_string(text));
  return texts;
}

void encode(const TextMap& map, capnp::List<wire::KeyValue>::Builder builder) {
  std::size_t i = 0;
  for (const auto& [key, value] : map) {
    auto entry = builder[i++];
    entry.setKey(to_text(key));
    entry.setValue(to_text(value));
  }
}

TextMap read(capnp::List<wire::KeyValue>::Reader reader) {
  TextMap map;
  for (auto entry : reader) {
    const std::string key = to_std_string(entry.getKey());
    if (!map.emplace(key, to_std_string(entry.getValue())).second)
      throw MalformedRecord(key, "'" + key + "' is given twice");
  }
  return map;
}

void encode(const NamedAmounts& amounts, capnp::List<wire::NamedAmount>::Builder builder) {
  std::size_t i = 0;
  for (const auto& [name, amount] : amounts) {
    auto entry = builder[i++];
    entry.setName(to_text(name));
    entry.setAmount(amount);
  }
}

NamedAmounts read(capnp::List<wire::NamedAmount>::Reader reader) {
  NamedAmounts amounts;
  for (auto entry : reader) {
    const std::string name = to_std_string(entry.getName());
    if (!amounts.emplace(name, entry.getAmount()).second)
      throw MalformedRecord(name, "resource '" + name + "' is given twice");
  }
  return amounts;
}

// -- jobs and tasks

void encode(const TaskKey& key, wire::TaskKey::Builder builder) {
  builder.setJob(key.job.value);
  builder.setIndex(key.index);
  builder.setAttempt(key.attempt);
  builder.setIncarnation(key.incarnation);
}

TaskKey read(wire::TaskKey::Reader reader) {
  return {JobId{reader.getJob()}, reader.getIndex(), reader.getAttempt(), reader.getIncarnation()};
}

void encode(const JobSpec& spec, wire::JobSpec::Builder builder) {
  builder.setTenant(to_text(spec.tenant));
  builder.setName(to_text(spec.name));
  builder.setJobClass(to_text(spec.job_class));
  encode(spec.command, builder.initCommand(spec.command.size()));
  encode(spec.environment, builder.initEnvironment(spec.environment.size()));
  builder.setDirectory(to_text(spec.directory));
  builder.setTasksMin(spec.tasks_min);
  builder.setTasksMax(spec.tasks_max);
  encode(spec.resources, builder.initResources(spec.resources.size()));
  builder.setKind(wire_enum<wire::JobKind>(spec.kind));
  builder.setPriority(spec.priority);
  builder.setGang(spec.gang);
  builder.setLabels(to_text(spec.labels));
  encode(spec.sites, builder.initSites(spec.sites.size()));
  encode(spec.devices, builder.initDevices(spec.devices.size()));
  builder.setTimeLimitMs(spec.time_limit_ms);
  builder.setGraceMs(spec.grace_ms);
  builder.setRetries(spec.retries);
  auto after = builder.initAfter(spec.after.size());
  for (std::size_t i = 0; i < spec.after.size(); ++i) after.set(i, spec.after[i].value);
  builder.setPreemptible(spec.preemptible);
}

JobSpec read(wire::JobSpec::Reader reader) {
  JobSpec spec;
  spec.tenant = to_std_string(reader.getTenant());
  spec.name = to_std_string(reader.getName());
  spec.job_class = to_std_string(reader.getJobClass());
  spec.command = read(reader.getCommand());
  spec.environment = read(reader.getEnvironment());
  spec.directory = to_std_string(reader.getDirectory());
  spec.tasks_min = reader.getTasksMin();
  spec.tasks_max = reader.getTasksMax();
  spec.resources = read(reader.getResources());
  spec.kind = checked_enum(reader.getKind(), JobKind::service, "kind");
  spec.priority = reader.getPriority();
  spec.gang = reader.getGang();
  spec.labels = to_std_string(reader.getLabels());
  spec.sites = read(reader.getSites());
  spec.devices = read(reader.getDevices());
  spec.time_limit_ms = reader.getTimeLimitMs();
  spec.grace_ms = reader.getGraceMs();
  spec.retries = reader.getRetries();
  for (const std::uint64_t job : reader.getAfter()) spec.after.push_back(JobId{job});
  spec.preemptible = reader.getPreemptible();
  return spec;
}

void encode(const TaskResult& result, wire::TaskResult::Builder builder) {
  encode(result.task, builder.initTask());
  builder.setReason(wire_enum<wire::EndReason>(result.reason));
  builder.setExitCode(result.exit_code);
  builder.setSignal(result.signal);
  builder.setStartedAt(result.started_at.microseconds);
  builder.setFinishedAt(result.finished_at.microseconds);
  builder.setCpuMs(result.cpu_ms);
  builder.setPeakMemoryKib(result.peak_memory_kib);
  builder.setMessage(to_text(result.message));
}

TaskResult read(wire::TaskResult::Reader reader) {
  TaskResult result;
  result.task = read(reader.getTask());
  result.reason = checked_enum(reader.getReason(), kLastEndReason, "reason");
  result.exit_code = reader.getExitCode();
  result.signal = reader.getSignal();
  result.started_at = {reader.getStartedAt()};
  result.finished_at = {reader.getFinishedAt()};
  result.cpu_ms = reader.getCpuMs();
  result.peak_memory_kib = reader.getPeakMemoryKib();
  result.message = to_std_string(reader.getMessage());
  return result;
}

void encode(const TaskRecord& task, wire::TaskRecord::Builder builder) {
  builder.setState(wire_enum<wire::TaskState>(task.state));
  builder.setAttempt(task.attempt);
  builder.setFailures(task.failures);
  builder.setNode(task.node.value);
  builder.setCost(task.cost);
  builder.setStep(wire_enum<wire::GrantStep>(task.step));
  builder.setBeyondQuota(task.beyond_quota);
  builder.setGrantCycle(task.grant_cycle);
  builder.setGrantedAt(task.granted_at.microseconds);
  if (task.result) encode(*task.result, builder.initResult());
  builder.setLaunchFailures(task.launch_failures);
  builder.setLosses(task.losses);
  builder.setWaitsUntil(task.waits_until.microseconds);
  builder.setIncarnation(task.incarnation);
}

TaskRecord read(wire::TaskRecord::Reader reader) {
  TaskRecord task;
  task.state = checked_enum(reader.getState(), TaskState::cancelled, "state");
  task.attempt = reader.getAttempt();
  task.failures = reader.getFailures();
  task.node = NodeId{reader.getNode()};
  task.cost = reader.getCost();
  task.step = checked_enum(reader.getStep(), GrantStep::reserved, "step");
  task.beyond_quota = reader.getBeyondQuota();
  task.grant_cycle = reader.getGrantCycle();
  task.granted_at = {reader.getGrantedAt()};
  if (reader.hasResult()) task.result = read(reader.getResult());
  task.launch_failures = reader.getLaunchFailures();
  task.losses = reader.getLosses();
  task.waits_until = {reader.getWaitsUntil()};
  task.incarnation = reader.getIncarnation();
  return task;
}

void encode(const TaskCounts& counts, wire::TaskCounts::Builder builder) {
  builder.setTotal(counts.total);
  builder.setRunning(counts.running);
  builder.setSucceeded(counts.succeeded);
  builder.setFailed(counts.failed);
  builder.setCancelled(counts.cancelled);
}

TaskCounts read(wire::TaskCounts::Reader reader) {
  return {reader.getTotal(), reader.getRunning(), reader.getSucceeded(), reader.getFailed(),
          reader.getCancelled()};
}

void encode(const JobRecord& job, wire::JobRecord::Builder builder) {
  builder.setId(job.id.value);
  builder.setTenant(job.tenant.value);
  encode(job.spec, builder.initSpec());
  builder.setSubmittedAt(job.submitted_at.microseconds);
  builder.setStartedAt(job.started_at.microseconds);
  builder.setFinishedAt(job.finished_at.microseconds);
  encode(job.tasks, builder.initTasks());
  builder.setCancelled(job.cancelled);
  builder.setCancelReason(to_text(job.cancel_reason));
}

JobRecord read(wire::JobRecord::Reader reader) {
  JobRecord job;
  job.id = JobId{reader.getId()};
  job.tenant = TenantId{reader.getTenant()};
  job.spec = read(reader.getSpec());
  job.submitted_at = {reader.getSubmittedAt()};
  job.started_at = {reader.getStartedAt()};
  job.finished_at = {reader.getFinishedAt()};
  job.tasks = read(reader.getTasks());
  job.cancelled = reader.getCancelled();
  job.cancel_reason = to_std_string(reader.getCancelReason());
  return job;
}

// -- tenants and nodes

void encode(const RunAs& run_as, wire::RunAs::Builder builder) {
  builder.setUser(to_text(run_as.user));
  builder.setGroup(to_text(run_as.group));
  encode(run_as.groups, builder.initGroups(run_as.groups.size()));
}

RunAs read(wire::RunAs::Reader reader) {
  return {to_std_string(reader.getUser()), to_std_string(reader.getGroup()),
          read(reader.getGroups())};
}

void encode(const TenantSpec& spec, wire::TenantSpec::Builder builder) {
  builder.setName(to_text(spec.name));
  builder.setParent(to_text(spec.parent));
  builder.setWeight(spec.weight);
  encode(spec.min, builder.initMin(spec.min.size()));
  encode(spec.max, builder.initMax(spec.max.size()));
  builder.setQueue(wire_enum<wire::QueuePolicy>(spec.queue));
  builder.setRepayMillionths(spec.repay_millionths);
  builder.setMayLend(spec.may_lend);
  builder.setMayBorrow(spec.may_borrow);
  if (!spec.run_as.empty()) encode(spec.run_as, builder.initRunAs());
}

TenantSpec read(wire::TenantSpec::Reader reader) {
  TenantSpec spec;
  spec.name = to_std_string(reader.getName());
  spec.parent = to_std_string(reader.getParent());
  spec.weight = reader.getWeight();
  spec.min = read(reader.getMin());
  spec.max = read(reader.getMax());
  spec.queue = checked_enum(reader.getQueue(), QueuePolicy::priority, "queue");
  spec.repay_millionths = reader.getRepayMillionths();
  spec.may_lend = reader.getMayLend();
  spec.may_borrow = reader.getMayBorrow();
  spec.run_as = read(reader.getRunAs());
  return spec;
}

void encode(const TenantRecord& tenant, wire::TenantRecord::Builder builder) {
  builder.setId(tenant.id.value);
  encode(tenant.spec, builder.initSpec());
  builder.setGrantedUnitsTotal(tenant.granted_units_total);
  builder.setBorrowedTotal(tenant.borrowed_total);
  builder.setLentTotal(tenant.lent_total);
  builder.setCarry(tenant.carry);
}

TenantRecord read(wire::TenantRecord::Reader reader) {
  TenantRecord tenant;
  tenant.id = TenantId{reader.getId()};
  tenant.spec = read(reader.getSpec());
  tenant.granted_units_total = reader.getGrantedUnitsTotal();
  tenant.borrowed_total = reader.getBorrowedTotal();
  tenant.lent_total = reader.getLentTotal();
  tenant.carry = reader.getCarry();
  return tenant;
}

void encode(const NodeTraits& traits, wire::NodeTraits::Builder builder) {
  builder.setName(to_text(traits.name));
  builder.setSite(to_text(traits.site));
  encode(traits.labels, builder.initLabels(traits.labels.size()));
}

NodeTraits read(wire::NodeTraits::Reader reader) {
  return {to_std_string(reader.getName()), to_std_string(reader.getSite()),
          read(reader.getLabels())};
}

void encode(const NodeSpec& spec, wire::NodeSpec::Builder builder) {
  encode(spec.traits, builder.initTraits());
  encode(spec.capacity, builder.initCapacity(spec.capacity.size()));
  builder.setInstance(to_text(spec.instance));
  builder.setLimits(to_text(spec.limits));
  if (!spec.isolation.empty()) builder.setIsolation(to_text(spec.isolation));
}

NodeSpec read(wire::NodeSpec::Reader reader) {
  return {read(reader.getTraits()), read(reader.getCapacity()), to_std_string(reader.getInstance()),
          to_std_string(reader.getLimits()), to_std_string(reader.getIsolation())};
}

void encode(const NodeRecord& node, wire::NodeRecord::Builder builder) {
  builder.setId(node.id.value);
  encode(node.spec, builder.initSpec());
  builder.setDraining(node.draining);
  builder.setDrainReason(to_text(node.drain_reason));
  builder.setLost(node.lost);
  builder.setCredentialHash(hash_data(node.credential_hash));
  builder.setRunStarts(node.run.starts);
  builder.setRunId(to_text(node.run.id));
}

NodeRecord read(wire::NodeRecord::Reader reader) {
  NodeRecord node;
  node.id = NodeId{reader.getId()};
  node.spec = read(reader.getSpec());
  node.draining = reader.getDraining();
  node.drain_reason = to_std_string(reader.getDrainReason());
  node.lost = reader.getLost();
  node.credential_hash = read_hash(reader.getCredentialHash(), "credentialHash");
  node.run = {reader.getRunStarts(), to_std_string(reader.getRunId())};
  return node;
}

}  // namespace fairwater
