#include <set>

#include "daemon/byte_size.hpp"
#include "daemon/replica_fields.hpp"
#include "input/document.hpp"
#include "model/tenant.hpp"
#include "rpc/sockets.hpp"

namespace fairwater::inline daemon {
namespace {

EtcdTls read_tls(const Field& field) {
  EtcdTls tls;
  const FieldMap fields = field.object();
  tls.ca_file = fields.at("ca").name();
  fields.read("cert", tls.cert_file);
  fields.read("key", tls.key_file);
  fields.done();
  return tls;
}

caf::error wrong(const std::string& field, const std::string& message) {
  return make_error(ErrorCode::invalid_input, message, field);
}

}  // namespace

ReplicaConfig read_replicas(const Field& field) {
  ReplicaConfig config;
  const FieldMap fields = field.object();
  fields.at("members").to(config.members);
  fields.at("etcd").to(config.etcd);
  fields.read("tls", config.tls, read_tls);
  fields.read("prefix", config.prefix);
  fields.read("etcd_quota", config.etcd_quota_bytes,
              [](const Field& size) { return size.parsed(parse_bytes); });
  fields.read("takeover_after", config.takeover_after_ms, &Field::duration_ms);
  fields.done();
  return config;
}

Expected<ReplicaConfig> read_replicas(std::string_view text, const std::string& name) {
  const auto document = parse_yaml(text, name);
  if (!document) return document.error();
  auto config = document->read([](const Field& root) { return read_replicas(root); });
  if (!config) return config.error();
  if (const caf::error refused = validate(*config, "")) return document->locate(refused);
  return config;
}

caf::error validate(const ReplicaConfig& config, const std::string& path) {
  if (config.members.empty())
    return wrong(path + "members", "names no coordinator; write one: head1:7400, and the others");
  std::set<std::string> addresses;
  for (const auto& [name, address] : config.members) {
    const std::string field = path + "members." + name;
    if (!is_valid_name(name))
      return wrong(field, "'" + name +
                              "' is not a coordinator's name: 1 to 63 letters, digits, '.', '_', "
                              "'-'");
    if (caf::error refused = validate_address(address, field.c_str())) return refused;
    if (address.ends_with(":0"))
      return wrong(field, "'" + address +
                              "' is where agents, clients and the others reach it; write the port "
                              "that it listens on");
    if (!addresses.insert(address).second)
      return wrong(field, address + " is another coordinator's address already");
  }
  if (config.etcd.empty())
    return wrong(path + "etcd", "names no member of etcd; write [http://head1:2379, ..]");
  for (const auto& endpoint : config.etcd)
    if (caf::error refused = validate_endpoint(endpoint, path + "etcd")) return refused;
  if (!is_valid_name(config.prefix))
    return wrong(path + "prefix",
                 "'" + config.prefix + "' is not a prefix: 1 to 63 letters, digits, '.', '_', '-'");
  if (config.etcd_quota_bytes < kLeastEtcdQuotaBytes)
    return wrong(path + "etcd_quota", std::to_string(config.etcd_quota_bytes >> 20) +
                                          " MiB is less than " +
                                          std::to_string(kLeastEtcdQuotaBytes >> 20) +
                                          " MiB; write what --quota-backend-bytes of etcd's "
                                          "members says, 2GiB where it is not given");
  if (config.takeover_after_ms < kLeastTakeoverMs)
    return wrong(path + "takeover_after",
                 std::to_string(config.takeover_after_ms) + " ms is less than " +
                     std::to_string(kLeastTakeoverMs) +
                     " ms, within which the others hear of a leader that is well");
  return {};
}

caf::error check_files(const ReplicaConfig& config, const std::string& path) {
  const caf::error wrong_files = check_etcd({config.etcd, config.tls});
  if (!wrong_files) return {};
  const ErrorDetails said = details(wrong_files);
  return wrong(path + said.field, said.message);
}

caf::error check_member(const ReplicaConfig& config, const std::string& member) {
  if (config.members.contains(member)) return {};
  std::string names;
  for (const auto& [name, address] : config.members) names += (names.empty() ? "" : ", ") + name;
  return wrong("member", member.empty() ? "say which of " + names + " this coordinator is"
                                        : "'" + member + "' is none of " + names);
}

}  // namespace fairwater::inline daemon
