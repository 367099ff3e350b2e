#include "policy/allocator/quotas.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "policy/core/check.hpp"
#include "policy/core/exact_share.hpp"
#include "policy/core/wide.hpp"

namespace fairwater::inline policy::inline allocator {

namespace {

// Behind every tenant's, in the input order too.
constexpr QuotaTree::Key kFirstGroupKey = QuotaTree::Key{1} << 31;

/// More than any capacity, and with any weight a number still.
constexpr double kBoundless = 1e200;

/// Far more than that of a few operations.
constexpr double kRounding = 0x1p-48;

/// Up to the last that the cluster has.
std::size_t resources_of(const ResourceVector& granules) {
  std::size_t resources = kMaxResources;
  while (resources > 0 && granules[resources - 1] <= 0) --resources;
  return resources;
}

/// Of a tenant without a place of its own the weight is where it is looked at most.
Weight weight_in_quota(const TenantState& tenant, std::size_t resource) {
  return tenant.has_place ? tenant.terms.place->weight_of(resource) : tenant.rank.weight;
}

}  // namespace

AllocatorQuotas::AllocatorQuotas(const ResourceVector& granules, const ResourceVector& units)
    : granules_(granules),
      units_(units),
      tree_(resources_of(granules)),
      parts_(resources_of(granules)) {}

bool AllocatorQuotas::set_capacity(const ResourceVector& capacity) {
  bool changed = false;
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    if (!counts(r) || tree_.capacity(r) == capacity[r]) continue;
    tree_.set_capacity(r, capacity[r]);
    parts_.set_capacity(r, micro_units_of(capacity[r], r));
    changed = true;
  }
  return changed;
}

MicroUnits AllocatorQuotas::part(const TenantState& tenant, std::size_t resource) const {
  return parts_.member_runtime(tenant.group, tenant.id.value, resource);
}

KeptForMins AllocatorQuotas::kept_for_mins(const TenantState& tenant, std::size_t resource,
                                           MicroUnits part) const {
  KeptForMins kept{.own = std::min(part, micro_units_of(tenant.terms.min[resource], resource)),
                   .of_groups = {}};
  if (with_min_.empty()) return kept;
  for (auto group = tenant.group; group != QuotaTree::kRoot; group = groups_[group].parent) {
    const Amount min = groups_[group].terms.min[resource].value_or(0);
    const MicroUnits of_all = parts_.runtime(group, resource);
    if (min <= 0 || of_all <= 0) continue;
    const Wide share = quotient_up(Wide{part} * micro_units_of(min, resource), of_all);
    kept.of_groups.push_back({group, static_cast<MicroUnits>(std::min(share, Wide{part}))});
  }
  return kept;
}

std::size_t AllocatorQuotas::scarcest(const ResourceVector& used) const {
  std::optional<std::size_t> scarcest;
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    if (!counts(r) || tree_.capacity(r) == 0) continue;
    if (!scarcest ||
        Wide{used[r]} * tree_.capacity(*scarcest) > Wide{used[*scarcest]} * tree_.capacity(r))
      scarcest = r;
  }
  return scarcest.value_or(0);
}

QuotaTree::Group AllocatorQuotas::number_of(GroupId id) const {
  if (!id) return QuotaTree::kRoot;
  const auto found = numbers_.find(id);
  FAIRWATER_CHECK(found != numbers_.end(), "a group is set before what shares its quota");
  return found->second;
}

void AllocatorQuotas::set_group(GroupId id, const GroupTerms& terms) {
  FAIRWATER_CHECK(id && id.value < kFirstGroupKey, "a group's number is from 1 to 2^31 - 1");
  FAIRWATER_CHECK(terms.place.weight > 0, "a group's weight is above 0");
  const QuotaTree::Group parent = number_of(terms.place.group);
  const auto [known, is_new] = numbers_.emplace(id, static_cast<QuotaTree::Group>(groups_.size()));
  const QuotaTree::Group number = known->second;
  if (is_new) {
    tree_.add(parent, kFirstGroupKey + id.value, terms.place.weight);
    parts_.add(parent, kFirstGroupKey + id.value, terms.place.weight);
    groups_.emplace_back().parent = parent;
    groups_.back().id = id;
  } else {
    FAIRWATER_CHECK(groups_[number].parent == parent, "a group stays in its group");
    if (groups_[number].terms == terms) return;
    add_weights(parent, groups_[number].terms.place, -1);
  }
  add_weights(parent, terms.place, 1);
  groups_[number].terms = terms;
  const bool has_min = std::any_of(terms.min.begin(), terms.min.end(),
                                   [](const auto& min) { return min.value_or(0) > 0; });
  if (has_min)
    with_min_.insert(number);
  else
    with_min_.erase(number);
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    if (!counts(r)) continue;
    tree_.set_weight(number, r, terms.place.weight_of(r));
    parts_.set_weight(number, r, terms.place.weight_of(r));
    tree_.set_min(number, r, terms.min[r]);
    set_quota_max(number, r);
  }
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    if (!counts(r)) continue;
    parts_.set_min(number, r,
                   terms.min[r] ? std::optional(micro_units_of(*terms.min[r], r)) : std::nullopt);
    parts_.set_max(number, r, micro_units_of(terms.max[r], r));
  }
}

