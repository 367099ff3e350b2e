#include "bench/load/node.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "bench/load/loopback.hpp"
#include "bench/value_of.hpp"
#include "rpc/agent/agent_client.hpp"
#include "rpc/faults.hpp"
#include "rpc/tokens.hpp"

namespace fairwater::load {
namespace {

const AgentClientOptions kAsAgents;
/// Where others may lead, a coordinator that is silent for so long is left. An agent keeps its
/// connection while it asks elsewhere (rpc/agent); to do without costs a registration.
constexpr auto kLeftAfter = 1 * kj::SECONDS;
constexpr std::size_t kMaxResultsPerReport = 1000;  ///< as actors/agent has it

NodeSpec spec_of(const FleetOptions& options, std::uint32_t number) {
  const auto zone = fmt::format("z{}", number % std::max(1U, options.zones));
  NodeSpec spec;
  spec.traits = {fmt::format("load{}", number), zone, {{"zone", zone}}};
  spec.capacity = {{"cpu", options.slots * 1000LL}, {"memory", options.slots * 1024LL}};
  spec.instance = fmt::format("{:032x}", number + 1);
  spec.limits = "rlimit";
  spec.isolation = "runs nothing";
  return spec;
}

std::int64_t number_in(const LaunchOrder& order, std::size_t word) {
  std::int64_t number = 0;
  if (order.command->size() > word) {
    const auto& text = (*order.command)[word];
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return number;
}

Clock::duration real(double milliseconds) {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double, std::milli>(milliseconds));
}

class Control final : public wire::AgentControl::Server {
 public:
  explicit Control(Node& node) : node_(node) {}

 protected:
  kj::Promise<void> orders(OrdersContext context) override {
    node_.take(read(context.getParams()));
    return kj::READY_NOW;
  }
  kj::Promise<void> readLog(ReadLogContext context) override {
    encode(LogChunk{"", true}, context.getResults().initChunk());
    return kj::READY_NOW;
  }

 private:
  Node& node_;
};

}  // namespace

struct Node::Session final : private kj::TaskSet::ErrorHandler {
  explicit Session(wire::NodeSession::Client node)
      : node(kj::mv(node)), failed(kj::newPromiseAndFulfiller<void>()), tasks(*this) {}
  wire::NodeSession::Client node;
  kj::PromiseFulfillerPair<void> failed;
  kj::TaskSet tasks;

