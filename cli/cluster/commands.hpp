// Commands that speak with a coordinator: one function per noun adds its verbs.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cli/core/context.hpp"
#include "model/verify_report.hpp"

namespace fairwater::inline cli::inline cluster {

/// Verifies the ledger in a directory that no coordinator works on.
using VerifyDirectory = Expected<VerifyReport> (*)(const std::string& directory, bool with_archive);

void add_status_commands(CLI::App& app, Context& context);
void add_tenant_commands(CLI::App& app, Context& context);
void add_token_commands(CLI::App& app, Context& context);
void add_node_commands(CLI::App& app, Context& context);
void add_job_commands(CLI::App& app, Context& context);
void add_ledger_commands(CLI::App& app, Context& context, VerifyDirectory verify_directory);
void add_usage_command(CLI::App& app, Context& context);

}  // namespace fairwater::inline cli::inline cluster
