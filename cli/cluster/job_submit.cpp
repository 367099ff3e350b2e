// job submit | run
#include "cli/cluster/job_submit.hpp"

#include <algorithm>
#include <memory>

#include "cli/cluster/job_output.hpp"
#include "cli/cluster/job_wait.hpp"
#include "cli/cluster/json_shapes.hpp"
#include "cli/core/usage_error.hpp"
#include "input/id_list.hpp"
#include "input/job_file.hpp"
#include "model/job_validation.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

struct SubmitOptions {
  std::string file;
  std::string user;
  AfterSubmission after;
};

int say_submitted(const Context& context, const JobSpec& spec, JobId id, bool quiet,
                  const std::vector<std::string>& warnings) {
  Json fields{{"job", {{"id", id.value}, {"tenant", spec.tenant}, {"name", spec.name}}}};
  if (!warnings.empty()) fields["warnings"] = warnings;
  if (context.json())
    context.print_json(fields);
  else
    context.print_line(quiet ? std::to_string(id.value)
                             : "submitted job " + std::to_string(id.value));
  return kExitDone;
}

/// A priority that the tenant's queue does not look at. Whose queue it is cannot be told for a
/// tenant that is not there: then the submission says so.
Expected<std::vector<std::string>> ignored_priority(Client& client, const JobSpec& spec) {
  if (spec.priority == 0 || spec.preempt) return std::vector<std::string>{};
  const auto tenants = client.list_tenants();
  if (!tenants) return tenants.error();
  std::vector<std::string> warnings;
  for (const auto& tenant : *tenants) {
    const auto queue = tenant.record.spec.queue;
    if (tenant.record.spec.name == spec.tenant && queue != QueuePolicy::priority)
      warnings.push_back("priority " + std::to_string(spec.priority) + " has no effect: tenant " +
                         spec.tenant + " runs its jobs in the order " +
                         std::string{to_string(queue)} + ", not by priority (queue: priority)");
  }
  return warnings;
}

caf::error check(const Context& context, const JobSpec& spec, const AfterSubmission& after) {
  if (!after.attach) return {};
  if (context.json())
    return make_error(ErrorCode::invalid_input,
                      "prints what tasks print, which is no JSON; use job logs --follow --json",
                      "--attach");
  if (spec.tasks_max <= kMaxTasksAttached) return {};
  return make_error(ErrorCode::invalid_input,
                    "follows at most " + std::to_string(kMaxTasksAttached) +
                        " tasks, the job has " + std::to_string(spec.tasks_max),
                    "--attach");
}

/// `locate` puts the line of a job file to what the coordinator says against the job.
int submit(const Context& context, JobSpec spec, const AfterSubmission& after,
           std::vector<std::string> warnings,
           const std::function<caf::error(const caf::error&)>& locate) {
  if (const auto error = check(context, spec, after)) return context.fail(error);
  Session session{context};
  if (const auto error = session.connect()) return context.fail(error);
  if (spec.tenant.empty()) spec.tenant = session.client().caller().tenant_name;
  if (spec.tenant.empty())
    return context.fail_usage("which one? this token belongs to no tenant", "tenant");
  const auto ignored = session.ask([&](Client& client) { return ignored_priority(client, spec); });
  if (!ignored) return context.fail(ignored.error());
  warnings.insert(warnings.end(), ignored->begin(), ignored->end());
  const auto id = session.submit(spec, after.request_id);
  if (!id) return context.fail(locate(id.error()));
  context.warn(warnings);
  const bool waits = after.wait || after.attach;
  if (!waits) return say_submitted(context, spec, *id, after.quiet, warnings);
  if (after.attach) {
    if (const auto error = stream_output(context, session, *id)) return context.fail(error);
    return wait_for_jobs(context, session, {*id}, OutputSeen::yes);
  }
  if (!context.json()) (void)say_submitted(context, spec, *id, after.quiet, warnings);
  return wait_for_jobs(context, session, {*id}, OutputSeen::no, warnings);
}

int submit_file(const Context& context, const SubmitOptions& options) {
  const auto text = read_input(options.file, kMaxYamlBytes);
  if (!text) return context.fail(text.error());
  const auto file = parse_job_file(*text, input_name(options.file));
  if (!file) return context.fail(file.error());
  JobSpec spec = file->spec;
  spec.user = options.user;
  return submit(context, std::move(spec), options.after, file->warnings,
                [&](const caf::error& error) { return file->document.locate(error); });
}

