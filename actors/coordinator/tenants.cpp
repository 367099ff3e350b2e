// How tenants come and change; how they go is in leaving.cpp.
#include <algorithm>
#include <utility>

#include "actors/coordinator/state.hpp"
#include "model/numbers.hpp"

namespace fairwater::inline actors::inline coordinator::coordination {
namespace {

template <class Value>
void note(TenantChange& change, const char* field, const Value& before, const Value& after) {
  if (before == after) return;
  std::string line = std::string(field) + ": ";
  if constexpr (std::is_same_v<Value, NamedAmounts>) {
    line += text_of(before) + " -> " + text_of(after);
  } else if constexpr (std::is_same_v<Value, bool>) {
    line += std::string(before ? "true" : "false") + " -> " + (after ? "true" : "false");
  } else if constexpr (std::is_same_v<Value, QueuePolicy> || std::is_same_v<Value, Placement>) {
    line += std::string(to_string(before)) + " -> " + std::string(to_string(after));
  } else if constexpr (std::is_same_v<Value, RunAs>) {
    line += (before.empty() ? "none" : to_text(before)) + " -> " +
            (after.empty() ? "none" : to_text(after));
  } else if constexpr (std::is_same_v<Value, std::string>) {
    line += (before.empty() ? "none" : before) + " -> " + (after.empty() ? "none" : after);
  } else {
    line += std::to_string(before) + " -> " + std::to_string(after);
  }
  change.fields.push_back(std::move(line));
}

TenantChange compare(const TenantSpec* before, const TenantSpec& after) {
  TenantChange change{after.name, ChangeKind::added, {}};
  if (before == nullptr) {
    if (!after.parent.empty()) change.fields.push_back("parent: " + after.parent);
    return change;
  }
  note(change, "parent", before->parent, after.parent);
  note(change, "weight", before->weight, after.weight);
  note(change, "weights", weights_text(before->weights), weights_text(after.weights));
  note(change, "min", before->min, after.min);
  note(change, "max", before->max, after.max);
  note(change, "queue", before->queue, after.queue);
  note(change, "repay", millionths_text(before->repay_millionths),
       millionths_text(after.repay_millionths));
  note(change, "may_lend", before->may_lend, after.may_lend);
  note(change, "may_borrow", before->may_borrow, after.may_borrow);
  note(change, "run_as", before->run_as, after.run_as);
  note(change, "placement", before->placement, after.placement);
  note(change, "lend_cap", before->lend_cap, after.lend_cap);
  note(change, "borrow_cap", before->borrow_cap, after.borrow_cap);
  note(change, "leaving", before->leaving, after.leaving);
  change.kind = change.fields.empty() ? ChangeKind::unchanged : ChangeKind::changed;
  return change;
}

caf::error within(const caf::error& error, const std::string& where) {
  auto inner = details(error);
  return make_error(inner.code, inner.message,
                    inner.field.empty() ? where : where + "." + inner.field);
}

/// Where deals make the debts, nothing is held beside a part that a cap could bound.
caf::error check_caps(const CoordinatorState& state, const TenantSpec& spec) {
  if (state.context->measure.accounting == Accounting::time) return {};
  for (const auto& [key, cap] :
       {std::pair{"lend_cap", &spec.lend_cap}, std::pair{"borrow_cap", &spec.borrow_cap}})
    if (!cap->empty())
      return make_error(
          ErrorCode::invalid_input,
          "is for a ledger that counts time (accounting: time); this one counts units", key);
  return {};
}

/// The sequence deals units by one weight, and what it deals is lent: whoever has most of one
/// resource would be owed its part of all of them.
caf::error check_weights(const CoordinatorState& state, const TenantSpec& spec) {
  if (spec.weights.empty() || state.context->measure.accounting == Accounting::time ||
      state.context->settings.allocation == AllocationRule::drf)
    return {};
  return make_error(ErrorCode::invalid_input,
                    "is for a ledger that counts time (accounting: time), or allocation: drf; this "
                    "one counts units, which are dealt by weight",
                    "weights");
}

caf::error check_specs(const CoordinatorState& state, const std::vector<TenantSpec>& specs) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto where = "tenants[" + std::to_string(i) + "]";
    if (auto wrong = validate(specs[i])) return within(wrong, where);
    if (auto wrong = check_caps(state, specs[i])) return within(wrong, where);
    if (auto wrong = check_weights(state, specs[i])) return within(wrong, where);
    if (specs[i].leaving)
      return make_error(ErrorCode::invalid_input, "a tenant is let go by its removal",
                        where + ".leaving");
    if (auto terms = terms_of(specs[i], state.context->catalog); !terms)
      return within(terms.error(), where);
    if (!seen.insert(specs[i].name).second)
      return make_error(ErrorCode::invalid_input, "tenant " + specs[i].name + " is named twice",
                        where + ".name");
  }
  return {};
}

