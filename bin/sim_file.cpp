#include "bin/sim_file.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bin/yaml_fields.hpp"
#include "model/resources.hpp"
#include "model/tenant.hpp"
#include "policy/elastic.hpp"

namespace fairwater {
namespace {

constexpr std::int64_t kMaxNodes = 1'000'000;
constexpr std::size_t kMaxSimTenants = 100'000;
constexpr std::uint32_t kMaxSeedsOfFile = 10'000;
constexpr std::int64_t kMaxTasks = 1'000'000;
constexpr std::int64_t kMaxTime_ms = 100LL * 366 * 86'400'000;
constexpr int kMaxTenantDepth = 16;
/// Totals up to here keep products of totals, amounts and weights in 128 bits.
constexpr Amount kMaxTotal = Amount{1} << 47;
/// Of a tenant tree: the weights of its leaves add up to about this.
constexpr Weight kTreeWeight = 1'000'000'000;

using Parse = std::function<Expected<std::int64_t>(const std::string&)>;

Expected<std::int64_t> parse_count(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc{} && end == text.data() + text.size() && value >= 1 && value <= kMaxTasks)
    return value;
  return make_error(ErrorCode::invalid_input,
                    fmt::format("'{}' is not a whole number from 1 to {}", text, kMaxTasks));
}

/// A decimal number within bounds.
void read_decimal(YamlFields& fields, const char* key, double least, double most, double& target) {
  const auto node = fields.take(key);
  if (!node) return;
  double value = 0;
  const std::string text = node->IsScalar() ? node->Scalar() : "";
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || !(value >= least) ||
      !(value <= most))
    return fields.refuse(key, *node,
                         fmt::format("'{}' is not a number from {} to {}", text, least, most));
  target = value;
}

/// One value, or the least and the largest as a list of two.
std::optional<sim::Range> parse_range(const YAML::Node& node, const Parse& parse,
                                      std::string& problem) {
  std::vector<std::int64_t> values;
  const auto take = [&](const YAML::Node& entry) {
    const auto value = parse(entry.IsScalar() ? entry.Scalar() : "");
    if (value)
      values.push_back(*value);
    else
      problem = details(value.error()).message;
  };
  if (!node.IsSequence()) {
    take(node);
    if (problem.empty()) return sim::Range{values[0], values[0]};
    return std::nullopt;
  }
  for (const auto& entry : node) take(entry);
  if (!problem.empty()) return std::nullopt;
  if (values.size() == 2 && values[0] <= values[1]) return sim::Range{values[0], values[1]};
  problem = "a range is a list of two values, the smaller one first";
  return std::nullopt;
}

void read_range(YamlFields& fields, const char* key, const Parse& parse, sim::Range& target) {
  const auto node = fields.take(key);
  if (!node) return;
  std::string problem;
  if (const auto range = parse_range(*node, parse, problem))
    target = *range;
  else
    fields.refuse(key, *node, problem);
}

template <class Value>
void read_choice(YamlFields& fields, const char* key,
                 const std::vector<std::pair<std::string, Value>>& choices, Value& target) {
  const auto node = fields.take(key);
  if (!node) return;
  std::string text;
  fields.text(key, text);
  std::string names;
  for (const auto& [name, value] : choices) {
    if (name == text) {
      target = value;
      return;
    }
    names += (names.empty() ? "" : ", ") + name;
  }
  fields.refuse(key, *node, fmt::format("'{}' is not one of {}", text, names));
}

class SimFileReader {
 public:
  SimFileReader(YamlDocument& document, std::string path)
      : document_(document), path_(std::move(path)) {}

  Expected<sim::Scenario> read() {
    YamlFields fields{document_, document_.root()};
    read_resources(fields);
    read_nodes(fields);
    read_all_tenants(fields);
    if (document_.error()) return document_.error();
    if (auto error = read_workload(fields)) return error;
    read_policy(fields);
    read_metrics(fields);
    read_time(fields, "end", scenario_.engine.end_ms);
    fields.integer("seeds", scenario_.seeds, 1, kMaxSeedsOfFile);
    fields.finish();
    if (document_.error()) return document_.error();
    if (auto error = check()) return document_.locate(error);
    return std::move(scenario_);
  }

