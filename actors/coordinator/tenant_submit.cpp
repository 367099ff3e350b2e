// How a tenant's jobs are submitted: within its bounds, after what they wait for, and durable
// before the answer.
#include <utility>

#include "actors/coordinator/tenant_state.hpp"

namespace fairwater::tenancy {
namespace {

caf::error being_removed(const TenantActorState& state) {
  return make_error(ErrorCode::not_found,
                    "tenant " + state.tenant_name + " is being removed or divided", "tenant");
}

/// A tenant's own bounds keep its jobs from taking the memory that all share.
caf::error check_room(const TenantActorState& state, const JobSpec& spec) {
  const auto& settings = state.context->settings;
  const auto jobs = state.jobs.size() + state.submitting;
  if (jobs >= settings.max_live_jobs)
    return make_error(ErrorCode::overloaded,
                      "tenant " + state.tenant_name + " has " + std::to_string(jobs) +
                          " unfinished jobs, the most that are admitted; submit again when some "
                          "have ended");
  const auto bytes = state.jobs.bytes() + state.submitting_bytes;
  if (bytes + spec_bytes(spec) > settings.max_live_job_bytes)
    return make_error(ErrorCode::overloaded,
                      "the unfinished jobs of tenant " + state.tenant_name + " have " +
                          std::to_string(bytes) + " bytes of commands and environments; at most " +
                          std::to_string(settings.max_live_job_bytes) +
                          " are admitted: submit again when some have ended, or put what is large "
                          "into files");
  return {};
}

void make_durable(TenantSelf self, const JobSpec& spec,
                  caf::typed_response_promise<JobAccepted> promise) {
  // What was true before its dependencies were asked for may not be any more.
  auto refused = self->state.retired ? being_removed(self->state) : check_room(self->state, spec);
  if (refused) {
    promise.deliver(std::move(refused));
    return;
  }
  const auto bytes = spec_bytes(spec);
  ++self->state.submitting;
  self->state.submitting_bytes += bytes;
  self->request(self->state.context->ledger, caf::infinite,
                Commit{{JobSubmitted{{}, self->state.id, spec}}, 0})
      .then(
          [self, spec, bytes, promise](const Committed& committed) mutable {
            auto& state = self->state;
            --state.submitting;
            state.submitting_bytes -= bytes;
            const auto& receipt = committed.receipts.front();
            const auto id = receipt.job;
            state.jobs.add({submitted_job({id, state.id, spec}, receipt.time), {}, spec.after});
            for (const auto& awaited : spec.after)
              if (!state.jobs.knows(awaited)) ask_dependency(self, awaited);
            refresh(self);
            promise.deliver(JobAccepted{id});
          },
          [self, bytes, promise](const caf::error& error) mutable {
            --self->state.submitting;
            self->state.submitting_bytes -= bytes;
            promise.deliver(error);
          });
}

caf::error never_succeeds(JobId service, const std::string& field) {
  return make_error(ErrorCode::invalid_input,
                    "job " + std::to_string(service.value) +
                        " is a service: it runs until it is cancelled, so what waits for its "
                        "success would wait for ever",
                    field);
}

/// Checks `after`, one job after the other, then makes the submission durable.
void check_dependencies(TenantSelf self, JobSpec spec, std::size_t next,
                        caf::typed_response_promise<JobAccepted> promise) {
  const auto& jobs = self->state.jobs;
  const auto is_live_batch = [&](JobId id) {
    return jobs.knows(id) && jobs.record(id).spec.kind == JobKind::batch;
  };
  while (next < spec.after.size() && is_live_batch(spec.after[next])) ++next;
  if (next == spec.after.size()) {
    make_durable(self, spec, promise);
    return;
  }
  const auto awaited = spec.after[next];
  const auto field = "after[" + std::to_string(next) + "]";
  const auto text = "job " + std::to_string(awaited.value);
  self->request(self->state.context->reader, caf::infinite, GetJob{awaited, {}})
      .then(
          [self, spec = std::move(spec), next, promise, field,
           text](const JobDetail& detail) mutable {
            const auto state = state_of(detail.job);
            if (detail.job.tenant != self->state.id) {
              promise.deliver(
                  make_error(ErrorCode::invalid_input, text + " does not exist", field));
            } else if (detail.job.spec.kind == JobKind::service) {
              promise.deliver(never_succeeds(detail.job.id, field));
            } else if (state == JobState::failed || state == JobState::cancelled) {
              promise.deliver(make_error(
                  ErrorCode::invalid_input,
                  text + " has not succeeded: it is " + std::string(to_string(state)), field));
            } else {
              check_dependencies(self, std::move(spec), next + 1, promise);
            }
          },
          [promise, field, text](const caf::error& error) mutable {
            const bool is_missing = details(error).code == ErrorCode::not_found;
            promise.deliver(
                is_missing ? make_error(ErrorCode::invalid_input, text + " does not exist", field)
                           : error);
          });
}

}  // namespace

caf::result<JobAccepted> submit(TenantSelf self, Submit& request) {
  if (self->state.retired) return being_removed(self->state);
  auto promise = self->make_response_promise<JobAccepted>();
  check_dependencies(self, std::move(request.spec), 0, promise);
  return promise;
}

}  // namespace fairwater::tenancy
