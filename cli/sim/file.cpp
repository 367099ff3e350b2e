#include "cli/sim/file.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/sim/file_fields.hpp"
#include "cli/sim/file_parts.hpp"

namespace fairwater {
namespace {

constexpr std::uint32_t kMaxSeedsOfFile = 10'000;
/// Totals up to here keep products of totals, amounts and weights in 128 bits.
constexpr Amount kMaxTotal = Amount{1} << 47;

void read_policy(SimFileDraft& draft, YamlFields& fields) {
  draft.scenario.policy.name = "sequence";
  const auto node = fields.take("policy");
  if (!node) return;
  YamlFields policy{draft.document, *node, fields.path_of("policy.")};
  std::vector<std::pair<std::string, std::string>> names;
  for (const auto name : sim::policy_names()) names.emplace_back(name, name);
  read_choice(policy, "name", names, draft.scenario.policy.name);
  policy.integer("backups", draft.scenario.policy.backups, 0, 1000);
  read_choice<bool>(policy, "accounting", {{"units", false}, {"resource-time", true}},
                    draft.scenario.policy.resource_time);
  read_time(policy, "cycle", draft.scenario.engine.cycle_ms);
  read_time(policy, "credit_period", draft.scenario.policy.credit_period_ms);
  policy.finish();
}

void read_metrics(SimFileDraft& draft, YamlFields& fields) {
  draft.scenario.metrics.windows_ms = {60'000, 3'600'000, 86'400'000};
  const auto node = fields.take("metrics");
  if (!node) return;
  YamlFields metrics{draft.document, *node, fields.path_of("metrics.")};
  read_time(metrics, "sample", draft.scenario.metrics.sample_ms);
  read_time(metrics, "horizon", draft.scenario.metrics.horizon_ms);
  std::vector<std::string> windows;
  metrics.texts("windows", windows);
  if (metrics.has("windows")) draft.scenario.metrics.windows_ms.clear();
  for (const auto& text : windows) {
    const auto length = parse_duration_ms(text);
    if (length && *length > 0)
      draft.scenario.metrics.windows_ms.push_back(*length);
    else
      metrics.refuse("windows", *node, "'" + text + "' is not a duration above 0");
  }
  metrics.finish();
}

caf::error check_generator(const sim::Cluster& cluster, const sim::Generator& generator,
                           const std::string& path) {
  ResourceVector largest;
  bool asks = false;
  for (std::size_t r = 0; r < generator.demand.size(); ++r) {
    largest[r] = generator.demand[r].high * generator.min_units;
    asks = asks || generator.demand[r].low > 0;
  }
  if (!asks) return make_error(ErrorCode::invalid_input, "asks for nothing", path + "resources");
  const auto& nodes = cluster.nodes;
  if (std::none_of(nodes.begin(), nodes.end(),
                   [&](const sim::SimNode& node) { return largest.fits(node.capacity); }))
    return make_error(ErrorCode::invalid_input, "fits no node", path + "resources");
  if (generator.tasks.high > 1 && generator.max_units > 1)
    return make_error(ErrorCode::invalid_input, "an elastic job is one task", path + "tasks");
  return {};
}

/// What can be said only of the whole.
caf::error check(SimFileDraft& draft) {
  const auto& cluster = draft.scenario.cluster;
  const ResourceVector total = sim::total_capacity(cluster);
  for (std::size_t r = 0; r < cluster.resources.size(); ++r)
    if (total[r] > kMaxTotal)
      return make_error(ErrorCode::invalid_input,
                        fmt::format("all nodes have {} of {} together, more than {}", total[r],
                                    cluster.resources[r], kMaxTotal),
                        "nodes");
  if (cluster.tenants.empty())
    return make_error(ErrorCode::invalid_input, "neither here nor in a trace", "tenants");
  for (const auto& name : draft.groups)
    if (draft.tenants.contains(name))
      return make_error(ErrorCode::invalid_input,
                        "has jobs of '" + name + "', which has tenants to run its jobs",
                        "workload.trace");
  for (std::size_t i = 0; i < draft.scenario.generators.size(); ++i)
    if (auto error = check_generator(cluster, draft.scenario.generators[i],
                                     fmt::format("workload.generators[{}].", i)))
      return error;
  auto& left_out = draft.scenario.left_out.fit_no_node;
  left_out = sim::remove_impossible_jobs(cluster, draft.scenario.trace);
  if (left_out > 0 && !draft.may_leave_out)
    return make_error(
        ErrorCode::invalid_input,
        fmt::format("{} jobs of the trace fit no node (workload.trace.leave_out_impossible: true "
                    "runs the others)",
                    left_out),
        "nodes");
  return {};
}

Expected<sim::Scenario> read_sim_file(SimFileDraft& draft) {
  YamlDocument& document = draft.document;
  YamlFields fields{document, document.root()};
  read_sim_cluster(draft, fields);
  read_sim_tenants(draft, fields);
  if (document.error()) return document.error();
  if (auto error = read_sim_workload(draft, fields)) return error;
  read_policy(draft, fields);
  read_metrics(draft, fields);
  read_time(fields, "end", draft.scenario.engine.end_ms);
  fields.integer("seeds", draft.scenario.seeds, 1, kMaxSeedsOfFile);
  fields.finish();
  if (document.error()) return document.error();
  if (auto error = check(draft)) return document.locate(error);
  sim::weigh_by_tree(draft.scenario.cluster);
  return std::move(draft.scenario);
}

}  // namespace

Expected<sim::Scenario> parse_sim_file(std::string_view text, const std::string& name) {
  YamlDocument document{text, name};
  if (document.error()) return document.error();
  SimFileDraft draft{.document = document, .path = name};
  return read_sim_file(draft);
}

}  // namespace fairwater