/// Reads `NAME=AMOUNT` words on top of --cpu and --memory.
caf::error read_amounts(const RunOptions& options, JobSpec& spec) {
  const std::pair<const char*, const std::string*> named[] = {{"cpu", &options.cpu},
                                                              {"memory", &options.memory}};
  for (const auto& [name, text] : named) {
    if (text->empty()) continue;
    if (*text == kAuto) {
      spec.profiled.resources.emplace_back(name);
      continue;
    }
    const auto amount = parse_amount(name, *text);
    if (!amount) return amount.error();
    spec.resources[name] = *amount;
  }
  for (const auto& text : options.resources) {
    const std::string name = text.substr(0, text.find('='));
    if (text == name + "=" + std::string{kAuto}) {
      spec.profiled.resources.push_back(name);
      continue;
    }
    const auto more = parse_amounts(text);
    if (!more) {
      const ErrorDetails refusal = details(more.error());
      return make_error(refusal.code, refusal.message,
                        refusal.field.empty() ? "resource" : refusal.field);
    }
    for (const auto& [name, amount] : *more)
      if (!spec.resources.emplace(name, amount).second)
        return make_error(ErrorCode::invalid_input, "given twice", "resources." + name);
  }
  auto& profiled = spec.profiled.resources;
  std::sort(profiled.begin(), profiled.end());
  for (std::size_t i = 0; i < profiled.size(); ++i)
    if (spec.resources.contains(profiled[i]) || (i > 0 && profiled[i] == profiled[i - 1]))
      return make_error(ErrorCode::invalid_input, "given twice", "resources." + profiled[i]);
  return {};
}

