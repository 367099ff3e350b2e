// From a list of ids as people write it to jobs that exist.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/requests.hpp"
#include "rpc/client.hpp"

namespace fairwater::inline cli::inline core {

/// One page of jobs, newest first: what Client::list_jobs answers.
using JobPages = std::function<Expected<std::vector<JobRecord>>(const JobQuery&)>;
[[nodiscard]] JobPages pages_of(Client& client);

/// Calls `use` for every job that `query` matches, newest first, page by page, until it returns
/// false. At most `query.limit` jobs.
[[nodiscard]] caf::error visit_jobs(const JobPages& pages, JobQuery query,
                                    const std::function<bool(const JobRecord&)>& use);
/// All jobs newer than `last`, however many, by name; the newest of those with the same name.
[[nodiscard]] Expected<std::map<std::string, JobId>> jobs_newer_than(JobId last,
                                                                     const JobPages& pages);

/// The jobs that `text` names. `all` means those that have not ended, `last` the newest that the
/// caller may see: `not_found` when there is none. Where the caller's token has a user, both mean
/// that user's.
[[nodiscard]] Expected<std::vector<JobId>> resolve_job_ids(Client& client, std::string_view text);
/// The same for exactly one job.
[[nodiscard]] Expected<JobId> resolve_job_id(Client& client, std::string_view text);

}  // namespace fairwater::inline cli::inline core
