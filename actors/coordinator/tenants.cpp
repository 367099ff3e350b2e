// How tenants come, change and go, and which jobs they may submit.
#include <utility>

#include "actors/coordinator/state.hpp"

namespace fairwater::coordination {
namespace {

std::string text_of(const NamedAmounts& amounts) {
  std::string text = "{";
  for (const auto& [name, amount] : amounts)
    text += (text.size() > 1 ? ", " : "") + name + ": " + format_amount(name, amount);
  return text + "}";
}

/// `0.5` for 500,000 millionths.
std::string millionths_text(std::uint32_t millionths) {
  std::string text = std::to_string(millionths / 1'000'000);
  std::string fraction = std::to_string(1'000'000 + millionths % 1'000'000).substr(1);
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  return fraction.empty() ? text : text + "." + fraction;
}

template <class Value>
void note(TenantChange& change, const char* field, const Value& before, const Value& after) {
  if (before == after) return;
  std::string line = std::string(field) + ": ";
  if constexpr (std::is_same_v<Value, NamedAmounts>) {
    line += text_of(before) + " -> " + text_of(after);
  } else if constexpr (std::is_same_v<Value, bool>) {
    line += std::string(before ? "true" : "false") + " -> " + (after ? "true" : "false");
  } else if constexpr (std::is_same_v<Value, QueuePolicy>) {
    line += std::string(to_string(before)) + " -> " + std::string(to_string(after));
  } else if constexpr (std::is_same_v<Value, RunAs>) {
    line += (before.empty() ? "none" : to_text(before)) + " -> " +
            (after.empty() ? "none" : to_text(after));
  } else if constexpr (std::is_same_v<Value, std::string>) {
    line += before + " -> " + after;
  } else {
    line += std::to_string(before) + " -> " + std::to_string(after);
  }
  change.fields.push_back(std::move(line));
}

TenantChange compare(const TenantSpec* before, const TenantSpec& after) {
  TenantChange change{after.name, ChangeKind::added, {}};
  if (before == nullptr) return change;
  note(change, "weight", before->weight, after.weight);
  note(change, "min", before->min, after.min);
  note(change, "max", before->max, after.max);
  note(change, "queue", before->queue, after.queue);
  note(change, "repay", millionths_text(before->repay_millionths),
       millionths_text(after.repay_millionths));
  note(change, "may_lend", before->may_lend, after.may_lend);
  note(change, "may_borrow", before->may_borrow, after.may_borrow);
  note(change, "run_as", before->run_as, after.run_as);
  change.kind = change.fields.empty() ? ChangeKind::unchanged : ChangeKind::changed;
  return change;
}

caf::error within(const caf::error& error, const std::string& where) {
  auto inner = details(error);
  return make_error(inner.code, inner.message,
                    inner.field.empty() ? where : where + "." + inner.field);
}

caf::error check_specs(const CoordinatorState& state, const std::vector<TenantSpec>& specs) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto where = "tenants[" + std::to_string(i) + "]";
    if (auto wrong = validate(specs[i])) return within(wrong, where);
    if (!specs[i].parent.empty())
      return make_error(ErrorCode::not_supported, "tenants of tenants are not supported yet",
                        where + ".parent");
    if (auto terms = terms_of(specs[i], state.context->catalog); !terms)
      return within(terms.error(), where);
    if (!seen.insert(specs[i].name).second)
      return make_error(ErrorCode::invalid_input, "tenant " + specs[i].name + " is named twice",
                        where + ".name");
  }
  return {};
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// A job that no node could ever run is refused by the first of its demands that none meets: sites,
/// then labels, then size.
caf::error check_some_node_fits(const CoordinatorState& state, const JobSpec& spec,
                                const ResourceVector& demand, const PlacementRule* rule) {
  const auto& allocation = *state.allocation;
  if (state.nodes.empty() || allocation.could_ever_fit(demand, rule)) return {};
  PlacementRule sites;
  sites.sites = spec.sites;
  if (!allocation.could_ever_fit({}, &sites))
    return make_error(ErrorCode::invalid_input, "no node is at " + list_of(spec.sites), "sites");
  if (!allocation.could_ever_fit({}, rule))
    return make_error(ErrorCode::invalid_input,
                      "no node" + (spec.sites.empty() ? "" : " at " + list_of(spec.sites)) +
                          " has labels that match '" + spec.labels + "'",
                      "labels");
  return make_error(
      ErrorCode::invalid_input,
      "no node that the job allows could ever give " + text_of(spec.resources) + " to one task",
      "resources");
}

void take_tenant(CoordinatorSelf self, const TenantRecord& record) {
  auto& state = self->state;
  auto known = state.tenants.find(record.id);
  if (known == state.tenants.end()) {
    add_tenant(self, record, {});
    return;
  }
  known->second.spec = record.spec;
  self->send(known->second.actor, SetTerms{record.spec.queue, record.spec.run_as});
}

// -- changes, one after the other -----------------------------------------------------------------

/// Begins the change when those before it have ended; each ends with end_turn().
void in_turn(CoordinatorSelf self, std::function<void()> change) {
  auto& state = self->state;
  if (std::exchange(state.changing_tenants, true))
    state.waiting_changes.push_back(std::move(change));
  else
    change();
}

template <class Answer>
void end_turn(CoordinatorSelf self, caf::typed_response_promise<Answer> promise, Answer answer) {
  promise.deliver(std::move(answer));
  self->send(self, NextChange{});
}

template <class Answer>
void end_turn(CoordinatorSelf self, caf::typed_response_promise<Answer> promise,
              const caf::error& error) {
  promise.deliver(error);
  self->send(self, NextChange{});
}

/// What the specifications change, and the record that makes it so.
struct PlannedChange {
  TenantsApplied applied;
  TenantsChanged body;
};

PlannedChange plan(const CoordinatorState& state, const std::vector<TenantSpec>& specs) {
  PlannedChange planned;
  for (const auto& spec : specs) {
    const auto known = state.tenant_ids.find(spec.name);
    const bool is_new = known == state.tenant_ids.end();
    planned.applied.changes.push_back(
        compare(is_new ? nullptr : &state.tenants.at(known->second).spec, spec));
    if (planned.applied.changes.back().kind == ChangeKind::unchanged) continue;
    TenantRecord record;
    record.spec = spec;
    if (!is_new) record.id = known->second;
    planned.body.tenants.push_back(std::move(record));
  }
  return planned;
}

/// The allocator knows the tenants from here on, because later cycles build on them; clients see
/// them when they are durable.
void apply_now(CoordinatorSelf self, const ApplyTenants& request,
               caf::typed_response_promise<TenantsApplied> promise) {
  auto& state = self->state;
  auto [applied, body] = plan(state, request.specs);
  if (request.dry_run || body.tenants.empty()) return end_turn(self, promise, std::move(applied));
  if (state.beginning_anew) return end_turn(self, promise, not_granting(state));
  for (auto& record : body.tenants) {
    if (!record.id) record.id = TenantId{state.next_tenant++};
    state.allocation->set_tenant(record.id, *terms_of(record.spec, state.context->catalog));
  }
  body.position = state.allocation->position();
  commit_chained(
      self, body,
      [self, tenants = body.tenants, applied = std::move(applied), promise](const Committed&) {
        for (const auto& record : tenants) take_tenant(self, record);
        consider_all_nodes(self);
        end_turn(self, promise, applied);
      },
      [self, promise](const caf::error& error) { end_turn(self, promise, error); });
}

caf::error check_may_leave(const CoordinatorState& state, TenantId id, const std::string& name) {
  const auto view = state.allocation->tenant(id);
  if (view.running_tasks > 0)
    return make_error(ErrorCode::wrong_state, "tenant " + name + " still runs " +
                                                  std::to_string(view.running_tasks) + " tasks");
  if (view.net >= 0) return {};
  const bool counts_time = state.context->measure.accounting == Accounting::time;
  return make_error(ErrorCode::wrong_state,
                    "tenant " + name + " owes " + std::to_string(-view.net) +
                        (counts_time ? " unit-milliseconds" : " units") +
                        ", and a debtor may not leave; an operator may forgive it: "
                        "fairwater ledger forgive --debtor " +
                        name + " --reason TEXT");
}

/// What a settlement rounds may make one who owes nothing a debtor of one unit-millisecond.
void forgive_rounding(CoordinatorSelf self, TenantId id) {
  const auto& state = self->state;
  const auto debts = state.allocation->debts_of(id);
  const bool is_rounding = state.context->measure.accounting == Accounting::time &&
                           debts.size() == 1 && debts.front().units == 1;
  if (!is_rounding) return;
  forgive(
      self, {id, parts_of_debt(debts, 1), "rounding, of a tenant that leaves"},
      [](const Committed&) {}, [](const caf::error&) {});
}

/// The tenant's actor admits nothing any more: takes the tenant out of allocator and directory at
/// one moment, then makes that durable.
void remove_retired(CoordinatorSelf self, TenantId id, caf::typed_response_promise<Done> promise) {
  auto& state = self->state;
  auto entry = state.tenants.at(id);
  const auto refuse = [&](const caf::error& error) {
    self->send(entry.actor, Reinstate{});
    end_turn(self, promise, error);
  };
  if (state.beginning_anew) return refuse(not_granting(state));
  settle_time(self);  // what it held last may be what it owes
  if (state.allocation->tenant(id).running_tasks == 0) forgive_rounding(self, id);
  if (auto staying = check_may_leave(state, id, entry.spec.name)) return refuse(staying);
  TenantRemoved body{id, 0, state.allocation->remove_tenant(id)};
  body.position = state.allocation->position();
  state.tenants.erase(id);
  state.tenant_ids.erase(entry.spec.name);
  state.leaving.emplace(id, std::move(entry));
  commit_chained(
      self, body,
      [self, promise](const Committed&) {
        const auto [id, entry] = *std::exchange(self->state.leaving, std::nullopt);
        const auto actor = entry.actor;
        self->state.context->names->remove(id);
        forget_tokens_of(self->state, id);
        self->unlink_from(actor);
        self->send_exit(actor, caf::exit_reason::user_shutdown);
        consider_all_nodes(self);
        end_turn(self, promise, Done{});
      },
      [self, promise](const caf::error& error) { end_turn(self, promise, error); });
}

void remove_now(CoordinatorSelf self, const std::string& name,
                caf::typed_response_promise<Done> promise) {
  auto& state = self->state;
  const auto known = state.tenant_ids.find(name);
  if (known == state.tenant_ids.end())
    return end_turn(self, promise,
                    make_error(ErrorCode::not_found, "there is no tenant " + name, "name"));
  const auto id = known->second;
  self->request(state.tenants.at(id).actor, caf::infinite, Retire{})
      .then([self, id, promise](const Done&) { remove_retired(self, id, promise); },
            [self, promise](const caf::error& error) { end_turn(self, promise, error); });
}

}  // namespace

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
}

