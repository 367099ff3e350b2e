#include "model/tenant_nesting.hpp"

#include <algorithm>
#include <utility>

#include "model/numbers.hpp"
#include "policy/quota/tree_weights.hpp"

namespace fairwater::inline model {
namespace {

constexpr TenantId kTop{};

}  // namespace

TenantNesting::TenantNesting(Specs specs) : specs_(std::move(specs)) {
  nodes_[kTop];
  for (const auto& [id, spec] : specs_) {
    nodes_[id];
    by_name_.emplace(spec.name, id);
  }
  find_parents();
  weigh();
}

/// Who is in a circle comes to the top, all of it: everybody else's way up ends there.
void TenantNesting::find_parents() {
  for (auto& [id, node] : nodes_) {
    if (id == kTop || spec(id).parent.empty()) continue;
    const auto parent = by_name_.find(spec(id).parent);
    if (parent != by_name_.end()) node.parent = parent->second;
  }
  std::map<TenantId, TenantId> seen_from;  // on whose way up it was found first
  std::vector<TenantId> circular;
  for (const auto& [id, node] : nodes_) {
    TenantId at = id;
    while (at != kTop && seen_from.emplace(at, id).second) at = nodes_.at(at).parent;
    if (at == kTop || seen_from.at(at) != id) continue;
    TenantId around = at;
    do circular.push_back(around);
    while ((around = nodes_.at(around).parent) != at);
  }
  for (const TenantId id : circular) nodes_.at(id).parent = kTop;
  for (const auto& [id, node] : nodes_)
    if (id != kTop) nodes_.at(node.parent).children.push_back(id);
  std::vector<TenantId> open{kTop};
  while (!open.empty()) {
    const TenantId group = open.back();
    open.pop_back();
    if (group != kTop) groups_.push_back(group);
    for (const TenantId child : node(group).children)
      if (has_tenants(child)) open.push_back(child);
  }
}

void TenantNesting::weigh() {
  std::map<TenantId, std::uint32_t> numbers{{kTop, 0}};
  for (const TenantId group : groups_)
    numbers.emplace(group, static_cast<std::uint32_t>(numbers.size()));
  std::vector<PlacedWeight> groups, leaves;
  for (const TenantId group : groups_)
    groups.push_back({numbers.at(node(group).parent), spec(group).weight});
  for (const auto& [id, node] : nodes_) {
    if (id == kTop || has_tenants(id)) continue;
    members_.push_back({id, spec(id).weight});
    leaves.push_back({numbers.at(node.parent), spec(id).weight});
  }
  if (groups_.empty()) return;
  const std::vector<Weight> weights = tree_weights(groups, leaves);
  for (std::size_t i = 0; i < weights.size(); ++i) members_[i].weight = weights[i];
}

bool TenantNesting::has_tenants(TenantId tenant) const { return !node(tenant).children.empty(); }

std::vector<std::string> TenantNesting::names_in(TenantId tenant) const {
  std::vector<std::string> names;
  for (const TenantId child : node(tenant).children) names.push_back(spec(child).name);
  return names;
}

std::vector<TenantId> TenantNesting::around(TenantId tenant) const {
  std::vector<TenantId> outer;
  for (TenantId at = node(tenant).parent; at != kTop; at = node(at).parent) outer.push_back(at);
  return outer;
}

std::vector<TenantId> TenantNesting::leaves(TenantId tenant) const {
  std::vector<TenantId> found;
  std::vector<TenantId> open{tenant};
  while (!open.empty()) {
    const TenantId at = open.back();
    open.pop_back();
    const auto& below = node(at).children;
    if (below.empty()) found.push_back(at);
    open.insert(open.end(), below.begin(), below.end());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Expected<TenantTree> TenantNesting::tree(const ResourceCatalog& catalog) const {
  TenantTree tree;
  const auto place_in_tree = [&](TenantId placed, const TenantTerms& terms) {
    QuotaPlace place = place_of(terms);
    place.group = GroupId{node(placed).parent.value};
    return place;
  };
  for (const TenantId id : groups_) {
    const auto terms = terms_of(spec(id), catalog);
    if (!terms) return terms.error();
    GroupTerms group{
        .place = place_in_tree(id, *terms),
        .max = terms->max,
        .rights = {
            .may_lend = terms->may_lend, .may_borrow = terms->may_borrow, .caps = terms->caps}};
    for (const auto& [name, min] : spec(id).min) group.min[*catalog.index_of(name)] = min;
    tree.groups.push_back({GroupId{id.value}, group});
  }
  for (const auto& [id, weight] : members_) {
    auto terms = terms_of(spec(id), catalog);
    if (!terms) return terms.error();
    if (!groups_.empty()) terms->place = place_in_tree(id, *terms);
    terms->weight = weight;
    tree.tenants.push_back({id, *std::move(terms)});
  }
  return tree;
}

NamedAmounts TenantNesting::guaranteed_within(TenantId tenant) const {
  NamedAmounts sums;
  for (const TenantId child : node(tenant).children)
    for (const auto& [name, amount] : guaranteed(child))
      sums[name] = std::min(kUnlimited, sums[name] + amount);
  return sums;
}

NamedAmounts TenantNesting::guaranteed(TenantId tenant) const {
  NamedAmounts amounts = guaranteed_within(tenant);
  if (tenant != kTop)
    for (const auto& [name, min] : spec(tenant).min) amounts[name] = min;
  return amounts;
}

std::vector<TenantNesting::Fault> TenantNesting::shape_faults() const {
  std::vector<Fault> faults;
  for (const auto& [id, known] : specs_)
    if (auto fault = place_fault(id)) faults.push_back(*std::move(fault));
  return faults;
}

std::vector<TenantNesting::Fault> TenantNesting::terms_faults() const {
  std::vector<Fault> faults;
  for (const TenantId id : groups_)
    if (auto fault = group_fault(id)) faults.push_back(*std::move(fault));
  return faults;
}

std::optional<TenantNesting::Fault> TenantNesting::place_fault(TenantId tenant) const {
  const TenantSpec& placed = spec(tenant);
  const auto fault = [&](std::string message) {
    return Fault{placed.name, "parent", std::move(message)};
  };
  if (!placed.parent.empty() && node(tenant).parent == kTop) {
    const auto parent = by_name_.find(placed.parent);
    if (parent == by_name_.end()) return fault("there is no tenant '" + placed.parent + "'");
    std::string way = placed.name + " would be in " + placed.parent;
    for (TenantId at = parent->second; at != tenant; at = by_name_.at(spec(at).parent))
      way += ", " + spec(at).name + " in " + spec(at).parent;
    return fault(way);
  }
  std::size_t depth = 0;
  for (TenantId at = node(tenant).parent; at != kTop && depth <= kMaxTenantDepth; ++depth)
    at = node(at).parent;
  if (depth <= kMaxTenantDepth) return std::nullopt;
  return fault("more than " + std::to_string(kMaxTenantDepth) + " tenants would be around " +
               placed.name);
}

namespace {

struct Setting {
  const char* key;
  std::string value;  ///< as it is written
};

/// The first that the tenant has, of those that only tenants that run jobs may have.
std::optional<Setting> setting_of_jobs(const TenantSpec& spec) {
  const TenantSpec plain;
  if (spec.queue != plain.queue) return Setting{"queue", std::string{to_string(spec.queue)}};
  if (spec.repay_millionths != plain.repay_millionths)
    return Setting{"repay", millionths_text(spec.repay_millionths)};
  if (spec.placement != plain.placement)
    return Setting{"placement", std::string{to_string(spec.placement)}};
  if (!spec.run_as.empty()) return Setting{"run_as", to_text(spec.run_as)};
  return std::nullopt;
}

}  // namespace

std::optional<TenantNesting::Fault> TenantNesting::group_fault(TenantId tenant) const {
  const TenantSpec& group = spec(tenant);
  if (const auto setting = setting_of_jobs(group))
    return Fault{group.name, setting->key,
                 setting->value + " is for tenants that run jobs, and " + group.name +
                     " has tenants, which run its jobs; name " + group.name +
                     " in the file without it"};
  if (group.leaving)
    return Fault{group.name, "leaving",
                 group.name + " is leaving; it stays where the file names it, too"};
  const NamedAmounts within = guaranteed_within(tenant);
  for (const auto& [key, amounts] : {std::pair{"min", &group.min}, std::pair{"max", &group.max}})
    for (const auto& [name, amount] : *amounts) {
      const auto sum = within.find(name);
      if (sum == within.end() || sum->second <= amount) continue;
      return Fault{group.name, std::string(key) + "." + name,
                   format_amount(name, amount) + " is below the min of its tenants together, " +
                       "which is " + format_amount(name, sum->second)};
    }
  return std::nullopt;
}

}  // namespace fairwater::inline model
