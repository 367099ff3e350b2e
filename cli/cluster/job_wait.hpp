// Waiting for jobs, and the exit status that follows from how they ended.
#pragma once

#include <string>
#include <vector>

#include "cli/core/context.hpp"
#include "cli/core/session.hpp"
#include "model/requests.hpp"

namespace fairwater::inline cli::inline cluster {

/// 0 when every task succeeded, else the highest exit status of a task (128 + signal for a killed
/// one); 125 when the job was cancelled or a task could not run. Of a failed job what was stopped
/// with it or not needed any more does not count.
[[nodiscard]] int exit_status_of(const JobDetail& job);

/// Waits until the job has ended, also through a coordinator's restart.
[[nodiscard]] Expected<JobRecord> wait_for_job(Session& session, JobId id);

/// Why a job did not succeed, in a line or two; empty when it did.
[[nodiscard]] std::string failure_text(const JobDetail& job);
/// The task to look at first: the one that failed with the lowest index. Null when none did.
[[nodiscard]] const TaskInfo* first_failed(const JobDetail& job);

/// Whether the output of a task that failed has been seen, so that its end is not repeated.
enum class OutputSeen : std::uint8_t { no, yes };

/// Waits for all of them and shows progress on a terminal. Prints why a job failed, with the end of
/// what its first failed task printed, on standard error; with --json the jobs, and nothing else.
/// Returns the highest exit status of a job.
[[nodiscard]] int wait_for_jobs(const Context& context, Session& session,
                                const std::vector<JobId>& ids, OutputSeen seen = OutputSeen::no,
                                const std::vector<std::string>& warnings = {});

}  // namespace fairwater::inline cli::inline cluster
