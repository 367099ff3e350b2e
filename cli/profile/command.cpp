#include "cli/profile/command.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/core/files.hpp"
#include "cli/core/usage_error.hpp"
#include "cli/core/verbs.hpp"
#include "cli/profile/measure.hpp"
#include "cli/profile/report.hpp"
#include "cli/profile/vary.hpp"
#include "input/job_file.hpp"

namespace fairwater::inline cli::inline profile {
namespace {

struct ShowOptions {
  std::string job_class;
  std::string tenant;
  std::string svg;
};

struct MeasureOptions {
  std::string file;
  std::vector<std::string> vary;
  std::uint32_t repeat = 3;
  std::uint32_t parallel = 2;
  std::string svg;
};

/// Prints the profile and writes its picture.
int present(const Context& context, const ClassProfile& profile, const std::string& svg,
            const std::function<void(Json&)>& add = {}) {
  if (!svg.empty())
    if (const auto error = write_file(svg, profile_svg(profile))) return context.fail(error);
  if (context.json()) {
    Json json = profile_json(profile);
    if (add) add(json);
    context.print_json(json);
  } else {
    context.out() << profile_text(profile);
  }
  return kExitDone;
}

int show(const Context& context, Client& client, const ShowOptions& options) {
  const auto profile = client.call(ShowProfile{{}, options.tenant, options.job_class});
  if (!profile) return context.fail(profile.error());
  if (profile->amounts.empty())
    return context.fail(make_error(ErrorCode::not_found,
                                   "tenant " + profile->tenant + " has no job of class " +
                                       options.job_class +
                                       "; make a profile with: fairwater profile run FILE "
                                       "--vary cpu=1..4",
                                   "class"));
  return present(context, *profile, options.svg);
}

bool varies_tasks(const std::vector<Variation>& variations) {
  return std::any_of(variations.begin(), variations.end(), [](const Variation& variation) {
    return variation.resource == kTasksOfClass;
  });
}

/// What runs at each amount: one task of the job, whose end is what is measured; or, where their
/// number varies, all of them at once.
caf::error make_one_run(JobSpec& spec, bool with_all_tasks, const Context& context) {
  if (spec.job_class.empty())
    return make_error(ErrorCode::invalid_input,
                      "is missing: the runs make the profile of a class; write class: NAME",
                      "class");
  if (spec.kind == JobKind::service)
    return make_error(ErrorCode::invalid_input, "a service does not end: it cannot be measured",
                      "kind");
  if (with_all_tasks)
    spec.placement = Placement::unset;  // the nodes of what starts together are chosen together
  else if (spec.tasks_max > 1)
    context.warn(
        {"tasks: each run is one task of the job; --vary tasks=1..8 runs so many at once"});
  spec.notify.clear();
  spec.tasks_min = spec.tasks_max = 1;
  spec.retries = 0;
  spec.gang = false;
  spec.profiled = {};
  fill_defaults(spec);
  return {};
}

Expected<Measurement> measurement_of(const Context& context, const MeasureOptions& options) {
  auto text = read_input(options.file, kMaxYamlBytes);
  if (!text) return text.error();
  auto file = parse_job_file(*text, input_name(options.file));
  if (!file) return file.error();
  Measurement wanted{std::move(file->spec), {}, options.repeat, options.parallel};
  std::vector<Variation> variations;
  for (const std::string& word : options.vary) {
    auto variation = parse_variation(word);
    if (!variation) return variation.error();
    variations.push_back(std::move(*variation));
  }
  if (const auto error = make_one_run(wanted.spec, varies_tasks(variations), context))
    return file->document.locate(error);
  auto amounts = combinations(wanted.spec.resources, variations);
  if (!amounts) return amounts.error();
  wanted.amounts = std::move(*amounts);
  return wanted;
}

bool any_completed(const ClassProfile& profile) {
  return std::any_of(profile.amounts.begin(), profile.amounts.end(), [](const ClassAmounts& entry) {
    return std::any_of(entry.runs.begin(), entry.runs.end(), completed);
  });
}

int run(const Context& context, const MeasureOptions& options) {
  const auto wanted = measurement_of(context, options);
  if (!wanted) return context.fail(wanted.error());
  if (!options.svg.empty())
    if (const auto error = check_writable(options.svg)) return context.fail(error);
  Measuring measuring{context, *wanted};
  if (const auto error = measuring.run()) return context.fail(error);
  Session session{context};
  if (const auto error = session.connect()) return context.fail(error);
  const auto profile = measuring.read_profile(session);
  if (!profile) return context.fail(profile.error());
  const std::vector<std::string> refused = measuring.refused();
  context.warn(refused);
  const int status = present(context, *profile, options.svg, [&](Json& json) {
    json["submitted"] = measuring.submitted();
    json["warnings"] = refused;
  });
  return status != kExitDone || any_completed(*profile) ? status : kExitFailed;
}

}  // namespace

void add_profile_commands(CLI::App& app, Context& context) {
  auto* noun = add_noun(app, "profile", "What the runs of a class take at which amounts");
  auto* show_verb =
      add_verb(*noun, "show", "A class's curve, and the amounts beyond which more does not pay",
               "  fairwater profile show render\n"
               "  fairwater profile show render --svg render.svg --json");
  auto show_options = std::make_shared<ShowOptions>();
  show_verb->add_option("class", show_options->job_class, "as job files name it")->required();
  show_verb->add_option("--tenant", show_options->tenant,
                        "whose class (default: the token's tenant)");
  show_verb->add_option("--svg", show_options->svg, "a file for the picture");
  on_run_with_client(show_verb, context, show_options, show);

  auto* run_verb = add_verb(
      *noun, "run", "Run a job file's class at chosen amounts, then show its profile",
      "  fairwater profile run render.yaml --vary cpu=1..8\n"
      "  fairwater profile run queue.yaml --vary tasks=1..8\n"
      "  fairwater profile run sort.yaml --vary memory=64MiB..1GiB:x2 --vary cpu=1,2 --repeat 5");
  auto measure_options = std::make_shared<MeasureOptions>();
  run_verb->add_option("file", measure_options->file, "a job file with a class, or -")->required();
  run_verb
      ->add_option("--vary", measure_options->vary,
                   "RESOURCE=RANGE: cpu=1..8, cpu=1..8:2, memory=512MiB..4GiB:x2, cpu=1,2,4; "
                   "tasks=1..8 runs so many at once")
      ->required()
      ->allow_extra_args(false);
  run_verb->add_option("--repeat", measure_options->repeat, "runs with each amounts (default 3)")
      ->check(whole_number(1, kMaxProfiledRuns));
  run_verb->add_option("--parallel", measure_options->parallel, "runs at a time (default 2)")
      ->check(whole_number(1, kMostParallelRuns));
  run_verb->add_option("--svg", measure_options->svg, "a file for the picture");
  on_run(run_verb, context, [&context, measure_options] { return run(context, *measure_options); });
}

}  // namespace fairwater::inline cli::inline profile
