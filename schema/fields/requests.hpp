// What clients ask for and get.
#pragma once

#include "model/backup.hpp"
#include "model/profile.hpp"
#include "model/requests.hpp"
#include "model/usage.hpp"
#include "schema/codec.hpp"
#include "schema/control.capnp.h"
#include "schema/fields/convert.hpp"
#include "schema/fields/usage.hpp"

namespace fairwater::inline schema {

template <>
struct EnumLast<CreditAdvice> {
  static constexpr CreditAdvice value = kLastCreditAdvice;
};

template <>
struct EnumLast<ChangeKind> {
  static constexpr ChangeKind value = ChangeKind::removed;
};

template <>
struct EnumLast<NodeState> {
  static constexpr NodeState value = NodeState::down;
};

template <>
struct EntryFields<wire::IdName> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(first, Id);
    FAIRWATER_FIELD(second, Name);
  }
  template <class Id>
  [[noreturn]] static void refuse_repeated(const std::string&, Id id) {
    throw MalformedRecord("id", "the id " + std::to_string(id.value) + " is named twice");
  }
};

template <>
struct EntryFields<wire::TenantNet> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(first, Tenant);
    FAIRWATER_FIELD(second, Units);
  }
  [[noreturn]] static void refuse_repeated(const std::string&, TenantId tenant) {
    throw MalformedRecord("net", "tenant " + std::to_string(tenant.value) + " has two nets");
  }
};

template <>
struct Fields<ClusterStatus> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(cluster_id, ClusterId);
    FAIRWATER_FIELD(version, Version);
    FAIRWATER_FIELD(epoch, Epoch);
    FAIRWATER_FIELD(cycle, Cycle);
    FAIRWATER_FIELD(position, Position);
    FAIRWATER_FIELD(granting, Granting);
    FAIRWATER_FIELD(why_not_granting, WhyNotGranting);
    FAIRWATER_FIELD(tenants, Tenants);
    FAIRWATER_FIELD(nodes_up, NodesUp);
    FAIRWATER_FIELD(nodes, Nodes);
    FAIRWATER_FIELD(tasks_running, TasksRunning);
    FAIRWATER_FIELD(tasks_pending, TasksPending);
    FAIRWATER_FIELD(capacity, Capacity);
    FAIRWATER_FIELD(used, Used);
    FAIRWATER_FIELD(storage_damage, StorageDamage);
    FAIRWATER_FIELD(leader, Leader);
    FAIRWATER_FIELD(replicas, Replicas);
    FAIRWATER_FIELD(history, History);
    FAIRWATER_FIELD(rules, Rules);
  }
};

template <>
struct EnumLast<AllocationRule> {
  static constexpr AllocationRule value = AllocationRule::drf;
};
template <>
struct EnumLast<GrowthRule> {
  static constexpr GrowthRule value = kLastGrowthRule;
};
template <>
struct EnumLast<Predict> {
  static constexpr Predict value = Predict::history;
};

template <>
struct Fields<DealingRules> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(allocation, Allocation);
    FAIRWATER_FIELD(elastic, Elastic);
    FAIRWATER_FIELD(predict, Predict);
    FAIRWATER_FIELD(preempt_after_ms, PreemptAfterMs);
    FAIRWATER_FIELD(preempts_for_min, PreemptsForMin);
  }
};

template <>
struct Fields<HistoryStanding> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(files, Files);
    FAIRWATER_FIELD(bytes, Bytes);
    FAIRWATER_FIELD(first, First);
    FAIRWATER_FIELD(last, Last);
    FAIRWATER_FIELD(checkpoint, Checkpoint);
    FAIRWATER_FIELD(cut_at, CutAt);
    FAIRWATER_FIELD(failure, Failure);
  }
};

template <>
struct Fields<ReplicaInfo> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(name, Name);
    FAIRWATER_FIELD(address, Address);
    FAIRWATER_FIELD(cycle, Cycle);
    FAIRWATER_FIELD(version, Version);
    FAIRWATER_FIELD(heard, Heard);
    FAIRWATER_FIELD(silent_ms, SilentMs);
  }
};

template <>
struct Fields<LedgerDoubt> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(node, Node);
    FAIRWATER_FIELD(seen.number, Cycle);
    FAIRWATER_FIELD(seen.hash, Hash);
    FAIRWATER_FIELD(seen.incarnation, Incarnation);
    FAIRWATER_FIELD(reason, Reason);
    FAIRWATER_FIELD(since, Since);
  }
};

template <>
struct Fields<LedgerStanding> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(trusted, Trusted);
    FAIRWATER_FIELD(why, Why);
    FAIRWATER_FIELD(end.number, Cycle);
    FAIRWATER_FIELD(end.hash, Hash);
    FAIRWATER_FIELD(end.incarnation, Incarnation);
    FAIRWATER_FIELD(copied, Copied);
    FAIRWATER_FIELD(awaited, Awaited);
    FAIRWATER_FIELD(doubts, Doubts);
  }
};

