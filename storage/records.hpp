// Value types of the records that only the ledger keeps, with their codec.
#pragma once

#include <cstdint>
#include <string>

#include "model/journal.hpp"
#include "schema/codec.hpp"

namespace fairwater {

/// What a token opens.
struct TokenGrant {
  Role role = Role::tenant;
  TenantId tenant;
  std::string name;
  WallTime created_at = {};  ///< not set: not known
  WallTime expires_at = {};  ///< not set: never
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

struct IouRecord {
  Units units = 0;
  std::uint64_t age = 0;  ///< smaller is older; unique among all IOUs of the ledger, ever
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
  std::uint64_t given_up = 0;  ///< as in the newest LedgerTrusted
  friend bool operator==(const LedgerMeta&, const LedgerMeta&) = default;
};

void encode(const TokenGrant& token, wire::TokenRecord::Builder builder);
void encode(const LiveJob& live, wire::LiveRecord::Builder builder);
void encode(const TenantJob& job, wire::TenantJobRecord::Builder builder);
void encode(const IouRecord& iou, wire::IouRecord::Builder builder);
void encode(const ClassHistory& history, wire::ClassRecord::Builder builder);
void encode(const LedgerMeta& meta, wire::MetaRecord::Builder builder);
[[nodiscard]] TokenGrant read(wire::TokenRecord::Reader reader);
[[nodiscard]] LiveJob read(wire::LiveRecord::Reader reader);
[[nodiscard]] TenantJob read(wire::TenantJobRecord::Reader reader);
[[nodiscard]] IouRecord read(wire::IouRecord::Reader reader);
[[nodiscard]] ClassHistory read(wire::ClassRecord::Reader reader);
[[nodiscard]] LedgerMeta read(wire::MetaRecord::Reader reader);

template <>
struct WireOf<TokenGrant> {
  using type = wire::TokenRecord;
  static TokenGrant read(type::Reader reader) { return fairwater::read(reader); }
};
template <>
struct WireOf<LiveJob> {
  using type = wire::LiveRecord;
  static LiveJob read(type::Reader reader) { return fairwater::read(reader); }
};
template <>
struct WireOf<TenantJob> {
  using type = wire::TenantJobRecord;
  static TenantJob read(type::Reader reader) { return fairwater::read(reader); }
};
template <>
struct WireOf<IouRecord> {
  using type = wire::IouRecord;
  static IouRecord read(type::Reader reader) { return fairwater::read(reader); }
};
template <>
struct WireOf<ClassHistory> {
  using type = wire::ClassRecord;
  static ClassHistory read(type::Reader reader) { return fairwater::read(reader); }
};
template <>
struct WireOf<LedgerMeta> {
  using type = wire::MetaRecord;
  static LedgerMeta read(type::Reader reader) { return fairwater::read(reader); }
};

}  // namespace fairwater
