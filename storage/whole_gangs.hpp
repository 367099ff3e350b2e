// Gangs make room as a whole, and a new record says so before it is applied: a replay finds it
// there, and judges nothing anew.
#pragma once

#include <vector>

#include "model/journal.hpp"
#include "storage/state.hpp"

namespace fairwater::inline storage {

/// Of a gang all tasks that run are told to make room where one is, and results that make room with
/// it (state/gang.hpp) say so. The answer has these. O(tasks in the record and in its gangs).
[[nodiscard]] std::vector<TaskKey> take_gangs_whole(State& state, JournalRecord& record);

}  // namespace fairwater::inline storage
