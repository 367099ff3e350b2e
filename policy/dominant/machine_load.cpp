#include "policy/dominant/machine_load.hpp"

#include <numeric>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline dominant {

std::size_t resource_type(const ResourceVector& amounts, const ResourceVector& totals) {
  std::size_t best = 0;
  for (std::size_t r = 1; r < kMaxResources; ++r) {
    if (amounts[r] == 0) continue;
    if (amounts[best] == 0) {
      best = r;
      continue;
    }
    const Wide part = Wide{amounts[r]} * totals[best];
    const Wide best_part = Wide{amounts[best]} * totals[r];
    if (part > best_part || (part == best_part && amounts[r] > amounts[best])) best = r;
  }
  return best;
}

GdrsScale::GdrsScale(const ResourceVector& totals) : totals_(totals) {
  constexpr Wide kMaxDenominator = Wide{1} << 100;
  for (const Amount total : totals.amount) {
    if (total == 0) continue;
    const Wide common = std::gcd(static_cast<Amount>(denominator_ % total), total);
    const Wide factor = total / common;
    if (factor > kMaxDenominator / denominator_) {
      denominator_ = kMaxDenominator;
      return;
    }
    denominator_ *= factor;
  }
}

Wide GdrsScale::gdrs(const ResourceVector& demand) const {
  const std::size_t r = resource_type(demand, totals_);
  const Wide total = totals_[r];
  if (demand[r] > total) return 0;
  // demand * denominator / total in two steps, as the product may exceed 128 bits.
  const Wide whole = denominator_ / total, rest = denominator_ % total;
  return demand[r] * whole + demand[r] * rest / total;
}

Amount sum_over_resources(const ResourceVector& amounts) {
  return std::accumulate(amounts.amount.begin(), amounts.amount.end(), Amount{0});
}

}  // namespace fairwater::inline policy::inline dominant
