// Waiting for jobs, and the exit status that follows from how they ended.
#pragma once

#include <vector>

#include "bin/context.hpp"
#include "bin/session.hpp"
#include "model/requests.hpp"

namespace fairwater {

/// 0 when every task succeeded, else the highest exit status of a task (128 + signal for a killed
/// one); 125 when the job was cancelled or a task could not run.
[[nodiscard]] int exit_status_of(const JobDetail& job);

/// Waits until the job has ended, also through a coordinator's restart.
[[nodiscard]] Expected<JobRecord> wait_for_job(Session& session, JobId id);

/// Waits for all of them, shows progress on a terminal, prints nothing but with --json the jobs.
/// Returns the highest exit status of a job.
[[nodiscard]] int wait_for_jobs(const Context& context, Session& session,
                                const std::vector<JobId>& ids);

}  // namespace fairwater
