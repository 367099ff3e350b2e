#include "daemon/config.hpp"

#include <algorithm>
#include <utility>

#include "daemon/byte_size.hpp"
#include "daemon/config_fields.hpp"
#include "daemon/replica_fields.hpp"
#include "input/document.hpp"
#include "input/resource_kinds.hpp"
#include "model/tenant.hpp"
#include "process/lease.hpp"
#include "rpc/sockets.hpp"

namespace fairwater::inline daemon {
namespace {

BalanceConversion read_conversion(const Field& field) {
  BalanceConversion conversion;
  if (!field.is(InputValue::Kind::mapping)) {
    (void)field.choice({"forgive"});
    return conversion;
  }
  const FieldMap fields = field.object();
  conversion.core_seconds_per_unit = fields.at("core_seconds_per_unit").name();
  fields.done();
  return conversion;
}

void read_job_retention(const FieldMap& fields, JobRetention& retention) {
  fields.read("keep_jobs", retention.keep_jobs_ms, &Field::duration_ms);
  fields.read("most_jobs", retention.most_jobs, [](const Field& jobs) {
    return static_cast<std::uint64_t>(jobs.integer(0, 1'000'000'000'000));
  });
}

/// What a tenant's key does not say is as for all.
std::map<std::string, JobRetention> read_job_retentions(const Field& field,
                                                        const JobRetention& of_all) {
  std::map<std::string, JobRetention> retentions;
  for (const auto& [tenant, value] : field.entries()) {
    if (!is_valid_name(tenant)) value.fail("'" + tenant + "' is not the name of a tenant");
    const FieldMap fields = value.object();
    read_job_retention(fields, retentions.emplace(tenant, of_all).first->second);
    fields.done();
  }
  return retentions;
}

/// `history: {checkpoint_every: 250000, keep_jobs: 30d, tenants: {guests: {keep_jobs: 1d}},
/// archive: {age: 1000d, bytes: 100GiB}}`.
HistoryLimits read_history(const Field& field) {
  HistoryLimits limits;
  const FieldMap fields = field.object();
  fields.read("checkpoint_every", limits.checkpoint_every, [](const Field& records) {
    return static_cast<std::uint64_t>(records.integer(1, 1'000'000'000));
  });
  read_job_retention(fields, limits.jobs);
  if (const auto tenants = fields.find("tenants"))
    limits.tenants = read_job_retentions(*tenants, limits.jobs);
  if (const auto archive = fields.find("archive")) {
    const FieldMap bounds = archive->object();
    bounds.read("age", limits.keep_archive_ms, &Field::duration_ms);
    bounds.read("bytes", limits.max_archive_bytes,
                [](const Field& size) { return size.parsed(parse_bytes); });
    bounds.done();
  }
  fields.done();
  return limits;
}

std::map<std::string, std::int64_t> read_class_leases(const Field& field) {
  std::map<std::string, std::int64_t> leases;
  for (const auto& [job_class, lease] : field.entries()) {
    if (!is_valid_name(job_class)) lease.fail("'" + job_class + "' is not the name of a class");
    leases[job_class] = lease.duration_ms();
  }
  return leases;
}

std::uint32_t read_connections(const Field& field) {
  return static_cast<std::uint32_t>(field.integer(1, 10'000'000));
}

void read(const FieldMap& fields, CoordinatorConfig& config) {
  fields.read("listen", config.listen, &Field::text);
  fields.read("data", config.data);
  fields.read("log_format", config.log_format, read_log_format);
  fields.read("lease", config.lease_ms, &Field::duration_ms);
  fields.read("longest_lease", config.longest_lease_ms, &Field::duration_ms);
  fields.read("class_leases", config.class_leases_ms, read_class_leases);
  fields.read("grace", config.grace_ms, &Field::duration_ms);
  fields.read("heartbeat_interval", config.heartbeat_interval_ms, &Field::duration_ms);
  fields.read("connections", config.connections, read_connections);
  fields.read("connections_per_address", config.connections_per_address, read_connections);
  fields.read("mode", config.mode, read_mode);
  fields.read("accounting", config.accounting, read_accounting);
  fields.read("resources", config.resources, read_resource_kinds);
  fields.read("convert_balances", config.convert_balances, read_conversion);
  fields.read("debts", config.debts, read_debts);
  fields.read("predict", config.predict, read_predict);
  fields.read("allocation", config.allocation, read_allocation);
  fields.read("elastic", config.elastic, read_growth_rule);
  fields.read("preempt_after", config.preempt_after_ms, &Field::duration_ms);
  fields.read("preempt_for_min", config.preempts_for_min, &Field::boolean);
  fields.read("history", config.history, read_history);
  fields.read("replicas", config.replicas, [](const Field& field) { return read_replicas(field); });
  fields.read("member", config.member);
}

template <class Config>
caf::error read_file(std::string_view text, const std::string& name, Config& config) {
  const auto document = parse_yaml(text, name, IfNoKeys::accept);
  if (!document) return document.error();
  const auto merged = document->read([&](const Field& root) {
    const FieldMap fields = root.object();
    read(fields, config);
    fields.done();
    return true;
  });
  if (!merged) return merged.error();
  return document->locate(validate(config));
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

caf::error check_accounting(const ClusterCreated& cluster, const CoordinatorConfig& config) {
  if (!config.accounting || *config.accounting == cluster.accounting) return {};
  const auto refuse = [](const std::string& message, const char* field) {
    return make_error(ErrorCode::invalid_input, message, field);
  };
  if (*config.accounting == Accounting::units)
    return refuse(
        "the configuration says units, but this ledger counts time, and goes on so for good; write "
        "time, or leave accounting out",
        "accounting");
  if (cluster.mode == DealMode::slots)
    return refuse(
        "the configuration says time, but this ledger was created with mode slots, where "
        "accounting is units; write that, or leave accounting out",
        "accounting");
  if (!config.convert_balances)
    return refuse(
        "the configuration says time, but this ledger counts units so far: say what becomes of "
        "what is owed, either convert_balances: {core_seconds_per_unit: 60} (what a unit is then) "
        "or convert_balances: forgive",
        "convert_balances");
  const auto unit_ms = unit_ms_of(*config.convert_balances, measure_of(cluster));
  return unit_ms ? caf::error{} : unit_ms.error();
}

caf::error debts_are_of_time() {
  return make_error(ErrorCode::invalid_input,
                    "caps and half-lives are of ledgers that count time, and this one counts "
                    "units; leave debts out, or set accounting: time",
                    "debts");
}

/// Refuses what only a ledger that counts time knows.
caf::error check_units(const CoordinatorConfig& config) {
  if (config.debts != DebtSettings{}) return debts_are_of_time();
  if (config.predict)
    return make_error(ErrorCode::invalid_input,
                      "places in time are given where the ledger counts time, and this one counts "
                      "units; leave predict out, or set accounting: time",
                      "predict");
  return {};
}

/// What was set under `allocation: drf` is nothing that units are dealt by.
caf::error check_weights(const std::vector<TenantRecord>& tenants,
                         const CoordinatorConfig& config) {
  if (config.allocation == AllocationRule::drf) return {};
  for (const TenantRecord& tenant : tenants)
    if (!tenant.spec.weights.empty())
      return make_error(ErrorCode::invalid_input,
                        "tenant " + tenant.spec.name +
                            " has weights of single resources, and where the ledger counts units "
                            "they are for allocation: drf; start with that, and take them away "
                            "(tenant apply) before you leave it out",
                        "allocation");
  return {};
}

/// What the ledger counts, as far as the configuration tells.
LedgerMeasure likely_measure(const CoordinatorConfig& config) {
  ClusterCreated cluster;
  cluster.accounting = Accounting::time;
  cluster.resources = config.resources.value_or(ResourceCatalog{}.kinds());
  return measure_of(cluster);
}

/// Refuses what only the sequence with its ledger knows.
caf::error check_by_share(const CoordinatorConfig& config) {
  if (config.allocation != AllocationRule::drf) return {};
  const auto refuse = [](const char* what, const char* field) {
    return make_error(ErrorCode::invalid_input,
                      std::string(what) + " with allocation: drf; leave " + field +
                          " out, or set allocation: sequence",
                      field);
  };
  if (config.debts != DebtSettings{}) return refuse("nobody lends", "debts");
  if (config.predict) return refuse("no places in time are given", "predict");
  return {};
}

caf::error check_replicas(const CoordinatorConfig& config) {
  if (!config.replicas) return {};
  if (auto wrong = validate(*config.replicas, "replicas.")) return wrong;
  if (config.replicas->takeover_after_ms < config.lease_ms) return {};
  return make_error(ErrorCode::invalid_input,
                    std::to_string(config.replicas->takeover_after_ms) +
                        " ms is not less than lease, " + std::to_string(config.lease_ms) +
                        " ms: tasks would end before another coordinator extends their leases",
                    "replicas.takeover_after");
}

/// `what` the least is, where that is not a fixed number.
caf::error at_least(std::int64_t value_ms, std::int64_t least_ms, const char* field,
                    const std::string& what = "") {
  if (value_ms >= least_ms) return {};
  return make_error(
      ErrorCode::invalid_input,
      std::to_string(value_ms) + " ms is less than " + what + std::to_string(least_ms) + " ms",
      field);
}

caf::error at_most_a_day(std::int64_t value_ms, const char* field) {
  if (value_ms <= kMaxLease_ms) return {};
  return make_error(ErrorCode::invalid_input, std::to_string(value_ms) + " ms is more than one day",
                    field);
}

}  // namespace

Expected<LogFormat> parse_log_format(std::string_view text) {
  if (text == "text") return LogFormat::text;
  if (text == "json") return LogFormat::json;
  return make_error(ErrorCode::invalid_input, "'" + std::string(text) + "' is not text or json",
                    "log_format");
}

LogFormat read_log_format(const Field& field) { return field.parsed(parse_log_format); }

caf::error read_config(std::string_view text, const std::string& name, CoordinatorConfig& config) {
  return read_file(text, name, config);
}

caf::error read_config(std::string_view text, const std::string& name, AgentConfig& config) {
  return read_file(text, name, config);
}

std::string listens_at(const CoordinatorConfig& config) {
  if (config.listen) return *config.listen;
  if (config.replicas)
    if (const auto member = config.replicas->members.find(config.member);
        member != config.replicas->members.end())
      return member->second;
  return "127.0.0.1:7400";
}

std::int64_t longest_lease_ms(const CoordinatorConfig& config) {
  constexpr std::int64_t kDefault_ms = 5 * 60'000;
  return config.longest_lease_ms.value_or(std::max(config.lease_ms, kDefault_ms));
}

caf::error validate(const CoordinatorConfig& config) {
  if (config.listen)
    if (auto wrong = validate_address(*config.listen, "listen")) return wrong;
  if (config.data.empty())
    return make_error(ErrorCode::invalid_input, "a data directory is needed", "data");
  if (auto wrong = at_least(config.heartbeat_interval_ms, 10, "heartbeat_interval")) return wrong;
  if (auto wrong = at_least(config.lease_ms, 2 * config.heartbeat_interval_ms, "lease",
                            "twice heartbeat_interval, "))
    return wrong;
  if (auto wrong = at_most_a_day(config.lease_ms, "lease")) return wrong;
  const std::int64_t longest_ms = longest_lease_ms(config);
  if (auto wrong = at_least(longest_ms, config.lease_ms, "longest_lease", "lease, ")) return wrong;
  if (auto wrong = at_most_a_day(longest_ms, "longest_lease")) return wrong;
  for (const auto& [job_class, lease_ms] : config.class_leases_ms)
    if (lease_ms < config.lease_ms || lease_ms > longest_ms)
      return make_error(ErrorCode::invalid_input,
                        std::to_string(lease_ms) + " ms is not between lease, " +
                            std::to_string(config.lease_ms) + " ms, and longest_lease, " +
                            std::to_string(longest_ms) + " ms",
                        "class_leases." + job_class);
  if (config.grace_ms < kLeaseEndMs)
    return make_error(ErrorCode::invalid_input,
                      std::to_string(config.grace_ms) + " ms is less than the " +
                          std::to_string(kLeaseEndMs) +
                          " ms within which a node ends its tasks once its lease is over",
                      "grace");
  if (config.accounting == Accounting::time && config.mode == DealMode::slots)
    return make_error(ErrorCode::invalid_input,
                      "time is counted of what tasks ask for: with mode slots, accounting is units",
                      "accounting");
  const bool counts_units =
      config.accounting == Accounting::units || config.mode == DealMode::slots;
  if (counts_units)
    if (auto wrong = check_units(config)) return wrong;
  if (auto wrong = check_by_share(config)) return wrong;
  if (auto wrong = check_replicas(config)) return wrong;
  if (config.resources)
    if (auto catalog = ResourceCatalog::make(*config.resources); !catalog) return catalog.error();
  if (const auto terms = terms_of(config.debts, likely_measure(config)); !terms)
    return terms.error();
  return {};
}

ClusterCreated new_cluster(std::string id, const CoordinatorConfig& config) {
  const DealMode mode = config.mode.value_or(DealMode::sized);
  // Slots say nothing of what tasks ask for, and time is counted of that.
  const Accounting usual = mode == DealMode::slots ? Accounting::units : Accounting::time;
  return {.cluster_id = std::move(id),
          .resources = config.resources.value_or(ResourceCatalog{}.kinds()),
          .mode = mode,
          .accounting = config.accounting.value_or(usual)};
}

caf::error check_against(const ClusterCreated& cluster, const std::vector<TenantRecord>& tenants,
                         const CoordinatorConfig& config) {
  if (config.mode && *config.mode != cluster.mode)
    return is_fixed("mode", std::string{name_of(*config.mode)}, std::string{name_of(cluster.mode)});
  if (auto wrong = check_accounting(cluster, config)) return wrong;
  if (config.resources && *config.resources != cluster.resources)
    return is_fixed("resources", text_of(*config.resources), text_of(cluster.resources));
  const bool counts_time = config.accounting.value_or(cluster.accounting) == Accounting::time;
  if (counts_time) return {};
  if (auto wrong = check_units(config)) return wrong;
  return check_weights(tenants, config);
}

}  // namespace fairwater::inline daemon
