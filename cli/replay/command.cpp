// replay TRACE.swf[.gz]
#include "cli/replay/command.hpp"

#include <memory>
#include <random>

#include <fmt/format.h>

#include "cli/core/usage_error.hpp"
#include "cli/core/verbs.hpp"
#include "cli/replay/replay.hpp"
#include "input/document.hpp"
#include "input/tenants.hpp"

namespace fairwater::inline cli::inline replay {
namespace {

struct ReplayOptions {
  std::string trace;
  double speedup = 1;
  std::size_t jobs = 0;
  std::string tenants = "user";
  std::string tenant_file;
  std::string task_memory = "16MiB";
};

/// Tells this replay's jobs from those of others in the same cluster.
std::string random_run() {
  std::random_device device;
  return fmt::format("{:08x}", device());
}

Expected<ReplayRules> rules_of(const ReplayOptions& options) {
  ReplayRules rules;
  rules.speedup = options.speedup;
  rules.run = random_run();
  rules.tenants = options.tenants == "user"    ? TenantColumn::user
                  : options.tenants == "group" ? TenantColumn::group
                                               : TenantColumn::queue;
  const auto memory = parse_amount("memory", options.task_memory);
  if (!memory) return memory.error();
  rules.task_memory = *memory;
  if (options.tenant_file.empty()) return rules;
  const auto text = read_input(options.tenant_file, kMaxYamlBytes);
  if (!text) return text.error();
  auto declared = parse_tenant_file(*text, input_name(options.tenant_file));
  if (!declared) return declared.error();
  rules.declared = std::move(*declared);
  return rules;
}

int replay(const Context& context, const ReplayOptions& options) {
  const auto rules = rules_of(options);
  if (!rules) return context.fail(rules.error());
  const auto text = read_maybe_gzip(options.trace, kMaxSwfBytes);
  if (!text) return context.fail(text.error());
  const auto log = parse_swf(*text, options.jobs);
  if (!log) return context.fail(log.error());
  auto plan = plan_replay(*log, *rules);
  if (!plan) return context.fail(plan.error());
  if (plan->jobs.empty()) return context.fail_usage("has no job that ran", "trace");

  const auto measures = [&]() -> Expected<ReplayMeasures> {
    Replay replay{context, std::move(*plan)};
    if (auto error = replay.run()) return error;
    return replay.measure();
  }();
  if (!measures) return context.fail(measures.error());
  const ReplayFacts facts{options.trace, rules->run, options.speedup, log->skipped};
  if (context.json())
    context.print_json(replay_json(*measures, facts));
  else
    context.out() << replay_text(*measures, facts);
  return kExitDone;
}

}  // namespace

void add_replay_command(CLI::App& app, Context& context) {
  auto* verb = add_verb(app, "replay", "Run a Standard Workload Format log as live jobs",
                        "  fairwater replay KTH-SP2.swf.gz --jobs 1000 --speedup 10000\n"
                        "  fairwater replay log.swf --tenants queue --tenant-file tenants.yaml");
  auto options = std::make_shared<ReplayOptions>();
  verb->add_option("trace", options->trace, "the log, plain or packed by gzip")->required();
  verb->add_option("--speedup", options->speedup, "the log's time runs so much faster (default 1)")
      ->check(number_between(1e-3, 1e9));
  verb->add_option("--jobs", options->jobs, "the first so many jobs that ran (default: all)")
      ->check(any_count());
  verb->add_option("--tenants", options->tenants, "user, group or queue (default user)")
      ->check(one_of({"user", "group", "queue"}));
  verb->add_option("--tenant-file", options->tenant_file, "terms of tenants such as u7 or q1");
  verb->add_option("--task-memory", options->task_memory, "of each process (default 16MiB)");
  on_run(verb, context, [&context, options] { return replay(context, *options); });
}

}  // namespace fairwater::inline cli::inline replay
