// The journal: each kind of record by its fields, and which member of the union it is.
#pragma once

#include "model/journal.hpp"
#include "schema/codec.hpp"
#include "schema/fields/field.hpp"

namespace fairwater::inline schema {

template <>
struct EnumLast<DealMode> {
  static constexpr DealMode value = DealMode::slots;
};

template <>
struct EnumLast<Accounting> {
  static constexpr Accounting value = Accounting::time;
};

template <>
struct EnumLast<Role> {
  static constexpr Role value = Role::join;
};

template <>
struct Fields<ResourceKind> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(name, Name);
    FAIRWATER_FIELD(granule, Granule);
    FAIRWATER_FIELD(units, Units);
  }
};

template <>
struct Fields<LeaseTerms> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(lease_ms, LeaseMs);
    FAIRWATER_FIELD(grace_ms, GraceMs);
    FAIRWATER_FIELD(older_until, OlderUntil);
    FAIRWATER_FIELD(ordinary_ms, OrdinaryMs);
    FAIRWATER_FIELD(ordinary_older_until, OrdinaryOlderUntil);
  }
};

template <>
struct Fields<DebtTerms> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(cap_part_ms, CapPartMs);
    FAIRWATER_FIELD(cap_unit_ms, CapUnitMs);
    FAIRWATER_FIELD(half_life_ms, HalfLifeMs);
  }
};

template <>
struct Fields<FailedLaunch> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(result, Result);
    FAIRWATER_FIELD(returned, Returned);
  }
};

template <>
struct Fields<ClusterCreated> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(cluster_id, ClusterId);
    FAIRWATER_FIELD(resources, Resources);
    FAIRWATER_FIELD(mode, Mode);
    FAIRWATER_FIELD(accounting, Accounting);
  }
};

template <>
struct Fields<CoordinatorStarted> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(epoch, Epoch);
    FAIRWATER_FIELD(version, Version);
    FAIRWATER_SPARSE_FIELD(lease, Lease);
    FAIRWATER_SPARSE_FIELD(debts, Debts);
    FAIRWATER_FIELD(counts_usage, CountsUsage);
  }
};

template <>
struct Fields<TenantsChanged> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tenants, Tenants);
    FAIRWATER_FIELD(position, Position);
  }
};

template <>
struct Fields<TenantRemoved> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(position, Position);
    FAIRWATER_FIELD(forgiven, Forgiven);
  }
};

template <>
struct Fields<TenantLeaves> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tenant, Tenant);
  }
};

template <>
struct Fields<TokenIssued> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(role, Role);
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(token_hash, TokenHash);
    FAIRWATER_SPARSE_FIELD(name, Name);
    FAIRWATER_FIELD(created_at, CreatedAt);
    FAIRWATER_FIELD(expires_at, ExpiresAt);
    FAIRWATER_SPARSE_FIELD(user, User);
  }
};

template <>
struct Fields<TokenRevoked> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(token_hash, TokenHash);
  }
};

template <>
struct Fields<SubmissionRequest> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(id, Id);
    FAIRWATER_FIELD(hash, Hash);
  }
};

template <>
struct Fields<JobSubmitted> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(id, Id);
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(spec, Spec);
    FAIRWATER_SPARSE_FIELD(request, Request);
  }
};

template <>
struct Fields<JobCancelled> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(id, Id);
    FAIRWATER_FIELD(reason, Reason);
  }
};

template <>
struct Fields<NodeChanged> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(node, Node);
  }
};

template <>
struct Fields<NodeAdmitted> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(node, Node);
    FAIRWATER_FIELD(spec, Spec);
    FAIRWATER_FIELD(credential_hash, CredentialHash);
    FAIRWATER_FIELD(run.starts, RunStarts);
    FAIRWATER_FIELD(run.id, RunId);
  }
};

template <>
struct Fields<NodeDrained> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(node, Node);
    FAIRWATER_FIELD(draining, Draining);
    FAIRWATER_FIELD(reason, Reason);
    FAIRWATER_FIELD(by_itself, ByItself);
    FAIRWATER_FIELD(deadline, Deadline);
    FAIRWATER_FIELD(begins, Begins);
  }
};

template <>
struct Fields<NodeLost> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(node, Node);
  }
};

template <>
struct Fields<NodeReturned> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(node, Node);
  }
};

template <>
struct Fields<NodeSuperseded> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(node, Node);
    FAIRWATER_FIELD(run.starts, RunStarts);
    FAIRWATER_FIELD(run.id, RunId);
  }
};

template <>
struct Fields<NodeRemoved> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(node, Node);
  }
};

template <>
struct Fields<ServiceRestart> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(task, Task);
    FAIRWATER_FIELD(in_ms, InMs);
  }
};

template <>
struct Fields<TasksFinished> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(node, Node);
    FAIRWATER_FIELD(results, Results);
    FAIRWATER_SPARSE_FIELD(restarts, Restarts);
  }
};

template <>
struct Fields<TasksRequeued> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(node, Node);
    FAIRWATER_FIELD(tasks, Tasks);
    FAIRWATER_FIELD(reason, Reason);
    FAIRWATER_FIELD(node_lost, NodeLost);
    FAIRWATER_SPARSE_FIELD(restarts, Restarts);
  }
};

template <>
struct Fields<Cycle> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(deals, Deals);
  }
};

template <>
struct Fields<TimeSettled> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(settlement.from_ms, FromMs);
    FAIRWATER_FIELD(settlement.until_ms, UntilMs);
    FAIRWATER_FIELD(settlement.lines, Lines);
    FAIRWATER_FIELD(settlement.resource, Resource);
    FAIRWATER_FIELD(settlement.half_life_ms, HalfLifeMs);
    FAIRWATER_FIELD(settlement.decay_ms, DecayMs);
  }
};

