// job submit | run: how a job gets from a file or from flags to the coordinator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/core/verbs.hpp"
#include "model/job.hpp"

namespace fairwater::inline cli::inline cluster {

/// What `submit` and `run` do once the job is durable.
struct AfterSubmission {
  bool quiet = false;
  bool wait = false;
  bool attach = false;
  std::string request_id = {};  ///< of the submission itself; empty: made at random
};

/// The flags of `job run`.
struct RunOptions {
  std::string tenant;
  std::string name;
  std::string job_class;
  std::string cpu;
  std::string memory;
  std::vector<std::string> resources;
  std::vector<std::string> devices;
  std::string cpus = "shared";
  std::uint32_t tasks = 1;
  std::uint32_t tasks_min = 0;  ///< 0: not given
  std::uint32_t tasks_max = 0;  ///< 0: not given
  std::vector<std::string> environment;
  std::string directory;
  std::string labels;
  std::vector<std::string> sites;
  std::int32_t priority = 0;
  std::string time_limit;
  std::string lease;
  std::string grace;
  std::string after_jobs;
  std::string notify;
  std::uint32_t retries = 0;
  std::string kind = "batch";
  bool gang = false;
  bool preempt = false;
  bool not_preemptible = false;
  std::string placement;
  std::string user;
  AfterSubmission after;
};

/// A validated job that runs `command`.
[[nodiscard]] Expected<JobSpec> spec_of(const RunOptions& options,
                                        const std::vector<std::string>& command);

/// Adds `submit` and `run` to `job`.
void add_job_submit_commands(CLI::App& noun, Context& context);

}  // namespace fairwater::inline cli::inline cluster
