// Tenants and nodes.
#pragma once

#include "model/node.hpp"
#include "model/tenant.hpp"
#include "schema/fields/field.hpp"

namespace fairwater::inline schema {

template <>
struct EnumLast<QueuePolicy> {
  static constexpr QueuePolicy value = QueuePolicy::shortest_first;
};

template <>
struct Fields<RunAs> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(user, User);
    FAIRWATER_FIELD(group, Group);
    FAIRWATER_FIELD(groups, Groups);
  }
};

template <>
struct Fields<TenantSpec> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(name, Name);
    FAIRWATER_FIELD(parent, Parent);
    FAIRWATER_FIELD(weight, Weight);
    FAIRWATER_FIELD(min, Min);
    FAIRWATER_FIELD(max, Max);
    FAIRWATER_FIELD(queue, Queue);
    FAIRWATER_FIELD(repay_millionths, RepayMillionths);
    FAIRWATER_FIELD(may_lend, MayLend);
    FAIRWATER_FIELD(may_borrow, MayBorrow);
    FAIRWATER_SPARSE_FIELD(run_as, RunAs);
    FAIRWATER_FIELD(placement, Placement);
    FAIRWATER_FIELD(leaving, Leaving);
    FAIRWATER_SPARSE_FIELD(lend_cap, LendCap);
    FAIRWATER_SPARSE_FIELD(borrow_cap, BorrowCap);
    FAIRWATER_SPARSE_FIELD(weights, Weights);
  }
};

template <>
struct Fields<TenantRecord> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(id, Id);
    FAIRWATER_FIELD(spec, Spec);
    FAIRWATER_FIELD(granted_units_total, GrantedUnitsTotal);
    FAIRWATER_FIELD(borrowed_total, BorrowedTotal);
    FAIRWATER_FIELD(lent_total, LentTotal);
    FAIRWATER_FIELD(deficit, Deficit);
    FAIRWATER_FIELD(repay_remainder_millionths, RepayRemainder);
    FAIRWATER_FIELD(time_rest, TimeRest);
    FAIRWATER_FIELD(held_total.unit_ms, HeldUnitMs);
    FAIRWATER_FIELD(held_total.millionths, HeldMillionths);
    FAIRWATER_FIELD(part_total.unit_ms, PartUnitMs);
    FAIRWATER_FIELD(part_total.millionths, PartMillionths);
    FAIRWATER_FIELD(forgiven_total, ForgivenTotal);
    FAIRWATER_FIELD(credit, Credit);
  }
};

template <>
struct Fields<NodeDevices> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(resource, Resource);
    FAIRWATER_FIELD(names, Names);
  }
};

template <>
struct Fields<NodeTraits> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(name, Name);
    FAIRWATER_FIELD(site, Site);
    FAIRWATER_FIELD(labels, Labels);
    FAIRWATER_SPARSE_FIELD(devices, Devices);
  }
};

template <>
struct Fields<NodeSpec> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(traits, Traits);
    FAIRWATER_FIELD_CALLED(capacity, Capacity, "resources");
    FAIRWATER_FIELD(instance, Instance);
    FAIRWATER_FIELD(limits, Limits);
    FAIRWATER_SPARSE_FIELD(isolation, Isolation);
    FAIRWATER_SPARSE_FIELD(address, Address);
  }
};

template <>
struct Fields<PlannedDrain> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(begins, Begins);
    FAIRWATER_FIELD(deadline, Deadline);
    FAIRWATER_FIELD(reason, Reason);
  }
};

template <>
struct Fields<NodeRecord> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(id, Id);
    FAIRWATER_FIELD(spec, Spec);
    FAIRWATER_FIELD(draining, Draining);
    FAIRWATER_FIELD(drain_reason, DrainReason);
    FAIRWATER_FIELD(lost, Lost);
    FAIRWATER_FIELD(credential_hash, CredentialHash);
    FAIRWATER_FIELD(run.starts, RunStarts);
    FAIRWATER_FIELD(run.id, RunId);
    FAIRWATER_FIELD(drained_itself, DrainedItself);
    FAIRWATER_FIELD(drain_deadline, DrainDeadline);
    FAIRWATER_SPARSE_FIELD(planned_drain, PlannedDrain);
  }
};

}  // namespace fairwater::inline schema
