#include "tests/gateway/samples.hpp"

#include <algorithm>
#include <tuple>

namespace fairwater::test {
namespace {

TaskKey key(std::uint64_t job, std::uint32_t index) { return {JobId{job}, index, 2, 3}; }

NameTable sample_names() {
  return {{{TenantId{3}, "physics"}}, {{NodeId{4}, "node-4"}}, {"cpu", "memory"}};
}

TaskInfo sample_task() {
  TaskInfo task;
  task.index = 5;
  task.node = "node-4";
  task.record.state = TaskState::running;
  task.record.attempt = 2;
  task.record.failures = 1;
  task.record.node = NodeId{4};
  task.record.cost = 12;
  task.record.step = GrantStep::backfill;
  task.record.beyond_quota = true;
  task.record.grant_cycle = 99;
  task.record.granted_at = WallTime{123};
  task.record.result = sample_result();
  return task;
}

Deal sample_deal() {
  Deal deal;
  deal.node = NodeId{4};
  deal.free_units = 20;
  deal.unused = 3;
  deal.position_before = 7;
  deal.position_after = 24;
  deal.repayments = {{TenantId{1}, TenantId{2}, 5}};
  deal.loans = {{TenantId{2}, TenantId{3}, 6}};
  return deal;
}

bool same(const NameTable& a, const NameTable& b) {
  return std::tie(a.tenants, a.nodes, a.resources) == std::tie(b.tenants, b.nodes, b.resources);
}

bool same(const TaskInfo& a, const TaskInfo& b) {
  return std::tie(a.index, a.record, a.node) == std::tie(b.index, b.record, b.node);
}

bool same(const Obstacle& a, const Obstacle& b) {
  return std::tie(a.code, a.message) == std::tie(b.code, b.message);
}

template <class Value>
bool all_same(const std::vector<Value>& a, const std::vector<Value>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Value& x, const Value& y) { return same(x, y); });
}

}  // namespace

JobSpec sample_spec() {
  JobSpec spec;
  spec.tenant = "physics";
  spec.name = "render";
  spec.job_class = "blender";
  spec.command = {"sh", "-c", "echo \"ä\" $FAIRWATER_TASK_INDEX"};
  spec.environment = {{"A", "1"}, {"EMPTY", ""}};
  spec.directory = "/tmp";
  spec.tasks_min = 2;
  spec.tasks_max = 8;
  spec.resources = {{"cpu", 1500}, {"memory", 512}};
  spec.kind = JobKind::service;
  spec.priority = -3;
  spec.gang = true;
  spec.labels = "ssd && zone in (a, b)";
  spec.sites = {"north", "south"};
  spec.devices = {"gpu0"};
  spec.time_limit_ms = 60'000;
  spec.grace_ms = 250;
  spec.retries = 3;
  spec.after = {JobId{41}, JobId{1ull << 60}};
  spec.preemptible = false;
  return spec;
}

JobRecord sample_job() {
  JobRecord job;
  job.id = JobId{42};
  job.tenant = TenantId{3};
  job.spec = sample_spec();
  job.submitted_at = WallTime{1};
  job.started_at = WallTime{2};
  job.finished_at = WallTime{3};
  job.tasks = {8, 1, 2, 3, 1};
  job.cancelled = true;
  job.cancel_reason = "no need";
  return job;
}

TaskResult sample_result() {
  return {key(42, 5), EndReason::memory_limit, 137, 9, WallTime{10}, WallTime{20}, 1234, 4096,
          "too large"};
}

