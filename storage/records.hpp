// Value types of the records that only the ledger keeps, with their codec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/journal.hpp"
#include "model/usage.hpp"
#include "schema/codec.hpp"

namespace fairwater::inline storage {

/// What a token opens.
struct TokenGrant {
  Role role = Role::tenant;
  TenantId tenant;
  std::string name;
  WallTime created_at = {};  ///< not set: not known
  WallTime expires_at = {};  ///< not set: never
  std::string user = {};
  friend bool operator==(const TokenGrant&, const TokenGrant&) = default;
};

/// A job that is not terminal.
struct LiveJob {
  TenantId tenant;
  friend bool operator==(const LiveJob&, const LiveJob&) = default;
};

/// An entry of a tenant's list of jobs.
struct TenantJob {
  JobState state = JobState::pending;
  friend bool operator==(const TenantJob&, const TenantJob&) = default;
};

/// One of those who share a tenant, or (without a name) the tenant's jobs that have no user.
struct TenantUser {
  std::uint64_t served = 0;  ///< by this journal record it was granted something last; 0: never
  friend bool operator==(const TenantUser&, const TenantUser&) = default;
};

/// An entry of a tenant's list of a class's jobs: its key says all.
struct ClassJob {
  friend bool operator==(const ClassJob&, const ClassJob&) = default;
};

/// Under which a submission is remembered.
struct RequestKey {
  TenantId tenant;
  std::string id;
  friend bool operator==(const RequestKey&, const RequestKey&) = default;
};
/// A submission that is remembered, one of a list.
struct RequestRecord {
  JobId job;
  std::optional<Hash> hash;  ///< of what was asked for
  WallTime submitted_at;
  RequestKey next;  ///< the one that was submitted after it; without an id: it is the newest
  friend bool operator==(const RequestRecord&, const RequestRecord&) = default;
};

struct IouRecord {
  Units units = 0;
  std::uint64_t age = 0;   ///< smaller is older; unique among all IOUs of the ledger, ever
  std::uint32_t rest = 0;  ///< see IouBook::Iou
  friend bool operator==(const IouRecord&, const IouRecord&) = default;
};

/// What past tasks of one job class with one resource demand took: successful runs, constant size.
struct ClassHistory {
  std::uint64_t count = 0;
  std::int64_t wall_total_ms = 0;
  std::int64_t wall_min_ms = 0;
  std::int64_t wall_max_ms = 0;
  std::int64_t wall_last_ms = 0;
  friend bool operator==(const ClassHistory&, const ClassHistory&) = default;
};

/// What the ledger as a whole remembers; changes with every journal record.
struct LedgerMeta {
  std::uint64_t last_number = 0;
  Hash last_hash{};  ///< of the newest journal record's bytes
  ClusterCreated cluster;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;
  JobId next_job{1};
  TenantId next_tenant{1};
  NodeId next_node{1};
  std::uint64_t next_iou_age = 1;
  LeaseTerms lease;  ///< of the last coordinator that noted them
  std::uint32_t incarnation = 0;
  std::uint64_t given_up = 0;       ///< as in the newest LedgerTrusted
  LedgerMs ledger_ms = 0;           ///< the moment up to which time is settled
  std::uint32_t time_resource = 0;  ///< of which time is counted
  LedgerMs undecayed_ms = 0;        ///< before ledger_ms, for which debts have yet to shrink
  DebtTerms debts;                  ///< of the last coordinator
  WallTime counts_time_since = {};  ///< not set: it counts what it was created with
  Units unit_ms_per_unit = 0;       ///< as in AccountingChanged
  RequestKey oldest_request;        ///< that is remembered; without an id: none is
  RequestKey newest_request;
  bool counts_usage = false;     ///< since a coordinator started that does
  std::uint64_t checkpoint = 0;  ///< the newest Checkpointed's number; 0: none was made
  std::optional<Hash> checkpoint_hash;
  friend bool operator==(const LedgerMeta&, const LedgerMeta&) = default;
};

}  // namespace fairwater::inline storage

namespace fairwater::inline schema {

FAIRWATER_CODEC_AS(TokenGrant, wire::TokenRecord);
FAIRWATER_CODEC_AS(LiveJob, wire::LiveRecord);
FAIRWATER_CODEC_AS(TenantJob, wire::TenantJobRecord);
FAIRWATER_CODEC_AS(ClassJob, wire::ClassJobRecord);
FAIRWATER_CODEC(RequestRecord);
FAIRWATER_CODEC_AS(TenantUser, wire::UserRecord);
FAIRWATER_CODEC(IouRecord);
FAIRWATER_CODEC_AS(ClassHistory, wire::ClassRecord);
FAIRWATER_CODEC_AS(LedgerMeta, wire::MetaRecord);

}  // namespace fairwater::inline schema

namespace fairwater::inline storage {}  // namespace fairwater::inline storage
