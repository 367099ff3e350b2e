#include "actors/agent/agent.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

#include "actors/agent/early_orders.hpp"
#include "actors/agent/known_cluster.hpp"
#include "actors/agent/refused_orders.hpp"
#include "actors/agent/task.hpp"
#include "model/text.hpp"
#include "schema/byte_budget.hpp"
#include "schema/codec.hpp"
#include "schema/fields/agent.hpp"
#include "schema/fields/convert.hpp"

namespace fairwater::inline actors::inline agent {

struct AgentBeat {};
struct AgentLeaseOver {
  std::uint64_t number = 0;
};

}  // namespace fairwater::inline actors::inline agent

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::AgentBeat)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::AgentLeaseOver)

namespace fairwater::inline actors::inline agent {
namespace {

using AgentActor = AgentPort::extend<caf::reacts_to<AttemptsEnded>, caf::reacts_to<AttemptOver>,
                                     caf::reacts_to<AgentBeat>, caf::reacts_to<AgentLeaseOver>>;
using LogPromise = caf::typed_response_promise<LogChunk>;
using DescriptionPromise = caf::typed_response_promise<NodeDescription>;

// A report stays well below what the gateway takes in one message, also before it knows the agent,
// however long the coordinator was away: so many results, and kMessageBudgetBytes of them.
constexpr std::size_t kMaxResultsPerReport = 1000;

/// However its message was made: it may quote what the job asked for, or come from the file of an
/// earlier version.
TaskResult bounded(TaskResult result) {
  result.message = one_line(result.message, kMaxResultMessageBytes);
  return result;
}

class Agent {
 public:
  static inline const char* name = "agent";
  using Self = AgentActor::stateful_pointer<Agent>;

  void start(Self self, AgentSettings settings, TaskHostActor host);

  void describe(DescriptionPromise promise);
  void on_link_up(const LinkUp& up);
  void on_link_down();
  void on_link_died(const caf::actor_addr& link);
  void on_duplicate(const std::string& message);
  void on_orders(const AgentOrders& orders);
  void on_attempts_ended(AttemptsEnded& ended);
  void on_attempt_over(AttemptOver& over);
  void on_beat();
  void on_lease_over(std::uint64_t number);
  void read_log(const ReadAgentLog& request, LogPromise promise);

 private:
  void take_stock(HostInventory& inventory);
  [[nodiscard]] AgentReport report() const;
  void send_report();
  void take_reply(const ReportReply& reply, std::int64_t sent_boottime_ms);
  void forget(const std::vector<TaskKey>& acknowledged);
  void extend_lease(const LeaseTimes& given);
  void check_lease_at(std::int64_t moment_ms);
  void leave_deposed(const CoordinatorLink& link, std::uint64_t epoch);
  void keep_memory();
  void carry_out(const AgentOrders& orders);
  void launch(const LaunchOrder& order);
  void stop(const TaskKey& task, EndReason reason);
  void tell(const JobMembers& members);
  [[nodiscard]] bool too_old(std::uint64_t epoch, const TaskKey& task);

  Self self_ = nullptr;
  AgentSettings settings_;
  TaskHostActor host_;
  bool took_stock_ = false;
  std::uint32_t log_reads_ = 0;                        ///< that the host has before it
  std::vector<DescriptionPromise> waiting_for_stock_;  ///< one client asks, one at a time

  struct RunningTask {
    TaskActor actor;
    std::int64_t lease_ms = 0;    ///< its own; 0: none
    bool outlived_lease = false;  ///< and was told to stop for it
  };
  std::map<TaskKey, RunningTask> running_;
  std::map<TaskKey, TaskResult> finished_;  ///< not acknowledged yet

