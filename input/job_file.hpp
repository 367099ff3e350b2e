// The job file: YAML in, a validated JobSpec out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "input/document.hpp"
#include "model/job.hpp"

namespace fairwater::inline input {

/// What a task gets that does not name an amount.
inline constexpr Amount kDefaultCpu = 1000;
inline constexpr Amount kDefaultMemory = 512;

/// In place of an amount: what the profile of the job's class tells.
inline constexpr std::string_view kAuto = "auto";

[[nodiscard]] bool is_auto(const Field& field);
/// `shared` or `exclusive`, which is true.
[[nodiscard]] bool read_cpus(const Field& field);

struct JobFile {
  JobSpec spec;
  /// What was asked for and has no effect here.
  std::vector<std::string> warnings;
  Document document;  ///< finds the lines for what a coordinator says against the spec
};

/// `name` is how errors call the file. Errors name key and line: `invalid_input` for what is wrong,
/// `not_supported` for what this version does not do.
[[nodiscard]] Expected<JobFile> parse_job_file(std::string_view text, const std::string& name);

/// What the spec asks for that has little effect, or none; empty: nothing.
[[nodiscard]] std::vector<std::string> warnings_on(const JobSpec& spec);

/// What is left open gets its default: the amounts above, and the program's name as the job's name.
void fill_defaults(JobSpec& spec);

}  // namespace fairwater::inline input
