#include "actors/coordinator/historian.hpp"

#include <algorithm>
#include <utility>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

namespace fairwater::inline actors::inline coordinator {

struct HistoryTurn {};

}  // namespace fairwater::inline actors::inline coordinator

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::HistoryTurn)

namespace fairwater::inline actors::inline coordinator {
namespace {

using HistorianActor = caf::typed_actor<caf::reacts_to<HistoryTurn>>;

struct HistorianState {
  static inline const char* name = "historian";
  std::shared_ptr<Ledger> ledger;
  LedgerActor writer;
  std::shared_ptr<StorageAlarm> alarm;
  HistoryLimits limits;
  std::uint64_t standing_records = 0;  ///< when they were measured last
  bool told_of_failure = false;
};

using HistorianSelf = HistorianActor::stateful_pointer<HistorianState>;

void rest(HistorianSelf self) { self->delayed_send(self, kHistoryPause, HistoryTurn{}); }

/// Logs the first of several failures: the next turn tries again.
void note_failure(HistorianState& state, const caf::error& error) {
  state.ledger->history_failed(error);
  if (!std::exchange(state.told_of_failure, true))
    spdlog::warn("history was not cut: {}", details(error).message);
}

void log_cut(const HistoryReport& report) {
  if (!report.is_empty())
    spdlog::info(
        "history was cut: {} records and {} jobs archived in {} bytes, {} jobs no longer listed, "
        "{} of the archive's files removed",
        report.archived_records, report.archived_jobs, report.archived_bytes, report.dropped_jobs,
        report.removed_files);
}

void cut(HistorianSelf self) {
  auto& state = self->state;
  const auto report = state.ledger->cut_history(state.limits);
  if (report) {
    state.told_of_failure = false;
    log_cut(*report);
  } else if (const ErrorDetails& error = details(report.error());
             error.code == ErrorCode::storage_damaged) {
    (void)state.alarm->raise(StorageFault(error.code, error.message));
    return;  // another turn would fold all of it again, and come to the same
  } else {
    note_failure(state, report.error());
  }
  rest(self);
}

bool wants_checkpoint(const HistorianState& state) {
  const std::uint64_t since = state.ledger->last_number() - state.ledger->checkpoint();
  return is_checkpoint_due(state.limits, since, state.standing_records) &&
         !state.ledger->admit({Checkpointed{}});
}

void take_turn(HistorianSelf self) {
  auto& state = self->state;
  if (!wants_checkpoint(state)) return cut(self);
  const auto measured = state.ledger->measure_checkpoint();
  if (!measured) {
    note_failure(state, measured.error());
    return rest(self);
  }
  state.standing_records = measured->standing_records;
  if (!wants_checkpoint(state)) return cut(self);
  self->request(state.writer, caf::infinite, Commit{{measured->record}})
      .then([self](const Committed&) { cut(self); },
            [self](const caf::error& error) {
              note_failure(self->state, error);
              rest(self);
            });
}

HistorianActor::behavior_type historian(HistorianSelf self, std::shared_ptr<Ledger> ledger,
                                        LedgerActor writer, std::shared_ptr<StorageAlarm> alarm,
                                        const HistoryLimits& limits) {
  self->state.ledger = std::move(ledger);
  self->state.writer = std::move(writer);
  self->state.alarm = std::move(alarm);
  self->state.limits = limits;
  rest(self);
  return {[self](const HistoryTurn&) { take_turn(self); }};
}

}  // namespace

bool is_checkpoint_due(const HistoryLimits& limits, std::uint64_t records_since,
                       std::uint64_t standing_records) {
  return records_since >= std::max(limits.checkpoint_every, standing_records);
}

caf::actor spawn_historian(caf::actor_system& system, Threading threading,
                           std::shared_ptr<Ledger> ledger, LedgerActor writer,
                           std::shared_ptr<StorageAlarm> alarm, const HistoryLimits& limits) {
  if (threading == Threading::shared)
    return caf::actor_cast<caf::actor>(
        system.spawn(historian, std::move(ledger), std::move(writer), std::move(alarm), limits));
  return caf::actor_cast<caf::actor>(system.spawn<caf::detached>(
      historian, std::move(ledger), std::move(writer), std::move(alarm), limits));
}

}  // namespace fairwater::inline actors::inline coordinator
