// How much each tenant may hold: its place in the tree of quotas, what it wants there, and where it
// stands with it. Internal to policy/.
//
// Invariants
//   - a tenant's request in the tree is what it holds plus what it waits for, so a grant moves
//     nothing there and a release or a new window moves one member;
//   - a tenant's holdings follow its state, see Holding;
//   - what a group holds is what its tenants hold, and not above its max, whichever step places it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "policy/allocator/tenant.hpp"
#include "policy/quota/quota_tree.hpp"

namespace fairwater::inline policy::inline allocator {

class AllocatorQuotas {
 public:
  /// A granule of 0: the cluster does not have that resource.
  AllocatorQuotas(const ResourceVector& granules, const ResourceVector& units);

  /// True when it was another before; then plain shares have changed.
  bool set_capacity(const ResourceVector& capacity);
  /// See Allocator. Plain shares change.
  void set_group(GroupId id, const GroupTerms& terms);
  /// Whether these are all groups, and each is in the one where it is known to be.
  [[nodiscard]] bool has_groups(std::span<const TenantTree::Group> groups) const;
  /// After a change of plain shares: the quotas of groups that may not borrow follow. O(groups).
  void refresh_groups();
  /// A change of terms is a leaving with the old ones and a joining with the new. Plain shares
  /// change with both.
  void join(TenantState& tenant);
  void leave(const TenantState& tenant);
  /// To be called after a change of what it holds, what it waits for or plain shares: its holdings
  /// and its request follow.
  void refresh(TenantState& tenant);
  /// It holds `demand` more, for which it waited: its holdings and its groups' follow.
  void hold(TenantState& tenant, const ResourceVector& demand);
  /// It holds `demand` less: they follow, and its request.
  void release(TenantState& tenant, const ResourceVector& demand);

  /// So much more is promised to it: below the maxes of the groups that it is in no other tenant
  /// takes that.
  void promise(const TenantState& tenant, const ResourceVector& more);
  void forget_promises();
  [[nodiscard]] bool is_promised_some(TenantId tenant) const { return promised_.contains(tenant); }
  /// To others of those who are in the group, as the tenant is.
  [[nodiscard]] ResourceVector promised_to_others(const TenantState& tenant,
                                                  QuotaTree::Group group) const;