void next_change(CoordinatorSelf self) {
  auto& state = self->state;
  state.changing_tenants = !state.waiting_changes.empty();
  if (!state.changing_tenants) return;
  const auto change = std::move(state.waiting_changes.front());
  state.waiting_changes.pop_front();
  change();
}

void take_back_leaver(CoordinatorSelf self) {
  auto& state = self->state;
  if (!state.leaving) return;
  auto [id, entry] = *std::exchange(state.leaving, std::nullopt);
  self->send(entry.actor, Reinstate{});
  state.tenant_ids[entry.spec.name] = id;
  state.tenants.emplace(id, std::move(entry));
}

caf::result<TenantsApplied> answer(CoordinatorSelf self, const ApplyTenants& request) {
  if (auto wrong = check_specs(self->state, request.specs)) return wrong;
  auto promise = self->make_response_promise<TenantsApplied>();
  in_turn(self, [self, request, promise] { apply_now(self, request, promise); });
  return promise;
}

caf::result<Done> answer(CoordinatorSelf self, const RemoveTenant& request) {
  auto promise = self->make_response_promise<Done>();
  in_turn(self, [self, request, promise] { remove_now(self, request.name, promise); });
  return promise;
}

caf::result<TenantAddress> find_tenant(const CoordinatorState& state, const FindTenant& request) {
  auto id = request.id;
  if (!request.name.empty()) {
    const auto known = state.tenant_ids.find(request.name);
    id = known == state.tenant_ids.end() ? TenantId{} : known->second;
  }
  const auto tenant = state.tenants.find(id);
  if (tenant == state.tenants.end())
    return make_error(ErrorCode::not_found, "there is no tenant " + request.name, "tenant");
  return TenantAddress{id, tenant->second.spec.name, tenant->second.actor};
}

