#include "cli/core/command_line.hpp"

#include <algorithm>
#include <cerrno>
#include <iostream>

#include "cli/core/usage_error.hpp"
#include "cli/core/version.hpp"

namespace fairwater::inline cli::inline core {
namespace {

constexpr const char* kExamples = R"(Examples:
  fairwater status
  fairwater tenant apply tenants.yaml
  fairwater job run --tenant physics --tasks 20 -- sleep 10
  fairwater job wait last && fairwater job logs last
  fairwater job explain 7 --task 3

The coordinator is found by FAIRWATER_ADDRESS (default 127.0.0.1:7400) and FAIRWATER_TOKEN.
With FAIRWATER_COORDINATOR_KEY it has to prove that it is the right one first.
Exit status: 0 done, 1 failed, 2 wrong usage or input, 3 coordinator not reached, 4 not permitted.)";

void add_global_options(CLI::App& app, Context& context) {
  GlobalOptions& options = context.options;
  app.add_option("--address", options.address, "HOST:PORT of the coordinator");
  app.add_option("--token", options.token, "who asks (better: --token-file or FAIRWATER_TOKEN)");
  app.add_option("--token-file", options.token_file, "a file that holds the token");
  app.add_option("--coordinator-key", options.coordinator_key,
                 "fw_ck_..: show the token to the coordinator with this key alone");
  app.add_flag("--json", options.json, "print one value of JSON");
}

/// Separates what follows `--`. CLI11 would take words in brackets apart.
std::vector<std::string> split_command(const std::vector<std::string>& arguments,
                                       Context& context) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  context.has_command = dashes != arguments.end();
  if (context.has_command) context.command.assign(dashes + 1, arguments.end());
  std::vector<std::string> options{arguments.begin(), dashes};
  std::reverse(options.begin(), options.end());  // as CLI11 wants them
  return options;
}

/// Of words after `job run` whose `--` is missing: where it stands. Else empty.
std::string where_dashes_stand(const CLI::App& app, const Context& context) {
  const std::vector<CLI::App*> said = app.get_subcommands();
  const CLI::App* job = !said.empty() && said.front()->get_name() == "job" ? said.front() : nullptr;
  const std::vector<std::string> unknown = app.remaining(true);
  if (context.has_command || job == nullptr || !job->got_subcommand("run") || unknown.empty() ||
      unknown.front().starts_with("-"))
    return {};
  std::string text = "'" + unknown.front() +
                     "' is not known here; the command to run stands after --, as in: fairwater "
                     "job run --";
  for (const auto& word : unknown) text += " " + word;
  return text;
}

/// Help and version are no failures; the rest is wrong usage.
int report(const CLI::App& app, const CLI::ParseError& problem, const Context& context) {
  if (problem.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
    return app.exit(problem, context.out(), context.err());
  const std::string dashes = where_dashes_stand(app, context);
  const int status =
      dashes.empty() ? context.fail(usage_error(app, problem)) : context.fail_usage(dashes);
  if (!context.json()) context.err() << "Run with --help for more.\n";
  return status;
}

/// While it lives the first write that fails ends the command, also one that would follow for ever.
class WriteFailures {
 public:
  explicit WriteFailures(std::ostream& out) : out_(&out), before_(out.exceptions()) {
    out.exceptions(std::ios::badbit);
  }
  ~WriteFailures() {
    // Setting a mask that holds what the stream suffers from would throw.
    if ((out_->rdstate() & before_) == 0) out_->exceptions(before_);
  }
  WriteFailures(const WriteFailures&) = delete;
  WriteFailures& operator=(const WriteFailures&) = delete;

 private:
  std::ostream* out_;
  std::ios::iostate before_;
};

int run_command(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
                const AddCommands& add_commands) {
  Context context{out, err};
  CLI::App app{"Fairwater shares a cluster between tenants in exact shares.", "fairwater"};
  app.set_version_flag("--version", "fairwater " + std::string{kVersion});
  app.fallthrough();
  app.require_subcommand(1);
  app.footer(kExamples);
  add_global_options(app, context);
  add_commands(app, context);

  try {  // CLI11 reports help and wrong usage by exceptions
    app.parse(split_command(arguments, context));
  } catch (const CLI::ParseError& problem) {
    // An option that stands behind the mistake was not seen yet; the format of errors must not
    // depend on it.
    context.options.json = std::count(arguments.begin(), arguments.end(), "--json") > 0;
    if (auto error = context.complete_from_environment(); error && !context.json())
      return context.fail(error);
    return report(app, problem, context);
  }
  if (auto error = context.complete_from_environment()) return context.fail(error);
  const CLI::App* noun = app.get_subcommands().front();
  const bool takes_command =
      noun->get_name() == "gang" || (noun->get_name() == "job" && noun->got_subcommand("run"));
  if (context.has_command && !takes_command)
    return context.fail_usage("only job run, gang run and gang reach take a command after --");
  return context.action();
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, std::ostream& out,
                     std::ostream& err, const AddCommands& add_commands) {
  try {
    const WriteFailures failures{out};
    const int status = run_command(arguments, out, err, add_commands);
    out.flush();
    return status;
  } catch (const std::ios_base::failure&) {
    // To a reader that had enough, as head, it is nothing to talk about.
    if (errno != EPIPE) err << "fairwater: standard output: not all could be written\n";
    return kExitFailed;
  }
}

}  // namespace fairwater::inline cli::inline core