void AllocatorQuotas::add_weights(QuotaTree::Group group, const QuotaPlace& place, int sign) {
  for (std::size_t r = 0; r < kMaxResources; ++r)
    groups_[group].weights[r] += Wide{sign} * place.weight_of(r);
}

/// Its tenants' mins may be more than its plain share.
void AllocatorQuotas::set_quota_max(QuotaTree::Group group, std::size_t resource) {
  const Group& own = groups_[group];
  Amount max = own.terms.max[resource];
  if (!own.terms.rights.may_borrow) {
    const Amount share = plain_share(own.parent, own.terms.place.weight_of(resource), resource);
    max = std::min(max, std::max(tree_.min(group, resource), share));
  }
  tree_.set_max(group, resource, max);
}

void AllocatorQuotas::refresh_groups() {
  for (QuotaTree::Group group = 1; group < groups_.size(); ++group)
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (counts(r) && !groups_[group].terms.rights.may_borrow) set_quota_max(group, r);
}

bool AllocatorQuotas::is_below_min(QuotaTree::Group group) const {
  const Group& of = groups_[group];
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (of.used[r] < of.terms.min[r].value_or(0)) return true;
  return false;
}

bool AllocatorQuotas::some_group_is_below_min() const {
  return std::any_of(with_min_.begin(), with_min_.end(),
                     [&](QuotaTree::Group group) { return is_below_min(group); });
}

bool AllocatorQuotas::has_groups(std::span<const TenantTree::Group> groups) const {
  return groups.size() == numbers_.size() &&
         std::all_of(groups.begin(), groups.end(), [&](const TenantTree::Group& group) {
           const auto known = numbers_.find(group.id);
           return known != numbers_.end() &&
                  groups_[groups_[known->second].parent].id == group.terms.place.group;
         });
}

void AllocatorQuotas::join(TenantState& tenant) {
  FAIRWATER_CHECK(tenant.id.value < kFirstGroupKey, "a tenant's number is below 2^31");
  const QuotaPlace place = place_of(tenant.terms);
  FAIRWATER_CHECK(place.weight > 0, "a tenant's weight is above 0");
  tenant.has_place = tenant.terms.place.has_value();
  tenant.group = number_of(place.group);
  tenant.group_may_borrow = groups_may_borrow(tenant);
  add_weights(tenant.group, place, 1);
  add_used(tenant, tenant.held_in_all());
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (counts(r)) tree_.set_member(tenant.group, tenant.id.value, r, {});
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (counts(r))
      parts_.set_member(tenant.group, tenant.id.value, r,
                        {.weight = place.weight_of(r),
                         .min = micro_units_of(tenant.terms.min[r], r),
                         .max = micro_units_of(tenant.terms.max[r], r),
                         .request = kUnlimited});
  refresh(tenant);
}

void AllocatorQuotas::leave(const TenantState& tenant) {
  add_weights(tenant.group, place_of(tenant.terms), -1);
  add_used(tenant, ResourceVector{} - tenant.held_in_all());
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (counts(r)) tree_.erase_member(tenant.group, tenant.id.value, r);
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (counts(r)) parts_.erase_member(tenant.group, tenant.id.value, r);
}

inline QuotaGroup AllocatorQuotas::member(const TenantState& tenant, std::size_t resource) const {
  const Amount request =
      std::min(kUnlimited, tenant.used[resource] + std::min(kUnlimited, tenant.pending[resource]));
  const Weight weight = weight_in_quota(tenant, resource);
  const Amount min = tenant.terms.min[resource];
  Amount max = tenant.terms.max[resource];
  if (!tenant.terms.borrows())
    max = std::min(max, std::max(min, plain_share(tenant.group, weight, resource)));
  return {.weight = weight, .min = min, .max = max, .request = request};
}

inline QuotaGroup AllocatorQuotas::refresh_holding(TenantState& tenant, std::size_t resource) {
  Holding& holding = tenant.holdings[resource];
  const bool is_in_group = tenant.group != QuotaTree::kRoot;
  holding.counted = tenant.used[resource] - tenant.used_beyond_quota[resource];
  holding.left = is_in_group
                     ? -1
                     : tenant.terms.max[resource] - tenant.used[resource] - tenant.grown[resource];
  if (!counts(resource)) return {};
  const QuotaGroup known = member(tenant, resource);
  holding.wanted = known.wanted();
  holding.base = known.base();
  return known;
}