 private:
  void taskFailed(kj::Exception&&) override { failed.fulfiller->fulfill(); }
};

Node::Node(FleetLoop& fleet, std::uint32_t number)
    : fleet_(fleet),
      number_(number),
      spec_(spec_of(fleet.options, number)),
      credential_(make_token("fw_ag_")),
      identity_{{}, {1, fmt::format("{:032x}", number + 1)}},
      addresses_(bench::value_of(AddressList::parse(fleet.options.coordinators))),
      back_off_(kAsAgents.reconnect_min_ms, kAsAgents.reconnect_max_ms, number),
      slots_never_used_(fleet.options.slots) {}

Node::~Node() = default;

// -- the connection -------------------------------------------------------------------------------

kj::Promise<void> Node::live_for_ever() {
  auto turn = joined_ ? kj::Promise<void>(kj::READY_NOW) : fleet_.turn_to_join();
  return turn
      .then([this] { return connect(); })
      // It tries again, and the fleet counts those it has.
      .catch_([this](kj::Exception&&) { addresses_.advance(); })
      .then([this] {
        disconnect();
        return fleet_.loop.timer().afterDelay(back_off_.next_ms(1) * kj::MILLISECONDS);
      })
      .then([this] { return live_for_ever(); });
}

kj::Promise<void> Node::connect() {
  ++fleet_.seen.tries;
  auto& timer = fleet_.loop.timer();
  const auto timeout =
      addresses_.size() > 1 ? kLeftAfter : kAsAgents.lone_timeout_ms * kj::MILLISECONDS;
  return timer
      .timeoutAfter(timeout, connect_numbered(fleet_.loop.io, addresses_.current(), number_))
      .then([this, &timer, timeout](kj::Own<kj::AsyncIoStream> stream) {
        rpc_ = kj::heap<RpcClient>(kj::mv(stream));
        return timer.timeoutAfter(timeout, rpc_->identify(fleet_.options.join.coordinator));
      })
      .then([this, &timer](Identified coordinator) -> kj::Promise<void> {
        if (!coordinator) return kj::READY_NOW;
        const auto timeout = kAsAgents.lone_timeout_ms * kj::MILLISECONDS;  // it may be held back
        return timer.timeoutAfter(timeout, register_node()).then([this] {
          if (session_.get() == nullptr) return kj::Promise<void>(kj::READY_NOW);
          return rpc_->on_disconnect().exclusiveJoin(
              session_->failed.promise.then([this] { addresses_.advance(); }));
        });
      });
}

kj::Promise<void> Node::register_node() {
  end_what_outlived_the_lease();
  auto request = rpc_->gateway().registerAgentRequest();
  request.setProtocolVersion(kProtocolVersion);
  request.setCredential(to_text(credential_));
  if (!joined_) request.setJoinToken(to_text(fleet_.options.join.token));
  encode(spec_, request.initSpec());
  encode(report(), request.initReport());
  request.getReport().setHighWaterCycle(identity_.memory.seen.number);
  encode(identity_, request.initIdentity());
  request.setControl(kj::heap<Control>(*this));
  const auto sent = Clock::now();
  return response_of(request).then([this, sent](auto&& response) {
    if (response.hasError()) return move_on(details(read(response.getError())));
    end_what_outlived_the_lease();
    session_ = kj::heap<Session>(response.getSession());
    back_off_.reset();
    identity_.memory.cluster_id = to_std_string(response.getClusterId());
    take(read(response.getReply()), sent);
    if (!std::exchange(joined_, true)) fleet_.joined();
    ++fleet_.seen.registrations;
    ++fleet_.seen.registered;
    fleet_.seen.registered_at = Clock::now();
    if (!std::exchange(beats_, true))
      fleet_.at({Clock::now() + real(fleet_.random(0, 1) * static_cast<double>(interval_.count())),
                 this});
    send_report();
  });
}

kj::Duration Node::patience() const {
  return addresses_.size() > 1 ? kLeftAfter : kAsAgents.call_timeout_ms * kj::MILLISECONDS;
}

void Node::move_on(const ErrorDetails& refused) {
  ++fleet_.seen.refusals;
  if (refused.code != ErrorCode::not_leader || !addresses_.follow(refused.leader))
    addresses_.advance();
}

void Node::disconnect() {
  if (session_.get() != nullptr) {
    --fleet_.seen.registered;
    ++fleet_.seen.lost_connections;
  } else if (!joined_) {
    fleet_.joined();  // not yet, but it is another one's turn
  }
  session_ = nullptr;
  rpc_ = nullptr;
  report_under_way_ = report_wanted_ = false;
  free_since_.clear();
}

// -- reports --------------------------------------------------------------------------------------

/// As actors/agent does it: a report for another reason is a heartbeat as well.
void Node::beat() {
  end_what_outlived_the_lease();
  const auto now = Clock::now();
  if (now >= reported_at_ + interval_) {
    send_report();
    reported_at_ = now;
  }
  fleet_.at({reported_at_ + interval_, this});
}

AgentReport Node::report() const {
  AgentReport report;
  report.running.reserve(running_.size());
  for (const auto& [task, run] : running_) report.running.push_back(task);
  for (const auto& [task, result] : finished_) {
    if (report.finished.size() < kMaxResultsPerReport)
      report.finished.push_back(result);
    else
      report.running.push_back(task);  // still the node's, until there is room for its result
  }
  return report;
}

void Node::send_report() {
  report_wanted_ = true;
  if (session_.get() == nullptr || report_under_way_) return;
  report_wanted_ = false;
  report_under_way_ = true;
  auto request = session_->node.heartbeatRequest();
  encode(report(), request.initReport());
  const auto sent = reported_at_ = Clock::now();
  session_->tasks.add(fleet_.loop.timer()
                          .timeoutAfter(patience(), response_of(request))
                          .then([this, sent](auto&& response) {
                            report_under_way_ = false;
                            if (response.hasError()) return;  // the next heartbeat tries again
                            ++fleet_.seen.reports;
                            fleet_.samples.report_ms.push_back(ms_since(sent));
                            take(read(response.getReply()), sent);
                            if (report_wanted_) send_report();
                          }));
}

void Node::take(const ReportReply& reply, Clock::time_point sent) {
  for (const TaskKey& task : reply.acknowledged) {
    if (finished_.erase(task) == 0) continue;
    ++fleet_.seen.durable_ends;
    fleet_.seen.durable_at = Clock::now();
  }
  if (!reply.acknowledged.empty() && !finished_.empty()) report_wanted_ = true;
  if (!is_older(reply.committed, identity_.memory.seen)) identity_.memory.seen = reply.committed;
  if (reply.heartbeat_interval_ms > 0)
    interval_ = std::chrono::milliseconds(reply.heartbeat_interval_ms);
  if (reply.lease_ms > 0) lease_until_ = sent + std::chrono::milliseconds(reply.lease_ms);
}

void Node::end_what_outlived_the_lease() {
  if (!joined_ || running_.empty() || Clock::now() < lease_until_) return;
  ++fleet_.seen.leases_ended;
  while (!running_.empty()) end_task(running_.begin()->first, EndReason::lease_expired);
}

// -- tasks ----------------------------------------------------------------------------------------

void Node::take(const AgentOrders& orders) {
  for (const LaunchOrder& order : orders.launches) launch(order);
  for (const StopOrder& order : orders.stops) {
    if (!running_.contains(order.task)) continue;
    ++fleet_.seen.stops;
    end_task(order.task, EndReason::cancelled);
  }
}

/// The command: a word, the milliseconds that the task claims to take, its exit code.
void Node::launch(const LaunchOrder& order) {
  if (running_.contains(order.task) || finished_.contains(order.task)) {
    ++fleet_.seen.launches_told_twice;
    return;
  }
  ++fleet_.seen.launches;
  if (!free_since_.empty()) {
    fleet_.samples.end_to_start_ms.push_back(ms_since(free_since_.front()));
    free_since_.pop_front();
  }
  const auto cpu = order.limits.find("cpu");
  const Running run{number_in(order, 1), static_cast<std::int32_t>(number_in(order, 2)),
                    cpu == order.limits.end() ? 0 : cpu->second};
  millicores_in_use_ += run.millicores;
  if (millicores_in_use_ > spec_.capacity.at("cpu")) ++fleet_.seen.launches_beyond_capacity;
  running_.emplace(order.task, run);
  fleet_.count_running(1);
  if (run.claimed_ms == 0) return end_task(order.task);
  double takes_ms = static_cast<double>(run.claimed_ms) / fleet_.options.time_scale;
  if (slots_never_used_ > 0) {  // so that those which start together do not end together
    --slots_never_used_;
    takes_ms *= fleet_.random(0, 1);
  } else {
    takes_ms *= fleet_.random(1 - fleet_.options.spread, 1 + fleet_.options.spread + 1e-9);
  }
  fleet_.at({Clock::now() + real(takes_ms), this, order.task});
}

void Node::end_task(const TaskKey& task, EndReason reason) {
  const auto found = running_.find(task);
  if (found == running_.end()) return;  // it ended on order
  const Running run = found->second;
  running_.erase(found);
  millicores_in_use_ -= run.millicores;
  fleet_.count_running(-1);
  ++fleet_.seen.ends;
  free_since_.push_back(Clock::now());
  TaskResult result;
  result.task = task;
  result.reason = reason;
  result.exit_code = reason == EndReason::exited ? run.exit_code : 143;
  result.finished_at = wall_time_now();
  result.started_at = {result.finished_at.microseconds - run.claimed_ms * 1000};
  finished_.emplace(task, std::move(result));
  send_report();
}

}  // namespace fairwater::load
