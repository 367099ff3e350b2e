// What the program `fairwater` does by itself: what is asked of a coordinator. It is run by people
// and scripts again and again, so it starts without RocksDB and the simulator; whatever else it is
// told to do, help and completion too, `fairwater-local` beside it does, which has all commands.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/cluster/commands.hpp"

namespace fairwater::inline cli::inline front {

/// Whether run_front() does this; `arguments` are those after the program's name.
[[nodiscard]] bool is_for_front(const std::vector<std::string>& arguments);

/// As run_command_line(), of what is_for_front().
[[nodiscard]] int run_front(const std::vector<std::string>& arguments, std::ostream& out,
                            std::ostream& err);

/// The nouns whose verbs ask a coordinator.
void add_front_commands(CLI::App& app, Context& context, VerifyDirectory verify_directory);

}  // namespace fairwater::inline cli::inline front
