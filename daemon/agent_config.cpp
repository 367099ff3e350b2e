// The agent's part of the configuration: its keys, what they may say, and what its machine has.
#include <algorithm>
#include <array>
#include <charconv>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "daemon/byte_size.hpp"
#include "daemon/config.hpp"
#include "daemon/config_fields.hpp"
#include "model/tenant.hpp"
#include "policy/gpu/node.hpp"
#include "rpc/addresses.hpp"

namespace fairwater::inline daemon {
namespace {

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

void read_retention(const Field& field, LogRetention& retention) {
  const FieldMap fields = field.object();
  const auto bytes = [](const Field& size) { return size.parsed(parse_bytes); };
  fields.read("age", retention.age_ms, &Field::duration_ms);
  fields.read("bytes", retention.bytes, bytes);
  fields.read("keep_free", retention.keep_free_bytes, bytes);
  fields.done();
}

/// Who the tasks run as, and where.
void read_isolation(const FieldMap& fields, AgentConfig& config) {
  fields.read("work_directory", config.work_directory);
  fields.read("run_as_default", config.run_as_default);
  if (const auto field = fields.find("run_as_range")) {
    const IdRange range = field->parsed(parse_id_range);
    config.first_run_as_id = range.first;
    config.last_run_as_id = range.last;
  }
  fields.read("allow_root_tasks", config.allow_root_tasks);
}

/// `devices: {gpu: [0, 1], fpga: [left, right]}`, or `gpu: auto`, `gpu_milli: auto`.
void read_devices(const Field& field, AgentConfig& config) {
  config.devices.clear();
  config.gpus_as_found = config.shared_gpus_as_found = false;
  for (const auto& [resource, ids] : field.entries()) {
    if (ids.is(InputValue::Kind::list)) {
      config.devices[resource] = ids.texts();
      continue;
    }
    const bool is_shared = resource == kSharedGpus;
    if (resource != "gpu" && !is_shared) ids.fail("write the ids of its devices, as in [0, 1]");
    if (!ids.is(InputValue::Kind::plain) || ids.text() != "auto")
      ids.fail("write the ids of its devices, as in [0, 1], or auto");
    (is_shared ? config.shared_gpus_as_found : config.gpus_as_found) = true;
  }
}

/// `device_files: {left: [/dev/fpga0]}`.
void read_device_files(const Field& field, AgentConfig& config) {
  config.device_files.clear();
  for (const auto& [device, files] : field.entries())
    for (const std::string& file : files.texts()) config.device_files[device].emplace_back(file);
}

/// `coordinator: host:7400`, or a list of such.
std::string read_addresses(const Field& field) {
  if (!field.is(InputValue::Kind::list)) return field.text();
  std::string all;
  for (const auto& address : field.texts()) all += (all.empty() ? "" : ",") + address;
  return all;
}

caf::error check_run_as_default(const std::string& text) {
  if (text == "per_tenant" || text == "agent") return {};
  const auto error = validate(run_as_from(text));
  if (!error) return {};
  return make_error(ErrorCode::invalid_input,
                    details(error).message + "; write per_tenant, agent, USER or USER:GROUP",
                    "run_as_default");
}

}  // namespace

void read(const FieldMap& fields, AgentConfig& config) {
  if (const auto coordinator = fields.find("coordinator"))
    config.coordinator = read_addresses(*coordinator);
  fields.read("name", config.name);
  fields.read("site", config.site);
  fields.read("address", config.address);
  fields.read("labels", config.labels);
  fields.read("resources", config.resources);
  if (const auto devices = fields.find("devices")) read_devices(*devices, config);
  if (const auto files = fields.find("device_files")) read_device_files(*files, config);
  fields.read("data", config.data);
  fields.read("join_token_file", config.join_token_file);
  fields.read("log_limit", config.log_limit_mib,
              [](const Field& field) { return field.amount("memory"); });
  if (const auto retention = fields.find("log_retention"))
    read_retention(*retention, config.log_retention);
  read_isolation(fields, config);
  fields.read("log_format", config.log_format, read_log_format);
}

using process::validate;

caf::error validate(const AgentConfig& config) {
  if (const auto addresses = AddressList::parse(config.coordinator, "coordinator"); !addresses)
    return addresses.error();
  if (!config.name.empty() && !is_valid_name(config.name))
    return make_error(
        ErrorCode::invalid_input,
        "'" + config.name + "' is not a node name: 1 to 63 letters, digits, '.', '_', '-'", "name");
  if (!config.address.empty() && !is_valid_host(config.address))
    return make_error(ErrorCode::invalid_input,
                      "'" + config.address +
                          "' is neither an IP address nor a host's name; write "
                          "one by which other nodes reach this one, without a port",
                      "address");
  if (config.data.empty())
    return make_error(ErrorCode::invalid_input, "a data directory is needed", "data");
  if (auto wrong = validate_site(config.site)) return wrong;
  if (auto wrong = validate_labels(config.labels)) return wrong;
  if (auto wrong = validate(config.devices, config.resources)) return wrong;
  return check_run_as_default(config.run_as_default);
}

std::string default_node_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "node";
  return name.data();
}

Expected<NodeResources> node_resources(const AgentConfig& config,
                                       const std::vector<std::string>& gpus) {
  NodeResources node{config.resources, config.devices};
  if (config.resources.empty()) node.capacity = machine_resources();
  const std::string shared(kSharedGpus);
  const auto find_gpus_of = [&](const std::string& resource, bool as_found) {
    const auto amount = config.resources.find(resource);
    const bool counted = amount != config.resources.end();
    if (as_found) {
      if (counted || !gpus.empty()) node.devices[resource] = gpus;
    } else if (counted && !node.devices.contains(resource) &&
               amount->second <= kMaxUnlistedGpus * amount_of_one(resource)) {
      auto& ids = node.devices[resource];
      const auto count =
          static_cast<std::size_t>(std::max<Amount>(amount->second, 0) / amount_of_one(resource));
      for (std::size_t i = 0; i < count; ++i)
        ids.push_back(gpus.size() >= count ? gpus[i] : std::to_string(i));
    }
  };
  find_gpus_of(shared, config.shared_gpus_as_found);
  // By default they are whole ones, where nothing is said of shared ones.
  const bool is_default =
      config.resources.empty() && !node.devices.contains("gpu") && !node.devices.contains(shared);
  find_gpus_of("gpu", config.gpus_as_found || (is_default && !config.shared_gpus_as_found));
  if (auto wrong = validate(node.devices, config.resources)) return wrong;
  for (const auto& [resource, ids] : node.devices)
    if (!ids.empty())
      node.capacity[resource] = static_cast<Amount>(ids.size()) * amount_of_one(resource);
  return node;
}

NamedAmounts machine_resources() {
  struct sysinfo info {};
  ::sysinfo(&info);
  constexpr std::uint64_t kMebibyte = 1 << 20;
  return {{"cpu", Amount{::sysconf(_SC_NPROCESSORS_ONLN)} * 1000},
          {"memory", static_cast<Amount>(info.totalram * info.mem_unit / kMebibyte)}};
}

}  // namespace fairwater::inline daemon
