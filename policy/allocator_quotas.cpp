#include "policy/allocator_quotas.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "policy/exact_share.hpp"

namespace fairwater {

bool AllocatorQuotas::set_capacity(const ResourceVector& capacity) {
  bool changed = false;
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    if (!counts(r) || levels_[r].capacity() == capacity[r]) continue;
    levels_[r].set_capacity(capacity[r]);
    changed = true;
  }
  return changed;
}

void AllocatorQuotas::join(TenantState& tenant) {
  weights_ += tenant.terms.weight;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (counts(r)) levels_[r].set(tenant.id.value, {});
  refresh(tenant);
}

void AllocatorQuotas::leave(const TenantState& tenant) {
  weights_ -= tenant.terms.weight;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (counts(r)) levels_[r].erase(tenant.id.value);
}

void AllocatorQuotas::refresh(TenantState& tenant) {
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    refresh_holding(tenant, r);
    if (!counts(r)) continue;
    const QuotaGroup known = group(tenant, r);
    if (levels_[r].group(tenant.id.value) != known) levels_[r].set(tenant.id.value, known);
  }
}

void AllocatorQuotas::hold(TenantState& tenant, const ResourceVector& demand) {
  for (const std::size_t r : ResourceSet::asked_by(demand)) refresh_holding(tenant, r);
}

QuotaGroup AllocatorQuotas::group(const TenantState& tenant, std::size_t resource) const {
  const Amount request =
      std::min(kUnlimited, tenant.used[resource] + std::min(kUnlimited, tenant.pending[resource]));
  Amount max = tenant.terms.max[resource];
  if (!tenant.terms.may_borrow) {
    const Wide share = Wide{levels_[resource].capacity()} * tenant.terms.weight / weights_;
    max = std::min(max, std::max(tenant.terms.min[resource], static_cast<Amount>(share)));
  }
  return {.weight = tenant.terms.weight,
          .min = tenant.terms.min[resource],
          .max = max,
          .request = request};
}

void AllocatorQuotas::refresh_holding(TenantState& tenant, std::size_t resource) {
  Holding& holding = tenant.holdings[resource];
  holding.counted = tenant.used[resource] - tenant.used_beyond_quota[resource];
  holding.left = tenant.terms.max[resource] - tenant.used[resource];
  if (!counts(resource)) return;
  const QuotaGroup known = group(tenant, resource);
  holding.wanted = known.wanted();
  holding.base = known.base();
}

ResourceVector AllocatorQuotas::quota(const TenantState& tenant) const {
  ResourceVector result;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (counts(r)) result[r] = levels_[r].runtime(tenant.id.value);
  return result;
}

AllocatorQuotas::WaterMarks AllocatorQuotas::water_marks() const {
  WaterMarks marks;
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    if (!counts(r)) continue;
    const std::optional<WaterMark> mark = levels_[r].level();
    if (!mark) continue;
    marks[r] = {.is_limited = true,
                .poured = mark->poured > 0
                              ? approximately(mark->poured) / approximately(mark->weight)
                              : std::numeric_limits<double>::quiet_NaN()};
  }
  return marks;
}

bool AllocatorQuotas::quota_is_at_least(const TenantState& tenant, std::size_t resource,
                                        Amount amount, const WaterMarks& marks) const {
  if (!counts(resource)) return amount <= 0;
  const Holding& holding = tenant.holdings[resource];
  if (amount > holding.wanted) return false;
  if (!marks[resource].is_limited) return true;
  // Where it gets less than it wants, its part is floor or ceiling of poured * weight / all
  // weights.
  const double poured = marks[resource].poured * static_cast<double>(tenant.rank.weight);
  const double more = poured - static_cast<double>(amount - holding.base);
  constexpr double kRounding = 0x1p-48;  // far more than that of a few operations
  const double doubt = 2 + kRounding * (poured + static_cast<double>(holding.wanted));
  if (more > doubt) return true;
  if (more < -doubt) return false;
  return levels_[resource].runtime(tenant.id.value) >= amount;
}

AllocatorQuotas::Standing AllocatorQuotas::standing(const TenantState& tenant,
                                                    const WindowRange& range,
                                                    const WaterMarks& marks) const {
  Standing standing = Standing::within;
  for (const std::size_t r : range.asks) {
    const Amount held = tenant.holdings[r].counted;
    if (quota_is_at_least(tenant, r, held + range.range.demand[r], marks)) continue;
    if (!quota_is_at_least(tenant, r, held + 1, marks)) return Standing::at_quota;
    standing = Standing::straddling;
  }
  return standing;
}

bool AllocatorQuotas::may_reserve(const TenantState& tenant, const WindowRange& range,
                                  const WaterMarks& marks) const {
  for (const std::size_t r : range.asks) {
    const Amount beside = tenant.holdings[r].counted + tenant.reserved[r];
    if (!quota_is_at_least(tenant, r, beside + range.range.demand[r], marks)) return false;
  }
  return true;
}

}  // namespace fairwater