// -- the tree ------------------------------------------------------------------------------------

/// Those that become groups with it: they leave sequence and accounts.
std::vector<Accounts::Division> divided_by(const CoordinatorState& state,
                                           const TenantNesting& after) {
  return after.divisions([&](TenantId tenant) {
    return state.tenants.contains(tenant) && !state.nesting.has_tenants(tenant);
  });
}

/// Of several faults one in the specifications that were sent is told.
caf::error check_tree(const TenantNesting& nesting, const std::vector<TenantSpec>& specs) {
  auto faults = nesting.shape_faults();
  if (faults.empty()) faults = nesting.terms_faults();
  if (faults.empty()) return {};
  for (std::size_t i = 0; i < specs.size(); ++i)
    for (const auto& fault : faults)
      if (fault.tenant == specs[i].name)
        return make_error(ErrorCode::invalid_input, fault.message,
                          "tenants[" + std::to_string(i) + "]." + fault.key);
  const auto& fault = faults.front();
  return make_error(ErrorCode::invalid_input, fault.message, fault.tenant + "." + fault.key);
}

/// Retires them one after the other, then goes on with none, or with why one may not be; they stay
/// retired in both cases.
void retire_all(CoordinatorSelf self, std::vector<TenantId> tenants,
                std::function<void(const caf::error&)> then) {
  if (tenants.empty()) return then({});
  const auto actor = self->state.tenants.at(tenants.back()).actor;
  tenants.pop_back();
  self->request(actor, caf::infinite, Retire{})
      .then([self, tenants = std::move(tenants),
             then](const Done&) mutable { retire_all(self, std::move(tenants), then); },
            [then](const caf::error& error) { then(error); });
}

// -- a file is applied ----------------------------------------------------------------------------

/// What the specifications change, and the record that makes it so.
struct PlannedChange {
  TenantsApplied applied;
  TenantsChanged body;
};

PlannedChange plan(const CoordinatorState& state, const std::vector<TenantSpec>& specs) {
  PlannedChange planned;
  std::uint32_t next = state.next_tenant;
  for (const auto& spec : specs) {
    const auto known = state.tenant_ids.find(spec.name);
    const bool is_new = known == state.tenant_ids.end();
    planned.applied.changes.push_back(
        compare(is_new ? nullptr : &state.tenants.at(known->second).spec, spec));
    if (planned.applied.changes.back().kind == ChangeKind::unchanged) continue;
    TenantRecord record;
    record.spec = spec;
    record.id = is_new ? TenantId{next++} : known->second;
    planned.body.tenants.push_back(std::move(record));
  }
  return planned;
}

/// With whom it bounds loans now who can read the record depends on (model/journal_format.hpp),
/// also where its own terms stay.
void note_bounds(const CoordinatorState& state, const std::vector<Accounts::Division>& divided,
                 TenantsChanged& body) {
  for (const auto& [tenant, heirs] : divided) {
    const TenantSpec& spec = state.tenants.at(tenant).spec;
    const auto is_it = [id = tenant](const TenantRecord& record) { return record.id == id; };
    if (!spec.bounds_loans() || std::ranges::any_of(body.tenants, is_it)) continue;
    TenantRecord& record = body.tenants.emplace_back();
    record.id = tenant;
    record.spec = spec;
  }
}

/// Those that are divided by it are retired, and owe nothing.
void apply_planned(CoordinatorSelf self, PlannedChange planned, TenantNesting after,
                   const std::vector<Accounts::Division>& divided,
                   caf::typed_response_promise<TenantsApplied> promise) {
  auto& state = self->state;
  std::vector<TenantId> retired;
  for (const auto& [tenant, heirs] : divided) {
    retired.push_back(tenant);
    forgive_rounding(self, tenant);
  }
  for (const auto& record : planned.body.tenants)
    state.next_tenant = std::max(state.next_tenant, record.id.value + 1);
  const auto emptied = emptied_by(state.nesting, after);
  deal_by(state, std::move(after), divided);
  planned.body.position = state.allocation->position();
  commit_chained(
      self, planned.body,
      [self, planned, emptied, promise](const Committed&) {
        for (const auto& record : planned.body.tenants) take_tenant(self, record);
        reinstate(self, emptied);
        consider_all_nodes(self);
        end_turn(self, promise, planned.applied);
      },
      [self, retired, promise](const caf::error& error) {
        reinstate(self, retired);
        end_turn(self, promise, error);
      });
}

