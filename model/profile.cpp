#include "model/profile.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

namespace fairwater::inline model {
namespace {

const std::string kTasks{kTasksOfClass};

ClassAmounts& entry_of(ClassProfile& profile, const NamedAmounts& resources) {
  const auto place = std::lower_bound(profile.amounts.begin(), profile.amounts.end(), resources,
                                      [](const ClassAmounts& entry, const NamedAmounts& wanted) {
                                        return entry.resources < wanted;
                                      });
  if (place != profile.amounts.end() && place->resources == resources) return *place;
  return *profile.amounts.insert(place, {resources, {}, {}});
}

/// What an entry does not name it was given none of.
bool has_amounts(const ClassAmounts& entry, const NamedAmounts& fixed) {
  return std::all_of(fixed.begin(), fixed.end(), [&](const auto& amount) {
    const auto found = entry.resources.find(amount.first);
    return (found == entry.resources.end() ? 0 : found->second) == amount.second;
  });
}

bool is_left(const ProfiledAmounts& profiled, const std::string& name) {
  const auto& left = profiled.resources;
  return profiled.all || std::find(left.begin(), left.end(), name) != left.end();
}

/// What the job neither names nor leaves to the profile it does not ask for.
std::set<std::string> other_amounts(const ClassAmounts& entry, const JobSpec& spec) {
  std::set<std::string> others;
  for (const auto& [name, amount] : entry.resources)
    if (amount > 0 && !spec.resources.contains(name) && !is_left(spec.profiled, name))
      others.insert(name);
  return others;
}

bool is_of_whole_jobs(const ClassAmounts& entry) { return entry.resources.contains(kTasks); }

std::string amounts_text(const NamedAmounts& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts)
    text += (text.empty() ? "" : ", ") + name + " " + format_amount(name, amount);
  return text;
}

/// ` with cpu 1 and without gpu`: of other runs, what they had that the job does not ask for.
std::string runs_meant(const JobSpec& spec, const NamedAmounts& fixed,
                       const ClassProfile& profile) {
  std::set<std::string> others;
  for (const ClassAmounts& entry : profile.amounts)
    if (!entry.runs.empty() && !is_of_whole_jobs(entry) && has_amounts(entry, fixed))
      others.merge(other_amounts(entry, spec));
  std::string without;
  for (const std::string& name : others) without += (without.empty() ? "" : ", ") + name;
  std::string text = fixed.empty() ? "" : " with " + amounts_text(fixed);
  if (without.empty()) return text;
  return text + (text.empty() ? "" : " and") + " without " + without;
}

caf::error no_profile(const JobSpec& spec, const NamedAmounts& fixed, const ClassProfile& profile) {
  std::string vary;
  const auto& wanted = spec.profiled.resources;
  const auto is_wanted = [&](const char* name) {
    return spec.profiled.all || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  if (is_wanted("cpu")) vary += " --vary cpu=1..4";
  if (is_wanted("memory")) vary += " --vary memory=256MiB..2GiB:x2";
  for (const auto& name : wanted)
    if (name != "cpu" && name != "memory") vary += " --vary " + name + "=1..4";
  return make_error(ErrorCode::invalid_input,
                    "auto takes what the profile of class " + spec.job_class +
                        " tells, and no run of it" + runs_meant(spec, fixed, profile) +
                        " has succeeded; make one with: fairwater profile run FILE" + vary,
                    "resources");
}

const CurvePoint* point_by(const ClassCurve& curve, SaturationMethod method) {
  const auto found =
      std::find_if(curve.points.begin(), curve.points.end(),
                   [method](const CurvePoint& point) { return point.method == method; });
  return found == curve.points.end() ? nullptr : &*found;
}

std::uint32_t permille_of(const CurvePoint& point) {
  return static_cast<std::uint32_t>(std::lround(point.confidence.value_or(0) * 1000));
}

/// Of the runs with those amounts that are taken, over all that these name.
ProfileCurve curve_among(const ClassProfile& profile,
                         const std::function<bool(const ClassAmounts&)>& is_taken) {
  std::set<std::string> names;
  for (const ClassAmounts& entry : profile.amounts)
    if (is_taken(entry))
      for (const auto& [name, amount] : entry.resources) names.insert(name);
  ProfileCurve result{{names.begin(), names.end()}, {}};
  std::vector<ClassSample> samples;
  for (const ClassAmounts& entry : profile.amounts) {
    if (!is_taken(entry)) continue;
    std::vector<double> resources;
    for (const std::string& name : result.resources) {
      const auto found = entry.resources.find(name);
      resources.push_back(found == entry.resources.end() ? 0 : static_cast<double>(found->second));
    }
    for (const ClassRun& run : entry.runs)
      samples.push_back({resources, static_cast<double>(run.run_ms), completed(run)});
  }
  if (!samples.empty() && !names.empty()) result.curve = class_curve(samples);
  return result;
}

std::vector<Amount> memory_above(const ProfileCurve& profile, std::size_t amount) {
  std::vector<Amount> steps;
  const auto memory = std::find(profile.resources.begin(), profile.resources.end(), "memory");
  if (memory == profile.resources.end()) return steps;
  const auto axis = static_cast<std::size_t>(memory - profile.resources.begin());
  for (const std::size_t above : amounts_above(profile.curve, amount, axis))
    steps.push_back(static_cast<Amount>(profile.curve.amounts[above].resources[axis]));
  return steps;
}

}  // namespace

bool completed(const ClassRun& run) {
  return run.reason == EndReason::exited && run.exit_code == 0;
}

bool hit_limit(const ClassRun& run) {
  return run.reason == EndReason::memory_limit || run.reason == EndReason::time_limit;
}

std::optional<ClassRun> class_run(JobId job, std::uint32_t index, const TaskResult& result) {
  const std::int64_t run_us = result.finished_at.microseconds - result.started_at.microseconds;
  const ClassRun run{job,
                     index,
                     result.reason,
                     result.exit_code,
                     std::max<std::int64_t>(1, run_us / 1000),
                     result.cpu_ms,
                     result.peak_memory_kib};
  const bool ended_by_itself =
      result.reason == EndReason::exited || result.reason == EndReason::signalled;
  if (!ended_by_itself && !hit_limit(run)) return std::nullopt;
  return run;
}

std::optional<ClassRun> whole_run(const JobRecord& job, const std::vector<TaskResult>& results) {
  if (!is_terminal(state_of(job)) || results.empty()) return std::nullopt;
  ClassRun whole{.job = job.id};
  WallTime first = results.front().started_at;
  WallTime last = results.front().finished_at;
  for (const TaskResult& result : results) {
    first.microseconds = std::min(first.microseconds, result.started_at.microseconds);
    last.microseconds = std::max(last.microseconds, result.finished_at.microseconds);
    const auto run = class_run(job.id, result.task.index, result);
    if (run && !completed(*run)) return run;
    if (!run) continue;
    whole.cpu_ms += run->cpu_ms;
    whole.peak_memory_kib = std::max(whole.peak_memory_kib, run->peak_memory_kib);
  }
  if (state_of(job) != JobState::succeeded) return std::nullopt;
  whole.run_ms = std::max<std::int64_t>(1, (last.microseconds - first.microseconds) / 1000);
  return whole;
}

bool are_same_amounts(NamedAmounts one, NamedAmounts other) {
  const auto is_none = [](const auto& amount) { return amount.second == 0; };
  std::erase_if(one, is_none);
  std::erase_if(other, is_none);
  return one == other;
}

void add_run(ClassProfile& profile, const NamedAmounts& resources, const ClassRun& run) {
  std::vector<ClassRun>& runs = entry_of(profile, resources).runs;
  const auto place = std::find_if(runs.begin(), runs.end(),
                                  [&](const ClassRun& other) { return other.job < run.job; });
  runs.insert(place, run);
  if (runs.size() > kMaxProfiledRuns) runs.pop_back();
}

void add_unfinished(ClassProfile& profile, const NamedAmounts& resources, JobId job) {
  entry_of(profile, resources).unfinished.push_back(job);
}

NamedAmounts ProfileCurve::amounts(std::size_t index) const {
  NamedAmounts named;
  for (std::size_t r = 0; r < resources.size(); ++r)
    named[resources[r]] = static_cast<Amount>(curve.amounts[index].resources[r]);
  return named;
}

ProfileCurve curve_of(const ClassProfile& profile, const NamedAmounts& fixed) {
  return curve_among(profile, [&](const ClassAmounts& entry) {
    return !is_of_whole_jobs(entry) && has_amounts(entry, fixed);
  });
}

ProfileCurve whole_curve_of(const ClassProfile& profile) {
  return curve_among(profile, is_of_whole_jobs);
}

GrowthLimit growth_limit(const ClassProfile& profile, const NamedAmounts& resources) {
  const ProfileCurve measured = curve_among(profile, [&](const ClassAmounts& entry) {
    NamedAmounts of_tasks = entry.resources;
    return of_tasks.erase(kTasks) > 0 && are_same_amounts(of_tasks, resources);
  });
  const std::vector<CurveAmount>& numbers = measured.curve.amounts;
  const CurvePoint* point = point_by(measured.curve, SaturationMethod::diagonal);
  const auto that_run = static_cast<std::size_t>(std::count_if(
      numbers.begin(), numbers.end(), [](const CurveAmount& amount) { return amount.runs(); }));
  if (!point || that_run < kFewestNumbersOfTasks) return {};
  GrowthLimit limit{.tasks = static_cast<std::uint32_t>(measured.amounts(point->amount).at(kTasks)),
                    .confidence_permille = permille_of(*point)};
  for (const CurveAmount& amount : numbers)
    limit.runs += static_cast<std::uint32_t>(amount.completed + amount.failed);
  return limit;
}

Expected<JobSpec> with_profiled_amounts(JobSpec spec, const ClassProfile& profile) {
  NamedAmounts fixed;
  if (!spec.profiled.all) fixed = spec.resources;
  const ProfileCurve measured = curve_among(profile, [&](const ClassAmounts& entry) {
    return !is_of_whole_jobs(entry) && has_amounts(entry, fixed) &&
           other_amounts(entry, spec).empty();
  });
  const CurvePoint* point = point_by(measured.curve, SaturationMethod::diagonal);
  if (!point) return no_profile(spec, fixed, profile);
  const NamedAmounts amounts = measured.amounts(point->amount);
  ProfiledAmounts taken;
  if (spec.profiled.all) spec.resources.clear();
  for (const auto& [name, amount] : amounts) {
    if (!is_left(spec.profiled, name) || !spec.resources.emplace(name, amount).second) continue;
    taken.resources.push_back(name);
    if (name == "memory") taken.memory_steps = memory_above(measured, point->amount);
  }
  for (const std::string& name : spec.profiled.resources)
    if (!amounts.contains(name)) return no_profile(spec, fixed, profile);
  for (const CurveAmount& amount : measured.curve.amounts)
    taken.runs += static_cast<std::uint32_t>(amount.completed + amount.failed);
  taken.confidence_permille = permille_of(*point);
  spec.profiled = std::move(taken);
  return spec;
}

}  // namespace fairwater::inline model
