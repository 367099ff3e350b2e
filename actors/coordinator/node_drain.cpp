// How a node drains.
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/coordinator/node_state.hpp"

namespace fairwater::inline actors::inline coordinator::machine {

std::vector<StopOrder> stops_of_services(NodeActorState& state) {
  std::vector<StopOrder> stops;
  if (!state.record.draining || state.record.drained_itself) return stops;
  for (const auto& task : state.tasks.request_stop_of_services()) stops.push_back({task, 0});
  if (!stops.empty())
    spdlog::info("node {} drains: {} tasks of services are stopped there, to start elsewhere",
                 name_of(state), stops.size());
  return stops;
}

void commit_drain(NodeSelf self, const NodeDrained& event,
                  std::function<void(const caf::error&)> then) {
  self->request(self->state.context->ledger, caf::infinite, Commit{{event}, 0})
      .then(
          [self, event, then](const Committed&) {
            auto& state = self->state;
            apply(state.record, event);
            state.pauses.decided();
            send_beat(self, {});
            send_orders(self, {}, stops_of_services(state));
            then({});
          },
          [then](const caf::error& error) { then(error); });
}

caf::result<Done> set_drain(NodeSelf self, const SetDrain& request) {
  auto& state = self->state;
  if (state.retired) return being_removed(state);
  auto promise = self->make_response_promise<Done>();
  const NodeDrained event{.node = state.record.id,
                          .draining = request.drain,
                          .reason = request.drain ? request.reason : ""};
  commit_drain(self, event, [promise](const caf::error& error) mutable {
    if (error)
      promise.deliver(error);
    else
      promise.deliver(Done{});
  });
  return promise;
}

}  // namespace fairwater::inline actors::inline coordinator::machine
