#include "input/job_file.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "input/placement.hpp"
#include "model/job_validation.hpp"
#include "model/text.hpp"

namespace fairwater::inline input {
namespace {

/// `tasks: 20` or `tasks: {min: 2, max: 8}`.
void read_tasks(const Field& field, JobSpec& spec) {
  if (!field.is(InputValue::Kind::mapping)) {
    spec.tasks_min = spec.tasks_max = field.whole<std::uint32_t>();
    return;
  }
  const FieldMap range = field.object();
  range.read("min", spec.tasks_min);
  spec.tasks_max = spec.tasks_min;
  range.read("max", spec.tasks_max);
  range.done();
}

/// Amounts, of which each may be left to the class's profile, or `auto` for all of them.
void read_resources(const Field& field, JobSpec& spec) {
  spec.profiled.all = is_auto(field);
  if (spec.profiled.all) return;
  if (!field.is(InputValue::Kind::mapping)) spec.resources = field.amounts();  // says what it is
  for (const auto& [name, amount] : field.entries())
    if (is_auto(amount))
      spec.profiled.resources.push_back(name);
    else
      spec.resources[name] = amount.amount(name);
  std::sort(spec.profiled.resources.begin(), spec.profiled.resources.end());
}

JobSpec read_spec(const Field& root) {
  JobSpec spec;
  const FieldMap fields = root.object();
  fields.read("tenant", spec.tenant);
  fields.read("name", spec.name);
  fields.read("class", spec.job_class);
  fields.read("command", spec.command);
  fields.read("environment", spec.environment);
  fields.read("directory", spec.directory);
  if (const auto tasks = fields.find("tasks")) read_tasks(*tasks, spec);
  if (const auto resources = fields.find("resources")) read_resources(*resources, spec);
  fields.read("cpus", spec.exclusive_cpus, read_cpus);
  fields.read("kind", spec.kind, [](const Field& field) {
    return field.choice<JobKind>({{"batch", JobKind::batch}, {"service", JobKind::service}});
  });
  fields.read("priority", spec.priority);
  fields.read("gang", spec.gang);
  fields.read("labels", spec.labels);
  fields.read("sites", spec.sites);
  fields.read("devices", spec.devices);
  fields.read("placement", spec.placement, read_placement);
  fields.read("time_limit", spec.time_limit_ms, &Field::duration_ms);
  fields.read("grace", spec.grace_ms, &Field::duration_ms);
  fields.read("lease", spec.lease_ms, &Field::duration_ms);
  fields.read("retries", spec.retries);
  if (const auto after = fields.find("after"))
    for (const Field& id : after->list()) spec.after.push_back(JobId{id.whole<std::uint64_t>()});
  fields.read("preemptible", spec.preemptible);
  fields.read("notify", spec.notify);
  fields.read("preempt", spec.preempt);
  fields.done();
  return spec;
}

}  // namespace

bool is_auto(const Field& field) {
  using Kind = InputValue::Kind;
  return (field.is(Kind::plain) || field.is(Kind::text)) && field.text() == kAuto;
}

bool read_cpus(const Field& field) {
  return field.choice<bool>({{"shared", false}, {"exclusive", true}});
}

std::vector<std::string> warnings_on(const JobSpec& spec) {
  if (!spec.preempt || spec.priority > 0) return {};
  return {
      "preempt: true takes the room of tasks of a lower priority, and most have 0: priority is " +
      std::to_string(spec.priority)};
}

void fill_defaults(JobSpec& spec) {
  const auto& left = spec.profiled.resources;
  for (const auto& [name, amount] : {std::pair{"cpu", kDefaultCpu}, {"memory", kDefaultMemory}})
    if (!spec.profiled.all && std::find(left.begin(), left.end(), name) == left.end())
      spec.resources.emplace(name, amount);
  if (!spec.name.empty() || spec.command.empty()) return;
  const std::string program = std::filesystem::path{spec.command.front()}.filename().string();
  if (fault_of_text(program).empty()) spec.name = cut_text(program, kMaxJobNameBytes);
}

Expected<JobFile> parse_job_file(std::string_view text, const std::string& name) {
  auto document = parse_yaml(text, name);
  if (!document) return document.error();
  auto spec = document->read([](const Field& root) { return read_spec(root); });
  if (!spec) return spec.error();
  fill_defaults(*spec);
  auto job = validate(std::move(*spec));
  if (!job) return document->locate(job.error());
  JobSpec valid = std::move(*job).take();
  std::vector<std::string> warnings = warnings_on(valid);
  return JobFile{std::move(valid), std::move(warnings), std::move(*document)};
}

}  // namespace fairwater::inline input
