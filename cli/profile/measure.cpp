#include "cli/profile/measure.hpp"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "cli/cluster/job_wait.hpp"
#include "cli/core/output.hpp"
#include "cli/core/progress.hpp"

namespace fairwater::inline cli::inline profile {
namespace {

const ClassAmounts* runs_at(const ClassProfile& profile, const NamedAmounts& amounts) {
  const auto found =
      std::find_if(profile.amounts.begin(), profile.amounts.end(),
                   [&](const ClassAmounts& entry) { return entry.resources == amounts; });
  return found == profile.amounts.end() ? nullptr : &*found;
}

/// Runs that are missing at one amount.
std::size_t missing_at(const ClassAmounts* entry, std::uint32_t repeat) {
  if (!entry) return repeat;
  const auto count = [&](bool (*is_one)(const ClassRun&)) {
    return static_cast<std::size_t>(std::count_if(entry->runs.begin(), entry->runs.end(), is_one));
  };
  const std::size_t limits = count(hit_limit);
  const std::size_t good = count(completed);
  if (good == 0 && limits > 0) return 0;
  const std::size_t there = good + limits + entry->unfinished.size();
  return there >= repeat ? 0 : repeat - there;
}

std::set<JobId> jobs_of(const ClassProfile& profile) {
  std::set<JobId> jobs;
  for (const ClassAmounts& entry : profile.amounts) {
    for (const ClassRun& run : entry.runs) jobs.insert(run.job);
    jobs.insert(entry.unfinished.begin(), entry.unfinished.end());
  }
  return jobs;
}

std::string without_numbers(std::string text) {
  std::erase_if(text, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
  return text;
}

}  // namespace

std::vector<std::string> refusals_text(const std::vector<RefusedAmounts>& refused) {
  std::map<std::string, std::vector<const RefusedAmounts*>> alike;
  for (const RefusedAmounts& one : refused) alike[without_numbers(one.why)].push_back(&one);
  std::vector<std::string> lines;
  for (auto& [why, group] : alike) {
    const auto [first, last] = std::minmax_element(
        group.begin(), group.end(),
        [](const RefusedAmounts* a, const RefusedAmounts* b) { return a->amounts < b->amounts; });
    if (group.size() == 1)
      lines.push_back(format_amounts((*first)->amounts) + ": " + (*first)->why);
    else
      lines.push_back(fmt::format("{} different amounts, from {} to {}: the first: {}",
                                  group.size(), format_amounts((*first)->amounts),
                                  format_amounts((*last)->amounts), (*first)->why));
  }
  return lines;
}

JobSpec run_of(JobSpec spec, const NamedAmounts& amounts) {
  spec.resources = amounts;
  const auto tasks = spec.resources.extract(std::string(kTasksOfClass));
  if (tasks.empty()) return spec;
  // Beyond what a job may have, the coordinator says so.
  constexpr Amount kTooMany = kMaxTasksPerJob + 1;
  spec.tasks_min = spec.tasks_max = static_cast<std::uint32_t>(std::min(tasks.mapped(), kTooMany));
  spec.gang = spec.measures_tasks = true;
  return spec;
}

std::vector<RunLeft> runs_left(const ClassProfile& profile, const Measurement& wanted) {
  std::vector<RunLeft> left;
  std::vector<std::size_t> missing;
  for (const NamedAmounts& amounts : wanted.amounts) {
    const ClassAmounts* entry = runs_at(profile, amounts);
    missing.push_back(missing_at(entry, wanted.repeat));
    if (entry)
      for (const JobId job : entry->unfinished) left.push_back({amounts, job});
  }
  for (std::size_t round = 0; round < wanted.repeat; ++round)
    for (std::size_t i = 0; i < missing.size(); ++i)
      if (missing[i] > round) left.push_back({wanted.amounts[i], {}});
  return left;
}

Measuring::Measuring(const Context& context, Measurement wanted)
    : context_(context), wanted_(std::move(wanted)) {}

Expected<ClassProfile> Measuring::read_profile(Session& session) const {
  return session.ask([&](Client& client) {
    return client.call(ShowProfile{{}, wanted_.spec.tenant, wanted_.spec.job_class});
  });
}

caf::error Measuring::run() {
  Session session{context_};
  if (auto error = session.connect()) return error;
  const auto profile = read_profile(session);
  if (!profile) return profile.error();
  known_ = jobs_of(*profile);
  for (RunLeft& run : runs_left(*profile, wanted_)) left_.push_back(std::move(run));
  planned_ = left_.size();
  ProgressLine progress{fmt::format("profile: {} runs to do", planned_)};
  std::vector<std::thread> workers;
  std::vector<caf::error> errors(std::min<std::size_t>(wanted_.parallel, planned_));
  for (caf::error& error : errors)
    workers.emplace_back([this, &progress, &error] { error = work(progress); });
  for (std::thread& worker : workers) worker.join();
  for (caf::error& error : errors)
    if (error) return std::move(error);
  return {};
}

std::optional<RunLeft> Measuring::next() {
  const std::lock_guard lock(mutex_);
  if (left_.empty()) return std::nullopt;
  RunLeft run = std::move(left_.front());
  left_.pop_front();
  return run;
}

caf::error Measuring::work(ProgressLine& progress) {
  Session session{context_};
  caf::error failed = session.connect();
  while (!failed) {
    const auto planned = next();
    if (!planned) return {};
    JobId job = planned->job;
    if (!job) {
      const auto submitted = submit(session, planned->amounts);
      if (!submitted) {
        failed = submitted.error();
        break;
      }
      if (!*submitted) continue;
      job = **submitted;
    }
    const auto ended = wait_for_job(session, job);
    if (!ended) failed = ended.error();
    const std::lock_guard lock(mutex_);
    progress.set(fmt::format("profile: {} of {} runs done", ++ended_, planned_));
  }
  const std::lock_guard lock(mutex_);
  left_.clear();  // the others end with what they have begun
  return failed;
}

Expected<std::optional<JobId>> Measuring::submit(Session& session, const NamedAmounts& amounts) {
  const JobSpec spec = run_of(wanted_.spec, amounts);
  for (;;) {
    const auto id = session.submit(spec);
    if (id) {
      const std::lock_guard lock(mutex_);
      known_.insert(*id);
      ++submitted_;
      return std::optional(*id);
    }
    const ErrorDetails why = details(id.error());
    if (why.code == ErrorCode::invalid_input &&
        (why.field == "resources" || why.field == "tasks")) {
      refuse(amounts, id.error());
      return std::optional<JobId>{};
    }
    if (!is_undone(id.error())) return id.error();
    if (auto error = session.reconnect()) return error;
    const auto profile = read_profile(session);
    if (!profile) return profile.error();
    if (const auto ours = claim(*profile, amounts)) return ours;
  }
}

std::optional<JobId> Measuring::claim(const ClassProfile& profile, const NamedAmounts& amounts) {
  const std::lock_guard lock(mutex_);
  const ClassAmounts* entry = runs_at(profile, amounts);
  if (!entry) return std::nullopt;
  std::vector<JobId> there = entry->unfinished;
  for (const ClassRun& run : entry->runs) there.push_back(run.job);
  for (const JobId job : there) {
    if (!known_.insert(job).second) continue;
    ++submitted_;
    return job;
  }
  return std::nullopt;
}

void Measuring::refuse(const NamedAmounts& amounts, const caf::error& why) {
  const RefusedAmounts refused{amounts, details(why).message};
  const std::lock_guard lock(mutex_);
  if (std::find(refused_.begin(), refused_.end(), refused) == refused_.end())
    refused_.push_back(refused);
}

std::vector<std::string> Measuring::refused() const { return refusals_text(refused_); }

}  // namespace fairwater::inline cli::inline profile
