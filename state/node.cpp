#include "state/node.hpp"

namespace fairwater::inline state {

void apply(NodeRecord& node, const NodeAdmitted& event) {
  node.id = event.node;
  node.spec = event.spec;
  node.credential_hash = event.credential_hash;
  node.run = event.run;
}

void apply(NodeRecord& node, const NodeDrained& event) {
  if (event.begins) {
    node.planned_drain = {event.begins, event.deadline, event.reason};
    return;
  }
  // One that drains itself has what is planned before it all the same.
  if (!event.by_itself) node.planned_drain = {};
  node.draining = event.draining;
  node.drain_reason = event.draining ? event.reason : "";
  node.drained_itself = event.draining && event.by_itself;
  node.drain_deadline = event.draining ? event.deadline : WallTime{};
}

void apply(NodeRecord& node, const NodeLost&) { node.lost = true; }

void apply(NodeRecord& node, const NodeReturned&) { node.lost = false; }

void apply(NodeRecord& node, const NodeSuperseded& event) { node.run = event.run; }

}  // namespace fairwater::inline state