caf::result<TenantAddress> admit_job(const CoordinatorState& state, const AdmitJob& request) {
  if (auto refused = refuse_untrusted(state)) return refused;
  const auto& spec = request.spec;
  const auto known = state.tenant_ids.find(spec.tenant);
  if (known == state.tenant_ids.end())
    return make_error(ErrorCode::invalid_input, "there is no tenant '" + spec.tenant + "'",
                      "tenant");
  auto demand = state.context->catalog.to_vector(spec.resources, "resources");
  if (!demand) return demand.error();
  if (demand->is_zero())
    return make_error(ErrorCode::invalid_input, "a task needs some of a resource, e.g. cpu: 1",
                      "resources");
  const auto terms = terms_of(state.tenants.at(known->second).spec, state.context->catalog);
  if (!demand->fits(terms->max))
    return make_error(ErrorCode::invalid_input,
                      "one task asks for " + text_of(spec.resources) +
                          ", more than the tenant's max " +
                          text_of(state.tenants.at(known->second).spec.max),
                      "resources");
  const auto rule = placement_of(spec);
  if (!rule) return rule.error();
  if (auto wrong = check_some_node_fits(state, spec, *demand, rule->get())) return wrong;
  return TenantAddress{known->second, spec.tenant, state.tenants.at(known->second).actor};
}

}  // namespace fairwater::coordination
