// What can be said against a job without knowing the cluster, and the jobs against which there is
// nothing.
#pragma once

#include "model/job.hpp"

namespace fairwater::inline model {

/// A job that keeps every rule of validate(), which alone makes one: a tenant takes no other, so
/// nothing else reaches its queue or the journal.
class AdmittedJob {
 public:
  [[nodiscard]] const JobSpec& spec() const { return spec_; }
  /// Where its tasks may run; null: anywhere.
  [[nodiscard]] const PlacementRule* rule() const { return rule_.get(); }
  /// To be changed, and then validated anew.
  [[nodiscard]] JobSpec take() && { return std::move(spec_); }

 private:
  friend Expected<AdmittedJob> validate(JobSpec spec);
  AdmittedJob(JobSpec spec, PlacementRulePtr rule)
      : spec_(std::move(spec)), rule_(std::move(rule)) {}

  JobSpec spec_;
  PlacementRulePtr rule_;
};

/// `invalid_input` naming the field. The only place that knows the ranges of a job's fields.
[[nodiscard]] Expected<AdmittedJob> validate(JobSpec spec);

/// `cpus: exclusive` gives whole processors: `invalid_input` naming `cpus`, unless the job asks for
/// those, or leaves them to its class's profile. One of validate()'s rules.
[[nodiscard]] caf::error validate_own_cpus(const JobSpec& spec);

}  // namespace fairwater::inline model
