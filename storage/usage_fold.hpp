// What records add to the sums of usage (family `usage`). Nothing, until a coordinator has started
// that counts it: an older ledger's journal then gives what such a ledger holds. An attempt counts
// whole if it ends while usage is counted.
#pragma once

#include "storage/state.hpp"

namespace fairwater::inline storage {

void count_submission(State& state, const JobRecord& job);

/// Of a task that was never granted before, before it is. Tasks that an elastic job grows by wait
/// for room to be idle, not for their turn: they are left out.
void count_first_start(State& state, const JobRecord& job, const Grant& grant, WallTime now);

/// Of an attempt that still runs in `task`. `result` null: it is given back.
void count_end(State& state, const JobRecord& job, const TaskRecord& task, const TaskResult* result,
               WallTime now);

}  // namespace fairwater::inline storage