caf::error read_environment(const std::vector<std::string>& words,
                            std::map<std::string, std::string>& environment) {
  for (const auto& word : words) {
    const auto equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      return make_error(ErrorCode::invalid_input, "'" + word + "' is not NAME=VALUE",
                        "environment");
    environment[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return {};
}

int run(const Context& context, const RunOptions& options) {
  if (!context.has_command)
    return context.fail_usage("is missing: write it after --, as in job run -- sleep 10",
                              "command");
  const auto spec = spec_of(options, context.command);
  if (!spec) return context.fail(spec.error());
  return submit(context, *spec, options.after, warnings_on(*spec),
                [](const caf::error& error) { return error; });
}

void add_user(CLI::App& verb, std::string& user) {
  verb.add_option("--user", user,
                  "for whom of the tenant, where an operator submits; else it is the token's");
}

void add_run_options(CLI::App& verb, RunOptions& options) {
  verb.add_option("--tenant", options.tenant, "whose job (default: the token's tenant)");
  add_user(verb, options.user);
  verb.add_option("--name", options.name, "what listings show (default: the program)");
  verb.add_option("--class", options.job_class, "groups runs of one program");
  verb.add_option("--cpu", options.cpu,
                  "per task: 1, 0.5, 1500m (default 1), or auto: by the class's profile");
  verb.add_option("--memory", options.memory, "per task: 512MiB, 2GiB (default 512MiB), or auto");
  verb.add_option("--resource", options.resources, "per task: gpu=1, or gpu=auto");
  verb.add_option("--device", options.devices, "by name, for each task: gpu1; once for each");
  verb.add_option("--cpus", options.cpus,
                  "shared (the default), or exclusive: processors that no other such task has")
      ->check(one_of({"shared", "exclusive"}));
  auto* tasks =
      verb.add_option("--tasks", options.tasks, "how many (default 1)")->check(any_count());
  verb.add_option("--min", options.tasks_min, "at least so many tasks")
      ->excludes(tasks)
      ->check(whole_number(1, kMaxTasksPerJob));
  verb.add_option("--max", options.tasks_max, "at most so many tasks")
      ->excludes(tasks)
      ->check(whole_number(1, kMaxTasksPerJob));
  verb.add_option("--env", options.environment, "NAME=VALUE for the tasks");
  verb.add_option("--directory", options.directory, "where the tasks start");
  verb.add_option("--labels", options.labels, "nodes that will do: 'ssd && zone in (a, b)'");
  verb.add_option("--site", options.sites, "allowed sites, preferred first");
  verb.add_option("--priority", options.priority, "within the tenant (default 0)")
      ->check(whole_number(-kMaxPriority, kMaxPriority));
  verb.add_option("--time-limit", options.time_limit, "per task: 1h30m");
  verb.add_option("--lease", options.lease,
                  "how long tasks run on without word from a coordinator: 5m (default: the "
                  "cluster's)");
  verb.add_option("--grace", options.grace,
                  "how long a task takes to end that is told to: 10s (default 5s)");
  verb.add_option("--after", options.after_jobs,
                  "start when these jobs have succeeded: 41, or 41,43-45");
  verb.add_option("--notify", options.notify,
                  "signal that tells elastic jobs who else runs: SIGUSR1, SIGUSR2 or SIGHUP");
  verb.add_option("--retries", options.retries, "more runs of a task that fails (default 0)")
      ->check(any_count());
  verb.add_option("--kind", options.kind, "batch (the default), or service: runs until cancelled")
      ->check(one_of({"batch", "service"}));
  verb.add_option(
      "--placement", options.placement,
      "by which rule nodes with room are chosen: in-turn, gdrf, best-fit, spread or pack "
      "(default: the tenant's)");
  verb.add_flag("--gang", options.gang, "all tasks start at once or none, and end as one");
  verb.add_flag("--preempt", options.preempt,
                "takes the room of tasks of lower priority that run beyond their tenant's quota");
  verb.add_flag("--not-preemptible", options.not_preemptible, "its tasks make room for nobody");
  for (CLI::Option* option : verb.get_options())
    if (option->get_items_expected_max() > 0) option->check(not_empty());
}

void add_after_submission(CLI::App& verb, AfterSubmission& after) {
  verb.add_option("--request-id", after.request_id,
                  "names this submission: for 7 days, one with the same name is the same job "
                  "(default: made at random)")
      ->check(not_empty());
  verb.add_flag("--quiet", after.quiet, "print the id alone");
  verb.add_flag("--wait", after.wait,
                "wait for the end; its exit status is the job's, and what failed is printed");
  verb.add_flag("--attach", after.attach,
                "print what the tasks print, to the end; the exit status as with --wait");
}

/// Of an option that was given.
caf::error read_duration(const std::string& text, const char* field, std::int64_t& duration_ms) {
  if (text.empty()) return {};
  const auto parsed = parse_duration_ms(text);
  if (!parsed) return make_error(ErrorCode::invalid_input, details(parsed.error()).message, field);
  duration_ms = *parsed;
  return {};
}

caf::error read_after(const std::string& text, std::vector<JobId>& after) {
  if (text.empty()) return {};
  const auto ids = parse_id_list(text);
  if (!ids || ids->kind != IdList::Kind::ids)
    return make_error(ErrorCode::invalid_input,
                      "'" + text + "' is not a list of job ids, as in 41 or 41,43-45", "after");
  after = ids->ids;
  return {};
}

}  // namespace

Expected<JobSpec> spec_of(const RunOptions& options, const std::vector<std::string>& command) {
  JobSpec spec;
  spec.tenant = options.tenant;
  spec.user = options.user;
  spec.name = options.name;
  spec.job_class = options.job_class;
  spec.command = command;
  spec.directory = options.directory;
  spec.labels = options.labels;
  spec.sites = options.sites;
  spec.devices = options.devices;
  spec.exclusive_cpus = options.cpus == "exclusive";
  spec.priority = options.priority;
  spec.retries = options.retries;
  if (options.kind == "service") spec.kind = JobKind::service;
  spec.gang = options.gang;
  spec.preempt = options.preempt;
  if (!options.placement.empty()) {
    const auto placement = parse_placement(options.placement);
    if (!placement) return placement.error();
    spec.placement = *placement;
  }
  const bool elastic = options.tasks_min != 0 || options.tasks_max != 0;
  spec.tasks_min = elastic ? std::max(options.tasks_min, 1u) : options.tasks;
  spec.tasks_max = elastic && options.tasks_max != 0 ? options.tasks_max : spec.tasks_min;
  if (auto error = read_amounts(options, spec)) return error;
  if (auto error = read_environment(options.environment, spec.environment)) return error;
  if (auto error = read_duration(options.time_limit, "time_limit", spec.time_limit_ms))
    return error;
  if (auto error = read_duration(options.lease, "lease", spec.lease_ms)) return error;
  if (auto error = read_duration(options.grace, "grace", spec.grace_ms)) return error;
  if (auto error = read_after(options.after_jobs, spec.after)) return error;
  spec.notify = options.notify;
  spec.preemptible = !options.not_preemptible;
  fill_defaults(spec);
  auto job = validate(std::move(spec));
  if (!job) return job.error();
  return std::move(*job).take();
}

void add_job_submit_commands(CLI::App& noun, Context& context) {
  auto* submit_verb = add_verb(noun, "submit", "Submit a job file; returns when it is durable",
                               "  fairwater job submit render.yaml\n"
                               "  id=$(fairwater job submit --quiet render.yaml)\n"
                               "  generate | fairwater job submit - --wait");
  auto submit_options = std::make_shared<SubmitOptions>();
  submit_verb->add_option("file", submit_options->file, "YAML, or - for standard input")
      ->required();
  add_user(*submit_verb, submit_options->user);
  add_after_submission(*submit_verb, submit_options->after);
  on_run(submit_verb, context,
         [&context, submit_options] { return submit_file(context, *submit_options); });

  auto* run_verb = add_verb(noun, "run", "Run a command as a job",
                            "  fairwater job run --tenant physics --tasks 20 -- sleep 10\n"
                            "  fairwater job run --cpu 2 --memory 1GiB --attach -- make -j2\n"
                            "  fairwater job run --kind service -- python3 -m http.server");
  auto run_options = std::make_shared<RunOptions>();
  add_run_options(*run_verb, *run_options);
  add_after_submission(*run_verb, run_options->after);
  on_run(run_verb, context, [&context, run_options] { return run(context, *run_options); });
}

}  // namespace fairwater::inline cli::inline cluster
