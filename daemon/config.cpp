#include "daemon/config.hpp"

#include <array>
#include <charconv>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "input/yaml_fields.hpp"
#include "model/tenant.hpp"
#include "process/lease.hpp"
#include "rpc/sockets.hpp"

namespace fairwater {
namespace {

Expected<DealMode> parse_mode(std::string_view text) {
  if (text == "sized") return DealMode::sized;
  if (text == "slots") return DealMode::slots;
  return make_error(ErrorCode::invalid_input, "'" + std::string(text) + "' is not sized or slots");
}

void read_resources(YamlDocument& document, YamlFields& fields,
                    std::optional<std::vector<ResourceKind>>& target) {
  const auto list = fields.take("resources");
  if (!list) return;
  if (!list->IsSequence())
    return fields.refuse("resources", *list, "must be a list of {name, granule, units}");
  auto& kinds = target.emplace();
  std::size_t index = 0;
  for (const auto& entry : *list) {
    YamlFields kind_fields{document, entry,
                           fields.path_of("resources[" + std::to_string(index++) + "].")};
    ResourceKind kind;
    kind_fields.text("name", kind.name);
    const auto amount = [&](const std::string& text) { return parse_amount(kind.name, text); };
    kind_fields.parsed("granule", amount, kind.granule);
    kind_fields.integer("units", kind.units, 1, 1'000'000);
    kind_fields.finish();
    kinds.push_back(std::move(kind));
  }
}

Expected<std::string> parse_run_as_default(const std::string& text) {
  if (text == "per_tenant" || text == "agent") return text;
  auto run_as = run_as_from(text);
  if (auto error = validate(run_as))
    return make_error(ErrorCode::invalid_input,
                      details(error).message + "; write per_tenant, agent, USER or USER:GROUP");
  return text;
}

struct IdRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// `FIRST-LAST`. Not 0, which is root, and not the largest number, which means nobody.
Expected<IdRange> parse_id_range(const std::string& text) {
  IdRange range;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.first);
  if (first.ec == std::errc{} && first.ptr != end && *first.ptr == '-') {
    const auto last = std::from_chars(first.ptr + 1, end, range.last);
    if (last.ec == std::errc{} && last.ptr == end && range.first > 0 && range.last > range.first &&
        range.last < UINT32_MAX)
      return range;
  }
  return make_error(ErrorCode::invalid_input,
                    "'" + text + "' is not a range of user ids such as 1900000000-1900999999");
}

void read_retention(YamlDocument& document, YamlFields& fields, LogRetention& retention) {
  const auto node = fields.take("log_retention");
  if (!node) return;
  YamlFields inner{document, *node, fields.path_of("log_retention.")};
  const auto bytes = [](const std::string& text) -> Expected<std::uint64_t> {
    const auto mebibytes = parse_amount("memory", text);
    if (!mebibytes) return mebibytes.error();
    return static_cast<std::uint64_t>(*mebibytes) << 20;
  };
  inner.duration_ms("age", retention.age_ms);
  inner.parsed("bytes", bytes, retention.bytes);
  inner.parsed("keep_free", bytes, retention.keep_free_bytes);
  inner.finish();
}

/// Who the tasks run as, and where.
void read_isolation(YamlFields& fields, AgentConfig& config) {
  fields.text("work_directory", config.work_directory);
  fields.parsed("run_as_default", parse_run_as_default, config.run_as_default);
  IdRange range{config.first_run_as_id, config.last_run_as_id};
  fields.parsed("run_as_range", parse_id_range, range);
  config.first_run_as_id = range.first;
  config.last_run_as_id = range.last;
  fields.boolean("allow_root_tasks", config.allow_root_tasks);
}

std::string_view name_of(DealMode mode) { return mode == DealMode::sized ? "sized" : "slots"; }

std::string text_of(const std::vector<ResourceKind>& kinds) {
  std::string text;
  for (const auto& kind : kinds)
    text += (text.empty() ? "" : ", ") + ("{name: " + kind.name) +
            ", granule: " + format_amount(kind.name, kind.granule) +
            ", units: " + std::to_string(kind.units) + "}";
  return "[" + text + "]";
}

caf::error is_fixed(const char* field, const std::string& configured, const std::string& stored) {
  return make_error(ErrorCode::invalid_input,
                    "the configuration says " + configured + ", but this ledger was created with " +
                        stored + ", and it counts in these units for good; write that, or leave " +
                        field + " out",
                    field);
}

caf::error at_least(std::int64_t value_ms, std::int64_t least_ms, const char* field) {
  if (value_ms >= least_ms) return {};
  return make_error(
      ErrorCode::invalid_input,
      std::to_string(value_ms) + " ms is less than " + std::to_string(least_ms) + " ms", field);
}

}  // namespace