TenantRecord sample_tenant() {
  TenantRecord tenant;
  tenant.id = TenantId{3};
  tenant.spec.name = "physics";
  tenant.spec.parent = "science";
  tenant.spec.weight = 5;
  tenant.spec.min = {{"cpu", 4000}};
  tenant.spec.max = {{"cpu", 64'000}};
  tenant.spec.queue = QueuePolicy::priority;
  tenant.spec.repay_millionths = 500'000;
  tenant.spec.may_lend = false;
  tenant.spec.may_borrow = false;
  tenant.spec.run_as = {"alice", "staff", {"gpu"}};
  tenant.granted_units_total = 1;
  tenant.borrowed_total = 2;
  tenant.lent_total = 3;
  tenant.carry = -4;
  return tenant;
}

NodeSpec sample_node_spec() {
  return {
      {"node-4", "north", {{"ssd", "true"}}}, {{"cpu", 8000}}, "instance-1", "cgroup_v1", "root"};
}

AgentReport sample_report() {
  return {{key(42, 6), key(43, 0)}, {sample_result()}, {{"cpu", 8000}}};
}

AgentIdentity sample_identity() {
  AgentIdentity identity{{"cluster_7", {2, 98, Hash{}}}, {5, "run"}, true};
  identity.memory.seen.hash->fill(0x5a);
  return identity;
}

ReportReply sample_reply() {
  ReportReply reply{{key(42, 5)}, {2, 97, Hash{}}, 30'000, 500};
  reply.committed.hash->fill(0x17);
  return reply;
}

LedgerStanding sample_standing() {
  LedgerStanding standing;
  standing.trusted = false;
  standing.why = "nodes have seen more";
  standing.end = sample_reply().committed;
  standing.copied = true;
  standing.awaited = {"node-5", "node-6"};
  standing.doubts = {{"node-4", sample_identity().memory.seen, "has seen cycle 98", WallTime{7}},
                     {"node-7", {0, 99, {}}, "has seen cycle 99", WallTime{8}}};
  return standing;
}

bool same(const LedgerStanding& a, const LedgerStanding& b) {
  const auto parts = [](const LedgerDoubt& doubt) {
    return std::tie(doubt.node, doubt.seen, doubt.reason, doubt.since);
  };
  return std::tie(a.trusted, a.why, a.end, a.copied, a.awaited) ==
             std::tie(b.trusted, b.why, b.end, b.copied, b.awaited) &&
         std::equal(a.doubts.begin(), a.doubts.end(), b.doubts.begin(), b.doubts.end(),
                    [&](const auto& x, const auto& y) { return parts(x) == parts(y); });
}

AgentOrders sample_orders() {
  LaunchOrder launch;
  launch.task = key(42, 7);
  launch.epoch = 6;
  launch.task_count = 8;
  launch.command = {"sleep", "1"};
  launch.environment = {{"A", "1"}};
  launch.directory = "/tmp";
  launch.limits = {{"memory", 512}};
  launch.time_limit_ms = 1000;
  launch.grace_ms = 10;
  launch.tenant = TenantId{3};
  launch.run_as = {"alice", "staff", {"gpu"}};
  return {{launch}, {{key(42, 6), 6}}};
}

ClusterStatus sample_status() {
  return {"c-1",           "0.1.0",        6,        99, 7, false, "no room", 3, 2, 4, 10, 20,
          {{"cpu", 8000}}, {{"cpu", 100}}, "a block"};
}

TokenInfo sample_token() {
  return {"0123456789ab", "alice", Role::operator_role, "physics", {1}, {2}, {3}};
}

TenantInfo sample_tenant_info() {
  return {sample_tenant(), {{"cpu", 1}}, {{"cpu", 2}}, {{"cpu", 3}}, 4, 5, -6};
}

TenantChange sample_change() { return {"physics", ChangeKind::changed, {"weight: 3 -> 5"}}; }

NodeInfo sample_node_info() {
  NodeInfo node;
  node.record = {NodeId{4}, sample_node_spec(), true, "repair", true, {}, {}};
  node.record.credential_hash.fill(0xab);
  node.state = NodeState::draining;
  node.capacity = {{"cpu", 8000}};
  node.free = {{"cpu", 7000}};
  node.running_tasks = 9;
  node.record.run = {5, "run"};
  node.last_heartbeat = WallTime{55};
  node.problem = "a second agent";
  return node;
}

JobDetail sample_detail() { return {sample_job(), {sample_task()}}; }

Explanation sample_explanation() {
  return {sample_job(), sample_task(), {{"quota", "at its quota"}, {"share", "spent"}},
          99,           sample_deal(), sample_names()};
}

LedgerView sample_ledger() {
  return {.cycle = 99,
          .position = 7,
          .tenants = {sample_tenant()},
          .counterparties = {{TenantId{4}, "biology"}},
          .net = {{TenantId{3}, -6}, {TenantId{4}, 6}},
          .ious = {{3, 4, 6, 1}}};
}

JournalPage sample_page() {
  JournalRecord record;
  record.number = 99;
  record.time = WallTime{5};
  record.previous.fill(0xcd);
  record.body = Cycle{{sample_deal()}};
  return {{record}, sample_names()};
}

VerifyReport sample_verification() { return {true, 99, 1, {"balances: 3 differs"}}; }

bool same(const AgentReport& a, const AgentReport& b) {
  return std::tie(a.running, a.finished, a.capacity) == std::tie(b.running, b.finished, b.capacity);
}

bool same(const ReportReply& a, const ReportReply& b) {
  return std::tie(a.acknowledged, a.committed, a.lease_ms, a.heartbeat_interval_ms) ==
         std::tie(b.acknowledged, b.committed, b.lease_ms, b.heartbeat_interval_ms);
}

bool same(const AgentOrders& a, const AgentOrders& b) {
  return std::tie(a.launches, a.stops) == std::tie(b.launches, b.stops);
}

bool same(const ClusterStatus& a, const ClusterStatus& b) {
  const auto members = [](const ClusterStatus& s) {
    return std::tie(s.cluster_id, s.version, s.epoch, s.cycle, s.position, s.granting,
                    s.why_not_granting, s.tenants, s.nodes_up, s.nodes, s.tasks_running,
                    s.tasks_pending, s.capacity, s.used, s.storage_damage);
  };
  return members(a) == members(b);
}

bool same(const TenantInfo& a, const TenantInfo& b) {
  const auto members = [](const TenantInfo& t) {
    return std::tie(t.record, t.request, t.runtime_quota, t.used, t.pending_tasks, t.running_tasks,
                    t.net);
  };
  return members(a) == members(b);
}

bool same(const TenantChange& a, const TenantChange& b) {
  return std::tie(a.name, a.kind, a.fields) == std::tie(b.name, b.kind, b.fields);
}

bool same(const NodeInfo& a, const NodeInfo& b) {
  const auto members = [](const NodeInfo& n) {
    return std::tie(n.record, n.state, n.capacity, n.free, n.running_tasks, n.last_heartbeat);
  };
  return members(a) == members(b);
}

bool same(const JobDetail& a, const JobDetail& b) {
  return a.job == b.job && all_same(a.tasks, b.tasks);
}

bool same(const Explanation& a, const Explanation& b) {
  return a.job == b.job && same(a.task, b.task) && all_same(a.obstacles, b.obstacles) &&
         a.grant_cycle == b.grant_cycle && a.deal == b.deal && same(a.names, b.names);
}

bool same(const LedgerView& a, const LedgerView& b) {
  return std::tie(a.cycle, a.position, a.tenants, a.counterparties, a.net, a.ious) ==
         std::tie(b.cycle, b.position, b.tenants, b.counterparties, b.net, b.ious);
}

bool same(const JournalPage& a, const JournalPage& b) {
  return a.records == b.records && same(a.names, b.names);
}

bool same(const VerifyReport& a, const VerifyReport& b) {
  return std::tie(a.ok, a.records, a.net_sum, a.differences) ==
         std::tie(b.ok, b.records, b.net_sum, b.differences);
}

}  // namespace fairwater::test
