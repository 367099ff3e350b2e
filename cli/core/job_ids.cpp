#include "cli/core/job_ids.hpp"

#include <algorithm>
#include <limits>

#include "input/id_list.hpp"

namespace fairwater::inline cli::inline core {
namespace {

constexpr std::uint32_t kPage = 1000;

Expected<JobId> newest_job(Client& client) {
  JobQuery query;
  query.limit = 1;
  query.user = client.caller().user;
  const auto jobs = client.list_jobs(query);
  if (!jobs) return jobs.error();
  if (jobs->empty()) return make_error(ErrorCode::not_found, "there is no job", "id");
  return jobs->front().id;
}

}  // namespace

JobPages pages_of(Client& client) {
  return [&client](const JobQuery& query) { return client.list_jobs(query); };
}

caf::error visit_jobs(const JobPages& pages, JobQuery query,
                      const std::function<bool(const JobRecord&)>& use) {
  for (std::uint32_t left = query.limit; left > 0;) {
    query.limit = std::min(left, kPage);
    const auto jobs = pages(query);
    if (!jobs) return jobs.error();
    for (const auto& job : *jobs)
      if (!use(job)) return {};
    if (jobs->size() < query.limit) return {};
    left -= query.limit;
    query.before = jobs->back().id;
  }
  return {};
}

Expected<std::map<std::string, JobId>> jobs_newer_than(JobId last, const JobPages& pages) {
  JobQuery query;
  query.limit = std::numeric_limits<std::uint32_t>::max();
  std::map<std::string, JobId> ids;
  const auto error = visit_jobs(pages, query, [&](const JobRecord& job) {
    if (job.id <= last) return false;
    ids.emplace(job.spec.name, job.id);
    return true;
  });
  if (error) return error;
  return ids;
}

Expected<std::vector<JobId>> resolve_job_ids(Client& client, std::string_view text) {
  const auto list = parse_id_list(text);
  if (!list) return list.error();
  if (list->kind == IdList::Kind::ids) return list->ids;
  if (list->kind == IdList::Kind::last) {
    const auto newest = newest_job(client);
    if (!newest) return newest.error();
    return std::vector<JobId>{*newest};
  }
  std::vector<JobId> ids;
  JobQuery query;
  query.limit = kMaxIdsInList;
  query.user = client.caller().user;
  const auto error = visit_jobs(pages_of(client), query, [&](const JobRecord& job) {
    if (!is_terminal(state_of(job))) ids.push_back(job.id);
    return true;
  });
  if (error) return error;
  std::reverse(ids.begin(), ids.end());
  return ids;
}

Expected<JobId> resolve_job_id(Client& client, std::string_view text) {
  const auto list = parse_id_list(text);
  if (!list) return list.error();
  if (list->kind == IdList::Kind::last) return newest_job(client);
  if (list->kind == IdList::Kind::all || list->ids.size() != 1)
    return make_error(ErrorCode::invalid_input, "'" + std::string{text} + "' is not one job", "id");
  return list->ids.front();
}

}  // namespace fairwater::inline cli::inline core