Expected<LogFormat> parse_log_format(std::string_view text) {
  if (text == "text") return LogFormat::text;
  if (text == "json") return LogFormat::json;
  return make_error(ErrorCode::invalid_input, "'" + std::string(text) + "' is not text or json",
                    "log_format");
}

caf::error read_config(std::string_view text, const std::string& name, CoordinatorConfig& config) {
  YamlDocument document{text, name, IfNoKeys::accept};
  if (document.error()) return document.error();
  YamlFields fields{document, document.root()};
  fields.text("listen", config.listen);
  fields.text("data", config.data);
  fields.parsed("log_format", parse_log_format, config.log_format);
  fields.duration_ms("lease", config.lease_ms);
  fields.duration_ms("grace", config.grace_ms);
  fields.duration_ms("heartbeat_interval", config.heartbeat_interval_ms);
  fields.parsed("mode", parse_mode, config.mode);
  read_resources(document, fields, config.resources);
  fields.finish();
  if (document.error()) return document.error();
  return document.locate(validate(config));
}

caf::error read_config(std::string_view text, const std::string& name, AgentConfig& config) {
  YamlDocument document{text, name, IfNoKeys::accept};
  if (document.error()) return document.error();
  YamlFields fields{document, document.root()};
  fields.text("coordinator", config.coordinator);
  fields.text("name", config.name);
  fields.text("site", config.site);
  fields.text_map("labels", config.labels);
  fields.amounts("resources", config.resources);
  fields.text("data", config.data);
  fields.text("join_token_file", config.join_token_file);
  const auto mebibytes = [](const std::string& amount) { return parse_amount("memory", amount); };
  fields.parsed("log_limit", mebibytes, config.log_limit_mib);
  read_retention(document, fields, config.log_retention);
  read_isolation(fields, config);
  fields.parsed("log_format", parse_log_format, config.log_format);
  fields.finish();
  if (document.error()) return document.error();
  return document.locate(validate(config));
}

caf::error validate(const CoordinatorConfig& config) {
  if (auto wrong = validate_address(config.listen, "listen")) return wrong;
  if (config.data.empty())
    return make_error(ErrorCode::invalid_input, "a data directory is needed", "data");
  if (auto wrong = at_least(config.heartbeat_interval_ms, 10, "heartbeat_interval")) return wrong;
  if (auto wrong = at_least(config.lease_ms, 2 * config.heartbeat_interval_ms, "lease"))
    return wrong;
  if (config.grace_ms < kLeaseEndMs)
    return make_error(ErrorCode::invalid_input,
                      std::to_string(config.grace_ms) + " ms is less than the " +
                          std::to_string(kLeaseEndMs) +
                          " ms within which a node ends its tasks once its lease is over",
                      "grace");
  if (!config.resources) return {};
  if (auto catalog = ResourceCatalog::make(*config.resources); !catalog) return catalog.error();
  return {};
}

caf::error check_against(const ClusterCreated& cluster, const CoordinatorConfig& config) {
  if (config.mode && *config.mode != cluster.mode)
    return is_fixed("mode", std::string{name_of(*config.mode)}, std::string{name_of(cluster.mode)});
  if (config.resources && *config.resources != cluster.resources)
    return is_fixed("resources", text_of(*config.resources), text_of(cluster.resources));
  return {};
}

caf::error validate(const AgentConfig& config) {
  if (auto wrong = validate_address(config.coordinator, "coordinator")) return wrong;
  if (!config.name.empty() && !is_valid_name(config.name))
    return make_error(
        ErrorCode::invalid_input,
        "'" + config.name + "' is not a node name: 1 to 63 letters, digits, '.', '_', '-'", "name");
  if (config.data.empty())
    return make_error(ErrorCode::invalid_input, "a data directory is needed", "data");
  return {};
}

std::string default_node_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "node";
  return name.data();
}

NamedAmounts machine_resources() {
  struct sysinfo info {};
  ::sysinfo(&info);
  constexpr std::uint64_t kMebibyte = 1 << 20;
  return {{"cpu", Amount{::sysconf(_SC_NPROCESSORS_ONLN)} * 1000},
          {"memory", static_cast<Amount>(info.totalram * info.mem_unit / kMebibyte)}};
}

}  // namespace fairwater
