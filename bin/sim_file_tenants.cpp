#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bin/sim_file_fields.hpp"
#include "bin/sim_file_parts.hpp"
#include "model/tenant.hpp"
#include "policy/elastic.hpp"

namespace fairwater {
namespace {

constexpr std::size_t kMaxSimTenants = 100'000;
constexpr int kMaxTenantDepth = 16;
/// Of a tenant tree: the weights of its leaves add up to about this.
constexpr Weight kTreeWeight = 1'000'000'000;

struct TenantNode {
  TenantSpec spec;
  Units quota = 0;
  std::string path;
  std::vector<TenantNode> children;
};

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
              tenant_fields.finish();
              target.push_back(std::move(tenant));
            });
}

void add_tenant(SimFileDraft& draft, const TenantNode& node) {
  const auto refuse = [&](const caf::error& error) {
    const ErrorDetails said = details(error);
    draft.document.refuse(make_error(said.code, said.message, node.path + said.field));
  };
  if (const auto error = validate(node.spec)) return refuse(error);
  auto terms = terms_of(node.spec, draft.catalog);
  if (!terms) return refuse(terms.error());
  if (draft.scenario.cluster.tenants.size() == kMaxSimTenants)
    return refuse(make_error(ErrorCode::invalid_input,
                             fmt::format("more than {} tenants", kMaxSimTenants), "name"));
  const auto index = static_cast<sim::TenantIndex>(draft.scenario.cluster.tenants.size());
  if (!draft.tenants.emplace(node.spec.name, index).second)
    return refuse(
        make_error(ErrorCode::invalid_input, "'" + node.spec.name + "' is given twice", "name"));
  draft.scenario.cluster.tenants.push_back({node.spec.name, *terms, node.quota});
}

/// A tree's leaves share the cluster as their parents do, at all times: what a leaf leaves goes
/// to all others, not to its siblings first.
void add_tenants(SimFileDraft& draft, std::vector<TenantNode>& nodes, Weight share) {
  Wide weights = 0;
  for (const auto& node : nodes) weights += node.spec.weight;
  for (auto& node : nodes) {
    const auto part = static_cast<Weight>(Wide{share} * node.spec.weight / weights);
    if (!node.children.empty()) {
      add_tenants(draft, node.children, part);
    } else {
      if (share > 0) node.spec.weight = std::max<Weight>(part, 1);
      add_tenant(draft, node);
    }
  }
}

}  // namespace

void read_sim_tenants(SimFileDraft& draft, YamlFields& fields) {
  std::vector<TenantNode> nodes;
  read_tenants(draft, fields, nodes, 0);
  const bool is_tree = std::any_of(nodes.begin(), nodes.end(),
                                   [](const TenantNode& node) { return !node.children.empty(); });
  add_tenants(draft, nodes, is_tree ? kTreeWeight : 0);
}

}  // namespace fairwater
