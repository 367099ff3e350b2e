#include "actors/coordinator/job_scan.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "schema/codec.hpp"

namespace fairwater::inline actors::inline coordinator {
namespace {

/// A slice takes about ten milliseconds: as long as a short listing waits for each long one.
constexpr std::uint32_t kJobsPerSlice = 256;
/// Entries of an index are some bytes each.
constexpr std::uint32_t kEntriesPerSlice = 4096;
/// Jobs in one answer.
constexpr std::uint32_t kMaxJobsListed = 10'000;
/// So many of the newest are read before their states are looked through: mostly they are wanted.
constexpr std::uint64_t kJobsBeforeStates = 1024;

constexpr JobId kNewest{std::numeric_limits<std::uint64_t>::max()};

}  // namespace

JobScan::JobScan(QueryJobs request)
    : request_(std::move(request)),
      limit_(std::clamp<std::uint32_t>(request_.query.limit, 1, kMaxJobsListed)),
      way_(first_way()),
      next_(request_.query.before ? JobId{request_.query.before.value - 1} : kNewest),
      states_tenant_{std::numeric_limits<std::uint32_t>::max()},
      states_next_(kNewest) {}

JobScan::Way JobScan::first_way() const {
  if (request_.tenant) return Way::of_tenant;
  const auto& wanted = request_.query.state;
  return wanted && !is_terminal(*wanted) ? Way::live : Way::all;
}

bool JobScan::is_wanted(const JobRecord& job) const {
  return (!request_.tenant || job.tenant == request_.tenant) &&
         (!request_.query.state || state_of(job) == *request_.query.state) &&
         (request_.query.user.empty() || job.spec.user == request_.query.user);
}

/// Takes a job into the listing if it is wanted; false when listing or slice has no room for
/// another.
bool JobScan::take(Slice& slice, JobRecord job) {
  ++jobs_read_;
  next_ = JobId{job.id.value - 1};
  if (is_wanted(job)) {
    list_.more = !budget_.take(wire_bytes<wire::JobRecord>(job));
    if (!list_.more) list_.jobs.push_back(std::move(job));
  }
  return --slice.jobs > 0 && !is_full();
}

/// As take(), for an entry of an index whose job has to be read when it `may_be_wanted`.
bool JobScan::take_entry(const Ledger& ledger, Slice& slice, JobId id, bool may_be_wanted) {
  next_ = JobId{id.value - 1};
  if (may_be_wanted)
    if (auto job = ledger.job(id); job && !take(slice, std::move(*job))) return false;
  return --slice.entries > 0;
}

bool JobScan::read_way(const Ledger& ledger, Slice& slice) {
  const auto& wanted = request_.query.state;
  bool at_end = true;
  const auto note = [&at_end](bool goes_on) {
    at_end = goes_on;
    return goes_on;
  };
  if (way_ == Way::of_tenant) {
    ledger.visit_tenant_jobs(request_.tenant, next_, [&](JobId id, JobState state) {
      return note(take_entry(ledger, slice, id, wanted.value_or(state) == state));
    });
  } else if (way_ == Way::live) {
    ledger.visit_live_jobs(next_,
                           [&](JobId id) { return note(take_entry(ledger, slice, id, true)); });
  } else {
    ledger.visit_jobs(next_, true, [&](const JobRecord& job) { return note(take(slice, job)); });
  }
  return at_end;
}

void JobScan::note_state(TenantId tenant, JobId id, JobState state) {
  states_tenant_ = tenant;
  states_next_ = JobId{id.value - 1};
  if (found_.size() == limit_ && id < *found_.begin()) {
    // Nor are any older ones of this tenant among the newest.
    states_tenant_ = TenantId{tenant.value - 1};
    states_next_ = kNewest;
    return;
  }
  if (id > next_ || state != *request_.query.state) return;
  found_.insert(id);
  if (found_.size() > limit_) found_.erase(found_.begin());
}

bool JobScan::read_states(const Ledger& ledger, Slice& slice) {
  while (slice.entries > 0) {
    bool at_end = true;
    ledger.visit_jobs_by_tenant(states_tenant_, states_next_,
                                [&](TenantId tenant, JobId id, JobState state) {
                                  note_state(tenant, id, state);
                                  const bool is_on = states_tenant_ == tenant;
                                  at_end = --slice.entries > 0 && is_on;
                                  return at_end;
                                });
    if (at_end) return true;
  }
  return false;
}

bool JobScan::read_found(const Ledger& ledger, Slice& slice) {
  while (!found_.empty()) {
    const JobId id = *found_.rbegin();
    found_.erase(id);
    if (!take_entry(ledger, slice, id, true)) return found_.empty();
  }
  return true;
}

bool JobScan::read_slice(const Ledger& ledger) {
  Slice slice{kJobsPerSlice, kEntriesPerSlice};
  switch (way_) {
    case Way::of_tenant:
    case Way::live:
      return read_way(ledger, slice) || is_full();
    case Way::all:
      if (read_way(ledger, slice) || is_full()) return true;
      // Entries of the index do not say whose jobs they are.
      if (request_.query.state && request_.query.user.empty() && jobs_read_ >= kJobsBeforeStates)
        way_ = Way::states;
      return false;
    case Way::states:
      if (read_states(ledger, slice)) way_ = Way::found;
      return false;
    case Way::found:
      return read_found(ledger, slice) || is_full();
  }
  return true;
}

}  // namespace fairwater::inline actors::inline coordinator
