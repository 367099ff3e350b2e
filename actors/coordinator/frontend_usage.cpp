// The frontend's part that has to do with what was used.
#include "actors/coordinator/frontend_state.hpp"

namespace fairwater::frontend_work {

caf::result<UsageList> answer(FrontendSelf self, const QueryUsage& request) {
  const Caller& caller = request.caller;
  const UsageQuery& query = request.query;
  if (query.first_day > query.last_day)
    return make_error(
        ErrorCode::invalid_input,
        iso_date(query.last_day) + " is before the first day, " + iso_date(query.first_day),
        "last_day");
  if (caller.role == Role::operator_role)
    return self->delegate(self->state.context->scanner, QuerySums{query, {}});
  if (!query.tenant.empty() && query.tenant != caller.tenant_name)
    return make_error(ErrorCode::not_permitted,
                      "this token sees what " + caller.tenant_name + " used only", "tenant");
  return self->delegate(self->state.context->scanner, QuerySums{query, caller.tenant});
}

}  // namespace fairwater::frontend_work
