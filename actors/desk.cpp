#include "actors/desk.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <caf/all.hpp>

#include "actors/cluster.hpp"

namespace fairwater {
namespace {

/// Tasks of one job in one answer; a larger job's listing ends there (see docs/architecture.md).
constexpr std::uint32_t kMaxTasksShown = 10'000;

struct DeskState {
  static inline const char* name = "desk";
  std::shared_ptr<const ClusterContext> context;
  CoordinatorActor coordinator;
};

using DeskSelf = DeskActor::stateful_pointer<DeskState>;

/// Answers `promise` with whatever error a part of the work ended in.
template <class T>
auto fail(caf::typed_response_promise<T> promise) {
  return [promise](const caf::error& error) mutable { promise.deliver(error); };
}

caf::error operator_only(const Caller& caller) {
  if (caller.role == Role::operator_role) return {};
  return make_error(ErrorCode::not_permitted, "only the operator may do this");
}

bool may_see(const Caller& caller, TenantId tenant) {
  return caller.role == Role::operator_role || caller.tenant == tenant;
}

/// Somebody else's job is as good as none: whether it exists is nobody else's business.
caf::error no_such_job(JobId id) {
  return make_error(ErrorCode::not_found, "there is no job " + std::to_string(id.value), "id");
}

/// Reads the job, checks that the caller may see it, goes on with `then(detail)`.
template <class T, class Then>
void with_job(DeskSelf self, const Caller& caller, JobId id, TaskRange tasks,
              caf::typed_response_promise<T> promise, Then then) {
  self->request(self->state.context->reader, caf::infinite, GetJob{id, tasks})
      .then(
          [caller, id, promise, then = std::move(then)](const JobDetail& detail) mutable {
            if (!may_see(caller, detail.job.tenant)) {
              promise.deliver(no_such_job(id));
              return;
            }
            then(detail);
          },
          fail(promise));
}

template <class T, class Then>
void with_names(DeskSelf self, caf::typed_response_promise<T> promise, Then then) {
  self->request(self->state.coordinator, caf::infinite, GetNames{})
      .then([then = std::move(then)](const Names& names) mutable { then(names.table); },
            fail(promise));
}

/// Goes on with the tenant's actor; a job of a removed tenant has none.
template <class T, class Then>
void with_tenant(DeskSelf self, TenantId tenant, caf::typed_response_promise<T> promise,
                 Then then) {
  self->request(self->state.coordinator, caf::infinite, FindTenant{"", tenant})
      .then([then = std::move(then)](const TenantAddress& address) mutable { then(address.actor); },
            fail(promise));
}

std::string name_of(const NameTable& names, NodeId node) {
  const auto place = names.nodes.find(node);
  return place == names.nodes.end() ? std::string{} : place->second;
}

// -- logging in, tenants
// ---------------------------------------------------------------------------

caf::result<Caller> login(DeskSelf self, const Login& request) {
  auto promise = self->make_response_promise<Caller>();
  self->request(self->state.context->reader, caf::infinite, FindToken{request.token_hash})
      .then(
          [self, promise](const FoundToken& found) mutable {
            const auto& grant = found.grant;
            if (grant.role == Role::operator_role) {
              promise.deliver(Caller{grant.role, {}, ""});
            } else if (grant.role == Role::join) {
              promise.deliver(make_error(ErrorCode::not_permitted,
                                         "a join token lets nodes join, it logs nobody in",
                                         "token"));
            } else {
              self->request(self->state.coordinator, caf::infinite, FindTenant{"", grant.tenant})
                  .then(
                      [promise, grant](const TenantAddress& tenant) mutable {
                        promise.deliver(Caller{grant.role, tenant.id, tenant.name});
                      },
                      fail(promise));
            }
          },
          fail(promise));
  return promise;
}

/// The coordinator knows the present, the ledger the totals.
caf::result<TenantList> list_tenants(DeskSelf self, const ListTenants& request) {
  auto promise = self->make_response_promise<TenantList>();
  self->request(self->state.coordinator, caf::infinite, DescribeTenants{})
      .then(
          [self, promise, caller = request.caller](const TenantViews& views) mutable {
            self->request(self->state.context->reader, caf::infinite, ReadLedger{})
                .then(
                    [promise, caller,
                     views = TenantViews(views)](const LedgerView& ledger) mutable {
                      TenantList list;
                      for (auto& info : views.tenants) {
                        if (!may_see(caller, info.record.id)) continue;
                        for (const auto& record : ledger.tenants)
                          if (record.id == info.record.id) info.record = record;
                        list.tenants.push_back(std::move(info));
                      }
                      promise.deliver(std::move(list));
                    },
                    fail(promise));
          },
          fail(promise));
  return promise;
}

// -- jobs
// ------------------------------------------------------------------------------------------

caf::result<JobAccepted> submit_job(DeskSelf self, SubmitJob& request) {
  auto& spec = request.spec;
  if (request.caller.role == Role::tenant) {
    if (spec.tenant.empty()) spec.tenant = request.caller.tenant_name;
    if (spec.tenant != request.caller.tenant_name)
      return make_error(
          ErrorCode::not_permitted,
          "this token belongs to tenant " + request.caller.tenant_name + ", not " + spec.tenant,
          "tenant");
  }
  if (auto wrong = validate(spec)) return wrong;
  auto promise = self->make_response_promise<JobAccepted>();
  self->request(self->state.coordinator, caf::infinite, AdmitJob{spec})
      .then(
          [self, promise, spec](const TenantAddress& tenant) mutable {
            self->request(tenant.actor, caf::infinite, Submit{std::move(spec)})
                .then([promise](const JobAccepted& accepted) mutable { promise.deliver(accepted); },
                      fail(promise));
          },
          fail(promise));
  return promise;
}

caf::result<JobList> list_jobs(DeskSelf self, const ListJobs& request) {
  auto promise = self->make_response_promise<JobList>();
  auto read = [self, promise, query = request.query](TenantId tenant) mutable {
    self->request(self->state.context->reader, caf::infinite, QueryJobs{tenant, query})
        .then([promise](const JobList& list) mutable { promise.deliver(list); }, fail(promise));
  };
  const auto& caller = request.caller;
  const auto& wanted = request.query.tenant;
  if (caller.role == Role::tenant) {
    if (!wanted.empty() && wanted != caller.tenant_name)
      return make_error(ErrorCode::not_permitted,
                        "this token sees the jobs of " + caller.tenant_name + " only", "tenant");
    read(caller.tenant);
  } else if (wanted.empty()) {
    read(TenantId{});
  } else {
    self->request(self->state.coordinator, caf::infinite, FindTenant{wanted, {}})
        .then([read](const TenantAddress& tenant) mutable { read(tenant.id); }, fail(promise));
  }
  return promise;
}

caf::result<JobDetail> show_job(DeskSelf self, const ShowJob& request) {
  auto promise = self->make_response_promise<JobDetail>();
  with_job(self, request.caller, request.id, TaskRange{0, kMaxTasksShown}, promise,
           [self, promise](const JobDetail& detail) mutable {
             with_names(self, promise,
                        [promise, detail = JobDetail(detail)](const NameTable& names) mutable {
                          for (auto& task : detail.tasks)
                            task.node = name_of(names, task.record.node);
                          promise.deliver(std::move(detail));
                        });
           });
  return promise;
}

caf::result<Done> cancel_job(DeskSelf self, const CancelJob& request) {
  auto promise = self->make_response_promise<Done>();
  with_job(self, request.caller, request.id, {}, promise,
           [self, promise, request](const JobDetail& detail) mutable {
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
                         [self, promise, request](const TenantActor& tenant) mutable {
                           self->request(tenant, caf::infinite, Cancel{request.id, request.reason})
                               .then([promise](const Done&) mutable { promise.deliver(Done{}); },
                                     fail(promise));
                         });
           });
  return promise;
}

caf::result<JobRecord> wait_job(DeskSelf self, const WaitJob& request) {
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
             with_tenant(
                 self, detail.job.tenant, promise,
                 [self, promise, request, read_again](const TenantActor& tenant) mutable {
                   self->request(tenant, caf::infinite, Wait{request.id, request.timeout_ms})
                       .then([read_again](const Done&) mutable { read_again(); }, fail(promise));
                 });
           });
  return promise;
}

