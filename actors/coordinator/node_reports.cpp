// What an agent's report leads to: results become durable, then it is answered.
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/coordinator/node_state.hpp"
#include "state/gang.hpp"

namespace fairwater::inline actors::inline coordinator::machine {
namespace {

using ReportPromise = caf::typed_response_promise<ReportReply>;

/// Without a lease where another coordinator may lead by now: that one counts from its own start.
ReportReply make_reply(const NodeActorState& state, std::vector<TaskKey> acknowledged) {
  const ClusterContext& context = *state.context;
  const auto& leadership = context.settings.leadership;
  const bool leads = !leadership || leadership->is_confirmed();
  const LeaseBounds given = leads ? context.leases : LeaseBounds{};
  return {std::move(acknowledged), context.ledger_end().mark,
          given.ordinary_ms,       context.pace->interval_ms(),
          context.epoch,           given.longest_ms};
}

/// What the agent still does not name after it registered never reached it, and may run elsewhere.
/// Its registration is not enough to say so: that may be late, and older than orders that it took
/// over a connection after that one.
void return_withheld(NodeSelf self, const AgentReport& report, ReportOutcome& outcome) {
  auto& state = self->state;
  if (state.withheld.empty()) return;  // nearly always
  std::set<TaskKey> unnamed;
  for (const auto& task : std::exchange(state.withheld, {})) unnamed.insert(task);
  for (const auto& task : report.running) unnamed.erase(task);
  for (const auto& result : report.finished) unnamed.erase(result.task);
  ReturnTasks back;
  for (const auto& task : state.tasks.unsettled())
    if (unnamed.contains(task)) back.tasks.push_back(task);
  std::erase_if(outcome.launches,
                [&](const LaunchOrder& order) { return unnamed.contains(order.task); });
  back.reason = "node " + name_of(state) + " did not take the order, " +
                std::to_string(BrokenConnections::kMost) + " connections in a row ended on it";
  return_tasks(self, back);
}

/// What the report leaves to be ordered, unless the agent has shown that it cannot take it: then it
/// is spared new tasks for as long as a lease.
void send_orders_after_report(NodeSelf self, ReportOutcome& outcome, bool registering) {
  auto& state = self->state;
  state.broken_connections.forgive(self->clock().now(),
                                   std::chrono::milliseconds(state.context->leases.ordinary_ms));
  if (registering) state.withheld.clear();
  if (registering && state.broken_connections.are_too_many()) {
    // Every connection broke on these orders, so the next would, and with it the leases of all that
    // runs there.
    state.withheld = keys_of(outcome.launches);
    outcome.launches.clear();
  }
  send_orders(self, std::move(outcome.launches), std::move(outcome.stops));
  if (registering) tell_members_again(self);
}

/// What could not be made durable for now: the agent keeps and repeats it, and its tasks go on.
void answer_later(NodeSelf self, const std::vector<TaskResult>& results,
                  std::vector<TaskKey> acknowledged, const caf::error& error,
                  ReportPromise promise) {
  auto& state = self->state;
  state.tasks.not_settled(results);
  if (state.liveness == Liveness::lost) {
    schedule_check(self, kRetryGivingBack);
    promise.deliver(error);
    return;
  }
  if (!is_retryable(details(error).code)) {
    promise.deliver(error);
    return;
  }
  if (std::exchange(state.keeps_results, false))
    spdlog::error("results of node {} cannot be kept for now: {}", name_of(state),
                  details(error).message);
  promise.deliver(make_reply(state, std::move(acknowledged)));
}

/// The last part of an answer; the rest of the report is durable.
void settle_failed_launches(NodeSelf self, const std::vector<TaskResult>& failed,
                            std::vector<TaskKey> acknowledged, ReportPromise promise) {
  auto& state = self->state;
  if (failed.empty()) {
    promise.deliver(make_reply(state, std::move(acknowledged)));
    return;
  }
  self->request(state.coordinator, caf::infinite, SettleFailedLaunches{state.record.id, failed})
      .then(
          [self, failed, acknowledged, promise](const FailedLaunchesSettled& settled) mutable {
            self->state.keeps_results = true;
            tell_tenants(self, self->state.tasks.settled(failed), settled.time);
            count_failed_launches(self, failed, settled.longest_backoff_ms);
            for (const auto& key : keys_of(failed)) acknowledged.push_back(key);
            promise.deliver(make_reply(self->state, std::move(acknowledged)));
          },
          [self, failed, acknowledged, promise](const caf::error& error) mutable {
            answer_later(self, failed, std::move(acknowledged), error, promise);
          });
}

/// What nobody waits for, or a life of the ledger that was lost had started: a line for each of the
/// first, as an agent may name thousands that never were.
void log_strangers(const NodeActorState& state, const ReportOutcome& outcome) {
  constexpr std::size_t kMostLogged = 20;
  std::size_t strangers = 0;
  const auto log = [&](const char* has, const TaskKey& task, const char* what,
                       std::string_view reason = {}) {
    if (++strangers <= kMostLogged)
      spdlog::info("node {} {} task {}{}{}", name_of(state), has, text_of(task), what, reason);
  };
  for (const auto& order : outcome.stops)
    if (!state.tasks.knows(order.task))
      log("runs", order.task, ", which the ledger does not know there: stopped");
  for (const auto& task : outcome.acknowledge)
    log("has a result of", task, ", which the ledger does not wait for: forgotten");
  for (const auto& result : outcome.disowned)
    log("has a result of", result.task,
        " of a life of the ledger that was lost: ", to_string(result.reason));
  if (strangers > kMostLogged)
    spdlog::info("node {}: {} more like these", name_of(state), strangers - kMostLogged);
}

/// As the ledger took them.
std::vector<TenantTasks> settled(NodeTasks& tasks, const std::vector<TaskResult>& results,
                                 const Committed& committed) {
  std::set<TaskKey> made_room_all;
  for (const Receipt& receipt : committed.receipts)
    made_room_all.insert(receipt.made_room.begin(), receipt.made_room.end());
  std::vector<TenantTasks> groups = tasks.settled(results);
  for (TenantTasks& group : groups)
    for (TaskResult& result : group.results) {
      if (!made_room_all.contains(result.task)) continue;
      group.made_room.push_back(result.task);
      result = made_room(std::move(result));
    }
  return groups;
}

/// The results are durable: their tenants hear, then the rest of the report is seen to.
void take_committed(NodeSelf self, const ReportOutcome& outcome, bool was_lost,
                    const Committed& committed, ReportPromise promise) {
  auto& state = self->state;
  state.keeps_results = true;
  if (was_lost) apply(state.record, NodeReturned{state.record.id});
  tell_tenants(self, settled(state.tasks, outcome.settle, committed),
               committed.receipts.back().time);
  if (state.record.draining) send_beat(self, {});
  (void)state.tasks.settled(outcome.disowned);  // nobody's
  auto acknowledged = outcome.acknowledge;
  for (const auto* results : {&outcome.settle, &outcome.disowned})
    for (const auto& result : *results) acknowledged.push_back(result.task);
  settle_failed_launches(self, outcome.failed_launches, std::move(acknowledged),
                         std::move(promise));
}

/// `was_lost`: that the node is back becomes durable with its results.
void commit_report(NodeSelf self, ReportOutcome reported, bool was_lost, ReportPromise promise) {
  auto& state = self->state;
  std::vector<JournalBody> bodies;
  if (was_lost) bodies.emplace_back(NodeReturned{state.record.id});
  if (!reported.settle.empty())
    bodies.emplace_back(TasksFinished{state.record.id, reported.settle});
  if (!reported.disowned.empty())
    bodies.emplace_back(TasksDisowned{state.record.id, reported.disowned});
  if (bodies.empty()) {
    settle_failed_launches(self, reported.failed_launches, std::move(reported.acknowledge),
                           promise);
    return;
  }
  // One of both handlers runs.
  const auto outcome = std::make_shared<const ReportOutcome>(std::move(reported));
  self->request(state.context->ledger, caf::infinite, Commit{std::move(bodies), 0})
      .then(
          [self, promise, outcome, was_lost](const Committed& committed) {
            take_committed(self, *outcome, was_lost, committed, promise);
          },
          [self, promise, outcome, was_lost](const caf::error& error) {
            if (was_lost) {  // what is stored still says so
              self->state.liveness = Liveness::lost;
              send_beat(self, {});
            }
            self->state.tasks.not_settled(outcome->failed_launches);
            self->state.tasks.not_settled(outcome->disowned);
            answer_later(self, outcome->settle, outcome->acknowledge, error, promise);
          });
}

}  // namespace

caf::result<ReportReply> take_report(NodeSelf self, const AgentReport& report, bool registering) {
  auto& state = self->state;
  if (state.retired) return being_removed(state);
  if (state.giving_up)
    return make_error(ErrorCode::unavailable, "the node is being given up; register again");
  const bool was_lost = state.liveness == Liveness::lost;
  const bool was_away = heard(self);
  if (registering) (void)stops_of_services(state);  // the report's outcome has all stops
  auto outcome = state.tasks.take_report(report, registering || was_away,
                                         state.context->ledger_end().mark.incarnation,
                                         state.context->wall_clock());
  if (registering || !outcome.disowned.empty()) log_strangers(state, outcome);
  return_tasks(self, {outcome.returns, std::string(kReturnedFromLostLife)});
  if (!registering) return_withheld(self, report, outcome);
  send_orders_after_report(self, outcome, registering);
  state.pauses.ended(outcome.settle, outcome.failed_launches);
  if (!outcome.failed_launches.empty()) state.pauses.begin(outcome.failed_launches);
  state.runs_lost_life = outcome.runs_lost_life;
  BeatTasks beat{.released = keys_of(outcome.failed_launches), .unheard = keys_of(outcome.settle)};
  auto promise = self->make_response_promise<ReportReply>();
  commit_report(self, std::move(outcome), was_lost, promise);
  // The ledger has the results by now, so whatever is granted in their room stands behind them.
  send_beat(self, std::move(beat));
  return promise;
}

}  // namespace fairwater::inline actors::inline coordinator::machine
