#include "gateway/agent_line.hpp"

#include <caf/all.hpp>

#include "policy/core/check.hpp"
#include "rpc/answers.hpp"
#include "rpc/faults.hpp"
#include "schema/byte_budget.hpp"
#include "schema/fields/agent.hpp"

namespace fairwater::inline gateway {
namespace {

constexpr auto kReadLogTimeout = 10 * kj::SECONDS;
/// The call's own.
constexpr std::uint64_t kWordsBesideOrders = 64;

using LogAnswered = Answered<LogChunk>;
using OrdersAnswered = Answered<OrdersTaken>;
using AgentLinkActor =
    AgentLink::extend<caf::reacts_to<LogAnswered>, caf::reacts_to<OrdersAnswered>>;

struct AgentLinkState {
  OpenRequests<LogChunk> logs;
  OpenRequests<OrdersTaken> orders;
  void fail_all(const caf::error& error) {
    logs.fail_all(error);
    orders.fail_all(error);
  }
};

/// An agent's answer becomes a client's: what does not fit is asked for again, by its offset.
LogChunk within_budget(LogChunk chunk) {
  if (chunk.data.size() <= kMessageBudgetBytes) return chunk;
  chunk.data.resize(kMessageBudgetBytes);
  chunk.end = false;
  return chunk;
}

// Bound: orders come from one node's actor, which has a bounded number of tasks; log requests are
// admitted calls.
AgentLinkActor::behavior_type agent_link(AgentLinkActor::stateful_pointer<AgentLinkState> self,
                                         const AgentLines* lines, std::shared_ptr<Outbox> outbox,
                                         std::uint64_t number) {
  fail_on_exit(
      self, [](AgentLinkState & state) -> auto& { return state; });
  return {
      [=](AgentOrders& orders) -> caf::result<OrdersTaken> {
        auto promise = self->make_response_promise<OrdersTaken>();
        const std::uint64_t request = self->state.orders.add(promise);
        outbox->post([lines, number, request, orders = std::move(orders)]() mutable {
          if (auto* line = lines->find(number)) line->send_orders(request, std::move(orders));
        });
        return promise;
      },
      [=](const ReadAgentLog& what) -> caf::result<LogChunk> {
        auto promise = self->make_response_promise<LogChunk>();
        const std::uint64_t request = self->state.logs.add(promise);
        outbox->post([lines, number, request, what] {
          if (auto* line = lines->find(number)) line->read_log(request, what);
        });
        return promise;
      },
      [=](LogAnswered& answered) { self->state.logs.settle(answered); },
      [=](OrdersAnswered& answered) { self->state.orders.settle(answered); },
  };
}

}  // namespace

AgentLine* AgentLines::find(std::uint64_t number) const {
  const auto found = open_.find(number);
  return found == open_.end() ? nullptr : found->second;
}

AgentLine::AgentLine(caf::actor_system& system, AgentLines& lines, std::shared_ptr<Outbox> outbox,
                     kj::Timer& timer, wire::AgentControl::Client control,
                     std::function<void()> on_failure)
    : lines_(lines),
      timer_(timer),
      control_(kj::mv(control)),
      on_failure_(std::move(on_failure)),
      number_(lines.next_number_++),
      link_(system.spawn(agent_link, static_cast<const AgentLines*>(&lines), outbox, number_)),
      tasks_(*this) {
  lines_.open_[number_] = this;
  // Whoever ends the link, its node's actor for one, closes the connection with it.
  link_->attach_functor([&lines, outbox = std::move(outbox), number = number_] {
    outbox->post([&lines, number] {
      if (auto* line = lines.find(number)) line->fail();
    });
  });
}

AgentLine::~AgentLine() noexcept {
  lines_.open_.erase(number_);
  caf::anon_send_exit(link_, caf::exit_reason::user_shutdown);
}

void AgentLine::send_orders(std::uint64_t request, AgentOrders orders) {
  if (++unanswered_batches_ > kMaxUnansweredOrders) return fail();
  waiting_.push_back({request, std::move(orders)});
  send_waiting();
}

/// Launches before stops before members, as the batch has them.
std::pair<AgentOrders, std::size_t> AgentLine::Batch::next_message() {
  AgentOrders message;
  ByteBudget budget;
  for (; launches_sent < orders.launches.size(); ++launches_sent) {
    auto& order = orders.launches[launches_sent];
    if (!budget.take(wire_bytes<wire::LaunchOrder>(order)))
      return {std::move(message), budget.taken()};
    message.launches.push_back(std::move(order));
  }
  for (; stops_sent < orders.stops.size(); ++stops_sent) {
    const auto& order = orders.stops[stops_sent];
    if (!budget.take(wire_bytes<wire::StopOrder>(order)))
      return {std::move(message), budget.taken()};
    message.stops.push_back(order);
  }
  for (; members_sent < orders.members.size(); ++members_sent) {
    auto& members = orders.members[members_sent];
    if (!budget.take(wire_bytes<wire::JobMembers>(members)))
      return {std::move(message), budget.taken()};
    message.members.push_back(std::move(members));
  }
  return {std::move(message), budget.taken()};
}

void AgentLine::send_waiting() {
  while (!waiting_.empty() && bytes_under_way_ < kMaxOrderBytesUnderWay) {
    auto& batch = waiting_.front();
    const auto [message, size] = batch.next_message();
    auto request = control_.ordersRequest(
        capnp::MessageSize{kWordsBesideOrders + size / sizeof(capnp::word), 0});
    wire::AgentControl::OrdersParams::Builder parameters = request;
    encode(message, parameters);
    const auto bytes = request.totalSize().wordCount * sizeof(capnp::word);
    bytes_under_way_ += bytes;
    const auto number = batch.request;
    const bool whole_batch = batch.sent();
    if (whole_batch) waiting_.pop_front();
    tasks_.add(timer_.timeoutAfter(kOrdersTimeout, request.send().ignoreResult()).then([=, this] {
      answered(bytes, number, whole_batch);
    }));
  }
}

void AgentLine::answered(std::size_t bytes, std::uint64_t request, bool whole_batch) {
  FAIRWATER_CHECK(bytes_under_way_ >= bytes, "what is answered was under way");
  bytes_under_way_ -= bytes;
  if (whole_batch) {
    FAIRWATER_CHECK(unanswered_batches_ > 0, "a batch of orders is answered once");
    --unanswered_batches_;
    caf::anon_send(caf::actor_cast<AgentLinkActor>(link_), OrdersAnswered{request, OrdersTaken{}});
  }
  send_waiting();
}

void AgentLine::read_log(std::uint64_t request_number, const ReadAgentLog& what) {
  auto request = control_.readLogRequest();
  encode(what.task, request.initTask());
  request.setStandardError(what.standard_error);
  request.setOffset(what.offset);
  auto answered =
      timer_.timeoutAfter(kReadLogTimeout, response_of(request))
          .then(
              [](auto&& response) {
                return answer_in(response,
                                 [&] { return within_budget(read(response.getChunk())); });
              },
              [](kj::Exception&& fault) -> Expected<LogChunk> { return translate_fault(fault); });
  tasks_.add(answered.then([this, request_number](Expected<LogChunk> answer) {
    answer_log(request_number, std::move(answer));
  }));
}

void AgentLine::answer_log(std::uint64_t request, Expected<LogChunk> answer) const {
  const auto link = caf::actor_cast<AgentLinkActor>(link_);
  caf::anon_send(link, LogAnswered{request, std::move(answer)});
}

void AgentLine::taskFailed(kj::Exception&&) { fail(); }

}  // namespace fairwater::inline gateway