// -- explaining
// ------------------------------------------------------------------------------------

void explain_placed(DeskSelf self, caf::typed_response_promise<Explanation> promise,
                    Explanation explanation) {
  const auto& record = explanation.task.record;
  self->request(self->state.context->reader, caf::infinite, GetRecord{record.grant_cycle})
      .then(
          [promise, explanation](const FoundRecord& found) mutable {
            explanation.grant_cycle = found.record.number;
            if (const auto* cycle = std::get_if<Cycle>(&found.record.body))
              for (const auto& deal : cycle->deals)
                for (const auto& grant : deal.grants)
                  if (grant.task.job == explanation.job.id &&
                      grant.task.index == explanation.task.index)
                    explanation.deal = deal;
            promise.deliver(std::move(explanation));
          },
          fail(promise));
}

void explain_waiting(DeskSelf self, caf::typed_response_promise<Explanation> promise,
                     Explanation explanation) {
  const auto job = explanation.job.id;
  const auto index = explanation.task.index;
  const auto tenant = explanation.job.tenant;
  auto add = [explanation](const WaitingDescription& more) mutable {
    explanation.obstacles.insert(explanation.obstacles.end(), more.obstacles.begin(),
                                 more.obstacles.end());
    return explanation;
  };
  with_tenant(self, tenant, promise, [=](const TenantActor& actor) mutable {
    self->request(actor, caf::infinite, DescribeWaiting{job, index})
        .then(
            [=](const WaitingDescription& own) mutable {
              explanation = add(own);
              self->request(self->state.coordinator, caf::infinite,
                            ExplainWaiting{tenant, job, index})
                  .then(
                      [=](const WaitingDescription& shared) mutable {
                        auto& obstacles = explanation.obstacles;
                        obstacles.insert(obstacles.end(), shared.obstacles.begin(),
                                         shared.obstacles.end());
                        promise.deliver(std::move(explanation));
                      },
                      fail(promise));
            },
            fail(promise));
  });
}

