#include "tests/cluster_sim/world/connection.hpp"

#include <utility>

#include "tests/cluster_sim/world/agent.hpp"
#include "tests/cluster_sim/world/coordinator.hpp"
#include "tests/cluster_sim/world/fake_host.hpp"

namespace fairwater::cluster_sim {
namespace {

using ConnectionPtr = std::shared_ptr<Connection>;

/// For how long the coordinator's side waits for orders to be taken.
constexpr std::int64_t kOrdersTimeout_us = 30 * kSecond;

caf::error closed() {
  return make_error(ErrorCode::unavailable, "the connection closed before the answer came");
}

template <class Answer>
struct OpenRequests {
  std::uint64_t last = 0;
  std::map<std::uint64_t, caf::typed_response_promise<Answer>> open;

  std::uint64_t add(caf::typed_response_promise<Answer> promise) {
    open.emplace(++last, std::move(promise));
    return last;
  }
  template <class Value>
  void settle(std::uint64_t number, Value value) {
    const auto found = open.find(number);
    if (found == open.end()) return;  // answered twice
    auto promise = std::move(found->second);
    open.erase(found);
    promise.deliver(std::move(value));
  }
  void fail_all() {
    for (auto& [number, promise] : std::exchange(open, {})) promise.deliver(closed());
  }
};

struct AgentEndState {
  OpenRequests<ReportReply> requests;
};

AgentEnd::behavior_type agent_end(AgentEnd::stateful_pointer<AgentEndState> self,
                                  ConnectionPtr connection) {
  return {
      [=](AgentReport& report) -> caf::result<ReportReply> {
        auto promise = self->make_response_promise<ReportReply>();
        connection->report(self->state.requests.add(promise), std::move(report));
        return promise;
      },
      [=](ReportAnswered& answered) {
        if (answered.reply)
          self->state.requests.settle(answered.number, std::move(*answered.reply));
        else
          self->state.requests.settle(answered.number, answered.reply.error());
      },
      [=](CloseEnd) {
        self->state.requests.fail_all();
        self->quit();
      },
  };
}

struct CoordinatorEndState {
  OpenRequests<OrdersTaken> requests;
};

CoordinatorEnd::behavior_type coordinator_end(
    CoordinatorEnd::stateful_pointer<CoordinatorEndState> self, ConnectionPtr connection) {
  return {
      [=](const AgentOrders& orders) -> caf::result<OrdersTaken> {
        auto promise = self->make_response_promise<OrdersTaken>();
        connection->orders(self->state.requests.add(promise), orders);
        return promise;
      },
      [](const ReadAgentLog&) -> caf::result<LogChunk> {
        return LogChunk{"", true};
      },
      [=](const OrdersAnswered& answered) {
        self->state.requests.settle(answered.number, OrdersTaken{});
      },
      [=](CloseEnd) {
        self->state.requests.fail_all();
        self->quit();
      },
  };
}

}  // namespace

Connection::Connection(Stage& stage, Agent& agent, Coordinator& coordinator, const CutPath& path)
    : stage_(stage),
      agent_(agent),
      coordinator_(coordinator),
      up_(stage, agent.network, path, Wire::Direction::up),
      down_(stage, agent.network, path, Wire::Direction::down) {}

void Connection::to_agent(std::function<void()> deliver) {
  down_.send([self = shared_from_this(), deliver = std::move(deliver)] {
    if (self->open_at_agent_) deliver();
  });
}

void Connection::to_coordinator(std::function<void()> deliver) {
  up_.send([self = shared_from_this(), deliver = std::move(deliver)] {
    if (self->open_at_coordinator_) deliver();
  });
}

// -- registering ----------------------------------------------------------------------------------

void Connection::register_node(RegisterNode request) {
  sent_boottime_ms_ = agent_.machine.boottime_ms();
  sent_at_us_ = stage_.time.now_us();
  if (!coordinator_.is_running()) {
    open_at_coordinator_ = false;
    stage_.time.in(kMs, [self = shared_from_this()] { self->close_at_agent(); });
    return;
  }
  coordinator_.remember(shared_from_this());
  to_coordinator([this, request = std::move(request)] { take_registration(request); });
  close_when_unregistered();
}

void Connection::close_when_unregistered() {
  stage_.time.in(kCallTimeout_us, [self = shared_from_this()] {
    if (!self->is_registered_) self->close_at_agent();
  });
}

/// The agent leaves a coordinator by ending it.
AgentEnd Connection::open_agent_end() {
  auto& process = agent_.process();
  auto end = process.system().spawn(agent_end, shared_from_this());
  process.own(end, [self = shared_from_this()](const caf::error&) {
    self->stage_.time.in(0, [self] { self->close_at_agent(); });
  });
  return end;
}

void Connection::take_registration(RegisterNode request) {
  if (coordinator_end_) return;  // it came twice
  if (!coordinator_.leads())
    return refuse(make_not_leader("this coordinator follows", coordinator_.leader_name()));
  auto& process = coordinator_.process();
  coordinator_end_ = process.system().spawn(coordinator_end, shared_from_this());
  process.own(coordinator_end_, [self = shared_from_this()](const caf::error&) {
    self->stage_.time.in(0, [self] { self->close_at_coordinator(); });
  });
  request.link = coordinator_end_;
  coordinator_.ask<NodeRegistered>(
      request, [self = shared_from_this()](const Expected<NodeRegistered>& answer) {
        self->registered(answer);
      });
}

void Connection::refuse(const caf::error& error) {
  to_agent([this, error] { agent_.on_refused(*this, error); });
}

void Connection::registered(const Expected<NodeRegistered>& answer) {
  if (!coordinator_.leads()) return;  // it is just being killed
  if (!answer) return refuse(answer.error());
  coordinator_.check_reply(agent_.name(), answer->reply, sent_at_us_);
  port_ = answer->port;
  session_ = answer->session;
  // As the gateway does: when the node's actor ends, the agent is to register again.
  coordinator_.process().watch(port_,
                               [self = weak_from_this(), &stage = stage_](const caf::error&) {
                                 stage.time.in(0, [self] {
                                   if (const auto connection = self.lock())
                                     connection->close_at_coordinator();
                                 });
                               });
  to_agent([this, epoch = answer->epoch, reply = answer->reply, cluster_id = answer->cluster_id] {
    if (std::exchange(is_registered_, true)) return;
    agent_end_ = open_agent_end();
    agent_.machine.offer_lease({reply.committed.incarnation, epoch}, sent_boottime_ms_, reply);
    agent_.on_registered(LinkUp{agent_end_, epoch, reply, sent_boottime_ms_, cluster_id});
  });
}

// -- a coordinator that was deposed ---------------------------------------------------------------

void Connection::register_with_deposed(const LinkUp& deposed) {
  sent_boottime_ms_ = agent_.machine.boottime_ms();
  deposed_ = deposed;
  deposed_->reply.acknowledged.clear();
  to_coordinator([this] { answer_as_deposed(); });
  close_when_unregistered();
}

void Connection::answer_as_deposed() {
  if (!agent_.may_answer(*deposed_)) return;
  to_agent([this] {
    if (std::exchange(is_registered_, true)) return;
    stage_.log.line("agent {} meets a deposed coordinator of epoch {}", agent_.name(),
                    deposed_->epoch);
    agent_end_ = open_agent_end();
    const ReportReply& reply = deposed_->reply;
    agent_.machine.offer_lease({reply.committed.incarnation, deposed_->epoch}, sent_boottime_ms_,
                               reply);
    agent_.on_registered_by_deposed(
        LinkUp{agent_end_, deposed_->epoch, reply, sent_boottime_ms_, deposed_->cluster_id});
  });
}

// -- reports --------------------------------------------------------------------------------------

void Connection::report(std::uint64_t number, AgentReport report) {
  agent_.check_report(report);
  if (!open_at_agent_) return;
  reported_[number] = {agent_.machine.boottime_ms(), stage_.time.now_us()};
  to_coordinator([this, number, report = std::move(report)] { take_report(number, report); });
  stage_.time.in(kCallTimeout_us, [self = shared_from_this(), number] {
    if (!self->answered_.contains(number)) self->close_at_agent();
  });
}

void Connection::take_report(std::uint64_t number, AgentReport report) {
  if (deposed_) {
    if (agent_.may_answer(*deposed_)) deliver_reply(number, deposed_->reply);
    return;
  }
  report.session = session_;
  coordinator_.process().ask<ReportReply>(
      port_, std::move(report),
      [self = shared_from_this(), number](const Expected<ReportReply>& reply) {
        if (reply && self->coordinator_.leads())
          self->coordinator_.check_reply(self->agent_.name(), *reply,
                                         self->reported_[number].at_us);
        self->deliver_reply(number, reply);
      });
}

void Connection::deliver_reply(std::uint64_t number, const Expected<ReportReply>& reply) {
  to_agent([this, number, reply] {
    answered_.insert(number);
    if (reply)
      agent_.machine.offer_lease({reply->committed.incarnation, reply->epoch},
                                 reported_[number].boottime_ms, *reply);
    caf::anon_send(agent_end_, ReportAnswered{number, reply});
  });
}

// -- orders ---------------------------------------------------------------------------------------

void Connection::orders(std::uint64_t number, const AgentOrders& orders) {
  for (const auto& launch : orders.launches)
    coordinator_.checker().ordered(agent_.name(), launch, coordinator_.epoch());
  keep_as_ghost(orders);
  to_agent([this, number, orders] {
    agent_.take_orders(orders);
    to_coordinator([this, number] {
      orders_taken_.insert(number);
      caf::anon_send(coordinator_end_, OrdersAnswered{number});
    });
  });
  stage_.time.in(kOrdersTimeout_us, [self = shared_from_this(), number] {
    if (!self->orders_taken_.contains(number)) self->close_at_coordinator();
  });
}

/// A copy that turns up when the coordinator is long gone.
void Connection::keep_as_ghost(const AgentOrders& orders) {
  if (orders.launches.empty()) return;
  AgentOrders ghost = orders;
  for (auto& launch : ghost.launches) launch.environment.change()[kGhostMark] = "yes";
  agent_.keep_ghost(std::move(ghost));
}

// -- ends -----------------------------------------------------------------------------------------

void Connection::close_at_agent() {
  if (!std::exchange(open_at_agent_, false)) return;
  if (agent_end_) caf::anon_send(agent_end_, CloseEnd{});
  agent_end_ = nullptr;
  to_coordinator([this] { close_at_coordinator(); });
  agent_.on_closed(*this);
}

void Connection::close_at_coordinator() {
  if (!std::exchange(open_at_coordinator_, false)) return;
  if (coordinator_end_) caf::anon_send(coordinator_end_, CloseEnd{});
  coordinator_end_ = nullptr;
  port_ = nullptr;
  to_agent([this] { close_at_agent(); });
}

void Connection::coordinator_died() {
  coordinator_end_ = nullptr;
  port_ = nullptr;
  if (std::exchange(open_at_coordinator_, false)) to_agent([this] { close_at_agent(); });
}

}  // namespace fairwater::cluster_sim