template <>
struct Fields<JobWindsDown> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(id, Id);
  }
};

template <>
struct Fields<GrowthLimited> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(id, Id);
    FAIRWATER_FIELD(limit, Limit);
  }
};

template <>
struct Fields<Reclaim> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(node, Node);
    FAIRWATER_FIELD(task, Task);
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(claimant, Claimant);
    FAIRWATER_FIELD(claimant_job, ClaimantJob);
    FAIRWATER_FIELD(preempted, Preempted);
  }
};

template <>
struct Fields<TasksReclaimed> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tasks, Tasks);
    FAIRWATER_FIELD(for_drain, ForDrain);
  }
};

template <>
struct Fields<CreditLine> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(extras, Extras);
    FAIRWATER_FIELD(unused, Unused);
    FAIRWATER_FIELD(change, Change);
  }
};

template <>
struct Fields<CreditsSettled> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(settlement.period_ms, PeriodMs);
    FAIRWATER_FIELD(settlement.lines, Lines);
  }
};

template <>
struct Fields<ForgivenDebt> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(creditor, Creditor);
    FAIRWATER_FIELD(units, Units);
  }
};

template <>
struct Fields<DebtForgiven> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(debtor, Debtor);
    FAIRWATER_FIELD(debts, Debts);
    FAIRWATER_FIELD(reason, Reason);
  }
};

template <>
struct Fields<AccountingChanged> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(unit_ms_per_unit, UnitMsPerUnit);
  }
};

template <>
struct Fields<LaunchesFailed> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(node, Node);
    FAIRWATER_FIELD(launches, Launches);
    FAIRWATER_SPARSE_FIELD(restarts, Restarts);
  }
};

template <>
struct Fields<LedgerTrusted> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(incarnation, Incarnation);
    FAIRWATER_FIELD(given_up, GivenUp);
    FAIRWATER_FIELD(skipped_jobs, SkippedJobs);
    FAIRWATER_FIELD(reason, Reason);
    FAIRWATER_FIELD(skipped_tenants, SkippedTenants);
    FAIRWATER_FIELD(skipped_nodes, SkippedNodes);
    FAIRWATER_FIELD(skipped_epochs, SkippedEpochs);
  }
};

template <>
struct Fields<TasksDisowned> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(node, Node);
    FAIRWATER_FIELD(results, Results);
  }
};

template <>
struct Fields<Checkpointed> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(number, Number);
    FAIRWATER_FIELD(state_hash, StateHash);
  }
};

/// One kind of record: its value type and its member of the union JournalRecord.body.
template <class Kind, class Init, class Is, class Get>
struct BodyMember {
  using Value = Kind;
  Init init;
  Is is;
  Get get;
};

template <class Value, class... Accessors>
constexpr auto make_body_member(Accessors... accessors) {
  return BodyMember<Value, Accessors...>{accessors...};
}

#define FAIRWATER_BODY(Kind)                                                     \
  visit(make_body_member<Kind>([](auto& body) { return body.init##Kind(); },     \
                               [](const auto& body) { return body.is##Kind(); }, \
                               [](const auto& body) { return body.get##Kind(); }))

/// Every kind of record.
template <class Visit>
constexpr void each_body(Visit&& visit) {
  FAIRWATER_BODY(ClusterCreated);
  FAIRWATER_BODY(CoordinatorStarted);
  FAIRWATER_BODY(TenantsChanged);
  FAIRWATER_BODY(TenantRemoved);
  FAIRWATER_BODY(TokenIssued);
  FAIRWATER_BODY(TokenRevoked);
  FAIRWATER_BODY(JobSubmitted);
  FAIRWATER_BODY(JobCancelled);
  FAIRWATER_BODY(NodeChanged);
  FAIRWATER_BODY(NodeAdmitted);
  FAIRWATER_BODY(NodeDrained);
  FAIRWATER_BODY(NodeLost);
  FAIRWATER_BODY(NodeReturned);
  FAIRWATER_BODY(NodeSuperseded);
  FAIRWATER_BODY(NodeRemoved);
  FAIRWATER_BODY(TasksFinished);
  FAIRWATER_BODY(TasksRequeued);
  FAIRWATER_BODY(Cycle);
  FAIRWATER_BODY(LaunchesFailed);
  FAIRWATER_BODY(LedgerTrusted);
  FAIRWATER_BODY(TimeSettled);
  FAIRWATER_BODY(DebtForgiven);
  FAIRWATER_BODY(AccountingChanged);
  FAIRWATER_BODY(TasksReclaimed);
  FAIRWATER_BODY(CreditsSettled);
  FAIRWATER_BODY(JobWindsDown);
  FAIRWATER_BODY(TasksDisowned);
  FAIRWATER_BODY(Checkpointed);
  FAIRWATER_BODY(GrowthLimited);
  FAIRWATER_BODY(TenantLeaves);
}
#undef FAIRWATER_BODY

template <>
struct Fields<JournalRecord> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(number, Number);
    FAIRWATER_FIELD(time, Time);
    FAIRWATER_FIELD(previous, Previous);
  }
  static constexpr std::size_t kUnlistedMembers = 1;  // body
  static void put_rest(const JournalRecord& record, wire::JournalRecord::Builder builder);
  static void take_rest(JournalRecord& record, wire::JournalRecord::Reader reader);
};

}  // namespace fairwater::inline schema
