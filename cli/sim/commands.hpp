// `fairwater sim` and its verbs. Only `what-if` needs a coordinator.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/core/context.hpp"

namespace fairwater::inline cli::inline sim_cli {

void add_sim_commands(CLI::App& app, Context& context);

void add_sim_run(CLI::App& sim, Context& context);
void add_sim_compare(CLI::App& sim, Context& context);
void add_sim_reproduce(CLI::App& sim, Context& context);
void add_sim_what_if(CLI::App& sim, Context& context);

}  // namespace fairwater::inline cli::inline sim_cli
