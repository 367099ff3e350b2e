// The reader: look-ups by key.
#include <algorithm>
#include <map>
#include <utility>

#include <caf/all.hpp>

#include "actors/coordinator/ledger.hpp"
#include "policy/allocator/advances.hpp"
#include "state/elastic.hpp"

namespace fairwater::inline actors::inline coordinator {
namespace {

struct ReaderState {
  static inline const char* name = "ledger-reader";
  std::shared_ptr<const Ledger> ledger;
  std::shared_ptr<StorageAlarm> alarm;
};

caf::result<JobDetail> read_job(const Ledger& ledger, const GetJob& request) {
  auto job = ledger.job(request.id);
  if (!job)
    return make_error(ErrorCode::not_found, "there is no job " + std::to_string(request.id.value),
                      "id");
  JobDetail detail{std::move(*job), {}};
  const auto total = detail.job.tasks.total;
  const auto first = std::min(request.tasks.first, total);
  const auto end = first + std::min(request.tasks.count, total - first);
  std::map<std::uint32_t, TaskRecord> stored;
  for (auto& task : ledger.tasks(request.id, first, end - first))
    stored.emplace(task.index, std::move(task.record));
  for (std::uint32_t index = first; index < end; ++index) {
    TaskInfo info;
    info.index = index;
    if (auto task = stored.find(index); task != stored.end()) info.record = task->second;
    const bool will_not_run = detail.job.cancelled || is_unneeded(detail.job, info.record);
    if (will_not_run && info.record.state == TaskState::pending)
      info.record.state = TaskState::cancelled;
    detail.tasks.push_back(std::move(info));
  }
  return detail;
}

LedgerView read_ledger(const Ledger& ledger) {
  LedgerView view;
  view.cycle = ledger.last_number();
  view.position = ledger.position();
  view.tenants = ledger.tenants();
  view.ious = ledger.ious();
  view.measure = measure_of(ledger.cluster());
  view.counts_time_since = ledger.counts_time_since();
  view.unit_ms_per_unit = ledger.unit_ms_per_unit();
  for (const auto& tenant : view.tenants) view.net[tenant.id] = 0;
  for (const auto& iou : view.ious) {
    view.net[TenantId{iou.debtor}] -= iou.units;
    view.net[TenantId{iou.creditor}] += iou.units;
  }
  return view;
}

TenantRecords read_tenants(const Ledger& ledger, const ReadTenants& request) {
  TenantRecords found;
  for (const TenantId id : request.tenants)
    if (auto record = ledger.tenant(id)) found.tenants.push_back(std::move(*record));
  return found;
}

/// The advances of every grant in a journal record, by task.
std::map<TaskKey, TracedGrant> traced_grants(const Ledger& ledger, std::uint64_t number) {
  std::map<TaskKey, TracedGrant> grants;
  const auto record = ledger.record(number);
  const auto* cycle = record ? std::get_if<Cycle>(&record->body) : nullptr;
  if (!cycle) return grants;
  for (const auto& deal : cycle->deals) {
    auto advances = advances_of(deal);
    for (std::size_t i = 0; i < deal.grants.size(); ++i)
      grants[deal.grants[i].task] = {deal.grants[i].task, deal.grants[i].tenant,
                                     std::move(advances[i]), 0};
  }
  return grants;
}

caf::result<TracedGrants> trace_grants(const Ledger& ledger, const TraceGrants& request) {
  TracedGrants traced;
  std::map<std::uint64_t, std::map<TaskKey, TracedGrant>> records;  // one cycle grants many
  for (const auto& key : request.tasks) {
    const auto task = ledger.task(key.job, key.index);
    if (!task || task->state != TaskState::running || task->attempt != key.attempt ||
        task->node != request.node)
      continue;
    auto [known, is_new] = records.try_emplace(task->grant_cycle);
    if (is_new) known->second = traced_grants(ledger, task->grant_cycle);
    const auto grant = known->second.find(key);
    if (grant == known->second.end()) continue;
    grant->second.troubles_before = task->launch_failures + task->losses;
    traced.grants.push_back(grant->second);
  }
  return traced;
}

caf::result<FoundRecord> get_record(const Ledger& ledger, const GetRecord& request) {
  auto record = ledger.record(request.number);
  if (!record)
    return make_error(ErrorCode::not_found,
                      "there is no journal record " + std::to_string(request.number));
  return FoundRecord{std::move(*record)};
}

using ReaderSelf = LedgerReader::stateful_pointer<ReaderState>;

LedgerReader::behavior_type ledger_reader(ReaderSelf self, std::shared_ptr<const Ledger> ledger,
                                          std::shared_ptr<StorageAlarm> alarm) {
  self->state.ledger = std::move(ledger);
  self->state.alarm = std::move(alarm);
  return {
      [self](const GetJob& request) {
        return read_or_raise<JobDetail>(*self->state.alarm,
                                        [&] { return read_job(*self->state.ledger, request); });
      },
      [self](const FindRequest& request) {
        return read_or_raise<FoundRequest>(*self->state.alarm, [&] {
          return FoundRequest{self->state.ledger->request(request.tenant, request.id)};
        });
      },
      [self](const GetRecord& request) {
        return read_or_raise<FoundRecord>(*self->state.alarm,
                                          [&] { return get_record(*self->state.ledger, request); });
      },
      [self](const TraceGrants& request) {
        return read_or_raise<TracedGrants>(
            *self->state.alarm, [&] { return trace_grants(*self->state.ledger, request); });
      },
      [self](const ReadTenants& request) {
        return read_or_raise<TenantRecords>(
            *self->state.alarm, [&] { return read_tenants(*self->state.ledger, request); });
      },
      [self](const ReadLedger&) {
        return read_or_raise<LedgerView>(*self->state.alarm,
                                         [&] { return read_ledger(*self->state.ledger); });
      },
  };
}

}  // namespace

LedgerReader spawn_ledger_reader(caf::actor_system& system, Threading threading,
                                 std::shared_ptr<const Ledger> ledger,
                                 std::shared_ptr<StorageAlarm> alarm) {
  if (threading == Threading::shared)
    return system.spawn(ledger_reader, std::move(ledger), std::move(alarm));
  return system.spawn<caf::detached>(ledger_reader, std::move(ledger), std::move(alarm));
}

}  // namespace fairwater::inline actors::inline coordinator