  [[nodiscard]] ResourceVector quota(const TenantState& tenant) const;
  /// Of one resource. Rarely needed; inlined it would keep the water marks' part from being so.
  [[nodiscard, gnu::noinline]] Amount exact_quota(const TenantState& tenant,
                                                  std::size_t resource) const;
  /// What belongs to the tenant, in micro-units of one resource: its min, and by weight its part of
  /// what is beyond all mins, level by level, at most its max, whoever waits or holds. The parts of
  /// all add up to the capacity, unless every max is below it.
  [[nodiscard]] MicroUnits part(const TenantState& tenant, std::size_t resource) const;
  /// Of such a part, by its min and those of the groups that it is in. O(depth * log siblings).
  [[nodiscard]] KeptForMins kept_for_mins(const TenantState& tenant, std::size_t resource,
                                          MicroUnits part) const;
  [[nodiscard]] MicroUnits micro_units_of(Amount amount, std::size_t resource) const {
    const Amount granule = granules_[resource];
    Amount micro = 0;
    if (granule > 0 &&
        !__builtin_mul_overflow(amount, units_[resource] * kMicroUnitsPerUnit, &micro))
      return std::min(micro / granule, kUnlimited);
    return micro_units(amount, granule, units_[resource]);
  }
  /// The least amount of so many micro-units, of a resource that counts.
  [[nodiscard]] Wide least_amount(std::size_t resource, MicroUnits micro) const;
  /// The resource of which most is used, as a part of its capacity; the first on a tie.
  [[nodiscard]] std::size_t scarcest(const ResourceVector& used) const;
  /// Whether the tenant may hold so much more by its own max and its groups'. For those in groups:
  /// of others `left` tells, and inlined this would slow them down.
  [[nodiscard, gnu::noinline]] bool has_room(const TenantState& tenant, std::size_t resource,
                                             Amount more) const;
  struct GroupLimit {
    GroupId group;
    Amount used = 0;
    Amount promised = 0;  ///< to others
    Amount max = 0;
  };
  /// The innermost of the groups that it is in whose tenants may not hold so much more together.
  [[nodiscard]] std::optional<GroupLimit> full_group(const TenantState& tenant,
                                                     std::size_t resource, Amount more) const;
  struct GroupBounds {
    QuotaTree::Group parent;
    const GroupTerms& terms;
    const ResourceVector& used;  ///< by its tenants together, with what has grown
    GroupId id;
  };
  /// Of TenantState::group, or of a parent; not of the root. Good until the next change.
  [[nodiscard]] GroupBounds group(QuotaTree::Group group) const {
    return {groups_[group].parent, groups_[group].terms, groups_[group].used, groups_[group].id};
  }
  /// Its tenants together hold less than its own min of some resource.
  [[nodiscard]] bool is_below_min(QuotaTree::Group group) const;
  /// O(groups with a min of their own).
  [[nodiscard]] bool some_group_is_below_min() const;
  /// Of those that share the group's quota of the resource.
  [[nodiscard]] Wide weights_in(QuotaTree::Group group, std::size_t resource) const {
    return groups_[group].weights[resource];
  }
  /// The root counts.
  [[nodiscard]] std::size_t group_count() const { return groups_.size(); }
  [[nodiscard]] bool is_in(const TenantState& tenant, QuotaTree::Group group) const;
  /// Every group that it is in.
  [[nodiscard]] bool groups_may_borrow(const TenantState& tenant) const;
  /// Whether a group with one of them, but not the other, may not lend or borrow so.
  [[nodiscard]] bool keeps_apart(const TenantState& lender, const TenantState& borrower) const;
  /// Those whose loans are bounded, and who is in them.
  [[nodiscard]] LoanGroups loan_groups(std::span<const TenantState> tenants) const;
  struct GroupQuota {
    GroupId group;
    Amount used = 0;
    Amount quota = 0;
  };
  /// Of one resource, of the groups that the tenant is in, the innermost first.
  [[nodiscard]] std::vector<GroupQuota> group_quotas(const TenantState& tenant,
                                                     std::size_t resource) const;
  /// Where a tenant would stand with its quota when it got a task, or a gang, more.
  enum class Standing : std::uint8_t {
    within,      ///< in every resource that the task asks for
    straddling,  ///< it is below it now, but in some resource the task goes beyond
    /// It is below it, but where the ledger counts time gives way to those whom it owes: it has
    /// what they cannot use before anybody goes beyond a quota.
    owing,
    at_quota,  ///< in some resource that the task asks for it holds it already
  };
  /// Where the water of the top level stands, about: poured per weight, a number too large for any
  /// capacity when all get what they want, and not a number while even the bases are too much.
  using WaterMarks = std::array<double, kMaxResources>;
  /// Good until the next change.
  [[nodiscard]] WaterMarks water_marks() const { return water_marks(QuotaTree::kRoot); }
  /// The same among those that share the quota of a group that has members.
  [[nodiscard]] WaterMarks water_marks(QuotaTree::Group group) const;
  /// True when the tenant's quota of one resource is `amount` or more. The height nearly always
  /// tells, in O(1); within two units of it, and of a tenant with a place in the tree, the exact
  /// quota is read.
  [[nodiscard]] bool quota_is_at_least(const TenantState& tenant, std::size_t resource,
                                       Amount amount, const WaterMarks& marks) const;
  /// The same of so many micro-units.
  [[nodiscard]] bool quota_is_at_least_micro(const TenantState& tenant, std::size_t resource,
                                             MicroUnits micro, const WaterMarks& marks) const;
  /// True only when the tenant's quota of one resource is less than `amount`, wherever the water
  /// stands among those that share its group's quota, up to `highest`. O(1).
  [[nodiscard]] bool quota_is_surely_less(const TenantState& tenant, std::size_t resource,
                                          Amount amount, const WaterMarks& highest) const;
  /// The height of the water among those that share its group's quota below which
  /// quota_is_surely_less() is true. O(1).
  [[nodiscard]] double surely_less_below(const TenantState& tenant, std::size_t resource,
                                         Amount amount) const;
  /// The same as quota_is_surely_less of so many micro-units.
  [[nodiscard]] bool quota_is_surely_less_micro(const TenantState& tenant, std::size_t resource,
                                                MicroUnits micro, const WaterMarks& highest) const;
  /// Whether the tenant holds less than is guaranteed to it: its min, or where all guarantees
  /// together exceed the capacity, its part of the capacity by them.
  [[nodiscard]] bool is_below_guarantee(const TenantState& tenant, std::size_t resource,
                                        const WaterMarks& marks) const;
  /// For a task of `range`. What it holds beyond its quota on what it is owed does not count.
  [[nodiscard]] Standing standing(const TenantState& tenant, const WindowRange& range,
                                  const WaterMarks& marks) const;
  /// Whether the tenant would be within its quota with a task of `range` beside what it holds and
  /// what is reserved for it.
  [[nodiscard]] bool may_reserve(const TenantState& tenant, const WindowRange& range,
                                 const WaterMarks& marks) const;

 private:
  [[nodiscard]] bool counts(std::size_t resource) const { return granules_[resource] > 0; }
  struct Group {
    GroupId id;
    QuotaTree::Group parent = QuotaTree::kRoot;
    GroupTerms terms;
    std::array<Wide, kMaxResources> weights{};  ///< of those that share its quota
    ResourceVector used;
    ResourceVector promised;
  };
  [[nodiscard]] QuotaTree::Group number_of(GroupId id) const;
  /// `sign`: 1 for who comes to share the group's quota, -1 for who does no more.
  void add_weights(QuotaTree::Group group, const QuotaPlace& place, int sign);
  void set_quota_max(QuotaTree::Group group, std::size_t resource);
  void add_used(const TenantState& tenant, const ResourceVector& more);
  /// What falls to `weight` in the group by weights alone, rounded up: a part of one gpu is one.
  [[nodiscard]] Amount plain_share(QuotaTree::Group group, Weight weight,
                                   std::size_t resource) const;
  /// Its terms and its request. A tenant that may not borrow holds at most its plain share, or its
  /// min.
  [[nodiscard]] QuotaGroup member(const TenantState& tenant, std::size_t resource) const;
  /// Returns the member that the tenant is now.
  QuotaGroup refresh_holding(TenantState& tenant, std::size_t resource);

  ResourceVector granules_;
  ResourceVector units_;  ///< per granule
  QuotaTree tree_;        ///< tenants are members, with their id as key
  QuotaTree parts_;       ///< the same, in micro-units, of which all want as much as they can get
  std::vector<Group> groups_{1};  ///< by number in the tree
  std::map<GroupId, QuotaTree::Group> numbers_;
  std::set<QuotaTree::Group> with_min_;          ///< of their own
  std::map<TenantId, ResourceVector> promised_;  ///< to those to whom something is
};

}  // namespace fairwater::inline policy::inline allocator
