// Records that only the ledger keeps.
#pragma once

#include "schema/fields/field.hpp"
#include "schema/fields/usage.hpp"
#include "storage/records.hpp"

namespace fairwater::inline schema {

template <>
struct Fields<TokenGrant> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(role, Role);
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_SPARSE_FIELD(name, Name);
    FAIRWATER_FIELD(created_at, CreatedAt);
    FAIRWATER_FIELD(expires_at, ExpiresAt);
    FAIRWATER_SPARSE_FIELD(user, User);
  }
};

template <>
struct Fields<LiveJob> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tenant, Tenant);
  }
};

template <>
struct Fields<TenantJob> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(state, State);
  }
};

template <>
struct Fields<ClassJob> {
  template <class Visit>
  static constexpr void each(Visit&&) {}
};

template <>
struct Fields<RequestKey> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(id, Id);
  }
};

template <>
struct Fields<RequestRecord> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(job, Job);
    FAIRWATER_FIELD(hash, Hash);
    FAIRWATER_FIELD(submitted_at, SubmittedAt);
    FAIRWATER_SPARSE_FIELD(next, Next);
  }
};

template <>
struct Fields<TenantUser> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(served, Served);
  }
};

template <>
struct Fields<IouRecord> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(units, Units);
    FAIRWATER_FIELD(age, Age);
    FAIRWATER_FIELD(rest, Rest);
  }
};

template <>
struct Fields<ClassHistory> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(count, Count);
    FAIRWATER_FIELD(wall_total_ms, WallTotalMs);
    FAIRWATER_FIELD(wall_min_ms, WallMinMs);
    FAIRWATER_FIELD(wall_max_ms, WallMaxMs);
    FAIRWATER_FIELD(wall_last_ms, WallLastMs);
  }
};

template <>
struct Fields<LedgerMeta> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(last_number, LastNumber);
    FAIRWATER_FIELD(last_hash, LastHash);
    FAIRWATER_FIELD(cluster, Cluster);
    FAIRWATER_FIELD(epoch, Epoch);
    FAIRWATER_FIELD(position, Position);
    FAIRWATER_FIELD(next_job, NextJob);
    FAIRWATER_FIELD(next_tenant, NextTenant);
    FAIRWATER_FIELD(next_node, NextNode);
    FAIRWATER_FIELD(next_iou_age, NextIouAge);
    FAIRWATER_SPARSE_FIELD(lease, Lease);
    FAIRWATER_FIELD(incarnation, Incarnation);
    FAIRWATER_FIELD(given_up, GivenUp);
    FAIRWATER_FIELD(ledger_ms, LedgerMs);
    FAIRWATER_FIELD(time_resource, TimeResource);
    FAIRWATER_FIELD(undecayed_ms, UndecayedMs);
    FAIRWATER_SPARSE_FIELD(debts, Debts);
    FAIRWATER_FIELD(counts_time_since, CountsTimeSince);
    FAIRWATER_FIELD(unit_ms_per_unit, UnitMsPerUnit);
    FAIRWATER_SPARSE_FIELD(oldest_request, OldestRequest);
    FAIRWATER_SPARSE_FIELD(newest_request, NewestRequest);
    FAIRWATER_FIELD(counts_usage, CountsUsage);
    FAIRWATER_FIELD(checkpoint, Checkpoint);
    FAIRWATER_FIELD(checkpoint_hash, CheckpointHash);
  }
};

}  // namespace fairwater::inline schema