caf::result<Explanation> explain_task(DeskSelf self, const ExplainTask& request) {
  auto promise = self->make_response_promise<Explanation>();
  with_job(self, request.caller, request.id, TaskRange{request.index, 1}, promise,
           [self, promise, request](const JobDetail& detail) mutable {
             if (detail.tasks.empty()) {
               promise.deliver(make_error(
                   ErrorCode::invalid_input,
                   "the job has tasks 0 to " + std::to_string(detail.job.tasks.total - 1), "task"));
               return;
             }
             with_names(self, promise, [=](const NameTable& names) mutable {
               Explanation explanation;
               explanation.job = detail.job;
               explanation.task = detail.tasks.front();
               explanation.task.node = name_of(names, explanation.task.record.node);
               explanation.names = names;
               if (explanation.task.record.state == TaskState::pending) {
                 explain_waiting(self, promise, std::move(explanation));
               } else if (explanation.task.record.grant_cycle != 0) {
                 explain_placed(self, promise, std::move(explanation));
               } else {
                 promise.deliver(std::move(explanation));  // cancelled before it was ever placed
               }
             });
           });
  return promise;
}

// -- logs, ledger
// ----------------------------------------------------------------------------------

/// The attempt whose log is the task's: the running one, else the last that ended.
std::optional<std::uint32_t> attempt_with_log(const TaskRecord& record) {
  if (record.state == TaskState::running) return record.attempt;
  if (record.result) return record.result->task.attempt;
  return std::nullopt;
}

caf::result<LogChunk> read_log(DeskSelf self, const ReadLog& request) {
  auto promise = self->make_response_promise<LogChunk>();
  with_job(
      self, request.caller, request.id, TaskRange{request.index, 1}, promise,
      [self, promise, request](const JobDetail& detail) mutable {
        const auto attempt =
            detail.tasks.empty() ? std::nullopt : attempt_with_log(detail.tasks.front().record);
        if (!attempt) {
          promise.deliver(make_error(ErrorCode::not_found,
                                     "task " + std::to_string(request.index) + " of job " +
                                         std::to_string(request.id.value) +
                                         " has not started, there is no log",
                                     "task"));
          return;
        }
        const auto node = detail.tasks.front().record.node;
        const ReadAgentLog ask{
            {request.id, request.index, *attempt}, request.standard_error, request.offset};
        self->request(self->state.coordinator, caf::infinite, FindNode{node})
            .then(
                [self, promise, ask](const NodeAddress& address) mutable {
                  self->request(address.actor, std::chrono::seconds(20), ask)
                      .then([promise](const LogChunk& chunk) mutable { promise.deliver(chunk); },
                            fail(promise));
                },
                fail(promise));
      });
  return promise;
}

