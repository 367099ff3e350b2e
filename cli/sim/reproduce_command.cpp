// sim reproduce NAME | all
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/core/usage_error.hpp"
#include "cli/core/verbs.hpp"
#include "cli/sim/commands.hpp"
#include "cli/sim/reproduce.hpp"

namespace fairwater::inline cli::inline sim_cli {
namespace {

constexpr std::uint32_t kMaxSeeds = 1'000'000;
constexpr std::uint32_t kMaxThreads = 1024;

int reproduce_with_environment(const Context& context, ReproduceOptions options) {
  const char* traces = std::getenv("FAIRWATER_TRACES");
  if (options.traces.empty() && traces != nullptr) options.traces = traces;
  if (!options.traces.empty() && !std::filesystem::is_directory(options.traces))
    return context.fail_usage("is not a folder", options.traces);
  if (!options.table_file.empty() && options.name != "all")
    return context.fail_usage("only 'all' fills the table", "--table");
  return reproduce(context, sim::all_experiments(), options);
}

}  // namespace

void add_sim_reproduce(CLI::App& sim, Context& context) {
  auto* verb = add_verb(sim, "reproduce", "Measure what papers claim, and write pages with charts",
                        "  fairwater sim reproduce all --traces traces --out results\n"
                        "  fairwater sim reproduce sequence-slots --seeds 100");
  auto options = std::make_shared<ReproduceOptions>();
  options->threads = std::clamp(std::thread::hardware_concurrency(), 1U, kMaxThreads);
  std::string names;
  for (const sim::Experiment& experiment : sim::all_experiments())
    names += std::string{experiment.name} + ", ";
  verb->add_option("name", options->name, names + "or all")->required();
  verb->add_option("--out", options->out,
                   "the folder for NAME.html, NAME.json and index.html (default reproduction)");
  verb->add_option("--seeds", options->seeds, "repetitions of what is random (default 10)")
      ->check(whole_number(1, kMaxSeeds));
  verb->add_option("--threads", options->threads,
                   "processors to use (default: all); results do not depend on it")
      ->check(whole_number(1, kMaxThreads));
  verb->add_option("--traces", options->traces,
                   "the folder of workload traces (default: FAIRWATER_TRACES)");
  verb->add_option("--table", options->table_file,
                   "a Markdown file whose table of claims is written anew");
  on_run(verb, context,
         [&context, options] { return reproduce_with_environment(context, *options); });
}

}  // namespace fairwater::inline cli::inline sim_cli
