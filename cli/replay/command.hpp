// `fairwater replay`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/core/context.hpp"

namespace fairwater::inline cli::inline replay {

void add_replay_command(CLI::App& app, Context& context);

}  // namespace fairwater::inline cli::inline replay
