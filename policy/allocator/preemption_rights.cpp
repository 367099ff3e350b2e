#include "policy/allocator/preemption_rights.hpp"

#include <algorithm>

namespace fairwater::inline policy::inline allocator {
namespace {

/// Tells of one task after the other what it asks for: below a min in all of that of which there is
/// one, a gang with all of its tasks.
class BelowMin {
 public:
  explicit BelowMin(bool is_gang) : is_gang_(is_gang) {}
  void look_at(Amount min, Amount held, Amount asked) {
    if (min <= 0) return;
    asks_ = true;
    is_below_ = is_below_ && (is_gang_ ? held + asked <= min : held < min);
  }
  [[nodiscard]] bool is_below() const { return asks_ && is_below_; }

 private:
  bool is_gang_;
  bool asks_ = false;
  bool is_below_ = true;
};

/// Where all mins together are beyond the capacity, its part of that by them.
bool is_within_own_min(const AllocatorState& state, const TenantState& tenant,
                       const WindowRange& entry, const TowardsMins& towards) {
  if (!tenant.has_min) return false;
  ResourceVector held = tenant.used - tenant.ending;
  if (const auto gone = towards.preempted.find(tenant.id); gone != towards.preempted.end())
    held -= gone->second;
  if (const auto served = towards.served.of_tenants.find(tenant.id);
      served != towards.served.of_tenants.end())
    held += served->second;
  BelowMin below(entry.is_gang());
  for (const std::size_t r : entry.asks)
    if (tenant.terms.min[r] > 0)
      below.look_at(std::min(tenant.terms.min[r], state.quotas().exact_quota(tenant, r)), held[r],
                    entry.asked_at_once(r));
  return below.is_below();
}

bool is_within_group_min(const AllocatorState& state, QuotaTree::Group number,
                         const WindowRange& entry, const TowardsMins& towards) {
  const GroupSum& sum = towards.groups.of(number);
  const ResourceVector held = sum.used - sum.ending + towards.served.in_groups[number] -
                              gone_of(state, number, {&towards.preempted});
  const GroupTerms& terms = state.quotas().group(number).terms;
  BelowMin below(entry.is_gang());
  for (const std::size_t r : entry.asks)
    below.look_at(terms.min[r].value_or(0), held[r], entry.asked_at_once(r));
  return below.is_below();
}

}  // namespace

std::vector<PreemptionRight> preemption_rights(const AllocatorState& state,
                                               const TenantState& tenant, const WindowRange& entry,
                                               bool for_min, const TowardsMins& towards) {
  std::vector<PreemptionRight> rights;
  if (names_devices(entry.range)) return rights;  // whom it would preempt is found by room alone
  if (for_min && is_within_own_min(state, tenant, entry, towards))
    return {{.below_priority = PreemptionRight::kAnyPriority}};
  for (auto group = for_min ? tenant.group : QuotaTree::kRoot; group != QuotaTree::kRoot;
       group = state.quotas().group(group).parent)
    if (is_within_group_min(state, group, entry, towards))
      rights.push_back({PreemptionRight::kAnyPriority, group});
  if (entry.range.preemption.preempts)
    rights.push_back({.below_priority = entry.range.preemption.priority});
  return rights;
}

void keep_below_mark(std::vector<PreemptionRight>& rights, const WindowRange& entry,
                     const ResourceVector& left_below_mark) {
  for (const std::size_t r : entry.asks)
    if (entry.asked_at_once(r) > left_below_mark[r]) {
      std::erase_if(rights, [](const PreemptionRight& right) { return !right.is_for_min(); });
      return;
    }
}

}  // namespace fairwater::inline policy::inline allocator
