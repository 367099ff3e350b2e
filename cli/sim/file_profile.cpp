#include "cli/sim/file_profile.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "cli/sim/file_fields.hpp"
#include "model/profile.hpp"
#include "policy/core/check.hpp"

namespace fairwater::inline cli::inline sim_cli {
namespace {

/// The times of runs that ended well, or how runs failed.
std::vector<ClassRun> read_runs(const FieldMap& entry) {
  if (const auto failed = entry.find("failed")) {
    if (const auto run = entry.find("run"))
      run->fail("is of runs that ended well, and failed of others: leave one of them out");
    return {{.reason = failed->choice<EndReason>({{"memory_limit", EndReason::memory_limit},
                                                  {"time_limit", EndReason::time_limit}})}};
  }
  const Field times = entry.at("run");
  std::vector<ClassRun> runs;
  if (!times.is(InputValue::Kind::list)) return {{.run_ms = read_time(times)}};
  for (const Field& time : times.list()) runs.push_back({.run_ms = read_time(time)});
  if (runs.empty() || runs.size() > kMaxProfiledRuns)
    times.fail("are 1 to " + std::to_string(kMaxProfiledRuns) + " runs");
  return runs;
}

/// Runs with one set of amounts: of single tasks or, with `tasks`, of whole jobs.
void read_amounts(const SimFileDraft& draft, const FieldMap& entry, ClassProfile& profile) {
  NamedAmounts amounts;
  for (const auto& [resource, granule, units] : draft.catalog.kinds())
    if (const auto amount = entry.find(resource)) amounts[resource] = amount->amount(resource);
  if (const auto tasks = entry.find(kTasksOfClass))
    amounts[std::string{kTasksOfClass}] = tasks->integer(1, kMaxSimTasks);
  if (amounts.empty()) entry.fail("names no resource of the cluster");
  for (const ClassRun& run : read_runs(entry)) add_run(profile, amounts, run);
  entry.done();
}

ClassProfile read_profile(const SimFileDraft& draft, const Field& field) {
  ClassProfile profile;
  for (const Field& entry : field.list()) read_amounts(draft, entry.object(), profile);
  if (profile.amounts.size() > kMaxProfiledAmounts)
    field.fail("has more than " + std::to_string(kMaxProfiledAmounts) + " different amounts");
  return profile;
}

/// Those that the generator names itself, one number each.
NamedAmounts fixed_amounts(const SimFileDraft& draft, const FieldMap& fields,
                           const sim::Generator& generator) {
  NamedAmounts fixed;
  const auto& kinds = draft.catalog.kinds();
  for (std::size_t r = 0; r < kinds.size(); ++r) {
    if (generator.demand[r].low != generator.demand[r].high)
      fields.at("resources")
          .object()
          .at(kinds[r].name)
          .fail("is a range; beside a profile it is the one amount that its runs had");
    if (generator.demand[r].high > 0) fixed[kinds[r].name] = generator.demand[r].low;
  }
  return fixed;
}

/// The amounts of the profile's point among runs that had the `fixed` ones, and their times.
void ask_by_profile(const SimFileDraft& draft, const FieldMap& fields, const ClassProfile& profile,
                    const ProfiledAmounts& left, const NamedAmounts& fixed,
                    sim::Generator& generator) {
  JobSpec job;
  job.resources = fixed;
  job.profiled = left;
  const auto chosen = with_profiled_amounts(std::move(job), profile);
  if (!chosen)
    fields.at("profile").fail(
        "has no runs that ended well and tell the amounts that are auto, with the others as "
        "resources has them");
  for (const auto& [resource, amount] : chosen->resources)
    generator.demand[*draft.catalog.index_of(resource)] = {amount, amount};
  for (const ClassAmounts& measured : profile.amounts) {
    if (!are_same_amounts(measured.resources, chosen->resources)) continue;
    for (const ClassRun& run : measured.runs)
      if (completed(run)) generator.measured_run_ms.push_back(run.run_ms);
  }
  FAIRWATER_CHECK(!generator.measured_run_ms.empty(), "the point of a profile was measured");
}

}  // namespace

void take_profile(const SimFileDraft& draft, const FieldMap& fields, const ProfiledAmounts& left,
                  sim::Generator& generator) {
  const auto field = fields.find("profile");
  if (!field) {
    if (left.wanted())
      fields.at("resources")
          .fail(
              "auto goes by what runs took; say it, as in profile: [{cpu: 1, run: 60s}, "
              "{cpu: 2, run: 35s}]");
    return;
  }
  const bool is_elastic = generator.max_units > generator.min_units;
  if (generator.is_service) field->fail("is of jobs that end, and a service never does");
  if (!left.wanted() && !is_elastic)
    field->fail("is for jobs with resources: auto, or with tasks: {min, max}, which grow by it");
  const ClassProfile profile = read_profile(draft, *field);
  NamedAmounts amounts = fixed_amounts(draft, fields, generator);
  if (left.wanted()) {
    for (const char* key : {"run", "run_per_unit"})
      if (const auto run = fields.find(key))
        run->fail("follows the profile where an amount is auto; leave it out");
    ask_by_profile(draft, fields, profile, left, amounts, generator);
    amounts = fixed_amounts(draft, fields, generator);
  }
  const Units worth = growth_limit(profile, amounts).tasks;
  if (worth > 0) generator.max_units = std::clamp(worth, generator.min_units, generator.max_units);
}

}  // namespace fairwater::inline cli::inline sim_cli
