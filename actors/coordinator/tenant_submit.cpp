// How a tenant's jobs are submitted: once for each request id, within its bounds, after what they
// wait for, and durable before the answer.
#include <utility>

#include "actors/coordinator/repeated_submission.hpp"
#include "actors/coordinator/tenant_state.hpp"
#include "policy/core/check.hpp"

namespace fairwater::inline actors::inline coordinator::tenancy {
namespace {

caf::error being_removed(const TenantActorState& state) {
  return make_error(ErrorCode::not_found,
                    "tenant " + state.tenant_name + " is being removed or divided", "tenant");
}

caf::error is_leaving(const TenantActorState& state) {
  return make_error(ErrorCode::wrong_state,
                    "tenant " + state.tenant_name +
                        " is leaving and takes no jobs any more; it stays when an operator applies "
                        "it again: fairwater tenant apply FILE",
                    "tenant");
}

/// A coordinator with other bounds may come: agents and coordinators bound a job's lease anew by
/// what they are told (model/lease.hpp).
caf::error check_lease(const TenantActorState& state, const JobSpec& spec) {
  const LeaseBounds& leases = state.context->leases;
  if (spec.lease_ms == 0 || spec.lease_ms == leases.lease_of(spec.lease_ms)) return {};
  return make_error(ErrorCode::invalid_input,
                    std::to_string(spec.lease_ms) + " ms is not between the cluster's lease, " +
                        std::to_string(leases.ordinary_ms) + " ms, and the longest, " +
                        std::to_string(leases.longest_ms) +
                        " ms (longest_lease in coordinator.yaml); leave it out for the cluster's",
                    "lease");
}

/// The job's own is noted with it, so that what its tasks have does not change with the
/// configuration of a later coordinator.
void give_lease(const TenantActorState& state, JobSpec& spec) {
  const auto& of_class = state.context->settings.class_leases_ms;
  const auto lease = of_class.find(spec.job_class);
  if (spec.lease_ms == 0 && lease != of_class.end()) spec.lease_ms = lease->second;
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

/// Who submits.
struct Submitter {
  SubmissionRequest request;
  bool is_operator = false;
  caf::typed_response_promise<JobAccepted> promise;
};

void deliver(caf::typed_response_promise<JobAccepted>& promise,
             const Expected<JobAccepted>& answer) {
  if (answer)
    promise.deliver(*answer);
  else
    promise.deliver(answer.error());
}

/// Whoever repeated the submission meanwhile hears the same.
void finish(TenantSelf self, Submitter submitter, const Expected<JobAccepted>& answer) {
  deliver(submitter.promise, answer);
  if (submitter.request.id.empty()) return;
  auto under_way = self->state.requested.extract(submitter.request.id);
  for (auto& promise : under_way.mapped().repeated) deliver(promise, answer);
}

/// It is on its way no more: durable, or refused.
void note_submitted(TenantActorState& state, std::size_t bytes) {
  FAIRWATER_CHECK(state.submitting > 0 && state.submitting_bytes >= bytes,
                  "a submission that is under way ends once");
  --state.submitting;
  state.submitting_bytes -= bytes;
}

void make_durable(TenantSelf self, AdmittedJob job, const Submitter& submitter) {
  // What was true before its dependencies were asked for may not be any more.
  auto refused = self->state.retired   ? being_removed(self->state)
                 : self->state.leaving ? is_leaving(self->state)
                                       : check_room(self->state, job.spec());
  if (!refused) refused = check_lease(self->state, job.spec());
  if (refused) return finish(self, submitter, refused);
  JobSpec spec = std::move(job).take();
  give_lease(self->state, spec);
  const auto bytes = spec_bytes(spec);
  ++self->state.submitting;
  self->state.submitting_bytes += bytes;
  Commit commit;
  commit.bodies.emplace_back(JobSubmitted{{}, self->state.id, spec, submitter.request});
  self->request(self->state.context->ledger, caf::infinite, std::move(commit))
      .then(
          [self, spec = std::move(spec), bytes, submitter](const Committed& committed) mutable {
            auto& state = self->state;
            note_submitted(state, bytes);
            const auto& receipt = committed.receipts.front();
            const auto id = receipt.job;
            JobRecord job = submitted_job({id, state.id, std::move(spec)}, receipt.time);
            const std::vector<JobId> after = job.spec.after;
            state.jobs.add({std::move(job), {}, after});
            for (const auto& awaited : after)
              if (!state.jobs.knows(awaited)) ask_dependency(self, awaited);
            const JobSpec& submitted = state.jobs.record(id).spec;
            if (is_elastic(submitted) && !submitted.job_class.empty())
              learn_limits(self, submitted.job_class);
            refresh(self);
            finish(self, submitter, JobAccepted{id});
          },
          [self, bytes, submitter](const caf::error& error) {
            note_submitted(self->state, bytes);
            refresh(self);  // one that leaves may have waited for this
            finish(self, submitter, error);
          });
}

caf::error never_succeeds(JobId service, const std::string& field) {
  return make_error(ErrorCode::invalid_input,
                    "job " + std::to_string(service.value) +
                        " is a service: it runs until it is cancelled, so what waits for its "
                        "success would wait for ever",
                    field);
}

/// Why a job that has not succeeded, or is none of the tenant's, cannot be waited for. A tenant
/// learns nothing of others' jobs, not even that they exist.
caf::error check_awaited(const TenantActorState& state, const JobRecord& job, bool is_operator,
                         const std::string& field) {
  const auto text = "job " + std::to_string(job.id.value);
  if (job.tenant != state.id)
    return make_error(ErrorCode::invalid_input,
                      text + (is_operator ? " belongs to another tenant; jobs wait for jobs of "
                                            "their own tenant, here " +
                                                state.tenant_name
                                          : " does not exist"),
                      field);
  if (job.spec.kind == JobKind::service) return never_succeeds(job.id, field);
  const auto ended = state_of(job);
  if (ended != JobState::failed && ended != JobState::cancelled) return {};
  return make_error(ErrorCode::invalid_input,
                    text + " has not succeeded: it is " + std::string(to_string(ended)), field);
}

/// Checks `after`, one job after the other, then makes the submission durable.
void check_dependencies(TenantSelf self, AdmittedJob job, std::size_t next, Submitter submitter) {
  const std::vector<JobId>& after = job.spec().after;
  const auto& jobs = self->state.jobs;
  const auto is_live_batch = [&](JobId id) {
    return jobs.knows(id) && jobs.record(id).spec.kind == JobKind::batch;
  };
  while (next < after.size() && is_live_batch(after[next])) ++next;
  if (next == after.size()) return make_durable(self, std::move(job), submitter);
  const auto awaited = after[next];
  const auto field = "after[" + std::to_string(next) + "]";
  self->request(self->state.context->reader, caf::infinite, GetJob{awaited, {}})
      .then(
          [self, job = std::move(job), next, submitter, field](const JobDetail& detail) mutable {
            if (auto refused = check_awaited(self->state, detail.job, submitter.is_operator, field))
              finish(self, submitter, refused);
            else
              check_dependencies(self, std::move(job), next + 1, submitter);
          },
          [self, submitter, field, awaited](const caf::error& error) {
            const bool is_missing = details(error).code == ErrorCode::not_found;
            const auto text = "job " + std::to_string(awaited.value) + " does not exist";
            finish(self, submitter,
                   is_missing ? make_error(ErrorCode::invalid_input, text, field) : error);
          });
}

/// What the ledger knows already is not submitted again.
void look_for_first(TenantSelf self, AdmittedJob job, Submitter submitter) {
  self->request(self->state.context->reader, caf::infinite,
                FindRequest{self->state.id, submitter.request.id})
      .then(
          [self, job = std::move(job), submitter](const FoundRequest& found) mutable {
            if (found.first)
              finish(self, submitter, answer_again(submitter.request, *found.first));
            else
              check_dependencies(self, std::move(job), 0, submitter);
          },
          [self, submitter](const caf::error& error) { finish(self, submitter, error); });
}

}  // namespace

caf::result<JobAccepted> submit(TenantSelf self, Submit& request) {
  if (self->state.retired) return being_removed(self->state);
  Submitter submitter{std::move(request.request), request.by_operator,
                      self->make_response_promise<JobAccepted>()};
  const auto& id = submitter.request.id;
  if (id.empty()) {
    check_dependencies(self, std::move(request.job), 0, submitter);
    return submitter.promise;
  }
  const auto [under_way, is_first] =
      self->state.requested.try_emplace(id, SubmissionUnderWay{submitter.request.hash, {}});
  if (is_first)
    look_for_first(self, std::move(request.job), submitter);
  else if (under_way->second.hash == submitter.request.hash)
    under_way->second.repeated.push_back(submitter.promise);
  else
    submitter.promise.deliver(request_id_taken(id, "a job that is just being submitted"));
  return submitter.promise;
}

}  // namespace fairwater::inline actors::inline coordinator::tenancy
