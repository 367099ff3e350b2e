// `fairwater completion`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/core/context.hpp"

namespace fairwater::inline cli {

void add_completion_command(CLI::App& app, Context& context);

}  // namespace fairwater::inline cli
