#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/sim/file_fields.hpp"
#include "cli/sim/file_parts.hpp"
#include "input/resource_kinds.hpp"
#include "model/node.hpp"
#include "policy/gpu/node.hpp"
#include "sim/traces/openb_workload.hpp"

namespace fairwater::inline cli::inline sim_cli {
namespace {

constexpr std::int64_t kMaxNodes = 1'000'000;

/// The default kinds with GPUs in thousandths, at the same price for a whole one.
ResourceCatalog openb_catalog() {
  auto kinds = ResourceCatalog{}.kinds();
  kinds.back() = {.name = std::string{sim::kGpuMilliResource}, .granule = 100, .units = 1};
  return *ResourceCatalog::make(std::move(kinds));
}

/// Of the whole file, before its workload is read: the trace may bring the nodes.
bool brings_nodes(const FieldMap& file) {
  const auto workload = file.find("workload");
  const auto trace = workload ? workload->object().find("trace") : std::nullopt;
  return trace && is_openb_trace(trace->object());
}

/// Likewise: whether any jobs ask for devices by their names.
bool names_devices(const FieldMap& file) {
  const auto workload = file.find("workload");
  const auto generators = workload ? workload->object().find("generators") : std::nullopt;
  if (!generators) return false;
  const auto all = generators->list();
  return std::any_of(all.begin(), all.end(), [](const Field& generator) {
    return generator.object().find("devices").has_value();
  });
}

void read_resources(SimFileDraft& draft, const FieldMap& file) {
  if (brings_nodes(file)) draft.catalog = openb_catalog();
  if (const auto list = file.find("resources")) {
    auto catalog = ResourceCatalog::make(read_resource_kinds(*list));
    if (!catalog) file.fail(catalog.error());
    draft.catalog = *catalog;
  }
  file.read("mode", draft.scenario.policy.mode, read_mode);
  auto& cluster = draft.scenario.cluster;
  for (const auto& kind : draft.catalog.kinds()) cluster.resources.push_back(kind.name);
  // The trace's nodes and tasks are told by amounts; `sim reproduce openb` packs them into GPUs.
  draft.names_devices = names_devices(file);
  if (!brings_nodes(file) && (draft.names_devices || draft.catalog.index_of(kSharedGpus)))
    cluster.settings.resources = cluster.resources;
  cluster.settings.granules = draft.catalog.granules();
  cluster.settings.units = draft.catalog.units();
  cluster.settings.mode = draft.scenario.policy.mode;
}

NodeDevices gpus_of(std::string_view resource, Amount count) {
  NodeDevices gpus{std::string{resource}, {}};
  for (Amount i = 0; i < count; ++i) gpus.names.push_back(fmt::format("gpu{}", i));
  return gpus;
}

/// As an agent does that is told how many there are.
void name_whole_gpus(const SimFileDraft& draft, const FieldMap& fields, sim::SimNode& node) {
  const auto gpu = draft.catalog.index_of("gpu");
  if (!draft.names_devices || !gpu) return;
  const Amount count = node.capacity[*gpu];
  if (count == 0 || count > kMaxUnlistedGpus) return;
  if (!node.traits.devices.empty())
    fields.fail(make_error(ErrorCode::invalid_input,
                           "gpus that tasks share have the names of whole ones: where jobs name "
                           "devices, a node has one kind of both",
                           "resources.gpu"));
  node.traits.devices.push_back(gpus_of("gpu", count));
}

/// Names those that tasks share, as an agent does.
void name_shared_gpus(const SimFileDraft& draft, const FieldMap& fields, sim::SimNode& node) {
  const auto shared = draft.catalog.index_of(kSharedGpus);
  if (draft.scenario.cluster.settings.resources.empty() || !shared) return;
  const Amount milli = node.capacity[*shared];
  constexpr Amount kMost = kMilliPerGpu * Amount{kMaxGpusPerNode};
  if (milli % kMilliPerGpu != 0 || milli > kMost)
    fields.fail(make_error(
        ErrorCode::invalid_input,
        fmt::format("{} is not 1000 for each of at most {} gpus", milli, kMaxGpusPerNode),
        "resources.gpu_milli"));
  if (milli == 0) return;
  node.traits.devices.push_back(gpus_of(kSharedGpus, milli / kMilliPerGpu));
}

sim::DrainWindow read_drain(const Field& field) {
  const FieldMap times = field.object();
  sim::DrainWindow drain;
  drain.at_ms = read_time(times.at("at"));
  if (const auto until = times.find("until")) {
    drain.until_ms = read_time(*until);
    if (*drain.until_ms <= drain.at_ms)
      until->fail("'" + until->text() + "' is not after at, when the drain begins");
  }
  times.done();
  return drain;
}

void read_nodes(SimFileDraft& draft, const FieldMap& fields) {
  auto& nodes = draft.scenario.cluster.nodes;
  sim::SimNode shape;
  std::uint32_t count = 1;
  shape.traits.name = "node";
  fields.read("name", shape.traits.name);
  fields.read("count", count, integer_from(1, kMaxNodes));
  fields.read("site", shape.traits.site);
  fields.read("labels", shape.traits.labels);
  if (fields.find("site"))
    if (auto wrong = validate_site(shape.traits.site)) fields.fail(wrong);
  if (auto wrong = validate_labels(shape.traits.labels)) fields.fail(wrong);
  if (const auto amounts = fields.find("resources")) {
    const auto capacity = draft.catalog.to_vector(amounts->amounts(), "resources");
    if (!capacity) fields.fail(capacity.error());
    shape.capacity = *capacity;
    name_shared_gpus(draft, fields, shape);
    name_whole_gpus(draft, fields, shape);
  }
  if (const auto drain = fields.find("drain")) shape.drain = read_drain(*drain);
  fields.done();
  if (nodes.size() + count > static_cast<std::size_t>(kMaxNodes))
    fields.fail(fmt::format("more than {} nodes", kMaxNodes));
  for (std::uint32_t i = 1; i <= count; ++i) {
    sim::SimNode one = shape;
    if (count > 1) one.traits.name += fmt::format("-{}", i);
    nodes.push_back(std::move(one));
  }
}

}  // namespace

void read_sim_cluster(SimFileDraft& draft, const FieldMap& file) {
  read_resources(draft, file);
  const auto nodes = file.find("nodes");
  if (!nodes && brings_nodes(file)) return;
  if (!nodes) throw InputError("nodes", "is missing: a list of {name, count, resources}");
  for (const Field& node : nodes->list()) read_nodes(draft, node.object());
}

}  // namespace fairwater::inline cli::inline sim_cli
