// job list | show | logs | cancel | wait | explain; submit and run are in job_submit.cpp
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cli/cluster/commands.hpp"
#include "cli/cluster/explain_text.hpp"
#include "cli/cluster/job_output.hpp"
#include "cli/cluster/job_submit.hpp"
#include "cli/cluster/job_wait.hpp"
#include "cli/cluster/json_shapes.hpp"
#include "cli/cluster/tables.hpp"
#include "cli/core/job_ids.hpp"
#include "cli/core/usage_error.hpp"
#include "cli/core/verbs.hpp"
#include "input/id_list.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

struct ListOptions {
  std::string tenant;
  std::string state;
  std::string user;
  std::uint32_t limit = 100;
};

struct LogOptions {
  std::string id;
  std::uint32_t task = 0;
  bool standard_error = false;
  bool follow = false;
};

struct CancelOptions {
  std::string ids;
  std::string reason;
};

struct ExplainOptions {
  std::string id;
  std::uint32_t task = 0;
};

Expected<std::vector<JobRecord>> read_jobs(Client& client, const ListOptions& options) {
  JobQuery query;
  query.tenant = options.tenant;
  query.user = options.user;
  query.limit = options.limit;
  if (!options.state.empty()) {
    query.state = job_state_from(options.state);
    if (!query.state)
      return make_error(
          ErrorCode::invalid_input,
          "'" + options.state + "' is not pending, running, succeeded, failed or cancelled",
          "state");
  }
  std::vector<JobRecord> jobs;
  const auto error = visit_jobs(pages_of(client), query, [&](const JobRecord& job) {
    jobs.push_back(job);
    return true;
  });
  if (error) return error;
  return jobs;
}

int list_jobs(const Context& context, Client& client, const ListOptions& options) {
  return print_answer(context, read_jobs(client, options), listed("jobs", job_json), job_table);
}

int show_job(const Context& context, Client& client, const std::string& text) {
  const auto id = resolve_job_id(client, text);
  if (!id) return context.fail(id.error());
  return print_answer(context, client.show_job(*id), job_detail_json, job_text);
}

/// Hands every piece of the log to `use`: up to what is there, or with `follow` from when the task
/// starts to its end.
caf::error read_log(Session& session, JobId id, const LogOptions& options,
                    const std::function<void(const std::string&)>& use) {
  TaskOutput output{id, options.task, options.standard_error};
  for (bool job_has_ended = false;;) {
    const auto ended = output.read_on(session.client(), use);
    const bool has_not_started = !ended && details(ended.error()).code == ErrorCode::wrong_state;
    const bool goes_on = options.follow && !job_has_ended;
    if (!ended && !(goes_on && (has_not_started || is_undone(ended.error())))) return ended.error();
    if (ended && (*ended || !goes_on)) return {};
    const auto job =
        session.ask([&](Client& client) { return client.wait_job(id, kOutputInterval_ms); });
    if (!job) return job.error();
    job_has_ended = is_terminal(state_of(*job));  // one more look: output may have come meanwhile
  }
}

int logs(const Context& context, const LogOptions& options) {
  Session session{context};
  if (const auto error = session.connect()) return context.fail(error);
  const auto id = resolve_job_id(session.client(), options.id);
  if (!id) return context.fail(id.error());
  const Json head{{"job", id->value},
                  {"task", options.task},
                  {"stream", options.standard_error ? "stderr" : "stdout"}};
  std::string whole;
  const auto error = read_log(session, *id, options, [&](const std::string& data) {
    if (!context.json()) {
      context.out() << data << std::flush;
    } else if (options.follow) {
      Json line = head;
      line["data"] = data;
      context.print_line(json_text(line));
    } else {
      whole += data;
    }
  });
  if (error) return context.fail(error);
  if (context.json() && !options.follow) {
    Json fields = head;
    fields["data"] = whole;
    context.print_json(fields);
  }
  return kExitDone;
}

/// Many are under way at once, since each waits until it is durable: what goes wrong with one keeps
/// none of the others. `all` are those that have not ended: one that did meanwhile is none of them.
int cancel(const Context& context, Client& client, const CancelOptions& options) {
  const auto ids = resolve_job_ids(client, options.ids);
  if (!ids) return context.fail(ids.error());
  Json cancelled = Json::array();
  std::vector<caf::error> failures;
  bool has_gone_wrong = false;
  const auto note = [&](JobId id, const caf::error& error) {
    const bool has_ended = error && details(error).code == ErrorCode::wrong_state;
    if (!error) {
      cancelled.push_back(id.value);
      if (!context.json()) context.print_line("cancelled job " + std::to_string(id.value));
    } else if (has_ended ? options.ids != "all" : !std::exchange(has_gone_wrong, true)) {
      failures.push_back(error);
    }
  };
  const auto errors = client.cancel_jobs(*ids, options.reason);
  for (std::size_t i = 0; i < errors.size(); ++i) note((*ids)[i], errors[i]);
  if (context.json() && failures.empty()) context.print_json(Json{{"cancelled", cancelled}});
  if (context.json() && failures.size() > 1) failures.resize(1);
  int status = kExitDone;
  for (const auto& failure : failures) status = std::max(status, context.fail(failure));
  return status;
}

