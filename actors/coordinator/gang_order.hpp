// What the orders of a gang's tasks say of the gang.
#pragma once

#include <vector>

#include "actors/coordinator/cluster.hpp"
#include "model/node.hpp"
#include "state/gang.hpp"

namespace fairwater::inline actors::inline coordinator {

/// Adds the gang's hosts and its key to the order of one of its tasks. The same whenever it is made
/// of the same run: an order that is sent again after a restart says what the first one said.
/// `task`: of any of its tasks. O(parts).
void tell_gang(LaunchOrder& order, const ClusterContext& context,
               const std::vector<GangPart>& parts, const TaskKey& task);

}  // namespace fairwater::inline actors::inline coordinator
