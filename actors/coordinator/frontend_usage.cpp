// The frontend's part that has to do with what was used.
#include "actors/coordinator/frontend_state.hpp"

namespace fairwater::inline actors::inline coordinator::frontend_work {

caf::result<UsageList> answer(FrontendSelf self, const QueryUsage& request) {
  const Caller& caller = request.caller;
  if (auto refused = check_usage(caller, request.query)) return refused;
  const TenantId of = caller.role == Role::operator_role ? TenantId{} : caller.tenant;
  return self->delegate(self->state.context->scanner, QuerySums{request.query, of});
}

}  // namespace fairwater::inline actors::inline coordinator::frontend_work
