// The frontend's part that has to do with classes: their profiles, and the amounts that a job
// leaves to its class.
#include <utility>

#include "actors/coordinator/frontend_state.hpp"

namespace fairwater::inline actors::inline coordinator::frontend_work {
namespace {

caf::error no_class() {
  return make_error(ErrorCode::invalid_input,
                    "is missing: a profile belongs to a class of jobs (class: in the job file)",
                    "class");
}

/// The name of the tenant whose class is meant, or why it may not be seen.
Expected<std::string> tenant_meant(const Caller& caller, const std::string& wanted) {
  if (caller.role == Role::operator_role) {
    if (!wanted.empty()) return wanted;
    return make_error(ErrorCode::invalid_input,
                      "is missing: an operator's token belongs to no tenant", "tenant");
  }
  if (wanted.empty() || wanted == caller.tenant_name) return caller.tenant_name;
  return make_error(ErrorCode::not_permitted,
                    "this token sees the profiles of " + caller.tenant_name + " only", "tenant");
}

Expected<AdmittedJob> with_profiled(AdmittedJob job, const ClassProfile& profile) {
  auto complete = with_profiled_amounts(std::move(job).take(), profile);
  if (!complete) return complete.error();
  return validate(std::move(*complete));
}

}  // namespace

void with_profile(FrontendSelf self, AdmittedJob job,
                  caf::typed_response_promise<JobAccepted> promise,
                  std::function<void(AdmittedJob&&)> then) {
  const FindTenant owner{job.spec().tenant, {}};
  self->request(self->state.coordinator, caf::infinite, owner)
      .then(
          [self, job = std::move(job), promise, then](const TenantAddress& tenant) mutable {
            QueryProfile wanted{tenant.id, tenant.name, job.spec().job_class};
            self->request(self->state.context->scanner, caf::infinite, std::move(wanted))
                .then(
                    [job, promise, then](const ClassProfile& profile) mutable {
                      auto complete = with_profiled(std::move(job), profile);
                      if (complete)
                        then(std::move(*complete));
                      else
                        promise.deliver(complete.error());
                    },
                    fail(promise));
          },
          fail(promise));
}

caf::result<ClassProfile> answer(FrontendSelf self, const ShowProfile& request) {
  if (request.job_class.empty()) return no_class();
  const auto tenant = tenant_meant(request.caller, request.tenant);
  if (!tenant) return tenant.error();
  auto promise = self->make_response_promise<ClassProfile>();
  self->request(self->state.coordinator, caf::infinite, FindTenant{*tenant, {}})
      .then(
          [scanner = self->state.context->scanner, promise,
           job_class = request.job_class](const TenantAddress& found) mutable {
            promise.delegate(scanner, QueryProfile{found.id, found.name, job_class});
          },
          fail(promise));
  return promise;
}

}  // namespace fairwater::inline actors::inline coordinator::frontend_work
