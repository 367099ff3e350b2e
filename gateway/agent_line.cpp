#include "gateway/agent_line.hpp"

#include <caf/all.hpp>

#include "gateway/answers.hpp"
#include "gateway/faults.hpp"

namespace fairwater {
namespace {

constexpr auto kReadLogTimeout = 10 * kj::SECONDS;

using LogAnswered = Answered<LogChunk>;
using AgentLinkActor = AgentLink::extend<caf::reacts_to<LogAnswered>>;

struct AgentLinkState {
  OpenRequests<LogChunk> logs;
};

// Bound: orders come from one node's actor, which has a bounded number of tasks; log requests are
// admitted calls.
AgentLinkActor::behavior_type agent_link(AgentLinkActor::stateful_pointer<AgentLinkState> self,
                                         const AgentLines* lines, std::shared_ptr<Outbox> outbox,
                                         std::uint64_t number) {
  fail_on_exit(
      self, [](AgentLinkState & state) -> auto& { return state.logs; });
  return {
      [=](AgentOrders& orders) {
        outbox->post([lines, number, orders = std::move(orders)] {
          if (auto* line = lines->find(number)) line->send_orders(orders);
        });
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
      link_(system.spawn(agent_link, static_cast<const AgentLines*>(&lines), std::move(outbox),
                         number_)),
      tasks_(*this) {
  lines_.open_[number_] = this;
}

AgentLine::~AgentLine() noexcept {
  lines_.open_.erase(number_);
  caf::anon_send_exit(link_, caf::exit_reason::user_shutdown);
}

void AgentLine::send_orders(const AgentOrders& orders) {
  if (++unanswered_orders_ > kMaxUnansweredOrders) return fail();
  auto request = control_.ordersRequest();
  encode(orders, request);
  tasks_.add(request.send().ignoreResult().then([this] { --unanswered_orders_; }));
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
                return answer_in(response, [&] { return read(response.getChunk()); });
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

}  // namespace fairwater
