// `fairwater profile`: what the runs of a class take at which amounts.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/core/context.hpp"

namespace fairwater::inline cli::inline profile {

void add_profile_commands(CLI::App& app, Context& context);

}  // namespace fairwater::inline cli::inline profile
