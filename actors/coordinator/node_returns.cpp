// Tasks that go back to their tenants: the node was lost, or its agent does not have them.
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/coordinator/node_state.hpp"

namespace fairwater::inline actors::inline coordinator::machine {
namespace {

struct Return {
  std::vector<TaskKey> tasks;
  std::string reason;
  bool were_ordered = false;  ///< nobody knows what became of them
};

/// Makes it durable, after `events`; who fails tries again.
void commit_return(NodeSelf self, const Return& back, std::vector<JournalBody> events,
                   std::function<void(WallTime)> then,
                   std::function<void(const caf::error&)> failed) {
  if (!back.tasks.empty())
    events.emplace_back(
        TasksRequeued{self->state.record.id, back.tasks, back.reason, back.were_ordered});
  self->request(self->state.context->ledger, caf::infinite, Commit{std::move(events), 0})
      .then([then = std::move(then)](
                const Committed& committed) { then(committed.receipts.back().time); },
            [failed = std::move(failed)](const caf::error& error) { failed(error); });
}

/// It is durable: tenants and coordinator hear of it.
void finish_return(NodeSelf self, const Return& back, WallTime time) {
  auto& state = self->state;
  if (!back.tasks.empty())
    spdlog::warn("tasks of node {} wait again, {} in all: {}", name_of(state), back.tasks.size(),
                 back.reason);
  std::vector<TenantTasks> groups = state.tasks.take_back(back.tasks);
  BeatTasks beat{.released = back.tasks};
  for (const TenantTasks& group : groups)
    beat.unheard.insert(beat.unheard.end(), group.keys.begin(), group.keys.end());
  send_beat(self, std::move(beat));
  tell_tenants(self, std::move(groups), time, back.were_ordered);
}

/// One at a time. `loses_node`: these are all that it has, and it is lost with them.
void give_back(NodeSelf self, const Return& back, std::vector<JournalBody> events,
               bool loses_node) {
  auto& state = self->state;
  if (state.giving_up || (back.tasks.empty() && events.empty())) return;
  state.giving_up = true;
  commit_return(
      self, back, std::move(events),
      [self, back, loses_node](WallTime time) {
        auto& state = self->state;
        state.giving_up = false;
        if (loses_node) {
          if (std::exchange(state.liveness, Liveness::lost) != Liveness::lost)
            spdlog::warn("node {} is lost: no word for longer than its lease and the grace",
                         name_of(state));
          apply(state.record, NodeLost{state.record.id});
          state.fence_to_write.reset();
        }
        finish_return(self, back, time);
        if (state.tasks.size() > 0 || !loses_node) schedule_check(self, kRetryGivingBack);
      },
      [self, reason = back.reason](const caf::error& error) {
        self->state.giving_up = false;
        spdlog::error("cannot give back the tasks of node {} ({}), trying again: {}",
                      name_of(self->state), reason, details(error).message);
        schedule_check(self, kRetryGivingBack);
      });
}

}  // namespace

void return_tasks(NodeSelf self, const ReturnTasks& again) {
  if (again.tasks.empty()) return;
  self->state.tasks.begin_return(again.tasks);
  const Return back{again.tasks, again.reason, false};
  commit_return(
      self, back, {}, [self, back](WallTime time) { finish_return(self, back, time); },
      [self, again](const caf::error&) { self->delayed_send(self, kRetryGivingBack, again); });
}

void give_back_early(NodeSelf self, std::vector<TaskKey> tasks) {
  const auto& name = name_of(self->state);
  give_back(self, {std::move(tasks), "node " + name + " was silent beyond their lease", true}, {},
            false);
}

void declare_lost(NodeSelf self) {
  auto& state = self->state;
  std::vector<JournalBody> events;
  if (state.fence_to_write) events.emplace_back(*state.fence_to_write);
  events.emplace_back(NodeLost{state.record.id});
  give_back(
      self,
      {state.tasks.unsettled(), "node " + name_of(state) + " was silent beyond its lease", true},
      std::move(events), true);
}

void give_back_late(NodeSelf self) {
  give_back(self, {self->state.tasks.unsettled(), std::string(kLostBeforeOrder), false}, {}, true);
}

}  // namespace fairwater::inline actors::inline coordinator::machine
