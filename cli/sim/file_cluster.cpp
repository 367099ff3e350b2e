#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "cli/sim/file_fields.hpp"
#include "cli/sim/file_parts.hpp"
#include "sim/traces/openb_workload.hpp"

namespace fairwater {
namespace {

constexpr std::int64_t kMaxNodes = 1'000'000;

/// The default kinds with GPUs in thousandths, at the same price for a whole one.
ResourceCatalog openb_catalog() {
  auto kinds = ResourceCatalog{}.kinds();
  kinds.back() = {.name = std::string{sim::kGpuMilliResource}, .granule = 100, .units = 1};
  return *ResourceCatalog::make(std::move(kinds));
}

void read_resources(SimFileDraft& draft, YamlFields& fields) {
  if (names_openb_trace(draft.document)) draft.catalog = openb_catalog();
  if (fields.take("resources")) {
    std::vector<ResourceKind> kinds;
    read_list(
        draft.document, fields, "resources", [&](const YAML::Node& node, const std::string& path) {
          YamlFields kind_fields{draft.document, node, path};
          ResourceKind kind;
          kind_fields.text("name", kind.name);
          sim::Range granule{kind.granule, kind.granule};
          read_range(
              kind_fields, "granule",
              [&](const std::string& text) { return parse_amount(kind.name, text); }, granule);
          kind.granule = granule.low;
          kind_fields.integer("units", kind.units, 1, kMaxUnitsPerGranule);
          kind_fields.finish();
          kinds.push_back(std::move(kind));
        });
    auto catalog = ResourceCatalog::make(std::move(kinds));
    if (catalog)
      draft.catalog = *catalog;
    else
      draft.document.refuse(catalog.error());
  }
  read_choice<DealMode>(fields, "mode", {{"sized", DealMode::sized}, {"slots", DealMode::slots}},
                        draft.scenario.policy.mode);
  auto& cluster = draft.scenario.cluster;
  for (const auto& kind : draft.catalog.kinds()) cluster.resources.push_back(kind.name);
  cluster.settings.granules = draft.catalog.granules();
  cluster.settings.units = draft.catalog.units();
  cluster.settings.mode = draft.scenario.policy.mode;
}

ResourceVector to_vector(SimFileDraft& draft, YamlFields& fields, const char* key) {
  NamedAmounts amounts;
  fields.amounts(key, amounts);
  auto vector = draft.catalog.to_vector(amounts, fields.path_of(key));
  if (vector) return *vector;
  draft.document.refuse(vector.error());
  return {};
}

void read_nodes(SimFileDraft& draft, YamlFields& fields) {
  if (!fields.has("nodes") && names_openb_trace(draft.document)) return;
  if (!fields.has("nodes"))
    return draft.document.refuse("nodes", 1, "is missing: a list of {name, count, resources}");
  read_list(draft.document, fields, "nodes", [&](const YAML::Node& node, const std::string& path) {
    YamlFields node_fields{draft.document, node, path};
    sim::SimNode shape;
    std::uint32_t count = 1;
    shape.traits.name = "node";
    node_fields.text("name", shape.traits.name);
    node_fields.integer("count", count, 1, kMaxNodes);
    node_fields.text("site", shape.traits.site);
    node_fields.text_map("labels", shape.traits.labels);
    shape.capacity = to_vector(draft, node_fields, "resources");
    node_fields.finish();
    if (draft.scenario.cluster.nodes.size() + count > static_cast<std::size_t>(kMaxNodes))
      return draft.document.refuse("nodes", 1, fmt::format("more than {} nodes", kMaxNodes));
    for (std::uint32_t i = 1; i <= count; ++i) {
      sim::SimNode one = shape;
      if (count > 1) one.traits.name += fmt::format("-{}", i);
      draft.scenario.cluster.nodes.push_back(std::move(one));
    }
  });
}

}  // namespace

bool names_openb_trace(const YamlDocument& document) {
  const YAML::Node& root = document.root();
  const YAML::Node workload = root["workload"];
  if (!workload || !workload.IsMap()) return false;
  const YAML::Node trace = workload["trace"];
  if (!trace || !trace.IsMap()) return false;
  const YAML::Node format = trace["format"];
  return format && format.IsScalar() && format.Scalar() == "openb";
}

void read_sim_cluster(SimFileDraft& draft, YamlFields& fields) {
  read_resources(draft, fields);
  read_nodes(draft, fields);
}

}  // namespace fairwater
