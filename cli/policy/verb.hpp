// `fairwater policy`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/core/context.hpp"

namespace fairwater::inline cli::inline policy_cli {

void add_policy_command(CLI::App& app, Context& context);

}  // namespace fairwater::inline cli::inline policy_cli