void AllocatorQuotas::refresh(TenantState& tenant) {
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    const QuotaGroup known = refresh_holding(tenant, r);
    if (counts(r) && tree_.member(tenant.group, tenant.id.value, r) != known)
      tree_.set_member(tenant.group, tenant.id.value, r, known);
  }
}

void AllocatorQuotas::hold(TenantState& tenant, const ResourceVector& demand) {
  add_used(tenant, demand);
  for (const std::size_t r : ResourceSet::asked_by(demand)) refresh_holding(tenant, r);
}

void AllocatorQuotas::release(TenantState& tenant, const ResourceVector& demand) {
  add_used(tenant, ResourceVector{} - demand);
  refresh(tenant);
}

void AllocatorQuotas::add_used(const TenantState& tenant, const ResourceVector& more) {
  for (QuotaTree::Group group = tenant.group; group != QuotaTree::kRoot;
       group = groups_[group].parent)
    groups_[group].used += more;
}

void AllocatorQuotas::promise(const TenantState& tenant, const ResourceVector& more) {
  promised_[tenant.id] += more;
  for (QuotaTree::Group group = tenant.group; group != QuotaTree::kRoot;
       group = groups_[group].parent)
    groups_[group].promised += more;
}

void AllocatorQuotas::forget_promises() {
  promised_.clear();
  for (Group& group : groups_) group.promised = {};
}

ResourceVector AllocatorQuotas::promised_to_others(const TenantState& tenant,
                                                   QuotaTree::Group group) const {
  if (promised_.empty()) return {};
  const auto own = promised_.find(tenant.id);
  return own == promised_.end() ? groups_[group].promised : groups_[group].promised - own->second;
}

std::optional<AllocatorQuotas::GroupLimit> AllocatorQuotas::full_group(const TenantState& tenant,
                                                                       std::size_t resource,
                                                                       Amount more) const {
  for (QuotaTree::Group group = tenant.group; group != QuotaTree::kRoot;
       group = groups_[group].parent) {
    const GroupLimit limit{groups_[group].id, groups_[group].used[resource],
                           promised_to_others(tenant, group)[resource],
                           groups_[group].terms.max[resource]};
    if (limit.used + limit.promised + more > limit.max) return limit;
  }
  return std::nullopt;
}

std::vector<AllocatorQuotas::GroupQuota> AllocatorQuotas::group_quotas(const TenantState& tenant,
                                                                       std::size_t resource) const {
  std::vector<GroupQuota> quotas;
  if (!counts(resource)) return quotas;
  for (QuotaTree::Group group = tenant.group; group != QuotaTree::kRoot;
       group = groups_[group].parent)
    quotas.push_back(
        {groups_[group].id, groups_[group].used[resource], tree_.runtime(group, resource)});
  return quotas;
}

bool AllocatorQuotas::has_room(const TenantState& tenant, std::size_t resource, Amount more) const {
  return tenant.used[resource] + tenant.grown[resource] + more <= tenant.terms.max[resource] &&
         !full_group(tenant, resource, more);
}

Amount AllocatorQuotas::plain_share(QuotaTree::Group group, Weight weight,
                                    std::size_t resource) const {
  const Group& shared = groups_[group];
  const Amount whole =
      group == QuotaTree::kRoot
          ? tree_.capacity(resource)
          : plain_share(shared.parent, shared.terms.place.weight_of(resource), resource);
  return static_cast<Amount>((Wide{whole} * weight + shared.weights[resource] - 1) /
                             shared.weights[resource]);
}

ResourceVector AllocatorQuotas::quota(const TenantState& tenant) const {
  ResourceVector result;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (counts(r)) result[r] = tree_.member_runtime(tenant.group, tenant.id.value, r);
  return result;
}

Amount AllocatorQuotas::exact_quota(const TenantState& tenant, std::size_t resource) const {
  return tree_.member_runtime(tenant.group, tenant.id.value, resource);
}

AllocatorQuotas::WaterMarks AllocatorQuotas::water_marks(QuotaTree::Group group) const {
  WaterMarks marks{};
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    if (!counts(r)) continue;
    const std::optional<WaterMark> mark = tree_.level(group, r);
    if (!mark)
      marks[r] = kBoundless;
    else if (mark->poured > 0)
      marks[r] = approximately(mark->poured) / approximately(mark->weight);
    else
      marks[r] = std::numeric_limits<double>::quiet_NaN();
  }
  return marks;
}

