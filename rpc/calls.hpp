// The calls of model/calls.hpp on the wire: the fields of each request, which are its parameters,
// and of each answer, which are its results.
#pragma once

#include "model/calls.hpp"
#include "rpc/wire.hpp"
#include "schema/fields/agent.hpp"
#include "schema/fields/cluster.hpp"
#include "schema/fields/deal.hpp"
#include "schema/fields/job.hpp"
#include "schema/fields/journal.hpp"
#include "schema/fields/requests.hpp"

namespace fairwater::inline schema {

// -- requests; the caller is known by the connection

template <>
struct Fields<GetStatus> {
  template <class Visit>
  static constexpr void each(Visit&&) {}
};

template <>
struct Fields<GetFreshness> {
  template <class Visit>
  static constexpr void each(Visit&&) {}
};

template <>
struct Fields<ListTenants> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(after, After);
  }
};

template <>
struct Fields<ListNodes> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(after, After);
  }
};

template <>
struct Fields<SubmitJob> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(spec, Spec);
    FAIRWATER_SPARSE_FIELD(request_id, RequestId);
  }
};

template <>
struct Fields<ListJobs> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(query, Query);
  }
};

template <>
struct Fields<ShowJob> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(id, Id);
    FAIRWATER_FIELD(first_task, FirstTask);
  }
};

template <>
struct Fields<CancelJob> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(id, Id);
    FAIRWATER_FIELD(reason, Reason);
  }
};

template <>
struct Fields<WaitJob> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(id, Id);
    FAIRWATER_FIELD(wait_ms, TimeoutMs);
  }
};

template <>
struct Fields<ExplainTask> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(id, Id);
    FAIRWATER_FIELD(index, Index);
  }
};

template <>
struct Fields<ReadLog> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(id, Id);
    FAIRWATER_FIELD(index, Index);
    FAIRWATER_FIELD(standard_error, StandardError);
    FAIRWATER_FIELD(offset, Offset);
  }
};

template <>
struct Fields<ShowLedger> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(after.tenant, AfterTenant);
    FAIRWATER_FIELD(after.debtor, AfterDebtor);
    FAIRWATER_FIELD(after.creditor, AfterCreditor);
  }
};

template <>
struct Fields<ShowProfile> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(job_class, JobClass);
  }
};

template <>
struct Fields<QueryUsage> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(query, Query);
  }
};

template <>
struct Fields<ApplyTenants> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_PEER_LIST(specs, Specs, 1);
    FAIRWATER_FIELD(dry_run, DryRun);
  }
};

template <>
struct Fields<RemoveTenant> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(name, Name);
  }
};

template <>
struct Fields<CreateToken> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(wanted.role, Role);
    FAIRWATER_FIELD(wanted.tenant, Tenant);
    FAIRWATER_FIELD(wanted.name, Name);
    FAIRWATER_FIELD(wanted.lifetime_ms, LifetimeMs);
    FAIRWATER_FIELD(wanted.user, User);
  }
  static constexpr std::size_t kUnlistedMembers = 1;  // the hash, which the edge makes
};

template <>
struct Fields<ListTokens> {
  template <class Visit>
  static constexpr void each(Visit&&) {}
};

template <>
struct Fields<RevokeToken> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(token, Token);
  }
};

template <>
struct Fields<RemoveNode> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(name, Name);
  }
};

template <>
struct Fields<PlanDrain> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(name, Name);
    FAIRWATER_FIELD(reason, Reason);
    FAIRWATER_FIELD(begins, Begins);
    FAIRWATER_FIELD(deadline_ms, DeadlineMs);
  }
};

template <>
struct Fields<DrainNode> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(name, Name);
    FAIRWATER_FIELD(reason, Reason);
    FAIRWATER_FIELD(drain, Drain);
    FAIRWATER_FIELD(deadline_ms, DeadlineMs);
  }
};

template <>
struct Fields<ReadJournal> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(since, Since);
    FAIRWATER_FIELD(limit, Limit);
    FAIRWATER_FIELD(wait_ms, WaitMs);
  }
};

template <>
struct Fields<VerifyLedger> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(with_archive, WithArchive);
  }
};

template <>
struct Fields<BackupLedger> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(directory, Directory);
  }
};

template <>
struct Fields<HandOver> {
  template <class Visit>
  static constexpr void each(Visit&&) {}
};

