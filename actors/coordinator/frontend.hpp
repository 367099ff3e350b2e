// The frontend: carries out what clients ask. It checks that the caller may, asks the coordinator,
// the tenants, the nodes and the ledger, and puts the answer together; it owns no state of the
// cluster.
//
//   takes  the requests below, from the gateway        sends  their parts to the other actors
//   bound  the gateway admits a limited number of calls at a time (gateway/server.hpp)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <caf/typed_actor.hpp>

#include "actors/coordinator/protocol.hpp"
#include "actors/message.hpp"
#include "model/requests.hpp"
#include "storage/ledger.hpp"

FAIRWATER_MESSAGE(Login)
FAIRWATER_MESSAGE(GetStatus)
FAIRWATER_MESSAGE(ListTenants)
FAIRWATER_MESSAGE(TenantList)
FAIRWATER_MESSAGE(ApplyTenants)
FAIRWATER_MESSAGE(TenantsApplied)
FAIRWATER_MESSAGE(RemoveTenant)
FAIRWATER_MESSAGE(CreateToken)
FAIRWATER_MESSAGE(ListTokens)
FAIRWATER_MESSAGE(TokenList)
FAIRWATER_MESSAGE(RevokeToken)
FAIRWATER_MESSAGE(RevokedToken)
FAIRWATER_MESSAGE(TokenInfo)
FAIRWATER_MESSAGE(RemoveNode)
FAIRWATER_MESSAGE(ListNodes)
FAIRWATER_MESSAGE(NodeList)
FAIRWATER_MESSAGE(DrainNode)
FAIRWATER_MESSAGE(SubmitJob)
FAIRWATER_MESSAGE(JobAccepted)
FAIRWATER_MESSAGE(ListJobs)
FAIRWATER_MESSAGE(JobList)
FAIRWATER_MESSAGE(ShowJob)
FAIRWATER_MESSAGE(CancelJob)
FAIRWATER_MESSAGE(WaitJob)
FAIRWATER_MESSAGE(ExplainTask)
FAIRWATER_MESSAGE(ReadLog)
FAIRWATER_MESSAGE(ShowLedger)
FAIRWATER_MESSAGE(ReadJournal)
FAIRWATER_MESSAGE(VerifyLedger)
FAIRWATER_MESSAGE(ShowStanding)
FAIRWATER_MESSAGE(LedgerStanding)
FAIRWATER_MESSAGE(TrustLedger)
FAIRWATER_MESSAGE(Done)

namespace fairwater {

/// Who does this token (its hash) belong to? `unauthenticated` when nobody's.
struct Login {
  Hash token_hash{};
};
struct GetStatus {};
struct ListTenants {
  Caller caller;
};
struct TenantList {
  std::vector<TenantInfo> tenants;
};
struct ApplyTenants {
  Caller caller;
  std::vector<TenantSpec> specs;
  bool dry_run = false;
};
struct TenantsApplied {
  std::vector<TenantChange> changes;
};
struct RemoveTenant {
  Caller caller;
  std::string name;
};
/// The gateway makes the token and keeps it; only its hash comes here.
struct CreateToken {
  Caller caller;
  NewToken wanted;
  Hash token_hash{};
};
struct ListTokens {
  Caller caller;
};
struct TokenList {
  std::vector<TokenInfo> tokens;
};
/// By name or id.
struct RevokeToken {
  Caller caller;
  std::string token;
};
/// With the hash, by which the gateway finds its sessions.
struct RevokedToken {
  TokenInfo info;
  Hash token_hash{};
};
struct RemoveNode {
  Caller caller;
  std::string name;
};
struct ListNodes {
  Caller caller;
};
struct NodeList {
  std::vector<NodeInfo> nodes;
};
struct DrainNode {
  Caller caller;
  std::string name;
  std::string reason;
  bool drain = true;  ///< false: undrain
};
struct SubmitJob {
  Caller caller;
  JobSpec spec;
};
struct JobAccepted {
  JobId id;
};
struct ListJobs {
  Caller caller;
  JobQuery query;
};
struct JobList {
  std::vector<JobRecord> jobs;  ///< as many as one message holds
  bool more = false;            ///< that was fewer than asked for, and there may be older ones
};
struct ShowJob {
  Caller caller;
  JobId id;
  std::uint32_t first_task = 0;
};
struct CancelJob {
  Caller caller;
  JobId id;
  std::string reason;
};
struct WaitJob {
  Caller caller;
  JobId id;
  std::int64_t timeout_ms = 0;
};
struct ExplainTask {
  Caller caller;
  JobId id;
  std::uint32_t index = 0;
};
struct ReadLog {
  Caller caller;
  JobId id;
  std::uint32_t index = 0;
  bool standard_error = false;
  std::uint64_t offset = 0;
};
struct ShowLedger {
  Caller caller;
};
struct ReadJournal {
  Caller caller;
  std::uint64_t since = 0;
  std::uint32_t limit = 1000;
  std::int64_t wait_ms = 0;
};
struct VerifyLedger {
  Caller caller;
};
struct ShowStanding {
  Caller caller;
};
/// `wrong_state` when nobody doubts the ledger.
struct TrustLedger {
  Caller caller;
  std::string reason;
};
/// Carried out; nothing to say.
struct Done {};

using FrontendActor = caf::typed_actor<
    caf::replies_to<Login>::with<Caller>, caf::replies_to<GetStatus>::with<ClusterStatus>,
    caf::replies_to<ListTenants>::with<TenantList>,
    caf::replies_to<ApplyTenants>::with<TenantsApplied>, caf::replies_to<RemoveTenant>::with<Done>,
    caf::replies_to<CreateToken>::with<TokenInfo>, caf::replies_to<ListTokens>::with<TokenList>,
    caf::replies_to<RevokeToken>::with<RevokedToken>, caf::replies_to<RemoveNode>::with<Done>,
    caf::replies_to<ListNodes>::with<NodeList>, caf::replies_to<DrainNode>::with<Done>,
    caf::replies_to<SubmitJob>::with<JobAccepted>, caf::replies_to<ListJobs>::with<JobList>,
    caf::replies_to<ShowJob>::with<JobDetail>, caf::replies_to<CancelJob>::with<Done>,
    caf::replies_to<WaitJob>::with<JobRecord>, caf::replies_to<ExplainTask>::with<Explanation>,
    caf::replies_to<ReadLog>::with<LogChunk>, caf::replies_to<ShowLedger>::with<LedgerView>,
    caf::replies_to<ReadJournal>::with<JournalPage>,
    caf::replies_to<VerifyLedger>::with<VerifyReport>,
    caf::replies_to<ShowStanding>::with<LedgerStanding>, caf::replies_to<TrustLedger>::with<Done>,
    caf::replies_to<RegisterNode>::with<NodeRegistered>>;

}  // namespace fairwater
