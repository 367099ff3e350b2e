// A listing of jobs, newest first, read in slices: by the smallest index that holds all that is
// wanted. Pure, but for the ledger that it reads.
//
//   of one tenant            that tenant's jobs, with their states
//   live                     the live jobs
//   any other                all jobs; where no user is named and none of the newest is wanted, it
//   goes on through all
//                            tenants' jobs with their states for the newest that are, and reads
//                            those: entries of some bytes instead of whole jobs
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "actors/coordinator/ledger.hpp"
#include "schema/byte_budget.hpp"

namespace fairwater::inline actors::inline coordinator {

class JobScan {
 public:
  using Answer = JobList;
  explicit JobScan(QueryJobs request);

  /// Reads on for about ten milliseconds; true when the listing is complete.
  [[nodiscard]] bool read_slice(const Ledger& ledger);
  [[nodiscard]] JobList take() { return std::move(list_); }
  /// Whole, so far.
  [[nodiscard]] std::uint64_t jobs_read() const { return jobs_read_; }

 private:
  enum class Way : std::uint8_t { of_tenant, live, all, states, found };
  /// What one slice may still read.
  struct Slice {
    std::uint32_t jobs = 0;
    std::uint32_t entries = 0;
  };

  [[nodiscard]] Way first_way() const;
  [[nodiscard]] bool is_wanted(const JobRecord& job) const;
  [[nodiscard]] bool is_full() const { return list_.more || list_.jobs.size() >= limit_; }
  bool take(Slice& slice, JobRecord job);
  bool take_entry(const Ledger& ledger, Slice& slice, JobId id, bool may_be_wanted);
  /// These read on along one way; true at its end.
  bool read_way(const Ledger& ledger, Slice& slice);
  bool read_states(const Ledger& ledger, Slice& slice);
  bool read_found(const Ledger& ledger, Slice& slice);
  void note_state(TenantId tenant, JobId id, JobState state);

  const QueryJobs request_;
  const std::size_t limit_;
  Way way_;
  JobId next_;  ///< the newest that was not looked at
  ByteBudget budget_;
  JobList list_;
  std::uint64_t jobs_read_ = 0;

  // Of all tenants' jobs with their states:
  TenantId states_tenant_;  ///< where to go on
  JobId states_next_;
  std::set<JobId> found_;  ///< the newest that are wanted, at most `limit_`
};

}  // namespace fairwater::inline actors::inline coordinator