/// Several words are one list: `job wait 3 5-8`.
int wait(const Context& context, const std::vector<std::string>& words) {
  Session session{context};
  if (const auto error = session.connect()) return context.fail(error);
  std::vector<JobId> all;
  for (const auto& word : words) {
    const auto ids = resolve_job_ids(session.client(), word);
    if (!ids) return context.fail(ids.error());
    all.insert(all.end(), ids->begin(), ids->end());
  }
  return wait_for_jobs(context, session, all);
}

int explain(const Context& context, Client& client, const ExplainOptions& options) {
  const auto id = resolve_job_id(client, options.id);
  if (!id) return context.fail(id.error());
  return print_answer(context, client.explain(*id, options.task), explain_json, explain_text);
}

void add_reading_verbs(CLI::App& noun, Context& context) {
  auto* list_verb = add_verb(noun, "list", "Jobs, newest first",
                             "  fairwater job list --tenant physics --state running\n"
                             "  fairwater job list --limit 1000 --json");
  auto list_options = std::make_shared<ListOptions>();
  list_verb->add_option("--tenant", list_options->tenant, "of one tenant");
  list_verb->add_option("--user", list_options->user, "of one user of the tenant, or of tenants");
  list_verb->add_option("--state", list_options->state,
                        "pending, running, succeeded, failed or cancelled");
  list_verb->add_option("--limit", list_options->limit, "at most so many (default 100)")
      ->check(any_count());
  add_stale_option(list_verb, context);
  on_run_with_client(list_verb, context, list_options, list_jobs);

  auto* show_verb = add_verb(noun, "show", "A job and its tasks",
                             "  fairwater job show 7\n  fairwater job show last --json");
  auto id = std::make_shared<std::string>();
  show_verb->add_option("id", *id, "a job's id, or last")->required();
  add_stale_option(show_verb, context);
  on_run_with_client(show_verb, context, id, show_job);

  auto* logs_verb = add_verb(noun, "logs", "What a task printed",
                             "  fairwater job logs 7 --task 3\n"
                             "  fairwater job logs last --stderr --follow");
  auto log_options = std::make_shared<LogOptions>();
  logs_verb->add_option("id", log_options->id, "a job's id, or last")->required();
  logs_verb->add_option("--task", log_options->task, "its index (default 0)")->check(any_count());
  logs_verb->add_flag("--stderr", log_options->standard_error, "standard error instead");
  logs_verb->add_flag("--follow", log_options->follow,
                      "wait for the task's start and go on until its end");
  on_run(logs_verb, context, [&context, log_options] { return logs(context, *log_options); });

  auto* explain_verb =
      add_verb(noun, "explain", "Why a task waits, or how its grant came about",
               "  fairwater job explain 7\n  fairwater job explain 7 --task 3 --json");
  auto explain_options = std::make_shared<ExplainOptions>();
  explain_verb->add_option("id", explain_options->id, "a job's id, or last")->required();
  explain_verb->add_option("--task", explain_options->task, "its index (default 0)")
      ->check(any_count());
  on_run_with_client(explain_verb, context, explain_options, explain);
}

}  // namespace

void add_job_commands(CLI::App& app, Context& context) {
  auto* noun = add_noun(app, "job", "What tenants run");
  add_job_submit_commands(*noun, context);
  add_reading_verbs(*noun, context);

  auto* cancel_verb = add_verb(*noun, "cancel", "Stop jobs: SIGTERM, then SIGKILL after a grace",
                               "  fairwater job cancel 7 --reason 'wrong input'\n"
                               "  fairwater job cancel 1,3,5-8");
  auto cancel_options = std::make_shared<CancelOptions>();
  cancel_verb->add_option("ids", cancel_options->ids, "as in 7, 1,3,5-8, last or all")->required();
  cancel_verb->add_option("--reason", cancel_options->reason, "what others read in listings");
  on_run_with_client(cancel_verb, context, cancel_options, cancel);

  auto* wait_verb =
      add_verb(*noun, "wait",
               "Wait until jobs have ended; the exit status is the highest of a task, "
               "125 for a cancelled job",
               "  fairwater job wait last\n  fairwater job wait 3 5-8 && echo all well");
  auto ids = std::make_shared<std::vector<std::string>>();
  wait_verb->add_option("ids", *ids, "as in 7, 1,3,5-8, last or all")->required();
  on_run(wait_verb, context, [&context, ids] { return wait(context, *ids); });
}

}  // namespace fairwater::inline cli::inline cluster
