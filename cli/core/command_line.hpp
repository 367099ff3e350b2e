// Options that may stand anywhere, wrong usage, and what becomes of output that cannot be written:
// the same whatever commands a program has.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/core/context.hpp"

namespace fairwater::inline cli::inline core {

/// Adds the nouns that a program knows.
using AddCommands = std::function<void(CLI::App&, Context&)>;

/// Runs one command; `arguments` are those after the program's name. Returns the exit status, which
/// is that of a failure where `out` does not take all of it.
[[nodiscard]] int run_command_line(const std::vector<std::string>& arguments, std::ostream& out,
                                   std::ostream& err, const AddCommands& add_commands);

}  // namespace fairwater::inline cli::inline core
