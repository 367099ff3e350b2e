// usage
#include <memory>

#include "cli/cluster/commands.hpp"
#include "cli/cluster/usage_output.hpp"
#include "cli/cluster/usage_query.hpp"
#include "cli/core/verbs.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

int show_usage(const Context& context, const UsageOptions& options) {
  const auto query = usage_query(options, wall_time_now());
  if (!query) return context.fail(query.error());
  return context.with_client([&](const Context& dated, Client& client) {
    const auto text = [&](const std::vector<UsageRow>& rows) { return usage_text(*query, rows); };
    const auto json = [&](const std::vector<UsageRow>& rows) { return usage_json(*query, rows); };
    return print_answer(dated, client.query_usage(*query), json, text);
  });
}

}  // namespace

void add_usage_command(CLI::App& app, Context& context) {
  auto* verb = add_verb(app, "usage", "Who used how much",
                        "  fairwater usage --since 7d\n"
                        "  fairwater usage --since 2026-01-01 --by month,tenant\n"
                        "  fairwater usage --tenant physics --by user --json");
  auto options = std::make_shared<UsageOptions>();
  verb->add_option("--since", options->since,
                   "the first day: a date (UTC) as 2026-11-23, or a time ago (default 30d)");
  verb->add_option("--until", options->until, "the last day, included (default today)");
  verb->add_option("--tenant", options->tenant, "this one and all that are in it (default: all)");
  verb->add_option("--user", options->user, "jobs of users of this name (default: all jobs)");
  verb->add_option("--by", options->by,
                   "what is told apart: day or month, tenant, user, with commas between, or total "
                   "(default tenant)")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_stale_option(verb, context);
  on_run(verb, context, [&context, options] { return show_usage(context, *options); });
}

}  // namespace fairwater::inline cli::inline cluster
