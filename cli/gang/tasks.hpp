// `fairwater gang run` and `gang reach`, once they know where they are. Each runs an event loop of
// its own to the end.
#pragma once

#include <string>
#include <vector>

#include "cli/gang/place.hpp"

namespace fairwater::inline cli::inline gang {

/// In the first task: waits for all others, runs the command, and lets them go. Its exit status.
/// `unavailable` when the meeting's port is taken.
[[nodiscard]] Expected<int> run_first_task(const GangPlace& place,
                                           const std::vector<std::string>& command);

/// In every other: joins the first, and runs what its command asks for until that has ended. 0
/// then; `unavailable` when the first is gone before.
[[nodiscard]] Expected<int> run_other_task(const GangPlace& place);

/// For the command, in place of ssh: runs words by a shell in the task of that index. Their exit
/// status. `socket`: of the first task's switchboard.
[[nodiscard]] Expected<int> reach_task(const std::string& socket, std::uint32_t index,
                                       const std::string& words);

}  // namespace fairwater::inline cli::inline gang
