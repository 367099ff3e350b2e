// From a list of ids as people write it to jobs that exist.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "gateway/client.hpp"
#include "model/requests.hpp"

namespace fairwater {

/// Calls `use` for every job that `query` matches, newest first, page by page, until it returns
/// false. At most `query.limit` jobs.
[[nodiscard]] caf::error visit_jobs(Client& client, JobQuery query,
                                    const std::function<bool(const JobRecord&)>& use);

/// The jobs that `text` names. `all` means those that have not ended, `last` the newest that the
/// caller may see: `not_found` when there is none.
[[nodiscard]] Expected<std::vector<JobId>> resolve_job_ids(Client& client, std::string_view text);
/// The same for exactly one job.
[[nodiscard]] Expected<JobId> resolve_job_id(Client& client, std::string_view text);

}  // namespace fairwater
