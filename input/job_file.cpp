#include "input/job_file.hpp"

#include <filesystem>
#include <utility>

namespace fairwater {
namespace {

/// `tasks: 20` or `tasks: {min: 2, max: 8}`.
void read_tasks(YamlDocument& document, YamlFields& fields, JobSpec& spec) {
  const auto node = fields.take("tasks");
  if (!node) return;
  if (node->IsMap()) {
    YamlFields range{document, *node, fields.path_of("tasks.")};
    range.integer("min", spec.tasks_min, 1, kMaxTasksPerJob);
    spec.tasks_max = spec.tasks_min;
    range.integer("max", spec.tasks_max, 1, kMaxTasksPerJob);
    range.finish();
  } else {
    fields.integer("tasks", spec.tasks_min, 1, kMaxTasksPerJob);
    spec.tasks_max = spec.tasks_min;
  }
}

Expected<JobKind> parse_kind(const std::string& text) {
  if (text == "batch") return JobKind::batch;
  if (text == "service") return JobKind::service;
  return make_error(ErrorCode::invalid_input, "'" + text + "' is not batch or service");
}

JobSpec read_spec(YamlDocument& document, std::vector<std::string>& warnings) {
  JobSpec spec;
  YamlFields fields{document, document.root()};
  fields.text("tenant", spec.tenant);
  fields.text("name", spec.name);
  fields.text("class", spec.job_class);
  fields.texts("command", spec.command);
  fields.text_map("environment", spec.environment);
  fields.text("directory", spec.directory);
  read_tasks(document, fields, spec);
  fields.amounts("resources", spec.resources);
  fields.parsed("kind", parse_kind, spec.kind);
  fields.integer("priority", spec.priority, -kMaxPriority, kMaxPriority);
  fields.boolean("gang", spec.gang);
  fields.text("labels", spec.labels);
  fields.texts("sites", spec.sites);
  fields.texts("devices", spec.devices);
  fields.duration_ms("time_limit", spec.time_limit_ms);
  fields.duration_ms("grace", spec.grace_ms);
  fields.integer("retries", spec.retries, 0, kMaxRetries);
  std::vector<std::uint64_t> after;
  fields.integers("after", after);
  for (const std::uint64_t id : after) spec.after.push_back(JobId{id});
  fields.boolean("preemptible", spec.preemptible);
  if (fields.has("preemptible") && spec.preemptible)
    warnings.emplace_back("preemptible: true has no effect: this version preempts nothing");
  fields.finish();
  return spec;
}

}  // namespace

void fill_defaults(JobSpec& spec) {
  spec.resources.emplace("cpu", kDefaultCpu);
  spec.resources.emplace("memory", kDefaultMemory);
  if (spec.name.empty() && !spec.command.empty())
    spec.name =
        cut_text(std::filesystem::path{spec.command.front()}.filename().string(), kMaxJobNameBytes);
}

Expected<JobFile> parse_job_file(std::string_view text, const std::string& name) {
  JobFile file{{}, {}, YamlDocument{text, name}};
  if (!file.document.error()) file.spec = read_spec(file.document, file.warnings);
  if (file.document.error()) return file.document.error();
  fill_defaults(file.spec);
  if (const auto error = validate(file.spec)) return file.document.locate(error);
  return file;
}

}  // namespace fairwater
