// gang run | reach
#pragma once

#include "cli/core/context.hpp"
#include "cli/core/verbs.hpp"

namespace fairwater::inline cli::inline gang {

void add_gang_commands(CLI::App& app, Context& context);

}  // namespace fairwater::inline cli::inline gang
