#include "actors/coordinator/visible.hpp"

#include <set>
#include <string>

namespace fairwater::inline actors::inline coordinator {

caf::error no_such_job(JobId id) {
  return make_error(ErrorCode::not_found, "there is no job " + std::to_string(id.value), "id");
}

LedgerView visible_part(const Caller& caller, LedgerView view) {
  if (caller.role == Role::operator_role) return view;
  std::erase_if(view.ious, [&](const IouBook::Iou& iou) {
    return iou.debtor != caller.tenant.value && iou.creditor != caller.tenant.value;
  });
  std::set<TenantId> partners;
  for (const auto& iou : view.ious)
    partners.insert(TenantId{iou.debtor == caller.tenant.value ? iou.creditor : iou.debtor});
  for (const auto& tenant : view.tenants)
    if (partners.contains(tenant.id)) view.counterparties.emplace(tenant.id, tenant.spec.name);
  std::erase_if(view.tenants, [&](const TenantRecord& t) { return t.id != caller.tenant; });
  std::erase_if(view.net, [&](const auto& entry) { return entry.first != caller.tenant; });
  return view;
}

Deal visible_part(const Caller& caller, Deal deal) {
  const auto sees = [&](TenantId tenant) { return may_see(caller, tenant); };
  std::erase_if(deal.grants, [&](const Grant& grant) { return !sees(grant.tenant); });
  std::erase_if(deal.lines, [&](const TenantLine& line) { return !sees(line.tenant); });
  std::erase_if(deal.repayments, [&](const Repayment& repayment) {
    return !sees(repayment.debtor) && !sees(repayment.creditor);
  });
  std::erase_if(deal.loans,
                [&](const Loan& loan) { return !sees(loan.borrower) && !sees(loan.lender); });
  if (deal.reservation && !sees(deal.reservation->tenant)) deal.reservation.reset();
  return deal;
}

caf::error check_listing(const Caller& caller, const JobQuery& query) {
  if (caller.role == Role::operator_role || query.tenant.empty() ||
      query.tenant == caller.tenant_name)
    return {};
  return make_error(ErrorCode::not_permitted,
                    "this token sees the jobs of " + caller.tenant_name + " only", "tenant");
}

caf::error check_usage(const Caller& caller, const UsageQuery& query) {
  if (query.first_day > query.last_day)
    return make_error(
        ErrorCode::invalid_input,
        iso_date(query.last_day) + " is before the first day, " + iso_date(query.first_day),
        "last_day");
  if (caller.role == Role::operator_role || query.tenant.empty() ||
      query.tenant == caller.tenant_name)
    return {};
  return make_error(ErrorCode::not_permitted,
                    "this token sees what " + caller.tenant_name + " used only", "tenant");
}

}  // namespace fairwater::inline actors::inline coordinator