template <>
struct Fields<ShowStanding> {
  template <class Visit>
  static constexpr void each(Visit&&) {}
};

template <>
struct Fields<TrustLedger> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(reason, Reason);
  }
};

template <>
struct Fields<ForgiveDebt> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(debtor, Debtor);
    FAIRWATER_FIELD(creditor, Creditor);
    FAIRWATER_FIELD(amount, Amount);
    FAIRWATER_FIELD(reason, Reason);
    FAIRWATER_FIELD(dry_run, DryRun);
  }
};

// -- answers whose fields are the results

template <>
struct Fields<Freshness> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(follower, Follower);
    FAIRWATER_FIELD(age_ms, AgeMs);
  }
};

template <>
struct Fields<TenantList> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_PEER_LIST(tenants, Tenants, 1);
    FAIRWATER_FIELD(more, More);
  }
};

template <>
struct Fields<NodeList> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_PEER_LIST(nodes, Nodes, 1);
    FAIRWATER_FIELD(more, More);
  }
};

template <>
struct Fields<JobAccepted> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(id, Id);
  }
};

template <>
struct Fields<JobList> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_PEER_LIST(jobs, Jobs, 1);
    FAIRWATER_FIELD(more, More);
  }
};

template <>
struct Fields<UsageList> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_PEER_LIST(rows, Rows, 1);
    FAIRWATER_FIELD(more, More);
  }
};

template <>
struct Fields<TenantsApplied> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_PEER_LIST(changes, Changes, 1);
  }
};

template <>
struct Fields<TenantDeparture> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(leaving, Leaving);
  }
};

template <>
struct Fields<ForgivenShare> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(creditor, Creditor);
    FAIRWATER_FIELD(units, Units);
  }
};

template <>
struct Fields<DebtsForgiven> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_PEER_LIST(shares, Shares, 1);
    FAIRWATER_FIELD(left, Left);
    FAIRWATER_FIELD(measure, Measure);
  }
};

template <>
struct Fields<TokenList> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_PEER_LIST(tokens, Tokens, 1);
  }
};

template <>
struct Fields<MadeToken> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(token, Token);
    FAIRWATER_FIELD(info, Info);
  }
};

}  // namespace fairwater::inline schema

namespace fairwater::inline rpc {

// -- answers that are one of the results

/// Which result holds what the client is told.
template <class Request>
struct AnswerField;

#define FAIRWATER_ANSWER(Request, Name)                                                     \
  template <>                                                                               \
  struct AnswerField<Request> {                                                             \
    static void put(const ShownOf<Request>& answer, auto& results) {                        \
      encode(answer, results.init##Name());                                                 \
    }                                                                                       \
    static ShownOf<Request> take(const auto& results) { return read(results.get##Name()); } \
  }
FAIRWATER_ANSWER(GetStatus, Status);
FAIRWATER_ANSWER(ShowJob, Detail);
FAIRWATER_ANSWER(WaitJob, Job);
FAIRWATER_ANSWER(ExplainTask, Explanation);
FAIRWATER_ANSWER(ReadLog, Chunk);
FAIRWATER_ANSWER(ShowLedger, Ledger);
FAIRWATER_ANSWER(ShowProfile, Profile);
FAIRWATER_ANSWER(RevokeToken, Info);
FAIRWATER_ANSWER(ReadJournal, Page);
FAIRWATER_ANSWER(VerifyLedger, Report);
FAIRWATER_ANSWER(BackupLedger, Backup);
FAIRWATER_ANSWER(ShowStanding, Standing);
#undef FAIRWATER_ANSWER

template <class Request, class Results>
void put_answer(const ShownOf<Request>& answer, Results results) {
  if constexpr (requires { sizeof(AnswerField<Request>); })
    AnswerField<Request>::put(answer, results);
  else if constexpr (!std::is_same_v<ShownOf<Request>, Done>)
    encode_fields(answer, results);
}

/// Throws as read() does.
template <class Request, class Results>
[[nodiscard]] ShownOf<Request> take_answer(const Results& results) {
  if constexpr (requires { sizeof(AnswerField<Request>); })
    return AnswerField<Request>::take(results);
  else if constexpr (std::is_same_v<ShownOf<Request>, Done>)
    return Done{};
  else
    return read_fields<ShownOf<Request>>(results);
}

}  // namespace fairwater::inline rpc