/// A tenant that will have tenants admits nothing from here on: whether it may be divided is looked
/// at when its actor has said that none of its jobs is unfinished.
void apply_now(CoordinatorSelf self, const ApplyTenants& request,
               caf::typed_response_promise<TenantsApplied> promise) {
  auto planned = plan(self->state, request.specs);
  auto after = nesting_after(self->state, planned.body.tenants);
  if (auto wrong = check_tree(after, request.specs)) return end_turn(self, promise, wrong);
  const auto divided = divided_by(self->state, after);
  note_bounds(self->state, divided, planned.body);
  std::vector<TenantId> retired;
  for (const auto& division : divided) retired.push_back(division.tenant);
  retire_all(self, retired, [=, dry_run = request.dry_run](const caf::error& busy) {
    auto& state = self->state;
    caf::error refused = busy;
    const bool changes = !dry_run && !planned.body.tenants.empty();
    if (!refused && changes && state.beginning_anew) refused = not_granting(state);
    if (!refused && changes && !divided.empty()) settle_time(self);
    for (const TenantId tenant : retired)
      if (!refused) refused = check_may_leave(state, tenant);
    if (!refused && changes) return apply_planned(self, planned, after, divided, promise);
    reinstate(self, retired);
    if (refused) return end_turn(self, promise, refused);
    end_turn(self, promise, planned.applied);
  });
}

}  // namespace

void in_turn(CoordinatorSelf self, std::function<void()> change) {
  auto& state = self->state;
  if (std::exchange(state.changing_tenants, true))
    state.waiting_changes.push_back(std::move(change));
  else
    change();
}

void take_tenant(CoordinatorSelf self, const TenantRecord& record) {
  auto& state = self->state;
  auto known = state.tenants.find(record.id);
  if (known == state.tenants.end()) {
    add_tenant(self, record, {});
    return;
  }
  known->second.spec = record.spec;
  note_leaver(state, record);
  self->send(known->second.actor, SetTerms{record.spec.queue, record.spec.run_as,
                                           record.spec.placement, record.spec.leaving});
}

void deal_by(CoordinatorState& state, TenantNesting nesting,
             const std::vector<Accounts::Division>& divided) {
  state.allocation->set_tree(*nesting.tree(state.context->catalog), divided);
  state.nesting = std::move(nesting);
}

void reinstate(CoordinatorSelf self, const std::vector<TenantId>& tenants) {
  for (const TenantId id : tenants)
    if (const auto known = self->state.tenants.find(id); known != self->state.tenants.end())
      self->send(known->second.actor, Reinstate{});
}

std::vector<TenantId> emptied_by(const TenantNesting& before, const TenantNesting& after) {
  std::vector<TenantId> emptied;
  for (const auto& [id, weight] : after.members())
    if (before.knows(id) && before.has_tenants(id)) emptied.push_back(id);
  return emptied;
}

TenantNesting nesting_after(const CoordinatorState& state,
                            const std::vector<TenantRecord>& changed) {
  TenantNesting::Specs specs;
  for (const auto& [id, entry] : state.tenants) specs.emplace(id, entry.spec);
  for (const auto& record : changed) specs[record.id] = record.spec;
  return TenantNesting(std::move(specs));
}

TenantNesting nesting_of(const CoordinatorState& state) { return nesting_after(state, {}); }

caf::error not_granting(const CoordinatorState& state) {
  return make_error(ErrorCode::unavailable, "not granting: " + state.why_not_granting);
}

void add_tenant(CoordinatorSelf self, const TenantRecord& record, TenantStart start) {
  auto& state = self->state;
  TenantSink sink = CoordinatorActor{self};
  state.tenant_ids[record.spec.name] = record.id;
  state.context->names->put(record.id, record.spec.name);
  auto actor = spawn_tenant(self->system(), state.context, sink, record, std::move(start));
  self->link_to(actor);  // they end together: the cluster does not go on without one of its parts
  state.tenants[record.id] = {record.spec, std::move(actor)};
  note_leaver(state, record);
}

void next_change(CoordinatorSelf self) {
  auto& state = self->state;
  state.changing_tenants = !state.waiting_changes.empty();
  if (!state.changing_tenants) return;
  const auto change = std::move(state.waiting_changes.front());
  state.waiting_changes.pop_front();
  change();
}

caf::result<TenantsApplied> answer(CoordinatorSelf self, const ApplyTenants& request) {
  if (auto wrong = check_specs(self->state, request.specs)) return wrong;
  auto promise = self->make_response_promise<TenantsApplied>();
  in_turn(self, [self, request, promise] { apply_now(self, request, promise); });
  return promise;
}

}  // namespace fairwater::inline actors::inline coordinator::coordination
