// What a gang's tasks are told of each other, in their environment.
#pragma once

#include <map>
#include <string>

#include "model/node.hpp"

namespace fairwater::inline process {

/// Adds, to what a task of a gang gets:
///   FAIRWATER_HOSTS        its nodes with the tasks on each, by index: `node1:2,node2:1`
///   FAIRWATER_LOCAL_INDEX  which of those on its node it is, from 0
///   FAIRWATER_LOCAL_COUNT  how many those are
///   FAIRWATER_RENDEZVOUS   an address of the first task's node and a port, ADDRESS:PORT, the same
///                          for all. Ports go by the job's number and attempt, so that gangs side
///                          by side mostly have different ones; nothing listens there yet.
///   FAIRWATER_GANG_KEY     a secret of the tasks of this run, by which they know each other
/// and, unless the job says otherwise, the same as RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
/// MASTER_ADDR and MASTER_PORT, which programs in the manner of torchrun's read. Nothing for a task
/// that is of no gang. O(nodes of the gang).
void name_gang(const LaunchOrder& order, std::map<std::string, std::string>& environment);

}  // namespace fairwater::inline process