LedgerView visible_part(const Caller& caller, LedgerView view) {
  if (caller.role == Role::operator_role) return view;
  std::erase_if(view.tenants, [&](const TenantRecord& t) { return t.id != caller.tenant; });
  std::erase_if(view.net, [&](const auto& entry) { return entry.first != caller.tenant; });
  std::erase_if(view.ious, [&](const IouBook::Iou& iou) {
    return iou.debtor != caller.tenant.value && iou.creditor != caller.tenant.value;
  });
  return view;
}

caf::result<LedgerView> show_ledger(DeskSelf self, const ShowLedger& request) {
  auto promise = self->make_response_promise<LedgerView>();
  self->request(self->state.context->reader, caf::infinite, ReadLedger{})
      .then([promise, caller = request.caller](
                const LedgerView& view) mutable { promise.deliver(visible_part(caller, view)); },
            fail(promise));
  return promise;
}

caf::result<JournalPage> read_journal(DeskSelf self, const ReadJournal& request) {
  if (auto refused = operator_only(request.caller)) return refused;
  auto promise = self->make_response_promise<JournalPage>();
  self->request(self->state.context->reader, caf::infinite,
                ReadRecords{request.since, request.limit, request.wait_ms})
      .then(
          [self, promise](const JournalPage& page) mutable {
            with_names(self, promise,
                       [promise, page = JournalPage(page)](const NameTable& names) mutable {
                         page.names = names;
                         promise.deliver(std::move(page));
                       });
          },
          fail(promise));
  return promise;
}

/// Operators' requests that one other actor answers as a whole.
template <class Result, class Target, class Request>
caf::result<Result> pass_on(DeskSelf self, const Target& target, const Request& request) {
  if (auto refused = operator_only(request.caller)) return refused;
  auto promise = self->make_response_promise<Result>();
  self->request(target, caf::infinite, request)
      .then([promise](const Result& result) mutable { promise.deliver(result); }, fail(promise));
  return promise;
}

DeskActor::behavior_type desk_behavior(DeskSelf self, std::shared_ptr<const ClusterContext> context,
                                       CoordinatorActor coordinator) {
  self->state.context = std::move(context);
  self->state.coordinator = coordinator;
  return {
      [self](const Login& request) { return login(self, request); },
      [self](const GetStatus& request) { return self->delegate(self->state.coordinator, request); },
      [self](const ListTenants& request) { return list_tenants(self, request); },
      [self](const ApplyTenants& request) {
        return pass_on<TenantsApplied>(self, self->state.coordinator, request);
      },
      [self](const RemoveTenant& request) {
        return pass_on<Done>(self, self->state.coordinator, request);
      },
      [self](const IssueToken& request) {
        return pass_on<Done>(self, self->state.coordinator, request);
      },
      [self](const ListNodes& request) { return self->delegate(self->state.coordinator, request); },
      [self](const DrainNode& request) {
        return pass_on<Done>(self, self->state.coordinator, request);
      },
      [self](SubmitJob& request) { return submit_job(self, request); },
      [self](const ListJobs& request) { return list_jobs(self, request); },
      [self](const ShowJob& request) { return show_job(self, request); },
      [self](const CancelJob& request) { return cancel_job(self, request); },
      [self](const WaitJob& request) { return wait_job(self, request); },
      [self](const ExplainTask& request) { return explain_task(self, request); },
      [self](const ReadLog& request) { return read_log(self, request); },
      [self](const ShowLedger& request) { return show_ledger(self, request); },
      [self](const ReadJournal& request) { return read_journal(self, request); },
      [self](const VerifyLedger& request) -> caf::result<VerifyReport> {
        if (auto refused = operator_only(request.caller)) return refused;
        return self->delegate(self->state.context->reader, RunVerify{});
      },
      [self](const RegisterNode& request) {
        return self->delegate(self->state.coordinator, request);
      },
  };
}

}  // namespace

DeskActor spawn_desk(caf::actor_system& system, std::shared_ptr<const ClusterContext> context,
                     CoordinatorActor coordinator) {
  return system.spawn(desk_behavior, std::move(context), std::move(coordinator));
}

}  // namespace fairwater