template <>
struct Fields<LedgerMeasure> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(accounting, Accounting);
    FAIRWATER_FIELD(millicores_per_unit, MillicoresPerUnit);
  }
};

template <>
struct Fields<TenantInfo> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(record, Record);
    FAIRWATER_FIELD(request, Request);
    FAIRWATER_FIELD(runtime_quota, RuntimeQuota);
    FAIRWATER_FIELD(used, Used);
    FAIRWATER_FIELD(pending_tasks, PendingTasks);
    FAIRWATER_FIELD(running_tasks, RunningTasks);
    FAIRWATER_FIELD(net, Net);
    FAIRWATER_FIELD(measure, Measure);
    FAIRWATER_FIELD(credit_advice, CreditAdvice);
    FAIRWATER_FIELD(guaranteed, Guaranteed);
  }
};

template <>
struct Fields<TenantChange> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(name, Name);
    FAIRWATER_FIELD(kind, Kind);
    FAIRWATER_FIELD(fields, Fields);
  }
};

template <>
struct Fields<TokenInfo> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(id, Id);
    FAIRWATER_FIELD(name, Name);
    FAIRWATER_FIELD(role, Role);
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(created_at, CreatedAt);
    FAIRWATER_FIELD(expires_at, ExpiresAt);
    FAIRWATER_FIELD(last_used, LastUsed);
    FAIRWATER_FIELD(user, User);
  }
};

template <>
struct Fields<DeviceState> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(name, Name);
    FAIRWATER_FIELD(resource, Resource);
    FAIRWATER_FIELD(held, Held);
    FAIRWATER_FIELD(task, Task);
    FAIRWATER_FIELD(share, Share);
  }
};

template <>
struct Fields<NodeInfo> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(record, Record);
    FAIRWATER_FIELD(state, State);
    FAIRWATER_FIELD(capacity, Capacity);
    FAIRWATER_FIELD(free, Free);
    FAIRWATER_FIELD(running_tasks, RunningTasks);
    FAIRWATER_FIELD(last_heartbeat, LastHeartbeat);
    FAIRWATER_FIELD(problem, Problem);
    FAIRWATER_FIELD(devices, Devices);
  }
};

template <>
struct Fields<JobQuery> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(limit, Limit);
    FAIRWATER_FIELD(before, Before);
    FAIRWATER_FIELD(user, User);
  }
  static constexpr std::size_t kUnlistedMembers = 1;  // state
  static void put_rest(const JobQuery& query, wire::JobQuery::Builder builder);
  static void take_rest(JobQuery& query, wire::JobQuery::Reader reader);
};

template <>
struct EnumLast<UsagePeriod> {
  static constexpr UsagePeriod value = kLastUsagePeriod;
};

template <>
struct Fields<UsageGroup> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(day, Day);
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(user, User);
  }
};

template <>
struct Fields<UsageQuery> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(first_day, FirstDay);
    FAIRWATER_FIELD(last_day, LastDay);
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(user, User);
    FAIRWATER_FIELD(period, Period);
    FAIRWATER_FIELD(by_tenant, ByTenant);
    FAIRWATER_FIELD(by_user, ByUser);
    FAIRWATER_FIELD(after, After);
  }
};

template <>
struct Fields<UsageRow> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(group, Group);
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(usage, Usage);
  }
};

template <>
struct Fields<TaskInfo> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(index, Index);
    FAIRWATER_FIELD(record, Record);
    FAIRWATER_FIELD(node, Node);
  }
};

template <>
struct Fields<ClassRun> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(job, Job);
    FAIRWATER_FIELD(index, Index);
    FAIRWATER_FIELD(reason, Reason);
    FAIRWATER_FIELD(exit_code, ExitCode);
    FAIRWATER_FIELD(run_ms, RunMs);
    FAIRWATER_FIELD(cpu_ms, CpuMs);
    FAIRWATER_FIELD(peak_memory_kib, PeakMemoryKib);
  }
};

template <>
struct Fields<ClassAmounts> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(resources, Resources);
    FAIRWATER_FIELD(runs, Runs);
    FAIRWATER_FIELD(unfinished, Unfinished);
  }
};

template <>
struct Fields<ClassProfile> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(job_class, JobClass);
    FAIRWATER_FIELD(amounts, Amounts);
    FAIRWATER_FIELD(more, More);
  }
};

template <>
struct Fields<JobDetail> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(job, Job);
    FAIRWATER_FIELD(tasks, Tasks);
    FAIRWATER_FIELD(more, More);
    FAIRWATER_FIELD(expected_start, ExpectedStart);
  }
};

