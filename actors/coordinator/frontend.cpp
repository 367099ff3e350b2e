#include "actors/coordinator/frontend.hpp"

#include <map>
#include <optional>
#include <utility>

#include "actors/coordinator/frontend_state.hpp"

namespace fairwater::inline actors::inline coordinator {
namespace frontend_work {

namespace {

/// Many look at the cluster at once, and it costs the coordinator the same each time.
void ask_status(FrontendSelf self) {
  const auto goes_on = [self] {
    if (self->state.status.answered()) ask_status(self);
  };
  auto askers = self->state.status.take();
  self->request(self->state.coordinator, caf::infinite, DescribeCluster{})
      .then(
          [goes_on, askers](const ClusterStatus& status) mutable {
            for (auto& promise : askers) promise.deliver(status);
            goes_on();
          },
          [goes_on, askers](const caf::error& error) mutable {
            for (auto& promise : askers) promise.deliver(error);
            goes_on();
          });
}

}  // namespace

caf::result<ClusterStatus> answer(FrontendSelf self, const GetStatus&) {
  auto promise = self->make_response_promise<ClusterStatus>();
  if (self->state.status.join(promise)) ask_status(self);
  return promise;
}

/// The coordinator knows the present, the ledger the totals.
caf::result<TenantList> answer(FrontendSelf self, const ListTenants& request) {
  DescribeTenants which{std::nullopt, request.after};
  if (request.caller.role != Role::operator_role) which.only = request.caller.tenant;
  auto promise = self->make_response_promise<TenantList>();
  self->request(self->state.coordinator, caf::infinite, which)
      .then(
          [self, promise](TenantViews& views) mutable {
            ReadTenants wanted;
            for (const auto& info : views.tenants) wanted.tenants.push_back(info.record.id);
            self->request(self->state.context->reader, caf::infinite, std::move(wanted))
                .then(
                    [promise, list = TenantList{std::move(views.tenants), views.more}](
                        const TenantRecords& stored) mutable {
                      std::map<TenantId, const TenantRecord*> records;
                      for (const auto& record : stored.tenants) records.emplace(record.id, &record);
                      for (auto& info : list.tenants) {
                        const auto record = records.find(info.record.id);
                        if (record != records.end()) info.record = *record->second;
                      }
                      promise.deliver(std::move(list));
                    },
                    fail(promise));
          },
          fail(promise));
  return promise;
}

caf::result<LedgerView> answer(FrontendSelf self, const ShowLedger& request) {
  auto promise = self->make_response_promise<LedgerView>();
  self->request(self->state.context->reader, caf::infinite, ReadLedger{})
      .then([promise, caller = request.caller](
                const LedgerView& view) mutable { promise.deliver(visible_part(caller, view)); },
            fail(promise));
  return promise;
}

caf::result<JournalPage> answer(FrontendSelf self, const ReadJournal& request) {
  auto promise = self->make_response_promise<JournalPage>();
  self->request(self->state.context->scanner, caf::infinite,
                ReadRecords{request.since, request.limit, request.wait_ms})
      .then(
          [self, promise](JournalPage& page) mutable {
            page.names = self->state.context->names->names_in(page.records);
            promise.deliver(std::move(page));
          },
          fail(promise));
  return promise;
}

caf::result<VerifyReport> answer(FrontendSelf self, const VerifyLedger& request) {
  return self->delegate(
      self->state.context->scanner,
      RunVerify{request.with_archive ? VerifyScope::archive : VerifyScope::database});
}

caf::result<LedgerBackup> answer(FrontendSelf self, const BackupLedger& request) {
  return self->delegate(self->state.context->scanner, RunBackup{request.directory});
}

caf::result<Freshness> answer(FrontendSelf, const GetFreshness&) {
  return Freshness{};  // what it shows is what is
}

caf::result<Done> answer(FrontendSelf self, const HandOver&) {
  const auto& leadership = self->state.context->settings.leadership;
  if (!leadership)
    return make_error(ErrorCode::wrong_state, "this coordinator is alone: nobody could take over");
  if (caf::error refused = leadership->hand_over()) return refused;
  return Done{};
}

}  // namespace frontend_work

namespace {

using namespace frontend_work;

template <class Request>
bool changes(const Request& request) {
  if constexpr (requires { request.dry_run; }) return !request.dry_run;
  return kChanges<Request>;
}

/// Nothing is begun that nobody knows when it will end.
caf::error check_majority(const ClusterContext& context) {
  const auto& leadership = context.settings.leadership;
  if (!leadership || leadership->is_confirmed()) return {};
  const std::string why = leadership->why_waiting();
  return why.empty() ? caf::error{} : make_error(ErrorCode::unavailable, why);
}

/// A call goes to the frontend's own answer(), or as a whole to the coordinator.
template <class Request>
auto answering(FrontendSelf self) {
  return [self](const Request& request) -> caf::result<typename Request::Answer> {
    if (auto refused = check_role(request)) return refused;
    if (changes(request))
      if (auto refused = check_majority(*self->state.context)) return refused;
    if constexpr (kByCoordinator<Request>)
      return self->delegate(self->state.coordinator, request);
    else
      return answer(self, request);
  };
}

FrontendActor::behavior_type frontend_behavior(FrontendSelf self,
                                               std::shared_ptr<const ClusterContext> context,
                                               CoordinatorActor coordinator) {
  self->state.context = std::move(context);
  self->state.coordinator = coordinator;
#define FAIRWATER_ANSWERING(method, Request) answering<Request>(self),
  return {
      [self](const Login& request) { return self->delegate(self->state.coordinator, request); },
      [self](const AgentCredential& shown) {
        return self->delegate(self->state.coordinator, shown);
      },
      [self](const RegisterNode& request) {
        return self->delegate(self->state.coordinator, request);
      },
      FAIRWATER_CALLS(FAIRWATER_ANSWERING)  //
  };
#undef FAIRWATER_ANSWERING
}

}  // namespace

FrontendActor spawn_frontend(caf::actor_system& system,
                             std::shared_ptr<const ClusterContext> context,
                             CoordinatorActor coordinator) {
  return system.spawn(frontend_behavior, std::move(context), std::move(coordinator));
}

}  // namespace fairwater::inline actors::inline coordinator
