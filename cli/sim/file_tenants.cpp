#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/sim/file_fields.hpp"
#include "cli/sim/file_parts.hpp"
#include "model/tenant.hpp"
#include "policy/elastic/elastic.hpp"

namespace fairwater {
namespace {

constexpr std::size_t kMaxSimTenants = 100'000;
constexpr int kMaxTenantDepth = 16;

/// One that has tenants is a group: they run its jobs.
struct TenantNode {
  TenantSpec spec;
  Units quota = 0;
  std::string path;
  std::vector<TenantNode> children;
};

/// Keys of those that run jobs.
void refuse_keys_of_leaves(YamlFields& fields) {
  for (const char* key : {"repay", "may_lend", "may_borrow", "quota"})
    if (const auto node = fields.take(key))
      return fields.refuse(
          key, *node, "is for tenants that run jobs: this one has tenants, which run its jobs");
}

void read_tenants(SimFileDraft& draft, YamlFields& fields, std::vector<TenantNode>& target,
                  int depth) {
  if (depth > kMaxTenantDepth)
    return draft.document.refuse(fields.path_of("tenants"), 0,
                                 fmt::format("nested deeper than {}", kMaxTenantDepth));
  read_list(draft.document, fields, "tenants",
            [&](const YAML::Node& node, const std::string& path) {
              draft.document.remember_line(path.substr(0, path.size() - 1), node.Mark().line + 1);
              YamlFields tenant_fields{draft.document, node, path};
              TenantNode tenant;
              tenant.path = path;
              tenant_fields.text("name", tenant.spec.name);
              tenant_fields.integer("weight", tenant.spec.weight, 1, kMaxWeight);
              tenant_fields.amounts("min", tenant.spec.min);
              tenant_fields.amounts("max", tenant.spec.max);
              tenant_fields.millionths("repay", tenant.spec.repay_millionths);
              tenant_fields.boolean("may_lend", tenant.spec.may_lend);
              tenant_fields.boolean("may_borrow", tenant.spec.may_borrow);
              tenant_fields.integer("quota", tenant.quota, 1, kMaxElasticUnits);
              read_tenants(draft, tenant_fields, tenant.children, depth + 1);
              if (!tenant.children.empty()) refuse_keys_of_leaves(tenant_fields);
              tenant_fields.finish();
              target.push_back(std::move(tenant));
            });
}

class TenantTree {
 public:
  explicit TenantTree(SimFileDraft& draft) : draft_(draft) {}

  /// Adds them and all below. What they have as min together.
  ResourceVector add(const std::vector<TenantNode>& nodes, GroupId parent) {
    ResourceVector mins;
    for (const auto& node : nodes) {
      if (draft_.document.error()) return mins;
      const auto terms = check(node);
      if (!terms) {
        refuse(node, terms.error());
        return mins;
      }
      const ResourceVector min =
          node.children.empty() ? add_leaf(node, *terms, parent) : add_group(node, *terms, parent);
      for (std::size_t r = 0; r < kMaxResources; ++r)
        mins[r] = std::min(kUnlimited, mins[r] + min[r]);
    }
    return mins;
  }

 private:
  void refuse(const TenantNode& node, const caf::error& error) {
    const ErrorDetails said = details(error);
    draft_.document.refuse(make_error(said.code, said.message, node.path + said.field));
  }

  Expected<TenantTerms> check(const TenantNode& node) {
    if (auto error = validate(node.spec)) return error;
    if (draft_.tenants.size() + draft_.groups.size() == kMaxSimTenants)
      return make_error(ErrorCode::invalid_input,
                        fmt::format("more than {} tenants", kMaxSimTenants), "name");
    if (draft_.tenants.contains(node.spec.name) || draft_.groups.contains(node.spec.name))
      return make_error(ErrorCode::invalid_input, "'" + node.spec.name + "' is given twice",
                        "name");
    return terms_of(node.spec, draft_.catalog);
  }

  ResourceVector add_leaf(const TenantNode& node, TenantTerms terms, GroupId parent) {
    auto& tenants = draft_.scenario.cluster.tenants;
    if (parent) terms.place = {.group = parent, .weight = node.spec.weight};
    draft_.tenants.emplace(node.spec.name, static_cast<sim::TenantIndex>(tenants.size()));
    tenants.push_back({node.spec.name, terms, node.quota});
    return terms.min;
  }

  ResourceVector add_group(const TenantNode& node, const TenantTerms& terms, GroupId parent) {
    auto& groups = draft_.scenario.cluster.groups;
    const std::size_t place = groups.size();
    draft_.groups.insert(node.spec.name);
    groups.push_back({.place = {.group = parent, .weight = node.spec.weight}, .max = terms.max});
    ResourceVector mins = add(node.children, GroupId{static_cast<std::uint32_t>(place + 1)});
    for (const auto& [name, min] : node.spec.min) {
      const std::size_t r = *draft_.catalog.index_of(name);
      if (min < mins[r]) refuse_amount(node, "min." + name, name, min, mins[r]);
      groups[place].min[r] = mins[r] = min;
    }
    for (const auto& [name, max] : node.spec.max)
      if (const std::size_t r = *draft_.catalog.index_of(name); max < mins[r])
        refuse_amount(node, "max." + name, name, max, mins[r]);
    return mins;
  }

  void refuse_amount(const TenantNode& node, const std::string& field, const std::string& resource,
                     Amount amount, Amount mins) {
    refuse(node,
           make_error(ErrorCode::invalid_input,
                      fmt::format("{} is below the min of its tenants together, which is {}",
                                  format_amount(resource, amount), format_amount(resource, mins)),
                      field));
  }

  SimFileDraft& draft_;
};

}  // namespace

void read_sim_tenants(SimFileDraft& draft, YamlFields& fields) {
  std::vector<TenantNode> nodes;
  read_tenants(draft, fields, nodes, 0);
  if (!draft.document.error()) TenantTree{draft}.add(nodes, {});
}

}  // namespace fairwater
