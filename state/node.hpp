// What happens to a node: one function per event, applied by the ledger's fold to what is stored
// and by the coordinator and the node's actor to what lives. Pure.
//
// Each event changes what it tells of and nothing else, so that events of two origins may cross: a
// drain that is being written while its agent registers again keeps neither from the other.
#pragma once

#include "model/journal.hpp"

namespace fairwater::inline state {

/// The node is known from here on, where it was not.
void apply(NodeRecord& node, const NodeAdmitted& event);
void apply(NodeRecord& node, const NodeDrained& event);
void apply(NodeRecord& node, const NodeLost& event);
void apply(NodeRecord& node, const NodeReturned& event);
void apply(NodeRecord& node, const NodeSuperseded& event);

}  // namespace fairwater::inline state