template <>
struct Fields<IouBook::Iou> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(debtor, Debtor);
    FAIRWATER_FIELD(creditor, Creditor);
    FAIRWATER_FIELD(units, Units);
    FAIRWATER_FIELD(age, Age);
  }
  static constexpr std::size_t kUnlistedMembers = 1;  // the rest, which is nobody's yet
};

template <>
struct Fields<LedgerView> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(cycle, Cycle);
    FAIRWATER_FIELD(position, Position);
    FAIRWATER_PEER_LIST(tenants, Tenants, 1);
    FAIRWATER_FIELD(net, Net);
    FAIRWATER_FIELD(ious, Ious);
    FAIRWATER_FIELD(more, More);
    FAIRWATER_FIELD(counterparties, Counterparties);
    FAIRWATER_FIELD(measure, Measure);
    FAIRWATER_FIELD(counts_time_since, CountsTimeSince);
    FAIRWATER_FIELD(unit_ms_per_unit, UnitMsPerUnit);
  }
};

template <>
struct Fields<NameTable> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tenants, Tenants);
    FAIRWATER_FIELD(nodes, Nodes);
    FAIRWATER_FIELD(resources, Resources);
  }
};

template <>
struct Fields<JournalPage> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_PEER_LIST(records, Records, 1);
    FAIRWATER_FIELD(names, Names);
  }
};

template <>
struct Fields<Obstacle> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(code, Code);
    FAIRWATER_FIELD(message, Message);
  }
};

template <>
struct EnumLast<PredictionSource> {
  static constexpr PredictionSource value = PredictionSource::limit;
};

template <>
struct Fields<MarkMove> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(other, Other);
    FAIRWATER_FIELD(owed, Owed);
    FAIRWATER_FIELD(debtor_owes, DebtorOwes);
    FAIRWATER_FIELD(debtor_part, DebtorPart);
    FAIRWATER_FIELD(repay_millionths, RepayMillionths);
    FAIRWATER_FIELD(due, Due);
    FAIRWATER_FIELD(moved, Moved);
    FAIRWATER_FIELD(kept_for_min, KeptForMin);
  }
};

template <>
struct Fields<NextTask> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(job, Job);
    FAIRWATER_FIELD(index, Index);
    FAIRWATER_FIELD(cost, Cost);
    FAIRWATER_FIELD(expected_ms, ExpectedMs);
    FAIRWATER_FIELD(expected_from, ExpectedFrom);
    FAIRWATER_FIELD(is_covered, IsCovered);
  }
};

template <>
struct Fields<ExplainedMark> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(resource, Resource);
    FAIRWATER_FIELD(held, Held);
    FAIRWATER_FIELD(part, Part);
    FAIRWATER_FIELD(base, Base);
    FAIRWATER_FIELD(mark, Mark);
    FAIRWATER_FIELD(net, Net);
    FAIRWATER_FIELD(moves, Moves);
    FAIRWATER_FIELD(next, Next);
  }
};

template <>
struct Fields<Explanation> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(job, Job);
    FAIRWATER_FIELD(task, Task);
    FAIRWATER_FIELD(obstacles, Obstacles);
    FAIRWATER_FIELD(grant_cycle, GrantCycle);
    FAIRWATER_FIELD(deal, Deal);
    FAIRWATER_FIELD(names, Names);
    FAIRWATER_FIELD(mark, Mark);
    FAIRWATER_FIELD(measure, Measure);
    FAIRWATER_FIELD(expected_start, ExpectedStart);
  }
};

template <>
struct Fields<VerifyReport> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(ok, Ok);
    FAIRWATER_FIELD(records, Records);
    FAIRWATER_FIELD(net_sum, NetSum);
    FAIRWATER_FIELD(differences, Differences);
    FAIRWATER_FIELD(begins_after, BeginsAfter);
    FAIRWATER_FIELD(end.number, LastCycle);
    FAIRWATER_FIELD(end.hash, LastHash);
    FAIRWATER_FIELD(end.incarnation, Incarnation);
  }
};

template <>
struct Fields<LedgerBackup> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(manifest.cluster_id, ClusterId);
    FAIRWATER_FIELD(manifest.end.number, Cycle);
    FAIRWATER_FIELD(manifest.end.hash, Hash);
    FAIRWATER_FIELD(manifest.end.incarnation, Incarnation);
    FAIRWATER_FIELD(manifest.recorded, Recorded);
    FAIRWATER_FIELD(manifest.made, Made);
    FAIRWATER_FIELD(bytes, Bytes);
    FAIRWATER_FIELD(took_ms, TookMs);
  }
};

}  // namespace fairwater::inline schema