 private:
  using UseEntry = std::function<void(const YAML::Node&, const std::string&)>;

  void read_list(YamlFields& fields, const char* key, const UseEntry& use) {
    const auto list = fields.take(key);
    if (!list) return;
    if (!list->IsSequence()) return fields.refuse(key, *list, "must be a list");
    std::size_t index = 0;
    for (const auto& entry : *list) {
      use(entry, fields.path_of(fmt::format("{}[{}].", key, index++)));
      if (document_.error()) return;
    }
  }

  void read_time(YamlFields& fields, const char* key, std::int64_t& target) {
    const auto node = fields.take(key);
    if (!node) return;
    fields.duration_ms(key, target);
    if (target < 1 || target > kMaxTime_ms)
      fields.refuse(key, *node, "must be from 1ms to 100 years");
  }

  // -- cluster -----------------------------------------------------------------------------------

  void read_resources(YamlFields& fields) {
    if (fields.take("resources")) {
      std::vector<ResourceKind> kinds;
      read_list(fields, "resources", [&](const YAML::Node& node, const std::string& path) {
        YamlFields kind_fields{document_, node, path};
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
        catalog_ = *catalog;
      else
        document_.refuse(catalog.error());
    }
    read_choice<DealMode>(fields, "mode", {{"sized", DealMode::sized}, {"slots", DealMode::slots}},
                          scenario_.policy.mode);
    auto& cluster = scenario_.cluster;
    for (const auto& kind : catalog_.kinds()) cluster.resources.push_back(kind.name);
    cluster.settings.granules = catalog_.granules();
    cluster.settings.units = catalog_.units();
    cluster.settings.mode = scenario_.policy.mode;
  }

  [[nodiscard]] ResourceVector to_vector(YamlFields& fields, const char* key) {
    NamedAmounts amounts;
    fields.amounts(key, amounts);
    auto vector = catalog_.to_vector(amounts, fields.path_of(key));
    if (vector) return *vector;
    document_.refuse(vector.error());
    return {};
  }

  void read_nodes(YamlFields& fields) {
    if (!fields.has("nodes"))
      return document_.refuse("nodes", 1, "is missing: a list of {name, count, resources}");
    read_list(fields, "nodes", [&](const YAML::Node& node, const std::string& path) {
      YamlFields node_fields{document_, node, path};
      sim::SimNode shape;
      std::uint32_t count = 1;
      shape.traits.name = "node";
      node_fields.text("name", shape.traits.name);
      node_fields.integer("count", count, 1, kMaxNodes);
      node_fields.text("site", shape.traits.site);
      node_fields.text_map("labels", shape.traits.labels);
      shape.capacity = to_vector(node_fields, "resources");
      node_fields.finish();
      if (scenario_.cluster.nodes.size() + count > static_cast<std::size_t>(kMaxNodes))
        return document_.refuse("nodes", 1, fmt::format("more than {} nodes", kMaxNodes));
      for (std::uint32_t i = 1; i <= count; ++i) {
        sim::SimNode one = shape;
        if (count > 1) one.traits.name += fmt::format("-{}", i);
        scenario_.cluster.nodes.push_back(std::move(one));
      }
    });
  }

  // -- tenants -----------------------------------------------------------------------------------

  struct TenantNode {
    TenantSpec spec;
    Units quota = 0;
    std::string path;
    std::vector<TenantNode> children;
  };

  void read_tenants(YamlFields& fields, std::vector<TenantNode>& target, int depth) {
    if (depth > kMaxTenantDepth)
      return document_.refuse(fields.path_of("tenants"), 0,
                              fmt::format("nested deeper than {}", kMaxTenantDepth));
    read_list(fields, "tenants", [&](const YAML::Node& node, const std::string& path) {
      document_.remember_line(path.substr(0, path.size() - 1), node.Mark().line + 1);
      YamlFields tenant_fields{document_, node, path};
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
      read_tenants(tenant_fields, tenant.children, depth + 1);
      tenant_fields.finish();
      target.push_back(std::move(tenant));
    });
  }

  /// A tree's leaves share the cluster as their parents do, at all times: what a leaf leaves goes
  /// to all others, not to its siblings first.
  void add_tenants(std::vector<TenantNode>& nodes, Weight share) {
    Wide weights = 0;
    for (const auto& node : nodes) weights += node.spec.weight;
    for (auto& node : nodes) {
      const auto part = static_cast<Weight>(Wide{share} * node.spec.weight / weights);
      if (!node.children.empty()) {
        add_tenants(node.children, part);
      } else {
        if (share > 0) node.spec.weight = std::max<Weight>(part, 1);
        add_tenant(node);
      }
    }
  }

  void add_tenant(const TenantNode& node) {
    const auto refuse = [&](const caf::error& error) {
      const ErrorDetails said = details(error);
      document_.refuse(make_error(said.code, said.message, node.path + said.field));
    };
    if (const auto error = validate(node.spec)) return refuse(error);
    auto terms = terms_of(node.spec, catalog_);
    if (!terms) return refuse(terms.error());
    if (scenario_.cluster.tenants.size() == kMaxSimTenants)
      return refuse(make_error(ErrorCode::invalid_input,
                               fmt::format("more than {} tenants", kMaxSimTenants), "name"));
    const auto index = static_cast<sim::TenantIndex>(scenario_.cluster.tenants.size());
    if (!tenants_.emplace(node.spec.name, index).second)
      return refuse(
          make_error(ErrorCode::invalid_input, "'" + node.spec.name + "' is given twice", "name"));
    scenario_.cluster.tenants.push_back({node.spec.name, *terms, node.quota});
  }

  void read_all_tenants(YamlFields& fields) {
    std::vector<TenantNode> nodes;
    read_tenants(fields, nodes, 0);
    const bool is_tree = std::any_of(nodes.begin(), nodes.end(),
                                     [](const TenantNode& node) { return !node.children.empty(); });
    add_tenants(nodes, is_tree ? kTreeWeight : 0);
  }

  // -- workload ----------------------------------------------------------------------------------

  caf::error read_workload(YamlFields& fields) {
    const auto node = fields.take("workload");
    if (!node)
      return make_error(ErrorCode::invalid_input, "is missing: a trace or generators", "workload");
    YamlFields workload{document_, *node, fields.path_of("workload.")};
    if (const auto trace = workload.take("trace")) {
      YamlFields trace_fields{document_, *trace, workload.path_of("trace.")};
      if (auto error = read_trace(trace_fields)) return error;
    }
    read_list(workload, "generators", [&](const YAML::Node& entry, const std::string& path) {
      YamlFields generator{document_, entry, path};
      read_generator(generator, entry);
    });
    workload.finish();
    return {};
  }

  caf::error read_trace(YamlFields& fields) {
    std::string file;
    std::uint32_t max_jobs = 0;
    sim::TraceOptions options;
    fields.text("file", file);
    fields.integer("jobs", max_jobs, 1);
    read_choice<TenantColumn>(fields, "tenants",
                              {{"user", TenantColumn::user},
                               {"group", TenantColumn::group},
                               {"queue", TenantColumn::queue}},
                              options.tenants);
    read_choice<sim::JobShape>(fields, "shape",
                               {{"whole", sim::JobShape::whole},
                                {"split", sim::JobShape::split},
                                {"nodes", sim::JobShape::nodes}},
                               options.shape);
    fields.integer("processors_per_task", options.processors_per_task, 1, kMaxTasks);
    fields.boolean("memory_in_bytes_per_node", options.memory_in_bytes_per_node);
    fields.boolean("clusters_as_sites", options.clusters_as_sites);
    fields.finish();
    if (document_.error()) return document_.error();
    if (file.empty())
      return document_.locate(
          make_error(ErrorCode::invalid_input, "is missing", fields.path_of("file")));
    const auto beside = std::filesystem::path{path_}.parent_path() / file;
    const auto text = read_maybe_gzip(beside.string(), kMaxSwfBytes);
    if (!text) return text.error();
    const auto log = parse_swf(*text, max_jobs);
    if (!log) return log.error();
    auto traced = sim::workload_from(*log, options);
    if (!traced) return traced.error();
    take_trace(std::move(*traced));
    return {};
  }

  /// Tenants of the trace that the file does not name have weight 1.
  void take_trace(sim::TraceWorkload traced) {
    std::vector<sim::TenantIndex> index;
    for (const auto& name : traced.tenants) {
      const auto next = static_cast<sim::TenantIndex>(scenario_.cluster.tenants.size());
      const auto [found, is_new] = tenants_.emplace(name, next);
      if (is_new) scenario_.cluster.tenants.push_back({name, {}, 0});
      index.push_back(found->second);
    }
    for (auto& job : traced.workload.jobs) job.tenant = index[job.tenant];
    scenario_.trace = std::move(traced.workload);
  }

  void read_generator(YamlFields& fields, const YAML::Node& at) {
    sim::Generator generator;
    std::string tenant;
    sim::Range units{1, 1};
    fields.text("tenant", tenant);
    const auto found = tenants_.find(tenant);
    if (found == tenants_.end())
      return fields.refuse("tenant", at, "'" + tenant + "' is not one of the tenants");
    generator.tenant = found->second;
    read_choice<sim::ArrivalProcess>(fields, "arrivals",
                                     {{"backlog", sim::ArrivalProcess::backlog},
                                      {"poisson", sim::ArrivalProcess::poisson},
                                      {"self-similar", sim::ArrivalProcess::self_similar}},
                                     generator.arrivals);
    fields.integer("jobs", generator.jobs, 1, 100'000'000);
    read_decimal(fields, "rate", 0, 1'000'000, generator.rate_per_s);
    read_decimal(fields, "hurst", 0.01, 0.99, generator.hurst);
    read_decimal(fields, "variation", 0, 100, generator.variation);
    read_time(fields, "period", generator.period_ms);
    read_time(fields, "duration", generator.duration_ms);
    read_range(fields, "tasks", parse_count, generator.tasks);
    read_demand(fields, generator.demand);
    const Parse duration = [](const std::string& text) { return parse_duration_ms(text); };
    read_range(fields, "run", duration, generator.run_ms);
    read_time(fields, "run_per_unit", generator.run_ms_per_unit);
    read_decimal(fields, "estimate", 0.001, 1000, generator.estimate_factor);
    read_range(fields, "units", parse_count, units);
    fields.finish();
    generator.min_units = units.low;
    generator.max_units = units.high;
    const bool is_backlog = generator.arrivals == sim::ArrivalProcess::backlog;
    if (is_backlog && generator.jobs == 0)
      fields.refuse("jobs", at, "a backlog needs its number of jobs");
    if (!is_backlog && generator.duration_ms == 0)
      fields.refuse("duration", at, "arrivals need a duration");
    scenario_.generators.push_back(std::move(generator));
  }

  void read_demand(YamlFields& fields, std::vector<sim::Range>& demand) {
    demand.resize(catalog_.kinds().size());
    const auto node = fields.take("resources");
    if (!node || !node->IsMap())
      return document_.refuse(fields.path_of("resources"), node ? node->Mark().line + 1 : 0,
                              "must be amounts or ranges, as in {cpu: 1, memory: [1GiB, 4GiB]}");
    YamlFields amounts{document_, *node, fields.path_of("resources.")};
    for (std::size_t r = 0; r < demand.size(); ++r) {
      const std::string& name = catalog_.kinds()[r].name;
      read_range(
          amounts, name.c_str(), [&](const std::string& text) { return parse_amount(name, text); },
          demand[r]);
    }
    amounts.finish();
  }

  // -- policy and metrics ------------------------------------------------------------------------

  void read_policy(YamlFields& fields) {
    scenario_.policy.name = "sequence";
    const auto node = fields.take("policy");
    if (!node) return;
    YamlFields policy{document_, *node, fields.path_of("policy.")};
    std::vector<std::pair<std::string, std::string>> names;
    for (const auto name : sim::policy_names()) names.emplace_back(name, name);
    read_choice(policy, "name", names, scenario_.policy.name);
    policy.integer("backups", scenario_.policy.backups, 0, 1000);
    read_choice<bool>(policy, "accounting", {{"units", false}, {"resource-time", true}},
                      scenario_.policy.resource_time);
    read_time(policy, "cycle", scenario_.engine.cycle_ms);
    read_time(policy, "credit_period", scenario_.policy.credit_period_ms);
    policy.finish();
  }

  void read_metrics(YamlFields& fields) {
    scenario_.metrics.windows_ms = {60'000, 3'600'000, 86'400'000};
    const auto node = fields.take("metrics");
    if (!node) return;
    YamlFields metrics{document_, *node, fields.path_of("metrics.")};
    read_time(metrics, "sample", scenario_.metrics.sample_ms);
    read_time(metrics, "horizon", scenario_.metrics.horizon_ms);
    std::vector<std::string> windows;
    metrics.texts("windows", windows);
    if (metrics.has("windows")) scenario_.metrics.windows_ms.clear();
    for (const auto& text : windows) {
      const auto length = parse_duration_ms(text);
      if (length && *length > 0)
        scenario_.metrics.windows_ms.push_back(*length);
      else
        metrics.refuse("windows", *node, "'" + text + "' is not a duration above 0");
    }
    metrics.finish();
  }

  /// What can be said only of the whole.
  caf::error check() {
    const auto& cluster = scenario_.cluster;
    const ResourceVector total = sim::total_capacity(cluster);
    for (std::size_t r = 0; r < cluster.resources.size(); ++r)
      if (total[r] > kMaxTotal)
        return make_error(ErrorCode::invalid_input,
                          fmt::format("all nodes have {} of {} together, more than {}", total[r],
                                      cluster.resources[r], kMaxTotal),
                          "nodes");
    if (cluster.tenants.empty())
      return make_error(ErrorCode::invalid_input, "neither here nor in a trace", "tenants");
    for (std::size_t i = 0; i < scenario_.generators.size(); ++i)
      if (auto error =
              check_generator(scenario_.generators[i], fmt::format("workload.generators[{}].", i)))
        return error;
    if (const auto gone = sim::remove_impossible_jobs(cluster, scenario_.trace))
      return make_error(ErrorCode::invalid_input,
                        fmt::format("{} jobs of the trace fit no node", gone), "nodes");
    return {};
  }

  [[nodiscard]] caf::error check_generator(const sim::Generator& generator,
                                           const std::string& path) const {
    ResourceVector largest;
    bool asks = false;
    for (std::size_t r = 0; r < generator.demand.size(); ++r) {
      largest[r] = generator.demand[r].high * generator.min_units;
      asks = asks || generator.demand[r].low > 0;
    }
    if (!asks) return make_error(ErrorCode::invalid_input, "asks for nothing", path + "resources");
    const auto& nodes = scenario_.cluster.nodes;
    if (std::none_of(nodes.begin(), nodes.end(),
                     [&](const sim::SimNode& node) { return largest.fits(node.capacity); }))
      return make_error(ErrorCode::invalid_input, "fits no node", path + "resources");
    if (generator.tasks.high > 1 && generator.max_units > 1)
      return make_error(ErrorCode::invalid_input, "an elastic job is one task", path + "tasks");
    return {};
  }

  YamlDocument& document_;
  std::string path_;
  ResourceCatalog catalog_;
  sim::Scenario scenario_;
  std::map<std::string, sim::TenantIndex> tenants_;
};

}  // namespace

Expected<sim::Scenario> parse_sim_file(std::string_view text, const std::string& name) {
  YamlDocument document{text, name};
  if (document.error()) return document.error();
  return SimFileReader{document, name}.read();
}

}  // namespace fairwater
