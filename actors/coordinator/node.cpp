#include "actors/coordinator/node.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

#include "actors/coordinator/cluster.hpp"
#include "actors/coordinator/node_book.hpp"

namespace fairwater {

struct LeaseCheck {
  std::uint64_t number = 0;
};
/// Tasks that the agent does not have are to run anew, here or elsewhere.
struct ReturnTasks {
  std::vector<TaskKey> tasks;
  std::string reason;
};
struct PauseOver {
  std::uint64_t pause = 0;
};

}  // namespace fairwater

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::LeaseCheck)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::ReturnTasks)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::PauseOver)

namespace fairwater {
namespace {

using NodeBase = NodeActor::extend<caf::reacts_to<LeaseCheck>, caf::reacts_to<ReturnTasks>,
                                   caf::reacts_to<PauseOver>>;
using Clock = caf::actor_clock::clock_type;

/// Connections in a row that may end before the agent took its orders: a network that comes and
/// goes does that, but hardly this often. Reconnecting takes an agent some seconds then, less than
/// any lease.
constexpr std::uint32_t kMaxBrokenConnections = 5;

enum class Liveness : std::uint8_t { up, silent, lost };

struct NodeActorState {
  static inline const char* name = "node";
  std::shared_ptr<const ClusterContext> context;
  NodeBeatSink coordinator;
  NodeRecord record;
  NodeBook book{{}};
  AgentLink link;  ///< null while the agent is not connected
  Liveness liveness = Liveness::silent;
  Clock::time_point last_heard;
  std::uint64_t lease_checks = 0;  ///< number of the newest; earlier ones are void
  WallTime last_heartbeat;
  bool giving_up = false;                ///< the commit that gives its tasks back is under way
  Clock::time_point older_leases_until;  ///< of earlier coordinators, grace included
  std::uint32_t broken_connections = 0;  ///< in a row that ended before the agent took its orders
  caf::actor_addr last_broken;
  Clock::time_point broken_at;
  std::uint32_t launch_failures_in_row = 0;
  bool keeps_results = true;  ///< false while the ledger takes none: said once
  bool paused = false;        ///< given nothing, because launches failed
  std::uint64_t pauses = 0;   ///< number of the newest pause

