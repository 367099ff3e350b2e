// Runs a class at chosen amounts, as ordinary jobs, a few at a time.
//
// What is done follows from the ledger alone: jobs of the class that were submitted before, by
// whomever, count, and those that have not ended are waited for. So a measurement that was broken
// off goes on when it is begun again, and a coordinator's restart is only a pause.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/core/session.hpp"
#include "model/profile.hpp"

namespace fairwater::inline cli::inline core {
class ProgressLine;
}

namespace fairwater::inline cli::inline profile {

/// More at once would be a load test, not a measurement.
inline constexpr std::uint32_t kMostParallelRuns = 16;

struct Measurement {
  JobSpec spec;                       ///< what runs; no retries, and one task
  std::vector<NamedAmounts> amounts;  ///< at which; with kTasksOfClass so many tasks at once
  std::uint32_t repeat = 3;           ///< runs of each, at most kMaxProfiledRuns
  std::uint32_t parallel = 2;
};

/// The job that is one run with these amounts.
[[nodiscard]] JobSpec run_of(JobSpec spec, const NamedAmounts& amounts);

/// One run to come or under way.
struct RunLeft {
  NamedAmounts amounts;
  JobId job;  ///< 0: to be submitted
  friend bool operator==(const RunLeft&, const RunLeft&) = default;
};

/// What is left to do: first the jobs that are under way, then runs of all amounts in turn, so that
/// what disturbs the machine for a while does not fall on one amount. An amount at which the
/// program hits a limit each time is not run again; runs that failed otherwise do not count.
[[nodiscard]] std::vector<RunLeft> runs_left(const ClassProfile& profile,
                                             const Measurement& wanted);

/// Amounts that the coordinator refused.
struct RefusedAmounts {
  NamedAmounts amounts;
  std::string why;
  friend bool operator==(const RefusedAmounts&, const RefusedAmounts&) = default;
};
/// One line for all whose reasons differ in nothing but numbers.
[[nodiscard]] std::vector<std::string> refusals_text(const std::vector<RefusedAmounts>& refused);

class Measuring {
 public:
  Measuring(const Context& context, Measurement wanted);

  /// Returns when every run has ended.
  [[nodiscard]] caf::error run();
  [[nodiscard]] std::size_t submitted() const { return submitted_; }
  /// Amounts that the coordinator refused, and why: those that it refused alike in one line.
  [[nodiscard]] std::vector<std::string> refused() const;
  [[nodiscard]] Expected<ClassProfile> read_profile(Session& session) const;

 private:
  /// Takes runs off the list until there are none.
  [[nodiscard]] caf::error work(ProgressLine& progress);
  [[nodiscard]] std::optional<RunLeft> next();
  /// Submits once: after a lost connection the ledger says whether the job is there. None: refused.
  [[nodiscard]] Expected<std::optional<JobId>> submit(Session& session,
                                                      const NamedAmounts& amounts);
  [[nodiscard]] std::optional<JobId> claim(const ClassProfile& profile,
                                           const NamedAmounts& amounts);
  void refuse(const NamedAmounts& amounts, const caf::error& why);

  const Context& context_;
  const Measurement wanted_;
  std::mutex mutex_;  ///< of what follows
  std::deque<RunLeft> left_;
  std::set<JobId> known_;  ///< jobs of the class that were there before, and those submitted
  std::size_t planned_ = 0;
  std::size_t ended_ = 0;
  std::size_t submitted_ = 0;
  std::vector<RefusedAmounts> refused_;
};

}  // namespace fairwater::inline cli::inline profile
