// The frontend's part that has to do with jobs: submitting, listing, explaining, logs.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "actors/coordinator/frontend_state.hpp"
#include "actors/coordinator/repeated_submission.hpp"
#include "schema/codec.hpp"
#include "storage/fold.hpp"

namespace fairwater::inline actors::inline coordinator::frontend_work {
namespace {

caf::error no_such_task(const JobRecord& job) {
  const auto last = job.tasks.total - 1;
  return make_error(ErrorCode::invalid_input,
                    last == 0 ? "the job has one task, number 0"
                              : "the job has tasks 0 to " + std::to_string(last),
                    "task");
}

std::string user_text(const std::string& user) { return user.empty() ? "no user" : "user " + user; }

/// A token with a user is for that user's jobs; one without is for all of the tenant's.
bool may_cancel(const Caller& caller, const JobRecord& job) {
  return caller.role == Role::operator_role || caller.user.empty() || caller.user == job.spec.user;
}

caf::error not_its_user(const Caller& caller, const JobRecord& job) {
  return make_error(ErrorCode::not_permitted,
                    "job " + std::to_string(job.id.value) + " belongs to " +
                        user_text(job.spec.user) + " of tenant " + job.spec.tenant +
                        "; this token is " + user_text(caller.user) +
                        "'s, which may cancel its own jobs only",
                    "id");
}

/// Reads the job, checks that the caller may see it, goes on with `then(detail)`.
template <class T, class Then>
void with_job(FrontendSelf self, const Caller& caller, JobId id, TaskRange tasks,
              caf::typed_response_promise<T> promise, Then then) {
  self->request(self->state.context->reader, caf::infinite, GetJob{id, tasks})
      .then(
          [caller, id, promise, then = std::move(then)](JobDetail& detail) mutable {
            if (!may_see(caller, detail.job.tenant)) {
              promise.deliver(no_such_job(id));
              return;
            }
            then(detail);
          },
          fail(promise));
}

/// Goes on with the tenant's actor; a job of a removed tenant has none.
template <class T, class Then>
void with_tenant(FrontendSelf self, TenantId tenant, caf::typed_response_promise<T> promise,
                 Then then) {
  self->request(self->state.coordinator, caf::infinite, FindTenant{"", tenant})
      .then([then = std::move(then)](const TenantAddress& address) mutable { then(address.actor); },
            fail(promise));
}

/// The attempt whose log is the task's: the running one, else the last that ended.
std::optional<TaskKey> attempt_with_log(JobId job, std::uint32_t index, const TaskRecord& record) {
  if (record.state == TaskState::running) return run_of(job, index, record);
  if (record.result) return record.result->task;
  return std::nullopt;
}

/// `runs`: so the coordinator holds.
void read_log_at(FrontendSelf self, caf::typed_response_promise<LogChunk> promise,
                 const NodeActor& node, const ReadAgentLog& ask, bool runs) {
  self->request(node, std::chrono::seconds(20), ask)
      .then([promise](const LogChunk& chunk) mutable { promise.deliver(chunk); },
            [promise, runs](const caf::error& error) mutable {
              // Granted a moment ago: its order is still on the way to the agent.
              if (runs && details(error).code == ErrorCode::not_found)
                promise.deliver(LogChunk{});
              else
                promise.deliver(error);
            });
}

/// With the names that it refers to.
void deliver_explanation(FrontendSelf self, caf::typed_response_promise<Explanation> promise,
                         Explanation explanation) {
  explanation.names = self->state.context->names->names_in(explanation);
  promise.deliver(std::move(explanation));
}

void explain_placed(FrontendSelf self, const Caller& caller,
                    caf::typed_response_promise<Explanation> promise, Explanation explanation) {
  const auto& record = explanation.task.record;
  self->request(self->state.context->reader, caf::infinite, GetRecord{record.grant_cycle})
      .then(
          [self, caller, promise, explanation](const FoundRecord& found) mutable {
            explanation.grant_cycle = found.record.number;
            if (const auto* cycle = std::get_if<Cycle>(&found.record.body))
              for (const auto& deal : cycle->deals)
                for (const auto& grant : deal.grants)
                  if (grant.task.job == explanation.job.id &&
                      grant.task.index == explanation.task.index)
                    explanation.deal = visible_part(caller, deal);
            deliver_explanation(self, promise, std::move(explanation));
          },
          fail(promise));
}

/// That a task is not among those that its tenant offers is no news where the tenant has said why.
void add_obstacles(Explanation& explanation, const WaitingDescription& more) {
  auto& obstacles = explanation.obstacles;
  const bool has_why = std::any_of(obstacles.begin(), obstacles.end(),
                                   [](const Obstacle& known) { return known.code != "user"; });
  std::copy_if(more.obstacles.begin(), more.obstacles.end(), std::back_inserter(obstacles),
               [&](const Obstacle& found) { return !has_why || found.code != "order"; });
}

void explain_waiting(FrontendSelf self, const Caller& caller,
                     caf::typed_response_promise<Explanation> promise, Explanation explanation) {
  const auto job = explanation.job.id;
  const auto index = explanation.task.index;
  const auto tenant = explanation.job.tenant;
  with_tenant(self, tenant, promise, [=](const TenantActor& actor) mutable {
    self->request(actor, caf::infinite, DescribeWaiting{job, index})
        .then(
            [=](const WaitingDescription& own) mutable {
              add_obstacles(explanation, own);
              self->request(self->state.coordinator, caf::infinite,
                            ExplainWaiting{tenant, job, index, caller})
                  .then(
                      [=](const WaitingDescription& shared) mutable {
                        add_obstacles(explanation, shared);
                        explanation.mark = shared.mark;
                        explanation.expected_start = shared.expected_start;
                        deliver_explanation(self, promise, std::move(explanation));
                      },
                      fail(promise));
            },
            fail(promise));
  });
}

/// When the next of its tasks is expected to start, where one waits.
void deliver_with_start(FrontendSelf self, caf::typed_response_promise<JobDetail> promise,
                        JobDetail detail) {
  if (detail.job.cancelled || detail.job.tasks.pending() == 0) {
    promise.deliver(std::move(detail));
    return;
  }
  self->request(self->state.coordinator, caf::infinite,
                GetExpectedStart{detail.job.tenant, detail.job.id})
      .then(
          [promise, detail = std::move(detail)](const ExpectedStart& start) mutable {
            detail.expected_start = start.at;
            promise.deliver(std::move(detail));
          },
          fail(promise));
}

/// With what the coordinator found: amounts of the devices that the job names, and no step of
/// memory that no node could give.
Expected<AdmittedJob> as_nodes_allow(AdmittedJob job, const TenantAddress& tenant) {
  const std::size_t steps = job.spec().profiled.memory_steps.size();
  if (tenant.of_devices.empty() && tenant.memory_steps == steps) return job;
  JobSpec spec = std::move(job).take();
  spec.profiled.memory_steps.resize(tenant.memory_steps);
  for (const auto& [resource, amount] : tenant.of_devices) spec.resources[resource] = amount;
  return validate(std::move(spec));
}

/// What a client says beside the job.
struct Submission {
  SubmissionRequest request;
  bool by_operator = false;
};

/// Hands the job to its tenant if some node could run it.
void admit(FrontendSelf self, AdmittedJob job, Submission submission,
           caf::typed_response_promise<JobAccepted> promise) {
  self->request(self->state.coordinator, caf::infinite, AdmitJob{job})
      .then(
          [promise, job = std::move(job), submission](const TenantAddress& tenant) mutable {
            auto allowed = as_nodes_allow(std::move(job), tenant);
            if (allowed)
              promise.delegate(tenant.actor,
                               Submit{std::move(*allowed), std::move(submission.request),
                                      submission.by_operator});
            else
              promise.deliver(allowed.error());
          },
          fail(promise));
}

void submit_new(FrontendSelf self, AdmittedJob job, Submission submission,
                caf::typed_response_promise<JobAccepted> promise) {
  if (!job.spec().profiled.wanted())
    return admit(self, std::move(job), std::move(submission), std::move(promise));
  with_profile(self, std::move(job), promise,
               [self, submission = std::move(submission), promise](AdmittedJob&& complete) {
                 admit(self, std::move(complete), submission, promise);
               });
}

/// What was submitted before under its request id is answered so, also where it would not be
/// admitted now: its class has run since, its nodes are gone.
void submit_once(FrontendSelf self, AdmittedJob job, Submission submission,
                 caf::typed_response_promise<JobAccepted> promise) {
  const FindTenant owner{job.spec().tenant, {}};
  self->request(self->state.coordinator, caf::infinite, owner)
      .then(
          [=](const TenantAddress& tenant) mutable {
            self->request(self->state.context->reader, caf::infinite,
                          FindRequest{tenant.id, submission.request.id})
                .then(
                    [=](const FoundRequest& found) mutable {
                      if (!found.first)
                        return submit_new(self, std::move(job), std::move(submission), promise);
                      const auto answer = answer_again(submission.request, *found.first);
                      if (answer)
                        promise.deliver(*answer);
                      else
                        promise.deliver(answer.error());
                    },
                    fail(promise));
          },
          [=](const caf::error&) mutable {  // what there is to say of it is said there
            submit_new(self, std::move(job), std::move(submission), promise);
          });
}

}  // namespace

caf::result<JobAccepted> answer(FrontendSelf self, const SubmitJob& request) {
  JobSpec spec = request.spec;
  if (request.caller.role == Role::tenant) {
    if (spec.tenant.empty()) spec.tenant = request.caller.tenant_name;
    if (spec.tenant != request.caller.tenant_name)
      return make_error(
          ErrorCode::not_permitted,
          "this token belongs to tenant " + request.caller.tenant_name + ", not " + spec.tenant,
          "tenant");
    if (!spec.user.empty() && spec.user != request.caller.user)
      return make_error(ErrorCode::not_permitted,
                        "this token belongs to " + user_text(request.caller.user) + ", not " +
                            user_text(spec.user) + "; a job's user is its token's",
                        "user");
    spec.user = request.caller.user;
  }
  // Only what is wanted is the client's to say.
  spec.profiled = {.all = spec.profiled.all, .resources = std::move(spec.profiled.resources)};
  auto job = validate(std::move(spec));
  if (!job) return job.error();
  const std::string& id = request.request_id;
  if (!id.empty())
    if (auto wrong = validate_request_id(id)) return wrong;
  auto promise = self->make_response_promise<JobAccepted>();
  const bool by_operator = request.caller.role == Role::operator_role;
  if (id.empty()) {
    submit_new(self, std::move(*job), {{}, by_operator}, promise);
  } else {
    SubmissionRequest named{id, hash_of(to_bytes(job->spec()))};
    submit_once(self, std::move(*job), {std::move(named), by_operator}, promise);
  }
  return promise;
}

caf::result<JobList> answer(FrontendSelf self, const ListJobs& request) {
  const auto& scanner = self->state.context->scanner;
  const auto& query = request.query;
  const auto& caller = request.caller;
  if (auto refused = check_listing(caller, query)) return refused;
  if (caller.role == Role::tenant) return self->delegate(scanner, QueryJobs{caller.tenant, query});
  if (query.tenant.empty()) return self->delegate(scanner, QueryJobs{TenantId{}, query});
  auto promise = self->make_response_promise<JobList>();
  self->request(self->state.coordinator, caf::infinite, FindTenant{query.tenant, {}})
      .then(
          [promise, scanner, query](const TenantAddress& tenant) mutable {
            promise.delegate(scanner, QueryJobs{tenant.id, query});
          },
          fail(promise));
  return promise;
}

caf::result<JobDetail> answer(FrontendSelf self, const ShowJob& request) {
  auto promise = self->make_response_promise<JobDetail>();
  with_job(self, request.caller, request.id, TaskRange{request.first_task, kMaxTasksInAnswer},
           promise, [self, promise, request](JobDetail& detail) mutable {
             const auto end = request.first_task + detail.tasks.size();
             detail.more = end < detail.job.tasks.total;
             for (auto& task : detail.tasks)
               task.node = self->state.context->names->name_of(task.record.node);
             deliver_with_start(self, promise, std::move(detail));
           });
  return promise;
}

caf::result<Done> answer(FrontendSelf self, const CancelJob& request) {
  if (auto too_long = validate_reason(request.reason)) return too_long;
  auto promise = self->make_response_promise<Done>();
  with_job(self, request.caller, request.id, {}, promise,
           [self, promise, request](const JobDetail& detail) mutable {
             if (!may_cancel(request.caller, detail.job)) {
               promise.deliver(not_its_user(request.caller, detail.job));
               return;
             }
             const auto state = state_of(detail.job);
             if (is_terminal(state)) {
               promise.deliver(make_error(ErrorCode::wrong_state,
                                          "job " + std::to_string(request.id.value) +
                                              " has ended already: it is " +
                                              std::string(to_string(state)),
                                          "id"));
               return;
             }
             with_tenant(self, detail.job.tenant, promise,
                         [promise, request](const TenantActor& tenant) mutable {
                           promise.delegate(tenant, Cancel{request.id, request.reason});
                         });
           });
  return promise;
}

caf::result<JobRecord> answer(FrontendSelf self, const WaitJob& request) {
  auto promise = self->make_response_promise<JobRecord>();
  auto read_again = [self, promise, request] {
    with_job(self, request.caller, request.id, {}, promise,
             [promise](const JobDetail& detail) mutable { promise.deliver(detail.job); });
  };
  with_job(self, request.caller, request.id, {}, promise,
           [self, promise, request, read_again](const JobDetail& detail) mutable {
             if (is_terminal(state_of(detail.job))) {
               promise.deliver(detail.job);
               return;
             }
             with_tenant(self, detail.job.tenant, promise,
                         [self, promise, request, read_again](const TenantActor& tenant) mutable {
                           self->request(tenant, caf::infinite, Wait{request.id, request.wait_ms})
                               .then([read_again](const Done&) mutable { read_again(); },
                                     fail(promise));
                         });
           });
  return promise;
}

caf::result<Explanation> answer(FrontendSelf self, const ExplainTask& request) {
  auto promise = self->make_response_promise<Explanation>();
  with_job(self, request.caller, request.id, TaskRange{request.index, 1}, promise,
           [self, promise, request](const JobDetail& detail) mutable {
             if (detail.tasks.empty()) {
               promise.deliver(no_such_task(detail.job));
               return;
             }
             Explanation explanation;
             explanation.job = detail.job;
             explanation.task = detail.tasks.front();
             const auto& context = *self->state.context;
             explanation.task.node = context.names->name_of(explanation.task.record.node);
             explanation.measure = context.measure;
             if (explanation.task.record.state == TaskState::pending) {
               explain_waiting(self, request.caller, promise, std::move(explanation));
             } else if (explanation.task.record.grant_cycle != 0) {
               explain_placed(self, request.caller, promise, std::move(explanation));
             } else {  // cancelled while it waited
               deliver_explanation(self, promise, std::move(explanation));
             }
           });
  return promise;
}

caf::result<LogChunk> answer(FrontendSelf self, const ReadLog& request) {
  auto promise = self->make_response_promise<LogChunk>();
  with_job(self, request.caller, request.id, TaskRange{request.index, 1}, promise,
           [self, promise, request](const JobDetail& detail) mutable {
             if (detail.tasks.empty()) {
               promise.deliver(no_such_task(detail.job));
               return;
             }
             const auto attempt =
                 attempt_with_log(request.id, request.index, detail.tasks.front().record);
             if (!attempt) {
               promise.deliver(make_error(ErrorCode::wrong_state,
                                          "task " + std::to_string(request.index) + " of job " +
                                              std::to_string(request.id.value) +
                                              " has not started, there is no log",
                                          "task"));
               return;
             }
             const TaskRecord& record = detail.tasks.front().record;
             const ReadAgentLog ask{*attempt, request.standard_error, request.offset};
             self->request(self->state.coordinator, caf::infinite, FindNode{record.node})
                 .then(
                     [self, promise, ask,
                      runs = record.state == TaskState::running](const NodeAddress& address) {
                       read_log_at(self, promise, address.actor, ask, runs);
                     },
                     fail(promise));
           });
  return promise;
}

}  // namespace fairwater::inline actors::inline coordinator::frontend_work
