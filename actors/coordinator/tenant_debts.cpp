// Debts that an operator forgives.
#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/coordinator/state.hpp"
#include "model/balances.hpp"
#include "model/text.hpp"

namespace fairwater::inline actors::inline coordinator::coordination {
namespace {

Expected<TenantId> tenant_named(const CoordinatorState& state, const std::string& name,
                                const char* field) {
  const auto known = state.tenant_ids.find(name);
  if (known != state.tenant_ids.end()) return known->second;
  return make_error(ErrorCode::not_found, "there is no tenant '" + name + "'", field);
}

std::string name_of(const CoordinatorState& state, TenantId tenant) {
  const auto known = state.tenants.find(tenant);
  return known == state.tenants.end() ? "tenant-" + std::to_string(tenant.value)
                                      : known->second.spec.name;
}

caf::error owes_nothing(const CoordinatorState& state, const ForgiveDebt& request,
                        const std::vector<IouBook::Iou>& debts) {
  if (request.creditor.empty() || debts.empty())
    return make_error(ErrorCode::wrong_state, "tenant " + request.debtor + " owes nothing",
                      "debtor");
  std::string creditors;
  for (const IouBook::Iou& debt : debts)
    creditors += (creditors.empty() ? "" : ", ") + name_of(state, TenantId{debt.creditor});
  return make_error(
      ErrorCode::wrong_state,
      "tenant " + request.debtor + " owes " + request.creditor + " nothing; it owes " + creditors,
      "creditor");
}

/// What of its debts the request is for.
Expected<std::vector<ForgivenDebt>> plan(const CoordinatorState& state, const ForgiveDebt& request,
                                         TenantId debtor) {
  std::vector<IouBook::Iou> debts = state.allocation->debts_of(debtor);
  if (!request.creditor.empty()) {
    const auto creditor = tenant_named(state, request.creditor, "creditor");
    if (!creditor) return creditor.error();
    std::vector<IouBook::Iou> all = std::exchange(debts, {});
    for (const IouBook::Iou& debt : all)
      if (debt.creditor == creditor->value) debts.push_back(debt);
    if (debts.empty()) return owes_nothing(state, request, all);
  }
  if (debts.empty()) return owes_nothing(state, request, debts);
  if (request.amount.empty()) return parts_of_debt(debts, kUnlimited);
  const auto amount = parse_balance(request.amount, state.context->measure, "amount");
  if (!amount) return amount.error();
  return parts_of_debt(debts, *amount);
}

DebtsForgiven describe(const CoordinatorState& state, TenantId debtor,
                       const std::vector<ForgivenDebt>& debts) {
  DebtsForgiven described;
  described.measure = state.context->measure;
  for (const IouBook::Iou& debt : state.allocation->debts_of(debtor)) described.left += debt.units;
  for (const ForgivenDebt& debt : debts) {
    described.shares.push_back({name_of(state, debt.creditor), debt.units});
    described.left -= debt.units;
  }
  return described;
}

}  // namespace

void forgive(CoordinatorSelf self, DebtForgiven forgiven,
             std::function<void(const Committed&)> then,
             std::function<void(const caf::error&)> failed) {
  self->state.allocation->forgive(forgiven.debtor, forgiven.debts);
  commit_chained(self, std::move(forgiven), std::move(then), std::move(failed));
}

caf::result<DebtsForgiven> answer(CoordinatorSelf self, const ForgiveDebt& request) {
  auto& state = self->state;
  if (request.reason.empty())
    return make_error(ErrorCode::invalid_input, "say why it is forgiven; the journal keeps it",
                      "reason");
  if (auto too_long = validate_reason(request.reason)) return too_long;
  const auto debtor = tenant_named(state, request.debtor, "debtor");
  if (!debtor) return debtor.error();
  if (state.beginning_anew) return not_granting(state);
  if (!request.dry_run) settle_time(self);  // what it held last may be what it owes
  auto debts = plan(state, request, *debtor);
  if (!debts) return debts.error();
  auto described = describe(state, *debtor, *debts);
  if (request.dry_run) return described;
  auto promise = self->make_response_promise<DebtsForgiven>();
  forgive(
      self, {*debtor, std::move(*debts), request.reason},
      [self, promise, described = std::move(described), debtor = request.debtor,
       reason = request.reason](const Committed&) mutable {
        spdlog::warn("an operator forgives tenant {} debts to {} others: {}", debtor,
                     described.shares.size(), one_line(reason, kMaxReasonBytes));
        consider_all_nodes(self);
        consider_leavers(self);
        promise.deliver(std::move(described));
      },
      [promise](const caf::error& error) mutable { promise.deliver(error); });
  return promise;
}

}  // namespace fairwater::inline actors::inline coordinator::coordination
