// How tenants go: at once, or as leavers. A leaver takes no jobs, runs what it has to its end,
// borrows nothing more and repays by what falls to it. When nothing keeps it any more it is
// removed. That may be so after each of its windows, each end of a task, each settlement of time,
// each deal and each departure.
#include <utility>

#include "actors/coordinator/state.hpp"

namespace fairwater::inline actors::inline coordinator::coordination {
namespace {

bool is_rounding(const CoordinatorState& state, TenantId id) {
  const auto debts = state.allocation->debts_of(id);
  return state.context->measure.accounting == Accounting::time && debts.size() == 1 &&
         debts.front().units == 1;
}

/// Told none: it is gone. `wrong_state`: something keeps it. The tenant's turn goes on until then.
using Told = std::function<void(const caf::error&)>;

/// The tenant's actor admits nothing any more: takes the tenant out of allocator and directory at
/// one moment, then makes that durable.
void remove_retired(CoordinatorSelf self, TenantId id, Told told) {
  auto& state = self->state;
  auto entry = state.tenants.at(id);
  const auto refuse = [&](const caf::error& error) {
    self->send(entry.actor, Reinstate{});
    told(error);
  };
  if (state.beginning_anew) return refuse(not_granting(state));
  settle_time(self);  // what it held last may be what it owes
  if (auto staying = check_may_leave(state, id)) return refuse(staying);
  forgive_rounding(self, id);
  TenantRemoved body{id, 0, state.allocation->remove_tenant(id)};
  state.tenants.erase(id);
  state.leavers.erase(id);
  auto after = nesting_of(state);
  const auto emptied = emptied_by(state.nesting, after);
  deal_by(state, std::move(after), {});
  body.position = state.allocation->position();
  state.tenant_ids.erase(entry.spec.name);
  state.leaving.emplace(id, std::move(entry));
  commit_chained(
      self, body,
      [self, emptied, told](const Committed&) {
        const auto [id, entry] = *std::exchange(self->state.leaving, std::nullopt);
        const auto actor = entry.actor;
        self->state.context->names->remove(id);
        forget_tokens_of(self->state, id);
        self->unlink_from(actor);
        self->send_exit(actor, caf::exit_reason::user_shutdown);
        reinstate(self, emptied);
        consider_all_nodes(self);
        consider_leavers(self);  // whoever owed it owes that no more
        told({});
      },
      told);
}

void try_to_remove(CoordinatorSelf self, TenantId id, Told told) {
  self->request(self->state.tenants.at(id).actor, caf::infinite, Retire{})
      .then([self, id, told](const Done&) { remove_retired(self, id, told); }, told);
}

using DeparturePromise = caf::typed_response_promise<TenantDeparture>;

/// Deals go by it from here on, so that none lends to the tenant behind the record.
void mark(CoordinatorSelf self, TenantId id, DeparturePromise promise) {
  auto& state = self->state;
  if (state.leavers.contains(id)) return end_turn(self, promise, TenantDeparture{true});
  if (state.beginning_anew) return end_turn(self, promise, not_granting(state));
  TenantRecord leaver;
  leaver.id = id;
  leaver.spec = state.tenants.at(id).spec;
  leaver.spec.leaving = true;
  deal_by(state, nesting_after(state, {leaver}), {});
  self->request(state.context->ledger, caf::infinite, Commit{{TenantLeaves{id}}, 0})
      .then(
          [self, leaver, promise](const Committed&) {
            take_tenant(self, leaver);
            consider_all_nodes(self);
            end_turn(self, promise, TenantDeparture{true});
          },
          [self, promise](const caf::error& error) {
            deal_by(self->state, nesting_of(self->state), {});
            end_turn(self, promise, error);
          });
}

void remove_now(CoordinatorSelf self, const std::string& name, DeparturePromise promise) {
  auto& state = self->state;
  const auto known = state.tenant_ids.find(name);
  if (known == state.tenant_ids.end())
    return end_turn(self, promise,
                    make_error(ErrorCode::not_found, "there is no tenant " + name, "name"));
  const auto id = known->second;
  if (state.nesting.has_tenants(id))
    return end_turn(self, promise,
                    make_error(ErrorCode::wrong_state,
                               "tenant " + name + " has tenants, remove or move them first: " +
                                   list_of(state.nesting.names_in(id)),
                               "name"));
  try_to_remove(self, id, [self, id, promise](const caf::error& error) {
    if (!error) return end_turn(self, promise, TenantDeparture{});
    if (details(error).code == ErrorCode::wrong_state) return mark(self, id, promise);
    end_turn(self, promise, error);
  });
}

void let_go(CoordinatorSelf self, TenantId id) {
  const auto end = [self, id] {
    self->state.letting_go.erase(id);
    end_turn(self);
  };
  if (!self->state.leavers.contains(id)) return end();
  try_to_remove(self, id, [end](const caf::error&) { end(); });
}

}  // namespace

caf::error check_may_leave(const CoordinatorState& state, TenantId id) {
  const std::string& name = state.nesting.spec(id).name;
  const auto view = state.allocation->tenant(id);
  if (view.running_tasks > 0)
    return make_error(ErrorCode::wrong_state, "tenant " + name + " still runs " +
                                                  std::to_string(view.running_tasks) + " tasks");
  if (view.net >= 0 || is_rounding(state, id)) return {};
  return make_error(ErrorCode::wrong_state,
                    "tenant " + name +
                        " owes others (fairwater ledger show), and a debtor is not divided; an "
                        "operator may forgive it: fairwater ledger forgive --debtor " +
                        name + " --reason TEXT");
}

void forgive_rounding(CoordinatorSelf self, TenantId id) {
  if (!is_rounding(self->state, id)) return;
  forgive(
      self,
      {id, parts_of_debt(self->state.allocation->debts_of(id), 1),
       "rounding, of a tenant that leaves"},
      [](const Committed&) {}, [](const caf::error&) {});
}

void note_leaver(CoordinatorState& state, const TenantRecord& record) {
  if (record.spec.leaving)
    state.leavers.insert(record.id);
  else
    state.leavers.erase(record.id);
}

void consider_leaver(CoordinatorSelf self, TenantId id) {
  auto& state = self->state;
  if (!state.leavers.contains(id) || state.beginning_anew) return;
  if (state.allocation->tenant(id).pending_tasks > 0 || check_may_leave(state, id)) return;
  if (!state.letting_go.insert(id).second) return;
  in_turn(self, [self, id] { let_go(self, id); });
}

void consider_leavers(CoordinatorSelf self) {
  for (const TenantId id : self->state.leavers) consider_leaver(self, id);
}

void take_back_leaver(CoordinatorSelf self) {
  auto& state = self->state;
  if (!state.leaving) return;
  auto [id, entry] = *std::exchange(state.leaving, std::nullopt);
  self->send(entry.actor, Reinstate{});
  state.tenant_ids[entry.spec.name] = id;
  if (entry.spec.leaving) state.leavers.insert(id);
  state.tenants.emplace(id, std::move(entry));
}

caf::result<TenantDeparture> answer(CoordinatorSelf self, const RemoveTenant& request) {
  auto promise = self->make_response_promise<TenantDeparture>();
  in_turn(self, [self, request, promise] { remove_now(self, request.name, promise); });
  return promise;
}

}  // namespace fairwater::inline actors::inline coordinator::coordination
