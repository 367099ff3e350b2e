#include "actors/coordinator/frontend.hpp"

#include <map>
#include <set>
#include <utility>

#include "actors/coordinator/frontend_state.hpp"

namespace fairwater {
namespace {

using namespace frontend_work;

caf::error operator_only(const Caller& caller) {
  if (caller.role == Role::operator_role) return {};
  return make_error(ErrorCode::not_permitted, "only the operator may do this");
}

/// The coordinator knows the present, the ledger the totals.
caf::result<TenantList> list_tenants(FrontendSelf self, const ListTenants& request) {
  auto promise = self->make_response_promise<TenantList>();
  self->request(self->state.coordinator, caf::infinite, DescribeTenants{})
      .then(
          [self, promise, caller = request.caller](const TenantViews& views) mutable {
            self->request(self->state.context->reader, caf::infinite, ReadLedger{})
                .then(
                    [promise, caller,
                     views = TenantViews(views)](const LedgerView& ledger) mutable {
                      std::map<TenantId, const TenantRecord*> records;
                      for (const auto& record : ledger.tenants) records.emplace(record.id, &record);
                      TenantList list;
                      for (auto& info : views.tenants) {
                        if (!may_see(caller, info.record.id)) continue;
                        const auto record = records.find(info.record.id);
                        if (record != records.end()) info.record = *record->second;
                        list.tenants.push_back(std::move(info));
                      }
                      promise.deliver(std::move(list));
                    },
                    fail(promise));
          },
          fail(promise));
  return promise;
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

caf::result<LedgerView> show_ledger(FrontendSelf self, const ShowLedger& request) {
  auto promise = self->make_response_promise<LedgerView>();
  self->request(self->state.context->reader, caf::infinite, ReadLedger{})
      .then([promise, caller = request.caller](
                const LedgerView& view) mutable { promise.deliver(visible_part(caller, view)); },
            fail(promise));
  return promise;
}

caf::result<JournalPage> read_journal(FrontendSelf self, const ReadJournal& request) {
  if (auto refused = operator_only(request.caller)) return refused;
  auto promise = self->make_response_promise<JournalPage>();
  self->request(self->state.context->scanner, caf::infinite,
                ReadRecords{request.since, request.limit, request.wait_ms})
      .then(
          [self, promise](const JournalPage& page) mutable {
            with_names(self, promise,
                       [promise, page = JournalPage(page)](const NameTable& names) mutable {
                         page.names = names_in(page.records, names);
                         promise.deliver(std::move(page));
                       });
          },
          fail(promise));
  return promise;
}

/// Operators' requests that the coordinator answers as a whole.
template <class Result, class Request>
caf::result<Result> pass_on(FrontendSelf self, const Request& request) {
  if (auto refused = operator_only(request.caller)) return refused;
  return self->delegate(self->state.coordinator, request);
}

FrontendActor::behavior_type frontend_behavior(FrontendSelf self,
                                               std::shared_ptr<const ClusterContext> context,
                                               CoordinatorActor coordinator) {
  self->state.context = std::move(context);
  self->state.coordinator = coordinator;
  return {
      [self](const Login& request) { return self->delegate(self->state.coordinator, request); },
      [self](const GetStatus& request) { return self->delegate(self->state.coordinator, request); },
      [self](const ListTenants& request) { return list_tenants(self, request); },
      [self](const ApplyTenants& request) { return pass_on<TenantsApplied>(self, request); },
      [self](const RemoveTenant& request) { return pass_on<Done>(self, request); },
      [self](const CreateToken& request) { return pass_on<TokenInfo>(self, request); },
      [self](const ListTokens& request) { return pass_on<TokenList>(self, request); },
      [self](const RevokeToken& request) { return pass_on<RevokedToken>(self, request); },
      [self](const RemoveNode& request) { return pass_on<Done>(self, request); },
      [self](const ListNodes& request) { return self->delegate(self->state.coordinator, request); },
      [self](const DrainNode& request) -> caf::result<Done> {
        if (auto too_long = validate_reason(request.reason)) return too_long;
        return pass_on<Done>(self, request);
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
        return self->delegate(self->state.context->scanner, RunVerify{});
      },
      [self](const ShowStanding& request) { return pass_on<LedgerStanding>(self, request); },
      [self](const TrustLedger& request) { return pass_on<Done>(self, request); },
      [self](const RegisterNode& request) {
        return self->delegate(self->state.coordinator, request);
      },
  };
}

}  // namespace

FrontendActor spawn_frontend(caf::actor_system& system,
                             std::shared_ptr<const ClusterContext> context,
                             CoordinatorActor coordinator) {
  return system.spawn(frontend_behavior, std::move(context), std::move(coordinator));
}

}  // namespace fairwater
