#include "cli/replay/replay.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "cli/cluster/job_wait.hpp"
#include "cli/core/job_ids.hpp"

namespace fairwater::inline cli::inline replay {
namespace {

using Clock = std::chrono::steady_clock;

/// Jobs that are submitted in one round trip at most.
constexpr std::size_t kBatch = 200;
constexpr std::uint32_t kJournalPage = 1000;
/// A ledger that counts time settles each second, unless nobody has borrowed since.
constexpr std::int64_t kLastSettlementWait_ms = 2500;

std::int64_t since_us(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
}

}  // namespace

Replay::Replay(const Context& context, ReplayPlan plan)
    : plan_(std::move(plan)),
      session_(context),
      progress_("replay: starting"),
      ids_(plan_.jobs.size()) {}

caf::error Replay::run() {
  if (auto error = session_.connect()) return error;
  const auto applied = session_.ask(
      [&](Client& client) { return client.apply_tenants(plan_.tenants, /*dry_run=*/false); });
  if (!applied) return applied.error();
  auto totals = read_totals();
  if (!totals) return totals.error();
  before_ = std::move(*totals);
  const auto status = session_.ask([](Client& client) { return client.status(); });
  if (!status) return status.error();
  cycle_before_ = status->cycle;
  JobQuery newest;
  newest.limit = 1;
  const auto jobs = session_.ask([&](Client& client) { return client.list_jobs(newest); });
  if (!jobs) return jobs.error();
  if (!jobs->empty()) newest_before_ = jobs->front().id;

  const auto start = Clock::now();
  if (auto error = submit_all_at_their_times()) return with_left_behind(error, ids_);
  if (auto error = wait_for_all()) return error;
  elapsed_us_ = since_us(start);
  return {};
}

Expected<Replay::TenantTotals> Replay::read_totals() {
  const auto tenants = session_.ask([](Client& client) { return client.list_tenants(); });
  if (!tenants) return tenants.error();
  TenantTotals totals;
  for (const auto& tenant : *tenants) totals.emplace(tenant.record.spec.name, tenant);
  return totals;
}

/// Deadlines are absolute: a slow answer delays one batch and not all that follow.
caf::error Replay::submit_all_at_their_times() {
  const auto start = Clock::now();
  for (std::size_t next = 0; next < plan_.jobs.size();) {
    std::this_thread::sleep_until(start + std::chrono::microseconds{plan_.jobs[next].arrival_us});
    const std::int64_t now_us = since_us(start);
    std::size_t end = next + 1;
    while (end < plan_.jobs.size() && end - next < kBatch && plan_.jobs[end].arrival_us <= now_us)
      ++end;
    if (auto error = submit_batch(next, end)) return error;
    next = end;
    progress_.set(fmt::format("replay: {} of {} jobs submitted", next, plan_.jobs.size()));
  }
  return {};
}

caf::error Replay::submit_batch(std::size_t first, std::size_t end) {
  std::vector<std::size_t> open;
  for (std::size_t i = first; i < end; ++i) open.push_back(i);
  while (!open.empty()) {
    std::vector<JobSpec> specs;
    specs.reserve(open.size());
    for (const std::size_t i : open) specs.push_back(plan_.jobs[i].spec);
    const auto answers = session_.client().submit_all(specs);
    std::vector<std::size_t> unanswered;
    caf::error refusal;
    for (std::size_t k = 0; k < open.size(); ++k) {
      if (k < answers.size() && answers[k])
        ids_[open[k]] = *answers[k];
      else if (k >= answers.size() || is_retryable(details(answers[k].error()).code))
        unanswered.push_back(open[k]);
      else if (!refusal)
        refusal = answers[k].error();
    }
    if (refusal) return refusal;
    open = std::move(unanswered);
    if (open.empty()) break;
    if (auto error = session_.reconnect()) return error;
    if (auto error = find_submitted(open)) return error;
  }
  return {};
}

/// Takes those jobs out of `open` that the cluster has by name: their answer was lost on the way.
caf::error Replay::find_submitted(std::vector<std::size_t>& open) {
  const auto known = session_.ask(
      [&](Client& client) { return jobs_newer_than(newest_before_, pages_of(client)); });
  if (!known) return known.error();
  std::erase_if(open, [&](std::size_t i) {
    const auto found = known->find(plan_.jobs[i].spec.name);
    if (found == known->end()) return false;
    ids_[i] = found->second;
    return true;
  });
  return {};
}

caf::error Replay::wait_for_all() {
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    progress_.set(fmt::format("replay: {} of {} jobs ended", i, ids_.size()));
    const auto job = wait_for_job(session_, ids_[i]);
    if (!job) return job.error();
  }
  return {};
}

caf::error Replay::read_settlements(SettledTimes& settled) {
  progress_.set("replay: reading the journal");
  bool is_last = false;  // what is read now came after all jobs had ended
  for (std::uint64_t next = cycle_before_ + 1;;) {
    const auto page = session_.ask([&](Client& client) {
      return client.journal(next, kJournalPage, is_last ? kLastSettlementWait_ms : 0);
    });
    if (!page) return page.error();
    bool settles = false;
    for (const auto& record : page->records)
      if (const auto* time = std::get_if<TimeSettled>(&record.body)) {
        settled.add(time->settlement, page->names);
        settles = true;
      }
    if (is_last && (settles || page->records.empty())) return {};
    if (page->records.empty())
      is_last = true;
    else
      next = page->records.back().number + 1;
  }
}

Expected<ReplayMeasures> Replay::measure() {
  ReplayMeasures measures;
  measures.elapsed_us = elapsed_us_;
  if (auto error = read_settlements(measures.settled)) return error;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    progress_.set(fmt::format("replay: reading job {} of {}", i + 1, ids_.size()));
    auto job = session_.ask([&](Client& client) { return client.show_job(ids_[i]); });
    if (!job) return job.error();
    measures.add(*job);
  }
  const auto after = read_totals();
  if (!after) return after.error();
  for (const auto& [name, tenant] : *after) {
    const auto before = before_.find(name);
    if (before != before_.end()) measures.add_totals(name, before->second, tenant);
  }
  return measures;
}

}  // namespace fairwater::inline cli::inline replay