  CoordinatorLink link_;
  std::uint64_t link_number_ = 0;  ///< tells answers over this link from those over an earlier one
  bool report_under_way_ = false;
  bool report_wanted_ = false;
  std::int64_t reported_at_ms_ = 0;
  EarlyOrders early_orders_;
  RefusedOrders refused_;
  LeaseTimes lease_;
  std::optional<std::int64_t> lease_check_at_ms_;
  std::uint64_t lease_checks_ = 0;  ///< number of the newest; earlier ones are void
  bool settled_ = false;            ///< this run has been let in once
  bool duplicate_ = false;          ///< and has said so; until it is let in
  KnownCluster cluster_;
  std::uint64_t words_on_members_ = 0;
};

// -- setting up -----------------------------------------------------------------------------------

void Agent::start(Self self, AgentSettings settings, TaskHostActor host) {
  self_ = self;
  settings_ = std::move(settings);
  host_ = std::move(host);
  cluster_ = KnownCluster(settings_.identity.memory);
  self_->link_to(host_);
  // No timeout: it takes as long as the disk needs, and nothing can be said of the node before.
  self_->request(host_, caf::infinite, WatchHost{AttemptEndSink(self_)})
      .then([this](HostInventory& inventory) { take_stock(inventory); },
            [this](const caf::error& error) {
              spdlog::error("cannot find the tasks of this node: {}", details(error).message);
              self_->quit(error);
            });
}

void Agent::take_stock(HostInventory& inventory) {
  for (FoundTask& found : inventory.tasks) {
    if (found.running)
      running_[found.task] = {
          self_->spawn<caf::linked>(adopt_task, found.task, host_, AttemptOverSink(self_)),
          found.lease_ms};
    else if (found.result)
      finished_[found.task] = bounded(std::move(*found.result));
  }
  took_stock_ = true;
  for (auto& promise : std::exchange(waiting_for_stock_, {})) describe(promise);
  self_->delayed_send(self_, Milliseconds(settings_.heartbeat_interval_ms), AgentBeat{});
}

void Agent::describe(DescriptionPromise promise) {
  if (!took_stock_) return waiting_for_stock_.push_back(std::move(promise));
  early_orders_.drop();  // of a connection that is over: the coordinator sees that they do not run
  AgentIdentity identity = settings_.identity;
  identity.memory = cluster_.memory();
  identity.moved = identity.moved && !settled_;
  promise.deliver(NodeDescription{settings_.spec, report(), std::move(identity)});
}

// -- towards the coordinator ----------------------------------------------------------------------

AgentReport Agent::report() const {
  AgentReport report;
  report.running.reserve(running_.size());
  for (const auto& [task, run] : running_) report.running.push_back(task);
  ByteBudget budget;
  for (const auto& [task, result] : finished_) {
    if (report.finished.size() < kMaxResultsPerReport &&
        budget.take(wire_bytes<wire::TaskResult>(result)))
      report.finished.push_back(result);
    else
      report.running.push_back(task);  // still the agent's, until there is room for its result
  }
  return report;
}

void Agent::send_report() {
  report_wanted_ = true;
  if (!link_ || report_under_way_) return;
  report_wanted_ = false;
  report_under_way_ = true;
  const std::int64_t sent_at_ms = reported_at_ms_ = settings_.boottime_ms();
  const auto number = link_number_;
  self_->request(link_, Milliseconds(settings_.report_timeout_ms), report())
      .then(
          [this, sent_at_ms, number](const ReportReply& reply) {
            const bool is_current = number == link_number_;
            if (cluster_.is_deposed("", reply.committed.incarnation, reply.epoch))
              return leave_deposed(is_current ? link_ : CoordinatorLink(), reply.epoch);
            take_reply(reply, sent_at_ms);
            if (!is_current) return;
            report_under_way_ = false;
            if (report_wanted_) send_report();
          },
          [this, number](const caf::error& error) {
            if (number != link_number_) return;
            report_under_way_ = false;  // the next heartbeat tries again
            const ErrorDetails why = details(error);
            if (why.code == ErrorCode::already_exists) return on_duplicate(why.message);
            spdlog::warn("a report was not taken: {}", why.message);
          });
}

/// Of a coordinator that is not deposed. That it is the newest is durable before anything follows.
void Agent::take_reply(const ReportReply& reply, std::int64_t sent_boottime_ms) {
  cluster_.learn(cluster_.memory().cluster_id, reply.committed, reply.epoch);
  keep_memory();
  forget(reply.acknowledged);
  if (!reply.acknowledged.empty() && !finished_.empty()) report_wanted_ = true;
  if (reply.heartbeat_interval_ms > 0)
    settings_.heartbeat_interval_ms = reply.heartbeat_interval_ms;
  if (reply.lease_ms <= 0) return;
  extend_lease({sent_boottime_ms + reply.lease_ms, sent_boottime_ms,
                sent_boottime_ms + std::max(reply.lease_ms, reply.longest_lease_ms)});
}

void Agent::forget(const std::vector<TaskKey>& acknowledged) {
  ForgetAttempts forget;
  for (const TaskKey& task : acknowledged)
    if (finished_.erase(task) > 0) forget.tasks.push_back(task);
  if (!forget.tasks.empty()) self_->send(host_, std::move(forget));
}

/// Its client looks for another coordinator when the link ends.
void Agent::leave_deposed(const CoordinatorLink& link, std::uint64_t epoch) {
  spdlog::warn(
      "refused a coordinator of epoch {}: this node knows one of epoch {}, which has deposed it",
      epoch, cluster_.memory().epoch);
  if (!link) return;
  self_->send_exit(link, caf::exit_reason::user_shutdown);
  if (link == link_) on_link_down();
}

/// A newer epoch is durable before anything else that the host is told.
void Agent::keep_memory() {
  if (auto memory = cluster_.take_to_keep(settings_.boottime_ms()))
    self_->send<caf::message_priority::high>(host_, KeepMemory{std::move(*memory)});
}

/// A report for another reason is a heartbeat as well: the next one comes an interval after it.
void Agent::on_beat() {
  keep_memory();
  const std::int64_t now = settings_.boottime_ms();
  refused_.tell(now);
  if (now >= reported_at_ms_ + settings_.heartbeat_interval_ms) {
    send_report();
    reported_at_ms_ = now;  // also where there is no connection
  }
  self_->delayed_send(self_, Milliseconds(reported_at_ms_ + settings_.heartbeat_interval_ms - now),
                      AgentBeat{});
}

void Agent::on_link_up(const LinkUp& up) {
  const auto early = early_orders_.take();
  if (cluster_.is_deposed(up.cluster_id, up.reply.committed.incarnation, up.epoch)) {
    on_link_down();
    return leave_deposed(up.link, up.epoch);
  }
  link_ = up.link;
  ++link_number_;
  report_under_way_ = false;
  duplicate_ = false;
  self_->monitor(link_);
  cluster_.learn(up.cluster_id.empty() ? cluster_.memory().cluster_id : up.cluster_id,
                 up.reply.committed, up.epoch);
  keep_memory();
  if (!std::exchange(settled_, true)) self_->send(host_, SettleDirectory{});
  take_reply(up.reply, up.sent_boottime_ms);
  for (const AgentOrders& orders : early) carry_out(orders);
  send_report();
}

void Agent::on_link_down() {
  link_ = nullptr;
  ++link_number_;
  report_under_way_ = false;
}

void Agent::on_link_died(const caf::actor_addr& link) {
  if (link_ && link_->address() == link) on_link_down();  // else it was replaced already
}

void Agent::on_duplicate(const std::string& message) {
  if (std::exchange(duplicate_, true)) return;
  spdlog::error(
      "this agent is a DUPLICATE and gets no work: {}. What it runs ends with its "
      "lease. Stop it, or give it a data directory of its own",
      message);
}

// -- the lease ------------------------------------------------------------------------------------

void Agent::extend_lease(const LeaseTimes& given) {
  if (!lease_.extend(given)) return;
  self_->send<caf::message_priority::high>(host_, ExtendHostLease{lease_});
  check_lease_at(lease_.deadline_ms);
}

void Agent::check_lease_at(std::int64_t moment_ms) {
  if (lease_check_at_ms_ && *lease_check_at_ms_ <= moment_ms) return;
  lease_check_at_ms_ = moment_ms;
  self_->delayed_send(self_, Milliseconds(moment_ms - settings_.boottime_ms()),
                      AgentLeaseOver{++lease_checks_});
}

/// The ordinary lease is over: tasks without one of their own are stopped, each of the others when
/// its own is.
void Agent::on_lease_over(std::uint64_t number) {
  if (number != lease_checks_) return;
  lease_check_at_ms_.reset();
  const std::int64_t now_ms = settings_.boottime_ms();
  if (now_ms < lease_.deadline_ms) return check_lease_at(lease_.deadline_ms);  // extended meanwhile
  std::vector<TaskActor> over;
  for (auto& [task, run] : running_) {
    const std::int64_t deadline_ms = lease_.deadline_of(run.lease_ms);
    if (now_ms < deadline_ms)
      check_lease_at(deadline_ms);
    else if (!std::exchange(run.outlived_lease, true))
      over.push_back(run.actor);
  }
  if (over.empty()) return;
  spdlog::warn("no word from the coordinator for longer than the lease: stopping {} of {} tasks",
               over.size(), running_.size());
  for (const TaskActor& task : over) self_->send(task, StopRun{EndReason::lease_expired});
}

// -- tasks ----------------------------------------------------------------------------------------

/// Also those of a newer epoch that its own registration did not bear out: of another life of the
/// ledger.
bool Agent::too_old(std::uint64_t epoch, const TaskKey& task) {
  const std::uint64_t coordinators = cluster_.memory().epoch;
  if (epoch != coordinators) refused_.note(task, epoch, coordinators);
  return epoch != coordinators;
}

/// Those of a newer coordinator wait until it has let this node in.
void Agent::on_orders(const AgentOrders& orders) {
  if (newest_epoch(orders) > cluster_.memory().epoch) return early_orders_.keep(orders);
  carry_out(orders);
}

void Agent::carry_out(const AgentOrders& orders) {
  for (const LaunchOrder& order : orders.launches)
    if (!too_old(order.epoch, order.task)) launch(order);
  for (const StopOrder& order : orders.stops)
    if (!too_old(order.epoch, order.task)) stop(order.task, EndReason::cancelled);
  for (const JobMembers& members : orders.members)
    if (!too_old(members.epoch, {members.job})) tell(members);
  refused_.tell(settings_.boottime_ms());
}

void Agent::launch(const LaunchOrder& order) {
  if (running_.contains(order.task) || finished_.contains(order.task)) return;  // told twice
  running_[order.task] = {self_->spawn<caf::linked>(launch_task, order, host_,
                                                    AttemptOverSink(self_), settings_.wall_clock),
                          order.lease_ms};
}

void Agent::stop(const TaskKey& task, EndReason reason) {
  const auto found = running_.find(task);
  if (found != running_.end()) self_->send(found->second.actor, StopRun{reason});
}

void Agent::tell(const JobMembers& members) {
  const TellRun told{std::make_shared<const JobMembers>(members), ++words_on_members_};
  for (auto run = running_.lower_bound(TaskKey{members.job, 0, 0});
       run != running_.end() && run->first.job == members.job; ++run)
    self_->send(run->second.actor, told);
}

void Agent::on_attempts_ended(AttemptsEnded& ended) {
  for (TaskResult& result : ended.results) {
    const auto found = running_.find(result.task);
    if (found != running_.end()) self_->send(found->second.actor, RunEnded{std::move(result)});
  }
}

void Agent::on_attempt_over(AttemptOver& over) {
  running_.erase(over.task);
  if (over.result && over.result->reason == EndReason::launch_failed)
    spdlog::error("cannot start task {}.{}.{}: {}", over.task.job.value, over.task.index,
                  over.task.attempt, over.result->message);
  if (over.result) finished_[over.task] = bounded(std::move(*over.result));
  send_report();
}

void Agent::read_log(const ReadAgentLog& request, LogPromise promise) {
  if (log_reads_ >= kMaxLogReads) {
    promise.deliver(make_error(ErrorCode::overloaded, "the node reads " +
                                                          std::to_string(kMaxLogReads) +
                                                          " pieces of logs already; try again "
                                                          "later"));
    return;
  }
  ++log_reads_;
  // Without a time-out: what waits for a slow disk counts until it is read. Who asked waits no
  // longer than its call may take.
  self_->request(host_, caf::infinite, request)
      .then(
          [this, promise](LogChunk& chunk) mutable {
            --log_reads_;
            promise.deliver(std::move(chunk));
          },
          [this, task = request.task, promise](const caf::error& error) mutable {
            --log_reads_;
            // Ordered to start, but the host has not come to it yet: the log is still to be
            // written.
            if (details(error).code == ErrorCode::not_found && running_.contains(task))
              promise.deliver(LogChunk{});
            else
              promise.deliver(error);
          });
}

AgentActor::behavior_type agent_behavior(Agent::Self self, AgentSettings settings,
                                         TaskHostActor host) {
  auto& agent = self->state;
  agent.start(self, std::move(settings), std::move(host));
  self->set_down_handler([&agent](const caf::down_msg& down) { agent.on_link_died(down.source); });
  return {
      [self, &agent](DescribeNode) -> caf::result<NodeDescription> {
        auto promise = self->template make_response_promise<NodeDescription>();
        agent.describe(promise);
        return promise;
      },
      [&agent](const LinkUp& up) { agent.on_link_up(up); },
      [&agent](LinkDown) { agent.on_link_down(); },
      [&agent](const FoundDuplicate& found) { agent.on_duplicate(found.message); },
      [&agent](const AgentOrders& orders) { agent.on_orders(orders); },
      [self, &agent](const ReadAgentLog& request) -> caf::result<LogChunk> {
        auto promise = self->template make_response_promise<LogChunk>();
        agent.read_log(request, promise);
        return promise;
      },
      [&agent](AttemptsEnded& ended) { agent.on_attempts_ended(ended); },
      [&agent](AttemptOver& over) { agent.on_attempt_over(over); },
      [&agent](AgentBeat) { agent.on_beat(); },
      [&agent](AgentLeaseOver over) { agent.on_lease_over(over.number); },
  };
}

}  // namespace

AgentPort spawn_agent(caf::actor_system& system, AgentSettings settings, TaskHostActor host) {
  return system.spawn(agent_behavior, std::move(settings), std::move(host));
}

}  // namespace fairwater::inline actors::inline agent
