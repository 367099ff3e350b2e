// What is on one machine, as far as policies need it, and the value `f` of GDRF
// (policy/dominant/gdrf.hpp).
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "policy/dominant/gdrf.hpp"

namespace fairwater::inline policy::inline dominant {

/// The resource with the largest part of its total; the larger amount, then the first on a tie. An
/// amount of a resource whose total is 0 outweighs all others.
[[nodiscard]] std::size_t resource_type(const ResourceVector& amounts,
                                        const ResourceVector& totals);

struct MachineLoad {
  ResourceVector used;
  Amount used_sum = 0;  ///< over resources
  /// Sum of the gdrs of the tasks on the machine, in parts of GdrsScale::denominator().
  Wide gdrs_sum = 0;
  friend bool operator==(const MachineLoad&, const MachineLoad&) = default;
};

/// Dominant shares as whole numbers of one common part: 1 over the least common multiple of the
/// totals, so that equal sums of shares are equal numbers. Totals whose multiple exceeds 2^100 are
/// met by parts of 2^-100, rounded down.
class GdrsScale {
 public:
  explicit GdrsScale(const ResourceVector& totals);
  /// max over r of demand_r / total_r; a demand for what is not there counts as 0, as it is never
  /// placed.
  [[nodiscard]] Wide gdrs(const ResourceVector& demand) const;
  [[nodiscard]] Wide denominator() const { return denominator_; }

 private:
  ResourceVector totals_;
  Wide denominator_ = 1;
};

/// ln(f / k) of a machine that is not idle.
[[nodiscard]] inline double log_f(const MachineLoad& load, Amount capacity_sum,
                                  double denominator) {
  const double exponent = static_cast<double>(load.used_sum) / static_cast<double>(capacity_sum);
  return exponent * std::log(static_cast<double>(load.gdrs_sum) / denominator);
}

/// A user as the placing of its tasks sees it.
struct PlacedUser {
  ResourceVector demand;
  Amount demand_sum = 0;  ///< over resources
  Wide gdrs = 0;
  std::size_t type = 0;
  std::size_t first_resource = 0;  ///< that it asks for
};

[[nodiscard]] inline MachineLoad with_task(MachineLoad load, const PlacedUser& user) {
  load.used += user.demand;
  load.used_sum += user.demand_sum;
  load.gdrs_sum += user.gdrs;
  return load;
}

[[nodiscard]] Amount sum_over_resources(const ResourceVector& amounts);

}  // namespace fairwater::inline policy::inline dominant
