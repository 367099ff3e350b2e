// Tenants within tenants, as their specifications name them: who runs jobs, who has tenants that
// do, and what the allocator is told of both. One function of the specifications alone, so that the
// coordinator, a restart and the ledger's fold make the same of them. Pure.
//
// Only a tenant without tenants runs jobs, is in the sequence and has an account. One with tenants
// is a group for the allocator, whose number is the tenant's id.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/errors.hpp"
#include "model/resources.hpp"
#include "model/tenant.hpp"
#include "policy/allocator/allocator.hpp"

namespace fairwater::inline model {

/// So many tenants, at most, are around one.
inline constexpr std::size_t kMaxTenantDepth = 16;

class TenantNesting {
 public:
  using Specs = std::map<TenantId, TenantSpec>;

  /// Names are unlike. A parent that is not there, and whoever is in a circle, counts as being at
  /// the top: shape_faults() says so. O(tenants * log).
  explicit TenantNesting(Specs specs);

  struct Fault {
    std::string tenant;  ///< whose specification is wrong
    std::string key;     ///< in it
    std::string message;
  };
  /// What keeps the specifications from being a tree, by id: an unknown parent, a circle (told of
  /// each in it), more than kMaxTenantDepth around one.
  [[nodiscard]] std::vector<Fault> shape_faults() const;
  /// Of a tree, what those with tenants may not say: keys that are for those who run jobs, a
  /// min or max below the `min`s of its tenants together.
  [[nodiscard]] std::vector<Fault> terms_faults() const;

  [[nodiscard]] bool knows(TenantId tenant) const { return specs_.contains(tenant); }
  [[nodiscard]] bool has_tenants(TenantId tenant) const;
  /// Whether it runs jobs itself.
  [[nodiscard]] bool is_leaf(TenantId tenant) const {
    return knows(tenant) && !has_tenants(tenant);
  }
  /// Names of those directly in it, or at the top (no id), by id.
  [[nodiscard]] std::vector<std::string> names_in(TenantId tenant) const;
  /// Those around it, the innermost first.
  [[nodiscard]] std::vector<TenantId> around(TenantId tenant) const;
  [[nodiscard]] const TenantSpec& spec(TenantId tenant) const { return specs_.at(tenant); }
  /// Those in it that run jobs, however deep, by id; itself when it has no tenants.
  [[nodiscard]] std::vector<TenantId> leaves(TenantId tenant) const;
  /// All that run jobs, with their weights in the sequence, by id: as given where nobody has
  /// tenants, else in proportion to the tree (policy/quota/tree_weights.hpp).
  [[nodiscard]] const std::vector<Accounts::Member>& members() const { return members_; }
  /// Those with tenants that have an account still, which is divided among these, by id.
  template <class HasAccount>
  [[nodiscard]] std::vector<Accounts::Division> divisions(HasAccount&& has_account) const {
    std::vector<Accounts::Division> divided;
    for (const auto& [id, spec] : specs_)
      if (has_tenants(id) && has_account(id)) divided.push_back({id, leaves(id)});
    return divided;
  }
  /// `invalid_input` as terms_of().
  [[nodiscard]] Expected<TenantTree> tree(const ResourceCatalog& catalog) const;
  /// What is guaranteed to the tenant: its min, and of resources that this does not name the sum of
  /// its tenants'. Of no id: what is guaranteed to all.
  [[nodiscard]] NamedAmounts guaranteed(TenantId tenant) const;

 private:
  struct Node {
    TenantId parent{};
    std::vector<TenantId> children{};
  };
  [[nodiscard]] const Node& node(TenantId tenant) const { return nodes_.at(tenant); }
  [[nodiscard]] std::optional<Fault> place_fault(TenantId tenant) const;
  [[nodiscard]] std::optional<Fault> group_fault(TenantId tenant) const;
  [[nodiscard]] NamedAmounts guaranteed_within(TenantId tenant) const;
  void find_parents();
  void weigh();

  Specs specs_;
  std::map<TenantId, Node> nodes_;  ///< and the top, which has no id
  std::map<std::string, TenantId> by_name_;
  std::vector<TenantId> groups_;  ///< each after the one that it is in
  std::vector<Accounts::Member> members_;
};

}  // namespace fairwater::inline model