bool AllocatorQuotas::quota_is_at_least(const TenantState& tenant, std::size_t resource,
                                        Amount amount, const WaterMarks& marks) const {
  if (!counts(resource)) return amount <= 0;
  const Holding& holding = tenant.holdings[resource];
  if (amount > holding.wanted) return false;
  if (!tenant.has_place) {
    // Where it gets less than it wants, its part is floor or ceiling of poured * weight / all
    // weights.
    const double poured = marks[resource] * static_cast<double>(tenant.rank.weight);
    const double more = poured - static_cast<double>(amount - holding.base);
    const double doubt = 2 + kRounding * (poured + static_cast<double>(holding.wanted));
    if (more > doubt) return true;
    if (more < -doubt) return false;
  }
  return exact_quota(tenant, resource) >= amount;
}

bool AllocatorQuotas::quota_is_at_least_micro(const TenantState& tenant, std::size_t resource,
                                              MicroUnits micro, const WaterMarks& marks) const {
  if (micro <= 0) return true;
  if (!counts(resource) || units_[resource] <= 0 || micro > kUnlimited) return false;
  const Wide least = least_amount(resource, micro);
  return least <= kUnlimited &&
         quota_is_at_least(tenant, resource, static_cast<Amount>(least), marks);
}

Wide AllocatorQuotas::least_amount(std::size_t resource, MicroUnits micro) const {
  const Wide per_granule = Wide{units_[resource]} * kMicroUnitsPerUnit;
  return (Wide{micro} * granules_[resource] + per_granule - 1) / per_granule;
}

/// As quota_is_at_least, which is monotonous in the height.
bool AllocatorQuotas::quota_is_surely_less(const TenantState& tenant, std::size_t resource,
                                           Amount amount, const WaterMarks& highest) const {
  if (!counts(resource)) return amount > 0;
  const Holding& holding = tenant.holdings[resource];
  if (amount > holding.wanted) return true;
  const Weight weight = weight_in_quota(tenant, resource);
  const double poured = highest[resource] * static_cast<double>(weight);
  const double doubt = 2 + kRounding * (poured + static_cast<double>(holding.wanted));
  return poured - static_cast<double>(amount - holding.base) < -doubt;
}

double AllocatorQuotas::surely_less_below(const TenantState& tenant, std::size_t resource,
                                          Amount amount) const {
  if (!counts(resource)) return amount > 0 ? 2 * kBoundless : 0;
  const Holding& holding = tenant.holdings[resource];
  if (amount > holding.wanted) return 2 * kBoundless;
  const Weight weight = weight_in_quota(tenant, resource);
  const double poured = static_cast<double>(amount - holding.base) - 2 -
                        kRounding * static_cast<double>(holding.wanted);
  return std::max(0.0, poured / static_cast<double>(weight) * (1 - 4 * kRounding));
}

bool AllocatorQuotas::quota_is_surely_less_micro(const TenantState& tenant, std::size_t resource,
                                                 MicroUnits micro,
                                                 const WaterMarks& highest) const {
  if (micro <= 0) return false;
  if (!counts(resource) || units_[resource] <= 0 || micro > kUnlimited) return true;
  const Wide least = least_amount(resource, micro);
  return least > kUnlimited ||
         quota_is_surely_less(tenant, resource, static_cast<Amount>(least), highest);
}

bool AllocatorQuotas::is_below_guarantee(const TenantState& tenant, std::size_t resource,
                                         const WaterMarks& marks) const {
  if (tenant.used[resource] >= tenant.terms.min[resource]) return false;
  const bool all_fit = !counts(resource) || !std::isnan(marks[resource]);
  return all_fit || exact_quota(tenant, resource) > tenant.used[resource];
}

AllocatorQuotas::Standing AllocatorQuotas::standing(const TenantState& tenant,
                                                    const WindowRange& range,
                                                    const WaterMarks& marks) const {
  Standing standing = Standing::within;
  for (const std::size_t r : range.asks) {
    const Amount held = tenant.holdings[r].counted;
    if (quota_is_at_least(tenant, r, held + range.asked_at_once(r), marks)) continue;
    if (!quota_is_at_least(tenant, r, held + 1, marks)) return Standing::at_quota;
    standing = Standing::straddling;
  }
  return standing;
}

bool AllocatorQuotas::may_reserve(const TenantState& tenant, const WindowRange& range,
                                  const WaterMarks& marks) const {
  for (const std::size_t r : range.asks) {
    const Amount beside = tenant.holdings[r].counted + tenant.reserved[r];
    if (!quota_is_at_least(tenant, r, beside + range.asked_at_once(r), marks)) return false;
  }
  return true;
}

}  // namespace fairwater::inline policy::inline allocator