  std::uint64_t session = 0;      ///< whose reports are taken; 0: nobody's
  std::optional<AgentRun> rival;  ///< a later run that asked while the present one was connected
  Clock::time_point rival_since;
  Clock::time_point rival_seen;  ///< also of runs that were refused
  bool fenced = false;           ///< the present run was shut out; until the node is lost
  std::string problem;
  bool retired = false;  ///< see RetireNode
};

using NodeSelf = NodeBase::stateful_pointer<NodeActorState>;

/// A refused agent asks again within seconds (rpc/agent/agent_client.hpp): one that was not heard
/// of for this long is gone.
constexpr auto kRivalGone = std::chrono::minutes(1);

NodeState shown_state(const NodeActorState& state) {
  if (state.liveness != Liveness::up) return NodeState::down;
  if (!state.record.draining) return NodeState::up;
  return state.book.size() == 0 ? NodeState::drained : NodeState::draining;
}

bool takes_no_orders(const NodeActorState& state) {
  return state.broken_connections >= kMaxBrokenConnections;
}

void send_beat(NodeSelf self, std::vector<TaskKey> released) {
  auto& state = self->state;
  if (self->clock().now() > state.rival_seen + kRivalGone) state.problem.clear();
  const bool accepts = state.liveness == Liveness::up && state.link && !state.record.draining &&
                       !state.paused && !state.retired && !takes_no_orders(state);
  self->send(
      state.coordinator,
      NodeBeat{state.record.id, shown_state(state), accepts, state.liveness == Liveness::lost,
               state.record.spec.capacity, std::move(released), state.last_heartbeat,
               state.record.draining, state.record.drain_reason, state.problem});
}

/// The connection ended before the agent took its orders; one counts once.
void connection_broke(NodeSelf self, const caf::actor_addr& link) {
  auto& state = self->state;
  if (std::exchange(state.last_broken, link) == link) return;
  ++state.broken_connections;
  state.broken_at = self->clock().now();
}

void send_orders(NodeSelf self, std::vector<LaunchOrder> launches, std::vector<StopOrder> stops) {
  auto& state = self->state;
  if (!state.link || (launches.empty() && stops.empty())) return;
  for (auto& order : launches) order.epoch = state.context->epoch;
  for (auto& order : stops) order.epoch = state.context->epoch;
  const auto link = state.link.address();
  self->request(state.link, caf::infinite, AgentOrders{std::move(launches), std::move(stops)})
      .then([self](const OrdersTaken&) { self->state.broken_connections = 0; },
            [self, link](const caf::error&) { connection_broke(self, link); });
}

ReportReply make_reply(const NodeActorState& state, std::vector<TaskKey> acknowledged) {
  return {std::move(acknowledged), state.context->ledger_end().mark,
          state.context->settings.lease_ms, state.context->settings.heartbeat_interval_ms};
}

template <class OfTask>
std::vector<TaskKey> keys_of(const std::vector<OfTask>& items) {
  std::vector<TaskKey> keys;
  keys.reserve(items.size());
  for (const auto& item : items) keys.push_back(item.task);
  return keys;
}

/// `lost`: the keys' tasks had been ordered, and nobody knows what became of them.
void tell_tenants(NodeSelf self, std::vector<TenantTasks> groups, WallTime time,
                  bool lost = false) {
  for (auto& group : groups) {
    if (!group.results.empty())
      self->send(group.tenant, TasksEnded{std::move(group.results), time});
    if (!group.keys.empty())
      self->send(group.tenant, TasksReturned{std::move(group.keys), lost, time});
  }
}

// -- the lease ------------------------------------------------------------------------------------

constexpr auto kRetryGivingBack = std::chrono::seconds(1);  // the disk may have room again

void schedule_check(NodeSelf self, Clock::duration delay) {
  self->delayed_send(self, std::chrono::ceil<std::chrono::milliseconds>(delay),
                     LeaseCheck{++self->state.lease_checks});
}

/// Gives all tasks of a lost node back to their tenants once that is durable, and tries again until
/// it is. `more` is committed with it.
void give_back(NodeSelf self, const std::string& reason, bool were_ordered,
               std::vector<JournalBody> more) {
  auto& state = self->state;
  const auto& name = state.record.spec.traits.name;
  const auto keys = state.book.unsettled();
  if (state.giving_up || (keys.empty() && more.empty())) return;
  state.giving_up = true;
  std::vector<JournalBody> bodies = std::move(more);
  if (!keys.empty())
    bodies.emplace_back(TasksRequeued{state.record.id, keys, reason, were_ordered});
  self->request(state.context->ledger, caf::infinite, Commit{std::move(bodies), 0})
      .then(
          [self, keys, reason, were_ordered, name](const Committed& committed) {
            auto& state = self->state;
            state.giving_up = false;
            state.liveness = Liveness::lost;
            state.record.lost = true;
            if (!keys.empty())
              spdlog::warn("tasks of node {} wait again, {} in all: {}", name, keys.size(), reason);
            tell_tenants(self, state.book.take_back(keys), committed.receipts.back().time,
                         were_ordered);
            send_beat(self, keys);
            if (state.book.size() > 0) schedule_check(self, kRetryGivingBack);
          },
          [self, reason, name](const caf::error& error) {
            self->state.giving_up = false;
            spdlog::error("cannot give back the tasks of node {} ({}), trying again: {}", name,
                          reason, details(error).message);
            schedule_check(self, kRetryGivingBack);
          });
}

void declare_lost(NodeSelf self) {
  NodeRecord record = self->state.record;
  record.lost = true;
  if (!self->state.giving_up)
    spdlog::warn("node {} is lost: no word for longer than its lease and the grace",
                 record.spec.traits.name);
  give_back(self, "node " + record.spec.traits.name + " was silent beyond its lease", true,
            {NodeChanged{record}});
}

/// Tasks that a lost node still has: granted before it was known to be lost, or not given back
/// durably yet.
void give_back_late(NodeSelf self) {
  give_back(self, "the node was lost before the order was sent", false, {});
}

void check_lease(NodeSelf self) {
  auto& state = self->state;
  if (state.retired) return;
  if (state.liveness == Liveness::lost) {
    give_back_late(self);
    return;
  }
  const auto lease = std::chrono::milliseconds(state.context->settings.lease_ms);
  const auto grace = std::chrono::milliseconds(state.context->settings.grace_ms);
  const auto now = self->clock().now();
  const auto silence = now - state.last_heard;
  if (silence < lease) {
    schedule_check(self, lease - silence);
    return;
  }
  if (std::exchange(state.liveness, Liveness::silent) == Liveness::up) {
    spdlog::warn("node {} is down: no word for longer than its lease",
                 state.record.spec.traits.name);
    send_beat(self, {});
  }
  // What an earlier coordinator granted for longer, the agent may hold on to.
  const auto lost_at = std::max(state.last_heard + lease + grace, state.older_leases_until);
  if (now < lost_at) {
    schedule_check(self, lost_at - now);
    return;
  }
  declare_lost(self);
}

/// The agent was heard: its lease starts anew. Returns whether it had been silent or lost.
bool heard(NodeSelf self) {
  auto& state = self->state;
  state.last_heard = self->clock().now();
  state.last_heartbeat = state.context->wall_clock();
  const auto before = std::exchange(state.liveness, Liveness::up);
  if (before == Liveness::lost) {
    schedule_check(self, std::chrono::milliseconds(state.context->settings.lease_ms));
    state.record.lost = false;
  }
  return before != Liveness::up;
}

// -- failed launches ------------------------------------------------------------------------------

/// Makes the drain, or its end, durable and then true. `then` hears of the error, if any.
void commit_drain(NodeSelf self, bool drain, const std::string& reason,
                  std::function<void(const caf::error&)> then) {
  NodeRecord record = self->state.record;
  record.draining = drain;
  record.drain_reason = drain ? reason : "";
  self->request(self->state.context->ledger, caf::infinite, Commit{{NodeChanged{record}}, 0})
      .then(
          [self, record, then](const Committed&) {
            auto& state = self->state;
            state.record.draining = record.draining;
            state.record.drain_reason = record.drain_reason;
            state.launch_failures_in_row = 0;
            state.paused = false;
            send_beat(self, {});
            then({});
          },
          [then](const caf::error& error) { then(error); });
}

/// Takes nothing until the pause that is set when the failures are durable is over.
void pause(NodeSelf self) {
  self->state.paused = true;
  ++self->state.pauses;
}

void end_pause_after(NodeSelf self, std::int64_t pause_ms) {
  self->delayed_send(self, std::chrono::milliseconds(pause_ms), PauseOver{self->state.pauses});
}

void end_pause(NodeSelf self, const PauseOver& over) {
  if (over.pause != self->state.pauses || !self->state.paused) return;
  self->state.paused = false;
  send_beat(self, {});
}

/// The pause is twice as long as the tasks' own: by then they have been tried elsewhere.
void count_failed_launches(NodeSelf self, const std::vector<TaskResult>& failed,
                           std::int64_t longest_backoff_ms) {
  auto& state = self->state;
  state.launch_failures_in_row += static_cast<std::uint32_t>(failed.size());
  const auto in_row = state.launch_failures_in_row;
  const auto& name = state.record.spec.traits.name;
  spdlog::warn("node {} could not start what it was given, {} in a row by now: {}", name, in_row,
               failed.back().message);
  end_pause_after(self, 2 * std::max(longest_backoff_ms, backoff_ms(in_row)));
  if (in_row < kMaxLaunchFailuresInRow || state.record.draining) return;
  const std::string reason =
      "drained itself: " + std::to_string(in_row) +
      " launches in a row failed, the last one because: " + failed.back().message;
  commit_drain(self, true, reason, [name, reason](const caf::error& error) {
    if (error)
      spdlog::error("node {} should drain and cannot: {}", name, details(error).message);
    else
      spdlog::error("node {} {}", name, reason);
  });
}

/// Whether the command was started, however it ended.
bool did_run(const TaskResult& result) {
  switch (result.reason) {
    case EndReason::node_lost:
    case EndReason::launch_failed:
    case EndReason::supervisor_lost:
      return false;
    default:
      return true;
  }
}

// -- leaving --------------------------------------------------------------------------------------

caf::error being_removed(const NodeActorState& state) {
  return make_error(ErrorCode::unavailable,
                    "node " + state.record.spec.traits.name + " is being removed");
}

caf::result<Done> retire(NodeActorState& state) {
  const auto& name = state.record.spec.traits.name;
  if (state.giving_up)
    return make_error(ErrorCode::unavailable, "node " + name + " is just being given up");
  if (state.book.size() > 0)
    return make_error(ErrorCode::wrong_state,
                      "node " + name + " has " + std::to_string(state.book.size()) +
                          " tasks; drain it, or wait until they were given out again");
  if (state.liveness == Liveness::up && !state.record.draining)
    return make_error(ErrorCode::wrong_state, "node " + name +
                                                  " is up; drain it first (fairwater node drain), "
                                                  "or stop its agent and wait for its lease");
  state.retired = true;
  return Done{};
}

void reinstate(NodeSelf self) {
  self->state.retired = false;
  schedule_check(self, std::chrono::milliseconds(self->state.context->settings.lease_ms));
  send_beat(self, {});
}

// -- which run holds the node ---------------------------------------------------------------------

caf::error duplicate(const NodeActorState& state, const std::string& why) {
  return make_error(ErrorCode::already_exists,
                    "duplicate agent: " + why + " (node " + state.record.spec.traits.name + ")");
}

void note_rival(NodeSelf self, const AgentRun& run, const std::string& what) {
  auto& state = self->state;
  state.rival_seen = self->clock().now();
  const std::string problem =
      "a second agent with this node's data (start " + std::to_string(run.starts) + ") " + what;
  if (state.problem == problem) return;  // it asks every second or two: said once
  state.problem = problem;
  spdlog::error("node {}: {}", state.record.spec.traits.name, problem);
  send_beat(self, {});
}

caf::result<Done> judge_run(NodeSelf self, const JudgeRun& request) {
  auto& state = self->state;
  if (state.retired) return being_removed(state);
  const auto& run = request.run;
  const auto& holder = state.record.run;
  if (run == holder && !state.fenced) return Done{};
  if (run.starts < holder.starts) {
    note_rival(self, run,
               "was refused: it was superseded by start " + std::to_string(holder.starts));
    return duplicate(state, "start " + std::to_string(run.starts) +
                                " of it was superseded by start " + std::to_string(holder.starts));
  }
  if (state.liveness == Liveness::lost) return Done{};
  if (state.fenced)
    return make_error(ErrorCode::unavailable, "an earlier agent of node " +
                                                  state.record.spec.traits.name +
                                                  " was shut out; its tasks end with its lease");
  if (run.starts == holder.starts || request.moved) {
    note_rival(self, run, "was refused: its data directory is a copy");
    return duplicate(state,
                     "its data directory is a copy of one whose agent holds the node and "
                     "has not been silent beyond lease and grace");
  }
  if (!state.link) return Done{};
  if (!state.rival) state.rival_since = self->clock().now();
  state.rival = run;
  state.rival_seen = self->clock().now();
  return make_error(
      ErrorCode::unavailable,
      "the earlier agent of node " + state.record.spec.traits.name + " is still connected");
}

/// A report proves the present run alive when a later one has asked for as long as a live agent
/// keeps silent at the most; what a killed agent had sent before was read by then.
bool has_live_rival(NodeSelf self) {
  auto& state = self->state;
  const auto now = self->clock().now();
  const auto lease = std::chrono::milliseconds(state.context->settings.lease_ms);
  const auto interval = std::chrono::milliseconds(state.context->settings.heartbeat_interval_ms);
  if (state.rival && now > state.rival_seen + lease) state.rival.reset();
  return state.rival && now >= state.rival_since + interval;
}

void close_link(NodeActorState& state) {
  if (!state.link) return;
  caf::anon_send_exit(state.link, caf::exit_reason::user_shutdown);  // its connection closes
  state.link = nullptr;
}

/// Shuts the present run out for good: it is never answered again, so its lease runs out.
caf::error fence(NodeSelf self) {
  auto& state = self->state;
  state.record.run = *std::exchange(state.rival, std::nullopt);
  state.fenced = true;
  state.session = 0;
  close_link(state);
  note_rival(self, state.record.run, "superseded the one that was connected");
  send_beat(self, {});
  self->request(state.context->ledger, caf::infinite, Commit{{NodeChanged{state.record}}, 0})
      .then([](const Committed&) {},
            [](const caf::error& error) {
              // The node's loss, which follows, commits the same record.
              spdlog::error("a superseded agent is not durably shut out yet: {}",
                            details(error).message);
            });
  return duplicate(state, "a later start of it has asked for the node");
}

// -- reports --------------------------------------------------------------------------------------

/// Tries again until it is durable.
void return_tasks(NodeSelf self, const ReturnTasks& back) {
  if (back.tasks.empty()) return;
  self->state.book.begin_return(back.tasks);
  self->request(self->state.context->ledger, caf::infinite,
                Commit{{TasksRequeued{self->state.record.id, back.tasks, back.reason, false}}, 0})
      .then(
          [self, back](const Committed& committed) {
            spdlog::warn("tasks of node {} wait again, {} in all: {}",
                         self->state.record.spec.traits.name, back.tasks.size(), back.reason);
            tell_tenants(self, self->state.book.take_back(back.tasks),
                         committed.receipts.back().time);
            send_beat(self, back.tasks);
          },
          [self, back](const caf::error&) { self->delayed_send(self, kRetryGivingBack, back); });
}

/// What the report leaves to be ordered, unless the agent has shown that it cannot take it: then it
/// is spared new tasks for as long as a lease.
void send_orders_after_report(NodeSelf self, ReportOutcome& outcome, bool registering) {
  auto& state = self->state;
  const auto pause = std::chrono::milliseconds(state.context->settings.lease_ms);
  if (takes_no_orders(state) && self->clock().now() - state.broken_at >= pause)
    state.broken_connections = 0;
  if (registering && takes_no_orders(state) && !outcome.launches.empty()) {
    // Every connection broke on these orders, so the next would, and with it the leases of all that
    // runs there. Who registers without naming a task never got its order, so it may run elsewhere.
    return_tasks(self,
                 {keys_of(outcome.launches),
                  "node " + state.record.spec.traits.name + " did not take the order, " +
                      std::to_string(kMaxBrokenConnections) + " connections in a row ended on it"});
    outcome.launches.clear();
  }
  send_orders(self, std::move(outcome.launches), std::move(outcome.stops));
}

using ReportPromise = caf::typed_response_promise<ReportReply>;

/// What could not be made durable for now: the agent keeps and repeats it, and its tasks go on.
void answer_later(NodeSelf self, const std::vector<TaskResult>& results,
                  std::vector<TaskKey> acknowledged, const caf::error& error,
                  ReportPromise promise) {
  auto& state = self->state;
  state.book.not_settled(results);
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
    spdlog::error("results of node {} cannot be kept for now: {}", state.record.spec.traits.name,
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
            tell_tenants(self, self->state.book.settled(failed), settled.time);
            count_failed_launches(self, failed, settled.longest_backoff_ms);
            for (const auto& key : keys_of(failed)) acknowledged.push_back(key);
            promise.deliver(make_reply(self->state, std::move(acknowledged)));
          },
          [self, failed, acknowledged, promise](const caf::error& error) mutable {
            answer_later(self, failed, std::move(acknowledged), error, promise);
          });
}

/// What a life of the ledger that was lost had started, or the end of what nobody waits for.
void log_strangers(const NodeActorState& state, const ReportOutcome& outcome) {
  const auto& name = state.record.spec.traits.name;
  for (const auto& order : outcome.stops)
    if (!state.book.knows(order.task))
      spdlog::info("node {} runs task {}, which the ledger does not know there: stopped", name,
                   text_of(order.task));
  for (const auto& task : outcome.acknowledge)
    spdlog::info("node {} has a result of task {}, which the ledger does not wait for: forgotten",
                 name, text_of(task));
}

/// Makes the report's results durable and answers it then; orders and the beat go out at once.
caf::result<ReportReply> take_report(NodeSelf self, const AgentReport& report, bool registering) {
  auto& state = self->state;
  if (state.retired) return being_removed(state);
  if (state.giving_up)
    return make_error(ErrorCode::unavailable, "the node is being given up; register again");
  const bool was_lost = state.liveness == Liveness::lost;
  const bool was_away = heard(self);
  auto outcome = state.book.take_report(report, registering || was_away,
                                        state.context->ledger_end().mark.incarnation);
  if (registering) log_strangers(state, outcome);
  return_tasks(self,
               {outcome.returns, "the ledger was taken back; what became of it is not known"});
  send_orders_after_report(self, outcome, registering);
  if (std::any_of(outcome.settle.begin(), outcome.settle.end(), did_run))
    state.launch_failures_in_row = 0;
  if (!outcome.failed_launches.empty()) pause(self);
  auto released = keys_of(outcome.settle);
  for (const auto& key : keys_of(outcome.failed_launches)) released.push_back(key);
  send_beat(self, std::move(released));

  std::vector<JournalBody> bodies;
  if (was_lost) bodies.emplace_back(NodeChanged{state.record});
  if (!outcome.settle.empty()) bodies.emplace_back(TasksFinished{state.record.id, outcome.settle});
  auto promise = self->make_response_promise<ReportReply>();
  if (bodies.empty()) {
    settle_failed_launches(self, outcome.failed_launches, std::move(outcome.acknowledge), promise);
    return promise;
  }
  self->request(state.context->ledger, caf::infinite, Commit{std::move(bodies), 0})
      .then(
          [self, promise, outcome](const Committed& committed) {
            self->state.keeps_results = true;
            tell_tenants(self, self->state.book.settled(outcome.settle),
                         committed.receipts.back().time);
            if (self->state.record.draining) send_beat(self, {});
            auto acknowledged = outcome.acknowledge;
            for (const auto& key : keys_of(outcome.settle)) acknowledged.push_back(key);
            settle_failed_launches(self, outcome.failed_launches, std::move(acknowledged), promise);
          },
          [self, promise, outcome, was_lost](const caf::error& error) {
            if (was_lost) {  // what is stored still says so
              self->state.liveness = Liveness::lost;
              self->state.record.lost = true;
              send_beat(self, {});
            }
            self->state.book.not_settled(outcome.failed_launches);
            answer_later(self, outcome.settle, outcome.acknowledge, error, promise);
          });
  return promise;
}

caf::result<ReportReply> take_heartbeat(NodeSelf self, const AgentReport& report) {
  auto& state = self->state;
  if (report.session != state.session || state.fenced) {
    if (state.fenced) return duplicate(state, "a later start of it has asked for the node");
    return make_error(ErrorCode::unavailable, "a newer connection of this agent replaced this one");
  }
  if (has_live_rival(self)) return fence(self);
  return take_report(self, report, false);
}

caf::result<ReportReply> attach(NodeSelf self, Attach& request) {
  auto& state = self->state;
  close_link(state);
  // Drains are decided here: the coordinator may not have heard of the last one.
  request.record.draining = state.record.draining;
  request.record.drain_reason = state.record.drain_reason;
  state.record = std::move(request.record);
  state.link = request.link;
  state.paused = false;  // an agent that was started anew may be in order
  state.session = request.session;
  state.fenced = false;
  state.rival.reset();
  self->monitor(state.link);
  return take_report(self, request.report, true);
}

void launch(NodeSelf self, const LaunchTasks& request) {
  auto& state = self->state;
  for (const auto& order : request.orders) state.book.assign(request.tenant, order);
  if (state.liveness == Liveness::lost)
    give_back_late(self);
  else
    send_orders(self, request.orders, {});
}

void stop(NodeSelf self, const StopTasks& request) {
  std::vector<StopOrder> stops;
  for (const auto& task : request.tasks)
    if (self->state.book.request_stop(task)) stops.push_back({task, 0});
  send_orders(self, {}, std::move(stops));
}

caf::result<Done> set_drain(NodeSelf self, const SetDrain& request) {
  if (self->state.retired) return being_removed(self->state);
  auto promise = self->make_response_promise<Done>();
  commit_drain(self, request.drain, request.reason, [promise](const caf::error& error) mutable {
    if (error)
      promise.deliver(error);
    else
      promise.deliver(Done{});
  });
  return promise;
}

NodeBase::behavior_type node_behavior(NodeSelf self, std::shared_ptr<const ClusterContext> context,
                                      NodeBeatSink coordinator, NodeRecord record,
                                      std::vector<AssignedTask> assigned) {
  auto& state = self->state;
  state.context = std::move(context);
  state.coordinator = std::move(coordinator);
  state.record = std::move(record);
  // A lost node with tasks still assigned: the commit that gave them back did not happen. Give up
  // anew.
  state.liveness = state.record.lost && assigned.empty() ? Liveness::lost : Liveness::silent;
  state.book = NodeBook{std::move(assigned)};
  state.last_heard =
      self->clock().now();  // after a restart every node has a whole lease to come back
  state.older_leases_until =
      state.last_heard + std::chrono::milliseconds(state.context->older_leases_ms);
  self->set_down_handler([self](const caf::down_msg& message) {
    if (!self->state.link || message.source != self->state.link.address()) return;
    self->state.link = nullptr;
    send_beat(self, {});
  });
  schedule_check(self, std::chrono::milliseconds(state.context->settings.lease_ms));
  return {
      [self](const AgentReport& report) { return take_heartbeat(self, report); },
      [self](const ReadAgentLog& request) -> caf::result<LogChunk> {
        if (!self->state.link)
          return make_error(ErrorCode::unavailable,
                            "node " + self->state.record.spec.traits.name + " is not connected");
        return self->delegate(self->state.link, request);
      },
      [self](const JudgeRun& request) { return judge_run(self, request); },
      [self](Attach& request) { return attach(self, request); },
      [self](const SetDrain& request) { return set_drain(self, request); },
      [self](const RetireNode&) { return retire(self->state); },
      [self](const ReinstateNode&) { reinstate(self); },
      [self](const LaunchTasks& request) { launch(self, request); },
      [self](const StopTasks& request) { stop(self, request); },
      [self](const LeaseCheck& check) {
        if (check.number == self->state.lease_checks) check_lease(self);
      },
      [self](const ReturnTasks& back) { return_tasks(self, back); },
      [self](const PauseOver& over) { end_pause(self, over); },
  };
}

}  // namespace

NodeActor spawn_node(caf::actor_system& system, std::shared_ptr<const ClusterContext> context,
                     NodeBeatSink coordinator, NodeRecord record,
                     std::vector<AssignedTask> assigned) {
  return system.spawn(node_behavior, std::move(context), std::move(coordinator), std::move(record),
                      std::move(assigned));
}

}  // namespace fairwater
